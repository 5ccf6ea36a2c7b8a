// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "page/layouts.hpp"
#include "page/svg.hpp"
#include "report/names.hpp"
#include "support/text.hpp"

#include <echelon/solver.hpp>
#include <echelon/solver/report_rows.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

namespace echelon {

namespace {

constexpr double left = 92;
constexpr double right = 30;
constexpr double bottom = 66;
constexpr double smallest_drawn = 1e-18;  // a residual of zero has no logarithm

/// The ranges of both axes: iterations from 0, residuals in powers of ten.
struct AxisRanges {
  double iterations = 1;
  int lowest = -1;
  int highest = 0;
};

/// Maps iterations and residuals to pixels below a heading that ends at `top`.
class HistoryAxes {
 public:
  HistoryAxes(const AxisRanges& ranges, const HistoryLayout& layout, double top)
      : ranges_(ranges), layout_(layout), top_(top) {}

  [[nodiscard]] double floor() const { return top_ + layout_.height; }
  [[nodiscard]] double end() const { return layout_.width - right; }

  [[nodiscard]] SvgPoint place(double iteration, double residual) const {
    const double decade = std::clamp(std::log10(residual), static_cast<double>(ranges_.lowest),
                                     static_cast<double>(ranges_.highest));
    return {left + iteration / ranges_.iterations * (end() - left),
            top_ + (ranges_.highest - decade) / (ranges_.highest - ranges_.lowest) * layout_.height};
  }

  [[nodiscard]] SvgPoint centre() const { return {(left + end()) / 2, top_ + layout_.height / 2}; }

  /// `seconds`: the times of the iterations, written below their numbers where they are known.
  void draw(Svg& svg, const std::vector<double>& seconds) const {
    const int step = std::max(1, (ranges_.highest - ranges_.lowest + 7) / 8);
    for (int decade = ranges_.highest; decade >= ranges_.lowest; decade -= step) {
      const SvgPoint at = place(0, std::pow(10, decade));
      svg.line(at, {end(), at.y}, "grid");
      svg.power_of_ten({left - 10, at.y + 5}, decade, Svg::Anchor::end);
    }
    for (const double tick : round_ticks(ranges_.iterations, layout_.ticks)) {
      const double x = place(tick, 1).x;
      svg.line({x, floor()}, {x, floor() + 5}, "axis");
      const auto iteration = std::llround(tick);
      svg.text({x, floor() + 22}, grouped(iteration), "tick");
      if (iteration < std::ssize(seconds))
        svg.text({x, floor() + 38}, duration(seconds[static_cast<std::size_t>(iteration)]), "tick");
    }
    svg.line({left, top_}, {left, floor()}, "axis");
    svg.line({left, floor()}, {end(), floor()}, "axis");
    svg.text({centre().x, floor() + bottom - 10},
             seconds.empty() ? "iteration" : "iteration, and time since the start of the solve", "label");
    svg.vertical_text({26, (top_ + floor()) / 2}, "relative residual \u2016b \u2212 Ax\u2016 / \u2016b\u2016",
                      "label");
  }

