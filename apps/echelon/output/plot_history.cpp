// SPDX-License-Identifier: BSD-3-Clause
#include "output/plots.hpp"
#include "output/svg.hpp"
#include "terminal/terminal.hpp"
#include "terminal/text.hpp"

#include <echelon/solver.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

namespace echelon::tool {

namespace {

constexpr double width = 860;
constexpr double left = 92;
constexpr double right = 30;
constexpr double bottom = 66;
constexpr double plot_height = 376;
constexpr double smallest_drawn = 1e-18;  // a residual of zero has no logarithm

/// The ranges of both axes: iterations from 0, residuals in powers of ten.
struct Ranges {
  double iterations = 1;
  int lowest = -1;
  int highest = 0;
};

/// Maps iterations and residuals to pixels below a heading that ends at `top`.
class Axes {
 public:
  Axes(const Ranges& ranges, double top)
      : iterations_(ranges.iterations), lowest_(ranges.lowest), highest_(ranges.highest), top_(top) {}

  [[nodiscard]] double floor() const { return top_ + plot_height; }

  [[nodiscard]] Point place(double iteration, double residual) const {
    const double decade =
        std::clamp(std::log10(residual), static_cast<double>(lowest_), static_cast<double>(highest_));
    return {left + iteration / iterations_ * (width - left - right),
            top_ + (highest_ - decade) / (highest_ - lowest_) * plot_height};
  }

  [[nodiscard]] Point centre() const { return {(left + width - right) / 2, top_ + plot_height / 2}; }

  /// `seconds`: the times of the iterations, written below their numbers where they are known.
  void draw(Svg& svg, const std::vector<double>& seconds) const {
    const int step = std::max(1, (highest_ - lowest_ + 7) / 8);
    for (int decade = highest_; decade >= lowest_; decade -= step) {
      const Point at = place(0, std::pow(10, decade));
      svg.line(at, {width - right, at.y}, "grid");
      svg.power_of_ten({left - 10, at.y + 5}, decade, Svg::Anchor::end);
    }
    for (const double tick : round_ticks(iterations_, 8)) {
      const double x = place(tick, 1).x;
      svg.line({x, floor()}, {x, floor() + 5}, "axis");
      const auto iteration = std::llround(tick);
      svg.text({x, floor() + 22}, grouped(iteration), "tick");
      if (iteration < std::ssize(seconds))
        svg.text({x, floor() + 38}, duration(seconds[static_cast<std::size_t>(iteration)]), "tick");
    }
    svg.line({left, top_}, {left, floor()}, "axis");
    svg.line({left, floor()}, {width - right, floor()}, "axis");
    svg.text({(left + width - right) / 2, floor() + bottom - 10},
             seconds.empty() ? "iteration" : "iteration, and time since the start of the solve", "label");
    svg.vertical_text({26, (top_ + floor()) / 2}, "relative residual \u2016b \u2212 Ax\u2016 / \u2016b\u2016",
                      "label");
  }

 private:
  double iterations_;
  int lowest_;
  int highest_;
  double top_;
};

struct Sample {
  double iteration = 0;
  double residual = 0;
};

/// The finite part of the history. A long history is reduced to the minimum and maximum of each interval of
/// iterations, which keeps its peaks.
std::vector<Sample> drawn_samples(const std::vector<double>& history) {
  const std::size_t interval = std::max<std::size_t>(1, history.size() / 700);
  std::vector<Sample> samples;
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

Ranges fitting_ranges(const std::vector<Sample>& samples, double tolerance, double last, double iterations) {
  double low = tolerance > 0 ? tolerance : 1;
  double high = 1;
  const auto include = [&](double residual) {
    low = std::min(low, residual);
    high = std::max(high, residual);
  };
  for (const Sample& sample : samples) include(sample.residual);
  if (std::isfinite(last)) include(last);
  const int highest = static_cast<int>(std::ceil(std::log10(high)));
  const int lowest = std::min(static_cast<int>(std::floor(std::log10(low) - 0.2)), highest - 1);
  return {std::max(1.0, 1.02 * iterations), lowest, highest};
}

void draw_curve(Svg& svg, const Axes& axes, const std::vector<Sample>& samples) {
  std::vector<Point> points;
  points.reserve(samples.size() + 2);
  for (const Sample& sample : samples) points.push_back(axes.place(sample.iteration, sample.residual));
  if (points.empty()) return;
  svg.polyline(points, "data");
  points.push_back({points.back().x, axes.floor()});
  points.push_back({points.front().x, axes.floor()});
  svg.polygon(points, "area");
}

void draw_tolerance(Svg& svg, const Axes& axes, double tolerance) {
  if (!(tolerance > 0)) return;
  const Point at = axes.place(0, tolerance);
  svg.line(at, {width - right, at.y}, "goal");
  svg.text({left + 12, at.y - 8}, "tolerance " + short_number(tolerance), "goal-label", Svg::Anchor::start);
}

void draw_end(Svg& svg, const Axes& axes, double iteration, double residual) {
  if (!std::isfinite(residual)) return;
  const Point at = axes.place(iteration, std::max(residual, smallest_drawn));
  svg.circle(at, 9, "halo");
  svg.circle(at, 4.5, "mark");
  // The label goes below the point, clear of the curve, unless the axis is too close.
  const double below = axes.floor() - at.y > 34 ? 24 : -14;
  svg.text({at.x + 6, at.y + below}, "measured: " + short_number(residual), "data-label",
           at.x > width / 2 ? Svg::Anchor::end : Svg::Anchor::start);
}

std::string caption(const SolveOutcome& outcome) {
  const Report& report = outcome.report;
  return fmt::format("{} \u00d7 {}, {} nonzeros; {}, {} iterations, {} on {}", grouped(outcome.file.rows),
                     grouped(outcome.file.columns), grouped(outcome.nonzeros), to_string(report.status),
                     grouped(report.iterations), duration(report.solve_seconds), report.device.name());
}

/// The reason why there is no history to draw.
std::string why_empty(const Report& report) {
  const std::string name = method_name(report.method);
  const bool direct = find_method(name).kind == MethodKind::direct;
  return name + (direct ? " is a direct method: it has no convergence history" : " made no iterations");
}

}  // namespace

std::string history_svg(const SolveOutcome& outcome) {
  const Report& report = outcome.report;
  const std::vector<Sample> samples = drawn_samples(report.history);
  const double tolerance = relative_tolerance(report);
  const double iterations = static_cast<double>(report.iterations);
  const double last = samples.empty() ? iterations : std::max(iterations, samples.back().iteration);
  const Ranges ranges =
      fitting_ranges(samples, tolerance, std::max(report.relative_residual, smallest_drawn), last);

  const std::string name = utf8(std::filesystem::path(input_name(outcome.matrix)).filename().string());
  const std::string title = fmt::format("{} on {}", report.method, name);
  const Heading heading(title, caption(outcome), width - left - right);
  constexpr double heading_height = 78;
  const Axes axes(ranges, heading_height + heading.extra_height());
  Svg svg(width, axes.floor() + bottom, title);
  heading.draw(svg, left);
  axes.draw(svg, report.history_seconds);
  if (report.history.empty()) {
    svg.text(axes.centre(), why_empty(report), "label");
  } else {
    draw_curve(svg, axes, samples);
    draw_tolerance(svg, axes, tolerance);
  }
  if (has_solution(report)) draw_end(svg, axes, iterations, report.relative_residual);
  return svg.finish();
}

}  // namespace echelon::tool
