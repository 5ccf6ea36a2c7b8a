// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/matrix/csr.hpp>

namespace echelon {

/// Whether a square sparse A on the host equals its transpose, by a random skew-symmetric form of hashes of
/// the elements: true for every symmetric A, and for another one with a probability below 2^-40. O(nonzeros)
/// time without a search for a_ji, 8 bytes a row.
template <class T>
[[nodiscard]] bool is_probably_symmetric(const Csr<T>& A);

}  // namespace echelon
