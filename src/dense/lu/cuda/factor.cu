// SPDX-License-Identifier: BSD-3-Clause
// P A = L U on a GPU: right-looking in panels, with the next panel factored during the trailing update.
#include "dense/lu/cuda/apply.cuh"
#include "dense/lu/cuda/substitution.cuh"
#include "dense/lu/cuda/tall_panel.cuh"
#include "dense/lu/workspace.cuh"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace echelon::lu {

namespace {

/// A factorisation in progress, with leaves by the kernels for Job: LuLeafJob<T> or IteratedLeafJob<T>.
template <class T, class Job>
class CudaLuFactorization {
 public:
  CudaLuFactorization(const Cuda& backend, FactorWorkspace<Cuda, T>& workspace, const Tuning& tuning,
                      const SectionIteration<T>* iteration, DenseView<T> A, std::int64_t* pivots)
      : backend_(backend),
        workspace_(workspace),
        iteration_(iteration),
        tuning_(tuning),
        A_(A),
        pivots_(pivots),
        rows_(workspace.pivot_rows.data()),
        ahead_rows_(rows_ + tuning.panel_columns * A.columns()),
        inverses_(workspace.panel_inverses.data()),
        ahead_inverses_(inverses_ + 2 * inverses_size(tuning.panel_columns)) {}

  /// Memory that a factorisation needs.
  static void reserve(FactorWorkspace<Cuda, T>& workspace, const Tuning& tuning, const DenseView<T>& A) {
    const Device& device = A.device();
    const std::int64_t block = tuning.panel_columns;
    const std::int64_t panels = (std::min(A.rows(), A.columns()) + block - 1) / block;
    const auto resize = [&device](auto& array, std::int64_t size) {
      if (array.size() == size) return;
      array = {};  // releases the memory first
      array = std::remove_reference_t<decltype(array)>(device, size);
    };
    resize(workspace.permutation, A.rows());
    resize(workspace.leaf_origins, A.rows());
    resize(workspace.panel_origins, panels * A.rows());
    resize(workspace.later_origins, tuning.left_last ? panels * A.rows() : 0);
    resize(workspace.pivot_rows, block * (A.columns() + block));
    resize(workspace.panel_inverses, 3 * inverses_size(block));
    resize(workspace.inverses, A.rows() == A.columns() ? inverses_size(A.rows()) : 0);
  }

  [[nodiscard]] std::int64_t count() const { return std::min(A_.rows(), A_.columns()); }
  [[nodiscard]] std::int64_t block() const { return tuning_.panel_columns; }

  /// Factors columns [begin, end) from row `begin` down, leaf by leaf.
  void factor_panel(const StreamContext& context, std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin; first < end;) {
      const auto& plan = plans().find(backend_, A_.rows() - first, end - first, tuning_.panel);
      const bool in_cluster = plan.kernel != nullptr && tuning_.clusters;
      const std::int64_t width = in_cluster ? plan.width : tall_leaf_width<T>(A_.device(), A_.rows() - first);
      const std::int64_t last = std::min(first + width, end);
      const bool whole = first == begin && last == end;
      const Job job = leaf(begin, first, last, whole);
      if (in_cluster) {
        factor_leaf(backend_, plan, job, context.stream);
      } else {
        factor_tall_leaf<T>(A_.device(), workspace_, job, context.stream);
      }
      if (!whole) {
        apply_columns<T>(context, factored(first, last, job.of_leaf.origins),
                         {rows_from(first), begin, first, last, end}, {ahead_rows_, ahead_inverses_});
      }
      first = last;
    }
  }

  /// Applies the panel of columns [begin, end) to columns [end, next_end), ahead of the other columns.
  void update_next(const StreamContext& context, std::int64_t begin, std::int64_t end,
                   std::int64_t next_end) {
    apply_columns<T>(with_products(context), factored(begin, end, origins(begin)),
                     right_columns(begin, end, next_end), {ahead_rows_, ahead_inverses_});
  }

