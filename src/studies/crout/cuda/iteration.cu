// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/spmv/multiply.hpp"
#include "studies/crout/cuda/grid.cuh"
#include "studies/crout/cuda/iteration.cuh"
#include "studies/crout/cuda/sweep.cuh"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace echelon::crout {

namespace {

/// Most sweeps that `depth` dependencies can need without overflow.
__device__ bool may_sweep(std::int64_t sweeps, std::int64_t depth) {
  constexpr std::int64_t margin = 8;
  return sweeps < depth + margin;
}

struct Lesser {
  __device__ int operator()(int a, int b) const { return a < b ? a : b; }
};

/// Lowers `least` to the least of the warp's values.
__device__ void report_least(int value, int* least) {
  value = warp_reduce(value, Lesser());
  if (lane_id() == 0 && value != no_change) atomicMin(least, value);
}

/// Index max(i, j) of an element.
struct LaterIndex {
  __device__ int operator()(int i, int j) const { return i > j ? i : j; }
};
/// Index by which the elements of a region to the right of the diagonal section or below it depend on each
/// other.
template <Factor part>
struct DependentIndex {
  __device__ int operator()(int i, int j) const { return part == Factor::lower ? j : i; }
};

/// The section [first, last) of A, which holds the section's matrix and, in the columns that are final, L.
template <class T>
struct Diagonal {
  DenseView<T> A;
  std::int64_t first, last;
  T* square[2];
  std::int64_t* pivots;
  PivotMaximum* candidates;  ///< of each block, twice
  Changes* changes;
  SectionState* state;
  double tolerance;
  bool pivoting;
  double pivot_threshold;

  [[nodiscard]] __device__ int size() const { return static_cast<int>(last - first); }
  [[nodiscard]] __device__ Elements<T> matrix() const {
    return {A.data() + first * (A.leading() + 1), A.leading()};
  }
  [[nodiscard]] __device__ Elements<T> iterate(int which) const { return {square[which], size()}; }
};

/// Columns [last, n) of rows [first, last), or rows [last, n) of columns [first, last).
template <class T>
struct Beside {
  DenseView<T> A;
  std::int64_t first, last;
  T* iterates[2];
  SectionState* state;
  double tolerance;
};

/// The iteration of a diagonal section, which all blocks of a grid follow together.
template <class T, int tile>
class DiagonalIteration {
  static constexpr int threads = sweep_threads<tile>;

 public:
  __device__ DiagonalIteration(const Diagonal<T>& d, unsigned* arrivals, TileMemory<T, tile>& memory,
                               T* partial)
      : d_(d), barrier_(arrivals), memory_(memory), partial_(partial) {}

  __device__ void run() {
    copy_matrix();
    barrier_.wait();
    int j = 0;
    while (j < d_.size()) {
      if (!may_sweep(counts_.diagonal_sweeps, 3 * std::int64_t{d_.size()} + 2 * counts_.exchanges)) {
        return fail([](SectionState& state) { state.overflow = 1; });
      }
      const int converged = sweep(d_.pivoting ? j : 0);
      for (bool exchange = false; j < d_.size() && j < converged && !exchange; ++j) {
        if (!complete_column(j, exchange)) return;
      }
    }
    if (!d_.pivoting) copy_factors();
    if (first_thread()) d_.state->counts = counts_;
  }

 private:
  [[nodiscard]] __device__ static bool first_thread() { return blockIdx.x == 0 && threadIdx.x == 0; }
  [[nodiscard]] __device__ static std::int64_t thread() {
    return std::int64_t{blockIdx.x} * threads + threadIdx.x;
  }
  [[nodiscard]] __device__ static std::int64_t all_threads() { return std::int64_t{gridDim.x} * threads; }
  [[nodiscard]] __device__ Elements<T> present() const { return d_.iterate(present_); }

  template <class Change>
  __device__ void fail(Change change) {
    if (!first_thread()) return;
    d_.state->counts = counts_;
    change(*d_.state);
  }

  __device__ void copy_matrix() {
    const int size = d_.size();
    for (std::int64_t e = thread(); e < std::int64_t{size} * size; e += all_threads()) {
      const T element = d_.matrix()(static_cast<int>(e % size), static_cast<int>(e / size));
      d_.square[0][e] = d_.square[1][e] = element;
    }
  }

