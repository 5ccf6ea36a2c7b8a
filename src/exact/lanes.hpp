// SPDX-License-Identifier: BSD-3-Clause
/// Loops whose bodies work on a whole row: by one thread on the host, by the lanes of a warp on a GPU.
#pragma once

#include "backend/target.hpp"

#include <cstdint>

namespace echelon::mapped {

/// Numbers of lanes for which a condition is true: of those before the own lane, and of all.
struct LaneCount {
  std::int32_t before = 0;
  std::int32_t all = 0;
};

/// The lanes of a host thread: one.
struct OneLane {
  static constexpr int lanes = 1;
  static int lane() { return 0; }
  static void sync() {}
  static LaneCount count(bool condition) { return {0, condition ? 1 : 0}; }
};

/// Elements of all rows together below which a loop over rows runs on the calling thread.
inline constexpr std::int64_t serial_elements = 20000;

}  // namespace echelon::mapped

#ifdef __CUDACC__
#include "exact/lanes.cuh"
#else

namespace echelon::mapped {

/// Assigns rows to threads one by one, since their lengths differ.
template <class F>
void for_each_row(Host& backend, std::int64_t n, std::int64_t elements, F f) {
  backend.parallel(elements > serial_elements, [n, &f](int part, int parts) {
    for (std::int64_t i = part; i < n; i += parts) f(i, OneLane());
  });
}

}  // namespace echelon::mapped

#endif
