// SPDX-License-Identifier: BSD-3-Clause
/// Partial factorisation P A P^T = L D L^T of symmetric indefinite fronts on a GPU, or = L D L^H of Hermitian
/// ones. A dense matrix is a front whose columns are all eliminated.
///
/// Pivots are chosen within diagonal blocks of `side` columns, by complete pivoting, and tested afterwards: a
/// column of L with an element above a bound among the rows that may become pivots is rejected, with all
/// following columns of its block. Such columns exchange places with spare ones, which the caller has
/// appended to the pivots: columns of the identity, which are not coupled to others. Rejected columns are
/// eliminated last. The positions of blocks therefore do not depend on values, and no step waits for a
/// transfer to the host.
/// J. Hogg, E. Ovtchinnikov, J. Scott, A sparse symmetric indefinite direct solver for GPU architectures, ACM
/// Trans. Math. Softw. 42 (2016); I. Duff, J. Hogg, F. Lopez, A new sparse LDL^T solver using a posteriori
/// threshold pivoting, SIAM J. Sci. Comput. 42 (2020).
///
/// A step is a sequence of kernels: factor_blocks, apply_blocks, accept_blocks, update_rests. blockIdx.y is
/// the front.
#pragma once

#include "backend/cuda/shared_memory.cuh"
#include "dense/tiles/indefinite_block.cuh"
#include "dense/tiles/indefinite_work.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>

namespace echelon::tiles {

static_assert(indefinite_width == side);

/// Facts about all fronts of a factorisation, gathered on the device.
struct IndefiniteFacts {
  static constexpr int none = std::numeric_limits<int>::max();
  int zero_column = none;  ///< the first column, by IndefiniteFront::first, of a last block without a pivot
  int crowded_column = none;        ///< the first for which no spare column was left
  int negative = 0;                 ///< pivots of order one, and eigenvalues of those of order two
  int pairs = 0;                    ///< pivots of order two
  int delayed = 0;                  ///< columns that were rejected, counted each time
  unsigned largest_multiplier = 0;  ///< of L: magnitude_bits of a float
  unsigned largest_pivot = 0;       ///< element of D, the same
};

/// State of a front's elimination between kernels.
template <class T>
struct IndefiniteState {
  BlockPivots<T> block;
  int next_spare;  ///< the first spare column that is a column of the identity
  int given_up;    ///< rejected columns of the last block
};

/// A front in global memory, column-major. Only lower triangles are used.
template <class T>
struct IndefiniteFront {
  T* panel;              ///< rows x pivots, replaced by L
  std::int64_t leading;  ///< of the panel
  T* rest;               ///< of order rows - pivots, replaced by the Schur complement
  int rows;
  int pivots;  ///< columns to be eliminated, spare ones included
  int spare;   ///< the first spare column, which equals `pivots` without any
  int first;   ///< number of the first column, for messages
  TriangleMirror mirror;
  T* diagonal;          ///< two for each pivot: of D, and below it
  std::int32_t* order;  ///< of each place among the pivots: the column that was eliminated there
  T* inverses;          ///< of the diagonal blocks of L, side x side each; may be nullptr
  T* work;              ///< indefinite_work_size(rows, pivots) elements
  IndefiniteState<T>* state;

