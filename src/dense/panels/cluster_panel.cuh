// SPDX-License-Identifier: BSD-3-Clause
/// A panel of Gauss-Jordan elimination in the shared memory of one cluster of thread blocks.
///
/// Each column has to wait for the pivot of the one before it: what counts is how soon a pivot is agreed upon
/// and its row known everywhere. So the panel is read once, stays on up to 16 multiprocessors that write to
/// each other's shared memory, and is written once.
///
///   a block holds       the same share of the rows, of all columns, in shared memory;
///   its first warps     the `chain`, `down` rows to a thread, hold 16 columns of it, a window, in registers.
///
/// In a window, every column is eliminated at once. Each block finds its largest element and sends it to all
/// blocks together with its row of the window, in one message that completes a barrier in the receiver's
/// shared memory: one way, and nobody waits for more than that. All blocks choose the same pivot from what
/// they got, and have its row already. With 32 warps in the cluster or fewer, each of them sends for itself.
/// In a block of its own, nothing is sent: its warps look at each other's candidates.
///
/// The other columns follow a window at a time: the pivot rows are exchanged through the panel's own memory,
/// the next window is brought up to date, and the rest while the chain is at that one, by the other warps.
///
/// Rows do not move: each knows where it belongs by now, and goes there when the panel is written.
#pragma once

#include "backend/cuda/cluster.cuh"
#include "backend/cuda/warp.cuh"
#include "dense/panels/workspace.cuh"
#include "dense/panels/magnitude_bits.hpp"

#include <cuda_pipeline.h>

#include <cfloat>
#include <climits>
#include <type_traits>

namespace echelon::panel_kernels {

inline constexpr int window = 16;    ///< columns that threads hold in registers
inline constexpr int threads = 256;  ///< of a block
inline constexpr int warps = threads / warp_size;
inline constexpr int most_blocks = 16;
inline constexpr int most_candidates = 32;
inline constexpr int most_down = 4;      ///< rows that a thread holds
inline constexpr int nowhere = INT_MAX;  ///< the place of a row that the panel does not have

/// What a warp or a block proposes as the next pivot.
struct alignas(16) Head32 {
  float pivot;
  int row;
  std::uint32_t above;
  std::uint32_t unused;
};
struct alignas(16) Head64 {
  double pivot;
  int row;
  std::uint32_t above;
};
template <class T>
using Head = std::conditional_t<sizeof(T) == 8, Head64, Head32>;

using Chunk = ulonglong2;

/// What `count` warps or blocks propose. The first element of a row is -1 / pivot.
template <class T, int count>
struct Candidates {
  alignas(128) T rows[count][window];
  Head<T> heads[count];
};

template <class T>
struct Shared {
  static constexpr int chunks = window * sizeof(T) / sizeof(Chunk);  ///< of a row
  Candidates<T, most_candidates> messages[2];
  Candidates<T, warps> candidates[2];  // one is sent as the other is made
  std::uint64_t arrived[2];
  Head<T> found[window];
  int local_row[window];
  std::uint32_t accepted;
  int steps;
  bool overflow;
};

/// As many as fill its warps, with `down` rows to a thread.
ECHELON_ANYWHERE constexpr int rows_of_block(int m, int blocks, int down) {
  const int unit = warp_size * down;
  return (m + unit * blocks - 1) / (unit * blocks) * unit;
}

ECHELON_ANYWHERE constexpr int leading_of(int rows) {
  return rows + 4;
}
inline constexpr int leading_of_W = window + 4;

template <class T>
constexpr std::size_t shared_bytes(int rows, int width) {
  const int columns = (width + window - 1) / window * window;
  return sizeof(Shared<T>) +
         sizeof(T) * (static_cast<std::size_t>(leading_of(rows)) * columns +
                      static_cast<std::size_t>(columns) * leading_of_W) +
         sizeof(int) * rows;
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

__device__ inline std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}
__device__ inline void init_barrier(std::uint64_t* barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
}
__device__ inline void expect_bytes(std::uint64_t* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(bytes)
               : "memory");
}
__device__ inline void wait_for_bytes(std::uint64_t* barrier, unsigned parity) {
  asm volatile(
      "{\n\t.reg .pred done;\n"
      "again:\n\t"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
      "@!done bra again;\n\t}" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}
/// Where a shared address of this block is in another one.
__device__ inline std::uint32_t in_block(std::uint32_t address, int block) {
  std::uint32_t result = 0;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(result) : "r"(address), "r"(block));
  return result;
}
/// Without a branch.
__device__ inline void send_if(bool wanted, const Chunk& value, std::uint32_t to, std::uint32_t barrier) {
  asm volatile(
      "{\n\t.reg .pred wanted;\n\t"
      "setp.ne.u32 wanted, %4, 0;\n\t"
      "@wanted st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b64 [%0], {%1, %2}, [%3];\n\t}" ::"r"(
          to),
      "l"(value.x), "l"(value.y), "r"(barrier), "r"(wanted ? 1U : 0U)
      : "memory");
}
__device__ inline void sync_some(int count) {
  asm volatile("bar.sync 1, %0;" ::"r"(count) : "memory");
}

