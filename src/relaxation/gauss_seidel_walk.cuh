// SPDX-License-Identifier: BSD-3-Clause
/// A sweep over very many short rows: each warp walks through a region of its own, 32 rows at a time, and
/// does not wait for other warps. Rows for which a value of another region is missing are left over, and with
/// them those that need them; a warp returns to its leftovers when it has walked through its region, or when
/// there is no room for more, and looks at all of them again and again until they are done.
///
/// A row's neighbours are mostly near, so most values come from the warp itself: of the same 32 rows by
/// shuffles, of the rows shortly before from a ring in shared memory. The elements of the next rows are on
/// their way while a warp is at work on its rows. What a leftover still needs is kept as one record, so that
/// its offset, elements and b need not be read again. Long rows are left over whole, for all lanes together.
///
/// Why it cannot hang: regions are shared out by ticket, in their order, so whatever a row waits for is of a
/// region whose warp has started, or smaller in the same region. A warp never stops at a row: it looks at its
/// leftovers in turn, and all rows behind them that it has not come to are larger. So the smallest unfinished
/// row of all is done when its warp comes to it, or comes to it again.
#pragma once

#include "relaxation/gauss_seidel_kernel.cuh"

namespace echelon::gauss_seidel {

/// What a row still needs when a value was missing.
template <class T>
struct Leftover {
  T sum;          ///< of the elements taken
  T coefficient;  ///< of the element that is next
  T rest;
  T scale;
  std::int32_t row;
  std::int32_t element;  ///< its place in the region; -1: it is the last before the diagonal
};

/// A leftover as it is looked at.
struct Pending {
  /// The unknown that is missing; -1: the whole row is to be done, by the warp; -2: the row is done.
  std::int32_t source;
  std::int32_t place;  ///< of the Leftover; of a whole row the row
};

/// Leftovers are kept in pieces of so many, of which a warp takes another when it needs one.
inline constexpr int piece_of_leftovers = 128;

/// How rows are shared out among warps.
template <class T>
struct Walk {
  std::int64_t rows_of_region;  ///< a multiple of 32
  std::int64_t regions;
  int pieces;              ///< at least one for each region and right-hand side
  Leftover<T>* leftovers;  ///< of all pieces
  Pending* pending;        ///< as many
  unsigned* taken;         ///< pieces, besides the first of each region; 0 in the beginning
};

/// Warps of a block, and blocks that are to fit onto a multiprocessor: as many as bring the bytes, since each
/// region more leaves more rows over.
inline constexpr int walking_warps = 4;
template <class T>
inline constexpr int walking_blocks = sizeof(T) == 4 ? 6 : 4;

/// A warp's shared memory.
template <class T>
struct WalkStorage {
  static constexpr int most_pieces = 32;
  static constexpr int room = 192;  ///< elements of 32 rows; more are not brought here
  static constexpr int ring = 256;  ///< rows whose values are at hand
  static constexpr int ready = 8 * warp_lanes;
  /// Elements of these 32 rows and of the next.
  struct Brought {
    T values[2][room];
    Word<T> words[room];
    std::int32_t columns[2][room];
  };
  /// Leftovers that can go on.
  struct Ready {
    Word<T> word[ready];
    std::int32_t number[ready];
  };
  union {
    Brought brought;
    Ready ready_ones;
  };
  Word<T> latest[ring];
  int pieces[most_pieces];
};

template <class T>
ECHELON_ANYWHERE bool is_value(Word<T> word) {
  return word < (unpublished<T> & ~Word<T>{0xff});
}
/// In place of a value that another lane is to compute.
template <class T>
ECHELON_ANYWHERE Word<T> of_lane(int lane) {
  return (unpublished<T> & ~Word<T>{0xff}) | static_cast<Word<T>>(lane);
}

/// Values for a row that all lanes finish; those that cannot come are NaN.
template <class T, bool forward>
struct PresentValues {
  Word<T>* x;
  int row;
  [[nodiscard]] __device__ Word<T> look(std::int32_t column) const {
    if (forward ? column >= row : column <= row) return to_word(written_nan<T>);
    return cuda::atomic_ref<Word<T>, cuda::thread_scope_device>(x[column]).load(cuda::memory_order_relaxed);
  }
  [[nodiscard]] __device__ T wait(std::int32_t /*column*/, Word<T> seen) const { return to_value<T>(seen); }
};

/// The sum of a part whose values are there. All lanes of the warp.
template <class T, class Values>
__device__ T present_sum(const DeviceSweep<T>& task, const Part& part, const Values& x) {
  if (part.count > chain_limit) return tree_by_warp(task.column_indices, task.values, part, x);
  const auto value = [&](std::int32_t column) { return x.wait(column, x.look(column)); };
  return chain(task.column_indices, task.values, part, std::int64_t{0}, std::int64_t{1}, value);
}

/// Finishes a long row if all is there. All lanes of the warp.
template <class T, bool forward>
__device__ __noinline__ bool try_row(const DeviceSweep<T>& task, unsigned side, int i) {
  const RowParts parts = split_row(task.column_indices, task.row_offsets[i], task.row_offsets[i + 1], i);
  const Part part = forward ? parts.lower_part() : parts.upper_part();
  auto* const x = reinterpret_cast<Word<T>*>(task.x + side * task.leading_x);
  const T* const old = task.old + side * task.leading_old;
  const PresentValues<T, forward> present{x, i};
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  bool there = true;
  for (std::int64_t e = lane; e < part.count; e += warp_lanes) {
    there = there && present.look(task.column_indices[part.first + e * part.step]) != unpublished<T>;
  }
  if (!__all_sync(every_lane, there)) return false;
  const T known = present_sum(task, forward ? parts.upper_part() : parts.lower_part(), KnownValues<T>{old});
  const T sum = present_sum(task, part, present);
  if (lane == 0) {
    const T a_ii = parts.has_diagonal() ? task.values[parts.diagonal] : T{0};
    T value = old[i];
    if (a_ii == T{0}) {
      if (task.skipped != nullptr && side == 0) count_skipped(*task.skipped, i);
    } else {
      const T b = task.b[side * task.leading_b + i];
      value = task.relaxation.finish(task.relaxation.begin(b, known, a_ii, value), sum);
    }
    cuda::atomic_ref<Word<T>, cuda::thread_scope_device>(x[i]).store(to_word(one_nan(value)),
                                                                     cuda::memory_order_relaxed);
  }
  __syncwarp();
  return true;
}

template <class T, bool forward>
class Walker {
 public:
  __device__ Walker(const DeviceSweep<T>& task, const Walk<T>& walk)
      : task_(task),
        walk_(walk),
        storage_(reinterpret_cast<WalkStorage<T>*>(gauss_seidel_storage)[threadIdx.x / warp_lanes]) {
    unsigned ticket = 0;
    if (lane() == 0) ticket = atomicInc(task.tickets, gridDim.x * walking_warps - 1);
    ticket = __shfl_sync(every_lane, ticket, 0);
    side_ = ticket % task.right_hand_sides;
    const auto region = static_cast<std::int64_t>(ticket / task.right_hand_sides);  // behind the last: empty
    first_ = static_cast<int>(min(task.rows, region * walk.rows_of_region));
    end_ = static_cast<int>(min(task.rows, (region + 1) * walk.rows_of_region));
    if (lane() == 0) storage_.pieces[0] = static_cast<int>(ticket);
    x_ = reinterpret_cast<Word<T>*>(task.x + side_ * task.leading_x);
  }