  [[nodiscard]] __device__ int width(int p) const { return min(side, pivots - p); }
  [[nodiscard]] __device__ int stride() const { return min(side, pivots); }
  [[nodiscard]] __device__ T& at(int i, int j) const {
    if (j < pivots) return panel[i + j * leading];
    return rest[i - pivots + std::int64_t{j - pivots} * (rows - pivots)];
  }
  /// Working memory of a block: L in the given order of rows, and the rows of its inverse.
  [[nodiscard]] __device__ T* lower() const { return work; }
  [[nodiscard]] __device__ T* inverse() const { return work + stride() * stride(); }
  /// Rows below a block: L, and L D, from the block's last row + 1 on, with `rows` elements for each column.
  [[nodiscard]] __device__ T* below() const { return work + 2 * stride() * stride(); }
  [[nodiscard]] __device__ T* product() const { return below() + std::int64_t{rows} * stride(); }
};

/// Bound of the elements of L among the rows that may become pivots: 1 / 0.05. In random matrices, all
/// columns but a few in a thousand satisfy it, and elements grow less than with smaller thresholds.
inline constexpr float largest_multiplier_allowed = 20;

/// Bytes of dynamic shared memory for two tiles.
template <class T>
inline constexpr std::size_t two_tiles = std::size_t{2} * side* padded * sizeof(T);

/// Initialises the order to the identity, and the spare columns to columns of the identity, whose other
/// elements the caller has set to zero. blockIdx.x: columns.
template <class T, class Fronts>
__global__ void start_indefinite_fronts(Fronts fronts) {
  const IndefiniteFront<T> front = fronts(static_cast<int>(blockIdx.y));
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i == 0) {
    front.state->next_spare = front.spare;
    front.state->given_up = 0;
  }
  if (i < front.pivots) front.order[i] = i;
  if (i >= front.spare && i < front.pivots) front.at(i, i) = T{1};
}

/// Columns of narrow blocks, which have a kernel of their own.
inline constexpr int narrow = 32;

/// Eliminates the diagonal blocks at column p of the fronts: those that are narrow if `order` is `narrow`,
/// otherwise the others. IndefiniteBlock<T, order>::threads threads.
template <class T, int order, class Fronts>
__global__ void __launch_bounds__(IndefiniteBlock<T, order>::threads) factor_blocks(Fronts fronts, int p) {
  __shared__ SharedStorage<typename IndefiniteBlock<T, order>::Shared> shared;
  const IndefiniteFront<T> front = fronts(static_cast<int>(blockIdx.y));
  const int width = front.width(p);
  if (width <= 0 || (width <= narrow) != (order == narrow)) return;
  IndefiniteState<T>& state = *front.state;
  if (threadIdx.x == 0) {
    state.next_spare = max(state.next_spare + state.given_up, p + width);
    state.given_up = 0;
  }
  IndefiniteBlock<T, order>(front.mirror, shared.value)
      .factor(&front.at(p, p), front.leading, width, front.lower(), front.inverse(), state.block);
}

/// Coefficients of a column of L = W D^-1 : own * w + other * (the other column of a pivot of order two).
template <class T>
struct InverseBlockDiagonal {
  T own[side], other[side];
  int partner[side];

  /// Forms the coefficients; for the first `side` threads.
  __device__ void form(TriangleMirror mirror, const BlockPivots<T>& block, int width) {
    const int k = static_cast<int>(threadIdx.x);
    if (k >= side) return;
    own[k] = other[k] = T{};
    partner[k] = k;
    if (k >= width || k >= block.count) return;
    if (block.below[k] != T{}) {
      const PairInverse<T> inverse(mirror, block.diagonal[k], block.below[k], block.diagonal[k + 1]);
      own[k] = inverse.d11, other[k] = inverse.d21, partner[k] = k + 1;
    } else if (k > 0 && block.below[k - 1] != T{}) {
      const PairInverse<T> inverse(mirror, block.diagonal[k - 1], block.below[k - 1], block.diagonal[k]);
      own[k] = inverse.d22, other[k] = inverse.d12, partner[k] = k - 1;
    } else {
      own[k] = T{1} / block.diagonal[k];
    }
  }
};

/// Copies `count` columns of `rows` rows, or their conjugates, to a tile, and fills the rest of the `side`
/// rows and `columns` columns with zeros.
template <class T>
__device__ void load_tile(const T* from, std::int64_t leading, int rows, int count, int columns, T* tile,
                          TriangleMirror mirror = {}) {
  const int i = static_cast<int>(threadIdx.x) % side;
  for (int k = static_cast<int>(threadIdx.x) / side; k < columns; k += threads / side) {
    tile[i + k * padded] = i < rows && k < count ? mirror(from[i + k * leading]) : T{};
  }
}

