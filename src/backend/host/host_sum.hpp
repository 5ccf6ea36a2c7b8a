// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace echelon {

/// Elements per block of a reduction on the host. Blocks are summed on their own and their sums added in
/// order, so that the result does not depend on the number of threads.
inline constexpr std::int64_t reduction_block = 4096;

/// Sums f(begin) + ... + f(end-1) in eight independent chains, to hide the latency of additions.
template <class V, class F>
V sum_block(std::int64_t begin, std::int64_t end, F& f) {
  constexpr std::int64_t chains = 8;
  std::array<V, chains> partial{};
  std::int64_t i = begin;
  for (; i + chains <= end; i += chains) {
    for (std::int64_t c = 0; c < chains; ++c) partial[c] = combine(partial[c], f(i + c));
  }
  for (; i < end; ++i) partial[0] = combine(partial[0], f(i));
  V total{};
  for (const V& p : partial) total = combine(total, p);
  return total;
}

}  // namespace echelon
