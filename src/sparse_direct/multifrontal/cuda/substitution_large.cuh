// SPDX-License-Identifier: BSD-3-Clause
/// Substitutions for fronts with inverses by thread blocks. The inverses of diagonal blocks make a block of
/// pivots one product; a front with many pivots or rows is divided into tiles of rows, each of which is a
/// task.
#pragma once

#include "sparse_direct/multifrontal/cuda/substitution_arrays.cuh"
#include "sparse_direct/multifrontal/cuda/tile_sums.cuh"

namespace echelon::sparse_direct::gpu {

template <class T>
struct LargeScratch {
  T vector[most_whole_rows];  ///< a part of a vector that a tile is multiplied by, or the rows of a whole
                              ///< front
  T solved[smallest_inverse_order];
  TileScratch<T> tile;
};

/// Mask of the bits of tiles [begin, end) of an inverse block in a word of FrontCounters.
__device__ inline unsigned tile_bits(int begin, int end) {
  return (end - begin == 32 ? ~0U : (1U << (end - begin)) - 1) << begin;
}

/// A large front. All threads of a block call its functions.
template <class T, TriangularFactor factor, Direction direction>
class LargeFront {
  using Scratch = LargeScratch<T>;
  static constexpr int early_contributions = 4;
  /// Words of an inverse block in FrontCounters.
  enum Word : int { forward_rhs, forward_solution, backward_rhs, backward_solution };

 public:
  __device__ LargeFront(const SubstitutionArrays<T>& arrays, const SubstitutionTask& task,
                        SubstitutionKind kind, Scratch& scratch)
      : arrays_(arrays),
        front_(arrays.fronts[arrays.order[task.place]]),
        blocks_(front_.pivots),
        triangle_{arrays.factor + front_.panel, front_.rows},
        border_(arrays.border(front_, factor)),
        exchange_(kind.exchange),
        scratch_(scratch) {}

  __device__ void forward_whole() const {
    gather_rows(0, front_.rows, scratch_.vector);
    for (int first = 0; first < front_.pivots; first += border_tile_rows) {
      const int count = min(border_tile_rows, front_.pivots - first);
      TileSums<T, border_tile_rows> sums;
      add_inverse_forward(sums, 0, first, count, scratch_.vector);
      const T solution = sums.total(scratch_.tile);
      if (thread() < count) {
        scratch_.solved[first + thread()] = solution;
        arrays_.y[front_.first + first + thread()] = solution;
      }
    }
    __syncthreads();
    for (int i = front_.pivots + thread(); i < front_.rows; i += substitution_threads) {
      const T* const row = border_.elements + i - front_.pivots;
      T sum{};
#pragma unroll 16
      for (int c = 0; c < front_.pivots; ++c)
        multiply_add(sum, row[std::int64_t{c} * border_.leading], scratch_.solved[c]);
      arrays_.V[front_.vector + i] = scratch_.vector[i] - sum;
    }
    contribute();
  }

  __device__ void backward_whole() const {
    await_parent();
    const int count = front_.rows - front_.pivots;
    load_border(0, count);
    for (int first = 0; first < front_.pivots; first += pivot_tile_rows) {
      TileSums<T, pivot_tile_rows> sums;
      add_loaded_border(sums, first, 0, count);
      const T sum = sums.total(scratch_.tile);
      const int c = first + thread();
      if (thread() < pivot_tile_rows && c < front_.pivots)
        scratch_.solved[c] = arrays_.y[front_.first + c] - sum;
    }
    __syncthreads();
    for (int first = 0; first < front_.pivots; first += pivot_tile_rows) {
      TileSums<T, pivot_tile_rows> sums;
      add_inverse_backward(sums, 0, first, min(pivot_tile_rows, front_.pivots - first),
                           scratch_.solved + first);
      const T solution = sums.total(scratch_.tile);
      if (thread() < pivot_tile_rows && first + thread() < front_.pivots)
        scratch_.vector[first + thread()] = solution;
    }
    __syncthreads();
    for (int i = thread(); i < front_.pivots; i += substitution_threads)
      arrays_.x[front_.first + i] = scratch_.vector[place(i)];
    finish_solution();
  }

