// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"

#include <echelon/device.hpp>
#include <echelon/solver/methods_json.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <span>
#include <string>

namespace echelon {

namespace {

using Json = nlohmann::ordered_json;

Json devices_json(const Method& method) {
  Json names = Json::array();
  if (method.serial) names.push_back("serial");
  if (method.openmp) names.push_back("openmp");
  if (method.cuda && cuda_built()) names.push_back("cuda");
  if (method.opencl && opencl_built()) names.push_back("opencl");
  return names;
}

/// Devices on which the method takes complex matrices.
Json complex_devices_json(const Method& method) {
  Json names = Json::array();
  if (!method.complex) return names;
  if (method.serial) names.push_back("serial");
  if (method.openmp) names.push_back("openmp");
  if (method.complex_cuda && cuda_built()) names.push_back("cuda");
  return names;
}

/// Bounds of a number, null where there is none.
Json range_json(const Range& range) {
  const auto bound = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
  return {{"low", bound(range.low)},
          {"high", bound(range.high)},
          {"open_low", range.open_low},
          {"open_high", range.open_high}};
}

Json options_json(std::span<const OptionInfo> options) {
  Json list = Json::array();
  for (const OptionInfo& option : options) {
    list.push_back({{"name", option.name},
                    {"type", option.type()},
                    {"kind", to_string(option.kind)},
                    {"default", option.fallback},
                    {"allowed", option.allowed()},
                    {"words", option.words},
                    {"range", range_json(option.range)},
                    {"help", option.help}});
  }
  return list;
}

Json method_json(const Method& method) {
  return {{"name", method.name},
          {"summary", method.summary},
          {"kind", to_string(method.kind)},
          {"needs", to_string(method.needs)},
          {"devices", devices_json(method)},
          {"complex_devices", complex_devices_json(method)},
          {"sparse", method.sparse},
          {"dense", method.dense},
          {"preconditioner", method.usable_as_preconditioner},
          {"study", method.study},
          {"options", options_json(method.options)}};
}

}  // namespace

std::string to_json(std::span<const OptionInfo> options) {
  return at_api_boundary([&] { return options_json(options).dump(); });
}

std::string to_json(std::span<const Method> methods) {
  return at_api_boundary([&] {
    Json list = Json::array();
    for (const Method& method : methods) list.push_back(method_json(method));
    return list.dump();
  });
}

}  // namespace echelon
