// SPDX-License-Identifier: BSD-3-Clause
/// Substitution with triangular matrices for one right-hand side in one kernel, tile by tile, with the
/// inverses of the diagonal tiles.
///
/// Each tile of x is a task, which subtracts the products with the earlier tiles of x as they appear and
/// multiplies by the inverse of the diagonal tile. The product with the preceding tile comes last, with a
/// matrix that contains the inverse already (the link), so that a task ends one short product after the
/// preceding one. Blocks draw the tasks in order, so that a task waits only for tasks that blocks are already
/// working on. Elements of x hold the NaN `not_ready` until they are computed.
#pragma once

#include "backend/cuda/warp.cuh"
#include "dense/tiles/product.cuh"

#include <cstdint>

namespace echelon::tiles {

/// One triangle T of a matrix, by tiles, and the right-hand side: x = op(T)^-1 b.
template <class T>
struct TiledTriangle {
  const T* a;  ///< column-major; the order is a multiple of `side`
  std::int64_t leading;
  const T* inverses;  ///< of the diagonal tiles of T, `side` by `side` each
  const T* links;     ///< op(T_tt)^-1 op(T)_ts for each tile t of x and the tile s just before
  const T* b;
  T* x;              ///< every element `not_ready` at the beginning; not b
  bool transposed;   ///< op(T) = T^T
  bool backward;     ///< op(T) is an upper triangle
  bool waits_for_b;  ///< b is x of the triangle before
};

/// Substitutions one after the other: the right-hand side of the second may be x of the first.
template <class T>
struct SubstitutionJob {
  TiledTriangle<T> triangles[2];
  int count;       ///< of triangles
  int tiles;       ///< of each
  int* next_task;  ///< zero at the beginning
  int* abandoned;  ///< set when a task waited longer than any can take
};

/// Byte that fills an element of x which is not computed yet, for memset.
inline constexpr int not_ready_byte = 0xff;

/// The bits of `not_ready`: a NaN that no operation returns.
template <class T>
struct ElementBits;
template <>
struct ElementBits<double> {
  using Type = unsigned long long;
  static __device__ Type of(double x) { return static_cast<Type>(__double_as_longlong(x)); }
  static __device__ double value(Type bits) { return __longlong_as_double(static_cast<long long>(bits)); }
  static constexpr Type not_ready = ~Type{0};
};
template <>
struct ElementBits<float> {
  using Type = unsigned;
  static __device__ Type of(float x) { return __float_as_uint(x); }
  static __device__ float value(Type bits) { return __uint_as_float(bits); }
  static constexpr Type not_ready = ~Type{0};
};

/// The part of a tile that a lane holds: two rows, and the columns of its warp.
template <class T>
class TileInRegisters {
 public:
  static constexpr int warps = 8;
  static constexpr int columns = side / warps;
  static constexpr int rows = 2;
  [[nodiscard]] static __device__ int row(int r) { return lane_id() + r * warp_size; }
  [[nodiscard]] static __device__ int first_column() {
    return static_cast<int>(threadIdx.x) / warp_size * columns;
  }

  __device__ void load(const T* tile, std::int64_t leading) {
#pragma unroll
    for (int c = 0; c < columns; ++c) {
#pragma unroll
      for (int r = 0; r < rows; ++r) a_[c][r] = tile[row(r) + (first_column() + c) * leading];
    }
  }
  /// Computes sums[r] += part of the row's product with x. Lane l has element first_column() + l % columns
  /// of x.
  __device__ void multiply(T x, T (&sums)[rows]) const {
#pragma unroll
    for (int c = 0; c < columns; ++c) {
      const T value = __shfl_sync(full_warp, x, c);
#pragma unroll
      for (int r = 0; r < rows; ++r) sums[r] += a_[c][r] * value;
    }
  }
  /// Computes sums[c] += part of the column's product with x, of which the lane has the elements of its rows.
  __device__ void multiply_transposed(const T (&x)[rows], T (&sums)[columns]) const {
#pragma unroll
    for (int c = 0; c < columns; ++c) {
#pragma unroll
      for (int r = 0; r < rows; ++r) sums[c] += a_[c][r] * x[r];
    }
  }

