// SPDX-License-Identifier: BSD-3-Clause
/// The warps that go ahead along the lines of a bundle, and leave of each row what is known of it without the
/// bundle's own new values.
#pragma once

#include "relaxation/gauss_seidel/cuda/line_group.cuh"

#include <cuda_pipeline.h>

namespace echelon::gauss_seidel {

/// What is known before any waiting of a row whose elements lie in the matrix alone.
template <class T>
struct LongRow {
  T known;  ///< the sum of the part that is known
  T a_ii;
  std::int32_t count;  ///< elements of the other part
};

/// Not inlined: other rows are to have its registers.
template <class T, bool forward>
__device__ __noinline__ LongRow<T> open_long_row(const DeviceSweep<T>& task, unsigned side, std::int32_t i) {
  const T* old = task.old + side * task.leading_old;
  const RowParts parts = split_row(task.column_indices, task.row_offsets[i], task.row_offsets[i + 1], i);
  const T* lower_sum = forward ? nullptr : task.lower_sum(side, i);
  LongRow<T> row{};
  row.count = static_cast<std::int32_t>((forward ? parts.lower_part() : parts.upper_part()).count);
  if (parts.has_diagonal()) row.a_ii = task.values[parts.diagonal];
  row.known = lower_sum != nullptr ? *lower_sum
                                   : part_sum(task.column_indices, task.values,
                                              forward ? parts.upper_part() : parts.lower_part(),
                                              [=](std::int32_t j) { return old[j]; });
  return row;
}

/// Opens rows of some of the lines: a lane every so manieth row of one.
template <class T, bool forward, class Shape>
class LineOpener {
 public:
  __device__ LineOpener(const Bundle<T, forward>& bundle, int opener) : bundle_(bundle) {
    const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
    line_ = opener / Shape::crews * (warp_lanes / ahead) + lane / ahead;
    crew_ = opener % Shape::crews;
    number_ = lane % ahead;
    rows_ = bundle.rows_of(line_);
    row_ = crew_ * ahead + number_;
    x_ = bundle.task.x + bundle.side * bundle.task.leading_x;
    old_ = bundle.task.old + bundle.side * bundle.task.leading_old;
    buffer_ = (crew_ * warp_lanes + line_) * room;
    // Else they are computed anew for each element.
    asm volatile("" : "+l"(x_), "+l"(old_), "+r"(buffer_));
  }

  /// Opens the rows to the line's end. All lanes of the warp.
  __device__ void open_lines() {
    find(row_);
    bring(true);
    while (__any_sync(every_lane, row_ < rows_)) {
      const bool begins = may_begin();
      if (__any_sync(every_lane, begins)) begin_lines(begins);
      if (is_begun_ && !is_prepared_ && row_ < closed() + Shape::depth) prepare();
      const bool waits_for_far = only_waits_for_far();
      bool opens;
      do {
        opens = is_begun_ && take_far() && is_prepared_;
      } while (waits_for_far && !__any_sync(every_lane, opens));
      if (opens) hand_over();
      if (__any_sync(every_lane, opens)) bring_next(opens);
    }
  }

 private:
  using Shared = cuda::atomic_ref<Word<T>, cuda::thread_scope_device>;
  static constexpr int ahead = Shape::ahead;
  static constexpr int batch = Shape::batch;
  static constexpr int chunk = BroughtElements<T, Shape>::chunk;
  static constexpr int window = Shape::window;
  static constexpr int step = forward ? 1 : -1;  // along the part that waits, from its far end

