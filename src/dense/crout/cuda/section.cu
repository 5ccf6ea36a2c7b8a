// SPDX-License-Identifier: BSD-3-Clause
#include "dense/crout/cuda/grid.cuh"
#include "dense/crout/cuda/section.cuh"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace echelon::crout {

namespace {

constexpr int section_threads = 512;
constexpr int section_warps = section_threads / warp_size;
constexpr int widest = static_cast<int>(widest_section);
static_assert(widest == warp_size, "a lane has a row of the diagonal");

template <class T>
struct Section {
  DenseView<T> A;
  std::int64_t first, last;
  int rows_of_block;  ///< below the diagonal
  double tolerance;
  std::int64_t* pivots;
  Candidate* candidates;  ///< of each block, for two columns in turn
  T* rows;                ///< of these elements, widest elements each
  BlockedState* state;

  [[nodiscard]] __device__ int width() const { return static_cast<int>(last - first); }
};

/// Rows of the diagonal by columns, padded against bank conflicts.
template <class T>
struct Square {
  T elements[widest][widest + 1];
  [[nodiscard]] __device__ T& operator()(int i, int j) { return elements[j][i]; }
};

/// `own`: this block's rows below the diagonal, by columns. As long as a column is not final they hold A,
/// then L.
template <class T>
struct SectionMemory {
  Square<T> matrix;       ///< A, in columns that are not final
  Square<T> iterates[2];  ///< L and U; the second only for the iteration
  int least_change;
  T* own;
};

template <class T, bool iterated>
class SectionFactorization {
 public:
  __device__ SectionFactorization(const Section<T>& s, SectionMemory<T>& m, unsigned* arrivals)
      : s_(s),
        m_(m),
        barrier_(arrivals),
        begin_(s.first + s.width() + std::int64_t{blockIdx.x} * s.rows_of_block),
        own_rows_(
            static_cast<int>(max(std::int64_t{0}, min(std::int64_t{s.rows_of_block}, s.A.rows() - begin_)))) {
  }

  __device__ void run() {
    load();
    const bool complete = iterated ? iterate() : eliminate();
    if (complete) store();
    if (iterated && first_thread()) record();
  }

 private:
  [[nodiscard]] __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  [[nodiscard]] __device__ static bool first_thread() { return blockIdx.x == 0 && threadIdx.x == 0; }
  [[nodiscard]] __device__ Square<T>& present() { return m_.iterates[present_]; }
  [[nodiscard]] __device__ T& own(int r, int c) { return m_.own[c * s_.rows_of_block + r]; }

  __device__ void load() {
    for (int c = thread() / warp_size; c < s_.width(); c += section_warps) {
      const T* const column = s_.A.data() + (s_.first + c) * s_.A.leading();
      if (lane_id() < s_.width()) {
        m_.matrix(lane_id(), c) = present()(lane_id(), c) = column[s_.first + lane_id()];
        if (iterated) m_.iterates[1](lane_id(), c) = present()(lane_id(), c);
      }
      for (int r = lane_id(); r < own_rows_; r += warp_size) own(r, c) = column[begin_ + r];
    }
    __syncthreads();
  }

  __device__ void store() {
    __syncthreads();
    for (int c = thread() / warp_size; c < s_.width(); c += section_warps) {
      T* const column = s_.A.data() + (s_.first + c) * s_.A.leading();
      if (blockIdx.x == 0 && lane_id() < s_.width()) column[s_.first + lane_id()] = present()(lane_id(), c);
      for (int r = lane_id(); r < own_rows_; r += warp_size) column[begin_ + r] = own(r, c);
    }
  }

  __device__ bool eliminate() {
    for (int j = 0; j < s_.width(); ++j) {
      bool exchanged = false;
      if (!complete_column(j, exchanged)) return false;
      const int c = thread();
      if (c > j && c < s_.width()) {
        T sum = present()(j, c);
        for (int k = 0; k < j; ++k) sum -= present()(j, k) * present()(k, c);
        present()(j, c) = sum / present()(j, j);
      }
      __syncthreads();
    }
    return true;
  }

  __device__ bool iterate() {
    int j = 0;
    while (j < s_.width()) {
      constexpr int margin = 8;
      if (sweeps_ >= 3 * s_.width() + 2 * exchanges_ + margin) return overflow();
      const int converged = sweep(j);
      for (bool exchanged = false; j < s_.width() && j < converged && !exchanged; ++j) {
        if (!complete_column(j, exchanged)) return false;
        exchanges_ += exchanged ? 1 : 0;
      }
    }
    return true;
  }

