// SPDX-License-Identifier: BSD-3-Clause
/// What a backend offers. Data-parallel algorithms are templates on it, with functors for kernels; they are
/// written once and instantiated for the host by x.cpp and for CUDA by x.cu, which includes it.
#pragma once

#include "backend/annotate.hpp"

#include <echelon/device.hpp>

#include <concepts>
#include <cstdint>

namespace echelon {

/// Something that reductions combine: a default value that changes nothing, and `combine`.
template <class V>
concept Reducible = std::default_initializable<V> && requires(V a, V b) {
  { combine(a, b) } -> std::same_as<V>;
};

struct Sum {
  double value = 0;
  friend ECHELON_ANYWHERE Sum combine(Sum a, Sum b) { return {a.value + b.value}; }
};

struct TwoSums {
  double first = 0;
  double second = 0;
  friend ECHELON_ANYWHERE TwoSums combine(TwoSums a, TwoSums b) {
    return {a.first + b.first, a.second + b.second};
  }
};

/// The larger magnitude; NaN beats everything.
struct Largest {
  double value = 0;
  friend ECHELON_ANYWHERE Largest combine(Largest a, Largest b) {
    return (a.value > b.value || a.value != a.value) ? a : b;
  }
};

/// The smallest index that was reported, or none.
struct FirstIndex {
  static constexpr std::int64_t none = INT64_MAX;
  std::int64_t value = none;
  friend ECHELON_ANYWHERE FirstIndex combine(FirstIndex a, FirstIndex b) { return a.value < b.value ? a : b; }
};

/// Probes for the concept below.
struct AnyLoopBody {
  ECHELON_ANYWHERE void operator()(std::int64_t) const {}
};
struct AnySummand {
  ECHELON_ANYWHERE Sum operator()(std::int64_t) const { return {}; }
};
struct AnyFinish {
  ECHELON_ANYWHERE void operator()(Sum) const {}
};

/// Work is queued in the calling thread's order; on a GPU only `read`, `synchronize` and `exclusive_scan`'s
/// result wait for it.
template <class B>
concept Backend = std::constructible_from<B, Device> &&
    requires(B backend, std::int64_t n, const std::int64_t* counts, std::int64_t* offsets, double* target,
             const double* source) {
  { backend.device() } -> std::convertible_to<Device>;
  /// f(0), ..., f(n-1) in any order, possibly at the same time.
  backend.for_each(n, AnyLoopBody{});
  /// finish(f(0) + ... + f(n-1)), called once, where the work is done. f may have effects on element i.
  backend.reduce(n, AnySummand{}, AnyFinish{});
  /// offsets[i] = counts[0] + ... + counts[i-1] for i = 0..n; returns offsets[n].
  { backend.exclusive_scan(n, counts, offsets) } -> std::same_as<std::int64_t>;
  backend.copy(n, source, target);
  backend.fill(n, 0.0, target);
  /// One object from the backend's memory to the caller.
  { backend.read(source) } -> std::same_as<double>;
  backend.write(0.0, target);
  backend.synchronize();
};

}  // namespace echelon
