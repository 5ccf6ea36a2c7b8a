// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "solver/selection/method_selection.hpp"

#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/structure.hpp>
#include <echelon/solve.hpp>

#include <cstdint>
#include <vector>

namespace echelon {

/// Whether a decomposition of A as a dense matrix takes little time.
[[nodiscard]] bool is_quickly_decomposed(const MethodSelection& selection);

/// Extents of the rows of a tall A, or of the columns of any other.
struct LineExtents {
  std::int64_t longest = 0;  ///< elements of a line: a QR factorisation fills at least as much
  std::int64_t widest = 0;   ///< from the first to the last: R in the given order has a band of this width
};
template <class T>
[[nodiscard]] LineExtents line_extents(const Csr<T>& A);

/// Iterations that take at most about a quarter of the time of an analysis; 0 for an A that is small enough
/// for a factorisation of a few milliseconds. There are more for a large A, unless its lines are narrow, and
/// where long lines make R full.
[[nodiscard]] std::int64_t iterations_before_analysis(const Structure& structure, const LineExtents& lines);

/// Candidates for an A that is not square, in the order in which to try them: methods that minimise the
/// residual.
[[nodiscard]] std::vector<Candidate> rectangular_candidates(const MethodSelection& selection);

}  // namespace echelon
