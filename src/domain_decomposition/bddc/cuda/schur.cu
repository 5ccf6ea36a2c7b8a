// SPDX-License-Identifier: BSD-3-Clause
#include "domain_decomposition/bddc/cuda/crout.cuh"
#include "domain_decomposition/bddc/cuda/kernels.cuh"
#include "domain_decomposition/bddc/cuda/schur.cuh"
#include "domain_decomposition/schur/blocks.hpp"

#include <echelon/linalg.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace echelon::bddc {

namespace {

/// G^-1 for a G on a GPU, by products with vectors of the host.
class InverseOnDevice final : public LocalFactor {
 public:
  InverseOnDevice(DeviceTools& tools, const Dense<double>& inverse) : tools_(tools), inverse_(inverse) {}

  void solve(Workspace* workspace, const double* r, double* x) const override {
    const std::int64_t n = inverse_.rows();
    solve_columns(workspace, {r, n, 1, n}, {x, n, 1, n});
  }
  void solve_columns(Workspace* /*workspace*/, DenseView<const double> R,
                     DenseView<double> X) const override {
    Dense<double> on_host(Device::serial(), R.rows(), R.columns());
    for (std::int64_t j = 0; j < R.columns(); ++j)
      std::copy_n(R.column(j), R.rows(), on_host.view().column(j));
    const Dense<double> right = on_host.to(inverse_.device());
    Dense<double> solution(inverse_.device(), R.rows(), R.columns());
    gemm<double>(tools_.context, 1, inverse_.view(), right.view(), 0, solution.view());
    on_host = solution.to(Device::serial());
    for (std::int64_t j = 0; j < R.columns(); ++j)
      std::copy_n(on_host.view().column(j), R.rows(), X.column(j));
  }
  [[nodiscard]] std::size_t bytes() const override { return 0; }

 private:
  DeviceTools& tools_;
  const Dense<double>& inverse_;
};

}  // namespace

Outcome invert(DeviceTools& tools, Dense<double>& G, DenseView<double> inverse) {
  const std::int64_t n = G.rows();
  if (n == 0) return {};
  const auto order = static_cast<int>(n);
  const CurrentDevice current(G.device().id());
  tools.lapack.reserve_potrf(order);
  tools.lapack.potrf(order, G.data(), order);
  const int failed = tools.backend.read(tools.lapack.info());
  if (failed > 0) return not_definite(failed - 1);
  Dense<double> triangle(G.device(), n, n);  // L^-T
  tools.backend.for_each(n * n, SetDiagonal{n, 1.0, triangle.data()});
  tools.lapack.trsm_right(Operation::adjoint, false, n, order, G.data(), order, triangle.data(), n);
  const DenseView<const double> factor = std::as_const(triangle).view();
  gemm<double>(tools.context, 1, factor, transposed(factor), 0, inverse);
  tools.backend.synchronize();
  return {};
}

std::vector<double> DeviceSchur::column(std::int32_t place) const {
  Array<double> copy(S_.device(), S_.rows());
  tools_.backend.copy(S_.rows(), S_.column(place), copy.data());
  return copy.to_vector();
}

Dense<double> DeviceSchur::principal(std::span<const std::int32_t> places) const {
  const Array<std::int32_t> list(S_.device(), places);
  Dense<double> G(S_.device(), list.size(), list.size());
  schur::gather_on<CudaTarget, double>(S_, list.data(), list.data(), G.view());
  tools_.backend.synchronize();
  return G;
}

std::vector<double> DeviceSchur::product(std::span<const std::int32_t> places,
                                         const std::vector<double>& x) const {
  std::vector<double> extended(static_cast<std::size_t>(S_.rows()), 0.0);
  for (std::size_t i = 0; i < places.size(); ++i) extended[places[i]] = x[i];
  const Dense<double> right(S_.device(), std::span<const double>(extended));
  Dense<double> left(S_.device(), S_.rows(), 1);
  gemm<double>(tools_.context, 1, S_, right.view(), 0, left.view());
  const std::vector<double> all = left.to_vector();
  std::vector<double> result;
  for (const std::int32_t place : places) result.push_back(all[place]);
  return result;
}

FactorAttempt DeviceSchur::factor(std::span<const std::int32_t> places) {
  Dense<double> G = principal(places);
  inverse_ = Dense<double>(S_.device(), G.rows(), G.rows());
  const bool iterated = settings_.schur == BddcSchur::crout_iterative;
  Outcome outcome = iterated
                        ? invert_by_crout(tools_, G, {settings_.schur_tolerance, settings_.schur_pivoting},
                                          settings_.cancel, inverse_.view())
                        : invert(tools_, G, inverse_.view());
  if (!outcome.ok()) return {nullptr, std::move(outcome)};
  return {std::make_unique<InverseOnDevice>(tools_, inverse_), {}};
}

}  // namespace echelon::bddc
