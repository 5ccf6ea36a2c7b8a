// SPDX-License-Identifier: BSD-3-Clause
/// Elimination of a few columns that are kept in vector registers.
#pragma once

#include "sparse_direct/banded/factors.hpp"
#include "sparse_direct/banded/host/vector.hpp"
#include "sparse_direct/banded/partition_rule.hpp"

#include <bit>
#include <cstdint>

namespace echelon::banded {

/// Partial pivoting in `block_columns` columns of a window of `vectors` vectors of rows. A column waits
/// for the one before it: the search for its pivot, the reciprocal and the update are the critical path,
/// which stays within vector registers. The numbers of columns are constants for that reason.
template <class T, std::int64_t bytes, int vectors>
class RegisterPanel {
  using Types = VectorOf<T, bytes>;
  using Bits = typename Types::BitsOfOne;
  using Vector = typename Types::Type;
  using VectorBits = typename Types::Bits;
  static constexpr int lanes = static_cast<int>(Types::lanes);

 public:
  /// The first columns of a window, whose rows are `pitch` elements apart.
  [[gnu::always_inline]] RegisterPanel(const T* window, std::int64_t pitch) {
    alignas(64) T columns[block_columns][vectors * lanes];
    copy_transposed<bytes>(vectors * lanes, window, pitch, columns[0], vectors * lanes);
    for (int t = 0; t < block_columns; ++t) {
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) load(columns_[t][v], columns[t] + v * lanes);
    }
  }

  /// Eliminates column t. `multipliers`: receives a multiplier for each row, 1 for the pivot row; `row`:
  /// receives 1 / pivot, or 0 if the pivot is zero, as element t, and then the elements of the pivot row
  /// after it. The pivot row becomes zero in later columns, so that it is not chosen again. Returns its
  /// number, and updates `largest` with its elements.
  template <int t>
  [[gnu::always_inline]] std::int32_t eliminate(T* multipliers, T* row, VectorBits& largest) {
    VectorBits p;
    find_pivot(t, p);
    Vector pivot;
    take_element(t, p, pivot, largest);
    VectorBits magnitude;
    load_magnitudes(magnitude, &pivot);
    const Vector reciprocal = magnitude >= smallest_magnitude ? T{1} / pivot : Vector{};
    row[t] = reciprocal[0];
    VectorBits lane;
    count_lanes(lane);
    Vector l[vectors];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      const Vector one = Vector{} + T{1};
      l[v] = lane + static_cast<Bits>(v * lanes) == p ? one : columns_[t][v] * reciprocal;
      store(l[v], multipliers + v * lanes);
    }
#pragma GCC unroll 8
    for (int u = t + 1; u < block_columns; ++u) {
      Vector element;
      take_element(u, p, element, largest);
      row[u] = element[0];
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) columns_[u][v] -= l[v] * element;
    }
    return static_cast<std::int32_t>(p[0]);
  }

 private:
  static constexpr Bits slot_mask = vectors * lanes - 1;
  static constexpr Bits smallest_magnitude = std::bit_cast<Bits>(smallest_pivot<T>);

  /// Sets every element of p to the row with the largest magnitude. Magnitudes are compared without their
  /// last bits, which are replaced by the row, counted from the end.
  [[gnu::always_inline]] void find_pivot(int t, VectorBits& p) const {
    VectorBits lane;
    count_lanes(lane);
    VectorBits largest{};
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      VectorBits magnitudes;
      load_magnitudes(magnitudes, &columns_[t][v]);
      magnitudes = (magnitudes & ~slot_mask) | (static_cast<Bits>(slot_mask - v * lanes) - lane);
      take_larger(largest, magnitudes);
    }
    spread_largest(largest);
    p = slot_mask - (largest & slot_mask);
  }

  /// Sets every element of `element` to that of column u in row p.
  [[gnu::always_inline]] void take_element(int u, const VectorBits& p, Vector& element,
                                           VectorBits& largest) const {
    if constexpr (vectors <= 2) {
      broadcast_element(columns_[u][0], columns_[u][vectors - 1], p, element);
    } else {  // with more vectors, the columns are in memory
      element = Vector{} + columns_[u][p[0] / lanes][p[0] % lanes];
    }
    VectorBits magnitude;
    load_magnitudes(magnitude, &element);
    take_larger(largest, magnitude);
  }

  Vector columns_[block_columns][vectors];
};

}  // namespace echelon::banded
