// SPDX-License-Identifier: BSD-3-Clause
/// Products of tiles in shared memory by the warps of a block: on the tensor cores in double.
///
/// Tiles are column-major with the leading dimension `padded`, which puts the simultaneous reads of a warp
/// into different banks.
#pragma once

#include "backend/cuda/mma.cuh"
#include "backend/cuda/warp.cuh"
#include "dense/tiles/asynchronous.cuh"
#include "support/kernel_arithmetic.cuh"

#include <complex>
#include <cstdint>
#include <type_traits>

namespace echelon::tiles {

inline constexpr int side = 64;  ///< rows and columns of a tile
inline constexpr int padded = side + 4;
inline constexpr int warps = 4;  ///< of a block, two by two on a tile
inline constexpr int threads = warps * warp_size;

/// The part of 32 by 32 that a warp has of C = A B^T, a tile, in registers.
template <class T>
class WarpProduct;

template <>
class WarpProduct<double> {
 public:
  __device__ void clear() {
#pragma unroll
    for (int m = 0; m < 2; ++m) {
#pragma unroll
      for (int n = 0; n < 4; ++n) c_[m][n] = {};
    }
  }

  /// Adds the product of `terms` columns, a multiple of 8, of A and B. a, b: first rows of this warp's part.
  __device__ void add(const double* a, const double* b, int terms) {
    const int g = lane_id() / 4;
    const int t = lane_id() % 4;
    a += t * padded + g;
    b += t * padded + g;
#pragma unroll 2
    for (int k = 0; k < terms; k += 8) {
      double fa[2][4];
      double fb[4][2];
#pragma unroll
      for (int m = 0; m < 2; ++m) {
#pragma unroll
        for (int e = 0; e < 4; ++e) fa[m][e] = a[(k + e / 2 * 4) * padded + 16 * m + e % 2 * 8];
      }
#pragma unroll
      for (int n = 0; n < 4; ++n) {
#pragma unroll
        for (int e = 0; e < 2; ++e) fb[n][e] = b[(k + e * 4) * padded + 8 * n];
      }
#pragma unroll
      for (int m = 0; m < 2; ++m) {
#pragma unroll
        for (int n = 0; n < 4; ++n) mma::multiply_add_16x8x8(c_[m][n], fa[m], fb[n]);
      }
    }
  }

  /// Calls f(row, column, value) for the elements of this lane.
  template <class F>
  __device__ void for_each(F f) {
    const int g = lane_id() / 4;
    const int t = lane_id() % 4;
#pragma unroll
    for (int m = 0; m < 2; ++m) {
#pragma unroll
      for (int n = 0; n < 4; ++n) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          double2& pair = c_[m][n].rows[e];
          f(16 * m + g + 8 * e, 8 * n + 2 * t, pair.x);
          f(16 * m + g + 8 * e, 8 * n + 2 * t + 1, pair.y);
        }
      }
    }
  }

 private:
  mma::Fragment16x8 c_[2][4];
};

// Four rows and eight columns for each lane.
template <>
class WarpProduct<float> {
 public:
  __device__ void clear() {
#pragma unroll
    for (int r = 0; r < 4; ++r) {
#pragma unroll
      for (int c = 0; c < 8; ++c) c_[r][c] = 0;
    }
  }

  __device__ void add(const float* a, const float* b, int terms) {
    a += lane_id() % 8 * 4;
    b += lane_id() / 8 * 8;
#pragma unroll 4
    for (int k = 0; k < terms; ++k) {
      const float4 rows = *reinterpret_cast<const float4*>(a + k * padded);
      const float4 left = *reinterpret_cast<const float4*>(b + k * padded);
      const float4 right = *reinterpret_cast<const float4*>(b + k * padded + 4);
      const float fa[4] = {rows.x, rows.y, rows.z, rows.w};
      const float fb[8] = {left.x, left.y, left.z, left.w, right.x, right.y, right.z, right.w};
#pragma unroll
      for (int r = 0; r < 4; ++r) {
#pragma unroll
        for (int c = 0; c < 8; ++c) c_[r][c] += fa[r] * fb[c];
      }
    }
  }

