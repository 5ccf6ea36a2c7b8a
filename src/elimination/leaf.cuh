// SPDX-License-Identifier: BSD-3-Clause
/// A panel of Gauss-Jordan elimination in the registers of one cluster of thread blocks.
///
/// A panel is small (4096 by 64 doubles are 2 MB), and each of its columns has to wait for the one before it:
/// what counts is how fast a pivot is agreed upon and its row made known. So the panel is read once, stays in
/// the registers of up to 16 multiprocessors that see each other's shared memory, and is written once.
///
///   a thread holds      `down` rows of every `lanes`-th column, `across` of them;
///   `lanes` threads     hold these rows, lanes * across columns wide;
///   a warp              32 / lanes * down rows.
///
/// A column costs one barrier of the cluster. Before it, each warp tells all blocks its largest element, and
/// keeps the row where it found it in shared memory. After it, every warp finds the largest of all, by the
/// same comparisons, and its block fetches that row. The search in the next column follows the update at
/// once.
///
/// Rows do not move: each knows where it belongs by now, and goes there when the panel is written. The
/// columns move: when all `lanes` columns of one register are done, the registers rotate, so that the current
/// column is always in the first, and the indices are constants.
#pragma once

#include "backend/cuda/cluster.cuh"
#include "elimination/gauss_jordan_cuda.cuh"
#include "elimination/panel_key.hpp"

namespace echelon::leaf_kernels {

inline constexpr unsigned full_warp = 0xffffffffU;
inline constexpr int warp_size = 32;
inline constexpr int across = 16;  ///< elements of a row that a thread holds

/// Of all lanes.
template <class V, class Choose>
__device__ V choose_of_warp(V value, const Choose& choose) {
  for (int delta = warp_size / 2; delta > 0; delta /= 2) {
    value = choose(value, __shfl_xor_sync(full_warp, value, delta));
  }
  return value;
}
__device__ inline unsigned largest_of_warp(unsigned value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  return choose_of_warp(value, [](unsigned a, unsigned b) { return a > b ? a : b; });
#else
  return __reduce_max_sync(full_warp, value);
#endif
}
__device__ inline int smallest_of_warp(int value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  return choose_of_warp(value, [](int a, int b) { return a < b ? a : b; });
#else
  return __reduce_min_sync(full_warp, value);
#endif
}

template <class T>
__device__ PivotKey best_of_warp(const PivotKey& key) {
  const unsigned upper = upper_half(key.magnitude);
  const unsigned best_upper = largest_of_warp(upper);
  unsigned best_lower = 0;
  if constexpr (sizeof(T) == 8) {
    best_lower = largest_of_warp(upper == best_upper ? lower_half(key.magnitude) : 0U);
  }
  const bool equal = upper == best_upper && lower_half(key.magnitude) == best_lower;
  PivotKey best;
  best.magnitude = std::uint64_t{best_upper} << 32U | best_lower;
  best.row = smallest_of_warp(equal ? key.row : PivotKey::nowhere);
  best.above = largest_of_warp(key.above);
  return best;
}

/// At most `most_blocks` blocks of `most_threads` threads; a single one needs no cluster.
template <class T, int lanes, int down, int most_threads, int most_blocks>
class Leaf {
  static constexpr int width = lanes * across;
  static constexpr int most_warps = most_threads / warp_size;

 public:
  static constexpr int columns = width;
  static constexpr int rows_of_warp = warp_size / lanes * down;

  struct Shared {
    PivotKey keys[2][most_blocks * most_warps];  // of all blocks' warps; one set is read as the other is made
    T candidates[2][most_warps][width];
    T pivot_row[width];
    EliminationState state;  // the leader's
  };

  __device__ Leaf(const LeafJob<T>& job, Shared& shared)
      : job_(job),
        shared_(shared),
        block_(alone ? 0 : static_cast<int>(cluster::rank())),
        blocks_(alone ? 1 : static_cast<int>(cluster::size())),
        warp_(static_cast<int>(threadIdx.x) / warp_size),
        warps_(static_cast<int>(blockDim.x) / warp_size),
        lane_(static_cast<int>(threadIdx.x) % warp_size),
        own_(lane_ % lanes),
        leader_(block_ == 0 && threadIdx.x == 0) {}

