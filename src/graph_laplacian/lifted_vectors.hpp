// SPDX-License-Identifier: BSD-3-Clause
/// Functors that lift right-hand sides to the vertices of the Laplacian, and restore solutions from them.
#pragma once

#include "backend/backend.hpp"
#include "backend/columns.hpp"
#include "graph_laplacian/lifted_matrix.hpp"

#include <cstdint>

namespace echelon::graph_laplacian {

/// Permutes b, doubled if requested, to the numbering of the lifted matrix; zero for a ground.
template <class T, class V>
struct LiftVector {
  const T* b;
  const std::int32_t* vertex;  ///< vertex at each position; null for the identity
  std::int64_t n;
  T sign;  ///< factor of b, 1 or -1
  V* y;
  ECHELON_ANYWHERE void operator()(std::int64_t p) const {
    const std::int64_t v = vertex != nullptr ? vertex[p] : p;
    y[p] = v < 0 ? V{0} : static_cast<V>(v < n ? sign * b[v] : -sign * b[v - n]);
  }
};

/// target = -source.
template <class T>
struct CopyNegated {
  const T* source;
  T* target;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const { target[k] = -source[k]; }
};

/// Makes the elements of each component sum to zero: the ground gets the negated sum of the others; in a
/// component without excess the mean is subtracted. Returns n_c mean^2, the square of the norm of the part of
/// b along the component's null vector: `first` if the vector is exact, `second` if it is one up to rounding.
template <class V>
struct BalanceComponent {
  const std::int64_t* lifted_offsets;
  const std::uint8_t* grounded;
  const std::uint8_t* rounded;
  Excess excess;
  const Sum* sums;
  V* y;
  ECHELON_ANYWHERE TwoSums operator()(std::int64_t c) const {
    const std::int64_t first = lifted_offsets[c];
    const std::int64_t last = lifted_offsets[c + 1];
    if (grounded[c] != 0) {
      if (excess == Excess::ground) y[last - 1] = static_cast<V>(-sums[c].value);
      return {};
    }
    const double mean = sums[c].value / static_cast<double>(last - first);
    const double square = mean * mean * static_cast<double>(last - first);
    return rounded[c] != 0 ? TwoSums{0, square} : TwoSums{square, 0};
  }
};
template <class V>
struct SubtractMeans {
  const std::int64_t* lifted_offsets;
  const std::uint8_t* spared;
  const std::int32_t* component;  ///< component of each position
  const Sum* sums;
  V* y;
  ECHELON_ANYWHERE void operator()(std::int64_t p) const {
    const std::int32_t c = component[p];
    if (spared != nullptr && spared[c] != 0) return;
    y[p] -= static_cast<V>(sums[c].value / static_cast<double>(lifted_offsets[c + 1] - lifted_offsets[c]));
  }
};

/// Computes x from y: y_i - y_ground, y_i where excess is on the diagonal, or y_i minus the mean of its
/// component; with doubling, half the difference of the two copies.
template <class T, class V>
struct GatherVertices {
  const V* y;
  const std::int32_t* place;
  const std::int32_t* component;
  const std::int64_t* lifted_offsets;
  const std::uint8_t* grounded;
  Excess excess;
  const Sum* sums;
  std::int64_t n;
  bool doubled;
  double sign;  ///< factor of the result
  T* x;
  ECHELON_ANYWHERE double level(std::int64_t v) const {
    const std::int32_t c = component[v];
    const std::int64_t last = lifted_offsets[c + 1];
    const double own = static_cast<double>(y[place[v]]);
    if (grounded[c] == 0) return own - sums[c].value / static_cast<double>(last - lifted_offsets[c]);
    return excess == Excess::ground ? own - static_cast<double>(y[last - 1]) : own;
  }
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    x[i] = static_cast<T>(sign * (doubled ? (level(i) - level(i + n)) / 2 : level(i)));
  }
};

/// Squared norms of the parts of several right-hand sides outside the range of A, in the backend's memory.
struct Removed {
  TwoSums at[most_columns] = {};
};

}  // namespace echelon::graph_laplacian
