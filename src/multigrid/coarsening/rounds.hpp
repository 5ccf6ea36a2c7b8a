// SPDX-License-Identifier: BSD-3-Clause
/// Rounds of the independent sets from which coarsenings start.
#pragma once

#include <echelon/device.hpp>

#include <cstdint>

namespace echelon::multigrid {

/// Number of rounds between selections of the undecided points. On a GPU, with few points, a selection, for
/// which the host waits, takes longer than a few rounds that visit decided points again.
template <class B>
int rounds_between_selections(const B& backend, std::int64_t points) {
  constexpr std::int64_t few = 1 << 17;
  return backend.device().on_host() || points > few ? 1 : 4;
}

}  // namespace echelon::multigrid