  [[nodiscard]] __device__ bool is_leader() const { return leader_; }
  /// The first column without a pivot, or -1.
  [[nodiscard]] __device__ int column_without_pivot() const { return without_pivot_; }

  __device__ void load() {
#pragma unroll
    for (int r = 0; r < down; ++r) row_[r] = first_row() + r < job_.rows ? first_row() + r : outside;
#pragma unroll
    for (int c = 0; c < across; ++c) {
      const int column = c * lanes + own_;
#pragma unroll
      for (int r = 0; r < down; ++r) {
        a_[r][c] = row_[r] != outside && column < job_.width ? job_.a[column * job_.leading + row_[r]] : T{0};
      }
    }
  }

  /// f(row, column, element) for those of this thread, where they belong now.
  template <class F>
  __device__ void visit(int rotations, const F& f) const {
#pragma unroll
    for (int c = 0; c < across; ++c) {
      const int column = (c + rotations) % across * lanes + own_;
#pragma unroll
      for (int r = 0; r < down; ++r) {
        if (row_[r] != outside && column < job_.width) f(row_[r], column, a_[r][c]);
      }
    }
  }

  __device__ void store(int rotations) const {
    visit(rotations,
          [this](int row, int column, T element) { job_.a[column * job_.leading + row] = element; });
  }

  /// Eliminates all columns, starting from a state that is the same in all blocks. Returns how many times the
  /// registers have rotated. No block reads from another one any more then.
  __device__ int eliminate_all(const EliminationState& state, double tolerance) {
    tolerance_ = tolerance;
    rank_ = static_cast<int>(state.rank);
    const int columns_left = state.overflow_column < 0 ? job_.width : 0;
    if (leader_) shared_.state = state;
    sync();  // from now on the blocks may write to each other
    int j = 0;
    for (; j < columns_left && rank_ < job_.rows; ++j) {
      publish(j);
      sync();
      if (!eliminate(j)) break;
      if (j % lanes == lanes - 1) rotate();
    }
    if (leader_) shared_.state.rank = rank_;
    sync();
    return j / lanes;
  }

 private:
  static constexpr bool alone = most_blocks == 1;
  static constexpr int outside = -1;

  [[nodiscard]] __device__ int first_row() const {
    return (block_ * warps_ + warp_) * rows_of_warp + lane_ / lanes * down;
  }
  static __device__ void sync() {
    if constexpr (alone) {
      __syncthreads();
    } else {
      cluster::sync();
    }
  }
  /// What `shared` is in another block.
  template <class V>
  static __device__ V* in_block(V* shared, int block) {
    if constexpr (alone) {
      return shared;
    } else {
      return cluster::in_block(shared, static_cast<unsigned>(block));
    }
  }

  /// Tells all blocks this warp's largest element of column j, and keeps its row.
  __device__ void publish(int j) {
    PivotKey key;
    int best_r = 0;
    if (own_ == j % lanes) {
#pragma unroll
      for (int r = 0; r < down; ++r) {
        const int before = key.row;
        if (row_[r] != outside) include(a_[r][0], row_[r], rank_, key);
        if (key.row != before) best_r = r;
      }
    }
    const PivotKey best = best_of_warp<T>(key);
    if (lane_ < blocks_) {
      in_block(&shared_.keys[j % 2][0], lane_)[block_ * warps_ + warp_] = best;
    }
    const unsigned holder = __ballot_sync(full_warp, best.row != PivotKey::nowhere && key.row == best.row);
    if (holder == 0) return;
    const int from = __ffs(static_cast<int>(holder)) - 1;
    best_r = __shfl_sync(full_warp, best_r, from);
    if (lane_ / lanes != from / lanes) return;
    T* candidate = shared_.candidates[j % 2][warp_];
#pragma unroll
    for (int r = 0; r < down; ++r) {
      if (r != best_r) continue;
#pragma unroll
      for (int c = 0; c < across; ++c) candidate[c * lanes + own_] = a_[r][c];
    }
  }