  /// Whether the condition holds for a lane of the own line. All lanes of the warp.
  [[nodiscard]] __device__ bool any_of_line(bool condition) const {
    constexpr unsigned lanes = ahead == warp_lanes ? every_lane : (1u << ahead) - 1;
    return (__ballot_sync(every_lane, condition) >> (threadIdx.x % warp_lanes - number_) & lanes) != 0;
  }
  /// When the line's lanes are through with their rows. All lanes of the warp.
  __device__ void bring_next(bool opens) {
    const bool moved = any_of_line(opens);
    const bool busy = any_of_line(is_begun_);
    if (__any_sync(every_lane, moved && !busy)) bring(moved && !busy);
  }
  /// Whether nothing can be done before values of other bundles come. All lanes of the warp.
  [[nodiscard]] __device__ bool only_waits_for_far() const {
    const bool left = any_of_line(row_ < rows_);
    const bool busy = any_of_line(is_begun_);
    return __all_sync(every_lane, (busy || !left) && (is_prepared_ || !is_begun_)) != 0;
  }
  [[nodiscard]] __device__ int closed() const { return acquire(opened_.closed[line_]); }

  /// Whether to begin with the line's next rows: those before have been handed over, and the same is true of
  /// the warp's other lines, or it is urgent. All lanes of the warp.
  [[nodiscard]] __device__ bool may_begin() const {
    const bool left = any_of_line(row_ < rows_);
    const bool wants = !any_of_line(is_begun_) && left;
    const bool urgent = __any_sync(every_lane, wants && closed() + Shape::reserve >= row_ - number_);
    const bool all = __all_sync(every_lane, wants || !left);
    return wants && (urgent || all);
  }

  /// Finds the elements of a row of the line.
  __device__ void find(std::int32_t row) {
    if (row >= rows_) return;
    const std::int32_t i = bundle_.row_at(bundle_.line_first(line_) + row);
    found_begin_ = bundle_.task.row_offsets[i];
    found_end_ = bundle_.task.row_offsets[i + 1];
  }

  /// Has the elements of the line's next rows, which were found, brought to shared memory, if there is room
  /// for them. All lanes of the warp.
  __device__ void bring(bool wanted) {
    const std::int32_t first = row_ - number_;
    const int last = max(0, min(ahead, rows_ - first) - 1);
    const std::int64_t low = __shfl_sync(every_lane, found_begin_, forward ? 0 : last, ahead);
    const std::int64_t high = __shfl_sync(every_lane, found_end_, forward ? last : 0, ahead);
    if (!wanted || first >= rows_) return;
    const std::int64_t start = low / chunk * chunk;
    const bool has_room = high - start <= room;
    begin_ = has_room ? static_cast<int>(found_begin_ - start) : -1;
    end_ = static_cast<int>(found_end_ - start);
    if (has_room) copy(start, static_cast<int>(high - start));
  }
  /// Has so many elements copied by the line's lanes, a few more unless the matrix ends.
  __device__ void copy(std::int64_t start, int count) {
    const std::int32_t* columns = bundle_.task.column_indices + start;
    const T* values = bundle_.task.values + start;
    if (start + count + chunk <= bundle_.nonzeros) {
      constexpr int part = 16 / static_cast<int>(sizeof(T));
#pragma unroll 1
      for (int e = chunk * number_; e < count; e += chunk * ahead) {
        __pipeline_memcpy_async(&brought_.columns[buffer_ + e], columns + e, 16);
#pragma unroll
        for (int k = 0; k < chunk; k += part) {
          __pipeline_memcpy_async(&brought_.values[buffer_ + e + k], values + e + k, 16);
        }
      }
    } else {
#pragma unroll 1
      for (int e = number_; e < count; e += ahead) {
        __pipeline_memcpy_async(&brought_.columns[buffer_ + e], columns + e, sizeof *columns);
        __pipeline_memcpy_async(&brought_.values[buffer_ + e], values + e, sizeof *values);
      }
    }
    __pipeline_commit();
  }

  /// Begins with rows of the lines that want to. All lanes of the warp.
  __device__ void begin_lines(bool begins) {
    __pipeline_wait_prior(0);
    __syncwarp();
    if (begins) find(row_ + Shape::stride);
    if (begins && row_ < rows_) begin();
  }

