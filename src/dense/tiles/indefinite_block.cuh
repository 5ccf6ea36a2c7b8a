// SPDX-License-Identifier: BSD-3-Clause
/// L D L^T or L D L^H factorisation of a small indefinite block with complete pivoting, by one thread block.
#pragma once

#include "backend/cuda/warp.cuh"
#include "dense/tiles/product.cuh"
#include "support/kernel_arithmetic.cuh"
#include "support/scalar.hpp"
#include "support/triangle_mirror.hpp"

#include <complex>
#include <cstdint>

namespace echelon::tiles {

/// Bits of a magnitude that order like the magnitude; 0 only for zero and subnormal numbers.
__device__ inline unsigned magnitude_bits(double x) {
  return static_cast<unsigned>(__double2hiint(x)) & 0x7fffffffU;
}
__device__ inline unsigned magnitude_bits(float x) {
  return __float_as_uint(x) & 0x7fffffffU;
}
__device__ inline unsigned magnitude_bits(const std::complex<double>& x) {
  return magnitude_bits(cabs1(x));
}
/// A number with such bits, to 20 leading bits in double.
template <class R>
__device__ R magnitude_of(unsigned bits) {
  if constexpr (sizeof(R) == 8) {
    return __hiloint2double(static_cast<int>(bits), 0);
  } else {
    return __uint_as_float(bits);
  }
}

/// Result of the elimination of a block, in global memory. Indices are those of the block before it.
template <class T>
struct BlockPivots {
  int count;               ///< of pivots; the columns that are left have only zeros
  int order[side];         ///< the columns in the order of elimination, then those that are left
  T diagonal[side];        ///< of D
  T below[side];           ///< of D, below its diagonal: not zero in the first column of a 2-by-2 pivot
  unsigned largest[side];  ///< magnitude_bits of the largest element of each column of L below the block
};

/// Inverse of a pivot of order two, computed without overflow.
template <class T>
struct PairInverse {
  T d11, d12, d21, d22;
  __device__ PairInverse(TriangleMirror mirror, T a11, T a21, T a22) {
    const Real<T> scale = 1 / fmax(fmax(cabs1(a11), cabs1(a22)), cabs1(a21));
    const T determinant = mirror.on_diagonal(a11 * scale * a22 - a21 * scale * mirror(a21));
    d11 = a22 * scale / determinant;
    d12 = -(mirror(a21) * scale) / determinant;
    d21 = -(a21 * scale) / determinant;
    d22 = a11 * scale / determinant;
  }
};

/// Elimination with complete pivoting: the largest diagonal element becomes a pivot of order one, unless it
/// is smaller than 0.64 of the largest element off the diagonal, which then gives a pivot of order two.
/// Elements of L stay below 2.8. Nothing is exchanged; the rows of the inverse of L are formed with it.
/// J. R. Bunch, B. N. Parlett, Direct methods for solving symmetric indefinite systems of linear equations,
/// SIAM J. Numer. Anal. 8 (1971).
///
/// Capacity: at most `order` columns; a block of few columns takes fewer threads. Thread t has row t % order,
/// and of its columns every groups-th.
template <class T, int order = side>
class IndefiniteBlock {
 public:
  static constexpr int groups = 8;
  static constexpr int threads = order * groups;
  static constexpr int per_thread = order / groups;

  struct Shared {
    T columns[2][order];       ///< of the pivot
    T inverse_rows[2][order];  ///< of the pivot's rows
    unsigned bits[2][threads / warp_size];
    unsigned places[2][threads / warp_size];
    int step_of[order];
  };

  __device__ IndefiniteBlock(TriangleMirror mirror, Shared& shared)
      : mirror_(mirror),
        shared_(shared),
        row_(static_cast<int>(threadIdx.x) % order),
        group_(static_cast<int>(threadIdx.x) / order) {}

