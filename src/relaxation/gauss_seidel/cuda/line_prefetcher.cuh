// SPDX-License-Identifier: BSD-3-Clause
/// The warps that run ahead along the lines of a group and prepare rows: they compute everything that needs
/// no new value of the group itself.
#pragma once

#include "relaxation/gauss_seidel/cuda/line_group.cuh"

#include <cuda_pipeline.h>

namespace echelon::gauss_seidel {

/// Known quantities of a row that is computed from global memory.
template <class T>
struct PreparedLongRow {
  T known;  ///< sum of the part that needs no waiting
  T a_ii;
  std::int32_t count;  ///< number of elements of the other part
};

/// Computes what is known of row i; not inlined, so that it takes no registers from the usual rows.
template <class T, bool forward>
__device__ __noinline__ PreparedLongRow<T> prepare_long_row(const DeviceSweep<T>& task, unsigned rhs,
                                                            std::int32_t i) {
  const T* old = task.old + rhs * task.leading_old;
  const RowSplit parts = split_row(task.column_indices, task.row_offsets[i], task.row_offsets[i + 1], i);
  const T* lower_sum = forward ? nullptr : task.lower_sum(rhs, i);
  PreparedLongRow<T> row{};
  row.count = static_cast<std::int32_t>((forward ? parts.lower_part() : parts.upper_part()).count);
  if (parts.has_diagonal()) row.a_ii = task.values[parts.diagonal];
  row.known = lower_sum != nullptr ? *lower_sum
                                   : part_sum(task.column_indices, task.values,
                                              forward ? parts.upper_part() : parts.lower_part(),
                                              [=](std::int32_t j) { return old[j]; });
  return row;
}

/// Prefetches rows of several lines; lane k of a line takes rows k, k + stride, … of it, starting with its
/// warp's first.
template <class T, bool forward, LineKernelConfig config>
class LinePrefetcher {
 public:
  __device__ LinePrefetcher(const LineGroup<T, forward>& group, int prefetcher) : group_(group) {
    const int lane = lane_id();
    line_ = prefetcher / config.warps_per_line * (warp_size / lanes_per_line) + lane / lanes_per_line;
    warp_in_line_ = prefetcher % config.warps_per_line;
    lane_in_line_ = lane % lanes_per_line;
    rows_ = group.rows_of(line_);
    row_ = warp_in_line_ * lanes_per_line + lane_in_line_;
    x_ = group.task.x + group.rhs * group.task.leading_x;
    old_ = group.task.old + group.rhs * group.task.leading_old;
    buffer_ = (warp_in_line_ * warp_size + line_) * capacity;
    // Keeps these in registers; the compiler would recompute them for each element.
    asm volatile("" : "+l"(x_), "+l"(old_), "+r"(buffer_));
  }

  /// Prepares all rows of this warp's lines. Warp-collective.
  __device__ void prefetch_lines() {
    locate(row_);
    copy_rows(true);
    while (__any_sync(full_warp, row_ < rows_)) {
      const bool starts = may_start();
      if (__any_sync(full_warp, starts)) start_rows(starts);
      if (is_started_ && !is_prepared_ && row_ < finished_rows() + config.prepared_rows) prepare();
      const bool waits_for_others = waits_for_other_groups();
      bool completes;
      do {
        completes = is_started_ && accumulate_far() && is_prepared_;
      } while (waits_for_others && !__any_sync(full_warp, completes));
      if (completes) publish_sum();
      if (__any_sync(full_warp, completes)) copy_next_rows(completes);
    }
  }

 private:
  using Shared = cuda::atomic_ref<Word<T>, cuda::thread_scope_device>;
  static constexpr int lanes_per_line = config.lanes_per_line;
  static constexpr int batch = config.load_batch;
  static constexpr int vector_elements = ElementBuffers<T, config>::vector_elements;
  static constexpr int window = config.waiting_elements;
  static constexpr int step = forward ? 1 : -1;  // from the far end of the waiting part towards the diagonal

