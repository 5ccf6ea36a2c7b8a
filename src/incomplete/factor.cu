// SPDX-License-Identifier: BSD-3-Clause
// Incomplete factorisations on a GPU: all rows in one launch, in which a row waits for the rows that it
// subtracts.
//
// Scheduling. Rows are sorted by level, so that rows in work at the same time depend little on each other. A
// block takes the next rows of that order from a ticket counter when it starts. A row depends only on rows
// before it in the order, so on rows of blocks that have started: the kernel terminates with any number of
// resident blocks. A group of lanes computes a row. No group blocks its warp: in each iteration all groups of
// a warp load the next values that they need at the same time, and those whose values are ready advance. So
// groups may wait for groups of the same warp. A column on the diagonal or right of it, which unsorted
// columns cause, is skipped.
//
// Synchronisation. The value is the flag, as in sweeps: the result holds the NaN not_ready wherever no value
// has been published, and that NaN is never published. A relaxed load and a relaxed store suffice. A row in
// work is in shared memory, or in global memory that only its group accesses. Where a pivot is not accepted,
// the row is not published, and rows after it stop waiting.
//
// Critical path. The pattern of a row and of the rows that it subtracts is read before it waits. From the
// arrival of the last value to the publication of the row there are a search in the row's columns, an fma,
// the inspection of the pivot, and for IC(0) a square root and a division.
#include "backend/cuda/cuda.cuh"
#include "backend/cuda/flags.cuh"
#include "incomplete/factor.hpp"
#include "relaxation/gauss_seidel/cuda/device_sweep.cuh"

#include <cuda/atomic>

#include <bit>
#include <cstdint>

namespace echelon::incomplete {

namespace {

using gauss_seidel::canonical;
using gauss_seidel::not_ready;
using gauss_seidel::to_value;
using gauss_seidel::to_word;
using gauss_seidel::Word;

constexpr int block_threads = 256;

template <class V>
__device__ V load_relaxed(V* address) {
  return cuda::atomic_ref<V, cuda::thread_scope_device>(*address).load(cuda::memory_order_relaxed);
}
template <class V>
__device__ void store_relaxed(V* address, V value) {
  cuda::atomic_ref<V, cuda::thread_scope_device>(*address).store(value, cuda::memory_order_relaxed);
}

/// Number of the next block in the order of their starts. `tickets` is 0 before and after each kernel.
/// Block-collective.
__device__ unsigned take_ticket(unsigned* tickets) {
  __shared__ unsigned taken;
  if (threadIdx.x == 0) taken = atomicInc(tickets, gridDim.x - 1);
  __syncthreads();
  return taken;
}

/// Marks a level that is not known yet: a level is its own ready flag, too.
constexpr std::uint32_t unknown_level = ~0U;

/// The level of each row, by one thread per row in the order of the matrix. All levels are unknown at first.
__global__ void __launch_bounds__(block_threads)
    find_levels(std::int64_t rows, const std::int64_t* row_offsets, const std::int32_t* column_indices,
                std::uint32_t* levels, unsigned* tickets) {
  const std::int64_t i = std::int64_t{take_ticket(tickets)} * block_threads + threadIdx.x;
  bool waiting = i < rows;
  std::int64_t e = waiting ? row_offsets[i] : 0;
  const std::int64_t end = waiting ? row_offsets[i + 1] : 0;
  std::uint32_t own = 0;
  Watchdog watchdog;
  while (__any_sync(full_warp, waiting)) {
    watchdog.poll();
    for (; e < end; ++e) {
      const std::int32_t k = column_indices[e];
      if (k >= i) continue;
      const std::uint32_t level = load_relaxed(levels + k);
      if (level == unknown_level) break;
      own = max(own, level + 1);
    }
    if (!waiting || e < end) continue;
    store_relaxed(levels + i, own);
    waiting = false;
  }
}

struct RowNumber {
  std::int32_t* rows;
  __device__ void operator()(std::int64_t i) const { rows[i] = static_cast<std::int32_t>(i); }
};

/// Memory of a factorisation.
template <class Elimination>
struct FactorTask {
  using T = typename Elimination::Element;
  Elimination elimination;  ///< the upper triangle's values are results, all not_ready at first
  std::int64_t rows;
  const std::int32_t* order;
  T* work;  ///< values of the upper triangle's rows in work
  unsigned* tickets;
  std::int64_t* rejected;  ///< the first row whose pivot is not accepted
};

/// Subtrahend of a row for one element of its lower triangle: `count` elements of the upper triangle from
/// position `first` on.
struct Source {
  std::int64_t first;
  std::int32_t count;
};

/// A row in work in shared memory: first its elements left of the diagonal, then the others.
template <class T, int size>
struct StagedRow {
  static constexpr int capacity = size;
  T values[size];
  Source sources[size];
  std::int32_t columns[size];
};

/// A row in work by a group of `lanes` lanes. All members are warp-collective unless they say otherwise.
template <int lanes, class Elimination>
class RowInWork {
  using T = typename Elimination::Element;

