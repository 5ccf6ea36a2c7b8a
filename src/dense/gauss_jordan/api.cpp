// SPDX-License-Identifier: BSD-3-Clause
// The public operations: checks of arguments, and dispatch to the host or CUDA.
#include "backend/api_boundary.hpp"
#include "backend/check_same_memory.hpp"
#include "backend/dispatch.hpp"
#include "dense/gauss_jordan/factor_precision.hpp"
#include "dense/gauss_jordan/operations.hpp"
#include "options/parse.hpp"
#include "support/workspace_pool.hpp"

#include <echelon/error.hpp>
#include <echelon/solver.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>

namespace echelon {

double RankFacts::gap() const {
  if (!smallest_accepted_pivot || !largest_rejected_pivot) return std::numeric_limits<double>::infinity();
  return *smallest_accepted_pivot / *largest_rejected_pivot;
}

namespace {

template <class T>
constexpr Targets elimination_targets = is_complex<T> ? Targets::host : Targets::all;

}  // namespace

template <class T>
class RowReduction<T>::Workspaces {
 public:
  explicit Workspaces(const Device& device) : device_(device) {}

  /// Calls f<Target>(workspace) with a workspace of the pool.
  template <class F>
  auto with_workspace(const F& f) {
    return on_target<elimination_targets<T>>(device_, [&]<class Target>() {
      return pool_.with_workspace(
          [&] { return make_operation_workspace<Target, T>(device_); },
          [&](OperationWorkspace& workspace) { return f.template operator()<Target>(workspace); });
    });
  }

 private:
  Device device_;
  WorkspacePool<OperationWorkspace> pool_;
};

template <class T>
RowReduction<T>::RowReduction(const Device& device, const GaussJordanOptions& options)
    : device_(device), options_(options) {
  at_api_boundary([&] {
    workspaces_ = std::make_shared<Workspaces>(device);
    static_cast<void>(parse_options<GaussJordanOptions>("gauss-jordan", to_options(options)));  // checks them
    check_precision<T>(options);
    require(device);
    if (is_complex<T> && !device.on_host()) throw_for_complex(device);
  });
}

template <class T>
EchelonForm<T> RowReduction<T>::reduce(Dense<T> A) const {
  return at_api_boundary([&] {
    check_same_memory(device_, "the elimination", A.device(), "A");
    return workspaces_->with_workspace([&]<class Target>(OperationWorkspace& workspace) {
      return reduce_on<Target, T>(workspace, options_, std::move(A));
    });
  });
}

template <class T>
EchelonForm<T> RowReduction<T>::reduce(MatrixRef<T> A) const {
  return at_api_boundary([&] {
    check_same_memory(device_, "the elimination", A.device(), "A");
    return reduce(to_dense(A));
  });
}

template <class T>
GeneralSolution<T> RowReduction<T>::solve(MatrixRef<T> A, DenseView<const T> B) const {
  return at_api_boundary([&] {
    if (A.rows() != B.rows()) {
      throw DimensionMismatch(fmt::format("A is {} by {} and B {} by {}: they need the same number of rows",
                                          A.rows(), A.columns(), B.rows(), B.columns()));
    }
    check_same_memory(device_, "the elimination", A.device(), "A");
    check_same_memory(device_, "the elimination", B.device(), "B");
    return workspaces_->with_workspace([&]<class Target>(OperationWorkspace& workspace) {
      auto implementation = make_elimination_solver<Target, T>(workspace, options_);
      implementation->set_description(std::string(GaussJordanOptions::name), {});
      const EliminationSolver<T>& elimination = *implementation;
      Solver<T> solver(std::move(implementation));
      GeneralSolution<T> solution;
      static_cast<void>(solver.setup(A));
      solution.X = Dense<T>(device_, A.columns(), B.columns());
      solution.report = solver.solve(B, solution.X);
      if (solution.report.columns.empty() && B.columns() > 0)
        solution.X = Dense<T>();  // nothing was computed
      if (!elimination.has_elimination()) return solution;
      solution.facts = elimination.facts();
      solution.pivot_columns = elimination.pivot_columns();
      solution.null_space = elimination.null_space();
      return solution;
    });
  });
}

template <class T>
Report RowReduction<T>::invert(DenseView<T> A) const {
  return at_api_boundary([&] {
    if (A.rows() != A.columns()) {
      throw DimensionMismatch(
          fmt::format("A is {} by {}; only a square matrix has an inverse", A.rows(), A.columns()));
    }
    check_same_memory(device_, "the elimination", A.device(), "A");
    return workspaces_->with_workspace([&]<class Target>(OperationWorkspace& workspace) {
      return invert_on<Target, T>(workspace, options_, A);
    });
  });
}

template <class T>
Dense<T> null_space(const EchelonForm<T>& form) {
  return at_api_boundary([&] {
    return on_target<elimination_targets<T>>(form.R.device(),
                                             [&]<class Target>() { return null_space_on<Target, T>(form); });
  });
}

#define ECHELON_INSTANTIATE(T)    \
  template class RowReduction<T>; \
  template Dense<T> null_space(const EchelonForm<T>&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