  __device__ void walk() {
    if (first_ >= end_) return;
    for (int k = lane(); k < WalkStorage<T>::ring; k += warp_lanes) storage_.latest[k] = unpublished<T>;
    const int lowest = forward ? first_ : row_at(end_ - 1);
    base_ = task_.row_offsets[lowest] & ~std::int64_t{3};
    edge_ = static_cast<int>(task_.row_offsets[forward ? lowest : row_at(first_) + 1] - base_);
    brought_end_ = static_cast<int>(min(task_.row_offsets[task_.rows] - base_, std::int64_t{INT32_MAX}));
    int first = first_;
    while (first < end_ || waiting_ > 0) {
      if (first < end_ && !is_full()) {
        first = walk_on(first);
        if (is_full() && take_piece()) continue;
      }
      if (!look_again()) __nanosleep(50);
      if (is_full()) gather_places();
    }
  }

 private:
  static constexpr int step = forward ? 1 : -1;
  static constexpr int whole_row = -1;  // for a source
  static constexpr int done = -2;
  static constexpr int room = WalkStorage<T>::room;
  static constexpr int ring = WalkStorage<T>::ring;

  /// What is loaded of 32 rows first.
  struct Ahead {
    std::int64_t edge;  ///< the row's end; in a backward sweep its beginning
    T b;
  };

