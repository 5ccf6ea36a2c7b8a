// SPDX-License-Identifier: BSD-3-Clause
/// Properties of a dense matrix on which the choice of a method depends.
#pragma once

#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/structure.hpp>

namespace echelon {

/// Symmetry, diagonal and definiteness of a square dense A on the host, in one pass over the elements in
/// parallel, which ends where A turns out to be unsymmetric; the other properties stay unset. `asymmetry` is
/// infinity unless it is slight, below 1e-6 or so. Definiteness of a symmetric A is `indefinite` if a
/// diagonal element or a 2-by-2 minor shows it, otherwise `unknown`.
template <class T>
[[nodiscard]] Structure structure_of_dense(DenseView<const T> A);

}  // namespace echelon