  template <class F>
  __device__ void for_each(F f) {
#pragma unroll
    for (int c = 0; c < 8; ++c) {
#pragma unroll
      for (int r = 0; r < 4; ++r) f(lane_id() % 8 * 4 + r, lane_id() / 8 * 8 + c, c_[r][c]);
    }
  }

 private:
  float c_[4][8];
};

// Four products of the real and imaginary parts.
template <>
class WarpProduct<std::complex<double>> {
 public:
  __device__ void clear() {
#pragma unroll
    for (int m = 0; m < 2; ++m) {
#pragma unroll
      for (int n = 0; n < 4; ++n) real_[m][n] = imaginary_[m][n] = {};
    }
  }

  __device__ void add(const std::complex<double>* a, const std::complex<double>* b, int terms) {
    const int g = lane_id() / 4;
    const int t = lane_id() % 4;
    a += t * padded + g;
    b += t * padded + g;
    for (int k = 0; k < terms; k += 8) {
      double left[2][2][4];  // real and imaginary parts
      double right[2][4][2];
#pragma unroll
      for (int m = 0; m < 2; ++m) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const std::complex<double> value = a[(k + e / 2 * 4) * padded + 16 * m + e % 2 * 8];
          left[0][m][e] = value.real();
          left[1][m][e] = value.imag();
        }
      }
#pragma unroll
      for (int n = 0; n < 4; ++n) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const std::complex<double> value = b[(k + e * 4) * padded + 8 * n];
          right[0][n][e] = value.real();
          right[1][n][e] = value.imag();
        }
      }
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        const double negative[4] = {-left[1][m][0], -left[1][m][1], -left[1][m][2], -left[1][m][3]};
#pragma unroll
        for (int n = 0; n < 4; ++n) {
          mma::multiply_add_16x8x8(real_[m][n], left[0][m], right[0][n]);
          mma::multiply_add_16x8x8(real_[m][n], negative, right[1][n]);
          mma::multiply_add_16x8x8(imaginary_[m][n], left[0][m], right[1][n]);
          mma::multiply_add_16x8x8(imaginary_[m][n], left[1][m], right[0][n]);
        }
      }
    }
  }

  /// Calls f(row, column, value) for the elements of this lane.
  template <class F>
  __device__ void for_each(F f) {
    const int g = lane_id() / 4;
    const int t = lane_id() % 4;
#pragma unroll
    for (int m = 0; m < 2; ++m) {
#pragma unroll
      for (int n = 0; n < 4; ++n) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const double2 real = real_[m][n].rows[e];
          const double2 imaginary = imaginary_[m][n].rows[e];
          f(16 * m + g + 8 * e, 8 * n + 2 * t, std::complex<double>{real.x, imaginary.x});
          f(16 * m + g + 8 * e, 8 * n + 2 * t + 1, std::complex<double>{real.y, imaginary.y});
        }
      }
    }
  }

 private:
  mma::Fragment16x8 real_[2][4];
  mma::Fragment16x8 imaginary_[2][4];
};

/// The first row and column of the part of a tile that a warp has in a product.
__device__ inline int warp_row() {
  return static_cast<int>(threadIdx.x) / warp_size % 2 * 32;
}
__device__ inline int warp_column() {
  return static_cast<int>(threadIdx.x) / warp_size / 2 * 32;
}

inline constexpr int chunk = 16;  ///< columns of a stage of the pipeline of `add_products`
inline constexpr int stages = 4;
inline constexpr int columns_of_stages = chunk * stages;
static_assert(columns_of_stages == side);

/// Adds products of `chunks` chunks of columns through a pipeline of copies: load(c, left, right) copies
/// chunk c asynchronously to two stages of the workspaces `left` and `right`, a tile each; add(left, right)
/// adds the product of two stages. A barrier is at the end.
template <class T, class Load, class Add>
__device__ void for_each_chunk(int chunks, T* left, T* right, Load load, Add add) {
  const auto load_stage = [&](int c) {
    const int offset = c % stages * (chunk * padded);
    if (c < chunks) load(c, left + offset, right + offset);
    commit_copies();
  };
  for (int c = 0; c < stages - 1; ++c) load_stage(c);
  for (int c = 0; c < chunks; ++c) {
    wait_for_copies<stages - 2>();
    __syncthreads();
    load_stage(c + stages - 1);
    const int offset = c % stages * (chunk * padded);
    add(left + offset, right + offset);
  }
  wait_for_copies<0>();
  __syncthreads();
}

