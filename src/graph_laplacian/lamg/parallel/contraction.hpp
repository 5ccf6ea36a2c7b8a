// SPDX-License-Identifier: BSD-3-Clause
/// Quotient graphs by sorting edges, and the piecewise constant transfers that belong to them.
#pragma once

#include "graph_laplacian/lamg/parallel/elimination.hpp"
#include "graph_laplacian/lamg/parallel/row_accumulation.hpp"

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

/// P^T A P by a sort of the edges.
template <class B, class T>
Csr<T> contract_by_sorting(B& backend, const Csr<T>& A, const std::int32_t* rows,
                           const std::int32_t* aggregates, std::int64_t count) {
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

}  // namespace echelon::lamg::parallel