 public:
  /// Rows of more elements stay in global memory.
  using Staged = StagedRow<T, 3 * lanes>;

  /// Starts with the row at `place` in the order, if there is one.
  __device__ RowInWork(const FactorTask<Elimination>& task, Staged& staged, std::int64_t place)
      : task_(task), staged_(staged), waiting_(place < task.rows) {
    if (waiting_) locate(task.order[place]);
    __syncwarp();
    if (waiting_) select_element();
  }

  /// Whether the row is unfinished, for this lane.
  [[nodiscard]] __device__ bool waiting() const { return waiting_; }

  /// Subtracts the next `lanes` elements of an earlier row if they are ready.
  __device__ void advance() {
    const bool has_element = column_ >= 0;
    const Word<T> word = has_element ? load_relaxed(published(source_.first + subtracted_ + rank())) : 0;
    const bool blocked = (__ballot_sync(full_warp, word == not_ready<T>) & group_mask()) != 0;
    const T value = to_value<T>(word);
    const T leading = __shfl_sync(full_warp, value, 0, lanes);
    const bool subtracts = waiting_ && !blocked && element_ < lower_count_;
    if (subtracts) subtract(value, leading);
    __syncwarp();
    if (subtracts) select_next();
    if (!waiting_) return;
    if (element_ == lower_count_) {
      finish();
    } else if (blocked) {
      stop_if_rejected();
    }
  }

 private:
  [[nodiscard]] static __device__ int rank() { return static_cast<int>(threadIdx.x) % lanes; }
  [[nodiscard]] static __device__ unsigned group_mask() {
    return (full_warp >> (warp_size - lanes)) << (lane_id() - rank());
  }
  [[nodiscard]] __device__ Word<T>* published(std::int64_t m) const {
    return reinterpret_cast<Word<T>*>(task_.elimination.triangles.upper_values + m);
  }

  /// Reads the row's pattern, and its values if they fit. Group-collective.
  __device__ void locate(std::int32_t row) {
    const TriangleRows<T>& rows = task_.elimination.triangles;
    row_ = row;
    lower_ = rows.lower_offsets[row];
    upper_ = rows.upper_offsets[row];
    lower_count_ = static_cast<int>(rows.lower_diagonal(row) - lower_);
    upper_count_ = static_cast<int>(rows.upper_offsets[row + 1] - upper_);
    a_ii_ = rows.lower_values[lower_ + lower_count_];
    is_staged_ = lower_count_ + upper_count_ <= Staged::capacity;
    lower_columns_ = is_staged_ ? staged_.columns : rows.lower_columns + lower_;
    lower_values_ = is_staged_ ? staged_.values : rows.lower_values + lower_;
    upper_columns_ = is_staged_ ? staged_.columns + lower_count_ : rows.upper_columns + upper_;
    upper_values_ = is_staged_ ? staged_.values + lower_count_ : task_.work + upper_;
    for (int e = rank(); is_staged_ && e < lower_count_; e += lanes) {
      staged_.columns[e] = rows.lower_columns[lower_ + e];
      staged_.values[e] = rows.lower_values[lower_ + e];
      staged_.sources[e] = find_source(e);
    }
    for (int m = rank(); is_staged_ && m < upper_count_; m += lanes) {
      staged_.columns[lower_count_ + m] = rows.upper_columns[upper_ + m];
      staged_.values[lower_count_ + m] = task_.work[upper_ + m];
    }
  }

  /// Source for element e of the lower triangle, for this lane.
  [[nodiscard]] __device__ Source find_source(int e) const {
    const TriangleRows<T>& rows = task_.elimination.triangles;
    const std::int32_t k = rows.lower_columns[lower_ + e];
    if (k >= row_) return {0, 0};
    const std::int64_t first = task_.elimination.first(lower_ + e, k);
    return {first, static_cast<std::int32_t>(rows.upper_offsets[k + 1] - first)};
  }

