// SPDX-License-Identifier: BSD-3-Clause
/// A sweep along lines: a lane takes `length` rows one after another, and the lanes of a warp the lines of a
/// grid side by side, so that a wavefront runs through all lines of the grid at a time. So many lines are a
/// bundle, and a block's.
///
/// A block has one warp that finishes rows and others that open them: these go ahead of it along the same
/// lines, and leave in shared memory what is known of a row without the bundle's own new values. A
/// matrix's elements of a few rows of a line are one range, which a few lanes bring to shared memory side
/// by side. Values of other bundles come from x, where the value is the flag as in
/// gauss_seidel_kernel.cuh; in an order from the far end they come first, so whoever opens the row waits
/// for them and adds them up. The one warp that all lines of the bundle depend on looks at shared memory
/// alone: at rows that are open, and at the latest values of each line. It is one warp, so a row is to
/// cost it few instructions; rows that have more elements of the own bundle than there is room for, or
/// come from a range that has no room, are finished slowly, element by element, from x.
///
/// Why it cannot hang, whatever the pattern: positions are shared out in their order, to a block by ticket,
/// then to lanes. All that a row waits for has a smaller position; so it is of a block that has started, or
/// of an earlier line of the same bundle, or earlier in the same line. No warp stops at a lane that has to
/// wait, and rows of a line are opened in order as far as there is room, hence the smallest position
/// unfinished is always one that can be opened and finished. The length of the lines is a matter of speed
/// alone.
#pragma once

#include "relaxation/gauss_seidel_kernel.cuh"
#include "relaxation/gauss_seidel_lines.hpp"

namespace echelon::gauss_seidel {

/// How a block works. Warps that open rows take `ahead` of a line at a time, by as many lanes, and there are
/// `crews` of them for each line, which take turns; `depth` rows of a line are open at most. A warp begins
/// with such rows of all its lines together, unless the finishing warp has at most `reserve` rows of a line
/// left. There is shared memory for `room` elements of a row that a warp is about to open, and for `window`
/// of an open one. Elements that the openers look at go in steps of `batch`. So many blocks are to fit onto
/// a multiprocessor.
template <int ahead_, int crews_, int depth_, int reserve_, int room_, int window_, int batch_, int blocks_>
struct LineShape {
  static constexpr int ahead = ahead_;
  static constexpr int crews = crews_;
  static constexpr int stride = ahead * crews;
  static constexpr int depth = depth_;
  static constexpr int reserve = reserve_;
  static constexpr int room = room_;
  static constexpr int window = window_;
  static constexpr int batch = batch_;
  static constexpr int blocks = blocks_;
  /// Warps take turns in fours: the others of the finishing warp's four are left idle where that costs
  /// nothing.
  static constexpr bool apart = blocks == 1;
  static constexpr int warps = 1 + stride + (apart ? (stride - 1) / 3 : 0);
  static constexpr int threads = warp_lanes * warps;
  static_assert(depth % stride == 0 && warp_lanes % ahead == 0);
};

/// One for each line, and a few more: neither a row's lanes nor a line's rows meet in a bank.
template <class V>
using OfLines = V[warp_lanes + 4];

/// What is known of rows before any waiting for the bundle's values, `depth` for each line.
template <class T, class Shape>
struct OpenedRows {
  OfLines<T> rest[Shape::depth];
  OfLines<T> scale[Shape::depth];
  OfLines<T> kept[Shape::depth];
  OfLines<T> sum[Shape::depth];                         ///< of the elements taken
  OfLines<T> coefficient[Shape::depth][Shape::window];  ///< of the elements to take
  OfLines<std::int32_t> source[Shape::depth][Shape::window];
  OfLines<std::int32_t> left[Shape::depth];   ///< elements to take; -1: the row is to be finished slowly
  OfLines<std::int32_t> count[Shape::depth];  ///< elements in all; -1: the row keeps its value
  OfLines<int> opened[Shape::depth];          ///< the row's number in the line, plus 1
  int closed[warp_lanes];                     ///< at least so many rows of the line are done
};

/// A line's latest values, for the warp that finishes rows.
template <class T>
struct LatestValues {
  static constexpr int kept = 32;
  T value[kept][warp_lanes];
  int done[warp_lanes];  ///< rows of the line
};

/// Elements of the rows that the openers are at.
template <class T, class Shape>
struct BroughtElements {
  static constexpr int room = Shape::ahead * Shape::room;
  T values[Shape::crews][warp_lanes][room];
  std::int32_t columns[Shape::crews][warp_lanes][room];
};

template <class T, class Shape>
struct LineStorage {
  OpenedRows<T, Shape> opened;
  LatestValues<T> latest;
  BroughtElements<T, Shape> brought;
};

template <class T, class Shape>
__device__ LineStorage<T, Shape>& line_storage() {
  return *reinterpret_cast<LineStorage<T, Shape>*>(gauss_seidel_storage);
}

/// Between warps of a block, in shared memory.
__device__ inline int acquire(const int& flag) {
  int value;
  asm volatile("ld.acquire.cta.shared.s32 %0, [%1];"
               : "=r"(value)
               : "l"(__cvta_generic_to_shared(&flag))
               : "memory");
  return value;
}
__device__ inline void release(int& flag, int value) {
  asm volatile("st.release.cta.shared.s32 [%0], %1;" ::"l"(__cvta_generic_to_shared(&flag)), "r"(value)
               : "memory");
}

/// The lines of a block.
template <class T, bool forward>
struct Bundle {
  const DeviceSweep<T>& task;
  std::int32_t length;  ///< of a line
  std::int32_t first;   ///< position of the bundle
  unsigned side;        ///< the right-hand side
  float per_row;        ///< 1 / length

