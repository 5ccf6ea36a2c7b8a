// SPDX-License-Identifier: BSD-3-Clause
/// Kernels for LU factors of batches of matrices that one block cannot hold, panel by panel, as LINPACK's
/// dgefa stores them: the exchanges of a panel are those of its rows and of the columns to its right, and
/// columns to its left are not exchanged. One block for each matrix, or for some columns of it.
#pragma once

#include "backend/cuda/warp.cuh"

#include <echelon/batched.hpp>

#include <climits>
#include <cmath>
#include <cstdint>

namespace echelon::batch_kernels {

/// Most columns of a panel.
inline constexpr int most_panel_columns = 128;
/// Rows of a block of find_norms.
inline constexpr int norm_threads = 512;
inline constexpr int apply_threads = 256;
/// Columns of a matrix for one block of apply_panels and solve_upper_panels.
inline constexpr int applied_columns = 32;
/// Order of the diagonal blocks of a panel that are inverted.
inline constexpr int inverted_order = 16;

/// Factors of a batch in panels.
template <class T>
struct PanelFactors {
  T* a;
  std::int64_t leading, stride;
  int n;
  std::int32_t* pivots;  ///< the row exchanged with row k, n for each matrix; null for Cholesky's method
  BatchOutcome* outcomes;

  [[nodiscard]] __device__ T* matrix(std::int64_t number) const { return a + number * stride; }
  [[nodiscard]] __device__ bool failed(std::int64_t number) const {
    return outcomes[number].status != Status::direct;
  }
};

/// Columns of each matrix of a batch: of the factors, or right-hand sides.
template <class T>
struct BatchColumns {
  T* first;
  std::int64_t leading, stride;
  int count;
};

/// Rows that the exchanges of a panel move, for each matrix: the row at place k of the panel comes from
/// `origin[k]`, and the row far_row[s] below the panel from far_origin[s].
struct PanelExchanges {
  std::int32_t origin[most_panel_columns];
  std::int32_t far_row[most_panel_columns];
  std::int32_t far_origin[most_panel_columns];
  std::int32_t far_count;
};

/// Takes the largest sum of magnitudes of a row into norms[matrix], zero before, and stores the outcome
/// `direct`. blockIdx.x: norm_threads rows; blockIdx.y: the matrix.
template <class T>
__global__ void find_norms(PanelFactors<T> factors, unsigned long long* norms) {
  const T* const a = factors.matrix(blockIdx.y);
  const int i = static_cast<int>(blockIdx.x * norm_threads + threadIdx.x);
  double sum = 0;
  for (int j = 0; j < factors.n && i < factors.n; ++j)
    sum += fabs(static_cast<double>(a[i + j * factors.leading]));
  const double norm = warp_reduce(sum == sum ? sum : 0, Maximum());
  // Numbers that are not negative have the order of their bits.
  if (lane_id() == 0)
    atomicMax(norms + blockIdx.y, static_cast<unsigned long long>(__double_as_longlong(norm)));
  if (i == 0) factors.outcomes[blockIdx.y] = {};
}

/// Composes the exchanges of columns [begin, begin + width); one warp for each matrix.
template <class T>
__global__ void find_panel_exchanges(PanelFactors<T> factors, int begin, int width,
                                     PanelExchanges* exchanges) {
  const std::int64_t matrix = blockIdx.x;
  if (factors.failed(matrix)) return;
  const std::int32_t* const pivots = factors.pivots + matrix * factors.n + begin;
  __shared__ PanelExchanges result;
  const int lane = lane_id();
  for (int k = lane; k < width; k += warp_size) result.origin[k] = begin + k;
  int far = 0;
  __syncwarp();
  for (int k = 0; k < width; ++k) {
    const int row = pivots[k];
    if (row < begin + width) {
      if (lane == 0) {
        const std::int32_t origin = result.origin[k];
        result.origin[k] = result.origin[row - begin];
        result.origin[row - begin] = origin;
      }
    } else {
      int place = INT_MAX;
      for (int s = lane; s < far; s += warp_size) {
        if (result.far_row[s] == row) place = s;
      }
      place = -warp_reduce(-place, Maximum());
      place = __shfl_sync(full_warp, place, 0);
      const bool is_new = place == INT_MAX;
      if (is_new) place = far;
      far += is_new ? 1 : 0;
      if (lane == 0) {
        const std::int32_t origin = is_new ? row : result.far_origin[place];
        result.far_row[place] = row;
        result.far_origin[place] = result.origin[k];
        result.origin[k] = origin;
      }
    }
    __syncwarp();
  }
  PanelExchanges& stored = exchanges[matrix];
  if (lane == 0) stored.far_count = far;
  for (int k = lane; k < width; k += warp_size) stored.origin[k] = result.origin[k];
  for (int s = lane; s < far; s += warp_size) {
    stored.far_row[s] = result.far_row[s];
    stored.far_origin[s] = result.far_origin[s];
  }
}

/// Inverts the diagonal blocks of order inverted_order of a panel's lower or upper triangle, the last one
/// bordered by the identity: element (i, k) of block d at [(d * inverted_order + k) * inverted_order + i] of
/// a matrix's most_panel_columns * inverted_order elements. One thread for each column.
template <bool upper, class T>
__global__ void __launch_bounds__(most_panel_columns)
    invert_diagonal_blocks(PanelFactors<T> factors, int begin, int width, T* inverses) {
  const std::int64_t matrix = blockIdx.x;
  if (factors.failed(matrix)) return;
  constexpr int order = inverted_order;
  const int column = static_cast<int>(threadIdx.x) % order;
  const int first = static_cast<int>(threadIdx.x) - column;
  if (first >= width) return;
  const T* const block = factors.matrix(matrix) + (begin + first) * (factors.leading + 1);
  const auto element = [&](int i, int k) {
    return first + max(i, k) < width ? block[i + k * factors.leading] : i == k ? T{1} : T{0};
  };
  const bool unit = !upper && factors.pivots != nullptr;
  T x[order];
#pragma unroll
  for (int step = 0; step < order; ++step) {
    const int i = upper ? order - 1 - step : step;
    T sum = i == column ? T{1} : T{0};
#pragma unroll
    for (int before = 0; before < step; ++before) {
      const int k = upper ? order - 1 - before : before;
      sum -= element(i, k) * x[k];
    }
    x[i] = unit ? sum : sum / element(i, i);
  }
  T* const to = inverses + (matrix * most_panel_columns + threadIdx.x) * order;
#pragma unroll
  for (int i = 0; i < order; ++i) to[i] = x[i];
}

/// Two consecutive elements that are loaded and stored at once.
template <class T>
struct alignas(2 * sizeof(T)) Pair {
  T at[2];
};

/// A tile of applied_columns columns in shared memory, and what solves with a triangle in it.
template <class T>
class PanelTile {
  static constexpr int order = inverted_order;
  /// Distance of the rows of X, which spreads a column over the banks.
  static constexpr int stride = applied_columns + 16 / sizeof(T);
  static constexpr int warps = apply_threads / warp_size;
  /// Rows of a column for each lane.
  static constexpr int share = most_panel_columns / warp_size;