/// The lane whose element is largest, the one of the upper row of equals, as a mask; `upper` is the upper
/// half of the largest there is.
__device__ inline unsigned best_lanes(std::uint64_t magnitude, int row, unsigned upper) {
  unsigned best = __ballot_sync(full_warp, upper_half(magnitude) == upper);
  if ((best & (best - 1)) != 0) {  // equal so far
    const unsigned lane = threadIdx.x % warp_size;
    const unsigned here = best >> lane & 1U;
    const unsigned lower = here != 0 ? lower_half(magnitude) : 0U;
    const unsigned best_lower = __reduce_max_sync(full_warp, lower);  // by all lanes, `here` or not
    const bool equal = here != 0 && lower == best_lower;
    const int upmost = __reduce_min_sync(full_warp, equal ? row : nowhere);
    best = __ballot_sync(full_warp, equal && row == upmost);
    best &= ~best + 1;  // many where no row is eligible
  }
  return best;
}

struct Choice {
  int index;
  std::uint32_t upper;
  std::uint32_t above;
};

template <class T>
__device__ Choice choose(const Head<T>* list, int count) {
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  Head<T> head{};
  head.row = nowhere;
  if (lane < count) head = list[lane];
  const std::uint64_t magnitude = magnitude_bits(head.pivot);
  const unsigned upper = __reduce_max_sync(full_warp, upper_half(magnitude));
  const unsigned above = __reduce_max_sync(full_warp, head.above);
  return {__ffs(static_cast<int>(best_lanes(magnitude, head.row, upper))) - 1, upper, above};
}

/// 1 / x to the last digit but one, where x and 1 / x are far from the ends of the range.
__device__ inline double reciprocal(double x) {
  double r = 0;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
  const double e = fma(-x, r, 1.0);
  return fma(r, fma(e, e, e), r);
}
__device__ inline float reciprocal(float x) {
  float r = 0;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return fmaf(r, fmaf(-x, r, 1.0F), r);
}
/// Whether that is so.
template <class T>
__device__ bool has_reciprocal(std::uint32_t upper) {
  constexpr bool wide = sizeof(T) == 8;
  constexpr std::uint32_t least = wide ? (1023U - 1000U) << 20U : (127U - 100U) << 23U;
  constexpr std::uint32_t most = wide ? (1023U + 1000U) << 20U : (127U + 100U) << 23U;
  return upper - least < most - least;
}

/// d += a b, for tiles of 8 by 4, 4 by 8 and 8 by 8: lane l holds a[l / 4][l % 4], b[l % 4][l / 4] and
/// d[l / 4][l % 4 * 2 + (0, 1)].
__device__ inline void multiply_tiles(double2& d, double a, double b) {
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(d.x), "+d"(d.y)
      : "d"(a), "d"(b));
}

