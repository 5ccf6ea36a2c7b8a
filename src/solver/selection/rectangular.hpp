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

/// Elements of the longest row of a tall A, or of the longest column of any other, on the host: a QR
/// factorisation fills at least as much.
template <class T>
[[nodiscard]] std::int64_t longest_line(const Csr<T>& A);

/// Iterations that take at most about a quarter of the time of an analysis; 0 for an A that is small enough
/// for a factorisation of a few milliseconds. There are more for a large A, and where long lines make R full.
[[nodiscard]] std::int64_t iterations_before_analysis(const Structure& structure, std::int64_t longest_line);

/// Candidates for an A that is not square, in the order in which to try them: methods that minimise the
/// residual.
[[nodiscard]] std::vector<Candidate> rectangular_candidates(const MethodSelection& selection);

}  // namespace echelon