  /// Computes V = the right-hand side at the pivots, after row exchanges if `exchange` is set, plus the
  /// children's contributions, for a chunk of gathered_rows rows.
  __device__ void gather(int chunk) const {
    const int first = chunk * gathered_rows;
    gather_rows(first, min(front_.rows, first + gathered_rows), arrays_.V + front_.vector);
    release(FrontCounters::gathered);
  }

  __device__ void forward_pivots(int tile) const {
    const int first = tile * pivot_tile_rows;
    const int count = min(pivot_tile_rows, front_.pivots - first);
    const int block = first / blocks_.order;
    const int begin = block * blocks_.order;
    const int tile_in_block = (first - begin) / pivot_tile_rows;
    await(FrontCounters::gathered, (front_.rows + gathered_rows - 1) / gathered_rows);
    TileSums<T, pivot_tile_rows> sums;
    for (int b = 0; b < block; ++b) {
      await_tiles(b, forward_solution, 0, tiles(b));
      load(arrays_.y + front_.first + b * blocks_.order, blocks_.width(b));
      add_triangle(sums, first, count, b * blocks_.order, blocks_.width(b));
      __syncthreads();
    }
    T* const V = arrays_.V + front_.vector;
    const T sum = sums.total(scratch_.tile);
    if (block > 0 && thread() < count) V[first + thread()] -= sum;
    release_tile(block, forward_rhs, tile_in_block);
    await_tiles(block, forward_rhs, 0, tile_in_block + 1);
    load(V + begin, first + count - begin);
    TileSums<T, pivot_tile_rows> solution;
    add_inverse_forward(solution, block, first - begin, count, scratch_.vector);
    const T value = solution.total(scratch_.tile);
    if (thread() < count) arrays_.y[front_.first + first + thread()] = value;
    release_tile(block, forward_solution, tile_in_block);
  }

  /// Computes the tile's rows of the border, for the pivots of several blocks at a time.
  __device__ void forward_border(int tile) const {
    const int first = tile * border_tile_rows;
    const int count = min(border_tile_rows, front_.rows - front_.pivots - first);
    const int together = largest_inverse_order / blocks_.order;
    TileSums<T, border_tile_rows> sums;
    for (int b = 0; b < blocks_.count(); b += together) {
      const int end = min(blocks_.count(), b + together);
      if (thread() < end - b)
        await_bits(word(b + thread(), forward_solution), tile_bits(0, tiles(b + thread())));
      __syncthreads();
      const int begin = b * blocks_.order;
      const int width = min(front_.pivots, end * blocks_.order) - begin;
      load(arrays_.y + front_.first + begin, width);
      sums.add_strided(border_.elements + first + std::int64_t{begin} * border_.leading, border_.leading,
                       count, width, scratch_.vector);
      __syncthreads();
    }
    const T sum = sums.total(scratch_.tile);
    if (thread() < count) arrays_.V[front_.vector + front_.pivots + first + thread()] -= sum;
    contribute();
  }

