// SPDX-License-Identifier: BSD-3-Clause
/// Plots in SVG.
#pragma once

#include "output/solve_outcome.hpp"

#include <echelon/matrix/matrix.hpp>
#include <echelon/methods/multigrid/hierarchy.hpp>
#include <echelon/sparse_direct.hpp>

#include <string>
#include <vector>

namespace echelon::tool {

/// The convergence history: relative residual against iteration on a logarithmic axis, with the tolerance and
/// the residual measured at the end. For a direct method, which has no history, the chart says so.
[[nodiscard]] std::string history_svg(const SolveOutcome& outcome);

/// The sparsity pattern of A, which is on the host: one square per nonzero of a small matrix, the density of
/// blocks of a large one.
template <class T>
[[nodiscard]] std::string spy_svg(const std::string& title, MatrixRef<T> A);

/// The pattern of L, or of L and U, drawn as spy_svg does: entries that are stored, amalgamation's zeros
/// included.
[[nodiscard]] std::string factor_svg(const std::string& title, const FactorPattern& factor);

/// The levels of a hierarchy: their patterns, rows and nonzeros. `levels` are on the host, finest first.
[[nodiscard]] std::string hierarchy_svg(const std::string& title, const HierarchyDescription& description,
                                        const std::vector<Csr<double>>& levels);

extern template std::string spy_svg<double>(const std::string&, MatrixRef<double>);

}  // namespace echelon::tool