  /// Selects the first element from element_ on that has a source.
  __device__ void select_element() {
    subtracted_ = 0;
    for (; element_ < lower_count_; ++element_) {
      source_ = is_staged_ ? staged_.sources[element_] : find_source(element_);
      if (source_.count > 0) break;
    }
    load_column();
  }
  /// Advances to the next elements of the source, or to the next source.
  __device__ void select_next() {
    subtracted_ += lanes;
    if (subtracted_ < source_.count) {
      load_column();
      return;
    }
    if (Elimination::changes_lower && rank() == 0) {
      task_.elimination.triangles.lower_values[lower_ + element_] = multiplier_;
    }
    ++element_;
    select_element();
  }
  __device__ void load_column() {
    const int own = subtracted_ + rank();
    const bool exists = element_ < lower_count_ && own < source_.count;
    column_ = exists ? task_.elimination.triangles.upper_columns[source_.first + own] : -1;
  }

  /// Subtracts this lane's element, given the first one of the group. Group-collective.
  __device__ void subtract(T value, T leading) {
    if (subtracted_ == 0) multiplier_ = task_.elimination.multiplier(lower_values_[element_], leading);
    if (column_ < 0 || subtracted_ + rank() < Elimination::skipped) return;
    T* const element = find(column_);
    if (element != nullptr) *element = multiply_add(-multiplier_, value, *element);
  }

  /// Element of this row in column j, or null. For this lane.
  [[nodiscard]] __device__ T* find(std::int32_t j) const {
    if (j >= row_) return search(upper_columns_, upper_values_, 0, upper_count_, j);
    if (!Elimination::changes_lower) return nullptr;
    return search(lower_columns_, lower_values_, element_ + 1, lower_count_, j);
  }
  [[nodiscard]] static __device__ T* search(const std::int32_t* columns, T* values, int begin, int end,
                                            std::int32_t j) {
    const std::int64_t place = lower_bound(columns, begin, end, j);
    return place < end && columns[place] == j ? values + place : nullptr;
  }

  /// Publishes the row if its pivot is accepted. Group-collective.
  __device__ void finish() {
    waiting_ = false;
    const T pivot = upper_values_[0];
    if (!task_.elimination.accepts(pivot, a_ii_)) {
      if (rank() == 0) reject(pivot);
      return;
    }
    const FinishedPivot<T> finished = task_.elimination.finish(pivot);
    for (int m = rank(); m < upper_count_; m += lanes) {
      const T quotient = Elimination::divides_rows ? upper_values_[m] / finished.divisor : upper_values_[m];
      store_relaxed(published(upper_ + m), to_word(canonical(m == 0 ? finished.upper_diagonal : quotient)));
    }
    if (rank() == 0) {
      task_.elimination.triangles.lower_values[lower_ + lower_count_] = finished.lower_diagonal;
    }
  }
  /// Records the rejected pivot, for this lane.
  __device__ void reject(T pivot) const {
    task_.work[upper_] = pivot;
    atomicMin(reinterpret_cast<long long*>(task_.rejected), static_cast<long long>(row_));
  }

  /// Stops waiting for a row that may never be published. Tests only occasionally: all rows would poll one
  /// address. All lanes stop together, though they may read different values. Group-collective.
  __device__ void stop_if_rejected() {
    constexpr int interval = 64;
    if (++polls_ % interval != 0) return;
    waiting_ = __any_sync(group_mask(), load_relaxed(task_.rejected) < row_) == 0;
  }

  const FactorTask<Elimination>& task_;
  Staged& staged_;
  bool waiting_;
  bool is_staged_ = false;
  std::int32_t row_ = 0;
  std::int64_t lower_ = 0;  // position of the row's first element in each triangle
  std::int64_t upper_ = 0;
  int lower_count_ = 0;  // elements left of the diagonal
  int upper_count_ = 0;  // other elements
  const std::int32_t* lower_columns_ = nullptr;
  const std::int32_t* upper_columns_ = nullptr;
  T* lower_values_ = nullptr;
  T* upper_values_ = nullptr;
  T a_ii_ = 0;