/// One block's part in it; `single`: there is no other block.
template <class T, int down, bool single>
class Panel {
 public:
  __device__ Panel(const LeafJob<T>& job, unsigned char* memory)
      : job_(job),
        shared_(*reinterpret_cast<Shared<T>*>(memory)),
        block_(static_cast<int>(cluster::rank())),
        blocks_(static_cast<int>(cluster::size())),
        warp_(__shfl_sync(full_warp, static_cast<int>(threadIdx.x) / warp_size, 0)),
        lane_(static_cast<int>(threadIdx.x) % warp_size),
        columns_((job.width + window - 1) / window * window) {
    rows_ = rows_of_block(job.rows, blocks_, down);
    chain_threads_ = rows_ / down;
    leading_ = leading_of(rows_);
    panel_ = reinterpret_cast<T*>(memory + sizeof(Shared<T>));
    W_ = panel_ + static_cast<std::size_t>(leading_) * static_cast<std::size_t>(columns_);
    places_ = reinterpret_cast<int*>(W_ + columns_ * leading_of_W);
    alone_ = blocks_ * chain_threads_ <= warp_size * most_candidates;
    candidates_ = alone_ ? blocks_ * (chain_threads_ / warp_size) : blocks_;
    own_ = alone_ ? block_ * (chain_threads_ / warp_size) + warp_ : block_;
    if constexpr (!single) plan_sending();
  }

  __device__ void run() {
    cluster::wait_for_kernel_ahead();
    const EliminationState state = *job_.state;
    const bool leader = block_ == 0 && warp_ == 0;
    if (threadIdx.x == 0) {
      shared_.overflow = state.overflow_column >= 0;
      if constexpr (!single) prepare_barriers();
    }
    load();
    rank_ = before_ = static_cast<int>(state.rank);
    smallest_ = state.smallest_accepted;
    largest_ = state.largest_rejected;
    overflow_ = state.overflow_column;
    tolerance_ = state.tolerance;
    if (is_chain()) {
#pragma unroll
      for (int d = 0; d < down; ++d) {
        const int row = global_row(local(d));
        place_[d] = row < job_.rows ? row : nowhere;
      }
    }
    cluster::sync();
    for (int begin = 0; begin < job_.width && rank_ < job_.rows && !shared_.overflow; begin += window) {
      if (threadIdx.x < window) shared_.local_row[threadIdx.x] = -1;
      __syncthreads();
      if (is_chain()) eliminate_window(begin);
      finish_update();
      __syncthreads();
      const std::uint32_t accepted = shared_.accepted;
      if (leader) note_window(begin, accepted);
      rank_ = before_ + __popc(accepted);
      before_ = rank_;
      if (columns_ > window && accepted != 0) {
        exchange(begin, accepted);
        begin_update(begin);
      }
      __syncthreads();
    }
    finish_update();
    if (is_chain()) {
#pragma unroll
      for (int d = 0; d < down; ++d) places_[local(d)] = place_[d];
    }
    cluster::sync();
    cluster::let_next_kernel_start();
    store();
    if (leader) tell_state();
  }

 private:
  static constexpr int rounds = most_blocks * Shared<T>::chunks / warp_size;

  /// A row goes to some blocks at a time, in pieces side by side: these travel together.
  __device__ void plan_sending() {
    const std::uint32_t here = shared_address(&shared_);
    const int senders = alone_ ? 1 : chain_threads_ / warp_size;
    const int sender = alone_ ? 0 : warp_;
    sends_head_ = sender == 0 && lane_ < blocks_;
    head_to_ = in_block(here, sends_head_ ? lane_ : 0) - here;
#pragma unroll
    for (int i = 0; i < rounds; ++i) {
      const int block = (i * warp_size + lane_) / Shared<T>::chunks;
      const bool sends = i % senders == sender && block < blocks_;
      sends_ |= (sends ? 1U : 0U) << static_cast<unsigned>(i);
      row_to_[i] = in_block(here, sends ? block : 0) - here;
    }
  }