  /// 32 rows as their lanes know them. Elements are counted from base_.
  struct Group {
    int base;   ///< the first element brought, a multiple of 4
    int count;  ///< elements brought; more than there is room for: none
    int begin;  ///< the row's elements, counted from the first brought
    int end;
    T b;
  };

  /// A row on its way.
  struct Row {
    int next;      ///< element; the diagonal when all are taken
    int diagonal;  ///< -1: the row is not under way
    T sum;
    T rest;
    T scale;
    Word<T> x;  ///< when done
  };

  [[nodiscard]] static __device__ int lane() { return static_cast<int>(threadIdx.x) % warp_lanes; }
  [[nodiscard]] static __device__ unsigned lanes_below() {
    unsigned mask = 0;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
    return mask;
  }
  [[nodiscard]] __device__ int row_at(int position) const {
    return forward ? position : static_cast<int>(task_.rows) - 1 - position;
  }
  [[nodiscard]] __device__ const T* old() const { return task_.old + side_ * task_.leading_old; }

  [[nodiscard]] __device__ Ahead load(int first) const {
    const int i = row_at(min(first + lane(), end_ - 1));
    return {task_.row_offsets[forward ? i + 1 : i], task_.b[side_ * task_.leading_b + i]};
  }

  /// Groups are asked for in their order.
  __device__ Group group_of(const Ahead& ahead) {
    const auto edge = static_cast<int>(ahead.edge - base_);
    int before = __shfl_up_sync(every_lane, edge, 1);
    if (lane() == 0) before = edge_;
    const int last = __shfl_sync(every_lane, edge, warp_lanes - 1);
    Group group;
    group.base = (forward ? edge_ : last) & ~3;
    group.count = (forward ? last : edge_) - group.base;
    group.begin = (forward ? before : edge) - group.base;
    group.end = (forward ? edge : before) - group.base;
    group.b = ahead.b;
    edge_ = last;
    return group;
  }

  /// Sends for a group's elements.
  __device__ void bring(const Group& group, int buffer) {
    if (group.count <= room) {
      constexpr int piece = 16 / sizeof(T);
      const std::int32_t* const columns = task_.column_indices + base_ + group.base;
      const T* const values = task_.values + base_ + group.base;
      for (int k = 4 * lane(); k < group.count; k += 4 * warp_lanes) {
        if (group.base + k + 4 <= brought_end_) {
          __pipeline_memcpy_async(storage_.brought.columns[buffer] + k, columns + k, 16);
#pragma unroll
          for (int p = 0; p < 4; p += piece) {
            __pipeline_memcpy_async(storage_.brought.values[buffer] + k + p, values + k + p, 16);
          }
        } else {
          for (int p = k; p < group.count; ++p) {
            storage_.brought.columns[buffer][p] = columns[p];
            storage_.brought.values[buffer][p] = values[p];
          }
        }
      }
    }
    __pipeline_commit();
  }

  [[nodiscard]] __device__ bool is_full() const {
    return used_ + warp_lanes > pieces_ * piece_of_leftovers;
  }

  /// More room for leftovers, if there is any.
  __device__ bool take_piece() {
    if (pieces_ == WalkStorage<T>::most_pieces) return false;
    unsigned taken = 0;
    if (lane() == 0) taken = atomicAdd(walk_.taken, 1u);
    taken = __shfl_sync(every_lane, taken, 0);
    const std::int64_t piece = walk_.regions * task_.right_hand_sides + taken;
    if (piece >= walk_.pieces) return false;
    if (lane() == 0) storage_.pieces[pieces_] = static_cast<int>(piece);
    __syncwarp();
    ++pieces_;
    return true;
  }