  __device__ void backward_pivots(int tile) const {
    const int first = tile * pivot_tile_rows;
    const int count = min(pivot_tile_rows, front_.pivots - first);
    const int block = first / blocks_.order;
    const int begin = block * blocks_.order;
    const int tile_in_block = (first - begin) / pivot_tile_rows;
    const int border = front_.rows - front_.pivots;
    TileSums<T, pivot_tile_rows> sums;
    if (front_.border_in_parent < border) {
      await_solutions(front_.grandparent_counters, front_.awaited_grandparent);
      add_border_backward(sums, first, front_.border_in_parent, border);
    }
    await_parent();
    add_border_backward(sums, first, 0, front_.border_in_parent);
    for (int b = blocks_.count() - 1; b > block; --b) {
      await_tiles(b, backward_solution, 0, tiles(b));
      load_solution(b);
      add_triangle(sums, first, count, b * blocks_.order, blocks_.width(b));
      __syncthreads();
    }
    T* const V = arrays_.V + front_.vector;
    const T sum = sums.total(scratch_.tile);
    if (thread() < count) V[first + thread()] = arrays_.y[front_.first + first + thread()] - sum;
    release_tile(block, backward_rhs, tile_in_block);
    await_tiles(block, backward_rhs, tile_in_block, tiles(block));
    load(V + first, begin + blocks_.width(block) - first);
    TileSums<T, pivot_tile_rows> solution;
    add_inverse_backward(solution, block, first - begin, count, scratch_.vector);
    const T value = solution.total(scratch_.tile);
    if (thread() < count) arrays_.x[front_.first + row_of(first + thread())] = value;
    release_tile(block, backward_solution, tile_in_block);
    finish_solution();
  }

 private:
  __device__ static int thread() {
    return static_cast<int>(threadIdx.x);
  }
  /// Row of the front, before exchanges, of the k-th pivot.
  __device__ int row_of(int k) const {
    return exchange_ ? arrays_.pivot_order[front_.first + k] : k;
  }
  __device__ int place(int row) const {
    return exchange_ && row < front_.pivots ? arrays_.position[front_.first + row] : row;
  }
  __device__ int tiles(int block) const {
    return (blocks_.width(block) + pivot_tile_rows - 1) / pivot_tile_rows;
  }
  __device__ unsigned* counter(std::int64_t which) const {
    return arrays_.counters + front_.counters + which;
  }
  __device__ unsigned* word(int block, Word which) const {
    return counter(FrontCounters::blocks + FrontCounters::of_block * block + which);
  }

  __device__ void await(std::int64_t which, int target) const {
    if (thread() == 0) await_count(counter(which), static_cast<unsigned>(target));
    __syncthreads();
  }
  __device__ void release(std::int64_t which) const {
    __syncthreads();
    if (thread() == 0) release_count(counter(which));
  }
  __device__ void await_tiles(int block, Word which, int first, int end) const {
    if (thread() == 0) await_bits(word(block, which), tile_bits(first, end));
    __syncthreads();
  }
  __device__ void release_tile(int block, Word which, int tile) const {
    __syncthreads();
    if (thread() == 0) release_bits(word(block, which), 1U << tile);
  }
  /// Signals to the parent that this task's part of the contribution is complete.
  __device__ void contribute() const {
    if (front_.rows == front_.pivots) return;
    __syncthreads();
    if (thread() == 0)
      release_count(arrays_.counters + front_.parent_counters + FrontCounters::contributions);
  }
  __device__ void await_parent() const {
    if (front_.rows > front_.pivots) await_solutions(front_.parent_counters, front_.awaited_solutions);
  }
  __device__ void await_solutions(std::int64_t counters, int target) const {
    if (thread() == 0)
      await_count(arrays_.counters + counters + FrontCounters::solved, static_cast<unsigned>(target));
    __syncthreads();
  }
  __device__ void finish_solution() const {
    if (front_.child_begin < front_.child_end) release(FrontCounters::solved);
  }

  /// Copies `count` elements to scratch_.vector.
  __device__ void load(const T* source, int count) const {
    for (int i = thread(); i < count; i += substitution_threads) scratch_.vector[i] = source[i];
    __syncthreads();
  }
  __device__ void load_solution(int block) const {
    const int begin = block * blocks_.order;
    for (int i = thread(); i < blocks_.width(block); i += substitution_threads)
      scratch_.vector[i] = arrays_.x[front_.first + row_of(begin + i)];
    __syncthreads();
  }
  __device__ void load_border(int first, int count) const {
    const std::int32_t* const rows = arrays_.border_rows + front_.border + first;
    for (int i = thread(); i < count; i += substitution_threads) scratch_.vector[i] = arrays_.x[rows[i]];
    __syncthreads();
  }

