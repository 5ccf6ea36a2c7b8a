// SPDX-License-Identifier: BSD-3-Clause
/// What `echelon solve` found out, and its two ways to say it.
#pragma once

#include "output/json.hpp"

#include <echelon/io/file_info.hpp>
#include <echelon/report.hpp>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>

namespace echelon::tool {

struct SolveOutcome {
  std::string matrix;  ///< the file
  FileInfo file;
  std::int64_t nonzeros = 0;
  std::size_t matrix_bytes = 0;
  std::string right_hand_side;  ///< the file, or empty for A * 1
  std::int64_t right_hand_sides = 1;
  std::string precision;  ///< double, float
  std::string hardware;
  Report report;
  /// max |x_i - 1| when the right-hand side was A * 1 and a solution was found.
  std::optional<double> distance_from_ones;
  double read_seconds = 0;
  double total_seconds = 0;
  std::string output;  ///< where x was asked to go, or empty
  bool output_written = false;
  std::exception_ptr write_failure;  ///< why a file could not be written; the report comes first
};

/// "cg" of "cg (preconditioner=jacobi)".
[[nodiscard]] std::string method_name(const std::string& description);

/// Whether an x was computed, so that its residual could be measured.
[[nodiscard]] inline bool computed(const Report& report) {
  return !report.columns.empty();
}

/// A verdict, then the facts, for a person.
[[nodiscard]] std::string solve_text(const SolveOutcome& outcome);
[[nodiscard]] Json solve_json(const SolveOutcome& outcome);

}  // namespace echelon::tool
