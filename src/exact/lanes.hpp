// SPDX-License-Identifier: BSD-3-Clause
/// Loops whose bodies work on a whole row: by the lanes of a warp with CUDA, else by one thread.
#pragma once

#include "backend/target.hpp"

#include <echelon/annotate.hpp>

#include <cstdint>

namespace echelon::mapped {

/// Numbers of lanes for which a condition is true: of those before the own lane, and of all.
struct LaneCount {
  std::int32_t before = 0;
  std::int32_t all = 0;
};

/// The lanes of a thread without a warp: one.
struct OneLane {
  static constexpr int lanes = 1;
  ECHELON_ANYWHERE static int lane() { return 0; }
  ECHELON_ANYWHERE static void sync() {}
  ECHELON_ANYWHERE static LaneCount count(bool condition) { return {0, condition ? 1 : 0}; }
};

/// Elements of all rows together below which a loop over rows runs on the calling thread.
inline constexpr std::int64_t serial_elements = 20000;

}  // namespace echelon::mapped

#ifdef __CUDACC__
#include "exact/lanes.cuh"
#else

namespace echelon::mapped {

/// Body of a loop over rows, each of which has one lane.
template <class F>
struct RowOfOneLane {
  F f;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { f(i, OneLane()); }
};

/// Calls f(i, lanes) for i < n. `elements`: total number of elements of the rows. Assigns rows to threads of
/// the host one by one, since their lengths differ.
template <class B, class F>
void for_each_row(B& backend, std::int64_t n, [[maybe_unused]] std::int64_t elements, F f) {
  if constexpr (B::on_host) {
    backend.parallel(elements > serial_elements, [n, &f](int part, int parts) {
      for (std::int64_t i = part; i < n; i += parts) f(i, OneLane());
    });
  } else {
    backend.for_each(n, RowOfOneLane<F>{f});
  }
}

}  // namespace echelon::mapped

#endif
