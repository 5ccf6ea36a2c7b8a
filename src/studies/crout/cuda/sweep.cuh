// SPDX-License-Identifier: BSD-3-Clause
/// A sweep of Crout's iteration over a tile of a section, by one block.
#pragma once

#include "backend/cuda/warp.cuh"
#include "studies/crout/formulas.hpp"

#include <cmath>
#include <cstdint>

namespace echelon::crout {

/// Elements of a tile by rows and by columns that each thread sums: 2 by 2, or 1 in the smallest tiles.
template <int tile>
inline constexpr int side_of_thread = tile > 8 ? 2 : 1;
/// Threads of a block, which sweeps over tiles of this many rows and columns.
template <int tile>
inline constexpr int sweep_threads = (tile * tile) / (side_of_thread<tile> * side_of_thread<tile>);

inline constexpr int no_change = INT32_MAX;

/// Elements by rows and columns that count from the section's first ones.
template <class T>
struct Elements {
  T* data;
  std::int64_t leading;
  [[nodiscard]] __device__ T& operator()(int i, int j) const { return data[j * leading + i]; }
};

/// Arguments of a sweep over one of the factors: next(i, j) = Crout's formula of a, l and u.
template <class T>
struct Sweep {
  Elements<T> a, l, u, old, next;
  int first_column;   ///< columns before it are final, and stay as they are
  int rows, columns;  ///< the last of each excluded
  double tolerance;
};

template <class T, int tile>
struct TileMemory {
  T l[tile][tile];      ///< by columns
  T u[tile][tile + 1];  ///< by columns, padded against bank conflicts
};

/// Sums of a tile, in the order of elimination.
template <class T, Factor part, int tile>
class TileSweep {
  static constexpr int side = side_of_thread<tile>;
  static constexpr int apart = tile / side;  ///< rows, and columns, between the elements of a thread
  static constexpr int threads = sweep_threads<tile>;
  static constexpr int loads = tile * tile / threads;

 public:
  __device__ TileSweep(const Sweep<T>& sweep, TileMemory<T, tile>& memory, int first_row, int first_column)
      : s_(sweep),
        memory_(memory),
        first_row_(first_row),
        first_column_(first_column),
        row_(static_cast<int>(threadIdx.x) % apart),
        column_(static_cast<int>(threadIdx.x) / apart) {}

  /// Evaluates the formula for the tile's elements of the factor. Returns, for the elements of this thread,
  /// the least `index(i, j)` of an element that changed by more than the tolerance. A NaN counts as changed.
  template <class Index>
  __device__ int evaluate(Index index) {
    for (int r = 0; r < side; ++r) {
      for (int c = 0; c < side; ++c) sums_[r][c] = belongs(r, c) ? s_.a(row(r), column(c)) : T{0};
    }
    const int complete = part == Factor::lower ? first_column_ : first_row_;  // terms that all elements have
    load(0);
    for (int k = 0; k <= complete; k += tile) {
      __syncthreads();
      store();
      __syncthreads();
      if (k < complete) {
        load(k + tile);
        subtract<false>();
      } else {
        subtract<true>();
      }
    }
    int changed = no_change;
    for (int r = 0; r < side; ++r) {
      for (int c = 0; c < side; ++c) {
        if (belongs(r, c) && accept(row(r), column(c), sums_[r][c])) {
          changed = min(changed, index(row(r), column(c)));
        }
      }
    }
    return changed;
  }

 private:
  [[nodiscard]] __device__ int row(int r) const { return first_row_ + row_ + r * apart; }
  [[nodiscard]] __device__ int column(int c) const { return first_column_ + column_ + c * apart; }
  [[nodiscard]] __device__ bool belongs(int r, int c) const {
    return row(r) < s_.rows && column(c) >= s_.first_column && column(c) < s_.columns &&
           factor_at(row(r), column(c)) == part;
  }

  __device__ void load(int first_term) {
#pragma unroll
    for (int e = 0; e < loads; ++e) {
      const int t = static_cast<int>(threadIdx.x) + e * threads;
      const int fast = t % tile;
      const int slow = t / tile;
      // Terms end before the rows and columns of the section do.
      const bool has_l = first_row_ + fast < s_.rows && first_term + slow < s_.columns;
      const bool has_u = first_column_ + slow < s_.columns && first_term + fast < s_.rows;
      l_[e] = has_l ? s_.l(first_row_ + fast, first_term + slow) : T{0};
      u_[e] = has_u ? s_.u(first_term + fast, first_column_ + slow) : T{0};
    }
  }

  __device__ void store() {
#pragma unroll
    for (int e = 0; e < loads; ++e) {
      const int t = static_cast<int>(threadIdx.x) + e * threads;
      memory_.l[t / tile][t % tile] = l_[e];
      memory_.u[t / tile][t % tile] = u_[e];
    }
  }

  /// Subtracts the terms in shared memory, or those before the element's own column (L) or row (U).
  template <bool last>
  __device__ void subtract() {
#pragma unroll 8
    for (int k = 0; k < tile; ++k) {
      T l[side];
      T u[side];
#pragma unroll
      for (int r = 0; r < side; ++r) l[r] = memory_.l[k][row_ + r * apart];
#pragma unroll
      for (int c = 0; c < side; ++c) u[c] = memory_.u[column_ + c * apart][k];
#pragma unroll
      for (int r = 0; r < side; ++r) {
#pragma unroll
        for (int c = 0; c < side; ++c) {
          const int terms = part == Factor::lower ? column_ + c * apart : row_ + r * apart;
          if (!last || k < terms) sums_[r][c] -= l[r] * u[c];
        }
      }
    }
  }

  /// Whether the element changes by more than the tolerance.
  __device__ bool accept(int i, int j, T sum) {
    const T value = part == Factor::lower ? sum : sum / s_.l(i, i);
    const double change = std::fabs(static_cast<double>(value) - static_cast<double>(s_.old(i, j)));
    s_.next(i, j) = value;
    return !(change <= s_.tolerance);
  }

  const Sweep<T>& s_;
  TileMemory<T, tile>& memory_;
  int first_row_, first_column_, row_, column_;
  T sums_[side][side];
  T l_[loads], u_[loads];
};

}  // namespace echelon::crout
