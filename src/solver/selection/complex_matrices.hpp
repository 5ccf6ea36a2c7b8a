// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "solver/selection/method_selection.hpp"

#include <echelon/solve.hpp>

#include <cstdint>
#include <vector>

namespace echelon {

/// Rows up to which a complex A is factored as a dense matrix: that takes at most some milliseconds.
inline constexpr std::int64_t dense_complex_rows = 128;

/// The methods for a square complex matrix, best first.
[[nodiscard]] std::vector<Candidate> complex_candidates(const MethodSelection& selection);

}  // namespace echelon