  /// True if the condition holds for any lane of this lane's line. Warp-collective.
  [[nodiscard]] __device__ bool any_lane_of_line(bool condition) const {
    constexpr unsigned lanes = lanes_per_line == warp_size ? full_warp : (1u << lanes_per_line) - 1;
    return (__ballot_sync(full_warp, condition) >> (threadIdx.x % warp_size - lane_in_line_) & lanes) != 0;
  }
  /// Starts to copy the next rows of a line when all its lanes have completed theirs. Warp-collective.
  __device__ void copy_next_rows(bool completes) {
    const bool moved = any_lane_of_line(completes);
    const bool busy = any_lane_of_line(is_started_);
    if (__any_sync(full_warp, moved && !busy)) copy_rows(moved && !busy);
  }
  /// True if all rows of the warp only wait for values of earlier groups. Warp-collective.
  [[nodiscard]] __device__ bool waits_for_other_groups() const {
    const bool unfinished = any_lane_of_line(row_ < rows_);
    const bool busy = any_lane_of_line(is_started_);
    return __all_sync(full_warp, (busy || !unfinished) && (is_prepared_ || !is_started_)) != 0;
  }
  [[nodiscard]] __device__ int finished_rows() const { return acquire(prepared_.finished[line_]); }

  /// True if this lane's line can start its next rows: its previous rows are published, and those of the
  /// warp's other lines too, or the finishing warp is about to run out of prepared rows. Warp-collective.
  [[nodiscard]] __device__ bool may_start() const {
    const bool unfinished = any_lane_of_line(row_ < rows_);
    const bool wants = !any_lane_of_line(is_started_) && unfinished;
    const bool urgent =
        __any_sync(full_warp, wants && finished_rows() + config.min_lead >= row_ - lane_in_line_);
    const bool all = __all_sync(full_warp, wants || !unfinished);
    return wants && (urgent || all);
  }

  /// Loads the element range of a row of the line.
  __device__ void locate(std::int32_t row) {
    if (row >= rows_) return;
    const std::int32_t i = group_.row_at(group_.line_first(line_) + row);
    located_begin_ = group_.task.row_offsets[i];
    located_end_ = group_.task.row_offsets[i + 1];
  }

  /// Starts to copy the elements of the line's next rows, which have been located, to shared memory if they
  /// fit. Warp-collective.
  __device__ void copy_rows(bool selected) {
    const std::int32_t first = row_ - lane_in_line_;
    const int last = max(0, min(lanes_per_line, rows_ - first) - 1);
    const std::int64_t low = __shfl_sync(full_warp, located_begin_, forward ? 0 : last, lanes_per_line);
    const std::int64_t high = __shfl_sync(full_warp, located_end_, forward ? last : 0, lanes_per_line);
    if (!selected || first >= rows_) return;
    const std::int64_t start = low / vector_elements * vector_elements;
    const bool fits = high - start <= capacity;
    begin_ = fits ? static_cast<int>(located_begin_ - start) : -1;
    end_ = static_cast<int>(located_end_ - start);
    if (fits) copy(start, static_cast<int>(high - start));
  }
  /// Copies `count` elements with the lanes of the line, rounded up to whole vectors unless the matrix ends
  /// there.
  __device__ void copy(std::int64_t start, int count) {
    const std::int32_t* columns = group_.task.column_indices + start;
    const T* values = group_.task.values + start;
    if (start + count + vector_elements <= group_.nonzeros) {
      constexpr int part = 16 / static_cast<int>(sizeof(T));
#pragma unroll 1
      for (int e = vector_elements * lane_in_line_; e < count; e += vector_elements * lanes_per_line) {
        __pipeline_memcpy_async(&elements_.columns[buffer_ + e], columns + e, 16);
#pragma unroll
        for (int k = 0; k < vector_elements; k += part) {
          __pipeline_memcpy_async(&elements_.values[buffer_ + e + k], values + e + k, 16);
        }
      }
    } else {
#pragma unroll 1
      for (int e = lane_in_line_; e < count; e += lanes_per_line) {
        __pipeline_memcpy_async(&elements_.columns[buffer_ + e], columns + e, sizeof *columns);
        __pipeline_memcpy_async(&elements_.values[buffer_ + e], values + e, sizeof *values);
      }
    }
    __pipeline_commit();
  }

  /// Starts the next rows of the selected lines. Warp-collective.
  __device__ void start_rows(bool starts) {
    __pipeline_wait_prior(0);
    __syncwarp();
    if (starts) locate(row_ + config.stride());
    if (starts && row_ < rows_) start_row();
  }