  __device__ void prepare_barriers() {
    for (std::uint64_t& barrier : shared_.arrived) {
      init_barrier(&barrier);
      expect_bytes(&barrier, bytes_of_all());
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }

  [[nodiscard]] __device__ bool is_chain() const {
    return warp_ < chain_threads_ / warp_size;
  }
  [[nodiscard]] __device__ unsigned bytes_of_all() const {
    return static_cast<unsigned>(candidates_ * static_cast<int>(sizeof(Head<T>) + window * sizeof(T)));
  }
  [[nodiscard]] __device__ int local(int d) const {
    return static_cast<int>(threadIdx.x) + d * chain_threads_;
  }

  [[nodiscard]] __device__ int global_row(int row) const {
    return block_ * rows_ + row;
  }

  __device__ void load() {
    const T* from = job_.a + global_row(lane_) + warp_ * job_.leading;
    const int there = job_.rows - global_row(lane_);
    for (int column = warp_; column < columns_; column += warps, from += warps * job_.leading) {
      T* to = panel_ + column * leading_ + lane_;
#pragma unroll 4
      for (int row = 0; row < rows_; row += warp_size) {
        if (column < job_.width && row < there) {
          __pipeline_memcpy_async(to + row, from + row, sizeof(T));
        } else {
          to[row] = T{0};
        }
      }
    }
    __pipeline_commit();
    __pipeline_wait_prior(0);
  }

  __device__ void store() {
    for (int row = lane_; row < rows_; row += warp_size) {
      const int place = places_[row];
      if (place == nowhere) continue;
      const T* from = panel_ + warp_ * leading_ + row;
      T* to = job_.a + place + warp_ * job_.leading;
#pragma unroll 8
      for (int column = warp_; column < job_.width; column += warps) {
        *to = *from;
        from += warps * leading_;
        to += warps * job_.leading;
      }
    }
  }

  __device__ void eliminate_window(int begin) {
    const int columns = min(window, job_.width - begin);
#pragma unroll
    for (int c = 0; c < window; ++c) {
#pragma unroll
      for (int d = 0; d < down; ++d) a_[d][c] = panel_[(begin + c) * leading_ + local(d)];
    }
    accepted_ = 0;
    overflowed_ = false;
    search();
    int c = 0;
    do {
      publish();
      step(c);
      search();
      ++c;
    } while (c < columns && rank_ < job_.rows && !overflowed_);
#pragma unroll
    for (int e = 0; e < window; ++e) {
      const int column = begin + (e + c) % window;
#pragma unroll
      for (int d = 0; d < down; ++d) panel_[column * leading_ + local(d)] = a_[d][e];
    }
    if (threadIdx.x == 0) {
      shared_.accepted = accepted_;
      shared_.steps = c;
      shared_.overflow = overflowed_;
    }
  }

  /// This thread's and this warp's best pivot in the current column.
  __device__ void search() {
    row_ = nowhere;
    which_ = 0;
    magnitude_ = 0;
    T pivot = 0;
    std::uint32_t above = 0;
#pragma unroll
    for (int d = 0; d < down; ++d) {
      const T x = a_[d][0];
      const int place = place_[d];
      const bool eligible = place >= rank_;
      const std::uint64_t bits = magnitude_bits(x);
      if (!eligible) above = max(above, upper_half(bits));
      if (eligible && (d == 0 || bits > magnitude_ || (bits == magnitude_ && place < row_))) {
        magnitude_ = bits;
        row_ = place;
        pivot = x;
        which_ = d;
      }
    }
    best_upper_ = __reduce_max_sync(full_warp, upper_half(magnitude_));
    above_ = __reduce_max_sync(full_warp, above);
    pivot_ = pivot;
    factor_ = reciprocal(-pivot);
  }

  /// Lets all blocks know this block's candidate, or this warp's.
  __device__ void publish() {
    propose();
    if constexpr (single) {
      sync_some(chain_threads_);
    } else {
      send();
    }
  }

  /// Writes down the best of this warp.
  __device__ void propose() {
    Candidates<T, warps>& candidates = shared_.candidates[slot_];
    const unsigned best_lane = best_lanes(magnitude_, row_, best_upper_);
    if ((best_lane >> static_cast<unsigned>(lane_) & 1U) != 0) {
      candidates.heads[warp_] = head_of(pivot_, row_, above_);
      T* row = candidates.rows[warp_];
      row[0] = factor_;
#pragma unroll
      for (int c = 1; c < window; ++c) {
        T element = a_[0][c];
#pragma unroll
        for (int d = 1; d < down; ++d) {
          const T other = a_[d][c];  // read in any case: a choice of addresses would put a_ into memory
          element = d == which_ ? other : element;
        }
        row[c] = element;
      }
    }
  }

  __device__ void send() {
    const Candidates<T, warps>& candidates = shared_.candidates[slot_];
    int best = warp_;
    std::uint32_t above = above_;
    if (alone_) {
      __syncwarp();
    } else {
      sync_some(chain_threads_);
      const Choice choice = choose<T>(candidates.heads, chain_threads_ / warp_size);
      best = choice.index;
      above = choice.above;
    }
    constexpr int chunks = Shared<T>::chunks;
    Candidates<T, most_candidates>& message = shared_.messages[slot_];
    const std::uint32_t barrier = shared_address(&shared_.arrived[slot_]);
    const std::uint32_t row =
        shared_address(message.rows[own_]) + static_cast<unsigned>(lane_ % chunks) * 16U;
    const Chunk part = reinterpret_cast<const Chunk*>(candidates.rows[best])[lane_ % chunks];
    Head<T> head = candidates.heads[best];
    head.above = above;
    Chunk packed;
    memcpy(&packed, &head, sizeof head);
    send_if(sends_head_, packed, shared_address(&message.heads[own_]) + head_to_, barrier + head_to_);
#pragma unroll
    for (int i = 0; i < rounds; ++i) {
      send_if((sends_ >> static_cast<unsigned>(i) & 1U) != 0, part, row + row_to_[i], barrier + row_to_[i]);
    }
  }

  static __device__ Head<T> head_of(T pivot, int row, std::uint32_t above) {
    Head<T> head{};
    head.pivot = pivot;
    head.row = row;
    head.above = above;
    return head;
  }

  /// Eliminates column c of the window with the best of all candidates. The registers rotate, so that the
  /// next column is always in the first.
  __device__ void step(int c) {
    if constexpr (!single) {
      wait_for_bytes(&shared_.arrived[slot_], phase_);
      if (threadIdx.x == 0) expect_bytes(&shared_.arrived[slot_], bytes_of_all());
    }
    const auto& all = [&]() -> const auto& {
      if constexpr (single) {
        return shared_.candidates[slot_];
      } else {
        return shared_.messages[slot_];
      }
    }
    ();
    const Choice choice = choose<T>(all.heads, candidates_);
    const T* best = all.rows[choice.index];
    const Head<T> head = all.heads[choice.index];
    slot_ ^= 1U;
    phase_ ^= slot_ == 0 ? 1U : 0U;
    const T factor = best[0];
    T w[window];
#pragma unroll
    for (int e = 1; e < window; ++e) w[e] = best[e];
    if (block_ == 0 && threadIdx.x == 0) shared_.found[c] = head_of(head.pivot, head.row, choice.above);
    const auto above = static_cast<double>(magnitude_from<T>(std::uint64_t{choice.above} << 32U));
    constexpr std::uint32_t one = sizeof(T) == 8 ? 0x3ff00000U : 0x3f800000U;
    const double limit = tolerance_ * (choice.above > one ? above : 1.0);
    const double magnitude = fabs(static_cast<double>(head.pivot));
    const bool ordinary =
        has_reciprocal<T>(choice.upper) && has_no_overflow(choice.above) && magnitude > limit;
    T g[down];
    T last[down];
    bool accept = true;
#pragma unroll
    for (int d = 0; d < down; ++d) last[d] = g[d] = a_[d][0] * factor;
    T own = -factor;
    if (!ordinary) {
      overflowed_ = !(magnitude + above <= DBL_MAX);
      accept = !overflowed_ && magnitude > limit;
      own = T{1} / head.pivot;
#pragma unroll
      for (int d = 0; d < down; ++d) {
        g[d] = accept ? -a_[d][0] / head.pivot : T{0};
        last[d] = accept ? g[d] : (place_[d] >= rank_ ? T{0} : a_[d][0]);
      }
    }
#pragma unroll
    for (int d = 0; d < down; ++d) {
      if (place_[d] == head.row && accept) {
        last[d] = g[d] = own;
        shared_.local_row[c] = local(d);
#pragma unroll
        for (int e = 1; e < window; ++e) a_[d][e] = T{0};
      }
      const int place = place_[d] == head.row ? rank_ : (place_[d] == rank_ ? head.row : place_[d]);
      if (accept) place_[d] = place;
    }
#pragma unroll
    for (int e = 1; e < window; ++e) {
#pragma unroll
      for (int d = 0; d < down; ++d) a_[d][e - 1] = a_[d][e] + g[d] * w[e];
    }
#pragma unroll
    for (int d = 0; d < down; ++d) a_[d][window - 1] = last[d];
    accepted_ |= (accept ? 1U : 0U) << static_cast<unsigned>(c);
    rank_ += accept ? 1 : 0;
  }

  /// Together with a number that has a reciprocal.
  static __device__ bool has_no_overflow(std::uint32_t upper) {
    return sizeof(T) == 4 ? upper < 0x7f800000U : upper < 0x7fe00000U;
  }

  /// By the first lanes of one warp, one for each column.
  __device__ void note_window(int begin, std::uint32_t accepted) {
    if (lane_ >= shared_.steps) return;
    const Head<T> head = shared_.found[lane_];
    const auto above = static_cast<double>(magnitude_from<T>(std::uint64_t{head.above} << 32U));
    const PivotJudgement judgement = judge_pivot(fabs(static_cast<double>(head.pivot)), above, tolerance_);
    const std::int64_t column = job_.begin + begin + lane_;
    if (judgement.verdict == PivotVerdict::overflow) {
      overflow_ = column;
    } else if ((accepted >> static_cast<unsigned>(lane_) & 1U) == 0) {
      if (judgement.size > largest_) largest_ = judgement.size;
    } else {
      if (judgement.size < smallest_) smallest_ = judgement.size;
      const int rank = before_ + __popc(accepted & ((1U << static_cast<unsigned>(lane_)) - 1));
      job_.pivots.rows[rank] = head.row;
      job_.pivots.columns[rank] = column;
      job_.pivots.values[rank] = head.pivot;
    }
  }

  __device__ void tell_state() {
#pragma unroll
    for (int delta = window / 2; delta > 0; delta /= 2) {
      smallest_ = fmin(smallest_, __shfl_xor_sync(full_warp, smallest_, delta));
      largest_ = fmax(largest_, __shfl_xor_sync(full_warp, largest_, delta));
      overflow_ = max(overflow_, __shfl_xor_sync(full_warp, overflow_, delta));
    }
    if (lane_ == 0) {
      *job_.state = {rank_, smallest_, largest_, overflow_, tolerance_};
      *job_.rank_after = rank_;
    }
  }

  /// Through the memory of the panel, which nobody needs until the end.
  __device__ void exchange(int begin, std::uint32_t accepted) {
    const int p = static_cast<int>(threadIdx.x) % window;
    const int first = static_cast<int>(threadIdx.x) / window;
    constexpr int step = threads / window;
    T* const through = job_.a + __popc(accepted & ((1U << static_cast<unsigned>(p)) - 1));
    const int row = shared_.local_row[p];
    if (row >= 0) {
      for (int column = first; column < job_.width; column += step) {
        if (column >= begin && column < begin + window) continue;
        T* element = panel_ + column * leading_ + row;
        __stcg(through + column * job_.leading, *element);
        *element = T{0};
      }
    }
    cluster::sync();
    const bool there = (accepted >> static_cast<unsigned>(p) & 1U) != 0;
#pragma unroll 8
    for (int column = first; column < columns_; column += step) {
      W_[column * leading_of_W + p] =
          there && column < job_.width ? __ldcg(through + column * job_.leading) : T{0};
    }
    __syncthreads();
  }

  /// Of the next window, by all warps: the chain waits for it.
  __device__ void begin_update(int begin) {
    applied_ = begin;
    const int next = begin + window;
    if (next >= columns_) return;
    for (int row = warp_ * warp_size; row < rows_; row += warps * warp_size) update_tile(row, next);
  }

  /// Of all the others, beside the chain, by the warps that have no part in it, if there are such.
  __device__ void finish_update() {
    const int busy = chain_threads_ < threads ? chain_threads_ / warp_size : 0;
    if (applied_ < 0 || warp_ < busy) return;
    const int next = applied_ + window;
    int tile = 0;
    int row = (warp_ - busy) * warp_size;
    while (true) {
      while (row >= rows_) row -= rows_, tile += window;
      if (tile >= columns_) break;
      if (tile != applied_ && tile != next) update_tile(row, tile);
      row += (warps - busy) * warp_size;
    }
    applied_ = -1;
  }

  __device__ void update_tile(int base, int tile) requires(sizeof(T) == 8) {
    double2 x[2][4];
    double* X = panel_ + (tile + lane_ / 4) * leading_ + base + lane_ % 4 * 2;
#pragma unroll
    for (int c = 0; c < 2; ++c) {
#pragma unroll
      for (int r = 0; r < 4; ++r) x[c][r] = *reinterpret_cast<double2*>(X + c * 8 * leading_ + r * 8);
    }
    const double* G = panel_ + (applied_ + lane_ % 4) * leading_ + base + lane_ / 4;
    const double* W = W_ + (tile + lane_ / 4) * leading_of_W + lane_ % 4;
#pragma unroll
    for (int k = 0; k < window; k += 4) {
      double g[4];
      double w[2];
#pragma unroll
      for (int r = 0; r < 4; ++r) g[r] = G[k * leading_ + r * 8];
#pragma unroll
      for (int c = 0; c < 2; ++c) w[c] = W[c * 8 * leading_of_W + k];
#pragma unroll
      for (int c = 0; c < 2; ++c) {
#pragma unroll
        for (int r = 0; r < 4; ++r) multiply_tiles(x[c][r], w[c], g[r]);
      }
    }
#pragma unroll
    for (int c = 0; c < 2; ++c) {
#pragma unroll
      for (int r = 0; r < 4; ++r) *reinterpret_cast<double2*>(X + c * 8 * leading_ + r * 8) = x[c][r];
    }
  }

  __device__ void update_tile(int base, int tile) requires(sizeof(T) == 4) {
    const float* G = panel_ + applied_ * leading_;
    const int row = base + lane_ % 8 * 2;
    const int column = tile + lane_ / 8 * 4;
    T* X = panel_ + column * leading_ + row;
    float2 x[4][2];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
#pragma unroll
      for (int r = 0; r < 2; ++r) x[c][r] = *reinterpret_cast<float2*>(X + c * leading_ + r * 16);
    }
#pragma unroll 4
    for (int k = 0; k < window; k += 2) {
      float2 g[2][2];
      float2 w[4];
#pragma unroll
      for (int kk = 0; kk < 2; ++kk) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          g[kk][r] = *reinterpret_cast<const float2*>(G + (k + kk) * leading_ + row + r * 16);
        }
      }
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        w[c] = *reinterpret_cast<const float2*>(W_ + (column + c) * leading_of_W + k);
      }