  __device__ void copy_factors() {
    const int size = d_.size();
    for (std::int64_t e = thread(); e < std::int64_t{size} * size; e += all_threads()) {
      d_.matrix()(static_cast<int>(e % size), static_cast<int>(e / size)) = present().data[e];
    }
  }

  /// Sweeps over L and then over U, in columns from `begin` on; earlier columns are final. Returns the least
  /// max(i, j) of an element that changed.
  __device__ int sweep(int begin) {
    int& least = d_.changes->least[counts_.diagonal_sweeps % 3];
    if (first_thread()) d_.changes->least[(counts_.diagonal_sweeps + 1) % 3] = no_change;
    const Elements<T> next = d_.iterate(1 - present_);
    const int size = d_.size();
    const int tiles = (size + tile - 1) / tile;
    const int first_tile = begin / tile;
    int changed = no_change;

    // Tiles with the longest sums come first.
    const Sweep<T> lower{d_.matrix(), present(), present(), present(), next, begin, size, size, d_.tolerance};
    int number = 0;
    for (int column = tiles - 1; column >= first_tile; --column) {
      for (int row = column; row < tiles; ++row) {
        if (number++ % gridDim.x != blockIdx.x) continue;
        TileSweep<T, Factor::lower, tile> sweep(lower, memory_, row * tile, column * tile);
        changed = min(changed, sweep.evaluate(LaterIndex()));
      }
    }
    barrier_.wait();
    const Sweep<T> upper{d_.matrix(), next, present(), present(), next, begin, size, size, d_.tolerance};
    number = 0;
    for (int row = tiles - 1; row >= 0; --row) {
      for (int column = max(row, first_tile); column < tiles; ++column) {
        if (number++ % gridDim.x != blockIdx.x) continue;
        TileSweep<T, Factor::upper, tile> sweep(upper, memory_, row * tile, column * tile);
        changed = min(changed, sweep.evaluate(LaterIndex()));
      }
    }
    report_least(changed, &least);
    barrier_.wait();
    present_ = 1 - present_;
    ++counts_.diagonal_sweeps;
    counts_.elements += 2 * std::int64_t{size} * (size - begin);
    return least;
  }

  /// Completes column j, which has converged in the square: with pivoting, converges it below the square and
  /// exchanges its pivot row. Returns false if the iteration has failed.
  __device__ bool complete_column(int j, bool& exchange) {
    const std::int64_t column = d_.first + j;
    if (!d_.pivoting) {
      if (first_thread()) d_.pivots[column] = column;
      if (present()(j, j) != 0) return true;
      fail([=](SectionState& state) { state.zero_pivot = column; });
      return false;
    }
    PivotMaximum* const candidates = d_.candidates + j % 2 * gridDim.x;
    const PivotMaximum of_block = converge_below(j);
    if (threadIdx.x == 0) candidates[blockIdx.x] = of_block;
    barrier_.wait();
    ++counts_.lower_sweeps;
    if (d_.changes->overflow == j) {
      fail([](SectionState& state) { state.overflow = 1; });
      return false;
    }
    const PivotMaximum pivot = grid_best(candidates);
    const auto largest_magnitude = static_cast<double>(magnitude_from<T>(pivot.magnitude));
    const double diagonal = std::fabs(static_cast<double>(present()(j, j)));
    const bool acceptable = diagonal > 0 && diagonal >= d_.pivot_threshold * largest_magnitude;
    exchange = pivot.row != column && !acceptable;
    if (first_thread()) d_.pivots[column] = exchange ? pivot.row : column;
    if ((exchange ? largest_magnitude : diagonal) == 0) {
      fail([=](SectionState& state) { state.zero_pivot = column; });
      return false;
    }
    if (exchange) {
      barrier_.wait();  // the diagonal element has been read
      exchange_rows(j, pivot.row);
      ++counts_.exchanges;
      barrier_.wait();
    }
    return true;
  }

