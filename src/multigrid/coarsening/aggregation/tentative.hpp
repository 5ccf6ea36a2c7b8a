// SPDX-License-Identifier: BSD-3-Clause
/// Tentative prolongations: an aggregate's columns are the near-null-space vectors, restricted to it.
#pragma once

#include "multigrid/coarsening/aggregation/aggregates.hpp"

#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>

#include <cmath>

namespace echelon::multigrid::aggregation {

struct CountTentative {
  std::int64_t block;
  std::int64_t modes;
  const std::int32_t* aggregates;
  std::int64_t* counts;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    counts[i] = aggregates[i / block] == no_aggregate ? 0 : modes;
  }
};

/// Row i of P_0 for constants, one for each component: 1 in the column of its component.
template <class T>
struct FillConstants {
  std::int64_t block;
  const std::int32_t* aggregates;
  const std::int64_t* offsets;
  std::int32_t* columns;
  T* values;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::int32_t aggregate = aggregates[i / block];
    if (aggregate == no_aggregate) return;
    columns[offsets[i]] = static_cast<std::int32_t>(aggregate * block + i % block);
    values[offsets[i]] = T{1};
  }
};

/// Row i of P_0 before orthogonalisation: the row of the vectors.
template <class T>
struct FillModes {
  std::int64_t block;
  std::int64_t modes;
  std::int64_t rows;
  const T* vectors;  ///< rows by modes, column-major
  const std::int32_t* aggregates;
  const std::int64_t* offsets;
  std::int32_t* columns;
  T* values;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::int32_t aggregate = aggregates[i / block];
    if (aggregate == no_aggregate) return;
    for (std::int64_t c = 0; c < modes; ++c) {
      columns[offsets[i] + c] = static_cast<std::int32_t>(aggregate * modes + c);
      values[offsets[i] + c] = vectors[i + c * rows];
    }
  }
};

struct SetAggregateKey {
  const std::int32_t* aggregates;
  std::uint32_t* keys;
  std::int32_t* nodes;
  ECHELON_ANYWHERE void operator()(std::int64_t node) const {
    keys[node] = static_cast<std::uint32_t>(aggregates[node]);  // no_aggregate comes last
    nodes[node] = static_cast<std::int32_t>(node);
  }
};

/// begins[a] = the first position of aggregate a in the sorted keys.
struct FindBegins {
  std::int64_t size;
  const std::uint32_t* keys;
  std::int64_t* begins;
  ECHELON_ANYWHERE void operator()(std::int64_t a) const {
    std::int64_t low = 0;
    std::int64_t high = size;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (static_cast<std::int64_t>(keys[middle]) < a) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    begins[a] = low;
  }
};

/// Orthonormalises the columns of an aggregate by the Gram-Schmidt process, applied twice; the triangular
/// factor is the aggregate's part of the coarse vectors. A column of which less than `dependent` remains is
/// linearly dependent on those before it: it becomes zero, and its coarse unknown has a zero row, which
/// smoothers and solvers skip.
template <class T>
struct Orthonormalise {
  static constexpr double dependent = 1e-10;

  std::int64_t block;
  std::int64_t modes;
  std::int64_t coarse_rows;
  const std::int64_t* begins;
  const std::int32_t* nodes;
  const std::int64_t* offsets;
  T* values;
  T* coarse;  ///< coarse_rows by modes, column-major

