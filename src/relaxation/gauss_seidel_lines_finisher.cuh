// SPDX-License-Identifier: BSD-3-Clause
/// The warp that finishes the rows of a bundle, a lane for each line.
#pragma once

#include "relaxation/gauss_seidel_lines_bundle.cuh"

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
        partial_(partial) {}

  /// How far it has come is told every few turns, since that waits for what was written before.
  __device__ void follow_lines() {
    for (unsigned turn = 0; __any_sync(every_lane, row_ < rows_); ++turn) {
      if (!is_open_ && row_ < rows_) open();
      const bool is_done = is_open_ && (left_ >= 0 ? finish_quickly() : finish_slowly());
      __syncwarp();
      if (is_done) publish();
      if (turn % turns_untold == 0) release(opened_.closed[line_], row_);
      __syncwarp();
    }
  }

 private:
  using Shared = cuda::atomic_ref<Word<T>, cuda::thread_scope_device>;
  static constexpr int window = Shape::window;
  static constexpr int kept = LatestValues<T>::kept;
  static constexpr unsigned turns_untold = 4;

  /// Begins with the next row, if it is open.
  __device__ void open() {
    const auto slot = static_cast<unsigned>(row_) % Shape::depth;
    if (acquire(opened_.opened[slot][line_]) != row_ + 1) return;
    is_open_ = true;
    left_ = opened_.left[slot][line_];
    sum_ = opened_.sum[slot][line_];
    half_done_ = {opened_.rest[slot][line_], opened_.scale[slot][line_], opened_.kept[slot][line_]};
#pragma unroll
    for (int k = 0; k < window; ++k) {
      source_[k] = opened_.source[slot][k][line_];
      coefficient_[k] = opened_.coefficient[slot][k][line_];
    }
    if (left_ < 0) begin_slowly(opened_.count[slot][line_]);
  }

  /// Adds the row's products up, if all values have come.
  __device__ bool finish_quickly() {
    T value[window];
    bool all = true;
    bool too_old = false;
#pragma unroll
    for (int k = 0; k < window; ++k) {
      const auto source = static_cast<unsigned>(source_[k]);
      const int age = latest_.done[source % warp_lanes] - static_cast<int>(source / warp_lanes);
      value[k] = latest_.value[source / warp_lanes % kept][source % warp_lanes];
      all = all && (k >= left_ || age > 0);
      too_old = too_old || (k < left_ && age > kept);
    }
    if (too_old) begin_slowly(count_of_row());
    if (!all || too_old) return false;
#pragma unroll
    for (int k = 0; k < window; ++k) {
      const T sum = multiply_add(coefficient_[k], value[k], sum_);
      sum_ = k < left_ ? sum : sum_;
    }
    return true;
  }

  [[nodiscard]] __device__ std::int32_t count_of_row() const {
    return opened_.count[static_cast<unsigned>(row_) % Shape::depth][line_];
  }

  __device__ void begin_slowly(std::int32_t count) {
    left_ = -1;
    count_ = count;
    next_ = 0;
    sum_ = 0;
    if (count_ > chain_limit) {
      for (int l = 0; l < chain_limit; ++l) partial_[l] = 0;
    }
  }

  /// Takes the next element, if its value has come; whether it was the last.
  __device__ bool finish_slowly() {
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

  __device__ void publish() {
    T value = half_done_.kept;
    if (left_ >= 0 || count_ >= 0) {
      if (forward && bundle_.task.lower != nullptr) keep_lower_sum();
      value = bundle_.task.relaxation.finish(half_done_, sum_);
    }
    value = one_nan(value);
    latest_.value[static_cast<unsigned>(row_) % kept][line_] = value;
    Shared(*x_).store(to_word(value), cuda::memory_order_relaxed);
    x_ += forward ? 1 : -1;
    ++row_;
    latest_.done[line_] = row_;
    is_open_ = false;
  }

  __device__ void keep_lower_sum() const {
    T* lower = bundle_.lower_sum(bundle_.row_at(bundle_.line_first(line_) + row_));
    if (lower != nullptr) *lower = sum_;
  }

  const Bundle<T, forward> bundle_;
  OpenedRows<T, Shape>& opened_ = line_storage<T, Shape>().opened;
  LatestValues<T>& latest_ = line_storage<T, Shape>().latest;
  int line_;
  std::int32_t rows_;
  std::int32_t row_ = 0;
  Word<T>* x_;  // its element
  // Of a row that is open:
  bool is_open_ = false;
  int left_ = 0;  // elements to take; -1: the row is finished slowly
  T sum_ = 0;
  HalfDone<T> half_done_{};
  std::int32_t source_[window];
  T coefficient_[window];
  std::int32_t count_ = 0;  // and if slowly: elements in all, -1 if it keeps its value,
  std::int32_t next_ = 0;   // and those taken
  T* partial_;              // the sums of a part that is not one chain
};

}  // namespace echelon::gauss_seidel
