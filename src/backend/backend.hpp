// SPDX-License-Identifier: BSD-3-Clause
/// Concept of a backend. Data-parallel algorithms are templates on it with functors as loop bodies, written
/// once and instantiated for each backend (see target.hpp).
#pragma once

#include <echelon/annotate.hpp>
#include <echelon/device.hpp>

#include <concepts>
#include <cstdint>

namespace echelon {

/// Values of a reduction: combine() is associative, and the default value is its neutral element.
template <class V>
concept Reducible = std::default_initializable<V> && requires(V a, V b) {
  { combine(a, b) } -> std::same_as<V>;
};

/// Sum of real or complex numbers.
template <class S>
struct SumOf {
  S value = 0;
  friend ECHELON_ANYWHERE SumOf combine(SumOf a, SumOf b) { return {a.value + b.value}; }
};
using Sum = SumOf<double>;

template <class First, class Second = First>
struct TwoSumsOf {
  First first = 0;
  Second second = 0;
  friend ECHELON_ANYWHERE TwoSumsOf combine(TwoSumsOf a, TwoSumsOf b) {
    return {a.first + b.first, a.second + b.second};
  }
};
using TwoSums = TwoSumsOf<double>;

/// Maximum of nonnegative numbers; NaN is larger than any number.
struct Largest {
  double value = 0;
  friend ECHELON_ANYWHERE Largest combine(Largest a, Largest b) {
    return (a.value > b.value || a.value != a.value) ? a : b;
  }
};

/// Minimum of the indices that were reported, or none.
struct FirstIndex {
  static constexpr std::int64_t none = INT64_MAX;
  std::int64_t value = none;
  friend ECHELON_ANYWHERE FirstIndex combine(FirstIndex a, FirstIndex b) { return a.value < b.value ? a : b; }
};

/// Arguments of the concept's requirements.
struct AnyLoopBody {
  ECHELON_ANYWHERE void operator()(std::int64_t) const {}
};
struct AnySegmentBody {
  ECHELON_ANYWHERE void operator()(std::int64_t, std::int64_t) const {}
};
struct AnySummand {
  ECHELON_ANYWHERE Sum operator()(std::int64_t) const { return {}; }
};
struct AnyFinish {
  ECHELON_ANYWHERE void operator()(Sum) const {}
};

/// Operations are queued in the calling thread's order; on a GPU only `read`, `synchronize` and operations
/// that return a number (`exclusive_scan`, `select`) wait for them. Temporary memory is kept
/// in the backend, so that a repeated operation does not allocate on a GPU.
template <class B>
concept Backend = std::constructible_from<B, Device> &&
    requires(B backend, std::int64_t n, const std::int64_t* counts, std::int64_t* offsets, double* target,
             const double* source, int bit, const std::uint64_t* keys, std::uint64_t* sorted_keys,
             const std::uint8_t* flags, Sum* sums) {
  { backend.device() } -> std::convertible_to<Device>;
  /// Whether loops run on processors of the host, which read and write its memory.
  { B::on_host } -> std::convertible_to<bool>;
  /// Calls f(0), ..., f(n-1) in any order, possibly concurrently.
  backend.for_each(n, AnyLoopBody{});
  /// Calls finish(f(0) + ... + f(n-1)) once, on the device. f may have effects on element i.
  backend.reduce(n, AnySummand{}, AnyFinish{});
  /// offsets[i] = counts[0] + ... + counts[i-1] for i = 0..n; returns offsets[n].
  { backend.exclusive_scan(n, counts, offsets) } -> std::same_as<std::int64_t>;
  /// Equivalent to exclusive_scan, but neither returns the total nor waits. In both, counts and offsets may
  /// be the same array.
  backend.scan(n, counts, offsets);
  /// Stable sort of keys (unsigned, 32 or 64 bits) by their bits [first, last), with values of 4 or 8 bytes.
  /// Source and target must not overlap. Temporary memory: about the size of keys and values.
  backend.sort_by_key(n, bit, bit, keys, sorted_keys, source, target);
  /// Copies the elements (4 or 8 bytes) with nonzero flags, in their order. Returns their number.
  { backend.select(n, flags, source, target) } -> std::same_as<std::int64_t>;
  /// sums[s] = f(offsets[s]) + ... + f(offsets[s+1] - 1) for s < n. On the host in that order; on a GPU by 32
  /// lanes with every 32nd element each, or 256 threads for a long segment, whose sums are added as a tree:
  /// reproducible.
  backend.segmented_reduce(n, counts, AnySummand{}, sums);
  /// Calls f(s, k) for every k in [offsets[s], offsets[s+1]) and s < n, in any order, possibly concurrently.
  backend.segmented_for_each(n, counts, AnySegmentBody{});
  backend.copy(n, source, target);
  backend.fill(n, 0.0, target);
  /// Copies one object from the backend's memory. Waits.
  { backend.read(source) } -> std::same_as<double>;
  backend.write(0.0, target);
  backend.synchronize();
};

}  // namespace echelon