  [[nodiscard]] __device__ std::int32_t row_at(std::int32_t position) const {
    return forward ? position : static_cast<std::int32_t>(task.rows) - 1 - position;
  }
  [[nodiscard]] __device__ std::int32_t position_of(std::int32_t row) const {
    return forward ? row : static_cast<std::int32_t>(task.rows) - 1 - row;
  }
  [[nodiscard]] __device__ std::int32_t line_first(int line) const { return first + line * length; }
  /// Rows of a line: none, if it would begin behind the last row.
  [[nodiscard]] __device__ std::int32_t rows_of(int line) const {
    const std::int64_t left = task.rows - (std::int64_t{first} + std::int64_t{line} * length);
    return static_cast<std::int32_t>(max(std::int64_t{0}, min(left, std::int64_t{length})));
  }
  [[nodiscard]] __device__ Word<T>* word(std::int32_t position) const {
    return reinterpret_cast<Word<T>*>(task.x + side * task.leading_x + row_at(position));
  }
  /// Null unless it is kept.
  [[nodiscard]] __device__ T* lower_sum(std::int32_t row) const { return task.lower_sum(side, row); }
  [[nodiscard]] __device__ bool knows_lower(std::int32_t row) const {
    return !forward && lower_sum(row) != nullptr;
  }
  /// Whether a column's value comes before the row's, as it does unless columns are unsorted.
  [[nodiscard]] __device__ bool can_wait_for(std::int32_t column, std::int32_t row) const {
    return position_of(column) < position_of(row);
  }
  /// Where a value comes from: the line and its row's number in the line, or, negative, another bundle.
  [[nodiscard]] __device__ std::int32_t source_of(std::int32_t column) const {
    const std::int32_t local = position_of(column) - first;
    if (local < 0) return local;
    // The quotient is at most one off, however long lines are; behind the bundle it does not matter.
    auto line = static_cast<std::int32_t>(min(static_cast<float>(local) * per_row, 31.0f));
    if (line * length > local) --line;
    if ((line + 1) * length <= local) ++line;
    return (local - line * length) * warp_lanes + line;
  }
};

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
    row_ = crew_ * ahead + number_;
    rows_ = bundle.rows_of(line_);
  }

  /// Opens the rows to the line's end. All lanes of the warp.
  __device__ void open_lines() {
    find(row_);
    bring(true);
    while (__any_sync(every_lane, row_ < rows_)) {
      const bool begins = may_begin();
      if (__any_sync(every_lane, begins)) begin_lines(begins);
      if (is_begun_ && !is_prepared_ && row_ < closed() + Shape::depth) prepare();
      const bool opens = is_begun_ && take_far() && is_prepared_;
      if (opens) hand_over();
      if (__any_sync(every_lane, opens)) bring_next(opens);
      if (!__any_sync(every_lane, begins || opens)) __nanosleep(20);
    }
  }

 private:
  using Shared = cuda::atomic_ref<Word<T>, cuda::thread_scope_device>;
  static constexpr int ahead = Shape::ahead;
  static constexpr int batch = Shape::batch;
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
    bring(moved && !busy);
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
    const bool has_room = high - low <= room;
    begin_ = has_room ? static_cast<int>(found_begin_ - low) : -1;
    end_ = static_cast<int>(found_end_ - low);
    if (!has_room) return;
    const auto count = static_cast<int>(high - low);
    std::int32_t* columns = brought_.columns[crew_][line_];
    T* values = brought_.values[crew_][line_];
    for (int e = number_; e < count; e += ahead) {
      __pipeline_memcpy_async(columns + e, bundle_.task.column_indices + low + e, sizeof *columns);
      __pipeline_memcpy_async(values + e, bundle_.task.values + low + e, sizeof *values);
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
    const T old_x = task.old[bundle_.side * task.leading_old + i_];
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
    prefetch_word(bundle_.task.old + bundle_.side * bundle_.task.leading_old + column);
  }
  __device__ static void prefetch_word(const T* word) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(word));
  }

  /// Returns where the elements right of the diagonal begin. Mostly the diagonal element lies where it lay in
  /// the row before.
  __device__ int find_diagonal(T& a_ii) {
    int diagonal = begin_ + usual_;
    if (diagonal >= end_ || column_at(diagonal) != i_) {
      diagonal = static_cast<int>(lower_bound(brought_.columns[crew_][line_], begin_, end_, i_));
    }
    usual_ = diagonal - begin_;
    a_ii_is_stored_ = diagonal < end_ && column_at(diagonal) == i_;
    if (!a_ii_is_stored_) return diagonal;
    a_ii = value_at(diagonal);
    return diagonal + 1;
  }

  /// The sum of so many known elements, `first` and those towards the diagonal.
  [[nodiscard]] __device__ T sum_known(int first, int count) const {
    const T* old = bundle_.task.old + bundle_.side * bundle_.task.leading_old;
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
        value[k] = old[column_at(element)];
      }