  /// `a` is the lower triangle of the block's `width` rows. L goes to lower[i + k * width], with the rows in
  /// the given order and the columns in that of elimination, without ones; the rows of the inverse of L to
  /// inverse[k + j * width], with the columns in the given order. All threads call it.
  __device__ void factor(const T* a, std::int64_t leading, int width, T* lower, T* inverse,
                         BlockPivots<T>& pivots) {
    load(a, leading, width);
    int k = 0;
    while (remaining_ != 0) {
      const Candidates best = find_candidates();
      if ((best.diagonal | best.off_diagonal) == 0) break;
      if (best.prefer_single()) {
        eliminate_single(best.single, k, width, lower, pivots);
        k += 1;
      } else {
        eliminate_pair(best.first, best.second, k, width, lower, pivots);
        k += 2;
      }
    }
    store_inverse(k, width, inverse, pivots);
  }

 private:
  struct Candidates {
    unsigned diagonal, off_diagonal;  ///< bits of the largest magnitudes
    int single, first, second;        ///< their places; first < second
    /// True if the pivot is of order one. Never selects a place without an element, even if there is a NaN.
    [[nodiscard]] __device__ bool prefer_single() const {
      constexpr Real<T> least_ratio = static_cast<Real<T>>(0.6403882032022076);  // (1 + sqrt(17)) / 8
      if (off_diagonal == 0) return true;
      return diagonal != 0 &&
             !(least_ratio * magnitude_of<Real<T>>(off_diagonal) > magnitude_of<Real<T>>(diagonal));
    }
  };

  [[nodiscard]] __device__ int column(int q) const { return group_ + q * groups; }
  [[nodiscard]] __device__ bool remains(int i) const { return (remaining_ >> i & 1U) != 0; }

  __device__ void load(const T* a, std::int64_t leading, int width) {
    remaining_ = width == 64 ? ~0ULL : (1ULL << width) - 1;
#pragma unroll
    for (int q = 0; q < per_thread; ++q) {
      const int j = column(q);
      a_[q] = row_ < width && j <= row_ ? a[row_ + j * leading] : T{};
      m_[q] = row_ == j ? T{1} : T{};
    }
  }

  /// The largest remaining elements on and off the diagonal, for all threads. A barrier is in between.
  __device__ Candidates find_candidates() {
    unsigned bits[2] = {0, 0};
    unsigned places[2] = {0, 0};
    if (remains(row_)) {
#pragma unroll
      for (int q = 0; q < per_thread; ++q) {
        const int j = column(q);
        if (j > row_ || !remains(j)) continue;
        const unsigned magnitude = magnitude_bits(a_[q]);
        const int kind = j == row_ ? 0 : 1;
        if (kind == 0) {
          bits[0] = magnitude;
          places[0] = static_cast<unsigned>(row_ * order + j);
        } else if (magnitude > bits[1]) {
          bits[1] = magnitude;
          places[1] = static_cast<unsigned>(row_ * order + j);
        }
      }
    }
    const int warp = static_cast<int>(threadIdx.x) / warp_size;
#pragma unroll
    for (int kind = 0; kind < 2; ++kind) {
      reduce_warp(bits[kind], places[kind]);
      if (lane_id() == 0) {
        shared_.bits[kind][warp] = bits[kind];
        shared_.places[kind][warp] = places[kind];
      }
    }
    __syncthreads();
    constexpr int warps_of_block = threads / warp_size;
#pragma unroll
    for (int kind = 0; kind < 2; ++kind) {
      bits[kind] = lane_id() < warps_of_block ? shared_.bits[kind][lane_id()] : 0;
      places[kind] = lane_id() < warps_of_block ? shared_.places[kind][lane_id()] : 0;
      reduce_warp(bits[kind], places[kind]);
    }
    return {bits[0], bits[1], static_cast<int>(places[0]) / order, static_cast<int>(places[1]) % order,
            static_cast<int>(places[1]) / order};
  }
  /// The largest bits of the warp, and of equal ones the last place.
  static __device__ void reduce_warp(unsigned& bits, unsigned& place) {
    const unsigned largest = __reduce_max_sync(full_warp, bits);
    place = __reduce_max_sync(full_warp, bits == largest ? place : 0U);
    bits = largest;
  }

