// SPDX-License-Identifier: BSD-3-Clause
/// The constrained problem of a subdomain on a GPU.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "domain_decomposition/bddc/local/problem.hpp"
#include "sparse_direct/multifrontal/cuda/vendor.cuh"

#include <echelon/context.hpp>
#include <echelon/device.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace echelon::bddc {

/// Handles of CUDA's libraries, whose creation takes longer than a small problem, for one thread at a time.
struct DeviceTools {
  Cuda backend;
  Context context;
  sparse_direct::gpu::Vendor<double> vendor;
  explicit DeviceTools(const Device& device) : backend(device), context(device), vendor(device) {}
};

/// Tools that threads take and return.
class DeviceToolPool {
 public:
  explicit DeviceToolPool(const Device& device) : device_(device) {}

  /// Calls f(tools).
  template <class F>
  Outcome with_tools(const F& f) {
    std::unique_ptr<DeviceTools> tools = take();
    Outcome outcome = f(*tools);
    const std::scoped_lock lock(mutex_);
    free_.push_back(std::move(tools));
    return outcome;
  }

 private:
  std::unique_ptr<DeviceTools> take() {
    {
      const std::scoped_lock lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<DeviceTools> tools = std::move(free_.back());
        free_.pop_back();
        return tools;
      }
    }
    return std::make_unique<DeviceTools>(device_);
  }

  Device device_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<DeviceTools>> free_;
};

/// inverse = G^-1 for a symmetric positive definite G, of which the lower triangle is read and overwritten.
/// The outcome names the first pivot that is not positive. Waits.
[[nodiscard]] Outcome invert(DeviceTools& tools, Dense<double>& G, DenseView<double> inverse);

/// S, which stays in place, and the inverse of S_FF.
class DeviceSchur final : public SchurOnDevice {
 public:
  DeviceSchur(DeviceTools& tools, DenseView<const double> S) : tools_(tools), S_(S) {}
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
  Dense<double> inverse_;
};

}  // namespace echelon::bddc
