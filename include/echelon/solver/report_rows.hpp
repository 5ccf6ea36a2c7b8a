// SPDX-License-Identifier: BSD-3-Clause
/// Reports as rows of text, for pages, notebooks and terminals.
#pragma once

#include <echelon/enum_words.hpp>
#include <echelon/export.h>
#include <echelon/report.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace echelon {

/// Attention that a row asks of the reader.
enum class Severity {
  note,     ///< nothing: a fact
  good,     ///< nothing: a fact that makes the answer trustworthy
  warning,  ///< a look at its explanation before x is used
  failure,  ///< another attempt: there is no solution
};
constexpr std::array<EnumWord<Severity>, 4> words_of(Severity) {
  return {{{Severity::note, "note"},
           {Severity::good, "good"},
           {Severity::warning, "warning"},
           {Severity::failure, "failure"}}};
}

/// A row of a report: plain text without markup, which a page has to escape.
struct ECHELON_API ReportRow {
  std::string label = {};        ///< "backward error"
  std::string value = {};        ///< "1.01e-12"
  std::string explanation = {};  ///< a sentence on what the value means, or what to do about it; may be empty
  Severity severity = Severity::note;
};

/// The rows that show a report, in order: "Solved", "Not solved" or "Ready" with the outcome; "because" with
/// the message; "tried before", one for each attempt of `auto`; "method", "device", "factor precision",
/// "relative residual", "backward error", "condition", "accuracy", "statistics", "time", "memory"; and
/// "warning", one for each. Rows without a value are left out.
[[nodiscard]] ECHELON_API std::vector<ReportRow> report_rows(const Report& report);

/// A number as the rows write it: "1,234,567".
[[nodiscard]] ECHELON_API std::string grouped(std::int64_t number);
/// A time as the rows write it: "120 us", "12.3 ms", "3.45 s", "2 min 5 s".
[[nodiscard]] ECHELON_API std::string duration(double seconds);

}  // namespace echelon
