// SPDX-License-Identifier: BSD-3-Clause
/// Numbering of graphs whose neighbours are far apart in memory, by clusters of close vertices.
///
/// One of 16 vertices, chosen by a hash, is the centre of a cluster. In each round the vertices without a
/// cluster join that of their first neighbour which has one. A round reads the result of the round before, so
/// that the clusters are the same with any number of threads. A breadth-first numbering is better by a
/// little, but sequential.
#pragma once

#include "backend/store.hpp"
#include "graph_laplacian/affinity_multigrid/elimination.hpp"
#include "graph_laplacian/affinity_multigrid/for_each_costly.hpp"
#include "support/hash.hpp"

#include <bit>
#include <cstdint>
#include <utility>

namespace echelon::affinity_multigrid {

/// Number of vertices below which vectors stay in a core's caches, in any numbering.
inline constexpr std::int64_t cached_vertices = 100'000;

/// Sum of the distances of neighbours' numbers, and number of neighbours, for every 64th vertex.
template <class T>
struct NeighbourDistance {
  static constexpr std::int64_t stride = 64;
  LaplacianRows<T> A;
  ECHELON_ANYWHERE TwoSums operator()(std::int64_t sample) const {
    const std::int64_t i = stride * sample;
    TwoSums sums;
    for (std::int64_t k = A.offsets[i]; k < A.offsets[i + 1]; ++k) {
      const std::int64_t j = A.columns[k];
      sums.first += static_cast<double>(i < j ? j - i : i - j);
      sums.second += 1;
    }
    return sums;
  }
};

/// Whether A has many vertices, and neighbours in its numbering are a tenth of all vertices apart on average:
/// in a random numbering they are a third of them apart.
template <HostBackend B, class T>
bool is_scattered(B& backend, const Csr<T>& A) {
  constexpr double scattered_distance = 0.1;
  const std::int64_t n = A.rows();
  if (n < cached_vertices) return false;
  TwoSums distance;
  backend.reduce(n / NeighbourDistance<T>::stride, NeighbourDistance<T>{LaplacianRows<T>(A)},
                 Store<TwoSums>{&distance});
  return distance.first > scattered_distance * static_cast<double>(n) * distance.second;
}

/// Clusters are numbered by their centres.
struct ChooseCentre {
  static constexpr std::int32_t none = -1;
  std::int32_t* cluster;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    constexpr std::uint64_t size = 16;
    const bool is_centre = hash_bits(static_cast<std::uint64_t>(i) + golden_ratio_64) % size == 0;
    cluster[i] = is_centre ? static_cast<std::int32_t>(i) : none;
  }
};
/// Lets vertex i join the cluster of a neighbour. Counts the vertices that join.
struct JoinCluster {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const std::int32_t* before;
  std::int32_t* after;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const {
    std::int32_t cluster = before[i];
    for (std::int64_t k = offsets[i]; cluster == ChooseCentre::none && k < offsets[i + 1]; ++k) {
      cluster = before[columns[k]];
    }
    after[i] = cluster;
    return {cluster != before[i] ? 1.0 : 0.0};
  }
};
struct WriteClusterKey {
  const std::int32_t* cluster;
  std::uint32_t* keys;
  std::int32_t* vertices;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    vertices[i] = static_cast<std::int32_t>(i);
    keys[i] = static_cast<std::uint32_t>(cluster[i] == ChooseCentre::none ? vertices[i] : cluster[i]);
  }
};

/// The vertices of the graph with the Laplacian A, cluster by cluster. O(edges) time, 24 bytes for each
/// vertex in addition to the result.
template <HostBackend B, class T>
Array<std::int32_t> local_order(B& backend, const Csr<T>& A) {
  constexpr int most_rounds = 5;
  const Device& device = backend.device();
  const std::int64_t n = A.rows();
  Array<std::int32_t> cluster(device, n);
  Array<std::int32_t> after(device, n);
  backend.for_each(n, ChooseCentre{cluster.data()});
  Sum joined{1};
  for (int round = 0; round < most_rounds && joined.value > 0; ++round) {
    const JoinCluster join{A.row_offsets().data(), A.column_indices().data(), cluster.data(), after.data()};
    backend.reduce(n, join, Store<Sum>{&joined});
    std::swap(cluster, after);
  }
  Array<std::uint32_t> keys(device, n);
  Array<std::uint32_t> sorted(device, n);
  Array<std::int32_t> order(device, n);
  backend.for_each(n, WriteClusterKey{cluster.data(), keys.data(), after.data()});
  const int bits = std::bit_width(static_cast<std::uint32_t>(n > 0 ? n - 1 : 0));
  backend.sort_by_key(n, 0, bits, keys.data(), sorted.data(), after.data(), order.data());
  return order;
}

}  // namespace echelon::affinity_multigrid