  /// Sweeps over L and then U in the columns from j on; a warp has a column, a lane a row. Returns the least
  /// greater index of an element that changed.
  __device__ int sweep(int j) {
    Square<T>& old = present();
    Square<T>& next = m_.iterates[1 - present_];
    const int i = lane_id();
    constexpr int no_change = INT32_MAX;
    int changed = no_change;
    if (thread() == 0) m_.least_change = no_change;
    for (int c = j + thread() / warp_size; c < s_.width(); c += section_warps) {
      if (i < c || i >= s_.width()) continue;
      T sum = m_.matrix(i, c);
#pragma unroll 8
      for (int k = 0; k < c; ++k) sum -= old(i, k) * old(k, c);
      if (has_changed(sum, old(i, c))) changed = min(changed, i);
      next(i, c) = sum;
    }
    __syncthreads();
    for (int c = j + thread() / warp_size; c < s_.width(); c += section_warps) {
      if (i >= c) continue;
      T sum = m_.matrix(i, c);
#pragma unroll 8
      for (int k = 0; k < c; ++k) {
        if (k < i) sum -= next(i, k) * old(k, c);
      }
      sum /= next(i, i);
      if (has_changed(sum, old(i, c))) changed = min(changed, c);
      next(i, c) = sum;
    }
    if (changed != no_change) atomicMin(&m_.least_change, changed);
    __syncthreads();
    present_ = 1 - present_;
    ++sweeps_;
    elements_ += 2 * s_.width() * (s_.width() - j);
    return m_.least_change;
  }

  [[nodiscard]] __device__ bool has_changed(T value, T before) const {
    return !(std::fabs(static_cast<double>(value) - static_cast<double>(before)) <= s_.tolerance);
  }

  /// Column j of L below the diagonal, and its pivot. Returns false if there is none or an element is not
  /// finite in an iterated section.
  __device__ bool complete_column(int j, bool& exchanged) {
    const Candidate of_block = block_best<section_threads>(form_column(j));
    publish(j, of_block);
    barrier_.wait();
    const Candidate pivot = grid_best(s_.candidates + j % 2 * std::int64_t{gridDim.x});
    if (iterated && !(magnitude_from<T>(pivot.magnitude) <= DBL_MAX)) return overflow();
    if (pivot.magnitude == 0) return no_pivot(j);
    const auto row = static_cast<int>(pivot.row);
    exchanged = row != j;
    if (exchanged) exchange_rows(j, row);
    if (first_thread()) s_.pivots[s_.first + j] = s_.first + row;
    return true;
  }

  /// Returns the largest element of this thread's rows; rows count from the section's first one.
  __device__ Candidate form_column(int j) {
    Candidate largest;
    const int diagonal_rows = s_.width() - j;
    if (iterated && thread() < j) m_.iterates[1 - present_](thread(), j) = present()(thread(), j);
    for (int e = thread(); e < diagonal_rows + own_rows_; e += section_threads) {
      T element = 0;
      std::int64_t row = 0;
      if (e < diagonal_rows) {
        const int i = j + e;
        row = i;
        // An iterated diagonal element has converged.
        element = iterated && i == j ? present()(j, j) : m_.matrix(i, j);
        if (!iterated || i > j) {
          for (int k = 0; k < j; ++k) element -= present()(i, k) * present()(k, j);
        }
        column_of_diagonal(i, j, element);
      } else {
        const int r = e - diagonal_rows;
        row = begin_ - s_.first + r;
        element = own(r, j);
#pragma unroll 8
        for (int k = 0; k < j; ++k) element -= own(r, k) * present()(k, j);
        own(r, j) = element;
      }
      largest = combine(largest, candidate(element, row));
    }
    return largest;
  }

  __device__ void column_of_diagonal(int i, int j, T element) {
    m_.iterates[present_](i, j) = element;
    if (iterated) m_.iterates[1 - present_](i, j) = element;
  }

  /// Makes the block's largest element known to the grid, with its row if that is below the diagonal.
  __device__ void publish(int j, const Candidate& largest) {
    const std::int64_t place = j % 2 * std::int64_t{gridDim.x} + blockIdx.x;
    if (thread() == 0) s_.candidates[place] = largest;
    const std::int64_t r = largest.row - (begin_ - s_.first);
    if (r >= 0 && thread() < s_.width()) {
      s_.rows[place * widest + thread()] = own(static_cast<int>(r), thread());
    }
  }