  /// Computes everything of a row that needs no waiting.
  __device__ void start_row() {
    const DeviceSweep<T>& task = group_.task;
    i_ = group_.row_at(group_.line_first(line_) + row_);
    const T old_x = old_[i_];
    const T b_i = task.b[group_.rhs * task.leading_b + i_];
    T a_ii = 0;
    T known = 0;
    is_started_ = true;
    far_ = 0;
    far_taken_ = 0;
    sum_ = 0;
    if (begin_ < 0) {
      const PreparedLongRow<T> row = prepare_long_row<T, forward>(task, group_.rhs, i_);
      a_ii = row.a_ii;
      known = row.known;
      count_ = row.count;
    } else {
      const int upper = locate_diagonal(a_ii);
      const int lower = upper - (has_diagonal_ ? 1 : 0);
      known = group_.has_lower_sum(i_) ? *group_.lower_sum(i_)
              : forward                ? sum_known(end_ - 1, end_ - upper)
                                       : sum_known(begin_, lower - begin_);
      count_ = forward ? lower - begin_ : end_ - upper;
      prefetch_next();
      if (count_ <= chain_limit) count_far();
    }
    partial_row_ = {T{0}, T{0}, old_x};
    if (a_ii == T{0}) {
      count_ = -1;
      far_ = 0;
      if (task.skipped != nullptr && group_.rhs == 0) count_skipped(*task.skipped, i_);
    } else {
      partial_row_ = task.relaxation.begin(b_i, known, a_ii, old_x);
    }
  }

