// SPDX-License-Identifier: BSD-3-Clause
/// Teams: the threads that work on one slice, in a memory of their own. With CUDA a thread block in shared
/// memory, on the host one thread in a buffer of the size of its cache. Other devices have no teams.
#pragma once

#include "backend/target.hpp"
#include "exact/lanes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::mapped {

/// Memory of a team: its size, and the number of warps that share it.
struct TeamSize {
  std::size_t bytes = 0;
  int warps = 1;
};

/// A host thread, which is its only warp.
struct OneThread {
  using Lanes = OneLane;
  static int thread() { return 0; }
  static int threads() { return 1; }
  static int warp() { return 0; }
  static int warps() { return 1; }
  static void sync() {}
};

}  // namespace echelon::mapped

#ifdef __CUDACC__
#include "exact/team.cuh"
#else

namespace echelon::mapped {

template <class B>
inline constexpr bool has_teams = B::on_host;

/// One size, about that of a core's second-level cache.
template <class B>
std::vector<TeamSize> team_sizes(B& /*backend*/) {
  return {{std::size_t{1} << 18U, 1}};
}

template <class B, class F>
void for_each_team(B& backend, std::int64_t n, const TeamSize& size, F f) {
  const std::size_t words = size.bytes / sizeof(double);
  std::vector<double> memory(words * static_cast<std::size_t>(backend.threads()));
  backend.parallel(n > 1, [&](int part, int parts) {
    auto* own = reinterpret_cast<std::byte*>(memory.data() + words * static_cast<std::size_t>(part));
    for (std::int64_t i = part; i < n; i += parts) f(i, own, size.bytes, OneThread());
  });
}

}  // namespace echelon::mapped

#endif
