// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"

#include <echelon/device.hpp>
#include <echelon/solver/methods_json.hpp>

#include <nlohmann/json.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace echelon {

namespace {

using Json = nlohmann::ordered_json;

std::string_view kind_name(MethodKind kind) {
  switch (kind) {
    case MethodKind::direct:
      return "direct";
    case MethodKind::iterative:
      return "iterative";
    case MethodKind::preconditioner:
      return "preconditioner";
  }
  return {};
}

std::string_view needs_name(MethodNeeds needs) {
  switch (needs) {
    case MethodNeeds::any_shape:
      return "any_shape";
    case MethodNeeds::square:
      return "square";
    case MethodNeeds::nonzero_diagonal:
      return "nonzero_diagonal";
    case MethodNeeds::one_sided_spectrum:
      return "one_sided_spectrum";
    case MethodNeeds::symmetric:
      return "symmetric";
    case MethodNeeds::symmetric_positive_definite:
      return "symmetric_positive_definite";
    case MethodNeeds::diagonally_dominant:
      return "diagonally_dominant";
    case MethodNeeds::triangular:
      return "triangular";
  }
  return {};
}

Json devices_json(const Method& method) {
  Json names = Json::array();
  if (method.serial) names.push_back("serial");
  if (method.openmp) names.push_back("openmp");
  if (method.cuda && cuda_built()) names.push_back("cuda");
  return names;
}

Json options_json(const std::vector<OptionInfo>& options) {
  Json list = Json::array();
  for (const OptionInfo& option : options) {
    list.push_back({{"name", option.name},
                    {"type", option.type},
                    {"default", option.fallback},
                    {"allowed", option.allowed},
                    {"help", option.help}});
  }
  return list;
}

Json method_json(const Method& method) {
  return {{"name", method.name},
          {"summary", method.summary},
          {"kind", kind_name(method.kind)},
          {"needs", needs_name(method.needs)},
          {"devices", devices_json(method)},
          {"sparse", method.sparse},
          {"dense", method.dense},
          {"preconditioner", method.usable_as_preconditioner},
          {"study", method.study},
          {"options", options_json(method.options)}};
}

}  // namespace

std::string to_json(std::span<const Method> methods) {
  return at_api_boundary([&] {
    Json list = Json::array();
    for (const Method& method : methods) list.push_back(method_json(method));
    return list.dump();
  });
}

}  // namespace echelon