  /// Exchanges rows j and `row` of the section. In columns after j, rows of the diagonal have both A and, if
  /// iterated, iterates; other rows have A, with which the iteration begins.
  __device__ void exchange_rows(int j, int row) {
    const int c = thread();
    if (c < s_.width()) {
      if (row < s_.width()) {
        swap(m_.matrix(j, c), m_.matrix(row, c));
        for (int which = 0; which < (iterated ? 2 : 1); ++which) {
          swap(m_.iterates[which](j, c), m_.iterates[which](row, c));
        }
      } else {
        const int below = row - s_.width();
        const int owner = below / s_.rows_of_block;
        const T incoming = s_.rows[(j % 2 * std::int64_t{gridDim.x} + owner) * widest + c];
        if (owner == static_cast<int>(blockIdx.x)) {
          own(below % s_.rows_of_block, c) = c <= j ? present()(j, c) : m_.matrix(j, c);
        }
        m_.matrix(j, c) = incoming;
        for (int which = 0; which < (iterated ? 2 : 1); ++which) m_.iterates[which](j, c) = incoming;
      }
    }
    __syncthreads();
  }

  __device__ static void swap(T& a, T& b) {
    const T before = a;
    a = b;
    b = before;
  }

  __device__ bool overflow() {
    if (first_thread()) s_.state->overflow = 1;
    return false;
  }

  __device__ bool no_pivot(int j) {
    if (first_thread()) s_.state->zero_pivot = s_.first + j;
    return false;
  }

  __device__ void record() {
    IterationCounts& counts = s_.state->counts;
    ++counts.sections;
    counts.diagonal_sweeps += sweeps_;
    counts.most_diagonal_sweeps = max(counts.most_diagonal_sweeps, std::int64_t{sweeps_});
    counts.lower_sweeps += s_.width();
    counts.exchanges += exchanges_;
    counts.elements += elements_ + s_.width() * (s_.A.rows() - s_.first) - s_.width() * (s_.width() + 1) / 2;
  }

  const Section<T>& s_;
  SectionMemory<T>& m_;
  GridBarrier barrier_;
  std::int64_t begin_;  // the block's first row
  int own_rows_;
  int present_ = 0;
  int sweeps_ = 0;
  int exchanges_ = 0;
  std::int64_t elements_ = 0;
};

template <class T, bool iterated>
__global__ void __launch_bounds__(section_threads, 1) factor(const Section<T> s, unsigned* arrivals) {
  extern __shared__ unsigned char own_rows[];
  __shared__ SectionMemory<T> memory;
  if (s.state->zero_pivot >= 0 || s.state->overflow != 0) return;
  if (threadIdx.x == 0) memory.own = reinterpret_cast<T*>(own_rows);
  __syncthreads();
  SectionFactorization<T, iterated>(s, memory, arrivals).run();
}

}  // namespace

template <class T>
SectionWorkspace<T>::SectionWorkspace(const Device& device)
    : candidates(device, std::int64_t{2} * multiprocessors(device)),
      rows(device, candidates.size() * widest_section),
      arrivals(device, 1),
      state(device, 1) {
  Cuda(device).write(BlockedState{}, state.data());
}

template <class T>
void factor_section(Cuda& backend, DenseView<T> A, std::int64_t first, std::int64_t last, bool iterated,
                    double tolerance, std::int64_t* pivots, SectionWorkspace<T>& workspace) {
  const CurrentDevice current(backend.device().id());
  constexpr std::int64_t rows_that_pay = 64;  // for a block
  const std::int64_t below = A.rows() - last;
  const std::int64_t blocks = std::clamp<std::int64_t>((below + rows_that_pay - 1) / rows_that_pay, 1,
                                                       workspace.candidates.size() / 2);
  const std::int64_t rows_of_block = (below + blocks - 1) / blocks;
  const auto bytes = static_cast<std::size_t>(rows_of_block * (last - first)) * sizeof(T);
  const auto kernel = iterated ? factor<T, true> : factor<T, false>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  check(cudaMemsetAsync(workspace.arrivals.data(), 0, sizeof(unsigned), stream()));
  launch_grid(kernel, static_cast<unsigned>(blocks), section_threads, bytes,
              Section<T>{A, first, last, static_cast<int>(rows_of_block), tolerance, pivots,
                         workspace.candidates.data(), workspace.rows.data(), workspace.state.data()},
              workspace.arrivals.data());
}

template struct SectionWorkspace<float>;
template struct SectionWorkspace<double>;
template void factor_section(Cuda&, DenseView<float>, std::int64_t, std::int64_t, bool, double, std::int64_t*,
                             SectionWorkspace<float>&);
template void factor_section(Cuda&, DenseView<double>, std::int64_t, std::int64_t, bool, double,
                             std::int64_t*, SectionWorkspace<double>&);

}  // namespace echelon::crout
