// SPDX-License-Identifier: BSD-3-Clause
#include "c/handles.hpp"

#include <echelon/page/report_page.hpp>
#include <echelon/solver/report_json.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

struct echelon_report_object {
  explicit echelon_report_object(const echelon::Report& outcome)
      : code(0),
        report(outcome),
        json_text(echelon::to_json(outcome)),
        json(nlohmann::json::parse(json_text)) {
    std::ostringstream out;
    out << outcome;
    text = out.str();
  }

  echelon::c::Tag<echelon::c::HandleKind::report> tag;
  std::int32_t code;
  echelon::Report report;
  std::string json_text;
  nlohmann::json json;
  std::string text;
  std::string page;  ///< made when it is asked for
};

namespace echelon::c {

namespace {

/// The part of a JSON value that a name leads to, null if there is none. A name may itself have dots, as
/// those of statistics do.
const nlohmann::json* find_part(const nlohmann::json& value, std::string_view name) {
  if (name.empty()) return &value;
  if (value.is_array()) {
    const std::size_t end = std::min(name.find('.'), name.size());
    std::size_t index = 0;
    for (const char digit : name.substr(0, end)) {
      if (digit < '0' || digit > '9' || index >= value.size()) return nullptr;
      index = 10 * index + static_cast<std::size_t>(digit - '0');
    }
    if (end == 0 || index >= value.size()) return nullptr;
    return find_part(value[index], end == name.size() ? "" : name.substr(end + 1));
  }
  if (!value.is_object()) return nullptr;
  if (const auto whole = value.find(std::string(name)); whole != value.end()) return &*whole;
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos || dot + 1 == name.size()) return nullptr;
  const auto part = value.find(std::string(name.substr(0, dot)));
  return part == value.end() ? nullptr : find_part(*part, name.substr(dot + 1));
}

}  // namespace

std::int32_t code_of(Status status) {
  switch (status) {
    case Status::converged:
    case Status::direct:
    case Status::ready:
      return ECHELON_SOLVED;
    case Status::least_squares:
      return ECHELON_LEAST_SQUARES;
    case Status::max_iterations:
      return ECHELON_MAX_ITERATIONS;
    case Status::stagnated:
      return ECHELON_STAGNATED;
    case Status::diverged:
      return ECHELON_DIVERGED;
    case Status::breakdown:
      return ECHELON_BREAKDOWN;
    case Status::singular:
      return ECHELON_SINGULAR;
    case Status::inconsistent:
      return ECHELON_INCONSISTENT;
    case Status::underdetermined:
      return ECHELON_UNDERDETERMINED;
    case Status::not_a_number:
      return ECHELON_NOT_A_NUMBER;
    case Status::not_spd:
      return ECHELON_NOT_SPD;
    case Status::out_of_memory:
      return ECHELON_MEMORY_EXHAUSTED;
    case Status::cancelled:
      return ECHELON_CANCELLED;
  }
  return ECHELON_INTERNAL;
}

std::int32_t give_report(echelon_report* report, const Report& outcome) {
  const std::int32_t code = code_of(outcome.status);
  if (report != nullptr) {
    auto made = std::make_unique<echelon_report_object>(outcome);
    made->code = code;
    *report = made.release();
  }
  return code;
}

}  // namespace echelon::c

namespace c = echelon::c;

std::int32_t echelon_report_code(echelon_report report) {
  return c::call([&] { return c::object(report, "report").code; });
}

double echelon_report_number(echelon_report report, const char* name) {
  double number = std::numeric_limits<double>::quiet_NaN();
  c::call([&] {
    c::require_pointer(name, "name");
    const nlohmann::json* const part = c::find_part(c::object(report, "report").json, name);
    if (part != nullptr && part->is_number()) number = part->get<double>();
    if (part != nullptr && part->is_boolean()) number = part->get<bool>() ? 1 : 0;
    return ECHELON_SOLVED;
  });
  return number;
}

const char* echelon_report_text(echelon_report report, const char* name) {
  const char* text = nullptr;
  c::call([&] {
    auto& made = c::object(report, "report");
    c::require_pointer(name, "name");
    if (std::string_view(name) == "text") {
      text = made.text.c_str();
    } else if (std::string_view(name) == "html") {
      if (made.page.empty()) made.page = echelon::to_html(made.report);
      text = made.page.c_str();
    } else if (const nlohmann::json* const part = c::find_part(made.json, name);
               part != nullptr && part->is_string()) {
      text = part->get_ref<const std::string&>().c_str();
    }
    return ECHELON_SOLVED;
  });
  return text;
}

std::int64_t echelon_report_history(echelon_report report, std::int64_t capacity, double* history) {
  std::int64_t length = 0;
  const std::int32_t code = c::call([&] {
    const auto& made = c::object(report, "report");
    c::check_capacity(capacity, history, "history");
    length = static_cast<std::int64_t>(made.report.history.size());
    std::copy_n(made.report.history.begin(), std::min(capacity, length), history);
    return ECHELON_SOLVED;
  });
  return code == ECHELON_SOLVED ? length : code;
}

std::int64_t echelon_report_map(echelon_report report, std::int64_t capacity, std::int64_t* rows) {
  std::int64_t unknowns = 0;
  const std::int32_t code = c::call([&] {
    const auto& map = c::object(report, "report").report.row_of_unknown;
    c::check_capacity(capacity, rows, "rows");
    if (map == nullptr) return ECHELON_SOLVED;
    unknowns = std::ssize(*map);
    std::copy_n(map->begin(), std::min(capacity, unknowns), rows);
    return ECHELON_SOLVED;
  });
  return code == ECHELON_SOLVED ? unknowns : code;
}

const char* echelon_report_json(echelon_report report) {
  const char* text = nullptr;
  c::call([&] {
    text = c::object(report, "report").json_text.c_str();
    return ECHELON_SOLVED;
  });
  return text;
}

void echelon_report_free(echelon_report report) {
  c::free_object(report);
}
