// SPDX-License-Identifier: BSD-3-Clause
/// Cholesky factorisation and inversion of one tile in shared memory, and products with the inverse.
///
/// Panels of 16 columns are factored by the first warp, without barriers of the block, and applied to the
/// rest of the tile by all warps. Another warp inverts the diagonal block of the panel before. The inverses
/// of the diagonal blocks of 16 suffice to solve with the tile. They are merged to those of 32 and of 64 by
/// X21 = -X22 (L21 X11).
#pragma once

#include "dense/tiles/product.cuh"

#include <limits>

namespace echelon::tiles {

/// The least pivot whose reciprocal is computed.
template <class T>
inline constexpr T least_normal = std::numeric_limits<T>::min();

/// The first pivot that is too small.
template <class T>
struct SmallPivot {
  int column = -1;  ///< -1: none
  T value = 0;
};

__device__ inline float reciprocal_root(float x) {
  return rsqrtf(x);
}
/// Reciprocal square root, to about the last bit for normal numbers, without a branch, which would end the
/// overlap with the instructions around it.
__device__ inline double reciprocal_root(double x) {
#ifdef __CUDA_ARCH__
  double y = 0;
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
#else
  const double y = 1 / sqrt(x);
#endif
  const double error = fma(-x * y, y, 1.0);
  return fma(y * error, fma(error, 0.375, 0.5), y);
}

inline constexpr int panel_width = SmallProduct<double>::size;

/// The warp's number in its block.
__device__ inline int warp_id() {
  return static_cast<int>(threadIdx.x) / warp_size;
}

/// Factorisation A = L L^T of the lower triangle of a tile. The upper triangle is workspace.
template <class T>
class CholeskyTile {
  static constexpr int width = panel_width;
  static constexpr int half_width = width / 2;

 public:
  /// `tile`: A, column-major with leading dimension `padded`. `inverse`: becomes L^-1, in the same layout.
  /// `least_pivots`: the least that are accepted, normal numbers. `reciprocals`: becomes 1 / l_jj. `rows`: of
  /// A; the panels beyond are left as they are.
  __device__ CholeskyTile(T* tile, T* inverse, const T* least_pivots, T* reciprocals, int rows = side)
      : tile_{tile, 1, padded},
        inverse_{inverse, 1, padded},
        least_pivots_(least_pivots),
        reciprocals_(reciprocals),
        panels_((rows + width - 1) / width) {}

  /// Replaces A by L, and the diagonal blocks of `inverse` by their inverses. All threads of the block take
  /// part; a barrier is at the end. Calls panel_done(first column) in all threads of the third and fourth
  /// warp when the panel's columns and the inverse of its diagonal block are there. Returns the failed pivot
  /// in the first warp.
  template <class PanelDone>
  __device__ SmallPivot<T> factor(PanelDone panel_done) {
    SmallPivot<T> failed;
#pragma unroll 1
    for (int p = 0; p < panels_; ++p) {
      if (warp_id() == 0) {
        factor_panel(p * width, failed);
      } else if (p > 0 && warp_id() == 1) {
        invert_diagonal((p - 1) * width);
      } else if (p > 1 && warp_id() > 1) {
        panel_done((p - 2) * width);
      }
      __syncthreads();
      apply_panel(p * width);
      __syncthreads();
    }
    if (warp_id() == 0) {
      invert_diagonal((panels_ - 1) * width);
    } else if (panels_ > 1 && warp_id() > 1) {
      panel_done((panels_ - 2) * width);
    }
    __syncthreads();
    if (warp_id() > 1) panel_done((panels_ - 1) * width);
    return failed;
  }

  /// Completes the inverse, with zeros above the diagonal. Overwrites the upper triangle of the tile. A
  /// barrier is at the end.
  __device__ void invert() {
    for (int k = static_cast<int>(threadIdx.x); k < side * side; k += threads) {
      const int i = k % side;
      const int j = k / side;
      if (i / width < j / width) inverse_(i, j) = 0;
    }
    __syncthreads();
    for (int size = width; size < side; size *= 2) merge(size);
  }

 private:
  /// Factors columns [first, first + width) of rows [first, side), half of them at a time.
  __device__ void factor_panel(int first, SmallPivot<T>& failed) {
#pragma unroll 1
    for (int half = 0; half < width; half += half_width) {
      if (half > 0) apply_first_half(first);
      factor_half(first + half, failed);
      __syncwarp();
    }
  }