 private:
  T a_[columns][rows];
};

template <class T>
class TiledSubstitution {
  using Tile = TileInRegisters<T>;
  using Bits = ElementBits<T>;

 public:
  static constexpr int threads = Tile::warps * warp_size;
  struct Shared {
    T partial[2][Tile::warps][side];
    T rhs[side];
    int task;
  };

  __device__ TiledSubstitution(const SubstitutionJob<T>& job, Shared& shared) : job_(job), shared_(shared) {}

  __device__ void run() {
    for (;;) {
      __syncthreads();
      if (threadIdx.x == 0) shared_.task = atomicAdd(job_.next_task, 1);
      __syncthreads();
      const int task = shared_.task;
      if (task >= job_.count * job_.tiles) return;
      const TiledTriangle<T>& triangle = job_.triangles[task / job_.tiles];
      if (triangle.transposed) {
        solve_tile<true>(triangle, task % job_.tiles);
      } else {
        solve_tile<false>(triangle, task % job_.tiles);
      }
    }
  }

 private:
  /// Sums of a lane: of its rows, or of its warp's columns.
  template <bool transposed>
  using Sums = T[transposed ? Tile::columns : Tile::rows];

  /// The tile of x that is solved for at a step.
  [[nodiscard]] __device__ int tile_of_step(const TiledTriangle<T>& triangle, int step) const {
    return triangle.backward ? job_.tiles - 1 - step : step;
  }

  template <bool transposed>
  __device__ void solve_tile(const TiledTriangle<T>& triangle, int step) {
    const int target = tile_of_step(triangle, step);
    Sums<transposed> sums = {};
    Tile tile;
    for (int s = 0; s + 1 < step; ++s) {
      const int source = tile_of_step(triangle, s);
      const int i = transposed ? source : target;
      const int j = transposed ? target : source;
      tile.load(triangle.a + std::int64_t{i} * side + std::int64_t{j} * side * triangle.leading,
                triangle.leading);
      const T* const x = triangle.x + source * side;
      // Blocks whose task is not the next one poll less often, to leave the memory bandwidth to the next one.
      const bool is_next = s + 2 == step;
      multiply<transposed>(
          tile, [&](int k) { return wait(x + k, is_next ? 0 : 200); }, sums);
    }
    Tile link;
    tile.load(triangle.inverses + std::int64_t{target} * side * side, side);
    if (step > 0) link.load(triangle.links + std::int64_t{target} * side * side, side);
    T x = multiply_by_inverse<transposed>(tile, triangle, target, combine<transposed>(sums));
    if (step > 0) {
      const T* const before = triangle.x + tile_of_step(triangle, step - 1) * side;
      Sums<false> products = {};
      multiply<false>(
          link, [&](int k) { return wait(before + k); }, products);
      x -= combine<false>(products);
    }
    if (threadIdx.x < side) publish(x, triangle.x + target * side + threadIdx.x);
  }

  /// The inverse of the diagonal tile times b - product; valid in the first `side` threads.
  template <bool transposed>
  __device__ T multiply_by_inverse(const Tile& inverse, const TiledTriangle<T>& triangle, int target,
                                   T product) {
    if (threadIdx.x < side) {
      const T* const b = triangle.b + target * side + threadIdx.x;
      shared_.rhs[threadIdx.x] = (triangle.waits_for_b ? wait(b) : *b) - product;
    }
    __syncthreads();
    Sums<transposed> results = {};
    multiply<transposed>(
        inverse, [&](int k) { return shared_.rhs[k]; }, results);
    return combine<transposed>(results);
  }

  /// Adds the product of a tile and the vector whose element k is element(k).
  template <bool transposed, class Element>
  __device__ void multiply(const Tile& tile, Element element, Sums<transposed>& sums) {
    if constexpr (transposed) {
      T values[Tile::rows];
#pragma unroll
      for (int r = 0; r < Tile::rows; ++r) values[r] = element(Tile::row(r));
      tile.multiply_transposed(values, sums);
    } else {
      tile.multiply(element(Tile::first_column() + lane_id() % Tile::columns), sums);
    }
  }

