// SPDX-License-Identifier: BSD-3-Clause
/// Measurements of several methods for one system, as JSON and as a page.
#pragma once

#include <echelon/export.h>
#include <echelon/page/report_page.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace echelon {

/// Numbers of right-hand sides for which the total time is given.
inline constexpr std::array<int, 3> compared_columns = {1, 10, 100};

/// Figures of one method in a process of its own. Those that were not reached are unset.
struct ECHELON_API MethodResult {
  std::string method;  ///< name and options
  std::string device;
  std::string reason;    ///< of the choice
  std::string status;    ///< of the solve, "failed" or "stopped"
  std::string message;   ///< why it failed, or an explanation of the status
  bool reached = false;  ///< whether x is a solution whose true residual is within the tolerance
  std::optional<double> setup_seconds, update_seconds, solve_seconds, solve_10_seconds;
  std::optional<std::int64_t> iterations;
  std::optional<double> relative_residual, backward_error;
  std::optional<int> expected_digits;
  std::optional<std::size_t> bytes;
  std::size_t peak_bytes = 0;  ///< resident memory of the process, with A and the program

  /// Set-up and solves for that many right-hand sides; 100 are ten times ten.
  [[nodiscard]] std::optional<double> total(int columns) const;
};

struct ECHELON_API Comparison {
  std::string matrix;
  std::string right_hand_side;
  double tolerance = 0;
  double limit_seconds = 0;
  std::size_t limit_bytes = 0;  ///< 0: none
  std::vector<MethodResult> results;

  /// The method with the least total among those that reached the tolerance; null if there is none.
  [[nodiscard]] const MethodResult* best(int columns) const;
};

/// The comparison as one line of JSON; docs/tool.md has the names.
[[nodiscard]] ECHELON_API std::string to_json(const Comparison& comparison);

/// The comparison as a page like that of a report, with the facts about A if they are given, and the command
/// that repeats it unless it is empty.
[[nodiscard]] ECHELON_API std::string to_html(const Comparison& comparison,
                                              const std::optional<MatrixPortrait>& matrix = {},
                                              const std::string& command = {});

/// The rows that show a comparison: "Fastest" or "No method", "matrix", "right-hand side", "tolerance",
/// "limits", "best for 1 right-hand side" and so on, and "failed", one for each method that did not reach the
/// tolerance.
[[nodiscard]] ECHELON_API std::vector<ReportRow> comparison_rows(const Comparison& comparison);
/// The measurements, a row for each method; cells without a figure are "-".
[[nodiscard]] ECHELON_API PageTable measurements_of(const Comparison& comparison);

}  // namespace echelon
