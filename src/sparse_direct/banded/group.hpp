// SPDX-License-Identifier: BSD-3-Clause
/// Group of threads that work on one node together. The algorithms of eliminate.hpp and substitute.hpp are
/// templates on the group: a block or a warp on a GPU, a single thread on the host.
#pragma once

#include <echelon/annotate.hpp>

#include <cstdint>

namespace echelon::banded {

/// Group of one thread. Other groups have the same members: `lane` and `lanes` divide columns, `line` and
/// `lines` rows, `rank` and `size` any other range.
struct SingleThread {
  ECHELON_ANYWHERE static std::int64_t rank() { return 0; }
  ECHELON_ANYWHERE static std::int64_t size() { return 1; }
  ECHELON_ANYWHERE static std::int32_t lane() { return 0; }
  ECHELON_ANYWHERE static std::int32_t lanes() { return 1; }
  ECHELON_ANYWHERE static std::int32_t line() { return 0; }
  ECHELON_ANYWHERE static std::int32_t lines() { return 1; }
  ECHELON_ANYWHERE void sync() const {}

  /// The first i < n with the largest value(i), for all threads.
  template <class F>
  ECHELON_ANYWHERE std::int32_t find_largest(std::int32_t n, const F& value) const {
    std::int32_t best = 0;
    for (std::int32_t i = 1; i < n; ++i) {
      if (value(i) > value(best)) best = i;
    }
    return best;
  }
  /// The sum of value(i) for i < n, for all threads.
  template <class T, class F>
  ECHELON_ANYWHERE T sum(std::int32_t n, const F& value) const {
    T total{};
    for (std::int32_t i = 0; i < n; ++i) total += value(i);
    return total;
  }
  /// The largest of the threads' values, NaN if there is one; for rank 0.
  ECHELON_ANYWHERE double largest(double value) const { return value; }
};

}  // namespace echelon::banded