  /// Inverts the diagonal blocks of L in columns [begin, end), which work queued on `stream` factors, on a
  /// stream of its own.
  void invert_beside(cudaStream_t stream, std::int64_t begin, std::int64_t end) {
    check(cudaEventRecord(workspace_.factored.get(), stream));
    const StreamContext beside{workspace_.lookahead.context().backend, workspace_.inversion.get()};
    check(cudaStreamWaitEvent(beside.stream, workspace_.factored.get(), 0));
    invert_diagonal_blocks<T>(beside,
                              {A_.column(begin) + begin, end - begin, end - begin, A_.leading(), A_.device()},
                              true, inverses(begin));
    check(cudaEventRecord(inverted(begin), beside.stream));
  }

  /// Applies the panel of columns [begin, end) to the columns to its left, unless finish() does so at the
  /// end, and to those from right_begin on. `inverted_beside`: invert_beside was called.
  void apply_panel(const StreamContext& context, std::int64_t begin, std::int64_t end,
                   std::int64_t right_begin, bool inverted_beside) {
    apply_columns<T>(with_products(context), factored(begin, end, origins(begin)),
                     right_columns(begin, right_begin, A_.columns()),
                     {rows_, inverses(begin), inverted_beside ? inverted(begin) : nullptr});
    if (inverted_beside) check(cudaStreamWaitEvent(context.stream, inverted(begin), 0));
    if (tuning_.left_last) return;
    exchange_rows<T>(context, columns_of(rows_from(begin), 0, begin), origins(begin),
                     static_cast<int>(end - begin));
  }

  /// Exchanges rows in the columns to the left after the last panel.
  void finish(const StreamContext& context) {
    if (!tuning_.left_last) return;
    exchange_left_rows<T>(context, A_, count(), block(), workspace_.panel_origins.data(),
                          workspace_.later_origins.data());
  }

 private:
  /// Context with the requested arithmetic of products. Products within panels are in float.
  [[nodiscard]] StreamContext with_products(const StreamContext& context) const {
    return {context.backend, context.stream, workspace_.products};
  }
  [[nodiscard]] cudaEvent_t inverted(std::int64_t begin) const {
    return workspace_.inverted[begin / block() % 2].get();
  }
  [[nodiscard]] T* inverses(std::int64_t begin) const {
    return inverses_ + begin / block() % 2 * inverses_size(block());
  }
  [[nodiscard]] int* origins(std::int64_t begin) const {
    return workspace_.panel_origins.data() + begin / block() * A_.rows();
  }

  [[nodiscard]] LeafPlans<Job>& plans() const {
    if constexpr (Job::iterated) {
      return workspace_.iterated_plans;
    } else {
      return workspace_.plans;
    }
  }

  Job leaf(std::int64_t begin, std::int64_t first, std::int64_t last, bool whole) const {
    const LuLeafJob<T> job = direct_leaf(begin, first, last, whole);
    if constexpr (Job::iterated) {
      return {job, *iteration_};
    } else {
      return job;
    }
  }

  [[nodiscard]] LuLeafJob<T> direct_leaf(std::int64_t begin, std::int64_t first, std::int64_t last,
                                         bool whole) const {
    return {.a = A_.column(first) + first,
            .leading = A_.leading(),
            .rows = static_cast<int>(A_.rows() - first),
            .width = static_cast<int>(last - first),
            .begin = first,
            .pivots = pivots_ + first,
            .of_leaf = {whole ? nullptr : workspace_.leaf_origins.data()},
            .of_panel = {origins(begin) + (first - begin), first > begin},
            .of_matrix = {workspace_.permutation.data() + first, first > 0},
            .exchange = workspace_.exchange.data()};
  }

  [[nodiscard]] DenseView<T> rows_from(std::int64_t first) const {
    return {A_.data() + first, A_.rows() - first, A_.columns(), A_.leading(), A_.device()};
  }
  /// Columns [first, last), from row `row` down, as the right part.
  [[nodiscard]] ColumnsExcept<T> right_columns(std::int64_t row, std::int64_t first,
                                               std::int64_t last) const {
    return {rows_from(row), first, first, first, last};
  }
  [[nodiscard]] FactoredColumns<T> factored(std::int64_t first, std::int64_t last, const int* origins) const {
    return {.L = {A_.column(first) + first, A_.rows() - first, last - first, A_.leading(), A_.device()},
            .origins = origins};
  }

