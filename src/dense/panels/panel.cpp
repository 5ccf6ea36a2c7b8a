// SPDX-License-Identifier: BSD-3-Clause
#include "dense/panels/panel.hpp"

#include "backend/host/host.hpp"
#include "dense/panels/apply_panel.hpp"
#include "dense/panels/panel_loops.hpp"
#include "support/scalar.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace echelon {

namespace {

/// Columns of a leaf, which are eliminated one after the other; wider panels are halved.
constexpr std::int64_t leaf_columns = 8;
/// Work on fewer elements stays on the calling thread: starting threads takes longer.
constexpr std::int64_t min_parallel_elements = 16'384;

struct ColumnMaximum {
  double magnitude = -1;
  std::int64_t row = -1;
};

/// The largest magnitude of a column in rows [begin, end), the first of equal ones; the first NaN if there is
/// one.
template <class T>
ColumnMaximum find_largest(const T* column, std::int64_t begin, std::int64_t end) {
  ColumnMaximum best;
  for (std::int64_t i = begin; i < end; ++i) {
    const double size = magnitude(column[i]);
    if (size <= best.magnitude) continue;
    best = {size, i};
    if (size != size) break;
  }
  return best;
}

/// Elimination of a narrow panel, one column after the other.
template <class T>
class Leaf {
 public:
  Leaf(DenseView<T> A, std::int64_t begin, std::int64_t end, EliminationState& state,
       const PivotList<T>& pivots)
      : A_(A), begin_(begin), end_(end), state_(state), pivots_(pivots) {}

  void factor() {
    for (std::int64_t j = begin_; j < end_ && state_.rank < A_.rows(); ++j) {
      const ColumnMaximum pivot = find_largest(A_.column(j), state_.rank, A_.rows());
      const ColumnMaximum above = find_largest(A_.column(j), 0, state_.rank);
      const PivotAssessment assessment = assess_pivot(pivot.magnitude, above.magnitude, state_.tolerance);
      record(assessment, j, state_);
      switch (assessment.status) {
        case PivotStatus::accepted:
          accept(j, pivot.row);
          break;
        case PivotStatus::rejected:
          std::fill(A_.column(j) + state_.rank, A_.column(j) + A_.rows(), T{0});
          break;
        case PivotStatus::overflow:
          return;
      }
    }
  }

 private:
  void accept(std::int64_t j, std::int64_t row) {
    const std::int64_t k = state_.rank++;
    for (std::int64_t c = begin_; c < end_; ++c) std::swap(A_(k, c), A_(row, c));
    const T pivot = A_(k, j);
    pivots_.rows[k] = row;
    pivots_.columns[k] = j;
    pivots_.values[k] = pivot;
    for (std::int64_t c = begin_; c < end_; ++c) {
      if (c == j) continue;
      const T multiple = A_(k, c) / pivot;
      subtract(A_.rows(), multiple, A_.column(j), A_.column(c));
      A_(k, c) = multiple;
    }
    T* __restrict column = A_.column(j);
    for (std::int64_t i = 0; i < A_.rows(); ++i) column[i] = -column[i] / pivot;
    column[k] = T{1} / pivot;
  }

  static void subtract(std::int64_t n, T multiple, const T* __restrict x, T* __restrict y) {
    for (std::int64_t i = 0; i < n; ++i) y[i] -= multiple * x[i];
  }

  DenseView<T> A_;
  std::int64_t begin_, end_;
  EliminationState& state_;
  const PivotList<T>& pivots_;
};

/// Factors a panel recursively: the left half is factored and applied to the right half, and vice versa.
template <class B, class T>
void factor_recursively(B& backend, DenseView<T> A, std::int64_t begin, std::int64_t end,
                        EliminationState* state, const PivotList<T>& pivots, PanelWorkspace<T>& workspace) {
  if (end - begin <= leaf_columns) {
    Leaf<T>(A, begin, end, *state, pivots).factor();
    return;
  }
  const std::int64_t middle = begin + (end - begin + leaf_columns) / (2 * leaf_columns) * leaf_columns;
  const auto half = [&](std::int64_t first, std::int64_t last, DenseView<T> other) {
    const std::int64_t before = state->rank;
    factor_recursively(backend, A, first, last, state, pivots, workspace);
    if (state->overflow_column >= 0) return;
    const PivotRange range{before, state->rank};
    if (range.count() == 0) return;
    const DenseView<const T> G =
        pivot_columns<B, T>(backend, A, first, last, range, pivots.columns, workspace);
    apply_panel<B, T>(backend, G, range, pivots.rows, other, workspace);
  };
  half(begin, middle, column_range(A, middle, end));
  if (state->overflow_column >= 0) return;
  half(middle, end, column_range(A, begin, middle));
}

template <class T>
void take_rows(int threads, DenseView<T> X, PivotRange range, const std::int64_t* rows, T* W) {
  const panel_loops::TakePivotRows<T> take{X, range, rows, W};
#pragma omp parallel for num_threads(threads) \
    schedule(static) if (X.columns() * range.count() > min_parallel_elements)
  for (std::int64_t j = 0; j < X.columns(); ++j) take(j);
}

/// Rows of a block in loops over the rows of a column-major matrix, so that the parts of columns stay in
/// cache.
constexpr std::int64_t row_block = 512;

template <class T>
void exchange_columns(int threads, DenseView<T> A, const std::int64_t* rows, const EliminationState& state) {
  if (state.rank < A.columns()) return;
  const std::int64_t blocks = (A.rows() + row_block - 1) / row_block;
#pragma omp parallel for num_threads(threads) \
    schedule(static) if (A.rows() * A.columns() > min_parallel_elements)
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t begin = block * row_block;
    const std::int64_t end = std::min(begin + row_block, A.rows());
    for (std::int64_t k = A.columns(); k-- > 0;) {
      if (rows[k] == k) continue;
      std::swap_ranges(A.column(k) + begin, A.column(k) + end, A.column(rows[k]) + begin);
    }
  }
}

