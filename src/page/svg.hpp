// SPDX-License-Identifier: BSD-3-Clause
/// The subset of SVG that the plots use.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace echelon {

struct SvgPoint {
  double x = 0;
  double y = 0;
};

/// An SVG document under construction; coordinates are pixels from the top left. The background is
/// transparent and all colours are of medium lightness, so that the picture is legible on white and on black:
/// a media query would follow the system's theme, not that of the page or slide around the picture.
class Svg {
 public:
  Svg(double width, double height, std::string_view title);

  enum class Anchor { start, middle, end };

  /// `style` is a class of the style sheet in svg.cpp: "title", "label", "tick", "caption", "data-label".
  void text(SvgPoint at, std::string_view content, std::string_view style, Anchor anchor = Anchor::middle);
  /// Text rotated to read upwards, centred at `at`.
  void vertical_text(SvgPoint at, std::string_view content, std::string_view style);
  /// The text 10^exponent, with a superscript.
  void power_of_ten(SvgPoint at, int exponent, Anchor anchor);
  void line(SvgPoint from, SvgPoint to, std::string_view style);
  void polyline(std::span<const SvgPoint> points, std::string_view style);
  void polygon(std::span<const SvgPoint> points, std::string_view style);
  void rectangle(SvgPoint corner, double width, double height, std::string_view style);
  void circle(SvgPoint centre, double radius, std::string_view style);
  /// A filled path. `data` is a d attribute in units of `width` by `height` from `origin`.
  void cells(SvgPoint origin, double width, double height, std::string_view data, double opacity);

  [[nodiscard]] std::string finish() const { return body_ + "</svg>\n"; }

 private:
  std::string body_;
};

/// A title and a caption below it, each broken into lines that fit a width in pixels.
class PlotHeading {
 public:
  PlotHeading(const std::string& title, const std::string& caption, double width);
  void draw(Svg& svg, double left) const;
  /// The height in pixels beyond that of one line each.
  [[nodiscard]] double extra_height() const;

 private:
  std::vector<std::string> title_;
  std::vector<std::string> caption_;
};

/// Ticks of an axis: whole numbers from 0 to `high` at steps of 1, 2 or 5 times a power of ten, about `most`
/// of them at most.
[[nodiscard]] std::vector<double> round_ticks(double high, int most);

}  // namespace echelon