#pragma unroll
      for (int c = 0; c < 4; ++c) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          x[c][r].x += g[0][r].x * w[c].x;
          x[c][r].y += g[0][r].y * w[c].x;
          x[c][r].x += g[1][r].x * w[c].y;
          x[c][r].y += g[1][r].y * w[c].y;
        }
      }
    }
#pragma unroll
    for (int c = 0; c < 4; ++c) {
#pragma unroll
      for (int r = 0; r < 2; ++r) *reinterpret_cast<float2*>(X + c * leading_ + r * 16) = x[c][r];
    }
  }

  const LeafJob<T>& job_;
  Shared<T>& shared_;
  int block_, blocks_, warp_, lane_;
  int columns_;
  int rows_, chain_threads_, leading_;
  bool alone_;      // every warp sends by itself
  int candidates_;  // how many there are to choose from
  T* panel_;
  T* W_;
  int* places_;
  int own_;  // this block's, or warp's, among these
  // the way to other blocks
  bool sends_head_;
  unsigned sends_ = 0;
  std::uint32_t head_to_;
  std::uint32_t row_to_[rounds];
  // the best of this thread, and of this warp
  std::uint64_t magnitude_ = 0;
  int row_ = 0, which_ = 0;
  T pivot_ = 0, factor_ = 0;
  std::uint32_t best_upper_ = 0, above_ = 0;
  bool overflowed_ = false;
  int rank_ = 0;
  int before_ = 0;
  int applied_ = -1;  // the window that is not yet applied to all others
  std::uint32_t accepted_ = 0;
  unsigned slot_ = 0;
  unsigned phase_ = 0;
  double smallest_ = 0;
  double largest_ = 0;
  double tolerance_ = 0;
  std::int64_t overflow_ = -1;
  T a_[down][window];
  int place_[down];
};

#endif

template <class T, int down, bool single>
__global__ void __launch_bounds__(threads, 1) eliminate_panel(const LeafJob<T> job) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
  asm("trap;");  // never planned for: there are no clusters
#else
  extern __shared__ __align__(128) unsigned char panel_shared[];
  Panel<T, down, single>(job, panel_shared).run();
#endif
}

}  // namespace echelon::panel_kernels