 public:
  /// Elements of a tile for panels of this width.
  static constexpr __host__ __device__ int size(int width) {
    return padded(width) * (stride + order) + order * order;
  }
  __device__ PanelTile(T* storage, int width)
      : width_(width),
        rows_(padded(width)),
        X_(storage),
        slab_(X_ + rows_ * stride),
        inverse_(slab_ + rows_ * order) {}

  /// Loads f(k, c) for row k of column c; zero in rows past the width.
  template <class F>
  __device__ void load(F f) {
    constexpr int together = 2;
    for (int c = warp(); c < applied_columns; c += together * warps) {
      T values[together][share];
#pragma unroll
      for (int j = 0; j < together; ++j) {
#pragma unroll
        for (int q = 0; q < share; ++q) {
          const int k = lane_id() + q * warp_size;
          values[j][q] = k < width_ ? f(k, c + j * warps) : T{0};
        }
      }
#pragma unroll
      for (int j = 0; j < together; ++j) {
#pragma unroll
        for (int q = 0; q < share; ++q) {
          const int k = lane_id() + q * warp_size;
          if (k < rows_) X_[k * stride + c + j * warps] = values[j][q];
        }
      }
    }
  }
  /// Calls f(k, c, element) for each element.
  template <class F>
  __device__ void store(F f) const {
    for (int c = warp(); c < applied_columns; c += warps) {
#pragma unroll
      for (int q = 0; q < share; ++q) {
        const int k = lane_id() + q * warp_size;
        if (k < width_) f(k, c, X_[k * stride + c]);
      }
    }
  }

  /// X = M^-1 X for the lower or upper triangle M of a panel's diagonal block.
  template <bool upper>
  __device__ void solve(const T* block, std::int64_t leading, const T* inverses) {
    int first = upper ? rows_ - order : 0;
    Slab next(*this, block, leading, inverses, first);
    for (int step = 0; step < rows_; step += order) {
      next.put(*this);
      __syncthreads();
      const int own = first;
      first += upper ? -order : order;
      if (first >= 0 && first < rows_) next = Slab(*this, block, leading, inverses, first);
      multiply_by_inverse(X_ + own * stride);
      subtract_products(X_ + own * stride, upper ? 0 : own + order, upper ? own : rows_);
      __syncthreads();
    }
  }