  /// Copies column j of U above the diagonal and of L to A, where the elements below the diagonal are final
  /// after one sweep, since all elements that they depend on are final. Returns the block's largest element
  /// of L.
  __device__ PivotMaximum converge_below(int j) {
    const std::int64_t column = d_.first + j;
    const std::int64_t rows = d_.A.rows();
    T* const a = d_.A.data() + column * d_.A.leading();
    const T* const u = &present()(0, j);
    PivotMaximum largest;
    if (blockIdx.x == 0) {
      for (int k = static_cast<int>(threadIdx.x); k <= j; k += threads) a[d_.first + k] = u[k];
      if (threadIdx.x == 0) largest = candidate(u[j], column);
    }
    largest = combine(largest, converge_in_square(j));
    const int tile_rows = rows_of_tile(rows - d_.last);
    for (std::int64_t row = d_.last + std::int64_t{blockIdx.x} * tile_rows; row < rows;
         row += std::int64_t{gridDim.x} * tile_rows) {
      const T sum = tile_products<threads>(d_.A.data() + d_.first * d_.A.leading() + row, d_.A.leading(),
                                           rows - row, u, j, tile_rows, partial_);
      const std::int64_t i = row + threadIdx.x;
      if (threadIdx.x < static_cast<unsigned>(tile_rows) && i < rows) {
        largest = combine(largest, accept_below(i, j, a[i] - sum));
      }
    }
    if (first_thread()) counts_.elements += rows - column - 1;
    return block_best<threads>(largest);
  }

  /// Computes column j of L in the rows of the square, in the order of summation of the sweeps: elements that
  /// have converged keep their bits, so that later columns do not change either. Each thread sums up one row.
  __device__ PivotMaximum converge_in_square(int j) {
    constexpr int rows_of_block = warp_size;  // of one warp, to use many multiprocessors
    PivotMaximum largest;
    if (threadIdx.x >= rows_of_block) return largest;
    const Elements<T> factors = present();
    for (int i = j + 1 + static_cast<int>(blockIdx.x * rows_of_block + threadIdx.x); i < d_.size();
         i += static_cast<int>(gridDim.x) * rows_of_block) {
      T sum = d_.matrix()(i, j);
#pragma unroll 16
      for (int k = 0; k < j; ++k) sum -= factors(i, k) * factors(k, j);
      largest = combine(largest, accept_below(d_.first + i, j, sum));
    }
    return largest;
  }

  __device__ PivotMaximum accept_below(std::int64_t i, int j, T element) {
    const std::int64_t column = d_.first + j;
    T& in_matrix = d_.A.data()[column * d_.A.leading() + i];
    in_matrix = element;
    if (i < d_.last) {
      for (int which = 0; which < 2; ++which) d_.iterate(which)(static_cast<int>(i - d_.first), j) = element;
    }
    if (!(std::fabs(static_cast<double>(element)) <= DBL_MAX)) d_.changes->overflow = j;
    return candidate(element, i);
  }

  /// Exchanges row j of the section and a row below it, in A and in the iterates.
  __device__ void exchange_rows(int j, std::int64_t other) {
    const bool in_square = other < d_.last;
    const int other_in_square = static_cast<int>(other - d_.first);
    for (std::int64_t c = thread(); c < d_.A.columns(); c += all_threads()) {
      T* const column = d_.A.data() + c * d_.A.leading();
      const T element = column[other];
      column[other] = column[d_.first + j];
      column[d_.first + j] = element;
      if (c < d_.first || c >= d_.last) continue;
      for (int which = 0; which < 2; ++which) {
        T* const iterate = &d_.iterate(which)(0, static_cast<int>(c - d_.first));
        const T from_other = in_square ? iterate[other_in_square] : element;
        if (in_square) iterate[other_in_square] = iterate[j];
        iterate[j] = from_other;
      }
    }
  }