 private:
  AxisRanges ranges_;
  HistoryLayout layout_;
  double top_;
};

struct HistorySample {
  double iteration = 0;
  double residual = 0;
};

/// The finite part of the history. A long history is reduced to the minimum and maximum of each interval of
/// iterations, which keeps its peaks.
std::vector<HistorySample> drawn_samples(const std::vector<double>& history) {
  const std::size_t interval = std::max<std::size_t>(1, history.size() / 700);
  std::vector<HistorySample> samples;
  for (std::size_t begin = 0; begin < history.size(); begin += interval) {
    const auto first = history.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last =
        history.begin() + static_cast<std::ptrdiff_t>(std::min(begin + interval, history.size()));
    const auto [low, high] = std::minmax_element(first, last);
    for (const auto it : {std::min(low, high), std::max(low, high)}) {
      if (std::isfinite(*it)) {
        samples.push_back({static_cast<double>(it - history.begin()), std::max(*it, smallest_drawn)});
      }
    }
  }
  return samples;
}

double relative_tolerance(const Report& report) {
  return report.residual_norm > 0 ? report.tolerance / report.residual_norm * report.relative_residual : 0;
}

AxisRanges fitting_ranges(const std::vector<HistorySample>& samples, double tolerance, double last,
                          double iterations, double height) {
  double low = tolerance > 0 ? tolerance : 1;
  double high = 1;
  const auto include = [&](double residual) {
    low = std::min(low, residual);
    high = std::max(high, residual);
  };
  for (const HistorySample& sample : samples) include(sample.residual);
  if (std::isfinite(last)) include(last);
  const int highest = static_cast<int>(std::ceil(std::log10(high)));
  int lowest = std::min(static_cast<int>(std::floor(std::log10(low) - 0.2)), highest - 1);
  constexpr double room = 36;  // for the label below the last point, in pixels
  while (std::isfinite(last) && (std::log10(last) - lowest) * height < room * (highest - lowest)) --lowest;
  return {std::max(1.0, 1.02 * iterations), lowest, highest};
}

void draw_curve(Svg& svg, const HistoryAxes& axes, const std::vector<HistorySample>& samples) {
  std::vector<SvgPoint> points;
  points.reserve(samples.size() + 2);
  for (const HistorySample& sample : samples) points.push_back(axes.place(sample.iteration, sample.residual));
  if (points.empty()) return;
  svg.polyline(points, "data");
  points.push_back({points.back().x, axes.floor()});
  points.push_back({points.front().x, axes.floor()});
  svg.polygon(points, "area");
}

void draw_tolerance(Svg& svg, const HistoryAxes& axes, double tolerance) {
  if (!(tolerance > 0)) return;
  const SvgPoint at = axes.place(0, tolerance);
  svg.line(at, {axes.end(), at.y}, "goal");
  svg.text({left + 12, at.y - 8}, "tolerance " + short_number(tolerance), "goal-label", Svg::Anchor::start);
}

void draw_end(Svg& svg, const HistoryAxes& axes, double iteration, double residual) {
  if (!std::isfinite(residual)) return;
  const SvgPoint at = axes.place(iteration, std::max(residual, smallest_drawn));
  svg.circle(at, 9, "halo");
  svg.circle(at, 4.5, "mark");
  svg.text({at.x + 6, at.y + 24}, "measured: " + short_number(residual), "data-label",
           at.x > axes.centre().x ? Svg::Anchor::end : Svg::Anchor::start);
}

/// The reason why there is no history to draw.
std::string why_empty(const Report& report) {
  const std::string name = name_of(report.method);
  const bool direct = std::ranges::any_of(methods(), [&](const Method& method) {
    return method.name == name && method.kind == MethodKind::direct;
  });
  return name + (direct ? " is a direct method: it has no convergence history" : " made no iterations");
}

}  // namespace

std::string draw_history(const Report& report, const PlotText& text, const HistoryLayout& layout) {
  const std::vector<HistorySample> samples = drawn_samples(report.history);
  const double tolerance = relative_tolerance(report);
  const double iterations = static_cast<double>(report.iterations);
  const double last = samples.empty() ? iterations : std::max(iterations, samples.back().iteration);
  const AxisRanges ranges = fitting_ranges(
      samples, tolerance, std::max(report.relative_residual, smallest_drawn), last, layout.height);

  const PlotHeading heading(text.title, text.caption, layout.width - left - right);
  constexpr double heading_height = 78;
  constexpr double margin_without_heading = 16;
  const HistoryAxes axes(
      ranges, layout, layout.has_heading ? heading_height + heading.extra_height() : margin_without_heading);
  Svg svg(layout.width, axes.floor() + bottom, text.title);
  if (layout.has_heading) heading.draw(svg, left);
  axes.draw(svg, report.history_seconds);
  if (report.history.empty()) {
    svg.text(axes.centre(), why_empty(report), "label");
  } else {
    draw_curve(svg, axes, samples);
    draw_tolerance(svg, axes, tolerance);
  }
  if (!report.columns.empty()) draw_end(svg, axes, iterations, report.relative_residual);
  return svg.finish();
}

std::string history_svg(const Report& report, const PlotText& text) {
  return at_api_boundary([&] { return draw_history(report, text, {}); });
}

}  // namespace echelon
