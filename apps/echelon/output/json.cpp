// SPDX-License-Identifier: BSD-3-Clause
#include "output/json.hpp"

#include "terminal/terminal.hpp"

#include <echelon/solver/report_json.hpp>

namespace echelon::tool {

std::string json_line(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void print_json(const Json& value) {
  print_report(json_line(value) + "\n");
}

std::string utf8(const std::string& text) {
  return Json::parse(json_line(text)).get<std::string>();
}

Json report_part(const Report& report, const std::string& name) {
  return Json::parse(to_json(report)).at(name);
}

}  // namespace echelon::tool