#pragma unroll
      for (int k = 0; k < batch; ++k) {
        if (e + k < count) sum = multiply_add(coefficient[k], value[k], sum);
      }
    }
    return sum;
  }

  [[nodiscard]] __device__ std::int32_t column_at(int element) const {
    return brought_.columns[crew_][line_][element];
  }
  [[nodiscard]] __device__ T value_at(int element) const {
    return brought_.values[crew_][line_][element];
  }
  /// Number e of those that the row waits for.
  [[nodiscard]] __device__ int element(int e) const {
    return forward ? begin_ + e : end_ - 1 - e;
  }

  /// Counts the elements of other bundles, which come first.
  __device__ void count_far() {
    bool is_far = true;
    for (int e = 0; is_far && e < count_; e += batch) {
#pragma unroll
      for (int k = 0; k < batch; ++k) {
        is_far = is_far && e + k < count_ && bundle_.position_of(column_at(element(e + k))) < bundle_.first;
        if (is_far) ++far_;
      }
    }
  }

  [[nodiscard]] __device__ Word<T> load_far(int e) const {
    T* x = bundle_.task.x + bundle_.side * bundle_.task.leading_x;
    return Shared(*reinterpret_cast<Word<T>*>(x + column_at(element(e)))).load(cuda::memory_order_relaxed);
  }

  /// Takes the values of other bundles, as far as they have come; whether all have.
  __device__ bool take_far() {
    constexpr int tries = 6;
    const int first = taken_;
    if (first == far_) return true;
    Word<T> seen[tries];
#pragma unroll
    for (int k = 0; k < tries; ++k) {
      seen[k] = first + k < far_ ? load_far(first + k) : unpublished<T>;
    }
#pragma unroll
    for (int k = 0; k < tries; ++k) {
      if (taken_ < first + k || seen[k] == unpublished<T>) continue;
      sum_ = multiply_add(value_at(element(first + k)), to_value<T>(seen[k]), sum_);
      ++taken_;
    }
    return taken_ == far_;
  }

  /// Writes what the warp that finishes the row needs, but for the sum, which may not be complete.
  __device__ void prepare() {
    const auto slot = static_cast<unsigned>(row_) % Shape::depth;
    const int left = count_ - far_;
    bool quick = begin_ >= 0 && count_ >= 0 && count_ <= chain_limit && left <= window;
    if (quick) {
#pragma unroll
      for (int k = 0; k < window; ++k) {
        if (k >= left) continue;
        const std::int32_t column = column_at(element(far_ + k));
        const std::int32_t source = bundle_.source_of(column);
        quick = quick && source >= 0 && bundle_.can_wait_for(column, i_);
        opened_.source[slot][k][line_] = source;
        opened_.coefficient[slot][k][line_] = value_at(element(far_ + k));
      }
    }
    opened_.rest[slot][line_] = half_done_.rest;
    opened_.scale[slot][line_] = half_done_.scale;
    opened_.kept[slot][line_] = half_done_.kept;
    opened_.left[slot][line_] = quick ? left : -1;
    opened_.count[slot][line_] = count_;
    is_prepared_ = true;
  }

  /// Leaves the row to the warp that finishes it.
  __device__ void hand_over() {
    const auto slot = static_cast<unsigned>(row_) % Shape::depth;
    opened_.sum[slot][line_] = sum_;
    release(opened_.opened[slot][line_], row_ + 1);
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
  std::int64_t found_begin_ = 0;  // of the row found last, in the matrix
  std::int64_t found_end_ = 0;
  int usual_ = 0;  // elements left of the diagonal
  int begin_ = 0;  // of the row that is next or begun, in the buffer; -1: it is not there
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

/// The next bundle. All threads of the block, which are done with the bundle before.
__device__ inline unsigned take_bundle(unsigned* tickets) {
  __shared__ unsigned taken;
  __syncthreads();
  if (threadIdx.x == 0) taken = atomicAdd(tickets, 1u);
  __syncthreads();
  return taken;
}

template <class T, bool forward, class Shape>
__global__ void __launch_bounds__(Shape::threads, Shape::blocks)
    sweep_along_lines(const __grid_constant__ DeviceSweep<T> task) {
  if (!task.is_wanted(Way::lines)) return;
  const std::int32_t length = *task.line_length;
  const std::int64_t bundle_rows = std::int64_t{warp_lanes} * length;
  const unsigned wanted =
      static_cast<unsigned>((task.rows + bundle_rows - 1) / bundle_rows) * task.right_hand_sides;
  const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
  for (unsigned ticket = take_bundle(task.tickets);; ticket = take_bundle(task.tickets)) {
    if (ticket >= wanted) {
      // Every block takes one ticket too many; this one is the last.
      if (threadIdx.x == 0 && ticket == wanted + gridDim.x - 1) *task.tickets = 0;
      return;
    }
    LineStorage<T, Shape>& storage = line_storage<T, Shape>();
    if (threadIdx.x < warp_lanes) {
      storage.latest.done[threadIdx.x] = 0;
      storage.opened.closed[threadIdx.x] = 0;
      for (auto& opened : storage.opened.opened) opened[threadIdx.x] = 0;
    }
    __syncthreads();
    const unsigned number = ticket / task.right_hand_sides;
    const Bundle<T, forward> bundle{task, length, static_cast<std::int32_t>(number * bundle_rows),
                                    ticket % task.right_hand_sides, 1.0f / static_cast<float>(length)};
    if (warp == 0) {
      T partial[chain_limit];
      LineFollower<T, forward, Shape>(bundle, partial).follow_lines();
    } else if (!Shape::apart || warp % 4 != 0) {
      const int opener = warp - 1 - (Shape::apart ? warp / 4 : 0);
      LineOpener<T, forward, Shape>(bundle, opener).open_lines();
    }
  }
}

}  // namespace echelon::gauss_seidel
