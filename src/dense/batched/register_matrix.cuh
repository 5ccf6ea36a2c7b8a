// SPDX-License-Identifier: BSD-3-Clause
/// A small matrix in the registers of a team of threads:
///
///   a lane holds        row l, l + lanes, ... of the columns of its warp;
///   a warp holds        column w, w + warps, ...; or several matrices of at most 16 rows.
///
/// The columns move: when each warp has eliminated one, all are written one register further, so that the
/// next one is always in the first, and the indices are constants.
#pragma once

#include "dense/batched/thread_group.cuh"

#include <cmath>
#include <cstdint>

namespace echelon::batch_kernels {

template <class T, int size, int lanes, int warps>
class RegisterMatrix {
  static constexpr int in_pack = 16 / static_cast<int>(sizeof(T));

 public:
  static constexpr int down = size / lanes;    // rows of a lane
  static constexpr int across = size / warps;  // columns of a warp
  static constexpr int least_width = in_pack;
  static_assert(across % in_pack == 0);
  using Elements = Column<T, down, lanes>;
  struct alignas(16) Pack {
    T elements[in_pack];
  };
  /// A warp's part of a row, in shared memory.
  struct Row {
    Pack packs[across / in_pack];
  };

  __device__ RegisterMatrix(LaneRows<lanes> rows, int warp) : rows_(rows), warp_(warp) {}

  /// The identity where there is nothing to read.
  __device__ void load(const T* a, std::int64_t leading, bool exists) {
    const int first = now(warp_);
#pragma unroll
    for (int c = 0; c < across; ++c) {
      const int column = c * warps + first;
      const T* from = a + column * leading;
#pragma unroll
      for (int r = 0; r < down; ++r) {
        element_[r][c] = rows_[r] == column ? T{1} : T{0};
        if (exists && rows_.has(r) && column < rows_.n) element_[r][c] = from[rows_[r]];
      }
    }
  }

  /// The warp's part of the sums of magnitudes.
  __device__ void add_magnitudes(double* sums) const {
#pragma unroll
    for (int r = 0; r < down; ++r) {
      double sum = 0;
#pragma unroll
      for (int c = 0; c < across; ++c) sum += fabs(static_cast<double>(element_[r][c]));
      sums[rows_[r]] = sum;
    }
  }
  /// The warp's part of the products with x.
  __device__ void multiply(const T* x, double* sums) const {
#pragma unroll
    for (int r = 0; r < down; ++r) {
      T sum = 0;
#pragma unroll
      for (int c = 0; c < across; ++c) {
        const int column = c * warps + warp_;
        if (column < rows_.n) sum += element_[r][c] * x[column];
      }
      sums[rows_[r]] = sum;
    }
  }

  /// In the registers: the first is the next to be eliminated.
  template <int c>
  [[nodiscard]] __device__ Elements column() const {
    Elements column;
#pragma unroll
    for (int r = 0; r < down; ++r) column[r] = element_[r][c];
    return column;
  }
  /// Puts in what becomes the last column, or the first if columns have not moved.
  template <bool moved>
  __device__ void replace_done(int r, T element) {
    element_[r][moved ? across - 1 : 0] = element;
  }

  /// By the lane that has it.
  __device__ void copy_row(int number, Row& row) const {
#pragma unroll
    for (int r = 0; r < down; ++r) {
      if (rows_[r] == number) copy_own_row(r, row);
    }
  }

  /// a - f w for the row w, in `width` of the columns, which move. Returns the first.
  template <bool moves, int width>
  __device__ Elements update(const Row& row, const Elements& f) {
    constexpr int shift = moves ? 1 : 0;
    Elements first;
#pragma unroll
    for (int p = 0; p < width / in_pack; ++p) {
      const Pack w = row.packs[p];
#pragma unroll
      for (int e = 0; e < in_pack; ++e) {
        const int c = p * in_pack + e;
#pragma unroll
        for (int r = 0; r < down; ++r) {
          const T sum = element_[r][c] - f[r] * w.elements[e];
          if (c == 0) first[r] = sum;
          if (c >= shift) element_[r][c - shift] = sum;
        }
      }
    }
    return first;
  }

  /// For the inverse.
  __device__ void scale_row(int r, T factor) {
#pragma unroll
    for (int c = 0; c < across; ++c) element_[r][c] *= factor;
  }
  [[nodiscard]] __device__ T at(int r, int c) const {
    return element_[r][c];
  }

 private:
  __device__ void copy_own_row(int r, Row& row) const {
#pragma unroll
    for (int p = 0; p < across / in_pack; ++p) {
      Pack pack;
#pragma unroll
      for (int e = 0; e < in_pack; ++e) pack.elements[e] = element_[r][p * in_pack + e];
      row.packs[p] = pack;
    }
  }

  LaneRows<lanes> rows_;
  int warp_;
  T element_[down][across];
};

}  // namespace echelon::batch_kernels