  const Cuda& backend_;
  FactorWorkspace<Cuda, T>& workspace_;
  const SectionIteration<T>* iteration_;
  const Tuning& tuning_;
  DenseView<T> A_;
  std::int64_t* pivots_;
  T* rows_;  // of U, on the main stream, and on the look-ahead stream:
  T* ahead_rows_;
  T* inverses_;
  T* ahead_inverses_;
};

/// Empty kernel. Delays this stream by one launch so that the look-ahead stream is scheduled first.
__global__ void delay_stream() {}

template <class T, class Job>
void factor_in_order(Cuda& backend, CudaLuFactorization<T, Job>& lu) {
  const StreamContext context{backend, stream()};
  for (std::int64_t begin = 0; begin < lu.count(); begin += lu.block()) {
    const std::int64_t end = std::min(begin + lu.block(), lu.count());
    lu.factor_panel(context, begin, end);
    lu.apply_panel(context, begin, end, end, false);
  }
  lu.finish(context);
}

/// Factors with look-ahead: the next panel is updated and factored during the trailing update of the others.
template <class T, class Job>
void factor_with_lookahead(Cuda& backend, LookaheadStream& lookahead, bool panels_first,
                           CudaLuFactorization<T, Job>& lu) {
  const StreamContext main{backend, stream()};
  const StreamContext ahead = lookahead.context();
  // While panels dominate, events cost more time than they save.
  const bool inverts_beside = !panels_first;
  lookahead.record_main();
  lookahead.wait_for_main();
  lu.factor_panel(ahead, 0, std::min(lu.block(), lu.count()));
  lookahead.record();
  if (inverts_beside) lu.invert_beside(ahead.stream, 0, std::min(lu.block(), lu.count()));
  for (std::int64_t begin = 0; begin < lu.count(); begin += lu.block()) {
    const std::int64_t end = std::min(begin + lu.block(), lu.count());
    const std::int64_t next_end = std::min(end + lu.block(), lu.count());
    lookahead.make_main_wait();
    if (next_end > end) {
      lookahead.wait_for_main();
      lu.update_next(ahead, begin, end, next_end);
      if (panels_first) {
        lookahead.record();
        lookahead.make_main_wait();
        delay_stream<<<1, 1, 0, stream()>>>();
        check(cudaGetLastError());
      }
      lu.factor_panel(ahead, end, next_end);
      lookahead.record();
      if (inverts_beside) lu.invert_beside(ahead.stream, end, next_end);
    }
    lu.apply_panel(main, begin, end, next_end, inverts_beside);
    lookahead.record_main();
  }
  lu.finish(main);
}

/// Computes result = combination of the upper triangle's elements.
template <class T>
__global__ void __launch_bounds__(cuda_kernels::block_size)
    inspect(DenseView<const T> A, Inspection* partial, unsigned* finished, Inspection* result) {
  Inspection found;
  for (std::int64_t j = blockIdx.x; j < A.columns(); j += gridDim.x) {
    const T* column = A.data() + j * A.leading();
    for (std::int64_t i = threadIdx.x; i <= j && i < A.rows(); i += cuda_kernels::block_size) {
      const auto u = static_cast<double>(column[i]);
      found.largest = combine(found.largest, {fabs(u)});
      if (i == j && u == 0) found.zero_pivot = combine(found.zero_pivot, {i});
    }
  }
  if (cuda_kernels::combine_blocks(found, blockIdx.x, gridDim.x, partial, finished)) *result = found;
}