  /// Where number k of the warp's leftovers is.
  [[nodiscard]] __device__ int place_of(int k) const {
    return storage_.pieces[k / piece_of_leftovers] * piece_of_leftovers + k % piece_of_leftovers;
  }

  /// From a position on, until the region or the room for leftovers ends; the position then.
  __device__ int walk_on(int first) {
    Group here = group_of(load(first));
    bring(here, 0);
    Ahead ahead = load(first + warp_lanes);
    int buffer = 0;
    for (;;) {
      const int edge_here = edge_;
      const Group next = group_of(ahead);
      bring(next, buffer ^ 1);
      ahead = load(first + 2 * warp_lanes);
      __pipeline_wait_prior(1);
      __syncwarp();
      sweep_group(here, first, buffer);
      first += warp_lanes;
      if (first >= end_ || is_full()) {
        edge_ = edge_here;
        __pipeline_wait_prior(0);
        return first;
      }
      here = next;
      buffer ^= 1;
    }
  }

  [[nodiscard]] __device__ Word<T> look(int column) const {
    return cuda::atomic_ref<Word<T>, cuda::thread_scope_device>(x_[column]).load(cuda::memory_order_relaxed);
  }
  __device__ void publish(int row, Word<T> word) const {
    cuda::atomic_ref<Word<T>, cuda::thread_scope_device>(x_[row]).store(word, cuda::memory_order_relaxed);
  }

  /// Gets the values of elements left of the group, as far as they are there.
  __device__ void gather(int count, int first, int buffer) {
    constexpr int batch = 3;
    const int first_row = row_at(first);
    for (int k = lane(); k < count; k += batch * warp_lanes) {
      Word<T> word[batch];
      int column[batch];
#pragma unroll
      for (int e = 0; e < batch; ++e) {
        const int here = k + e * warp_lanes;
        column[e] = here < count ? storage_.brought.columns[buffer][here] : first_row;
        const int ahead = forward ? column[e] - first_row : first_row - column[e];
        word[e] = ahead < warp_lanes ? of_lane<T>(ahead) : to_word(written_nan<T>);
        if (ahead < 0) word[e] = ahead >= -ring ? storage_.latest[column[e] & (ring - 1)] : unpublished<T>;
      }
#pragma unroll
      for (int e = 0; e < batch; ++e) {
        if (word[e] == unpublished<T>) word[e] = look(column[e]);
      }
#pragma unroll
      for (int e = 0; e < batch; ++e) {
        if (k + e * warp_lanes < count) storage_.brought.words[k + e * warp_lanes] = word[e];
      }
    }
  }

  /// Does for a row what needs no waiting.
  __device__ void open(const Group& group, int i, int buffer, Row& row) {
    const std::int32_t* const columns = storage_.brought.columns[buffer];
    const T* const values = storage_.brought.values[buffer];
    int k = forward ? group.end - 1 : group.begin;
    int left = group.end - group.begin;
    T known = 0;
    int column = -1;
    for (; left > 0; --left, k -= step) {
      column = columns[k];
      if (forward ? column <= i : column >= i) break;
      known = multiply_add(values[k], old()[column], known);
    }
    const T a_ii = left > 0 && column == i ? values[k] : T{0};
    if (a_ii == T{0}) {
      if (task_.skipped != nullptr && side_ == 0) count_skipped(*task_.skipped, i);
      row.x = to_word(one_nan(old()[i]));
      return;
    }
    const HalfDone<T> half = task_.relaxation.begin(group.b, known, a_ii, T{0});
    row.rest = half.rest;
    row.scale = half.scale;
    row.next = forward ? group.begin : group.end - 1;
    row.diagonal = k;
  }

  /// The new x_i.
  [[nodiscard]] __device__ Word<T> finished(int i, T rest, T scale, T sum) const {
    const T kept = task_.relaxation.omega == T{1} ? T{0} : task_.relaxation.rest * old()[i];
    return to_word(one_nan(task_.relaxation.finish(HalfDone<T>{rest, scale, kept}, sum)));
  }

