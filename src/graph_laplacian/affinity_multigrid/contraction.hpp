// SPDX-License-Identifier: BSD-3-Clause
/// Quotient graphs by sorting edges, and the piecewise constant transfers that belong to them.
#pragma once

#include "graph_laplacian/affinity_multigrid/elimination.hpp"
#include "graph_laplacian/affinity_multigrid/row_accumulation.hpp"

#include <echelon/matrix/transform.hpp>

#include <bit>
#include <cstdint>
#include <utility>

namespace echelon::affinity_multigrid {

/// Elements of a Laplacian, and the aggregates at their ends.
template <class T>
struct ContractedEdges {
  LaplacianRows<T> A;
  const std::int32_t* rows;
  const std::int32_t* aggregates;
  ECHELON_ANYWHERE bool joins_aggregates(std::int64_t k) const {
    return A.is_edge(rows[k], k) && aggregates[rows[k]] != aggregates[A.columns[k]];
  }
};
/// counts[k] = 1 if element k is an edge between aggregates.
template <class T>
struct CountContracted {
  ContractedEdges<T> edges;
  std::int64_t* counts;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const { counts[k] = edges.joins_aggregates(k) ? 1 : 0; }
};
/// places[k] = number of edges between aggregates before element k.
template <class T>
struct PlaceContracted {
  ContractedEdges<T> edges;
  std::int64_t nonzeros;
  std::int64_t* places;  ///< nonzeros + 1
  ECHELON_LOOPS_ANYWHERE
  template <class Loops>
  ECHELON_ANYWHERE void operator()(Loops& loops) const {
    loops.for_each(nonzeros, CountContracted<T>{edges, places});
    loops.scan(nonzeros, places, places);
  }
};
/// Writes the edge of element k, if it is one between aggregates, to its place.
template <class T>
struct ContractEdge {
  ContractedEdges<T> edges;
  const std::int64_t* places;
  int bits;
  std::uint64_t* keys;
  T* weights;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    const std::int64_t place = places[k];
    if (places[k + 1] == place) return;
    const auto i = static_cast<std::uint64_t>(edges.aggregates[edges.rows[k]]);
    const auto j = static_cast<std::uint64_t>(edges.aggregates[edges.A.columns[k]]);
    keys[place] = i << bits | j;
    weights[place] = -edges.A.values[k];
  }
};

/// P^T A P by a sort of the edges. Waits twice.
template <class B, class T>
Csr<T> contract_by_sorting(B& backend, const Csr<T>& A, const std::int32_t* rows,
                           const std::int32_t* aggregates, std::int64_t count) {
  const Device& device = backend.device();
  const std::int64_t nonzeros = A.nonzeros();
  const ContractedEdges<T> contracted{LaplacianRows<T>(A), rows, aggregates};
  Array<std::int64_t> places(device, nonzeros + 1);
  run_sequence(backend, nonzeros, PlaceContracted<T>{contracted, nonzeros, places.data()});
  const std::int64_t size = backend.read(places.data() + nonzeros);
  PackedEdges<T> edges(device, count, size);
  backend.for_each(nonzeros,
                   ContractEdge<T>{contracted, places.data(), edges.bits, edges.keys, edges.weights});
  places = Array<std::int64_t>();
  return laplacian_of(backend, std::move(edges));
}

/// Number of elements in the rows of an aggregate's members.
template <class T>
struct CountMemberElements {
  const std::int64_t* member_offsets;
  const std::int32_t* members;
  LaplacianRows<T> A;
  std::int64_t* counts;
  void operator()(std::int64_t aggregate) const {
    std::int64_t count = 0;
    for (std::int64_t m = member_offsets[aggregate]; m < member_offsets[aggregate + 1]; ++m) {
      count += A.offsets[members[m] + 1] - A.offsets[members[m]];
    }
    counts[aggregate] = count;
  }
};

