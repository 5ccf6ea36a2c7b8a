// SPDX-License-Identifier: BSD-3-Clause
/// The result of `echelon compare`, as text, as JSON and as a page.
#pragma once

#include "output/json.hpp"

#include <echelon/page/report_page.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace echelon::tool {

/// Numbers of right-hand sides for which the total time is given.
inline constexpr std::array<int, 3> compared_columns = {1, 10, 100};

/// Figures of one method in a process of its own. Those that were not reached are unset.
struct MethodResult {
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

struct Comparison {
  std::string matrix;
  std::string right_hand_side;
  double tolerance = 0;
  double limit_seconds = 0;
  std::size_t limit_bytes = 0;
  std::vector<MethodResult> results;

  /// The method with the least total among those that reached the tolerance; null if there is none.
  [[nodiscard]] const MethodResult* best(int columns) const;
};

[[nodiscard]] std::string comparison_text(const Comparison& comparison);
[[nodiscard]] Json comparison_json(const Comparison& comparison);
[[nodiscard]] std::string comparison_page(const Comparison& comparison,
                                          const std::optional<MatrixPortrait>& matrix,
                                          const std::string& command);

}  // namespace echelon::tool
