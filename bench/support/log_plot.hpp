// SPDX-License-Identifier: BSD-3-Clause
/// A picture of curves on logarithmic axes, as SVG.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace echelon::bench {

/// Values of NaN are left out.
struct Curve {
  std::string name;
  std::vector<double> values;
};

struct Panel {
  std::string title;
  std::vector<double> x;
  std::vector<Curve> curves;
};

/// Panels in a row with one legend: all have the same curves in the same order. Colours have medium
/// lightness, for light and dark pages.
class LogPlot {
 public:
  LogPlot(std::string title, std::string x_label, std::string y_label)
      : title_(std::move(title)), x_label_(std::move(x_label)), y_label_(std::move(y_label)) {}
  void add(Panel panel) { panels_.push_back(std::move(panel)); }

  [[nodiscard]] std::string svg() const {
    const double width = left + static_cast<double>(panels_.size()) * (panel_width + left);
    std::string body = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
        "height=\"{1:.0f}\" role=\"img\">\n<title>{2}</title>\n<style>text{{font:13px Helvetica,Arial,"
        "sans-serif;fill:#7b8190}}.h{{font-size:17px;font-weight:600}}.g{{stroke:#808696;stroke-opacity:.25}}"
        ".c{{fill:none;stroke-width:2;stroke-linejoin:round}}</style>\n",
        width, height, title_);
    body += text(left, 28, "start", title_, "h");
    double at = left;
    for (std::size_t c = 0; c < panels_.front().curves.size(); ++c) {
      const std::string& name = panels_.front().curves[c].name;
      body += fmt::format("<line x1=\"{:.0f}\" y1=\"48\" x2=\"{:.0f}\" y2=\"48\" class=\"c\" {}/>\n", at,
                          at + 22, stroke(c));
      body += text(at + 28, 52, "start", name);
      at += 50 + 7 * static_cast<double>(name.size());
    }
    for (std::size_t p = 0; p < panels_.size(); ++p) {
      draw(panels_[p], left + static_cast<double>(p) * (panel_width + left), body);
    }
    return body + "</svg>\n";
  }

 private:
  static constexpr double left = 78;
  static constexpr double top = 92;
  static constexpr double panel_width = 430;
  static constexpr double panel_height = 330;
  static constexpr double height = top + panel_height + 58;

  struct Range {
    double low = std::numeric_limits<double>::infinity();
    double high = 0;
    void include(double value) {
      if (!(value > 0)) return;
      low = std::min(low, value);
      high = std::max(high, value);
    }
    [[nodiscard]] double place(double value) const {
      return (std::log10(value) - std::log10(low)) / (std::log10(high) - std::log10(low));
    }
    void widen_to_decades() {
      low = std::pow(10, std::floor(std::log10(low)));
      high = std::pow(10, std::ceil(std::log10(high)));
    }
  };

  static std::string text(double x, double y, std::string_view anchor, std::string_view content,
                          std::string_view style = "") {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n", x, y,
                       anchor, style, content);
  }
  static std::string stroke(std::size_t curve) {
    constexpr std::string_view colours[] = {"#9a9aa2", "#c98a1b", "#3aa35c", "#1f8f9c", "#d2527f", "#4c7cf0"};
    return fmt::format("stroke=\"{}\"{}", colours[curve % std::size(colours)],
                       curve + 1 == std::size(colours) ? " stroke-dasharray=\"6 4\"" : "");
  }
  static std::string power(double value) {
    const int exponent = static_cast<int>(std::lround(std::log10(value)));
    return fmt::format("10<tspan dy=\"-5\" font-size=\"10\">{}</tspan>", exponent);
  }

  void draw(const Panel& panel, double x0, std::string& body) const {
    Range xs;
    Range ys;
    for (const double x : panel.x) xs.include(x);
    for (const Curve& curve : panel.curves) {
      for (const double value : curve.values) ys.include(value);
    }
    ys.widen_to_decades();
    const auto across = [&](double x) { return x0 + xs.place(x) * panel_width; };
    const auto down = [&](double y) { return top + (1 - ys.place(y)) * panel_height; };
    body += text(x0 + panel_width / 2, top - 10, "middle", panel.title);
    for (double y = ys.low; y < ys.high * 1.5; y *= 10) {
      body += fmt::format("<path class=\"g\" d=\"M{:.1f} {:.1f}h{:.1f}\"/>\n", x0, down(y), panel_width);
      body += text(x0 - 8, down(y) + 4, "end", power(y));
    }
    for (double decade = std::pow(10, std::floor(std::log10(xs.low))); decade <= xs.high; decade *= 10) {
      for (const double x : {decade, 2 * decade, 5 * decade}) {
        if (x < xs.low * 0.999 || x > xs.high * 1.001) continue;
        body +=
            fmt::format("<path class=\"g\" d=\"M{:.1f} {:.1f}v{:.1f}\"/>\n", across(x), top, panel_height);
        const bool crowded = xs.high / xs.low > 1e3 && x > decade * 1.5;
        if (!crowded) {
          body += text(across(x), top + panel_height + 18, "middle",
                       x < 1e5 ? fmt::format("{:.0f}", x) : power(x));
        }
      }
    }
    body += text(x0 + panel_width / 2, top + panel_height + 42, "middle", x_label_);
    body += fmt::format(
        "<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
        x0 - 48, top + panel_height / 2, y_label_);
    for (std::size_t c = 0; c < panel.curves.size(); ++c) {
      std::string points;
      for (std::size_t k = 0; k < panel.x.size(); ++k) {
        const double value = panel.curves[c].values[k];
        if (value > 0) points += fmt::format("{:.1f},{:.1f} ", across(panel.x[k]), down(value));
      }
      body += fmt::format("<polyline class=\"c\" {} points=\"{}\"/>\n", stroke(c), points);
    }
  }

  std::string title_;
  std::string x_label_;
  std::string y_label_;
  std::vector<Panel> panels_;
};

}  // namespace echelon::bench
