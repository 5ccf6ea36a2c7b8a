// SPDX-License-Identifier: BSD-3-Clause
/// The constrained problem of a subdomain on a GPU.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "domain_decomposition/bddc/local/problem.hpp"
#include "linalg/blas/device_lapack.cuh"

#include <echelon/context.hpp>
#include <echelon/device.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace echelon::bddc {

/// Handles of CUDA's libraries, whose creation takes longer than a small problem, for one thread at a time.
struct DeviceTools {
  Cuda backend;
  Context context;
  DeviceLapack<double> lapack;
  explicit DeviceTools(const Device& device) : backend(device), context(device), lapack(device) {}
};

/// inverse = G^-1 for a symmetric positive definite G, of which the lower triangle is read and overwritten.
/// The outcome names the first pivot that is not positive. Waits.
[[nodiscard]] Outcome invert(DeviceTools& tools, Dense<double>& G, DenseView<double> inverse);

/// S, which stays in place, and the inverse of S_FF by the factors that the settings ask for: those of
/// Crout's iteration, or of Cholesky.
class DeviceSchur final : public SchurOnDevice {
 public:
  DeviceSchur(DeviceTools& tools, DenseView<const double> S, const LocalSettings& settings)
      : tools_(tools), S_(S), settings_(settings) {}
  [[nodiscard]] std::vector<double> column(std::int32_t place) const override;
  [[nodiscard]] std::vector<double> product(std::span<const std::int32_t> places,
                                            const std::vector<double>& x) const override;
  [[nodiscard]] FactorAttempt factor(std::span<const std::int32_t> places) override;
  /// S_FF^-1, after factor().
  [[nodiscard]] const Dense<double>& inverse() const { return inverse_; }

 private:
  [[nodiscard]] Dense<double> principal(std::span<const std::int32_t> places) const;

  DeviceTools& tools_;
  DenseView<const double> S_;
  const LocalSettings& settings_;
  Dense<double> inverse_;
};

}  // namespace echelon::bddc
