// SPDX-License-Identifier: BSD-3-Clause
/// What a backend offers. Data-parallel algorithms are templates on it, with functors for kernels; they are
/// written once and instantiated for the host by x.cpp and for CUDA by x.cu, which includes it.
#pragma once

#include <echelon/annotate.hpp>
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

/// Work is queued in the calling thread's order; on a GPU only `read`, `synchronize` and what returns a
/// number (`exclusive_scan`, `run_lengths`, `select`) wait for it. What a primitive needs besides its
/// arguments is kept in the backend, so that repeating it allocates nothing on a GPU.
template <class B>
concept Backend = std::constructible_from<B, Device> &&
    requires(B backend, std::int64_t n, const std::int64_t* counts, std::int64_t* offsets, double* target,
             const double* source, int bit, const std::uint64_t* keys, std::uint64_t* sorted_keys,
             const std::uint8_t* flags, Sum* sums) {
  { backend.device() } -> std::convertible_to<Device>;
  /// f(0), ..., f(n-1) in any order, possibly at the same time.
  backend.for_each(n, AnyLoopBody{});
  /// finish(f(0) + ... + f(n-1)), called once, where the work is done. f may have effects on element i.
  backend.reduce(n, AnySummand{}, AnyFinish{});
  /// offsets[i] = counts[0] + ... + counts[i-1] for i = 0..n; returns offsets[n].
  { backend.exclusive_scan(n, counts, offsets) } -> std::same_as<std::int64_t>;
  /// The same for who does not need the total: does not wait. counts and offsets may be one array in both.
  backend.scan(n, counts, offsets);
  /// Keys (unsigned, of 32 or 64 bits) in ascending order of their bits [first, last), equal ones in the
  /// order given, and the values (4 or 8 bytes each) with them. Source and target are different arrays. On
  /// the host as many bytes again as keys and values have; on a GPU about that.
  backend.sort_by_key(n, bit, bit, keys, sorted_keys, source, target);
  /// The runs of equal keys: each run's key, and its length; returns their number.
  { backend.run_lengths(n, keys, sorted_keys, offsets) } -> std::same_as<std::int64_t>;
  /// The elements (of 4 or 8 bytes) whose flags are not 0, in their order; returns their number.
  { backend.select(n, flags, source, target) } -> std::same_as<std::int64_t>;
  /// sums[s] = f(offsets[s]) + ... + f(offsets[s+1] - 1) for s < n. On the host in that order; on a GPU 32
  /// partial sums of every 32nd element, added as a tree, on every run alike.
  backend.segmented_reduce(n, counts, AnySummand{}, sums);
  backend.copy(n, source, target);
  backend.fill(n, 0.0, target);
  /// One object from the backend's memory to the caller.
  { backend.read(source) } -> std::same_as<double>;
  backend.write(0.0, target);
  backend.synchronize();
};

}  // namespace echelon
