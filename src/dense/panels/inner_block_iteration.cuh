// SPDX-License-Identifier: BSD-3-Clause
/// Factorisation of an inner block of columns by a fixed-point iteration: members of ClusterPanel.
///
/// Crout's formulas for the inner block's rows of the diagonal are
///
///   l_ij = a_ij - sum_{k<j} l_ik u_kj for i >= j,   u_ij = (a_ij - sum_{k<i} l_ik u_kj) / l_ii for i < j.
///
/// Each block evaluates them for all elements at once, repeatedly. A sweep over L and then U makes at least
/// one more column of L and one more row of U final, so that as many sweeps as columns suffice, even if
/// elements overflowed in between. With U known, the rows below need one multiplication with its inverse:
/// each row is in the registers of one thread. If no element of L is larger than the one on the diagonal
/// above it, partial pivoting exchanges no rows, and the inner block is complete. Blocks communicate twice
/// for each inner block, not once for each column.
#pragma once

#include "dense/panels/cluster_panel.cuh"

#include <cfloat>

namespace echelon::panel_kernels {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

static_assert(threads == inner_block * inner_block, "a thread has an element of the square");
static_assert(section_square_size == inner_block * inner_block && section_votes == max_blocks);

/// Row of the square's storage with the reciprocals of the diagonal; columns are padded_inner_block apart.
inline constexpr int reciprocals = inner_block;

template <class T>
__device__ bool is_finite(T x) {
  constexpr T largest = sizeof(T) == 8 ? static_cast<T>(DBL_MAX) : static_cast<T>(FLT_MAX);
  return fabs(x) <= largest;
}

template <class Job, int rows_per_thread, bool single_block>
__device__ bool ClusterPanel<Job, rows_per_thread, single_block>::iterate_inner_block(int begin) {
  const int columns = min(inner_block, job_.width - begin);
  T* const square = W_ + begin * padded_inner_block;  // W is not needed in the columns of the inner block
  sweep_square(gather_square(begin, columns), columns, square);
  const int i = static_cast<int>(threadIdx.x) % inner_block;
  const int c = static_cast<int>(threadIdx.x) / inner_block;
  bool good = true;
  if (i < columns && c < columns) {
    const T x = square[c * padded_inner_block + i];
    const T diagonal = square[min(i, c) * padded_inner_block + min(i, c)];
    good = i > c ? fabs(x) <= fabs(diagonal) : is_finite(i == c ? x : diagonal * x);
    if (i == c) {
      const T reciprocal = T{1} / x;
      square[c * padded_inner_block + reciprocals] = reciprocal;
      good = good && is_finite(reciprocal);
    }
  }
  if (is_pivot_warp()) good = multiply_by_inverse(begin, columns, square) && good;
  const bool complete = holds_everywhere(good);
  if (complete) store_iterated(begin, columns, square);
  ++counts_.sections;
  counts_.direct_sections += complete ? 0 : 1;
  return complete;
}

template <class Job, int rows_per_thread, bool single_block>
__device__ auto ClusterPanel<Job, rows_per_thread, single_block>::gather_square(int begin, int columns) -> T {
  if (is_pivot_warp()) {
#pragma unroll
    for (int d = 0; d < rows_per_thread; ++d) {
      const int i = place_[d] - rank_;
      if (place_[d] == no_row || i < 0 || i >= columns) continue;
      for (int c = 0; c < columns; ++c) {
        __stcg(job_.iteration.square + c * inner_block + i, panel_[(begin + c) * leading_ + local(d)]);
      }
    }
  }
  cluster::sync();
  const int i = static_cast<int>(threadIdx.x) % inner_block;
  const int c = static_cast<int>(threadIdx.x) / inner_block;
  return i < columns && c < columns ? __ldcg(job_.iteration.square + threadIdx.x) : T{0};
}

template <class Job, int rows_per_thread, bool single_block>
__device__ void ClusterPanel<Job, rows_per_thread, single_block>::sweep_square(T element, int columns,
                                                                               T* square) {
  const int i = static_cast<int>(threadIdx.x) % inner_block;
  const int c = static_cast<int>(threadIdx.x) / inner_block;
  const bool there = i < columns && c < columns;
  const int terms = min(i, c);
  T* const own = square + c * padded_inner_block + i;
  T value = element;
  const auto evaluate = [&] {
    T sum = element;
#pragma unroll
    for (int k = 0; k < inner_block - 1; ++k) {
      if (k < terms) sum -= square[k * padded_inner_block + i] * square[c * padded_inner_block + k];
    }
    return sum;
  };
  if (there) *own = element;
  __syncthreads();
  int sweeps = 0;
  bool changing = true;
  while (changing && sweeps < columns) {
    T next = there && i >= c ? evaluate() : value;
    __syncthreads();
    if (there && i >= c) *own = next;
    __syncthreads();
    if (there && i < c) next = evaluate() / square[i * padded_inner_block + i];
    __syncthreads();
    if (there && i < c) *own = next;
    const double change = fabs(static_cast<double>(next) - static_cast<double>(value));
    const bool changed = there && !(change <= job_.iteration.tolerance);
    value = next;
    changing = __syncthreads_or(changed ? 1 : 0) != 0;
    ++sweeps;
  }
  counts_.sweeps += sweeps;
  counts_.most_sweeps = max(counts_.most_sweeps, std::int64_t{sweeps});
  counts_.elements += std::int64_t{sweeps} * columns * columns;
}

// Rows that are not below the diagonal count as good.
template <class Job, int rows_per_thread, bool single_block>
__device__ bool ClusterPanel<Job, rows_per_thread, single_block>::multiply_by_inverse(int begin, int columns,
                                                                                      const T* square) {
  bool good = true;
#pragma unroll
  for (int d = 0; d < rows_per_thread; ++d) {
#pragma unroll
    for (int c = 0; c < inner_block; ++c) {
      element_[d][c] = c < columns ? panel_[(begin + c) * leading_ + local(d)] : T{0};
    }
  }
#pragma unroll
  for (int c = 0; c < inner_block; ++c) {
    if (c >= columns) break;
    const T pivot = fabs(square[c * padded_inner_block + c]);
#pragma unroll
    for (int d = 0; d < rows_per_thread; ++d) {
      const bool below = place_[d] != no_row && place_[d] - rank_ >= columns;
      good = good && (!below || fabs(element_[d][c]) <= pivot);
    }
#pragma unroll
    for (int e = c + 1; e < inner_block; ++e) {
      if (e >= columns) break;
      const T u = square[e * padded_inner_block + c];
#pragma unroll
      for (int d = 0; d < rows_per_thread; ++d) element_[d][e] -= element_[d][c] * u;
    }
  }
  counts_.elements += std::int64_t{columns} * (job_.rows - rank_ - columns);
  return good;
}

template <class Job, int rows_per_thread, bool single_block>
__device__ bool ClusterPanel<Job, rows_per_thread, single_block>::holds_everywhere(bool condition) {
  const bool here = __syncthreads_and(condition ? 1 : 0) != 0;
  if constexpr (single_block) return here;
  if (threadIdx.x == 0) __stcg(job_.iteration.votes + block_, here ? 1 : 0);
  cluster::sync();
  const bool vote = lane_ >= blocks_ || __ldcg(job_.iteration.votes + min(lane_, blocks_ - 1)) != 0;
  return __all_sync(full_warp, vote ? 1 : 0) != 0;
}

template <class Job, int rows_per_thread, bool single_block>
__device__ void ClusterPanel<Job, rows_per_thread, single_block>::store_iterated(int begin, int columns,
                                                                                 const T* square) {
  if (is_pivot_warp()) {
#pragma unroll
    for (int d = 0; d < rows_per_thread; ++d) {
      const int i = place_[d] == no_row ? -1 : place_[d] - rank_;
      if (i < 0) continue;
      if (i < columns) shared_.pivot_rows[i] = local(d);
#pragma unroll
      for (int c = 0; c < inner_block; ++c) {
        if (c >= columns) break;
        T x = i < columns ? square[c * padded_inner_block + i] : element_[d][c];
        if (i > c) x *= square[c * padded_inner_block + reciprocals];
        if (i < c) x *= square[i * padded_inner_block + i];
        panel_[(begin + c) * leading_ + local(d)] = x;
      }
    }
  }
  const int c = static_cast<int>(threadIdx.x);
  if (c < columns) shared_.selected[c] = make_candidate(square[c * padded_inner_block + c], rank_ + c, 0);
  if (c == 0) {
    shared_.accepted = (1U << static_cast<unsigned>(columns)) - 1;
    shared_.eliminated_columns = columns;
    shared_.overflow = false;
  }
}

template <class Job, int rows_per_thread, bool single_block>
__device__ void ClusterPanel<Job, rows_per_thread, single_block>::add_counts() {
  if (block_ != 0 || warp_ != 0) return;
  const auto exchanges = __reduce_add_sync(full_warp, static_cast<unsigned>(counts_.exchanges));
  if (lane_ != 0) return;
  SectionCounts& all = *job_.iteration.counts;
  all.sections += counts_.sections;
  all.direct_sections += counts_.direct_sections;
  all.sweeps += counts_.sweeps;
  all.most_sweeps = max(all.most_sweeps, counts_.most_sweeps);
  all.exchanges += exchanges;
  all.elements += counts_.elements;
}

#endif

}  // namespace echelon::panel_kernels
