// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sparse_direct/pattern/rectangular_pattern.hpp"

#include <cstdint>
#include <vector>

namespace echelon::sparse_direct {

/// An order of the columns of A (m by n) that reduces the fill of A^T A's Cholesky factor, and
/// with it that of L and U for any exchange of rows, without forming A^T A: SuiteSparse's COLAMD. Rows with
/// more than 10 sqrt(n) entries are ignored; columns with more than 10 sqrt(min(m, n)) come last. Throws
/// OutOfMemory. T. Davis, J. Gilbert, S. Larimore, E. Ng, A column approximate minimum degree ordering
/// algorithm, ACM Trans. Math. Softw. 30 (2004).
[[nodiscard]] std::vector<std::int32_t> column_minimum_degree_ordering(const RectangularPattern& a);

}  // namespace echelon::sparse_direct