/// Computes W = L D and L in the rows below the diagonal blocks, and the largest element of each column of L
/// among the rows that may become pivots. blockIdx.x: rows by `side`. tiles::threads threads, two tiles.
template <class T, class Fronts>
__global__ void __launch_bounds__(threads) apply_blocks(Fronts fronts, int p) {
  extern __shared__ double2 tile_storage[];
  __shared__ SharedStorage<InverseBlockDiagonal<T>> storage;
  InverseBlockDiagonal<T>& inverse_diagonal = storage.value;
  const IndefiniteFront<T> front = fronts(static_cast<int>(blockIdx.y));
  const int width = front.width(p);
  const int first = p + width + static_cast<int>(blockIdx.x) * side;
  if (width <= 0 || first >= front.rows) return;
  T* const left = reinterpret_cast<T*>(tile_storage);
  T* const right = left + side * padded;
  const int rows = min(side, front.rows - first);
  const int terms = (width + 7) / 8 * 8;
  load_tile(&front.at(first, p), front.leading, rows, width, terms, left);
  load_tile(front.inverse(), width, width, width, terms, right, front.mirror);
  inverse_diagonal.form(front.mirror, front.state->block, width);
  __syncthreads();
  WarpProduct<T> sum;
  sum.clear();
  add_product(sum, left, right, terms);
  __syncthreads();
  T* const part = left + warp_row() + warp_column() * padded;
  sum.for_each([&](int r, int c, T value) { part[r + c * padded] = value; });
  __syncthreads();
  const int offset = first - p - width;
  for (int k = static_cast<int>(threadIdx.x) / warp_size; k < width; k += warps) {
    const T own = inverse_diagonal.own[k];
    const T other = inverse_diagonal.other[k];
    const int partner = inverse_diagonal.partner[k];
    unsigned largest = 0;
    for (int r = lane_id(); r < rows; r += warp_size) {
      const T w = left[r + k * padded];
      const T l = own * w + other * left[r + partner * padded];
      front.below()[offset + r + std::int64_t{k} * front.rows] = l;
      front.product()[offset + r + std::int64_t{k} * front.rows] = w;
      if (first + r < front.pivots) largest = max(largest, magnitude_bits(l));
    }
    largest = __reduce_max_sync(full_warp, largest);
    if (lane_id() == 0 && largest > 0) atomicMax(&front.state->block.largest[k], largest);
  }
}

/// Decision about the pivots of a block, by all threads of a thread block alike.
struct AcceptedPivots {
  int accepted;  ///< number of leading pivots that are accepted
  int spare;     ///< the place of the next column, the others follow
};

/// Roles of the thread blocks of accept_blocks: rows below the block by `side`, then columns before the block
/// by `side`, then the block itself.
template <class T>
class BlockAcceptance {
 public:
  static constexpr int threads = 256;
  static constexpr int warps = threads / warp_size;

  struct Shared {
    T tile[side * side];
    int order[side];
    std::int32_t places[side];
    unsigned allowed[2], pairs[2];
  };

  __device__ BlockAcceptance(const IndefiniteFront<T>& front, int p, IndefiniteFacts* facts, Shared& shared)
      : front_(front),
        block_(front.state->block),
        p_(p),
        width_(front.width(p)),
        facts_(facts),
        shared_(shared) {}

  __device__ void run() {
    const int below = (front_.rows - p_ - width_ + side - 1) / side;
    const int before = (p_ + side - 1) / side;
    const int role = static_cast<int>(blockIdx.x);
    if (role > below + before) return;
    decide();
    if (role < below) {
      complete_rows(p_ + width_ + role * side);
    } else if (role < below + before) {
      exchange_rows((role - below) * side);
    } else {
      complete_block();
    }
  }

 private:
  [[nodiscard]] __device__ int failed() const { return width_ - accepted_; }
  /// The place to which the k-th column of the block moves.
  [[nodiscard]] __device__ int place(int k) const { return k < accepted_ ? p_ + k : spare_ + k - accepted_; }
  [[nodiscard]] __device__ T lower(int k, int column) const {
    return front_.lower()[shared_.order[k] + column * width_];
  }

