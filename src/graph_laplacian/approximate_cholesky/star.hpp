// SPDX-License-Identifier: BSD-3-Clause
/// Sampling of the clique that replaces an eliminated vertex.
#pragma once

#include "support/hash.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::graph_laplacian {

/// Neighbour of the vertex being eliminated. Parallel edges are merged.
struct Neighbour {
  double weight;
  std::int32_t vertex;  ///< index of the neighbour; n, the number of vertices, denotes the ground
  std::int32_t copies;  ///< number of merged edges
};

/// Random number, uniform in [0, 1): draw number `draw` of vertex `v`.
inline double uniform_draw(std::uint64_t seed, std::int32_t v, std::uint64_t draw) {
  const std::uint64_t stream = hash_bits(seed + (static_cast<std::uint64_t>(v) + 1) * golden_ratio_64);
  return uniform_number(hash_bits(stream + (draw + 1) * golden_ratio_64));
}

template <class Before>
void sort_star(std::vector<Neighbour>& star, const Before& before) {
  constexpr std::size_t insertion_limit = 16;
  if (star.size() > insertion_limit) {
    std::sort(star.begin(), star.end(), before);
    return;
  }
  for (std::size_t i = 1; i < star.size(); ++i) {
    const Neighbour moved = star[i];
    std::size_t j = i;
    for (; j > 0 && before(moved, star[j - 1]); --j) star[j] = star[j - 1];
    star[j] = moved;
  }
}

/// Sorts by weight per copy, then vertex. Unsorted weights need three times as many iterations.
inline void sort_by_weight(std::vector<Neighbour>& star, int split) {
  if (split == 1) {
    sort_star(star, [](const Neighbour& a, const Neighbour& b) {
      return a.weight != b.weight ? a.weight < b.weight : a.vertex < b.vertex;
    });
    return;
  }
  sort_star(star, [split](const Neighbour& a, const Neighbour& b) {
    const double left = a.weight * std::min(b.copies, split);
    const double right = b.weight * std::min(a.copies, split);
    return left != right ? left < right : a.vertex < b.vertex;
  });
}

/// Calls add(i, j, weight) for each sampled edge between neighbours i < j of a sorted star. `suffix` is
/// scratch.
template <class Add>
void sample_clique(const std::vector<Neighbour>& star, std::uint64_t seed, std::int32_t v, int split,
                   std::vector<double>& suffix, const Add& add) {
  const std::size_t d = star.size();
  if (d < 2) return;
  suffix.resize(d + 1);
  suffix[d] = 0;
  for (std::size_t i = d; i-- > 0;) suffix[i] = suffix[i + 1] + star[i].weight;
  const double inverse_total = 1 / suffix[0];
  constexpr std::size_t scan_limit = 32;
  std::uint64_t draws = 0;
  for (std::size_t i = 0; i + 1 < d; ++i) {
    const int copies = std::min(star[i].copies, split);
    const double weight = star[i].weight * (suffix[i + 1] * inverse_total) / copies;
    for (int copy = 0; copy < copies; ++copy) {
      std::size_t j = d - 1;
      if (i + 2 < d) {
        // The largest j > i with suffix[j] > target: the heavy end comes first.
        const double target = uniform_draw(seed, v, draws++) * suffix[i + 1];
        if (d - i > scan_limit) {
          const auto first = suffix.begin() + static_cast<std::ptrdiff_t>(i + 1);
          const auto last = suffix.begin() + static_cast<std::ptrdiff_t>(d);
          const auto end = std::partition_point(first, last, [target](double s) { return s > target; });
          j = static_cast<std::size_t>(end - suffix.begin()) - (end == first ? 0 : 1);
        } else {
          while (j > i + 1 && suffix[j] <= target) --j;
        }
      }
      add(i, j, weight);
    }
  }
}

}  // namespace echelon::graph_laplacian
