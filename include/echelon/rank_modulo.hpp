// SPDX-License-Identifier: BSD-3-Clause
/// Exact ranks of matrices modulo a prime.
#pragma once

#include <echelon/export.h>
#include <echelon/matrix/matrix.hpp>

#include <cstdint>

namespace echelon {

/// Exact rank of a matrix modulo a prime p < 2^31, by elimination to mapped echelon form on the matrix's
/// device. An element m 2^e has the residue of m times that of 2^e, which exists for every e if p is odd. The
/// result is at most the rank of the matrix over the rational numbers, so that a full rank proves that the
/// matrix, with its elements as they are stored, has full rank. It is less than that rank only if p divides
/// all its minors of that order, which is improbable for a random p near 2^31.
///
/// Time and memory are those of `mapped-echelon`, with 8 bytes for each element of a row. Throws BadOption if
/// p is not a prime below 2^31, InvalidMatrix with the position of an element that is not an integer if p is
/// 2, and OutOfMemory. Elements must be finite.
template <class T>
[[nodiscard]] ECHELON_API std::int64_t rank_modulo(MatrixRef<T> A, std::int64_t p);

}  // namespace echelon
