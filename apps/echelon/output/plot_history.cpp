// SPDX-License-Identifier: BSD-3-Clause
#include "output/plots.hpp"
#include "output/svg.hpp"
#include "terminal/terminal.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace echelon::tool {

namespace {

constexpr double width = 860;
constexpr double height = 520;
constexpr double left = 92;
constexpr double right = 30;
constexpr double top = 78;
constexpr double bottom = 66;
constexpr double smallest_drawn = 1e-18;  // a residual of zero has no logarithm

/// Iterations to the right, decades up.
class Axes {
 public:
  Axes(double iterations, int lowest, int highest)
      : iterations_(iterations), lowest_(lowest), highest_(highest) {}

  [[nodiscard]] Point place(double iteration, double residual) const {
    const double decade =
        std::clamp(std::log10(residual), static_cast<double>(lowest_), static_cast<double>(highest_));
    return {left + iteration / iterations_ * (width - left - right),
            top + (highest_ - decade) / (highest_ - lowest_) * (height - top - bottom)};
  }

  void draw(Svg& svg) const {
    const int step = std::max(1, (highest_ - lowest_ + 7) / 8);
    for (int decade = highest_; decade >= lowest_; decade -= step) {
      const Point at = place(0, std::pow(10, decade));
      svg.line(at, {width - right, at.y}, "grid");
      svg.power_of_ten({left - 10, at.y + 5}, decade, Svg::Anchor::end);
    }
    const double floor = height - bottom;
    for (const double tick : round_ticks(iterations_, 8)) {
      const double x = place(tick, 1).x;
      svg.line({x, floor}, {x, floor + 5}, "axis");
      svg.text({x, floor + 22}, grouped(std::llround(tick)), "tick");
    }
    svg.line({left, top}, {left, floor}, "axis");
    svg.line({left, floor}, {width - right, floor}, "axis");
    svg.text({(left + width - right) / 2, height - 16}, "iteration", "label");
    svg.vertical_text({26, (top + floor) / 2}, "relative residual \u2016b \u2212 Ax\u2016 / \u2016b\u2016",
                      "label");
  }

 private:
  double iterations_;
  int lowest_;
  int highest_;
};

struct Sample {
  double iteration = 0;
  double residual = 0;
};

/// The finite part of the history; of a long one, the lowest and the highest of every stretch, so that no
/// peak is lost.
std::vector<Sample> drawn_samples(const std::vector<double>& history) {
  const std::size_t stretch = std::max<std::size_t>(1, history.size() / 700);
  std::vector<Sample> samples;
  for (std::size_t begin = 0; begin < history.size(); begin += stretch) {
    const auto first = history.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last =
        history.begin() + static_cast<std::ptrdiff_t>(std::min(begin + stretch, history.size()));
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

Axes fitting_axes(const std::vector<Sample>& samples, double tolerance, double last, double iterations) {
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
  points.push_back({points.back().x, height - bottom});
  points.push_back({points.front().x, height - bottom});
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
  // The curve comes from above and from the left: below it there is room, unless the floor is near.
  const double below = height - bottom - at.y > 34 ? 24 : -14;
  svg.text({at.x + 6, at.y + below}, "measured: " + short_number(residual), "data-label",
           at.x > width / 2 ? Svg::Anchor::end : Svg::Anchor::start);
}

}  // namespace

std::string history_svg(const SolveOutcome& outcome) {
  const Report& report = outcome.report;
  const std::vector<Sample> samples = drawn_samples(report.history);
  const double tolerance = relative_tolerance(report);
  const double iterations = static_cast<double>(report.iterations);
  const double last = samples.empty() ? iterations : std::max(iterations, samples.back().iteration);
  const Axes axes =
      fitting_axes(samples, tolerance, std::max(report.relative_residual, smallest_drawn), last);

  const std::string name = utf8(std::filesystem::path(input_name(outcome.matrix)).filename().string());
  const std::string title = fmt::format("{} on {}", report.method, name);
  Svg svg(width, height, title);
  svg.text({left, 32}, title, "title", Svg::Anchor::start);
  svg.text({left, 54},
           fmt::format("{} \u00d7 {}, {} nonzeros; {}, {} iterations, {} on {}", grouped(outcome.file.rows),
                       grouped(outcome.file.columns), grouped(outcome.nonzeros), to_string(report.status),
                       grouped(report.iterations), duration(report.solve_seconds), report.device.name()),
           "caption", Svg::Anchor::start);
  axes.draw(svg);
  draw_curve(svg, axes, samples);
  draw_tolerance(svg, axes, tolerance);
  draw_end(svg, axes, iterations, report.relative_residual);
  return svg.finish();
}

}  // namespace echelon::tool
