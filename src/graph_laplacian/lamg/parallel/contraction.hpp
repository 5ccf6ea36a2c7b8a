// SPDX-License-Identifier: BSD-3-Clause
/// Quotient graphs by sorting edges, and the piecewise constant transfers that belong to them.
#pragma once

#include "graph_laplacian/lamg/parallel/elimination.hpp"

#include <echelon/matrix/transform.hpp>

#include <cstdint>
#include <utility>

namespace echelon::lamg::parallel {

/// Writes the edge of element k between aggregates; edges inside an aggregate are not flagged.
template <class T>
struct ContractEdge {
  LaplacianRows<T> A;
  const std::int32_t* rows;
  const std::int32_t* aggregates;
  int bits;
  std::uint8_t* flags;
  std::uint64_t* keys;
  T* weights;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    const std::int32_t i = aggregates[rows[k]];
    const std::int32_t j = aggregates[A.columns[k]];
    flags[k] = i != j && A.is_edge(rows[k], k) ? 1 : 0;
    keys[k] = static_cast<std::uint64_t>(i) << bits | static_cast<std::uint64_t>(j);
    weights[k] = -A.values[k];
  }
};

/// Makes the Laplacian P^T A P of the quotient graph: aggregates become vertices, weights of parallel edges
/// add up. `rows` has the row of each element of A. Waits.
template <class B, class T>
Csr<T> contract(B& backend, const Csr<T>& A, const std::int32_t* rows, const std::int32_t* aggregates,
                std::int64_t count) {
  const Device& device = backend.device();
  const std::int64_t nonzeros = A.nonzeros();
  EdgeList<T> edges(device, count, nonzeros);
  Array<std::uint8_t> flags(device, nonzeros);
  Array<std::uint64_t> keys(device, nonzeros);
  Array<T> weights(device, nonzeros);
  backend.for_each(nonzeros, ContractEdge<T>{LaplacianRows<T>(A), rows, aggregates, edges.bits, flags.data(),
                                             keys.data(), weights.data()});
  edges.size = backend.select(nonzeros, flags.data(), keys.data(), edges.keys.data());
  backend.select(nonzeros, flags.data(), weights.data(), edges.weights.data());
  keys = Array<std::uint64_t>();
  weights = Array<T>();
  return laplacian_of(backend, std::move(edges));
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

}  // namespace echelon::lamg::parallel
