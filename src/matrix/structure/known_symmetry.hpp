// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/matrix/structure.hpp>

namespace echelon {

/// Whether a square sparse A on the host equals its transpose, by sums of hashes over the elements and over
/// those of the transpose: true for every symmetric A, and for another one with a probability of 2^-64.
/// O(nonzeros) time without a search for a_ji.
template <class T>
[[nodiscard]] bool is_probably_symmetric(const Csr<T>& A);

/// The structure of a sparse A that is known to equal its transpose, or to differ from it: as
/// analyze_structure, without the search for a_ji, which takes most of the time. `asymmetry` of an A that
/// differs is infinity.
template <class T>
[[nodiscard]] Structure structure_with_known_symmetry(MatrixRef<T> A, bool is_symmetric);

}  // namespace echelon