  const Diagonal<T>& d_;
  GridBarrier barrier_;
  TileMemory<T, tile>& memory_;
  T* partial_;
  int present_ = 0;
  IterationCounts counts_{.sections = 1};
};

template <class T, int tile>
__global__ void __launch_bounds__(sweep_threads<tile>)
    iterate_diagonal_section(const Diagonal<T> d, unsigned* arrivals) {
  __shared__ TileMemory<T, tile> memory;
  __shared__ T partial[sweep_threads<tile> / warp_size * 16];
  DiagonalIteration<T, tile>(d, arrivals, memory, partial).run();
}

/// Sweeps over a strip of tiles until no element changes. Strips do not depend on each other.
template <Factor part, class T, int tile>
__global__ void __launch_bounds__(sweep_threads<tile>) iterate_strips(const Beside<T> s) {
  __shared__ TileMemory<T, tile> memory;
  __shared__ int first_change;
  if (s.state->zero_pivot >= 0 || s.state->overflow != 0) return;
  const int size = static_cast<int>(s.last - s.first);
  const int extent = size + static_cast<int>(s.A.rows() - s.last);
  const int strip = size + static_cast<int>(blockIdx.x) * tile;
  const bool lower = part == Factor::lower;
  const Elements<T> matrix{s.A.data() + s.first * (s.A.leading() + 1), s.A.leading()};
  const auto iterate = [&](int which) {
    return lower ? Elements<T>{s.iterates[which] - size, extent - size}
                 : Elements<T>{s.iterates[which] - std::int64_t{size} * size, size};
  };
  const auto for_strip = [&](auto&& f) {
    const int width = min(tile, extent - strip);
    for (int e = static_cast<int>(threadIdx.x); e < width * size; e += sweep_threads<tile>) {
      if (lower) {
        f(strip + e % width, e / width);
      } else {
        f(e % size, strip + e / size);
      }
    }
  };
  for_strip([&](int i, int j) { iterate(0)(i, j) = iterate(1)(i, j) = matrix(i, j); });
  int present = 0;
  int sweeps = 0;
  for (int changed = 0; changed < size; ++sweeps, present = 1 - present) {
    if (!may_sweep(sweeps, size + 1)) {
      if (threadIdx.x == 0) s.state->overflow = 1;
      return;
    }
    __syncthreads();
    if (threadIdx.x == 0) first_change = size;
    __syncthreads();
    const Elements<T> old = iterate(present);
    const Sweep<T> sweep{
        matrix, lower ? old : matrix,  lower ? matrix : old,  old,        iterate(1 - present),
        0,      lower ? extent : size, lower ? size : extent, s.tolerance};
    int change = no_change;
    for (int t = changed / tile * tile; t < size; t += tile) {
      TileSweep<T, part, tile> of_tile(sweep, memory, lower ? strip : t, lower ? t : strip);
      change = min(change, of_tile.evaluate(DependentIndex<part>()));
    }
    if (change < size) atomicMin(&first_change, change);
    __syncthreads();
    changed = first_change;
  }
  for_strip([&](int i, int j) { matrix(i, j) = iterate(present)(i, j); });
  if (threadIdx.x == 0) {
    std::int64_t* const most = lower ? &s.state->lower_sweeps : &s.state->upper_sweeps;
    atomicMax(reinterpret_cast<long long*>(most), static_cast<long long>(sweeps));
  }
}

/// Calls f.template operator()<size>() for the largest of the sizes that kernels are compiled for that is at
/// most `block_size`, or the smallest.
template <class F>
void with_block_size(std::int64_t block_size, F f) {
  if (block_size >= 32) return f.template operator()<32>();
  if (block_size >= 16) return f.template operator()<16>();
  return f.template operator()<8>();
}

}  // namespace

template <class T>
CudaIteration<T>::CudaIteration(Cuda& backend, DenseView<T> A, std::int64_t* pivots,
                                const IterationSettings& settings)
    : backend_(backend),
      A_(A),
      pivots_(pivots),
      settings_(settings),
      candidates_(backend.device(), std::int64_t{2} * multiprocessors(backend.device())),
      changes_(backend.device(), 1),
      arrivals_(backend.device(), 1),
      state_(backend.device(), 1) {
  const std::int64_t size = std::min(settings.section_size, A.rows());
  settings_.section_size = size;
  for (Array<T>& square : square_) square = Array<T>(backend.device(), size * size);
  for (Array<T>& beside : beside_) beside = Array<T>(backend.device(), size * (A.rows() - size));
}