  /// Counts the leading pivots whose columns of L are bounded. If too few spare columns are left, all pivots
  /// are accepted, and the front has failed.
  __device__ void decide() {
    const int thread = static_cast<int>(threadIdx.x);
    if (thread < side) {
      shared_.order[thread] = thread < width_ ? block_.order[thread] : 0;
      const bool exists = thread < block_.count;
      const bool allowed = exists && block_.largest[thread] <=
                                         magnitude_bits(static_cast<Real<T>>(largest_multiplier_allowed));
      const unsigned allowed_bits = __ballot_sync(full_warp, allowed);
      const unsigned pair_bits = __ballot_sync(full_warp, exists && block_.below[thread] != T{});
      if (lane_id() == 0) {
        shared_.allowed[thread / warp_size] = allowed_bits;
        shared_.pairs[thread / warp_size] = pair_bits;
      }
    }
    __syncthreads();
    const auto combined = [](const unsigned(&words)[2]) {
      return static_cast<unsigned long long>(words[1]) << warp_size | words[0];
    };
    const unsigned long long refused = ~combined(shared_.allowed);
    accepted_ = refused == 0 ? width_ : min(width_, __ffsll(static_cast<long long>(refused)) - 1);
    if (accepted_ > 0 && accepted_ < width_ && (combined(shared_.pairs) >> (accepted_ - 1) & 1U) != 0)
      --accepted_;
    spare_ = front_.state->next_spare;
    first_failed_ = accepted_;
    overflown_ = spare_ + failed() > front_.pivots;
    if (overflown_) accepted_ = width_;
  }

  /// Completes rows [first, first + side) below the block: copies L to the panel, and rejected columns to
  /// their new places.
  __device__ void complete_rows(int first) {
    const int thread = static_cast<int>(threadIdx.x);
    const int rows = min(side, front_.rows - first);
    if (failed() > 0) {
      for (int e = thread; e < failed() * side; e += threads) {
        if (e % side < rows)
          shared_.tile[e] = front_.at(first + e % side, p_ + shared_.order[accepted_ + e / side]);
      }
      __syncthreads();
    }
    const int offset = first - p_ - width_;
    Real<T> largest = 0;
    for (int e = thread; e < width_ * side; e += threads) {
      const int i = first + e % side;
      const int k = e / side;
      if (e % side >= rows) continue;
      const std::int64_t source = offset + e % side + std::int64_t{k} * front_.rows;
      T l = front_.below()[source];
      const int moved = i - spare_;
      if (moved >= 0 && moved < failed()) {
        l = k < accepted_ ? lower(accepted_ + moved, k) : T{};
        front_.below()[source] = l;
        front_.product()[source] = k < accepted_ ? product(accepted_ + moved, k) : T{};
      } else if (k >= accepted_) {
        l = front_.below()[source] = front_.product()[source] = T{};
      }
      front_.at(i, p_ + k) = l;
      largest = fmax(largest, cabs1(l));
    }
    record_largest(facts_->largest_multiplier, largest);
    for (int e = thread; e < failed() * side; e += threads) {
      const int i = first + e % side;
      const int spare = spare_ + e / side;
      if (e % side >= rows || (i >= spare_ && i < spare_ + failed())) continue;
      if (i >= spare) {
        front_.at(i, spare) = shared_.tile[e];
      } else {
        front_.at(spare, i) = front_.mirror(shared_.tile[e]);
      }
    }
  }

  /// Element of L D in a row of the block.
  [[nodiscard]] __device__ T product(int row, int k) const {
    T sum = lower(row, k) * block_.diagonal[k];
    if (block_.below[k] != T{}) sum += lower(row, k + 1) * block_.below[k];
    if (k > 0 && block_.below[k - 1] != T{}) sum += lower(row, k - 1) * front_.mirror(block_.below[k - 1]);
    return sum;
  }

