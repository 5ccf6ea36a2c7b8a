// SPDX-License-Identifier: BSD-3-Clause
#include "solver/selection/elimination_check.hpp"

#include "solver/factor_estimate.hpp"
#include "solver/nested_solver.hpp"
#include "solver/selection/method_selection.hpp"
#include "support/scalar.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace echelon {

namespace {

/// The solver for A in the memory of `device`; none where each takes longer.
template <class T>
std::optional<Solver<T>> quick_elimination(const MatrixRef<T>& A, const Device& device, MethodNeeds needs) {
  constexpr std::int64_t dense_rows = 256;
  if (A.is_operator() || A.rows() == 0 || A.columns() == 0) return std::nullopt;
  if (A.rows() != A.columns()) {
    if (is_complex<T>) return std::nullopt;
    const bool quick = orthogonal_flops(A.rows(), A.columns()) <= measuring_flops;
    return quick ? std::optional(make_solver<T>("qr", device.on_host() ? device : Device())) : std::nullopt;
  }
  if (A.rows() <= dense_rows || (!A.is_sparse() && elimination_flops(A.rows()) <= measuring_flops))
    return make_solver<T>("lu", device);
  if (!A.is_sparse() || A.nonzeros() > most_measured_nonzeros) return std::nullopt;
  const Device host = device.on_host() ? device : Device();
  const Csr<T> copy = A.device().on_host() ? Csr<T>() : A.csr()->to(host);
  const bool symmetric =
      !is_complex<T> && (needs == MethodNeeds::symmetric || needs == MethodNeeds::diagonally_dominant ||
                         needs == MethodNeeds::symmetric_positive_definite);
  const Csr<T>& on_host = A.device().on_host() ? *A.csr() : copy;
  if constexpr (!is_complex<T>) {
    if (estimate_long_factorization(on_host, symmetric, measuring_flops)) return std::nullopt;
  }
  AnalyzedSolver<T> direct = analyze_factorization(symmetric ? "sparse-ldlt" : "sparse-lu", on_host, host);
  return direct.cost.flops <= measuring_flops ? std::optional(std::move(direct.solver)) : std::nullopt;
}

/// max |x_i - y_i| / max |x_i| of a column on the host.
template <class T>
double relative_distance(const T* x, const T* y, std::int64_t n) {
  double distance = 0;
  double size = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    distance = std::max(distance, magnitude(static_cast<Dot<T>>(x[i]) - static_cast<Dot<T>>(y[i])));
    size = std::max(size, magnitude(x[i]));
  }
  return distance > 0 ? distance / size : 0;
}

}  // namespace

template <class T>
EliminationCheck<T>::EliminationCheck(PlacedMatrix<T>& A, const Device& device, MethodNeeds needs,
                                      const Dense<double>& near_null_space,
                                      const std::optional<CostPrediction>& factor) {
  if (factor && factor->flops > measuring_flops) return;
  double seconds = 0;
  direct_ = quick_elimination(A.on(device, seconds), device, needs);
  if (!direct_) return;
  if (near_null_space.columns() > 0)
    pass_near_null_space(SolverAccess<T>::implementation(*direct_), near_null_space);
  SolverAccess<T>::implementation(*direct_).leave_rank_unproven();
  direct_->setup(A.on(direct_->device(), seconds));
}

template <class T>
void EliminationCheck<T>::measure(DenseView<const T> B, DenseView<const T> X, Operation operation,
                                  Report& report) const {
  if (!direct_) return;
  Dense<T> copy;
  Dense<T> Y(direct_->device(), X.rows(), X.columns());
  const Report direct = direct_->solve(placed_on(direct_->device(), B, copy), Y, {.operation = operation});
  const Dense<T> there = Y.to(Device::serial());
  const Dense<T> here = packed(X).to(Device::serial());
  for (std::size_t j = 0; j < report.columns.size(); ++j) {
    ColumnReport& column = report.columns[j];
    const bool known = j < direct.columns.size() && direct.columns[j].error_estimate.has_value();
    const bool worst = column.error_estimate == report.error_estimate;
    const bool deficient = direct.rank.value_or(X.rows()) < X.rows();
    // The x of least residual that has the least norm in scaled unknowns may be another one.
    if (deficient && B.rows() > X.rows()) continue;
    column.error_estimate = deficient && !known ? std::nullopt : std::optional(1.0);
    if (known && solved(column.status)) {
      const auto c = static_cast<std::int64_t>(j);
      column.error_estimate = relative_distance(here.view().column(c), there.view().column(c), X.rows()) +
                              direct.columns[j].error_estimate.value_or(1);
    }
    if (worst) report.error_estimate = column.error_estimate;
  }
}

#define ECHELON_INSTANTIATE(T) template class EliminationCheck<T>;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