template <class T>
typename CudaIteration<T>::Result CudaIteration<T>::factor(const CancellationToken& cancel) {
  const std::int64_t n = A_.rows();
  for (std::int64_t first = 0; first < n; first += settings_.section_size) {
    const std::int64_t last = std::min(first + settings_.section_size, n);
    result_.cancelled = cancel.stop_requested();
    if (result_.cancelled) return result_;
    subtract_earlier_sections(first, n, first, last);
    iterate_diagonal(first, last);
    if (!settings_.pivoting) iterate_beside(first, last, Factor::lower);
    subtract_earlier_sections(first, last, last, n);
    iterate_beside(first, last, Factor::upper);
    if (!finish_section(first, last)) return result_;
  }
  return result_;
}

/// Updates A(first : row_end, columns) -= L(first : row_end, 0 : first) U(0 : first, columns).
template <class T>
void CudaIteration<T>::subtract_earlier_sections(std::int64_t first, std::int64_t row_end,
                                                 std::int64_t column_begin, std::int64_t column_end) {
  if (first == 0 || column_begin == column_end) return;
  const auto block = [&](std::int64_t i, std::int64_t j, std::int64_t rows, std::int64_t columns) {
    return DenseView<T>(A_.data() + j * A_.leading() + i, rows, columns, A_.leading(), A_.device());
  };
  gemm<T>(backend_, T{-1}, block(first, 0, row_end - first, first),
          block(0, column_begin, first, column_end - column_begin), T{1},
          block(first, column_begin, row_end - first, column_end - column_begin));
}

template <class T>
void CudaIteration<T>::iterate_diagonal(std::int64_t first, std::int64_t last) {
  const CurrentDevice current(backend_.device().id());
  backend_.write(SectionState{}, state_.data());
  backend_.write(Changes{}, changes_.data());
  check(cudaMemsetAsync(arrivals_.data(), 0, sizeof(unsigned), stream()));
  const Diagonal<T> diagonal{A_,
                             first,
                             last,
                             {square_[0].data(), square_[1].data()},
                             pivots_,
                             candidates_.data(),
                             changes_.data(),
                             state_.data(),
                             settings_.tolerance,
                             settings_.pivoting,
                             settings_.pivot_threshold};
  with_block_size(settings_.block_size, [&]<int size>() {
    constexpr std::int64_t rows_of_block = 16;
    const std::int64_t tiles = (last - first + size - 1) / size;
    const std::int64_t useful = std::max(tiles * (tiles + 1) / 2, (A_.rows() - first) / rows_of_block);
    const auto blocks = static_cast<unsigned>(std::min(useful, candidates_.size() / 2));
    launch_grid(iterate_diagonal_section<T, size>, {blocks, sweep_threads<size>, 0, stream()}, diagonal,
                arrivals_.data());
  });
}

template <class T>
void CudaIteration<T>::iterate_beside(std::int64_t first, std::int64_t last, Factor part) {
  if (last == A_.rows()) return;
  const CurrentDevice current(backend_.device().id());
  const Beside<T> s{
      A_, first, last, {beside_[0].data(), beside_[1].data()}, state_.data(), settings_.tolerance};
  with_block_size(settings_.block_size, [&]<int size>() {
    const auto strips = static_cast<unsigned>((A_.rows() - last + size - 1) / size);
    if (part == Factor::lower) {
      iterate_strips<Factor::lower, T, size><<<strips, sweep_threads<size>, 0, stream()>>>(s);
    } else {
      iterate_strips<Factor::upper, T, size><<<strips, sweep_threads<size>, 0, stream()>>>(s);
    }
  });
  check(cudaGetLastError());
}

template <class T>
bool CudaIteration<T>::finish_section(std::int64_t first, std::int64_t last) {
  SectionState state = backend_.read(state_.data());
  IterationCounts& counts = state.counts;
  counts.most_diagonal_sweeps = counts.diagonal_sweeps;
  counts.lower_sweeps += state.lower_sweeps;
  counts.upper_sweeps += state.upper_sweeps;
  counts.elements += (state.lower_sweeps + state.upper_sweeps) * (last - first) * (A_.rows() - last);
  counts_ += counts;
  result_.zero_pivot = state.zero_pivot;
  result_.converged = state.overflow == 0;
  return result_.converged && result_.zero_pivot < 0;
}

template class CudaIteration<float>;
template class CudaIteration<double>;

}  // namespace echelon::crout
