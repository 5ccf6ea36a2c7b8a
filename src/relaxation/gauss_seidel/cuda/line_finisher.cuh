// SPDX-License-Identifier: BSD-3-Clause
/// The warp that finishes the rows of a group, one line per lane.
#pragma once

#include "relaxation/gauss_seidel/cuda/line_group.cuh"

namespace echelon::gauss_seidel {

/// Finishes the rows of one line. All its functions are warp-collective, one line per lane.
template <class T, bool forward, LineKernelConfig config>
class LineFinisher {
 public:
  /// `partial` holds chain_limit sums for rows with a long part. It is outside this object, so that the
  /// object stays in registers.
  __device__ LineFinisher(const LineGroup<T, forward>& group, T* partial)
      : group_(group),
        line_(lane_id()),
        rows_(group.rows_of(line_)),
        x_(group.word(group.line_first(line_))),
        partial_(partial) {
    if (!forward || group.task.lower_sums == nullptr) return;
    const std::int64_t first = group.line_first(line_) - group.task.first_stored_sum;  // of the stored sums
    lower_sum_ = group.task.lower_sums + group.rhs * (group.task.rows - group.task.first_stored_sum) + first;
    first_stored_ = static_cast<std::int32_t>(max(std::int64_t{0}, -first));
  }

  /// Finishes all rows. An iteration is a chain of instructions from shared memory to shared memory and
  /// dominates the time of a sweep, so divergence is kept to one branch: a divergent warp costs several
  /// instructions. Progress is reported every few iterations, since a release store waits for earlier stores.
  __device__ void finish_lines() {
    for (unsigned iteration = 0; __any_sync(full_warp, row_ < rows_); ++iteration) {
      const int prepared =
          acquire(prepared_row(remaining_ == not_prepared ? row_ : row_ + 1).prepared[line_]);
      T sum = 0;
      bool keeps_old = false;
      bool is_done = finish_fast(sum, iteration % check_interval == 0);
      if (__any_sync(full_warp, remaining_ == slow_row)) {
        if (remaining_ == slow_row) {
          is_done = step_slow_row();
          sum = sum_;
          keeps_old = count_ < 0;
        }
      }
      if (is_done) publish(sum, keeps_old);
      load_row(remaining_ == not_prepared && prepared == row_ + 1);
      __syncwarp();
      if (iteration % report_interval == 0) release(prepared_.finished[line_], row_);
      __syncwarp();
    }
  }

 private:
  using Shared = cuda::atomic_ref<Word<T>, cuda::thread_scope_device>;
  static constexpr int window = config.waiting_elements;
  static constexpr unsigned span = LatestValues<T, config.history>::span;
  static constexpr unsigned report_interval = 4;
  static constexpr unsigned check_interval = 32;
  static constexpr int not_prepared = slow_row - 1;

  [[nodiscard]] __device__ const PreparedRow<T, window>& prepared_row(std::int32_t row) const {
    return prepared_.row[static_cast<unsigned>(row) % config.prepared_rows];
  }

  /// Loads the line's next row, if it is prepared.
  __device__ void load_row(bool ready) {
    const auto& row = prepared_row(row_);
    const int remaining = row.remaining[line_];
    remaining_ = ready ? remaining : remaining_;
    next_ = ready ? -1 : next_;
#pragma unroll
    for (int k = 0; k < window; ++k) {
      const int source = row.source[k][line_];
      source_[k] = ready ? source : source_[k];
    }
  }

  /// Computes the sum of the waiting part from shared memory; returns whether all values were ready.
  /// `checks`: also detect values that have left the history because their line is too far ahead, and mark
  /// such rows as slow.
  __device__ bool finish_fast(T& sum, bool checks) {
    const auto& row = prepared_row(row_);
    const Word<T> far_sum = static_cast<const volatile Word<T>&>(row.partial_sum[line_]);
    LatestValue<T> latest[window];
    T coefficient[window];
#pragma unroll
    for (int k = 0; k < window; ++k) latest[k] = load_latest(static_cast<unsigned>(source_[k]) % span);
#pragma unroll
    for (int k = 0; k < window; ++k) coefficient[k] = row.coefficient[k][line_];
    partial_row_ = {row.reduced_rhs[line_], row.inverse_diagonal[line_], row.weighted_old[line_]};
    bool all_ready = (far_sum != not_ready<T>)&(remaining_ >= 0);
    bool overtaken = false;
#pragma unroll
    for (int k = 0; k < window; ++k) {
      all_ready = all_ready & (latest[k].source == source_[k]);
      overtaken = overtaken | (latest[k].source > source_[k]);
    }
    if (checks && overtaken && remaining_ >= 0) remaining_ = slow_row;
    sum = to_value<T>(far_sum);
#pragma unroll
    for (int k = 0; k < window; ++k) {
      const T next = multiply_add(coefficient[k], latest[k].value, sum);
      sum = k < remaining_ ? next : sum;
    }
    return all_ready;
  }

