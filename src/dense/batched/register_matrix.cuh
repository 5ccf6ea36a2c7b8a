// SPDX-License-Identifier: BSD-3-Clause
/// A small matrix in the registers of a thread group:
///
///   lane l holds        rows l, l + lanes, ... of the columns of its warp;
///   warp w holds        columns w, w + warps, ...; or several matrices of at most 16 rows.
///
/// When each warp has eliminated a column, all columns move by one register, so that the next one is always
/// in the first register, and register indices are constants.
#pragma once

#include "dense/batched/thread_group.cuh"

#include <cmath>
#include <cstdint>

namespace echelon::batch_kernels {

template <class T, int size, int lanes, int warps>
class RegisterMatrix {
  static constexpr int pack_size = 16 / static_cast<int>(sizeof(T));

 public:
  static constexpr int rows_per_lane = size / lanes;     // rows of a lane
  static constexpr int columns_per_warp = size / warps;  // columns of a warp
  static constexpr int least_width = pack_size;
  static_assert(columns_per_warp % pack_size == 0);
  using Elements = Column<T, rows_per_lane, lanes>;
  struct alignas(16) Pack {
    T elements[pack_size];
  };
  /// The elements of a row that a warp holds, in shared memory.
  struct Row {
    Pack packs[columns_per_warp / pack_size];
  };

  __device__ RegisterMatrix(LaneRows<lanes> rows, int warp) : rows_(rows), warp_(warp) {}

  /// Reads the matrix, extended by the identity to `size` rows.
  __device__ void load(const T* a, std::int64_t leading, bool exists) {
    const int first = compute_here(warp_);
#pragma unroll
    for (int c = 0; c < columns_per_warp; ++c) {
      const int column = c * warps + first;
      const T* from = a + column * leading;
#pragma unroll
      for (int r = 0; r < rows_per_lane; ++r) {
        element_[r][c] = rows_[r] == column ? T{1} : T{0};
        if (exists && rows_.has(r) && column < rows_.n) element_[r][c] = from[rows_[r]];
      }
    }
  }

  /// Adds the magnitudes of the warp's columns, for each row.
  __device__ void add_magnitudes(double* sums) const {
#pragma unroll
    for (int r = 0; r < rows_per_lane; ++r) {
      double sum = 0;
#pragma unroll
      for (int c = 0; c < columns_per_warp; ++c) sum += fabs(static_cast<double>(element_[r][c]));
      sums[rows_[r]] = sum;
    }
  }
  /// Multiplies the warp's columns with x, for each row.
  __device__ void multiply(const T* x, double* sums) const {
#pragma unroll
    for (int r = 0; r < rows_per_lane; ++r) {
      T sum = 0;
#pragma unroll
      for (int c = 0; c < columns_per_warp; ++c) {
        const int column = c * warps + warp_;
        if (column < rows_.n) sum += element_[r][c] * x[column];
      }
      sums[rows_[r]] = sum;
    }
  }

  /// The column in register c; that in register 0 is eliminated next.
  template <int c>
  [[nodiscard]] __device__ Elements column() const {
    Elements column;
#pragma unroll
    for (int r = 0; r < rows_per_lane; ++r) column[r] = element_[r][c];
    return column;
  }
  /// Replaces the eliminated column, which is in the last register, or in the first if columns have not
  /// moved.
  template <bool moved>
  __device__ void replace_eliminated(int r, T element) {
    element_[r][moved ? columns_per_warp - 1 : 0] = element;
  }

  /// Copies a row to shared memory, by the lane that holds it.
  __device__ void copy_row(int number, Row& row) const {
#pragma unroll
    for (int r = 0; r < rows_per_lane; ++r) {
      if (rows_[r] == number) copy_own_row(r, row);
    }
  }

  /// Replaces a by a - f w for the pivot row w in `width` columns, and moves them if `moves`. Returns the
  /// first of them.
  template <bool moves, int width>
  __device__ Elements update(const Row& row, const Elements& f) {
    constexpr int shift = moves ? 1 : 0;
    Elements first;
#pragma unroll
    for (int p = 0; p < width / pack_size; ++p) {
      const Pack w = row.packs[p];
#pragma unroll
      for (int e = 0; e < pack_size; ++e) {
        const int c = p * pack_size + e;
#pragma unroll
        for (int r = 0; r < rows_per_lane; ++r) {
          const T sum = element_[r][c] - f[r] * w.elements[e];
          if (c == 0) first[r] = sum;
          if (c >= shift) element_[r][c - shift] = sum;
        }
      }
    }
    return first;
  }

  /// Scales a row, for the inverse.
  __device__ void scale_row(int r, T factor) {
#pragma unroll
    for (int c = 0; c < columns_per_warp; ++c) element_[r][c] *= factor;
  }
  [[nodiscard]] __device__ T at(int r, int c) const {
    return element_[r][c];
  }

 private:
  __device__ void copy_own_row(int r, Row& row) const {
#pragma unroll
    for (int p = 0; p < columns_per_warp / pack_size; ++p) {
      Pack pack;
#pragma unroll
      for (int e = 0; e < pack_size; ++e) pack.elements[e] = element_[r][p * pack_size + e];
      row.packs[p] = pack;
    }
  }

  LaneRows<lanes> rows_;
  int warp_;
  T element_[rows_per_lane][columns_per_warp];
};

}  // namespace echelon::batch_kernels