  /// Factors columns [first, first + half_width) of rows [first, side). Every lane factors the diagonal
  /// block, in registers, so that a pivot waits for nothing but arithmetic, and solves with it for its rows.
  __device__ void factor_half(int first, SmallPivot<T>& failed) {
    T l[half_width][half_width];
    T reciprocals[half_width];
    T x[2][half_width];
#pragma unroll
    for (int i = 0; i < half_width; ++i) {
#pragma unroll
      for (int j = 0; j <= i; ++j) l[i][j] = tile_(first + i, first + j);
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int row = min(first + lane_id() + r * warp_size, side - 1);
#pragma unroll
      for (int c = 0; c < half_width; ++c) x[r][c] = tile_(row, first + c);
    }
    __syncwarp();
#pragma unroll
    for (int j = 0; j < half_width; ++j) {
      const T pivot = l[j][j];
      if (!(pivot >= least_pivots_[first + j]) && failed.column < 0) failed = {first + j, pivot};
      reciprocals[j] = reciprocal_root(pivot);
#pragma unroll
      for (int i = j + 1; i < half_width; ++i) l[i][j] *= reciprocals[j];
#pragma unroll
      for (int i = j + 1; i < half_width; ++i) {
#pragma unroll
        for (int k = j + 1; k <= i; ++k) l[i][k] -= l[i][j] * l[k][j];
      }
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        x[r][j] *= reciprocals[j];
#pragma unroll
        for (int k = j + 1; k < half_width; ++k) x[r][k] -= x[r][j] * l[k][j];
      }
    }
#pragma unroll
    for (int c = 0; c < half_width; ++c) {
      if (lane_id() == c) reciprocals_[first + c] = reciprocals[c];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int row = first + lane_id() + r * warp_size;
        if (row < side) tile_(row, first + c) = x[r][c];
      }
    }
  }

  /// Subtracts the product of the first half of the panel from the second, in the rows below.
  __device__ void apply_first_half(int first) {
    const int middle = first + half_width;
    T x[2][half_width];
    T a[2][half_width];
    int rows[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      rows[r] = middle + lane_id() + r * warp_size;
#pragma unroll
      for (int c = 0; c < half_width; ++c) {
        x[r][c] = tile_(min(rows[r], side - 1), first + c);
        a[r][c] = tile_(min(rows[r], side - 1), middle + c);
      }
    }
#pragma unroll
    for (int k = 0; k < half_width; ++k) {
#pragma unroll
      for (int c = 0; c < half_width; ++c) {
        const T factor = tile_(middle + c, first + k);
#pragma unroll
        for (int r = 0; r < 2; ++r) a[r][c] -= x[r][k] * factor;
      }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
#pragma unroll
      for (int c = 0; c < half_width; ++c) {
        if (rows[r] < side) tile_(rows[r], middle + c) = a[r][c];
      }
    }
    __syncwarp();
  }

  /// Subtracts P P^T, P the panel below its diagonal block, from the rest of the lower triangle.
  __device__ void apply_panel(int first) {
    int piece = 0;
    for (int i = first + width; i < panels_ * width; i += width) {
      for (int j = first + width; j <= i; j += width) {
        if (piece++ % warps != warp_id()) continue;
        SmallProduct<T> C;
        C.load(tile_.at(i, j));
        C.add(T{-1}, tile_.at(i, first), tile_.at(j, first).transposed(), width);
        C.store(tile_.at(i, j));
      }
    }
  }

  /// Inverts a diagonal block by one warp; lane c computes column c.
  __device__ void invert_diagonal(int first) {
    const int column = lane_id() % width;
    T x[width];
#pragma unroll
    for (int i = 0; i < width; ++i) x[i] = i == column ? T{1} : T{0};
#pragma unroll
    for (int i = 0; i < width; ++i) {
      x[i] *= reciprocals_[first + i];
#pragma unroll
      for (int k = i + 1; k < width; ++k) x[k] -= tile_(first + k, first + i) * x[i];
    }
    if (lane_id() >= width) return;
#pragma unroll
    for (int i = 0; i < width; ++i) inverse_(first + i, first + column) = x[i];
  }

  /// Merges the inverses of neighbouring diagonal blocks of `size` rows. The product L21 X11 lies in the
  /// upper triangle of the tile in between.
  __device__ void merge(int size) {
    for_each_piece(size, [&](int first, int i, int j) {
      SmallProduct<T> M;
      M.clear();
      M.add(T{1}, tile_.at(first + size + i, first), inverse_.at(first, first + j), size);
      M.store(tile_.at(first + i, first + size + j));
    });
    __syncthreads();
    for_each_piece(size, [&](int first, int i, int j) {
      SmallProduct<T> M;
      M.clear();
      M.add(T{-1}, inverse_.at(first + size + i, first + size), tile_.at(first, first + size + j), size);
      M.store(inverse_.at(first + size + i, first + j));
    });
    __syncthreads();
  }

  /// Calls f(first, i, j) for the pieces (i, j) of the pairs of blocks that begin at `first`, each by one
  /// warp.
  template <class F>
  __device__ void for_each_piece(int size, F f) const {
    int piece = 0;
    for (int first = 0; first < side; first += 2 * size) {
      for (int i = 0; i < size; i += width) {
        for (int j = 0; j < size; j += width) {
          if (piece++ % warps == warp_id()) f(first, i, j);
        }
      }
    }
  }

  Block<T> tile_, inverse_;
  const T* least_pivots_;
  T* reciprocals_;
  int panels_;
};

/// Replaces the rows of this warp, a quarter of the tile B, by those of B L^-T. `diagonal`: L, with the
/// inverses of the diagonal blocks in their places. Both with leading dimension `padded`.
template <class T>
__device__ void solve_rows(T* b, T* diagonal) {
  const Block<T> B = Block<T>{b, 1, padded}.at(warp_id() * panel_width, 0);
  const Block<T> L{diagonal, 1, padded};
#pragma unroll 1
  for (int first = 0; first < side; first += panel_width) {
    SmallProduct<T> C;
    C.load(B.at(0, first));
    C.add(T{-1}, B, L.at(first, 0).transposed(), first);
    C.store(B.at(0, first));
    __syncwarp();
    C.clear();
    C.add(T{1}, B.at(0, first), L.at(first, first).transposed(), panel_width);
    __syncwarp();
    C.store(B.at(0, first));
    __syncwarp();
  }
}

}  // namespace echelon::tiles