  /// The block's rows of the columns [first, first + side) before it, a warp for each column.
  __device__ void exchange_rows(int first) {
    for (int j = first + static_cast<int>(threadIdx.x) / warp_size; j < min(first + side, p_); j += warps) {
      T* const column = &front_.at(0, j);
      T values[2];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int k = lane_id() + r * warp_size;
        values[r] = k < width_ ? column[p_ + shared_.order[k]] : T{};
      }
      __syncwarp();
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int k = lane_id() + r * warp_size;
        if (k >= width_) continue;
        column[place(k)] = values[r];
        if (k >= accepted_) column[p_ + k] = T{};
      }
    }
  }

  /// Completes the block itself: L, D, the order, and the coupling between rejected columns.
  __device__ void complete_block() {
    const int thread = static_cast<int>(threadIdx.x);
    const int failed_count = failed();
    for (int e = thread; e < failed_count * failed_count; e += threads) {
      const int i = shared_.order[accepted_ + e % failed_count];
      const int j = shared_.order[accepted_ + e / failed_count];
      shared_.tile[e] = i >= j ? front_.at(p_ + i, p_ + j) : front_.mirror(front_.at(p_ + j, p_ + i));
    }
    if (thread < width_) shared_.places[thread] = front_.order[p_ + shared_.order[thread]];
    __syncthreads();
    for (int e = thread; e < failed_count * failed_count; e += threads) {
      const int i = e % failed_count;
      const int j = e / failed_count;
      if (i >= j) front_.at(spare_ + i, spare_ + j) = shared_.tile[e];
    }
    for (int e = thread; e < width_ * width_; e += threads) {
      const int i = e % width_;
      const int k = e / width_;
      if (i < k) continue;
      front_.at(p_ + i, p_ + k) = i == k ? T{1} : i < accepted_ ? lower(i, k) : T{};
    }
    if (front_.inverses != nullptr) store_inverse();
    if (thread < width_) complete_pivot(thread);
    if (thread == 0) {
      front_.state->given_up = failed_count;
      if (failed_count > 0) atomicAdd(&facts_->delayed, failed_count);
      if (overflown_) {
        const bool is_last = p_ + width_ == front_.pivots && block_.count < width_;
        const int column = front_.first + shared_.places[first_failed_];
        atomicMin(is_last ? &facts_->zero_column : &facts_->crowded_column, column);
      }
    }
  }

  /// Place k of the block: a pivot, or a spare column.
  __device__ void complete_pivot(int k) {
    T* const d = front_.diagonal + 2 * (p_ + k);
    front_.order[place(k)] = shared_.places[k];
    if (k >= accepted_) {
      front_.order[p_ + k] = place(k);  // a spare column that was not moved yet
      d[0] = T{1};
      d[1] = T{};
      return;
    }
    const T a11 = block_.diagonal[k];
    const T a21 = block_.below[k];
    d[0] = a11;
    d[1] = a21;
    const bool is_spare = shared_.places[k] >= front_.spare;
    if (!is_spare) record_largest(facts_->largest_pivot, fmax(cabs1(a11), cabs1(a21)));
    if (k > 0 && block_.below[k - 1] != T{}) return;  // counted with the column before
    if (a21 == T{}) {
      if (real(a11) < 0) atomicAdd(&facts_->negative, 1);
      return;
    }
    // The determinant is negative: the pivot's element below the diagonal is larger than both on it.
    atomicAdd(&facts_->pairs, 1);
    atomicAdd(&facts_->negative, 1);
  }

  __device__ void store_inverse() {
    T* const inverse = front_.inverses + std::int64_t{p_ / side} * side * side;
    for (int e = static_cast<int>(threadIdx.x); e < side * side; e += threads) {
      const int k = e % side;
      const int j = e / side;
      const bool inside = k < accepted_ && j <= k;
      inverse[e] = k == j ? T{1} : inside ? front_.inverse()[k + shared_.order[j] * width_] : T{};
    }
  }

  /// Non-negative floats are ordered as their bits. A value above the range of float becomes infinite.
  static __device__ void record_largest(unsigned& largest, Real<T> value) {
    const unsigned bits = magnitude_bits(static_cast<float>(value));
    if (bits > *static_cast<volatile unsigned*>(&largest)) atomicMax(&largest, bits);
  }

  const IndefiniteFront<T>& front_;
  const BlockPivots<T>& block_;
  int p_, width_;
  IndefiniteFacts* facts_;
  Shared& shared_;
  int accepted_ = 0;  ///< the leading pivots that are kept
  int first_failed_ = 0;
  int spare_ = 0;  ///< the place to which the next column moves, the others follow
  bool overflown_ = false;
};