  /// Takes a row's elements whose values were gathered; the word of the next one.
  __device__ Word<T> take_gathered(int buffer, Row& row) const {
    for (; row.next != row.diagonal; row.next += step) {
      const Word<T> word = storage_.brought.words[row.next];
      if (!is_value<T>(word)) return word;
      row.sum = multiply_add(storage_.brought.values[buffer][row.next], to_value<T>(word), row.sum);
    }
    return unpublished<T>;
  }

  /// Element after element, as long as one of the group's rows can go on. All lanes of the warp.
  __device__ void take_elements(int buffer, int i, Row& row) const {
    Word<T> word = unpublished<T>;
    bool moved = row.diagonal >= 0;
    if (moved) word = take_gathered(buffer, row);
    do {
      __syncwarp();
      if (moved && row.next == row.diagonal) row.x = finished(i, row.rest, row.scale, row.sum);
      const int source = static_cast<int>(word & (warp_lanes - 1));
      const Word<T> other = __shfl_sync(every_lane, row.x, source);
      const bool comes = source < lane();  // else it is NaN
      moved = word != unpublished<T> && (!comes || is_value<T>(other));
      if (moved) {
        const T value = comes ? to_value<T>(other) : written_nan<T>;
        row.sum = multiply_add(storage_.brought.values[buffer][row.next], value, row.sum);
        row.next += step;
        word = take_gathered(buffer, row);
      }
    } while (__any_sync(every_lane, moved));
  }

  /// Does all that can be done of a group whose elements have come.
  __device__ void sweep_group(const Group& group, int first, int buffer) {
    const int position = first + lane();
    const int i = row_at(position);
    const bool present = position < end_;
    const bool brought = group.count <= room;
    const bool is_long = !brought || group.end - group.begin > chain_limit;
    Row row{0, -1, 0, 0, 0, unpublished<T>};
    if (present && !is_long) open(group, i, buffer, row);
    if (brought) gather(group.count, first, buffer);
    __syncwarp();
    take_elements(buffer, i, row);
    const bool has_value = row.x != unpublished<T>;
    if (present && has_value) publish(i, row.x);
    storage_.latest[i & (ring - 1)] = row.x;
    const unsigned left = __ballot_sync(every_lane, present && !has_value);
    if (left != 0) set_aside(left, is_long, i, group.base, buffer, row);
  }

  /// Notes what the rows in `left` still need.
  __device__ void set_aside(unsigned left, bool is_long, int i, int base, int buffer, const Row& row) {
    if ((left >> lane() & 1u) != 0) {
      const int rank = __popc(left & lanes_below());
      const int place = place_of(used_ + rank);
      Pending pending{whole_row, i};
      if (!is_long) {
        pending = {storage_.brought.columns[buffer][row.next], place};
        walk_.leftovers[place] = {row.sum,  storage_.brought.values[buffer][row.next],
                                  row.rest, row.scale,
                                  i,        row.next + step == row.diagonal ? -1 : base + row.next};
      }
      walk_.pending[place_of(waiting_ + rank)] = pending;
    }
    used_ += __popc(left);
    waiting_ += __popc(left);
    __syncwarp();
  }

  /// Looks at all leftovers, goes on with those that can, and drops those that were done before. Whether any
  /// could.
  __device__ bool look_again() {
    constexpr int batch = WalkStorage<T>::ready / warp_lanes;
    int kept = 0;
    bool moved = false;
    for (int k = 0; k < waiting_; k += batch * warp_lanes) {
      Pending pending[batch];
      Word<T> word[batch];
#pragma unroll
      for (int e = 0; e < batch; ++e) {
        const int here = k + e * warp_lanes + lane();
        pending[e] = here < waiting_ ? walk_.pending[place_of(here)] : Pending{done, 0};
      }
#pragma unroll
      for (int e = 0; e < batch; ++e) {
        word[e] = pending[e].source >= 0 ? look(pending[e].source) : unpublished<T>;
      }
      __syncwarp();
      int ready = 0;
#pragma unroll
      for (int e = 0; e < batch; ++e) {
        if (k + e * warp_lanes >= waiting_) break;
        bool stays = pending[e].source != done;
        if (__any_sync(every_lane, pending[e].source == whole_row)) {
          moved = finish_whole_rows(pending[e], stays) || moved;
        }
        const unsigned staying = __ballot_sync(every_lane, stays);
        const int number = kept + __popc(staying & lanes_below());
        if (stays) walk_.pending[place_of(number)] = pending[e];
        kept += __popc(staying);
        const bool goes_on = word[e] != unpublished<T>;
        const unsigned going = __ballot_sync(every_lane, goes_on);
        if (goes_on) {
          storage_.ready_ones.word[ready + __popc(going & lanes_below())] = word[e];
          storage_.ready_ones.number[ready + __popc(going & lanes_below())] = number;
        }
        ready += __popc(going);
      }
      __syncwarp();
      for (int r = lane(); r < ready; r += warp_lanes) {
        go_on(walk_.pending[place_of(storage_.ready_ones.number[r])], storage_.ready_ones.word[r]);
      }
      moved = moved || ready > 0;
      __syncwarp();
    }
    waiting_ = kept;
    return moved;
  }