/// Scans rows [begin, end), at most `row_block` of them.
template <class T>
MatrixScan scan_block(DenseView<const T> A, std::int64_t begin, std::int64_t end, double* row_sums) {
  std::array<double, row_block> largest{};
  std::fill(row_sums + begin, row_sums + end, 0.0);
  for (std::int64_t j = 0; j < A.columns(); ++j) {
    const T* __restrict column = A.column(j) + begin;
    double* __restrict sums = row_sums + begin;
    double* __restrict most = largest.data();
    for (std::int64_t i = 0; i < end - begin; ++i) {
      const double size = magnitude(column[i]);
      sums[i] += size;
      most[i] = size > most[i] ? size : most[i];
    }
  }
  MatrixScan result;
  for (std::int64_t i = begin; i < end; ++i) {
    result.norm_inf = std::max(result.norm_inf, row_sums[i]);
    result.largest = std::max(result.largest, largest[static_cast<std::size_t>(i - begin)]);
    if (std::isfinite(row_sums[i])) continue;  // a sum of finite elements may overflow
    for (std::int64_t j = 0; j < A.columns() && result.row < 0; ++j) {
      if (!is_finite(A(i, j))) result.row = i, result.column = j;
    }
  }
  return result;
}

template <class T>
MatrixScan scan_blocks(int threads, DenseView<const T> A, double* row_sums) {
  const std::int64_t blocks = (A.rows() + row_block - 1) / row_block;
  std::vector<MatrixScan> parts(static_cast<std::size_t>(blocks));
#pragma omp parallel for num_threads(threads) \
    schedule(static) if (A.rows() * A.columns() > min_parallel_elements)
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t begin = block * row_block;
    parts[static_cast<std::size_t>(block)] =
        scan_block(A, begin, std::min(begin + row_block, A.rows()), row_sums);
  }
  MatrixScan result;
  for (const MatrixScan& part : parts) {
    result.largest = std::max(result.largest, part.largest);
    result.norm_inf = std::max(result.norm_inf, part.norm_inf);
    if (result.row < 0) result.row = part.row, result.column = part.column;
  }
  return result;
}

}  // namespace

template <class T>
void factor_panel(Host& backend, DenseView<T> A, std::int64_t begin, std::int64_t end,
                  EliminationState* state, const PivotList<T>& pivots, PanelWorkspace<T>& workspace) {
  factor_recursively(backend, A, begin, end, state, pivots, workspace);
}
template <class T>
void take_pivot_rows(Host& backend, DenseView<T> X, PivotRange range, const std::int64_t* rows, T* W) {
  take_rows(backend.threads(), X, range, rows, W);
}
template <class T>
void put_back_pivot_rows(Host& backend, PivotRange range, const std::int64_t* rows, const T* products, T* x) {
  put_back_pivot_rows_in_order(backend, range, rows, products, x);
}
template <class T>
void put_back_columns(Host& backend, DenseView<T> A, const std::int64_t* rows,
                      const EliminationState* state) {
  exchange_columns(backend.threads(), A, rows, *state);
}
template <class T>
void scan(Host& backend, DenseView<const T> A, double* row_sums, MatrixScan* result) {
  *result = scan_blocks(backend.threads(), A, row_sums);
}

#define ECHELON_INSTANTIATE(T)                                                                       \
  template void factor_panel(Host&, DenseView<T>, std::int64_t, std::int64_t, EliminationState*,     \
                             const PivotList<T>&, PanelWorkspace<T>&);                               \
  template void take_pivot_rows(Host&, DenseView<T>, PivotRange, const std::int64_t*, T*);           \
  template void put_back_pivot_rows(Host&, PivotRange, const std::int64_t*, const T*, T*);           \
  template void put_back_columns(Host&, DenseView<T>, const std::int64_t*, const EliminationState*); \
  template void scan(Host&, DenseView<const T>, double*, MatrixScan*);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
