// SPDX-License-Identifier: BSD-3-Clause
#include "page/svg.hpp"

#include "page/markup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace echelon {

namespace {

constexpr std::string_view style_sheet = R"(<style>
  text { font-family: "Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif; fill: #7b8190 }
  .title { font-size: 19px; font-weight: 600 }
  .caption { font-size: 13.5px }
  .label { font-size: 14.5px }
  .tick { font-size: 13px }
  .data-label { font-size: 13.5px; font-weight: 600; fill: #3588f2 }
  .goal-label { font-size: 13.5px; font-weight: 600; fill: #e0702b }
  .grid { stroke: #808696; stroke-opacity: .22; stroke-width: 1 }
  .axis { stroke: #808696; stroke-width: 1.3; fill: none }
  .frame { stroke: #808696; stroke-opacity: .8; stroke-width: 1.2; fill: none }
  .goal { stroke: #e0702b; stroke-width: 1.8; stroke-dasharray: 7 5 }
  .data { stroke: #3588f2; stroke-width: 2.4; stroke-linejoin: round; stroke-linecap: round; fill: none }
  .area { fill: #3588f2; fill-opacity: .09 }
  .mark { fill: #3588f2 }
  .halo { fill: #3588f2; fill-opacity: .22 }
  .cells { fill: #3588f2; shape-rendering: crispEdges }
</style>
)";

std::string_view anchor_name(Svg::Anchor anchor) {
  if (anchor == Svg::Anchor::start) return "start";
  return anchor == Svg::Anchor::middle ? "middle" : "end";
}

constexpr double title_line = 24;
constexpr double caption_line = 19;

bool begins_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;  // not a continuation byte of UTF-8
}

/// The number of bytes that the first `characters` characters take.
std::size_t bytes_of(std::string_view text, std::size_t characters) {
  std::size_t size = 0;
  for (; size < text.size(); ++size) {
    if (begins_character(text[size]) && characters-- == 0) break;
  }
  return size;
}

/// Breaks at blanks, and within words that are longer than a line.
std::vector<std::string> broken(std::string_view text, std::size_t characters) {
  std::vector<std::string> lines;
  for (;;) {
    const std::size_t size = bytes_of(text, characters);
    if (size == text.size()) break;
    const std::size_t blank = text.substr(0, size + 1).rfind(' ');
    const bool at_blank = blank != std::string_view::npos && blank > 0;
    lines.emplace_back(text.substr(0, at_blank ? blank : size));
    text.remove_prefix(at_blank ? blank + 1 : size);
  }
  lines.emplace_back(text);
  return lines;
}

std::string coordinates(std::span<const SvgPoint> points) {
  std::string result;
  for (const SvgPoint& p : points) fmt::format_to(std::back_inserter(result), "{:.1f},{:.1f} ", p.x, p.y);
  return result;
}

}  // namespace

Svg::Svg(double width, double height, std::string_view title)
    : body_(fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
                        "height=\"{1}\" role=\"img\">\n<title>{2}</title>\n{3}",
                        width, height, escaped(title), style_sheet)) {}

void Svg::text(SvgPoint at, std::string_view content, std::string_view style, Anchor anchor) {
  body_ += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", style,
                       at.x, at.y, anchor_name(anchor), escaped(content));
}

void Svg::vertical_text(SvgPoint at, std::string_view content, std::string_view style) {
  body_ += fmt::format(
      "<text class=\"{}\" transform=\"translate({:.1f} {:.1f}) rotate(-90)\" "
      "text-anchor=\"middle\">{}</text>\n",
      style, at.x, at.y, escaped(content));
}

void Svg::power_of_ten(SvgPoint at, int exponent, Anchor anchor) {
  body_ += fmt::format(
      "<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">10<tspan dy=\"-5\" "
      "font-size=\"10\">{}{}</tspan></text>\n",
      at.x, at.y, anchor_name(anchor), exponent < 0 ? "\u2212" : "", std::abs(exponent));
}

void Svg::line(SvgPoint from, SvgPoint to, std::string_view style) {
  body_ += fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
                       style, from.x, from.y, to.x, to.y);
}

void Svg::polyline(std::span<const SvgPoint> points, std::string_view style) {
  body_ += fmt::format("<polyline class=\"{}\" points=\"{}\"/>\n", style, coordinates(points));
}

void Svg::polygon(std::span<const SvgPoint> points, std::string_view style) {
  body_ += fmt::format("<polygon class=\"{}\" points=\"{}\"/>\n", style, coordinates(points));
}

void Svg::rectangle(SvgPoint corner, double width, double height, std::string_view style) {
  body_ += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
                       style, corner.x, corner.y, width, height);
}

void Svg::circle(SvgPoint centre, double radius, std::string_view style) {
  body_ += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"/>\n", style, centre.x,
                       centre.y, radius);
}

void Svg::cells(SvgPoint origin, double width, double height, std::string_view data, double opacity) {
  body_ += fmt::format(
      "<path class=\"cells\" fill-opacity=\"{:.2f}\" transform=\"translate({:.1f} {:.1f}) "
      "scale({:.5g} {:.5g})\" d=\"{}\"/>\n",
      opacity, origin.x, origin.y, width, height, data);
}

PlotHeading::PlotHeading(const std::string& title, const std::string& caption, double width) {
  // Upper estimates of the mean width of a character at the font sizes of the style sheet.
  constexpr double title_character = 10.8;
  constexpr double caption_character = 7.2;
  title_ = broken(title, static_cast<std::size_t>(width / title_character));
  caption_ = broken(caption, static_cast<std::size_t>(width / caption_character));
}

void PlotHeading::draw(Svg& svg, double left) const {
  double y = 32;
  for (const std::string& line : title_) {
    svg.text({left, y}, line, "title", Svg::Anchor::start);
    y += title_line;
  }
  y += 54 - 32 - title_line;
  for (const std::string& line : caption_) {
    svg.text({left, y}, line, "caption", Svg::Anchor::start);
    y += caption_line;
  }
}

double PlotHeading::extra_height() const {
  return title_line * static_cast<double>(title_.size() - 1) +
         caption_line * static_cast<double>(caption_.size() - 1);
}

std::vector<double> round_ticks(double high, int most) {
  const double rough = high / most;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= rough) step = factor * power;
  }
  step = std::max(step, 1.0);
  std::vector<double> ticks;
  for (int i = 0; i * step <= high; ++i) ticks.push_back(i * step);
  return ticks;
}

}  // namespace echelon