  /// Prefetches what the lane's next row reads and no earlier row has read.
  __device__ void prefetch_next() const {
    if (begin_ == end_) return;
    constexpr int distance = config.stride() * step;
    const std::int32_t row = i_ + distance;
    const std::int32_t column = column_at(forward ? end_ - 1 : begin_) + distance;
    const auto rows = static_cast<std::uint32_t>(group_.task.rows);
    if (static_cast<std::uint32_t>(row) >= rows || static_cast<std::uint32_t>(column) >= rows) return;
    prefetch_word(group_.task.b + group_.rhs * group_.task.leading_b + row);
    prefetch_word(old_ + column);
    if (group_.has_lower_sum(row)) prefetch_word(group_.lower_sum(row));
  }
  __device__ static void prefetch_word(const T* word) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(word));
  }

  /// Returns the first element right of the diagonal. The diagonal element usually has the same index as in
  /// the previous row.
  __device__ int locate_diagonal(T& a_ii) {
    int diagonal = begin_ + previous_lower_;
    if (diagonal >= end_ || column_at(diagonal) != i_) {
      diagonal = static_cast<int>(lower_bound(&elements_.columns[buffer_], begin_, end_, i_));
    }
    previous_lower_ = diagonal - begin_;
    has_diagonal_ = diagonal < end_ && column_at(diagonal) == i_;
    if (!has_diagonal_) return diagonal;
    a_ii = value_at(diagonal);
    return diagonal + 1;
  }

  /// Sum of `count` elements with known values, from `first` towards the diagonal.
  [[nodiscard]] __device__ T sum_known(int first, int count) const {
    if (count > chain_limit) return prepare_long_row<T, forward>(group_.task, group_.rhs, i_).known;
    T sum = 0;
    for (int e = 0; e < count; e += batch) {
      T coefficient[batch];
      T value[batch];
#pragma unroll
      for (int k = 0; k < batch; ++k) {
        const int element = first - (e + k) * step;
        if (e + k >= count) continue;
        coefficient[k] = value_at(element);
        value[k] = old_[column_at(element)];
      }
#pragma unroll
      for (int k = 0; k < batch; ++k) {
        if (e + k < count) sum = multiply_add(coefficient[k], value[k], sum);
      }
    }
    return sum;
  }

  [[nodiscard]] __device__ std::int32_t column_at(int element) const {
    return elements_.columns[buffer_ + element];
  }
  [[nodiscard]] __device__ T value_at(int element) const {
    return elements_.values[buffer_ + element];
  }
  /// Element e of the waiting part, counted from its far end.
  [[nodiscard]] __device__ int element(int e) const {
    return forward ? begin_ + e : end_ - 1 - e;
  }

  /// Counts the elements of earlier groups, which come first. Their number is usually that of the previous
  /// row.
  __device__ void count_far() {
    far_ = min(previous_far_, count_);
    while (far_ < count_ && is_far(column_at(element(far_)))) ++far_;
    while (far_ > 0 && !is_far(column_at(element(far_ - 1)))) --far_;
    previous_far_ = far_;
  }
  [[nodiscard]] __device__ bool is_far(std::int32_t column) const {
    return group_.position_of(column) < group_.first;
  }

  /// Adds products with values of earlier groups as far as they are ready; returns whether all are.
  __device__ bool accumulate_far() {
    constexpr int far_batch = config.far_batch;
    const int first = far_taken_;
    if (first == far_) return true;
    std::int32_t column[far_batch];
    T coefficient[far_batch];
    Word<T> loaded[far_batch];
#pragma unroll
    for (int k = 0; k < far_batch; ++k) {
      const int e = element(min(first + k, far_ - 1));
      column[k] = column_at(e);
      coefficient[k] = value_at(e);
    }
    asm volatile("" ::
                     : "memory");  // keeps the loads independent: the compiler would wait for the first value
                                   // before loading the next
#pragma unroll
    for (int k = 0; k < far_batch; ++k) loaded[k] = first + k < far_ ? load_global(column[k]) : not_ready<T>;
#pragma unroll
    for (int k = 0; k < far_batch; ++k) {
      if (far_taken_ < first + k || loaded[k] == not_ready<T>) break;
      sum_ = multiply_add(coefficient[k], to_value<T>(loaded[k]), sum_);
      ++far_taken_;
    }
    return far_taken_ == far_;
  }
  /// An element among those of earlier groups that belongs to a later row (unsorted columns) reads as NaN.
  [[nodiscard]] __device__ Word<T> load_global(std::int32_t column) const {
    if (!is_far(column)) return to_word(canonical_nan<T>);
    return Shared(*reinterpret_cast<Word<T>*>(x_ + column)).load(cuda::memory_order_relaxed);
  }

  /// Writes the prepared row, except for the sum over earlier groups, which may still be incomplete.
  __device__ void prepare() {
    auto& row = prepared_.row[static_cast<unsigned>(row_) % config.prepared_rows];
    const int remaining = count_ - far_;
    bool is_fast = begin_ >= 0 && count_ >= 0 && count_ <= chain_limit && remaining <= window;
#pragma unroll
    for (int k = 0; k < window; ++k) {
      // An absent element has the source of the line's previous row, which is ready when the row is computed.
      std::int32_t source = (row_ - 1) * warp_size + line_;
      if (is_fast && k < remaining) {
        const int e = element(far_ + k);
        source = group_.source_of(column_at(e), line_);
        is_fast = source >= 0 && group_.precedes(column_at(e), i_);
        row.coefficient[k][line_] = value_at(e);
      }
      row.source[k][line_] = source;
    }
    row.reduced_rhs[line_] = partial_row_.reduced_rhs;
    row.inverse_diagonal[line_] = partial_row_.inverse_diagonal;
    row.weighted_old[line_] = partial_row_.weighted_old;
    row.partial_sum[line_] = not_ready<T>;
    row.remaining[line_] = is_fast ? remaining : slow_row;
    row.count[line_] = count_;
    release(row.prepared[line_], row_ + 1);
    is_prepared_ = true;
  }

  /// Writes the sum over earlier groups, which is its own ready flag, and moves on to the next row.
  __device__ void publish_sum() {
    volatile Word<T>& sum =
        prepared_.row[static_cast<unsigned>(row_) % config.prepared_rows].partial_sum[line_];
    sum = to_word(canonical(sum_));
    is_started_ = false;
    is_prepared_ = false;
    row_ += config.stride();
  }

  const LineGroup<T, forward> group_;
  PreparedRows<T, config>& prepared_ = line_storage<T, config>().prepared;
  ElementBuffers<T, config>& elements_ = line_storage<T, config>().elements;
  static constexpr int capacity = ElementBuffers<T, config>::capacity;
  int line_;
  int warp_in_line_;
  int lane_in_line_;  // index of the lane among those of its line
  std::int32_t rows_;
  std::int32_t row_;
  T* x_;  // column of the right-hand side
  const T* old_;
  int buffer_;                      // offset of the line's elements in the buffers
  std::int64_t located_begin_ = 0;  // elements of the row located last, in the matrix
  std::int64_t located_end_ = 0;
  int previous_lower_ = 0;  // elements left of the diagonal in the previous row
  int previous_far_ = 0;    // elements of earlier groups in the previous row
  int begin_ = 0;           // elements of the current row in the buffer; -1: they did not fit
  int end_ = 0;
  // State of the current row:
  bool is_started_ = false;
  bool is_prepared_ = false;
  bool has_diagonal_ = false;
  std::int32_t i_ = 0;
  PartialRow<T> partial_row_{};
  int count_ = 0;      // number of elements of the waiting part; -1: the row keeps its x
  int far_ = 0;        // the first of them, which belong to earlier groups
  int far_taken_ = 0;  // of these, the ones already added
  T sum_ = 0;
};

}  // namespace echelon::gauss_seidel