  int element_ = 0;  // element of the lower triangle that is being eliminated
  Source source_{};
  int subtracted_ = 0;        // processed elements of the source
  std::int32_t column_ = -1;  // of this lane's next element of the source, or -1
  T multiplier_ = 0;
  int polls_ = 0;
};

/// Computes all rows, `lanes` threads for each.
template <int lanes, class Elimination>
__global__ void __launch_bounds__(block_threads)
    factor_rows(const __grid_constant__ FactorTask<Elimination> task) {
  using Row = RowInWork<lanes, Elimination>;
  constexpr int block_rows = block_threads / lanes;
  __shared__ typename Row::Staged staged[block_rows];
  const int number = static_cast<int>(threadIdx.x) / lanes;
  Row row(task, staged[number], std::int64_t{take_ticket(task.tickets)} * block_rows + number);
  Watchdog watchdog;
  while (__any_sync(full_warp, row.waiting())) {
    watchdog.poll();
    row.advance();
  }
}

template <int lanes, class Elimination>
void launch(const FactorTask<Elimination>& task) {
  constexpr std::int64_t block_rows = block_threads / lanes;
  const auto blocks = static_cast<unsigned>((task.rows + block_rows - 1) / block_rows);
  factor_rows<lanes><<<blocks, block_threads, 0, stream()>>>(task);
  check(cudaGetLastError());
}

/// Launches with about as many lanes per row as a row of the upper triangle has elements on average.
template <class Elimination>
void launch_for(const FactorTask<Elimination>& task, std::int64_t upper_nonzeros) {
  if (upper_nonzeros <= 4 * task.rows) return launch<4>(task);
  if (upper_nonzeros <= 8 * task.rows) return launch<8>(task);
  if (upper_nonzeros <= 16 * task.rows) return launch<16>(task);
  launch<32>(task);
}

}  // namespace

template <class T>
RowOrder<Cuda>::RowOrder(Cuda& backend, const Csr<T>& lower)
    : rows(backend.device(), lower.rows()), tickets(backend.device(), 1) {
  const std::int64_t n = lower.rows();
  const Device& device = backend.device();
  const CurrentDevice current(device.id());
  backend.fill(1, 0U, tickets.data());
  if (n == 0) return;
  Array<std::uint32_t> levels(device, n);
  backend.fill(n, unknown_level, levels.data());
  find_levels<<<static_cast<unsigned>((n + block_threads - 1) / block_threads), block_threads, 0, stream()>>>(
      n, lower.row_offsets().data(), lower.column_indices().data(), levels.data(), tickets.data());
  check(cudaGetLastError());
  Array<std::int32_t> numbers(device, n);
  backend.for_each(n, RowNumber{numbers.data()});
  Array<std::uint32_t> sorted_levels(device, n);
  backend.sort_by_key(n, 0, std::bit_width(static_cast<std::uint32_t>(n)), levels.data(),
                      sorted_levels.data(), numbers.data(), rows.data());
}
template RowOrder<Cuda>::RowOrder(Cuda&, const Csr<float>&);
template RowOrder<Cuda>::RowOrder(Cuda&, const Csr<double>&);

template <class Elimination>
FirstIndex factor(Cuda& backend, RowOrder<Cuda>& order, const Elimination& elimination, std::int64_t rows) {
  using T = typename Elimination::Element;
  if (rows == 0) return {};
  const Device& device = backend.device();
  const CurrentDevice current(device.id());
  T* const values = elimination.triangles.upper_values;
  const std::int64_t nonzeros = backend.read(elimination.triangles.upper_offsets + rows);
  Array<T> work(device, nonzeros);
  Array<std::int64_t> rejected(device, 1);
  backend.copy(nonzeros, values, work.data());
  backend.fill(nonzeros, not_ready<T>, reinterpret_cast<Word<T>*>(values));
  backend.fill(1, FirstIndex::none, rejected.data());
  launch_for(FactorTask<Elimination>{elimination, rows, order.rows.data(), work.data(), order.tickets.data(),
                                     rejected.data()},
             nonzeros);
  const FirstIndex first{backend.read(rejected.data())};
  if (first.value != FirstIndex::none) {
    const std::int64_t pivot = backend.read(elimination.triangles.upper_offsets + first.value);
    backend.copy(1, work.data() + pivot, values + pivot);
  }
  return first;
}

template FirstIndex factor(Cuda&, RowOrder<Cuda>&, const LuElimination<float>&, std::int64_t);
template FirstIndex factor(Cuda&, RowOrder<Cuda>&, const LuElimination<double>&, std::int64_t);
template FirstIndex factor(Cuda&, RowOrder<Cuda>&, const CholeskyElimination<float>&, std::int64_t);
template FirstIndex factor(Cuda&, RowOrder<Cuda>&, const CholeskyElimination<double>&, std::int64_t);

}  // namespace echelon::incomplete
