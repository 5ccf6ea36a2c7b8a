// SPDX-License-Identifier: BSD-3-Clause
#include <echelon/report.hpp>
#include <echelon/solver/report_rows.hpp>

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
  std::string text;
  for (const ReportRow& row : report_rows(report))
    text += fmt::format("{}{}: {}\n", text.empty() ? "" : "  ", row.label, row.value);
  return out << text;
}

}  // namespace echelon