  /// One load of both value and source.
  [[nodiscard]] __device__ LatestValue<T> load_latest(unsigned place) const {
    using Words = std::conditional_t<sizeof(T) == 8, int4, int2>;
    const Words words = *reinterpret_cast<const Words*>(&latest_.entries[place]);
    LatestValue<T> latest;
    memcpy(&latest, &words, sizeof latest);
    return latest;
  }

  __device__ void start_slow_row(std::int32_t count) {
    count_ = count;
    next_ = 0;
    sum_ = 0;
    if (count_ > chain_limit) {
      for (int l = 0; l < chain_limit; ++l) partial_[l] = 0;
    }
  }

  /// Adds the next element if its value is ready; returns whether the part is complete.
  __device__ bool step_slow_row() {
    if (next_ < 0) start_slow_row(prepared_row(row_).count[line_]);
    const DeviceSweep<T>& task = group_.task;
    const std::int32_t i = group_.row_at(group_.line_first(line_) + row_);
    if (next_ < count_) {
      const std::int64_t element =
          forward ? task.row_offsets[i] + next_ : task.row_offsets[i + 1] - 1 - next_;
      const std::int32_t column = task.column_indices[element];
      Word<T> loaded = to_word(canonical_nan<T>);
      if (group_.precedes(column, i)) {
        loaded = Shared(*group_.word(group_.position_of(column))).load(cuda::memory_order_relaxed);
      }
      if (loaded == not_ready<T>) return false;
      const bool is_chain = count_ <= chain_limit;
      const T sum = multiply_add(task.values[element], to_value<T>(loaded),
                                 is_chain ? sum_ : partial_[next_ % chain_limit]);
      if (is_chain) {
        sum_ = sum;
      } else {
        partial_[next_ % chain_limit] = sum;
      }
      ++next_;
    }
    if (next_ < count_) return false;
    if (count_ > chain_limit) {
      for (int width = chain_limit / 2; width > 0; width /= 2) {
        for (int l = 0; l < width; ++l) partial_[l] += partial_[l + width];
      }
      sum_ = partial_[0];
    }
    return true;
  }

  /// Publishes the row. `keeps_old`: with its old value, as the diagonal element is missing or zero.
  __device__ void publish(T sum, bool keeps_old) {
    const T new_value = group_.task.relaxation.finish(partial_row_, sum);
    const T value = canonical(keeps_old ? partial_row_.weighted_old : new_value);
    if (forward && row_ >= first_stored_ && !keeps_old) *lower_sum_ = sum;
    const std::int32_t source = row_ * warp_size + line_;
    latest_.entries[static_cast<unsigned>(source) % span] = {value, source};
    Shared(*x_).store(to_word(value), cuda::memory_order_relaxed);
    x_ += forward ? 1 : -1;
    if (forward) ++lower_sum_;
    ++row_;
    remaining_ = not_prepared;
  }

  const LineGroup<T, forward> group_;
  PreparedRows<T, config>& prepared_ = line_storage<T, config>().prepared;
  LatestValues<T, config.history>& latest_ = line_storage<T, config>().latest;
  int line_;
  std::int32_t rows_;
  std::int32_t row_ = 0;
  Word<T>* x_;              // element of the current row
  T* lower_sum_ = nullptr;  // where the sum left of its diagonal is stored, from row first_stored_ on
  std::int32_t first_stored_ = INT32_MAX;
  int remaining_ = not_prepared;  // number of elements of the group, or slow_row
  // State of a prepared row:
  T sum_ = 0;
  PartialRow<T> partial_row_{};
  std::int32_t source_[window] = {};
  std::int32_t count_ = 0;  // slow rows: number of elements, -1 if the row keeps its x,
  std::int32_t next_ = 0;   // and number of elements added, -1 before the first step
  T* partial_;              // sums of a part with more than chain_limit elements
};

}  // namespace echelon::gauss_seidel
