// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "solver/selection/method_selection.hpp"

#include <echelon/solve.hpp>

#include <vector>

namespace echelon {

/// Whether a decomposition of A as a dense matrix takes little time.
[[nodiscard]] bool is_quickly_decomposed(const MethodSelection& selection);

/// Candidates for an A that is not square, in the order in which to try them: methods that minimise the
/// residual.
[[nodiscard]] std::vector<Candidate> rectangular_candidates(const MethodSelection& selection);

}  // namespace echelon
