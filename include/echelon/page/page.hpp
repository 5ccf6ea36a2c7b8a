// SPDX-License-Identifier: BSD-3-Clause
/// Pages in HTML, each of one file: no scripts that run, no fonts, pictures or styles from elsewhere.
#pragma once

#include <echelon/export.h>
#include <echelon/solver/report_rows.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace echelon {

/// A table of text. The first columns hold text and are aligned to the left, the others hold numbers.
struct ECHELON_API PageTable {
  std::string caption = {};  ///< says what the table shows; may be empty
  std::vector<std::string> columns = {};
  std::vector<std::vector<std::string>> rows = {};
  std::size_t text_columns = 1;
};

/// A bar of a chart: its length is `value` over the sum or the largest of all.
struct ECHELON_API PageBar {
  std::string label = {};
  double value = 0;       ///< at least 0
  std::string text = {};  ///< the value as the reader sees it, "12.3 ms"
};

/// A page under construction: a heading, then parts in the order of the calls. All texts are plain text, and
/// invalid UTF-8 in them is replaced by U+FFFD; only pictures are markup, those of <echelon/page/plots.hpp>.
/// The page fits windows from 320 pixels on, follows the reader's choice of dark or light, prints without
/// backgrounds, and has a text for each picture.
class ECHELON_API Page {
 public:
  explicit Page(std::string_view title, std::string_view subtitle = {});

  /// The result in one line, with a colour and a sign for its severity.
  void outcome(const ReportRow& row);
  /// A heading, which the table of contents at the top of the page lists.
  void section(std::string_view heading);
  void paragraph(std::string_view text);
  /// Figures that the reader looks for first, side by side.
  void figures(std::span<const ReportRow> rows);
  /// Labels, values and explanations. Nothing for no rows.
  void facts(std::span<const ReportRow> rows);
  /// The first `most_rows` rows, and a sentence on how many were left out.
  void table(const PageTable& table, std::size_t most_rows = 200);
  /// Bars below each other. Nothing without a value that is positive.
  void bars(std::string_view caption, std::span<const PageBar> bars);
  /// A picture in SVG, and the text below it, which also stands for it.
  void picture(std::string_view svg, std::string_view caption);
  /// Text of a fixed width, such as a command.
  void code(std::string_view text);
  /// JSON for programs that read the page: a script element of type application/json, which browsers do not
  /// run. Left out, with a sentence that says so, if it is longer than 400,000 bytes.
  void data(std::string_view json);

  [[nodiscard]] std::string html() const;

 private:
  std::string heading_;
  std::string title_;
  std::string contents_;
  std::string body_;
  std::size_t sections_ = 0;
};

/// The command line that a POSIX shell reads as these words, for Page::code.
[[nodiscard]] ECHELON_API std::string shell_command(std::span<const std::string> words);

}  // namespace echelon