  /// Adds products of the triangle's elements in `count` rows from `first` on and `width` columns from
  /// `begin` on with scratch_.vector.
  template <int rows>
  __device__ void add_triangle(TileSums<T, rows>& sums, int first, int count, int begin, int width) const {
    if constexpr (Triangle<T, factor, direction>::by_rows) {
      sums.add_contiguous(triangle_.panel + begin + std::int64_t{first} * triangle_.leading,
                          triangle_.leading, count, width, scratch_.vector);
    } else {
      sums.add_strided(triangle_.panel + first + std::int64_t{begin} * triangle_.leading, triangle_.leading,
                       count, width, scratch_.vector);
    }
  }
  /// Adds products of the transposed border, in the pivots from `first` on and rows [begin, end), with the
  /// solution.
  __device__ void add_border_backward(TileSums<T, pivot_tile_rows>& sums, int first, int begin,
                                      int end) const {
    for (int b = begin; b < end; b += most_whole_rows) {
      const int width = min(most_whole_rows, end - b);
      load_border(b, width);
      add_loaded_border(sums, first, b, width);
      __syncthreads();
    }
  }
  __device__ void add_loaded_border(TileSums<T, pivot_tile_rows>& sums, int first, int begin,
                                    int width) const {
    sums.add_contiguous(border_.elements + begin + std::int64_t{first} * border_.leading, border_.leading,
                        front_.pivots - first, width, scratch_.vector);
  }
  __device__ const T* inverse(int block) const {
    return arrays_.inverses + front_.inverse + (factor == TriangularFactor::upper ? blocks_.entries() : 0) +
           blocks_.offset(block);
  }
  /// Adds products of `count` rows from `first` on of an inverse of the forward triangle with the block's
  /// vector w.
  template <int rows>
  __device__ void add_inverse_forward(TileSums<T, rows>& sums, int block, int first, int count,
                                      const T* w) const {
    const int leading = blocks_.width(block);
    sums.add_contiguous(inverse(block) + std::int64_t{first} * leading, leading, count, first + count, w);
  }
  /// Adds products of `count` columns from `first` on of an inverse, which are the rows of the backward
  /// triangle's inverse, with the block's vector w from `first` on.
  __device__ void add_inverse_backward(TileSums<T, pivot_tile_rows>& sums, int block, int first, int count,
                                       const T* w) const {
    const int leading = blocks_.width(block);
    sums.add_strided(inverse(block) + first + std::int64_t{first} * leading, leading, count, leading - first,
                     w);
  }

  /// Stores target[place] = the right-hand side at the pivots, after row exchanges if `exchange` is set, plus
  /// the children's contributions, for rows [first, end).
  __device__ void gather_rows(int first, int end, T* target) const {
    bool waits = front_.child_begin < front_.child_end;
    for (int begin = first; begin < end; begin += substitution_threads) {
      const int i = begin + thread();
      const bool is_row = i < end;
      T sum = is_row && i < front_.pivots ? arrays_.x[front_.first + i] : T{};
      ContributionSum<T, early_contributions> contributions;
      contributions.prepare(arrays_, front_, is_row ? i : front_.rows);
      if (waits) await(FrontCounters::contributions, front_.awaited_contributions);
      waits = false;
      contributions.add(arrays_, sum);
      if (is_row) target[place(i)] = sum;
    }
    __syncthreads();
  }

  const SubstitutionArrays<T>& arrays_;
  Front front_;
  InverseBlocks blocks_;
  Triangle<T, factor, direction> triangle_;
  Border<T> border_;
  bool exchange_;
  Scratch& scratch_;
};

}  // namespace echelon::sparse_direct::gpu
