// SPDX-License-Identifier: BSD-3-Clause
/// The warp that finishes the rows of a bundle, a lane for each line.
#pragma once

#include "relaxation/gauss_seidel/cuda/line_group.cuh"

namespace echelon::gauss_seidel {

/// Finishes the rows of one line.
template <class T, bool forward, class Shape>
class LineFollower {
 public:
  /// `partial`: room for chain_limit sums, outside of this object, which is to be in registers.
  __device__ LineFollower(const Bundle<T, forward>& bundle, T* partial)
      : bundle_(bundle),
        line_(static_cast<int>(threadIdx.x) % warp_lanes),
        rows_(bundle.rows_of(line_)),
        x_(bundle.word(bundle.line_first(line_))),
        partial_(partial) {
    if (!forward || bundle.task.lower == nullptr) return;
    const std::int64_t first = bundle.line_first(line_) - bundle.task.first_kept;  // of those kept
    lower_ = bundle.task.lower + bundle.side * (bundle.task.rows - bundle.task.first_kept) + first;
    first_kept_ = static_cast<std::int32_t>(max(std::int64_t{0}, -first));
  }

  /// A turn is a chain of instructions from shared memory to shared memory, and what a sweep's time hangs on.
  /// Lanes part as little as can be, for each parting takes as long as several instructions. How far a line
  /// has come is told every few turns, since that waits for what was written before.
  __device__ void follow_lines() {
    for (unsigned turn = 0; __any_sync(every_lane, row_ < rows_); ++turn) {
      const int opened = acquire(opened_row(left_ == not_open ? row_ : row_ + 1).opened[line_]);
      T sum = 0;
      bool keeps = false;
      bool is_done = finish_quickly(sum, turn % turns_unchecked == 0);
      if (__any_sync(every_lane, left_ == finished_slowly)) {
        if (left_ == finished_slowly) {
          is_done = finish_slowly();
          sum = sum_;
          keeps = count_ < 0;
        }
      }
      if (is_done) publish(sum, keeps);
      open(left_ == not_open && opened == row_ + 1);
      __syncwarp();
      if (turn % turns_untold == 0) release(opened_.closed[line_], row_);
      __syncwarp();
    }
  }

 private:
  using Shared = cuda::atomic_ref<Word<T>, cuda::thread_scope_device>;
  static constexpr int window = Shape::window;
  static constexpr unsigned span = LatestValues<T, Shape::kept>::span;
  static constexpr unsigned turns_untold = 4;
  static constexpr unsigned turns_unchecked = 32;
  static constexpr int not_open = finished_slowly - 1;

  [[nodiscard]] __device__ const OpenedRow<T, window>& opened_row(std::int32_t row) const {
    return opened_.row[static_cast<unsigned>(row) % Shape::depth];
  }

  /// Begins with the next row, if it is open.
  __device__ void open(bool opens) {
    const auto& row = opened_row(row_);
    const int left = row.left[line_];
    left_ = opens ? left : left_;
    next_ = opens ? -1 : next_;
#pragma unroll
    for (int k = 0; k < window; ++k) {
      const int source = row.source[k][line_];
      source_[k] = opens ? source : source_[k];
    }
  }

  /// The sum of the row's products, and whether all values have come. `checks`: one may have come and gone.
  __device__ bool finish_quickly(T& sum, bool checks) {
    const auto& row = opened_row(row_);
    const Word<T> far = static_cast<const volatile Word<T>&>(row.sum[line_]);
    LatestValue<T> latest[window];
    T coefficient[window];
#pragma unroll
    for (int k = 0; k < window; ++k) latest[k] = load_latest(static_cast<unsigned>(source_[k]) % span);
#pragma unroll
    for (int k = 0; k < window; ++k) coefficient[k] = row.coefficient[k][line_];
    half_done_ = {row.rest[line_], row.scale[line_], row.kept[line_]};
    bool all = (far != unpublished<T>)&(left_ >= 0);
    bool too_late = false;
#pragma unroll
    for (int k = 0; k < window; ++k) {
      all = all & (latest[k].source == source_[k]);
      too_late = too_late | (latest[k].source > source_[k]);
    }
    if (checks && too_late && left_ >= 0) left_ = finished_slowly;
    sum = to_value<T>(far);
#pragma unroll
    for (int k = 0; k < window; ++k) {
      const T next = multiply_add(coefficient[k], latest[k].value, sum);
      sum = k < left_ ? next : sum;
    }
    return all;
  }

  /// In one piece.
  [[nodiscard]] __device__ LatestValue<T> load_latest(unsigned place) const {
    using Words = std::conditional_t<sizeof(T) == 8, int4, int2>;
    const Words words = *reinterpret_cast<const Words*>(&latest_.of[place]);
    LatestValue<T> latest;
    memcpy(&latest, &words, sizeof latest);
    return latest;
  }

  __device__ void begin_slowly(std::int32_t count) {
    count_ = count;
    next_ = 0;
    sum_ = 0;
    if (count_ > chain_limit) {
      for (int l = 0; l < chain_limit; ++l) partial_[l] = 0;
    }
  }

  /// Takes the next element, if its value has come; whether it was the last.
  __device__ bool finish_slowly() {
    if (next_ < 0) begin_slowly(opened_row(row_).count[line_]);
    const DeviceSweep<T>& task = bundle_.task;
    const std::int32_t i = bundle_.row_at(bundle_.line_first(line_) + row_);
    if (next_ < count_) {
      const std::int64_t element =
          forward ? task.row_offsets[i] + next_ : task.row_offsets[i + 1] - 1 - next_;
      const std::int32_t column = task.column_indices[element];
      Word<T> seen = to_word(written_nan<T>);
      if (bundle_.can_wait_for(column, i)) {
        seen = Shared(*bundle_.word(bundle_.position_of(column))).load(cuda::memory_order_relaxed);
      }
      if (seen == unpublished<T>) return false;
      const bool is_chain = count_ <= chain_limit;
      const T sum = multiply_add(task.values[element], to_value<T>(seen),
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

  /// The row is done; `keeps`: with the value it had.
  __device__ void publish(T sum, bool keeps) {
    const T finished = bundle_.task.relaxation.finish(half_done_, sum);
    const T value = one_nan(keeps ? half_done_.kept : finished);
    if (forward && row_ >= first_kept_ && !keeps) *lower_ = sum;
    const std::int32_t source = row_ * warp_lanes + line_;
    latest_.of[static_cast<unsigned>(source) % span] = {value, source};
    Shared(*x_).store(to_word(value), cuda::memory_order_relaxed);
    x_ += forward ? 1 : -1;
    if (forward) ++lower_;
    ++row_;
    left_ = not_open;
  }

  const Bundle<T, forward> bundle_;
  OpenedRows<T, Shape>& opened_ = line_storage<T, Shape>().opened;
  LatestValues<T, Shape::kept>& latest_ = line_storage<T, Shape>().latest;
  int line_;
  std::int32_t rows_;
  std::int32_t row_ = 0;
  Word<T>* x_;          // its element
  T* lower_ = nullptr;  // where its lower sum is kept, from row first_kept_ on
  std::int32_t first_kept_ = INT32_MAX;
  int left_ = not_open;  // elements to take, or finished_slowly
  // Of a row that is open:
  T sum_ = 0;
  HalfDone<T> half_done_{};
  std::int32_t source_[window] = {};
  std::int32_t count_ = 0;  // and if slowly: elements in all, -1 if it keeps its value,
  std::int32_t next_ = 0;   // and those taken, -1 before all
  T* partial_;              // the sums of a part that is not one chain
};

}  // namespace echelon::gauss_seidel
