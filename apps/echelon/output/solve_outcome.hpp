// SPDX-License-Identifier: BSD-3-Clause
/// The result of `echelon solve`, as text and as JSON.
#pragma once

#include "output/json.hpp"

#include <echelon/certify.hpp>
#include <echelon/io/file_info.hpp>
#include <echelon/page/report_page.hpp>
#include <echelon/report.hpp>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>

namespace echelon::tool {

/// Where b comes from.
struct RhsSource {
  std::string kind;                   ///< "file", "A*1", "A*v", "ones", "random"
  std::string file;                   ///< for "file"
  std::optional<std::uint64_t> seed;  ///< for "A*v" and "random"
  std::string description;            ///< for a person
  std::int64_t columns = 1;
};

struct SolveOutcome {
  std::string matrix;  ///< the file's name, as given
  FileInfo file;
  std::int64_t nonzeros = 0;
  std::size_t matrix_bytes = 0;
  RhsSource right_hand_side;
  std::string precision;  ///< "double" or "float"
  std::string hardware;
  Report report;
  std::optional<double> distance_from_ones;     ///< max |x_i - 1| if b = A 1 and the system is solved
  std::optional<ErrorCertificate> certificate;  ///< if asked for, and there is an x
  double read_seconds = 0;
  double certify_seconds = 0;
  double write_seconds = 0;  ///< of x
  double total_seconds = 0;
  std::optional<MatrixPortrait> portrait;  ///< with --report
  std::optional<FactorPattern> factor;     ///< with --report, of a sparse direct method
  std::string output;                      ///< the file for x, or empty
  bool output_written = false;
  std::exception_ptr write_failure;  ///< reported after the result, which it does not invalidate
};

/// Whether an x exists; without one the residual figures of the report mean nothing.
[[nodiscard]] inline bool has_solution(const Report& report) {
  return !report.columns.empty();
}

/// The result in one line, then a table of facts.
[[nodiscard]] std::string solve_text(const SolveOutcome& outcome);
[[nodiscard]] Json solve_json(const SolveOutcome& outcome);
/// The convergence history in SVG.
[[nodiscard]] std::string history_plot(const SolveOutcome& outcome);
/// The page in HTML; `command` repeats the solve.
[[nodiscard]] std::string solve_page(const SolveOutcome& outcome, const std::string& command);

/// The report with the certificate that the tool asked for, valid as long as `outcome`.
[[nodiscard]] Report certified_report(const SolveOutcome& outcome);
/// The matrix, its file, size and symmetry in one line.
[[nodiscard]] std::string matrix_text(const SolveOutcome& outcome);
[[nodiscard]] std::string right_hand_side_text(const RhsSource& source);

}  // namespace echelon::tool