 private:
  static constexpr __host__ __device__ int padded(int width) {
    return (width + order - 1) / order * order;
  }
  static __device__ int warp() {
    return static_cast<int>(threadIdx.x) / warp_size;
  }

  /// A thread's elements of `order` columns of the triangle, and of the inverse of a diagonal block.
  struct Slab {
    T values[order / warps][share];
    T inverse;
    __device__ Slab(const PanelTile& tile, const T* block, std::int64_t leading, const T* inverses,
                    int first) {
#pragma unroll
      for (int j = 0; j < order / warps; ++j) {
        const int k = first + warp() + j * warps;
#pragma unroll
        for (int q = 0; q < share; ++q) {
          const int i = lane_id() + q * warp_size;
          values[j][q] = i < tile.width_ && k < tile.width_ ? block[i + k * leading] : T{0};
        }
      }
      inverse = inverses[first * order + static_cast<int>(threadIdx.x)];
    }
    __device__ void put(PanelTile& tile) const {
#pragma unroll
      for (int j = 0; j < order / warps; ++j) {
#pragma unroll
        for (int q = 0; q < share; ++q) {
          const int i = lane_id() + q * warp_size;
          if (i < tile.rows_) tile.slab_[(warp() + j * warps) * tile.rows_ + i] = values[j][q];
        }
      }
      tile.inverse_[threadIdx.x] = inverse;
    }
  };
  static_assert(order * order == apply_threads);

  /// Multiplies `order` rows of the tile by the inverse: `together` rows of a column a thread.
  __device__ void multiply_by_inverse(T* B) {
    constexpr int together = order * applied_columns / apply_threads;
    static_assert(together % 2 == 0);
    const int c = static_cast<int>(threadIdx.x) % applied_columns;
    const int i = static_cast<int>(threadIdx.x) / applied_columns * together;
    T sums[together] = {};
#pragma unroll
    for (int k = 0; k < order; ++k) {
      const T x = B[k * stride + c];
#pragma unroll
      for (int r = 0; r < together; r += 2) {
        const Pair<T> element = pair(inverse_ + k * order + i + r);
        sums[r] += element.at[0] * x;
        sums[r + 1] += element.at[1] * x;
      }
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < together; ++r) B[(i + r) * stride + c] = sums[r];
    __syncthreads();
  }
  /// Subtracts the slab times `order` rows Y of the tile from rows [begin, end): four rows of two pairs of
  /// columns a thread. Sixteen threads read a row of half the columns without a conflict of banks.
  __device__ void subtract_products(const T* Y, int begin, int end) {
    constexpr int across = applied_columns / 4;
    constexpr int half = applied_columns / 2;
    const int c = static_cast<int>(threadIdx.x) % across * 2;
    constexpr int together = apply_threads / across * 4;
    for (int i = begin + static_cast<int>(threadIdx.x) / across * 4; i < end; i += together) {
      Pair<T> sums[4][2] = {};
#pragma unroll
      for (int k = 0; k < order; ++k) {
        const T* const l = slab_ + k * rows_ + i;
        const Pair<T> rows[2] = {pair(l), pair(l + 2)};
        const Pair<T> y[2] = {pair(Y + k * stride + c), pair(Y + k * stride + half + c)};
#pragma unroll
        for (int r = 0; r < 4; ++r) {
#pragma unroll
          for (int q = 0; q < 4; ++q) sums[r][q / 2].at[q % 2] += rows[r / 2].at[r % 2] * y[q / 2].at[q % 2];
        }
      }
#pragma unroll
      for (int r = 0; r < 4; ++r) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          T* const x = X_ + (i + r) * stride + h * half + c;
          const Pair<T> old = pair(x);
          *reinterpret_cast<Pair<T>*>(x) = {old.at[0] - sums[r][h].at[0], old.at[1] - sums[r][h].at[1]};
        }
      }
    }
  }
  static __device__ Pair<T> pair(const T* from) {
    return *reinterpret_cast<const Pair<T>*>(from);
  }

  int width_;
  int rows_;    // a multiple of inverted_order
  T* X_;        // element (k, c) at [k * stride + c]
  T* slab_;     // `order` columns of the triangle: element (i, k) at [k * rows + i]
  T* inverse_;  // of a diagonal block, in the same form
};

/// The columns of a matrix that a block takes: applied_columns of them, fewer in the last block.
template <class T>
struct BlockColumns {
  __device__ BlockColumns(const BatchColumns<T>& all, std::int64_t matrix)
      : first(static_cast<int>(blockIdx.x) * applied_columns),
        count(min(applied_columns, all.count - first)),
        leading(all.leading),
        elements(all.first + matrix * all.stride + first * leading) {}

