// SPDX-License-Identifier: BSD-3-Clause
#include <echelon/report.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <span>
#include <string>
#include <variant>

namespace echelon {

std::string_view to_string(Status status) {
  switch (status) {
    case Status::converged:
      return "converged";
    case Status::direct:
      return "direct";
    case Status::least_squares:
      return "least_squares";
    case Status::ready:
      return "ready";
    case Status::max_iterations:
      return "max_iterations";
    case Status::stagnated:
      return "stagnated";
    case Status::diverged:
      return "diverged";
    case Status::breakdown:
      return "breakdown";
    case Status::singular:
      return "singular";
    case Status::inconsistent:
      return "inconsistent";
    case Status::underdetermined:
      return "underdetermined";
    case Status::not_a_number:
      return "not_a_number";
    case Status::not_spd:
      return "not_spd";
    case Status::out_of_memory:
      return "out_of_memory";
    case Status::cancelled:
      return "cancelled";
  }
  return "unknown";
}

std::string_view to_string(ConditionKind kind) {
  switch (kind) {
    case ConditionKind::none:
      return "none";
    case ConditionKind::factored:
      return "factored";
    case ConditionKind::krylov:
      return "krylov";
  }
  return "unknown";
}

std::optional<int> Report::expected_digits() const {
  if (!error_estimate) return std::nullopt;
  constexpr double most_digits = std::numeric_limits<double>::max_digits10;
  if (!(*error_estimate < 1)) return 0;  // NaN, too
  return static_cast<int>(std::min(std::floor(-std::log10(*error_estimate)), most_digits));
}

namespace {

std::string text_of(std::int64_t value) {
  return fmt::format("{}", value);
}
std::string text_of(double value) {
  return fmt::format("{:.3g}", value);
}
std::string text_of(const std::string& value) {
  return value;
}
std::string text_of(const std::vector<std::int64_t>& values) {
  const std::size_t shown = std::min<std::size_t>(values.size(), 8);
  const std::span<const std::int64_t> first(values.data(), shown);
  return fmt::format("{}{}", fmt::join(first, " "), shown < values.size() ? " ..." : "");
}

}  // namespace

std::string to_string(const Statistic& statistic) {
  return statistic.name + " " + std::visit([](const auto& value) { return text_of(value); }, statistic.value);
}

const Statistic* Report::find_statistic(std::string_view name) const {
  const auto found = std::find_if(statistics.begin(), statistics.end(),
                                  [&](const Statistic& statistic) { return statistic.name == name; });
  return found == statistics.end() ? nullptr : &*found;
}

bool solved(Status status) {
  return status == Status::converged || status == Status::direct || status == Status::underdetermined ||
         status == Status::least_squares;
}

std::ostream& operator<<(std::ostream& out, const Report& report) {
  std::string text =
      fmt::format("{}{}{}\n", to_string(report.status), report.message.empty() ? "" : ": ", report.message);
  text += fmt::format("  method: {} on {}", report.method, report.device.name());
  text += report.reason.empty() ? "\n" : fmt::format("; {}\n", report.reason);
  if (!report.columns.empty()) {
    text += fmt::format("  relative residual {:.2e}, backward error {:.2e}, {} iterations\n",
                        report.relative_residual, report.backward_error, report.iterations);
  }
  if (report.reciprocal_condition) {
    text += fmt::format("  reciprocal condition number about {:.1e}\n", *report.reciprocal_condition);
  }
  if (report.certified()) {
    text += fmt::format("  certified: |x - x*| <= {:.2e}, relative {:.2e}\n", report.certificate->error_bound,
                        report.certificate->relative_error_bound);
  } else {
    if (const auto digits = report.expected_digits())
      text += fmt::format("  expect about {} correct digits\n", *digits);
    if (report.certificate != nullptr)
      text += fmt::format("  not certified: {}\n", report.certificate->reason);
  }
  for (std::size_t i = 0; i < report.statistics.size(); ++i) {
    text += fmt::format("{}{}", i == 0 ? "  statistics: " : ", ", to_string(report.statistics[i]));
  }
  if (!report.statistics.empty()) text += "\n";
  text += fmt::format("  seconds: choosing {:.3g}, set-up {:.3g}, solve {:.3g}, transfer {:.3g}\n",
                      report.choosing_seconds, report.analysis_seconds + report.setup_seconds,
                      report.solve_seconds, report.transfer_seconds);
  for (const std::string& warning : report.warnings) text += fmt::format("  warning: {}\n", warning);
  return out << text;
}

}  // namespace echelon
