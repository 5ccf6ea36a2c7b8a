// SPDX-License-Identifier: BSD-3-Clause
/// Exact ranks of integer matrices modulo a prime.
#pragma once

#include <echelon/matrix/matrix.hpp>

#include <cstdint>

namespace echelon {

/// Exact rank of a matrix of integers modulo a prime p < 2^31, by elimination to mapped echelon form on the
/// matrix's device. It is at most the rank over the rational numbers, and equal to that unless p divides
/// certain minors, which is improbable for a random p near 2^31.
///
/// The elements are floating-point numbers whose values are integers, which are reduced to their smallest
/// nonnegative residues. Time and memory are those of `mapped-echelon`, with 8 bytes for each element of a
/// row. Throws BadOption if p is not a prime below 2^31, InvalidMatrix with the position of an element that
/// is not an integer, and OutOfMemory.
template <class T>
[[nodiscard]] std::int64_t rank_modulo(MatrixRef<T> A, std::int64_t p);

}  // namespace echelon
