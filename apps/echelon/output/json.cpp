// SPDX-License-Identifier: BSD-3-Clause
#include "output/json.hpp"

#include "terminal/terminal.hpp"

namespace echelon::tool {

namespace {
std::string one_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}
}  // namespace

void print_json(const Json& value) {
  print_report(one_line(value) + "\n");
}

std::string utf8(const std::string& text) {
  return Json::parse(one_line(text)).get<std::string>();
}

Json statistics_json(const Report& report) {
  Json object = Json::object();
  for (const Statistic& statistic : report.statistics) {
    object[statistic.name] = std::visit([](const auto& value) { return Json(value); }, statistic.value);
  }
  return object;
}

}  // namespace echelon::tool