  /// The sums of all lanes: in thread k < side that of row or column k.
  template <bool transposed>
  __device__ T combine(Sums<transposed>& sums) {
    const int warp = static_cast<int>(threadIdx.x) / warp_size;
    // Two buffers, so that the barrier of the next call separates these reads from the writes of the next but
    // one.
    buffer_ ^= 1;
    auto& partial = shared_.partial[buffer_];
    T sum = 0;
    if constexpr (transposed) {
#pragma unroll
      for (int c = 0; c < Tile::columns; ++c) {
#pragma unroll
        for (int delta = warp_size / 2; delta > 0; delta /= 2) {
          sums[c] += __shfl_xor_sync(full_warp, sums[c], delta);
        }
        if (lane_id() == c) partial[0][warp * Tile::columns + c] = sums[c];
      }
      __syncthreads();
      if (threadIdx.x < side) sum = partial[0][threadIdx.x];
    } else {
#pragma unroll
      for (int r = 0; r < Tile::rows; ++r) partial[warp][Tile::row(r)] = sums[r];
      __syncthreads();
      if (threadIdx.x < side) {
#pragma unroll
        for (int w = 0; w < Tile::warps; ++w) sum += partial[w][threadIdx.x];
      }
    }
    return sum;
  }

  /// Reads an element of x as soon as it is computed. `pause`: nanoseconds between two reads.
  __device__ T wait(const T* x, unsigned pause = 0) {
    const auto* bits = reinterpret_cast<const volatile typename Bits::Type*>(x);
    auto value = *bits;
    for (long spins = 0; value == Bits::not_ready; ++spins) {
      constexpr long limit = 10'000'000;
      if (spins >= limit) atomicExch(job_.abandoned, 1);
      if (spins % 1024 == 1023 && *static_cast<volatile int*>(job_.abandoned) != 0) break;
      if (pause > 0) __nanosleep(pause);
      value = *bits;
    }
    return Bits::value(value);
  }
  static __device__ void publish(T value, T* x) {
    auto bits = Bits::of(value);
    if (bits == Bits::not_ready) bits >>= 1U;  // another NaN
    *reinterpret_cast<volatile typename Bits::Type*>(x) = bits;
  }

  const SubstitutionJob<T>& job_;
  Shared& shared_;
  int buffer_ = 0;
};

template <class T>
__global__ void __launch_bounds__(TiledSubstitution<T>::threads)
    substitute_tiles(const SubstitutionJob<T> job) {
  __shared__ typename TiledSubstitution<T>::Shared shared;
  TiledSubstitution<T>(job, shared).run();
}

/// Forms the links of a lower triangle L by the inverses of its diagonal tiles: for substitution with L, the
/// products L_tt^-1 L_ts with s = t - 1, and for that with L^T, L_ss^-T L_ts^T. A block forms one of them:
/// blockIdx.x is s, blockIdx.y is 0 for L and 1 for L^T.
template <class T>
__global__ void __launch_bounds__(threads)
    form_links(const T* a, std::int64_t leading, const T* inverses, T* lower_links, T* upper_links) {
  extern __shared__ double2 link_shared[];
  T* const left = reinterpret_cast<T*>(link_shared);
  T* const right = left + side * padded;
  const bool upper = blockIdx.y == 1;
  const std::int64_t s = blockIdx.x;
  const std::int64_t target = upper ? s : s + 1;
  const T* const inverse = inverses + target * side * side;
  const T* const l = a + (s + 1) * side + s * side * leading;
#pragma unroll 8
  for (int e = static_cast<int>(threadIdx.x); e < side * side; e += threads) {
    const int i = e % side;
    const int j = e / side;
    left[upper ? i * padded + j : j * padded + i] = inverse[e];
    right[upper ? j * padded + i : i * padded + j] = l[i + j * leading];
  }
  __syncthreads();
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int row = warp % 2 * 32;
  const int column = warp / 2 * 32;
  WarpProduct<T> product;
  product.clear();
  product.add(left + row, right + column, side);
  T* const link = (upper ? upper_links : lower_links) + target * side * side + row + column * side;
  product.for_each([&](int r, int c, T value) { link[r + c * side] = value; });
}

}  // namespace echelon::tiles
