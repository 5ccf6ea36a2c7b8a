// SPDX-License-Identifier: BSD-3-Clause
/// Plots in SVG, legible on a white and on a black background.
#pragma once

#include <echelon/export.h>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/methods/multigrid/hierarchy.hpp>
#include <echelon/report.hpp>
#include <echelon/sparse_direct.hpp>

#include <string>
#include <vector>

namespace echelon {

/// Text above a plot: a title, and a line of facts below it.
struct ECHELON_API PlotText {
  std::string title = {};
  std::string caption = {};
};

/// The convergence history: relative residual against iteration on a logarithmic axis, with the tolerance and
/// the residual measured at the end. For a report without a history, as of a direct method, the chart says
/// so.
[[nodiscard]] ECHELON_API std::string history_svg(const Report& report, const PlotText& text);

/// The sparsity pattern of A: one square per nonzero of a small matrix, the density of blocks of a large one.
/// A on a GPU is copied to the host. T is float or double. Throws Error for an operator.
template <class T>
[[nodiscard]] ECHELON_API std::string spy_svg(const std::string& title, MatrixRef<T> A);

/// The pattern of L, or of L and U, drawn as spy_svg does: entries that are stored, amalgamation's zeros
/// included.
[[nodiscard]] ECHELON_API std::string factor_svg(const std::string& title, const FactorPattern& factor);

/// The levels of a hierarchy: their patterns, rows and nonzeros. `levels` are on the host, finest first; an
/// empty one is drawn without its pattern.
[[nodiscard]] ECHELON_API std::string hierarchy_svg(const std::string& title,
                                                    const HierarchyDescription& description,
                                                    const std::vector<Csr<double>>& levels);

}  // namespace echelon