/// Computes sum += A B^T, for the part of this warp; A and B have `terms` columns.
template <class T, class Product>
__device__ void add_product(Product& sum, const T* a, const T* b, int terms) {
  sum.add(a + warp_row(), b + warp_column(), terms);
}

/// Computes tile = A - sum for A in global memory; a barrier is at the end.
template <class T, class Product>
__device__ void store_difference(const T* a, std::int64_t leading, Product& sum, T* tile) {
  a += warp_row() + warp_column() * leading;
  T* const part = tile + warp_row() + warp_column() * padded;
  sum.for_each([&](int r, int c, T value) { part[r + c * padded] = a[r + c * leading] - value; });
  __syncthreads();
}

/// Element (i, j) of a matrix in shared memory is at data[i * row_step + j * column_step].
template <class T>
struct Block {
  T* data;
  int row_step, column_step;
  [[nodiscard]] __device__ T& operator()(int i, int j) const { return data[i * row_step + j * column_step]; }
  [[nodiscard]] __device__ Block at(int i, int j) const { return {&(*this)(i, j), row_step, column_step}; }
  [[nodiscard]] __device__ Block transposed() const { return {data, column_step, row_step}; }
};

/// A block of 16 by 16 in the registers of a warp, for the small products within a tile. Matrices are Blocks,
/// or functions of a row and a column.
template <class T>
class SmallProduct {
 public:
  static constexpr int size = 16;

  __device__ void clear() {
#pragma unroll
    for (int e = 0; e < 8; ++e) c_[e] = T{};
  }
  template <class Matrix>
  __device__ void load(const Matrix& C) {
#pragma unroll
    for (int e = 0; e < 8; ++e) c_[e] = C(row(e), column(e));
  }
  __device__ void store(Block<T> C) const {
#pragma unroll
    for (int e = 0; e < 8; ++e) C(row(e), column(e)) = c_[e];
  }
  /// Calls f(row, column, value) for the elements of this lane.
  template <class F>
  __device__ void for_each(F f) const {
#pragma unroll
    for (int e = 0; e < 8; ++e) f(row(e), column(e), c_[e]);
  }
  /// Adds factor A B for A of 16 by `terms`, a multiple of 8, and B of `terms` by 16.
  template <class Left, class Right>
  __device__ void add(T factor, const Left& A, const Right& B, int terms) {
#pragma unroll 2
    for (int k = 0; k < terms; k += 8) add_8(factor, A, B, k);
  }

 private:
  [[nodiscard]] static __device__ int row(int e) {
    return lane_id() / 4 + e / 2 % 2 * 8;
  }
  [[nodiscard]] static __device__ int column(int e) {
    return lane_id() % 4 * 2 + e % 2 + e / 4 * 8;
  }

  template <class Left, class Right>
  __device__ void add_8(T factor, const Left& A, const Right& B, int k) {
    if constexpr (std::is_same_v<T, double>) {
      const int g = lane_id() / 4;
      const int t = lane_id() % 4;
      const double a[4] = {factor * A(g, k + t), factor * A(g + 8, k + t), factor * A(g, k + t + 4),
                           factor * A(g + 8, k + t + 4)};
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const double b[2] = {B(k + t, g + 8 * half), B(k + t + 4, g + 8 * half)};
        double* const values = c_ + 4 * half;
        mma::Fragment16x8 c = {{{values[0], values[1]}, {values[2], values[3]}}};
        mma::multiply_add_16x8x8(c, a, b);
        values[0] = c.rows[0].x, values[1] = c.rows[0].y;
        values[2] = c.rows[1].x, values[3] = c.rows[1].y;
      }
    } else {
#pragma unroll
      for (int q = k; q < k + 8; ++q) {
#pragma unroll
        for (int e = 0; e < 8; ++e) multiply_add(c_[e], factor * A(row(e), q), B(q, column(e)));
      }
    }
  }

  T c_[8];
};

}  // namespace echelon::tiles