  /// Does what needs no waiting.
  __device__ void begin() {
    const DeviceSweep<T>& task = bundle_.task;
    i_ = bundle_.row_at(bundle_.line_first(line_) + row_);
    const T old_x = old_[i_];
    const T b_i = task.b[bundle_.side * task.leading_b + i_];
    T a_ii = 0;
    T known = 0;
    is_begun_ = true;
    far_ = 0;
    taken_ = 0;
    sum_ = 0;
    if (begin_ < 0) {
      const LongRow<T> row = open_long_row<T, forward>(task, bundle_.side, i_);
      a_ii = row.a_ii;
      known = row.known;
      count_ = row.count;
    } else {
      const int upper = find_diagonal(a_ii);
      const int lower = upper - (a_ii_is_stored_ ? 1 : 0);
      known = bundle_.knows_lower(i_) ? *bundle_.lower_sum(i_)
              : forward               ? sum_known(end_ - 1, end_ - upper)
                                      : sum_known(begin_, lower - begin_);
      count_ = forward ? lower - begin_ : end_ - upper;
      ask_ahead();
      if (count_ <= chain_limit) count_far();
    }
    half_done_ = {T{0}, T{0}, old_x};
    if (a_ii == T{0}) {
      count_ = -1;
      far_ = 0;
      if (task.skipped != nullptr && bundle_.side == 0) count_skipped(*task.skipped, i_);
    } else {
      half_done_ = task.relaxation.begin(b_i, known, a_ii, old_x);
    }
  }