  /// Column r of the block, and row r of the inverse, to shared memory.
  __device__ void publish(int r, int buffer) {
#pragma unroll
    for (int q = 0; q < per_thread; ++q) {
      const int j = column(q);
      if (j == r && row_ >= r) shared_.columns[buffer][row_] = a_[q];
      if (row_ == r && j < r) shared_.columns[buffer][j] = mirror_(a_[q]);
      if (row_ == r) shared_.inverse_rows[buffer][j] = m_[q];
    }
  }

  __device__ void eliminate_single(int r, int k, int width, T* lower, BlockPivots<T>& pivots) {
    publish(r, 0);
    __syncthreads();
    remaining_ &= ~(1ULL << r);
    const T pivot = mirror_.on_diagonal(shared_.columns[0][r]);
    const T l = remains(row_) ? shared_.columns[0][row_] / pivot : T{};
#pragma unroll
    for (int q = 0; q < per_thread; ++q) {
      a_[q] -= l * mirror_(shared_.columns[0][column(q)]);
      m_[q] -= l * shared_.inverse_rows[0][column(q)];
    }
    if (group_ == 0 && row_ < width) lower[row_ + k * width] = l;
    if (threadIdx.x == 0) record(r, k, pivot, T{}, pivots);
  }

  __device__ void eliminate_pair(int r, int s, int k, int width, T* lower, BlockPivots<T>& pivots) {
    publish(r, 0);
    publish(s, 1);
    __syncthreads();
    remaining_ &= ~(1ULL << r | 1ULL << s);
    const T a11 = mirror_.on_diagonal(shared_.columns[0][r]);
    const T a21 = shared_.columns[0][s];
    const T a22 = mirror_.on_diagonal(shared_.columns[1][s]);
    const PairInverse<T> inverse(mirror_, a11, a21, a22);
    T l1{};
    T l2{};
    if (remains(row_)) {
      const T x = shared_.columns[0][row_];
      const T y = shared_.columns[1][row_];
      l1 = x * inverse.d11 + y * inverse.d21;
      l2 = x * inverse.d12 + y * inverse.d22;
    }
#pragma unroll
    for (int q = 0; q < per_thread; ++q) {
      const int j = column(q);
      a_[q] -= l1 * mirror_(shared_.columns[0][j]) + l2 * mirror_(shared_.columns[1][j]);
      m_[q] -= l1 * shared_.inverse_rows[0][j] + l2 * shared_.inverse_rows[1][j];
    }
    if (group_ == 0 && row_ < width) {
      lower[row_ + k * width] = l1;
      lower[row_ + (k + 1) * width] = l2;
    }
    if (threadIdx.x == 0) {
      record(r, k, a11, a21, pivots);
      record(s, k + 1, a22, T{}, pivots);
    }
  }

  __device__ void record(int r, int k, T diagonal, T below, BlockPivots<T>& pivots) {
    pivots.order[k] = r;
    pivots.diagonal[k] = diagonal;
    pivots.below[k] = below;
    shared_.step_of[r] = k;
  }

  /// Rows of the inverse; those of columns without a pivot are zero.
  __device__ void store_inverse(int count, int width, T* inverse, BlockPivots<T>& pivots) {
    if (threadIdx.x == 0) {
      pivots.count = count;
      int k = count;
      for (int r = 0; r < width; ++r) {
        if (!remains(r)) continue;
        pivots.order[k] = r;
        pivots.diagonal[k] = pivots.below[k] = T{};
        shared_.step_of[r] = k++;
      }
    }
    if (threadIdx.x < order) pivots.largest[threadIdx.x] = 0;
    __syncthreads();
    if (row_ >= width) return;
    const int k = shared_.step_of[row_];
#pragma unroll
    for (int q = 0; q < per_thread; ++q) {
      const int j = column(q);
      if (j < width) inverse[k + j * width] = k < count ? m_[q] : T{};
    }
  }

  TriangleMirror mirror_;
  Shared& shared_;
  int row_, group_;
  unsigned long long remaining_ = 0;  ///< bit i: row i has not been eliminated
  T a_[per_thread];                   ///< of the lower triangle
  T m_[per_thread];                   ///< of the inverse of L
};

}  // namespace echelon::tiles
