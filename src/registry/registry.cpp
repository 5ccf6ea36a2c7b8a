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
#include <optional>
#include <span>
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

/// Words that the option `preconditioner` takes.
std::vector<std::string> names_of_preconditioners(std::span<const Method> methods) {
  std::vector<std::string> names = {"none"};
  for (const Method& method : methods) {
    if (method.usable_as_preconditioner) names.push_back(method.name);
  }
  return names;
}

/// All methods, with the words of options that take a preconditioner.
std::vector<Method> complete_methods() {
  std::vector<Method> all = all_methods();
  const std::vector<std::string> preconditioners = names_of_preconditioners(all);
  for (Method& method : all) {
    for (OptionInfo& option : method.options) {
      if (option.kind == OptionKind::method) option.words = preconditioners;
    }
  }
  return all;
}

/// Returns f(). The path of a BadOption becomes that of an option of the preconditioner.
template <class F>
auto with_preconditioner_path(const F& f) {
  try {
    return f();
  } catch (const BadOption& error) {
    const std::string hint =
        error.did_you_mean().empty() ? "" : fmt::format("; did you mean '{}'?", error.did_you_mean());
    std::string reason = error.what();
    if (!hint.empty() && reason.ends_with(hint)) reason.resize(reason.size() - hint.size());
    throw BadOption("preconditioner." + error.path(), reason, error.did_you_mean());
  }
}

std::vector<std::string> complex_methods() {
  std::vector<std::string> names;
  for (const Method& method : methods()) {
    if (method.complex) names.push_back(method.name);
  }
  return names;
}

}  // namespace

void throw_for_complex_device(std::string_view name, const Device& device) {
  std::string reason = fmt::format("method '{}' takes complex matrices on serial and openmp only, not on {}",
                                   name, device.name());
  if (device.kind() == DeviceKind::cuda) {
    std::vector<std::string> names;
    for (const Method& method : methods()) {
      if (method.complex_cuda) names.push_back(method.name);
    }
    reason += fmt::format("; those for complex matrices in double on a GPU are {}", fmt::join(names, ", "));
  }
  throw NotBuilt(reason);
}

}  // namespace registry

std::span<const Method> methods() {
  static const std::vector<Method> rows = registry::complete_methods();
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
  for (const Method& method : methods()) {
    if (method.name == name && method.usable_as_preconditioner) return &method;
  }
  const std::vector<std::string> names = registry::names_of_preconditioners(methods());
  for (const Method& method : methods()) {
    if (method.name != name) continue;
    throw BadOption("preconditioner", fmt::format("method '{}' cannot be used as a preconditioner: {} can",
                                                  name, fmt::join(names.begin() + 1, names.end(), ", ")));
  }
  throw BadOption("preconditioner", fmt::format("there is no method '{}'", name), nearest_name(name, names));
}

void check_preconditioner(const std::string& name, const Device& device, const Options& options) {
  const Method* const method = find_preconditioner(name, options);
  if (method == nullptr) return;
  registry::with_preconditioner_path([&] { method->check_options(device, options); });
}

template <class T>
std::optional<Solver<T>> make_preconditioner(const std::string& name, const Device& device,
                                             const Options& options) {
  const Method* const method = find_preconditioner(name, options);
  if (method == nullptr) return std::nullopt;
  return registry::with_preconditioner_path([&] { return make_solver<T>(method->name, device, options); });
}

bool Method::runs_on(const Device& device) const {
  switch (device.kind()) {
    case DeviceKind::serial:
      return serial;
    case DeviceKind::openmp:
      return openmp;
    case DeviceKind::cuda:
      return cuda;
    case DeviceKind::opencl:
      return opencl;
  }
  return false;
}

bool Method::takes_complex_on(const Device& device) const {
  return complex && (device.on_host() ? serial : complex_cuda && device.kind() == DeviceKind::cuda);
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

#define ECHELON_INSTANTIATE(T)                                                     \
  template Solver<T> make_solver(std::string_view, const Device&, const Options&); \
  template std::optional<Solver<T>> make_preconditioner(const std::string&, const Device&, const Options&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
