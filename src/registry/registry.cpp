// SPDX-License-Identifier: BSD-3-Clause
/// Methods by name.
#include "backend/api_boundary.hpp"
#include "registry/families.hpp"
#include "solver/make.hpp"
#include "solver/preconditioner_option.hpp"

#include <echelon/error.hpp>
#include <echelon/solver.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

namespace registry {
namespace {

/// Methods of all families, by name.
std::vector<Method> all_methods() {
  std::vector<Method> all;
  for (auto* const family : {automatic_methods, crout_methods, dense_methods, domain_decomposition_methods,
                             graph_laplacian_methods, incomplete_methods, krylov_methods, multigrid_methods,
                             relaxation_methods, sparse_direct_methods}) {
    std::vector<Method> rows = family();
    std::move(rows.begin(), rows.end(), std::back_inserter(all));
  }
  std::sort(all.begin(), all.end(), [](const Method& a, const Method& b) { return a.name < b.name; });
  return all;
}

std::vector<std::string> complex_methods() {
  std::vector<std::string> names;
  for (const Method& method : methods()) {
    if (method.complex) names.push_back(method.name);
  }
  return names;
}

}  // namespace
}  // namespace registry

std::span<const Method> methods() {
  static const std::vector<Method> rows = registry::all_methods();
  return rows;
}

const Method& find_method(std::string_view name) {
  for (const Method& method : methods()) {
    if (method.name == name) return method;
  }
  std::vector<std::string> names;
  for (const Method& method : methods()) names.push_back(method.name);
  throw BadOption("method", fmt::format("there is no method '{}'", name), nearest_name(name, names));
}

const Method* find_preconditioner(const std::string& name, const Options& options) {
  if (name == "none" || name.empty()) {
    if (options.empty()) return nullptr;
    throw BadOption("preconditioner." + options.entries().front().first,
                    "options are given for a preconditioner, but there is none");
  }
  const Method& method = find_method(name);
  if (method.usable_as_preconditioner) return &method;
  throw BadOption("preconditioner", fmt::format("method '{}' cannot be used as a preconditioner", name));
}

bool Method::runs_on(const Device& device) const {
  switch (device.kind()) {
    case DeviceKind::serial:
      return serial;
    case DeviceKind::openmp:
      return openmp;
    case DeviceKind::cuda:
      return cuda;
  }
  return false;
}

template <class T>
Solver<T> make_solver(std::string_view method, const Device& device, const Options& options) {
  return at_api_boundary([&] {
    const SolverMaker<T>& maker = find_method(method).maker<T>();
    if (!maker) {
      throw NotBuilt(fmt::format("method '{}' is for real matrices; those for complex ones are {}", method,
                                 fmt::join(registry::complex_methods(), ", ")));
    }
    return maker(device, options);
  });
}

#define ECHELON_INSTANTIATE(T) \
  template Solver<T> make_solver(std::string_view, const Device&, const Options&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
