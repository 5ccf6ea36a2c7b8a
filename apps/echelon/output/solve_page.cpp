// SPDX-License-Identifier: BSD-3-Clause
#include "output/pages.hpp"
#include "output/solve_outcome.hpp"
#include "terminal/text.hpp"

#include <echelon/page/plots.hpp>
#include <echelon/page/report_page.hpp>

#include <fmt/format.h>

#include <string>
#include <vector>

namespace echelon::tool {

std::string history_plot(const SolveOutcome& outcome) {
  const Report& report = outcome.report;
  const std::string facts =
      fmt::format("{} \u00d7 {}, {} nonzeros; {}, {} iterations, {} on {}", grouped(outcome.file.rows),
                  grouped(outcome.file.columns), grouped(outcome.nonzeros), to_string(report.status),
                  grouped(report.iterations), duration(report.solve_seconds), report.device.name());
  return history_svg(report, {fmt::format("{} on {}", report.method, file_title(outcome.matrix)), facts});
}

std::string solve_page(const SolveOutcome& outcome, const std::string& command) {
  PageDetails details;
  details.title = file_title(outcome.matrix);
  details.command = command;
  details.system = {
      {.label = "file", .value = matrix_text(outcome)},
      {.label = "right-hand side", .value = right_hand_side_text(outcome.right_hand_side)},
      {.label = "hardware", .value = fmt::format("{}, in {}", outcome.hardware, outcome.precision)}};
  if (outcome.distance_from_ones)
    details.system.push_back(
        {.label = "max |x - 1|", .value = fmt::format("{:.2e}", *outcome.distance_from_ones)});
  details.matrix = outcome.portrait;
  details.factor = outcome.factor;
  details.times = {{"reading", outcome.read_seconds, {}}};
  if (outcome.certify_seconds > 0) details.times.push_back({"certificate", outcome.certify_seconds, {}});
  details.memory = {{"matrix", static_cast<double>(outcome.matrix_bytes), {}}};
  details.json = json_line(solve_json(outcome));
  return to_html(certified_report(outcome), details);
}

}  // namespace echelon::tool