/// Accepts pivots at column p, and exchanges the other columns of the block with spare ones. blockIdx.x: at
/// least as many as acceptance_roles says. Dynamic shared memory for BlockAcceptance::Shared.
template <class T, class Fronts>
__global__ void __launch_bounds__(BlockAcceptance<T>::threads)
    accept_blocks(Fronts fronts, int p, IndefiniteFacts* facts) {
  extern __shared__ double2 tile_storage[];
  auto& shared = *reinterpret_cast<typename BlockAcceptance<T>::Shared*>(tile_storage);
  const IndefiniteFront<T> front = fronts(static_cast<int>(blockIdx.y));
  if (front.width(p) > 0) BlockAcceptance<T>(front, p, facts, shared).run();
}

/// Thread blocks of accept_blocks for a front with `rows_below` rows below its block at column p.
constexpr int acceptance_roles(int rows_below, int p) {
  return (rows_below + side - 1) / side + (p + side - 1) / side + 1;
}

/// Computes A = A - L W^T, or A - L W^H, in the lower triangle right of the blocks at column p. blockIdx.x:
/// tile. tiles::threads threads, two tiles.
template <class T, class Fronts>
__global__ void __launch_bounds__(threads) update_rests(Fronts fronts, int p) {
  extern __shared__ double2 tile_storage[];
  const IndefiniteFront<T> front = fronts(static_cast<int>(blockIdx.y));
  const int width = front.width(p);
  const int begin = p + width;
  const int tile = static_cast<int>(blockIdx.x);
  int row = static_cast<int>((sqrtf(8.0F * static_cast<float>(tile) + 1) - 1) / 2);
  while (row * (row + 1) / 2 > tile) --row;
  while ((row + 1) * (row + 2) / 2 <= tile) ++row;
  const int column = (tile - row * (row + 1) / 2) * side;
  row *= side;
  if (width <= 0 || begin + row >= front.rows) return;
  T* const left = reinterpret_cast<T*>(tile_storage);
  T* const right = left + side * padded;
  const int terms = (width + 7) / 8 * 8;
  const int rows = front.rows - begin;
  load_tile(front.below() + row, front.rows, rows - row, width, terms, left);
  load_tile(front.product() + column, front.rows, rows - column, width, terms, right, front.mirror);
  __syncthreads();
  WarpProduct<T> sum;
  sum.clear();
  add_product(sum, left, right, terms);
  sum.for_each([&](int r, int c, T value) {
    const int i = row + warp_row() + r;
    const int j = column + warp_column() + c;
    if (i < rows && j <= i) front.at(begin + i, begin + j) -= value;
  });
}

/// Tiles of update_rests for `rows` rows below the blocks.
constexpr int rest_tiles(int rows) {
  const int tiles = (rows + side - 1) / side;
  return tiles * (tiles + 1) / 2;
}

/// Solves x = D^-1 x for n pivots; blockIdx.y: right-hand side.
template <class T>
__global__ void solve_indefinite_diagonal(TriangleMirror mirror, std::int64_t n, const T* diagonal, T* x,
                                          std::int64_t leading) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  x += blockIdx.y * leading;
  if (diagonal[2 * i + 1] != T{}) {
    const PairInverse<T> inverse(mirror, diagonal[2 * i], diagonal[2 * i + 1], diagonal[2 * i + 2]);
    const T first = x[i];
    const T second = x[i + 1];
    x[i] = inverse.d11 * first + inverse.d12 * second;
    x[i + 1] = inverse.d21 * first + inverse.d22 * second;
  } else if (i == 0 || diagonal[2 * i - 1] == T{}) {
    x[i] /= diagonal[2 * i];
  }
}

}  // namespace echelon::tiles