  /// Finds the pivot of column j and eliminates with it. False when it is not finite.
  __device__ bool eliminate(int j) {
    PivotKey key;
    int entry = 0;
    for (int e = lane_; e < blocks_ * warps_; e += warp_size) {
      const PivotKey other = shared_.keys[j % 2][e];
      if (other.above > key.above) key.above = other.above;
      if (!other.beats(key)) continue;
      key.magnitude = other.magnitude;
      key.row = other.row;
      entry = e;
    }
    const PivotKey best = best_of_warp<T>(key);
    const unsigned holder = __ballot_sync(full_warp, key.row == best.row);
    entry = __shfl_sync(full_warp, entry, __ffs(static_cast<int>(holder)) - 1);
    const T magnitude = magnitude_from<T>(best.magnitude);
    const auto above = static_cast<double>(magnitude_from<T>(std::uint64_t{best.above} << 32U));
    const PivotJudgement judgement = judge_pivot(static_cast<double>(magnitude), above, tolerance_);
    if (leader_) record(judgement, job_.begin + j, shared_.state);
    switch (judgement.verdict) {
      case PivotVerdict::accepted:
        update(j, best.row, magnitude, entry);
        return true;
      case PivotVerdict::rejected:
        reject(j);
        return true;
      default:
        return false;
    }
  }

  __device__ void reject(int j) {
    if (without_pivot_ < 0) without_pivot_ = j;
#pragma unroll
    for (int r = 0; r < down; ++r) {
      if (own_ == j % lanes && row_[r] >= rank_) a_[r][0] = T{0};
    }
  }

  /// With the pivot row w, every row becomes a + g w: g is -x / pivot for an element x of column j; for the
  /// pivot row itself it is 1 / pivot, and a is 0. Column j becomes g.
  __device__ void update(int j, int pivot_at, T magnitude, int entry) {
    const T* candidate = in_block(&shared_.candidates[j % 2][entry % warps_][0], entry / warps_);
    for (int t = static_cast<int>(threadIdx.x); t < width; t += static_cast<int>(blockDim.x)) {
      shared_.pivot_row[t] = candidate[t];
    }
    const T inverse_magnitude = T{1} / magnitude;
    T g[down];
#pragma unroll
    for (int r = 0; r < down; ++r) g[r] = __shfl_sync(full_warp, a_[r][0], j % lanes, lanes);
    __syncthreads();
    const T pivot = shared_.pivot_row[j % lanes];
    const T inverse = pivot < 0 ? -inverse_magnitude : inverse_magnitude;
    const bool in_range = inverse - inverse == 0;  // the reciprocal of a subnormal number may not be
#pragma unroll
    for (int r = 0; r < down; ++r) {
      g[r] = in_range ? -g[r] * inverse : -g[r] / pivot;
      if (own_ == j % lanes) a_[r][0] = T{0};
      if (row_[r] == pivot_at) {
        g[r] = inverse;
#pragma unroll
        for (int c = 0; c < across; ++c) a_[r][c] = T{0};
        row_[r] = rank_;
      } else if (row_[r] == rank_) {
        row_[r] = pivot_at;
      }
    }
#pragma unroll
    for (int c = 0; c < across; ++c) {
      const T w = c == 0 && own_ == j % lanes ? T{1} : shared_.pivot_row[c * lanes + own_];
#pragma unroll
      for (int r = 0; r < down; ++r) a_[r][c] += g[r] * w;
    }
    if (leader_ && job_.pivots.rows != nullptr) {
      job_.pivots.rows[rank_] = pivot_at;
      job_.pivots.columns[rank_] = job_.begin + j;
      job_.pivots.values[rank_] = pivot;
    }
    ++rank_;
  }

  __device__ void rotate() {
#pragma unroll
    for (int r = 0; r < down; ++r) {
      const T first = a_[r][0];
#pragma unroll
      for (int c = 0; c + 1 < across; ++c) a_[r][c] = a_[r][c + 1];
      a_[r][across - 1] = first;
    }
  }

  const LeafJob<T>& job_;
  Shared& shared_;
  int block_, blocks_, warp_, warps_, lane_;
  int own_;      // which of the `lanes` columns are this thread's
  bool leader_;  // records what is found
  int rank_ = 0;
  int without_pivot_ = -1;
  double tolerance_ = 0;
  T a_[down][across];
  int row_[down];  // where the row belongs; `outside`: nowhere
};

}  // namespace echelon::leaf_kernels
