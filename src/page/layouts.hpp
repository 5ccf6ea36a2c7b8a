// SPDX-License-Identifier: BSD-3-Clause
/// Plots in the sizes of a file of their own (the defaults) and of a page, whose text stands around them.
#pragma once

#include <echelon/page/plots.hpp>

#include <string>

namespace echelon {

/// Layout of a convergence history, in pixels.
struct HistoryLayout {
  double width = 860;
  double height = 376;  ///< of the area between the axes
  int ticks = 8;        ///< at most, on the axis of iterations
  bool has_heading = true;
};
constexpr HistoryLayout history_on_page = {.width = 600, .height = 260, .ticks = 5, .has_heading = false};

[[nodiscard]] std::string draw_history(const Report& report, const PlotText& text,
                                       const HistoryLayout& layout);

/// Layout of a sparsity pattern.
struct SpyLayout {
  double side = 560;  ///< longer side of the frame, in pixels
  bool has_heading = true;
};
constexpr SpyLayout spy_on_page = {.side = 320, .has_heading = false};

template <class T>
[[nodiscard]] std::string draw_spy(const std::string& title, MatrixRef<T> A, const SpyLayout& layout);
[[nodiscard]] std::string draw_factor(const std::string& title, const FactorPattern& factor,
                                      const SpyLayout& layout);

}  // namespace echelon