  /// Loads rows row_of(k) into rows k of the tile, with zeros in columns past the last one.
  template <class RowOf>
  __device__ void load(PanelTile<T>& tile, RowOf row_of) const {
    tile.load([&](int k, int c) {
      const int row = row_of(k);
      return c < count ? elements[row + c * leading] : T{0};
    });
  }
  /// Stores the tile in rows begin, begin + 1, ...
  __device__ void store(const PanelTile<T>& tile, int begin) const {
    tile.store([&](int k, int c, T element) {
      if (c < count) elements[begin + k + c * leading] = element;
    });
  }

  int first;
  int count;
  std::int64_t leading;
  T* elements;
};

/// Solves with a triangle of the diagonal block of the panel at column `begin`, whose inverses are given for
/// all matrices.
template <bool upper, class T>
__device__ void solve_with_panel(PanelTile<T>& tile, const PanelFactors<T>& factors, std::int64_t matrix,
                                 int begin, const T* inverses) {
  tile.template solve<upper>(factors.matrix(matrix) + begin * (factors.leading + 1), factors.leading,
                             inverses + matrix * most_panel_columns * inverted_order);
}

/// Moves rows of a panel that are still in their places to rows below it, in `count` columns.
template <class T>
__device__ void move_far_rows(const PanelExchanges& exchanges, T* b, std::int64_t leading, int count) {
  constexpr int warps = apply_threads / warp_size;
  constexpr int share = most_panel_columns / warp_size;
  constexpr int together = 2;
  const int lane = lane_id();
  for (int c = static_cast<int>(threadIdx.x) / warp_size; c < count; c += together * warps) {
    T values[together][share];
#pragma unroll
    for (int j = 0; j < together; ++j) {
#pragma unroll
      for (int q = 0; q < share; ++q) {
        const int s = lane + q * warp_size;
        if (s < exchanges.far_count && c + j * warps < count)
          values[j][q] = b[exchanges.far_origin[s] + (c + j * warps) * leading];
      }
    }
#pragma unroll
    for (int j = 0; j < together; ++j) {
#pragma unroll
      for (int q = 0; q < share; ++q) {
        const int s = lane + q * warp_size;
        if (s < exchanges.far_count && c + j * warps < count)
          b[exchanges.far_row[s] + (c + j * warps) * leading] = values[j][q];
      }
    }
  }
}

/// Applies the exchanges of the panel at columns [begin, begin + width), unless there are none, and if there
/// are inverses of its diagonal blocks solves with the lower triangle, in columns of each matrix. blockIdx.x:
/// applied_columns of them; blockIdx.y: the matrix. Dynamic shared memory for PanelTile<T>::size(width).
template <class T>
__global__ void __launch_bounds__(apply_threads)
    apply_panels(PanelFactors<T> factors, int begin, int width, const PanelExchanges* all_exchanges,
                 BatchColumns<T> columns, const T* inverses) {
  extern __shared__ __align__(16) unsigned char storage[];
  const std::int64_t matrix = blockIdx.y;
  if (factors.failed(matrix)) return;
  PanelTile<T> tile(reinterpret_cast<T*>(storage), width);
  const BlockColumns<T> b(columns, matrix);
  const PanelExchanges* const exchanges = all_exchanges == nullptr ? nullptr : all_exchanges + matrix;
  b.load(tile, [&](int k) { return exchanges == nullptr ? begin + k : exchanges->origin[k]; });
  __syncthreads();
  if (exchanges != nullptr) move_far_rows(*exchanges, b.elements, b.leading, b.count);
  __syncthreads();
  if (inverses != nullptr) solve_with_panel<false>(tile, factors, matrix, begin, inverses);
  b.store(tile, begin);
}

/// Solves with the upper triangle of a panel's diagonal block, in columns of each matrix, in the same form.
template <class T>
__global__ void __launch_bounds__(apply_threads)
    solve_upper_panels(PanelFactors<T> factors, int begin, int width, BatchColumns<T> columns,
                       const T* inverses) {
  extern __shared__ __align__(16) unsigned char storage[];
  const std::int64_t matrix = blockIdx.y;
  if (factors.failed(matrix)) return;
  PanelTile<T> tile(reinterpret_cast<T*>(storage), width);
  const BlockColumns<T> b(columns, matrix);
  b.load(tile, [&](int k) { return begin + k; });
  __syncthreads();
  solve_with_panel<true>(tile, factors, matrix, begin, inverses);
  b.store(tile, begin);
}

}  // namespace echelon::batch_kernels