  /// Asks for what a row of the line will read that nobody has read before it.
  __device__ void ask_ahead() const {
    if (begin_ == end_) return;
    constexpr int distance = Shape::stride * step;
    const std::int32_t row = i_ + distance;
    const std::int32_t column = column_at(forward ? end_ - 1 : begin_) + distance;
    const auto rows = static_cast<std::uint32_t>(bundle_.task.rows);
    if (static_cast<std::uint32_t>(row) >= rows || static_cast<std::uint32_t>(column) >= rows) return;
    prefetch_word(bundle_.task.b + bundle_.side * bundle_.task.leading_b + row);
    prefetch_word(old_ + column);
    if (bundle_.knows_lower(row)) prefetch_word(bundle_.lower_sum(row));
  }
  __device__ static void prefetch_word(const T* word) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(word));
  }

  /// Returns where the elements right of the diagonal begin. Mostly the diagonal element lies where it lay in
  /// the row before.
  __device__ int find_diagonal(T& a_ii) {
    int diagonal = begin_ + usual_;
    if (diagonal >= end_ || column_at(diagonal) != i_) {
      diagonal = static_cast<int>(lower_bound(&brought_.columns[buffer_], begin_, end_, i_));
    }
    usual_ = diagonal - begin_;
    a_ii_is_stored_ = diagonal < end_ && column_at(diagonal) == i_;
    if (!a_ii_is_stored_) return diagonal;
    a_ii = value_at(diagonal);
    return diagonal + 1;
  }

  /// The sum of so many known elements, `first` and those towards the diagonal.
  [[nodiscard]] __device__ T sum_known(int first, int count) const {
    if (count > chain_limit) return open_long_row<T, forward>(bundle_.task, bundle_.side, i_).known;
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
    return brought_.columns[buffer_ + element];
  }
  [[nodiscard]] __device__ T value_at(int element) const {
    return brought_.values[buffer_ + element];
  }
  /// Number e of those that the row waits for.
  [[nodiscard]] __device__ int element(int e) const {
    return forward ? begin_ + e : end_ - 1 - e;
  }

  /// Counts the elements of other bundles, which come first. Mostly there are as many as in the row before.
  __device__ void count_far() {
    far_ = min(usual_far_, count_);
    while (far_ < count_ && is_far(column_at(element(far_)))) ++far_;
    while (far_ > 0 && !is_far(column_at(element(far_ - 1)))) --far_;
    usual_far_ = far_;
  }
  [[nodiscard]] __device__ bool is_far(std::int32_t column) const {
    return bundle_.position_of(column) < bundle_.first;
  }

  /// Takes the values of other bundles, as far as they have come; whether all have.
  __device__ bool take_far() {
    constexpr int tries = Shape::tries;
    const int first = taken_;
    if (first == far_) return true;
    std::int32_t column[tries];
    T coefficient[tries];
    Word<T> seen[tries];
#pragma unroll
    for (int k = 0; k < tries; ++k) {
      const int e = element(min(first + k, far_ - 1));
      column[k] = column_at(e);
      coefficient[k] = value_at(e);
    }
    asm volatile("" ::: "memory");  // else the first value is waited for before the others are asked for
#pragma unroll
    for (int k = 0; k < tries; ++k) seen[k] = first + k < far_ ? load_far(column[k]) : unpublished<T>;
#pragma unroll
    for (int k = 0; k < tries; ++k) {
      if (taken_ < first + k || seen[k] == unpublished<T>) break;
      sum_ = multiply_add(coefficient[k], to_value<T>(seen[k]), sum_);
      ++taken_;
    }
    return taken_ == far_;
  }
  /// One that comes out of order, among those of other bundles, may never come.
  [[nodiscard]] __device__ Word<T> load_far(std::int32_t column) const {
    if (!is_far(column)) return to_word(written_nan<T>);
    return Shared(*reinterpret_cast<Word<T>*>(x_ + column)).load(cuda::memory_order_relaxed);
  }

  /// Leaves to the warp that finishes the row what it needs, but for the sum, which may not be complete.
  __device__ void prepare() {
    auto& opened = opened_.row[static_cast<unsigned>(row_) % Shape::depth];
    const int left = count_ - far_;
    bool quick = begin_ >= 0 && count_ >= 0 && count_ <= chain_limit && left <= window;
#pragma unroll
    for (int k = 0; k < window; ++k) {
      // Instead of nothing, what is there once the row is the line's next.
      std::int32_t source = (row_ - 1) * warp_lanes + line_;
      if (quick && k < left) {
        const int e = element(far_ + k);
        source = bundle_.source_of(column_at(e), line_);
        quick = source >= 0 && bundle_.can_wait_for(column_at(e), i_);
        opened.coefficient[k][line_] = value_at(e);
      }
      opened.source[k][line_] = source;
    }
    opened.rest[line_] = half_done_.rest;
    opened.scale[line_] = half_done_.scale;
    opened.kept[line_] = half_done_.kept;
    opened.sum[line_] = unpublished<T>;
    opened.left[line_] = quick ? left : finished_slowly;
    opened.count[line_] = count_;
    release(opened.opened[line_], row_ + 1);
    is_prepared_ = true;
  }

  /// And the sum, which is its own flag.
  __device__ void hand_over() {
    volatile Word<T>& sum = opened_.row[static_cast<unsigned>(row_) % Shape::depth].sum[line_];
    sum = to_word(one_nan(sum_));
    is_begun_ = false;
    is_prepared_ = false;
    row_ += Shape::stride;
  }

  const Bundle<T, forward> bundle_;
  OpenedRows<T, Shape>& opened_ = line_storage<T, Shape>().opened;
  BroughtElements<T, Shape>& brought_ = line_storage<T, Shape>().brought;
  static constexpr int room = BroughtElements<T, Shape>::room;
  int line_;
  int crew_;
  int number_;  // the lane's, of those of the line
  std::int32_t rows_;
  std::int32_t row_;
  T* x_;  // of the right-hand side
  const T* old_;
  int buffer_;                    // where the line's elements are brought to
  std::int64_t found_begin_ = 0;  // of the row found last, in the matrix
  std::int64_t found_end_ = 0;
  int usual_ = 0;      // elements left of the diagonal
  int usual_far_ = 0;  // elements of other bundles
  int begin_ = 0;      // of the row that is next or begun, in the buffer; -1: it is not there
  int end_ = 0;
  // Of a row that is begun:
  bool is_begun_ = false;
  bool is_prepared_ = false;
  bool a_ii_is_stored_ = false;
  std::int32_t i_ = 0;
  HalfDone<T> half_done_{};
  int count_ = 0;  // elements that the row waits for; -1: it keeps its value
  int far_ = 0;    // of them, the first so many are other bundles'
  int taken_ = 0;  // and so many of these have come
  T sum_ = 0;
};

}  // namespace echelon::gauss_seidel