  /// Takes a leftover's elements while their values are there.
  __device__ void go_on(Pending& pending, Word<T> word) {
    const int place = pending.place;
    Leftover<T> row = walk_.leftovers[place];
    for (;;) {
      row.sum = multiply_add(row.coefficient, to_value<T>(word), row.sum);
      if (row.element < 0) break;
      row.element += step;
      const std::int32_t source = task_.column_indices[base_ + row.element];
      row.coefficient = task_.values[base_ + row.element];
      if (source == row.row) break;
      const bool comes = forward ? source < row.row : source > row.row;  // else it is NaN
      word = comes ? look(source) : to_word(written_nan<T>);
      if (word == unpublished<T>) {
        walk_.leftovers[place] = row;
        pending.source = source;
        return;
      }
    }
    publish(row.row, finished(row.row, row.rest, row.scale, row.sum));
    pending.source = done;
  }

  /// Rows that are done by the warp, if all that they need is there.
  __device__ bool finish_whole_rows(const Pending& pending, bool& stays) const {
    bool moved = false;
    for (unsigned owners = __ballot_sync(every_lane, pending.source == whole_row); owners != 0;
         owners &= owners - 1) {
      const int owner = __ffs(static_cast<int>(owners)) - 1;
      const bool there = try_row<T, forward>(task_, side_, __shfl_sync(every_lane, pending.place, owner));
      if (lane() == owner) stays = !there;
      moved = moved || there;
    }
    return moved;
  }

  /// Makes room where leftovers are done. They are listed in the order of their places, so that each moves to
  /// one that is its own or free.
  __device__ void gather_places() {
    for (int k = lane(); k - lane() < waiting_; k += warp_lanes) {
      Leftover<T> row;
      Pending* const pending = walk_.pending + place_of(min(k, waiting_ - 1));
      const bool moves = k < waiting_ && pending->source >= 0;
      if (moves) row = walk_.leftovers[pending->place];
      __syncwarp();
      if (moves) {
        pending->place = place_of(k);
        walk_.leftovers[pending->place] = row;
      }
      __syncwarp();
    }
    used_ = waiting_;
  }

  const DeviceSweep<T>& task_;
  const Walk<T>& walk_;
  WalkStorage<T>& storage_;
  unsigned side_;
  int first_;  // position of the region
  int end_;
  Word<T>* x_;
  int pieces_ = 1;         // of leftovers
  int used_ = 0;           // places in them
  int waiting_ = 0;        // leftovers
  std::int64_t base_ = 0;  // the region's first element, or up to 3 before it
  int brought_end_ = 0;    // the matrix's end, counted from there
  int edge_ = 0;           // where the next group's elements begin; in a backward sweep, where they end
};

template <class T, bool forward>
__global__ void __launch_bounds__(walking_warps* warp_lanes, walking_blocks<T>)
    sweep_by_walking(const __grid_constant__ DeviceSweep<T> task, const __grid_constant__ Walk<T> walk) {
  if (!task.is_wanted(Way::walk)) return;
  Walker<T, forward> walker(task, walk);
  walker.walk();
}

}  // namespace echelon::gauss_seidel
