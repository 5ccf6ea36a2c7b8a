// SPDX-License-Identifier: BSD-3-Clause
/// Loops in steps: the items of a step are independent, and depend on the steps before.
#pragma once

#include "backend/target.hpp"

#include <echelon/array.hpp>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace echelon {

/// Items 0 .. count() - 1, divided into consecutive steps. Also in the backend's memory.
class Steps {
 public:
  Steps() = default;
  /// `ends`: the end of each step; ascending.
  Steps(const Device& device, std::vector<std::int64_t> ends)
      : ends_(std::move(ends)), on_device_(device, std::span<const std::int64_t>(ends_)) {}

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(ends_.size()); }
  [[nodiscard]] std::int64_t begin(std::int64_t step) const { return step == 0 ? 0 : end(step - 1); }
  [[nodiscard]] std::int64_t end(std::int64_t step) const { return ends_[static_cast<std::size_t>(step)]; }
  [[nodiscard]] std::int64_t count() const { return ends_.empty() ? 0 : ends_.back(); }
  [[nodiscard]] const std::int64_t* ends() const { return on_device_.data(); }
  [[nodiscard]] std::size_t bytes() const { return on_device_.bytes(); }

 private:
  std::vector<std::int64_t> ends_;
  Array<std::int64_t> on_device_;
};

/// Loop body with an offset.
template <class F>
struct Shifted {
  F f;
  std::int64_t begin;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { f(begin + i); }
};

/// Calls f(i) for every item, step after step.
template <class B, class F>
void for_each_step(B& backend, const Steps& steps, F f) {
  for (std::int64_t step = 0; step < steps.size(); ++step) {
    backend.for_each(steps.end(step) - steps.begin(step), Shifted<F>{f, steps.begin(step)});
  }
}

}  // namespace echelon

#ifdef __CUDACC__
#include "backend/cuda/steps.cuh"
#endif