/// P^T A P row by row, on the host.
template <HostBackend B, class T>
Csr<T> contract_by_rows(B& backend, const Csr<T>& A, const std::int32_t* aggregates, const Csr<T>& R) {
  const LaplacianRows<T> rows(A);
  const std::int64_t* member_offsets = R.row_offsets().data();
  const std::int32_t* members = R.column_indices().data();
  Array<std::int64_t> begins(backend.device(), R.rows() + 1);
  for_each_costly(backend, R.rows(), CountMemberElements<T>{member_offsets, members, rows, begins.data()});
  backend.exclusive_scan(R.rows(), begins.data(), begins.data());
  return accumulate_rows<T>(backend, R.rows(), begins.data(), [=](std::int64_t aggregate, const auto& add) {
    for (std::int64_t m = member_offsets[aggregate]; m < member_offsets[aggregate + 1]; ++m) {
      const std::int32_t i = members[m];
      for (std::int64_t k = rows.offsets[i]; k < rows.offsets[i + 1]; ++k) {
        const std::int32_t other = aggregates[rows.columns[k]];
        if (other != aggregate && rows.is_edge(i, k)) add(other, -static_cast<double>(rows.values[k]));
      }
    }
  });
}

/// Makes the Laplacian P^T A P of the quotient graph: aggregates become vertices, weights of parallel edges
/// add up. `rows` has the row of each element of A; R is P^T. Waits.
template <class B, class T>
Csr<T> contract(B& backend, const Csr<T>& A, const std::int32_t* rows, const std::int32_t* aggregates,
                const Csr<T>& R) {
  if constexpr (HostBackend<B>) {
    return contract_by_rows(backend, A, aggregates, R);
  } else {
    return contract_by_sorting(backend, A, rows, aggregates, R.rows());
  }
}

struct WriteOffset {
  std::int64_t* offsets;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { offsets[i] = i; }
};

/// Makes P with P(i, aggregate of i) = 1.
template <class B, class T>
Csr<T> piecewise_constant(B& backend, Array<std::int32_t> aggregates, std::int64_t count) {
  const Device& device = backend.device();
  const std::int64_t n = aggregates.size();
  Array<std::int64_t> offsets(device, n + 1);
  Array<T> ones(device, n);
  backend.for_each(n + 1, WriteOffset{offsets.data()});
  backend.fill(n, T{1}, ones.data());
  return Csr<T>::unchecked(n, count, std::move(offsets), std::move(aggregates), std::move(ones));
}

/// offsets[i] = number of elements of `ascending` that are less than i.
struct FindMembers {
  const std::uint32_t* ascending;
  std::int64_t n;
  std::int64_t* offsets;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { offsets[i] = lower_bound(ascending, 0, n, i); }
};
struct CopyAggregate {
  const std::int32_t* aggregates;
  std::uint32_t* keys;
  std::int32_t* vertices;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    keys[i] = static_cast<std::uint32_t>(aggregates[i]);
    vertices[i] = static_cast<std::int32_t>(i);
  }
};
/// The transpose of a piecewise constant P: the members of each aggregate. On a GPU by a sort of the
/// aggregates' numbers, without waiting.
template <class B, class T>
Csr<T> transposed_piecewise_constant(B& backend, const Csr<T>& P) {
  if constexpr (HostBackend<B>) {
    return transpose(P);
  } else {
    const Device& device = backend.device();
    const std::int64_t n = P.rows();
    const std::int64_t count = P.columns();
    Arena memory(device, 2 * Arena::bytes<std::uint32_t>(n) + Arena::bytes<std::int32_t>(n));
    auto* const keys = memory.take<std::uint32_t>(n);
    auto* const sorted = memory.take<std::uint32_t>(n);
    auto* const vertices = memory.take<std::int32_t>(n);
    Array<std::int32_t> members(device, n);
    backend.for_each(n, CopyAggregate{P.column_indices().data(), keys, vertices});
    const int bits = std::bit_width(static_cast<std::uint32_t>(count));
    backend.sort_by_key(n, 0, bits, keys, sorted, vertices, members.data());
    Array<std::int64_t> offsets(device, count + 1);
    backend.for_each(count + 1, FindMembers{sorted, n, offsets.data()});
    Array<T> ones(device, n);
    backend.fill(n, T{1}, ones.data());
    return Csr<T>::unchecked(count, n, std::move(offsets), std::move(members), std::move(ones));
  }
}

}  // namespace echelon::affinity_multigrid
