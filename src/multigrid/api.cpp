// SPDX-License-Identifier: BSD-3-Clause
#include "backend/check_same_memory.hpp"
#include "backend/dispatch.hpp"
#include "multigrid/hierarchy.hpp"
#include "multigrid/method.hpp"
#include "options/parse.hpp"
#include "solver/nested_solver.hpp"

#include <echelon/error.hpp>
#include <echelon/methods/multigrid/hierarchy.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace echelon {

namespace {

/// The method, or its preconditioner, that has levels; null if neither has.
template <class T>
const SolverImplementation<T>* owner_of_levels(SolverImplementation<T>& method) {
  return method_with(method, [](const auto& m) { return m.hierarchy() != nullptr; });
}

}  // namespace

template <class T>
HierarchyDescription describe_hierarchy(const Solver<T>& solver) {
  SolverImplementation<T>& implementation = SolverAccess<T>::implementation(solver);
  const SolverImplementation<T>* owner = owner_of_levels(implementation);
  if (owner == nullptr || owner->hierarchy()->levels.empty()) {
    throw Error(fmt::format("the solver '{}' has no hierarchy", implementation.name()));
  }
  return *owner->hierarchy();
}

template <class T>
Csr<T> level_matrix(const Solver<T>& solver, std::size_t level) {
  SolverImplementation<T>& implementation = SolverAccess<T>::implementation(solver);
  const SolverImplementation<T>* owner = owner_of_levels(implementation);
  std::optional<Csr<T>> matrix = owner != nullptr ? owner->level_matrix(level) : std::nullopt;
  if (!matrix) {
    throw Error(fmt::format("the solver '{}' has no matrix of a level {}", implementation.name(), level));
  }
  return std::move(*matrix);
}

template <class T>
Solver<T> make_multigrid(const Device& device, std::vector<Csr<T>> prolongations, const AmgOptions& options) {
  for (std::size_t l = 0; l < prolongations.size(); ++l) {
    check_same_memory(prolongations[l].device(), fmt::format("prolongation {}", l), device, "the solver");
    if (l == 0 || prolongations[l].rows() == prolongations[l - 1].columns()) continue;
    throw DimensionMismatch(fmt::format("prolongation {} has {} rows, prolongation {} has {} columns", l,
                                        prolongations[l].rows(), l - 1, prolongations[l - 1].columns()));
  }
  const AmgOptions checked = parse_options<AmgOptions>(std::string(AmgOptions::name), to_options(options));
  auto implementation = on_target<multigrid::targets_of_multigrid<T>>(device, [&]<class Target>() {
    return multigrid::make_with_prolongations<Target, T>(device, std::move(prolongations), checked);
  });
  implementation->set_description("multigrid", changed_options(checked));
  return Solver<T>(std::move(implementation));
}

#define ECHELON_INSTANTIATE(T)                                        \
  template HierarchyDescription describe_hierarchy(const Solver<T>&); \
  template Csr<T> level_matrix(const Solver<T>&, std::size_t);        \
  template Solver<T> make_multigrid(const Device&, std::vector<Csr<T>>, const AmgOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
