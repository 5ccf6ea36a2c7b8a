// SPDX-License-Identifier: BSD-3-Clause
/// Weighted undirected graphs as symmetric adjacency matrices: sorted rows, no loops, no duplicates.
#pragma once

#include "generate/assemble.hpp"

#include <echelon/matrix/csr.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace echelon::generate {

struct Edge {
  std::int32_t a;
  std::int32_t b;
  double weight = 1;
};

/// An edge in the adjacency list of one of its vertices.
struct HalfEdge {
  std::int32_t to;
  double weight;
  friend bool operator<(const HalfEdge& a, const HalfEdge& b) {
    return a.to != b.to ? a.to < b.to : a.weight < b.weight;
  }
};

/// Calls f(column, sum of weights) for the distinct columns of a sorted row.
template <class F>
void merged(const HalfEdge* begin, const HalfEdge* end, F f) {
  while (begin != end) {
    const std::int32_t column = begin->to;
    double sum = 0;
    for (; begin != end && begin->to == column; ++begin) sum += begin->weight;
    f(std::int64_t{column}, sum);
  }
}

/// The graph on n vertices with the edges that `source(piece, put)` passes to put(a, b, weight), for piece =
/// 0, ..., pieces - 1. Loops are dropped, weights of parallel edges added. Each piece is generated twice.
/// Memory: 32 bytes per edge in addition to the result. The result does not depend on the order in which
/// threads store the edges: rows are sorted by column, then weight, before weights are added.
template <class Source>
Csr<double> adjacency(std::int64_t n, std::int64_t pieces, const Source& source) {
  const Device device;
  Host host(device);
  Array<std::int64_t> offsets(device, n + 1);
  host.fill(n, std::int64_t{0}, offsets.data());
  const auto each_end = [&](std::int64_t piece, auto visit) {
    source(piece, [&visit](std::int64_t a, std::int64_t b, double weight) {
      if (a == b) return;
      visit(a, b, weight);
      visit(b, a, weight);
    });
  };
  const auto take_slot = [&offsets](std::int64_t vertex) {
    return std::atomic_ref<std::int64_t>(offsets[vertex]).fetch_add(1, std::memory_order_relaxed);
  };
#pragma omp parallel for num_threads(Device().threads()) schedule(dynamic, 1024) if (pieces > few_rows)
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    each_end(piece, [&](std::int64_t from, std::int64_t, double) { take_slot(from); });
  }
  Array<HalfEdge> ends(device, host.exclusive_scan(n, offsets.data(), offsets.data()));
#pragma omp parallel for num_threads(Device().threads()) schedule(dynamic, 1024) if (pieces > few_rows)
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    each_end(piece, [&](std::int64_t from, std::int64_t to, double weight) {
      ends[take_slot(from)] = {static_cast<std::int32_t>(to), weight};
    });
  }
  // The second pass has advanced each offset to that of the next row.
  const auto begin = [&](std::int64_t i) { return ends.data() + (i == 0 ? 0 : offsets[i - 1]); };
  const auto end = [&](std::int64_t i) { return ends.data() + offsets[i]; };
#pragma omp parallel for num_threads(Device().threads()) schedule(dynamic, 1024) if (n > few_rows)
  for (std::int64_t i = 0; i < n; ++i) std::sort(begin(i), end(i));
  return assemble<double>(n, n, [&](std::int64_t i, auto put) { merged(begin(i), end(i), put); });
}

/// The matrix with off-diagonal elements `scale` times those of the graph and the diagonal elements
/// diagonal(i, sum of the row's magnitudes).
template <class T, class Diagonal>
Csr<T> with_diagonal(const Csr<double>& graph, double scale, const Diagonal& diagonal) {
  const auto& offsets = graph.row_offsets();
  return assemble<T>(graph.rows(), graph.rows(), [&](std::int64_t i, auto put) {
    double sum = 0;
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) sum += std::abs(graph.values()[k]);
    std::int64_t k = offsets[i];
    for (; k < offsets[i + 1] && graph.column_indices()[k] < i; ++k) {
      put(graph.column_indices()[k], scale * graph.values()[k]);
    }
    put(i, diagonal(i, sum));
    for (; k < offsets[i + 1]; ++k) put(graph.column_indices()[k], scale * graph.values()[k]);
  });
}

Csr<double> adjacency(std::int64_t n, const std::vector<Edge>& edges);

/// The graph with other weights: "own" keeps them, "unit" sets them to 1, "uniform" draws from (0, 1],
/// "log-uniform" over `decades` powers of ten around 1, "chimera" as Laplacians.jl does for its weighted
/// chimeras: uniform, or differences of random potentials, smoothed or sharpened, or their reciprocals.
Csr<double> reweighted(Csr<double> graph, const std::string& weights, double decades, std::uint64_t seed);

/// The matrix of a graph: its "laplacian", its "adjacency", or "sddm": the Laplacian without every
/// ceil(n^(1/3))-th row and column, which is positive definite.
template <class T>
Csr<T> graph_matrix(const Csr<double>& graph, const std::string& form);

}  // namespace echelon::generate