  ECHELON_ANYWHERE double dot(std::int64_t a, std::int64_t c, std::int64_t d) const {
    double sum = 0;
    for (std::int64_t m = begins[a]; m < begins[a + 1]; ++m) {
      for (std::int64_t b = 0; b < block; ++b) {
        const T* row = values + offsets[nodes[m] * block + b];
        sum += static_cast<double>(row[c]) * static_cast<double>(row[d]);
      }
    }
    return sum;
  }
  /// Column c = factor (column c - projection * column d).
  ECHELON_ANYWHERE void update(std::int64_t a, std::int64_t c, double projection, std::int64_t d,
                               double factor) const {
    for (std::int64_t m = begins[a]; m < begins[a + 1]; ++m) {
      for (std::int64_t b = 0; b < block; ++b) {
        T* row = values + offsets[nodes[m] * block + b];
        const double value = static_cast<double>(row[c]);
        row[c] = static_cast<T>(factor *
                                (projection == 0 ? value : value - projection * static_cast<double>(row[d])));
      }
    }
  }
  ECHELON_ANYWHERE void operator()(std::int64_t a) const {
    T* const upper = coarse + a * modes;
    for (std::int64_t c = 0; c < modes; ++c) {
      for (std::int64_t d = 0; d < modes; ++d) upper[d + c * coarse_rows] = T{0};
      const double before = std::sqrt(dot(a, c, c));
      for (int pass = 0; pass < 2; ++pass) {
        for (std::int64_t d = 0; d < c; ++d) {
          const double projection = dot(a, d, c);
          update(a, c, projection, d, 1);
          upper[d + c * coarse_rows] += static_cast<T>(projection);
        }
      }
      const double norm = std::sqrt(dot(a, c, c));
      const bool kept = norm > dependent * before;
      update(a, c, 0, c, kept ? 1 / norm : 0);
      upper[c + c * coarse_rows] = kept ? static_cast<T>(norm) : T{0};
    }
  }
};

/// A tentative prolongation and the coarse level's near-null-space vectors. The vectors have no columns if
/// they are constants, which stay constants on the coarse level.
template <class T>
struct Tentative {
  Csr<T> P;
  Dense<T> vectors;
};

/// Makes P_0 for aggregates of nodes of `block` rows each. `vectors` has one column for each mode; without
/// columns, the modes are the constants of the `block` components.
template <class B, class T>
Tentative<T> tentative_prolongation(B& backend, std::int64_t rows, std::int64_t block,
                                    const Aggregates& aggregates, const Dense<T>& vectors) {
  const Device& device = backend.device();
  const bool constants = vectors.columns() == 0;
  const std::int64_t modes = constants ? block : vectors.columns();
  const std::int32_t* of_node = aggregates.of_node.data();
  Array<std::int64_t> offsets(device, rows + 1);
  backend.for_each(rows, CountTentative{block, constants ? 1 : modes, of_node, offsets.data()});
  const std::int64_t nonzeros = backend.exclusive_scan(rows, offsets.data(), offsets.data());
  Array<std::int32_t> columns(device, nonzeros);
  Array<T> values(device, nonzeros);
  const std::int64_t coarse_rows = aggregates.count * modes;
  Tentative<T> result;
  if (constants) {
    backend.for_each(rows, FillConstants<T>{block, of_node, offsets.data(), columns.data(), values.data()});
  } else {
    backend.for_each(rows, FillModes<T>{block, modes, rows, vectors.data(), of_node, offsets.data(),
                                        columns.data(), values.data()});
    const std::int64_t nodes = rows / block;
    Array<std::uint32_t> keys(device, nodes);
    Array<std::uint32_t> sorted_keys(device, nodes);
    Array<std::int32_t> numbers(device, nodes);
    Array<std::int32_t> members(device, nodes);
    backend.for_each(nodes, SetAggregateKey{of_node, keys.data(), numbers.data()});
    backend.sort_by_key(nodes, 0, 32, keys.data(), sorted_keys.data(), numbers.data(), members.data());
    Array<std::int64_t> begins(device, aggregates.count + 1);
    backend.for_each(aggregates.count + 1, FindBegins{nodes, sorted_keys.data(), begins.data()});
    result.vectors = Dense<T>(device, coarse_rows, modes);
    backend.for_each(aggregates.count,
                     Orthonormalise<T>{block, modes, coarse_rows, begins.data(), members.data(),
                                       offsets.data(), values.data(), result.vectors.data()});
  }
  result.P = Csr<T>::unchecked(rows, coarse_rows, std::move(offsets), std::move(columns), std::move(values));
  return result;
}

}  // namespace echelon::multigrid::aggregation
