// SPDX-License-Identifier: BSD-3-Clause
/// The little of SVG that plots need.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace echelon::tool {

struct Point {
  double x = 0;
  double y = 0;
};

/// A picture under construction, in pixels from the top left. The background is transparent, and every
/// colour is of middle lightness: it stands out from white and from black, whatever page or slide the
/// picture lands on (a media query would follow the system's theme, not the slide's).
class Svg {
 public:
  Svg(double width, double height, std::string_view title);

  enum class Anchor { start, middle, end };

  /// `style` is a class of the style sheet in svg.cpp: "title", "label", "tick", "caption", "data-label".
  void text(Point at, std::string_view content, std::string_view style, Anchor anchor = Anchor::middle);
  /// Reads upwards.
  void vertical_text(Point at, std::string_view content, std::string_view style);
  /// 10 to the power `exponent`.
  void power_of_ten(Point at, int exponent, Anchor anchor);
  void line(Point from, Point to, std::string_view style);
  void polyline(std::span<const Point> points, std::string_view style);
  void polygon(std::span<const Point> points, std::string_view style);
  void rectangle(Point corner, double width, double height, std::string_view style);
  void circle(Point centre, double radius, std::string_view style);
  /// A filled path; `data`, as in the d attribute, counts in units of `width` by `height` from `origin`.
  void cells(Point origin, double width, double height, std::string_view data, double opacity);

  [[nodiscard]] std::string finish() const { return body_ + "</svg>\n"; }

 private:
  std::string body_;
};

/// Round numbers (1, 2 or 5 times a power of ten apart, and whole) from 0 to `high`, at most about `most`.
[[nodiscard]] std::vector<double> round_ticks(double high, int most);

}  // namespace echelon::tool