/// Selects the parameters that are not given.
template <class T>
Tuning complete(const Tuning& given, std::int64_t rows, std::int64_t columns) {
  if (given.panel_columns > 0) return given;
  constexpr std::int64_t one_stream = 512;
  constexpr std::int64_t panels_dominate = 8192;
  constexpr std::int64_t medium = sizeof(T) == 8 ? 96 : 256;
  Tuning tuning = given;
  const std::int64_t n = std::max(rows, columns);
  tuning.panel_columns = n <= 1024 || (n > 4096 && n <= 8192) ? 256 : (n <= 4096 ? medium : 512);
  tuning.lookahead = n > one_stream;
  tuning.panels_first = n <= panels_dominate;
  tuning.left_last = n > panels_dominate / 4;
  return tuning;
}

template <class T, class Job>
void queue_panels(Cuda& backend, FactorWorkspace<Cuda, T>& workspace, DenseView<T> A, std::int64_t* pivots,
                  const SectionIteration<T>* iteration) {
  const Tuning tuning = complete<T>(workspace.tuning, A.rows(), A.columns());
  CudaLuFactorization<T, Job>::reserve(workspace, tuning, A);
  CudaLuFactorization<T, Job> lu(backend, workspace, tuning, iteration, A, pivots);
  if (tuning.lookahead && lu.count() > tuning.panel_columns) {
    factor_with_lookahead(backend, workspace.lookahead, tuning.panels_first, lu);
  } else {
    factor_in_order(backend, lu);
  }
}

}  // namespace

template <class T>
void queue_factorization(Cuda& backend, FactorWorkspace<Cuda, T>& workspace, DenseView<T> A,
                         std::int64_t* pivots, const SectionIteration<T>* iteration) {
  const CurrentDevice current(backend.device().id());
  if (iteration != nullptr) {
    queue_panels<T, IteratedLeafJob<T>>(backend, workspace, A, pivots, iteration);
  } else {
    queue_panels<T, LuLeafJob<T>>(backend, workspace, A, pivots, nullptr);
  }
  constexpr std::int64_t max_blocks = 1024;
  const auto blocks = static_cast<unsigned>(std::min(A.columns(), max_blocks));
  auto* const partial = static_cast<Inspection*>(backend.scratch(max_blocks * sizeof(Inspection)));
  inspect<T><<<blocks, cuda_kernels::block_size, 0, stream()>>>(A, partial, workspace.counters.data() + 1,
                                                                workspace.found.template at<Inspection>());
  check(cudaGetLastError());
  workspace.found.record();
  if (A.rows() == A.columns()) {
    invert_diagonal_blocks<T>({backend, stream()}, A, false, workspace.inverses.data());
  }
}

template <class T>
LuResult wait_for_factors(FactorWorkspace<Cuda, T>& workspace) {
  workspace.found.wait();
  const auto& found = *workspace.found.template at<Inspection>();
  return {.zero_pivot = found.zero_pivot.value == FirstIndex::none ? -1 : found.zero_pivot.value,
          .largest = found.largest.value};
}

template <class T>
LuResult factor(Cuda& backend, FactorWorkspace<Cuda, T>& workspace, DenseView<T> A, std::int64_t* pivots,
                const SetupControl& control) {
  if (A.rows() == 0 || A.columns() == 0) return {};
  if (control.stop_requested()) return {.cancelled = true};
  queue_factorization(backend, workspace, A, pivots);
  return wait_for_factors(workspace);
}

template void queue_factorization(Cuda&, FactorWorkspace<Cuda, float>&, DenseView<float>, std::int64_t*,
                                  const SectionIteration<float>*);
template void queue_factorization(Cuda&, FactorWorkspace<Cuda, double>&, DenseView<double>, std::int64_t*,
                                  const SectionIteration<double>*);
template LuResult wait_for_factors(FactorWorkspace<Cuda, float>&);
template LuResult wait_for_factors(FactorWorkspace<Cuda, double>&);
template LuResult factor(Cuda&, FactorWorkspace<Cuda, float>&, DenseView<float>, std::int64_t*,
                         const SetupControl&);
template LuResult factor(Cuda&, FactorWorkspace<Cuda, double>&, DenseView<double>, std::int64_t*,
                         const SetupControl&);

}  // namespace echelon::lu
