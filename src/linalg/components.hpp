// SPDX-License-Identifier: BSD-3-Clause
/// Connected components of the graph of a symmetric matrix.
#pragma once

#include "backend/atomic.hpp"
#include "backend/backend.hpp"
#include "backend/store.hpp"

#include <echelon/matrix/csr.hpp>

#include <bit>
#include <cstdint>
#include <utility>

namespace echelon {

/// Components are numbered by their smallest vertices, 0, 1, 2, ...
struct ConnectedComponents {
  std::int64_t count = 0;
  Array<std::int32_t> of_vertex;
  /// Vertices by component, ascending within each: component c has members [offsets[c], offsets[c + 1]).
  Array<std::int32_t> members;
  Array<std::int64_t> offsets;
  [[nodiscard]] std::size_t bytes() const { return of_vertex.bytes() + members.bytes() + offsets.bytes(); }
};

/// Joins the trees of u and v. The root with the larger index becomes a child of the other root, so that a
/// root is the smallest vertex of its tree in any order of execution. Sutton, Ben-Nun, Barak: Optimizing
/// parallel graph connectivity computation via subgraph sampling, IPDPS 2018.
ECHELON_ANYWHERE inline void join_trees(std::int32_t* parent, std::int32_t u, std::int32_t v) {
  std::int32_t a = atomic_load(parent + u);
  std::int32_t b = atomic_load(parent + v);
  while (a != b) {
    const std::int32_t high = a > b ? a : b;
    const std::int32_t low = a > b ? b : a;
    const std::int32_t above = atomic_load(parent + high);
    if (above == low) return;
    if (above == high && compare_exchange(parent + high, high, low) == high) return;
    a = atomic_load(parent + atomic_load(parent + high));
    b = atomic_load(parent + low);
  }
}

/// Joins the trees of vertex i and of neighbours [first, last) in its row.
template <class T>
struct JoinNeighbours {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const T* values;
  std::int64_t first;
  std::int64_t last;
  std::int32_t* parent;

  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::int64_t begin = offsets[i] + first;
    std::int64_t end = offsets[i + 1];
    if (last < end - offsets[i]) end = offsets[i] + last;
    std::int32_t own = atomic_load(parent + i);
    for (std::int64_t k = begin; k < end; ++k) {
      if (columns[k] == i || values[k] == T{0} || atomic_load(parent + columns[k]) == own) continue;
      join_trees(parent, static_cast<std::int32_t>(i), columns[k]);
      own = atomic_load(parent + i);
    }
  }
};

/// Joins the trees of the two vertices of element k of row i.
template <class T>
struct JoinVertices {
  const std::int32_t* columns;
  const T* values;
  std::int32_t* parent;
  ECHELON_ANYWHERE void operator()(std::int64_t i, std::int64_t k) const {
    if (columns[k] != i && values[k] != T{0}) join_trees(parent, static_cast<std::int32_t>(i), columns[k]);
  }
};

/// parent[i] = the root of its tree.
struct FindRoot {
  std::int32_t* parent;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    std::int32_t root = atomic_load(parent + i);
    for (std::int32_t above = atomic_load(parent + root); above != root; above = atomic_load(parent + root)) {
      root = above;
    }
    atomic_store(parent + i, root);
  }
};

/// counts[i] = 1 for a root.
struct CountRoots {
  const std::int32_t* parent;
  std::int64_t* counts;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { counts[i] = parent[i] == i ? 1 : 0; }
};

/// Numbers a vertex's component by the number of roots before its root.
struct NumberComponent {
  const std::int32_t* root;
  const std::int64_t* roots_before;
  std::uint32_t* number;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    number[i] = static_cast<std::uint32_t>(roots_before[root[i]]);
  }
};

/// offsets[c] = the first position of component c in the sorted component numbers. Every component has a
/// vertex, so that no offset is skipped.
struct MarkComponentStart {
  const std::uint32_t* sorted;
  std::int64_t n;
  std::int64_t* offsets;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    if (k == n) {
      offsets[k == 0 ? 0 : sorted[k - 1] + 1] = n;
    } else if (k == 0 || sorted[k] != sorted[k - 1]) {
      offsets[sorted[k]] = k;
    }
  }
};

/// Joins the trees of all neighbours; parent[i] is then the smallest vertex of the component of i. On a GPU
/// several threads share the neighbours of a vertex, since one alone would take long for the vertex with the
/// most.
template <class B, class T>
void join_neighbours(B& backend, const Csr<T>& A, std::int32_t* parent) {
  constexpr std::int64_t sampled = 2;  // neighbours read first; they connect most of the graph
  const std::int64_t n = A.rows();
  backend.for_each(n, Iota{parent});
  JoinNeighbours<T> join{
      A.row_offsets().data(), A.column_indices().data(), A.values().data(), 0, sampled, parent};
  backend.for_each(n, join);
  backend.for_each(n, FindRoot{parent});
  if (backend.device().on_host()) {
    join.first = sampled;
    join.last = INT64_MAX;
    backend.for_each(n, join);
  } else {
    backend.segmented_for_each(n, join.offsets, JoinVertices<T>{join.columns, join.values, parent});
  }
  backend.for_each(n, FindRoot{parent});
}

/// Finds the components of a symmetric A, a Csr or a StencilMatrix; explicit zeros count as absent. The
/// result is the same on every backend. O(nonzeros) time; 32 bytes per row in addition to the result.
template <class B, class M>
ConnectedComponents find_components(B& backend, const M& A) {
  const std::int64_t n = A.rows();
  const Device& device = backend.device();
  Array<std::int32_t> parent(device, n);
  join_neighbours(backend, A, parent.data());
  ConnectedComponents components;
  Array<std::int64_t> roots(device, n + 1);
  backend.for_each(n, CountRoots{parent.data(), roots.data()});
  components.count = backend.exclusive_scan(n, roots.data(), roots.data());
  Array<std::uint32_t> numbers(device, n);
  Array<std::uint32_t> sorted(device, n);
  Array<std::int32_t> vertices(device, n);
  backend.for_each(n, NumberComponent{parent.data(), roots.data(), numbers.data()});
  backend.for_each(n, Iota{vertices.data()});
  components.members = Array<std::int32_t>(device, n);
  if (components.count <= 1) {
    backend.copy(n, vertices.data(), components.members.data());
    backend.copy(n, numbers.data(), sorted.data());
  } else {
    const auto bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(components.count - 1)));
    backend.sort_by_key(n, 0, bits, numbers.data(), sorted.data(), vertices.data(),
                        components.members.data());
  }
  components.offsets = Array<std::int64_t>(device, components.count + 1);
  backend.for_each(n + 1, MarkComponentStart{sorted.data(), n, components.offsets.data()});
  components.of_vertex = Array<std::int32_t>(device, n);
  backend.copy(n, reinterpret_cast<const std::int32_t*>(numbers.data()), components.of_vertex.data());
  return components;
}

}  // namespace echelon
