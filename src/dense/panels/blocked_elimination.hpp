// SPDX-License-Identifier: BSD-3-Clause
/// Blocked Gauss-Jordan elimination: panels, and multiplications that apply them to the other columns.
#pragma once

#include "backend/backend.hpp"
#include "dense/panels/apply_panel.hpp"
#include "dense/panels/elimination_record.hpp"
#include "dense/panels/panel.hpp"
#include "linalg/spmv/multiply.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#ifdef __CUDACC__
#include "dense/panels/workspace.cuh"
#endif

namespace echelon {

namespace elimination_detail {

/// Copies W(places[i], :) = X(i, :).
template <class T>
struct MoveRows {
  DenseView<const T> X;
  const int* places;
  T* W;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t j = e / X.rows();
    const std::int64_t i = e % X.rows();
    W[j * X.rows() + places[i]] = X.data()[j * X.leading() + i];
  }
};

/// Copies X = W with zeros in the first `rank` rows.
template <class T>
struct CopyBelowPivots {
  DenseView<T> X;
  std::int64_t rank;
  const T* W;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % X.rows();
    X.data()[e / X.rows() * X.leading() + i] = i < rank ? T{0} : W[e];
  }
};

/// Initial state of an elimination: no pivots.
struct InitializeElimination {
  double tolerance;
  EliminationState* state;
  std::int64_t* ranks;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    ranks[i] = 0;
    if (i > 0) return;
    *state = {};
    state->tolerance = tolerance;
  }
};

/// Initial state for a scanned matrix; an overflow in column 0, which prevents elimination, when it has a NaN
/// or Inf, or elements near the ends of the range.
template <class T>
struct InitializeIfInRange {
  const MatrixScan* scanned;
  double tolerance;  // relative
  EliminationState* state;
  std::int64_t* ranks;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    InitializeElimination{static_cast<double>(static_cast<Real<T>>(tolerance * scanned->norm_inf)), state,
                          ranks}(i);
    if (i == 0 && (scanned->row >= 0 || far_from_one<T>(scanned->largest))) state->overflow_column = 0;
  }
};

}  // namespace elimination_detail

/// Elimination in place of a column-major matrix that is referred to, not copied.
///
/// `reduce` applies each panel to the columns on its right only. The columns without a pivot then hold the
/// reduced form R, and those with one the G of the panels: the elimination as a product, which `transform`
/// applies to right-hand sides. `invert` applies every panel to the columns on its left too, which multiplies
/// the product out. `reduce` does the same with CUDA up to n = 4096, where the panels dominate the time.
template <class B, class T>
class BlockedElimination {
 public:
  /// Panels of `block` columns. `workspace` must outlive the elimination.
  BlockedElimination(EliminationWorkspace<B>& workspace, DenseView<T> A, std::int64_t block)
      : workspace_(&workspace),
        A_(A),
        block_(std::max(block, std::int64_t{1})),
        panel_count_((A.columns() + block_ - 1) / block_),
        record_buffer_(A.device(), panel_count_, std::min(A.rows(), A.columns())),
        panel_workspace_{Array<T>(A.device(), block_ * std::max(A.columns(), std::int64_t{1})),
                         Array<T>(A.device(), block_ * A.rows())} {}

  /// Eliminates with a relative `tolerance` after a scan of A, which may only be queued. Where the product is
  /// multiplied out, A is scanned again into `row_sums` and `after`. Waits.
  /// m n^2 flops for full rank n <= m; 2 m r (n - r / 2) for rank r; up to twice that when multiplied out.
  void reduce(const MatrixScan* scanned, double tolerance, double* row_sums, MatrixScan* after) {
    constexpr std::int64_t panels_dominate = 4096;
    multiplied_out_ = queues_panels<B, T> && std::max(A_.rows(), A_.columns()) <= panels_dominate;
    panels_.clear();
    start(elimination_detail::InitializeIfInRange<T>{scanned, tolerance, record_buffer_.state(),
                                                     record_buffer_.ranks()});
    run_panels(multiplied_out_);
    if constexpr (queues_panels<B, T>) {
      if (multiplied_out_) {
        places_ = Array<int>(A_.device(), A_.rows());
        find_places(workspace_->backend, A_.rows(), rows(), 0, record_buffer_.state(), places_.data());
        scan<T>(workspace_->backend, A_, row_sums, after);
      }
    }
    EliminationRecordBuffer<T> on_host = record_buffer_.on_host();
    state_ = *on_host.state();
    record_ = make_record(on_host);
    if constexpr (queues_panels<B, T>) {
      if (!multiplied_out_) find_panels(on_host.ranks());
    }
  }
  /// Computes the inverse of P A in place if the rank is full, with an absolute tolerance. 2 n^3 flops.
  /// Queued on a GPU: the state is known after `fetch_state`.
  void invert(Real<T> tolerance) {
    start(elimination_detail::InitializeElimination{static_cast<double>(tolerance), record_buffer_.state(),
                                                    record_buffer_.ranks()});
    run_panels(true);
  }
  /// Inverts with a relative tolerance after a scan of A, in the backend's memory or a pinned result, which
  /// may only be queued. When A has a NaN or Inf, or is far from 1, the state has an overflow in column 0,
  /// and a finite A is unchanged.
  void invert(const MatrixScan* scanned, double tolerance) {
    start(elimination_detail::InitializeIfInRange<T>{scanned, tolerance, record_buffer_.state(),
                                                     record_buffer_.ranks()});
    run_panels(true);
  }
  /// Waits for the queued work and copies the state to the host.
  void fetch_state() { state_ = workspace_->backend.read(record_buffer_.state()); }

  [[nodiscard]] const EliminationState& state() const { return state_; }
  /// Whether the elimination ended because of a request to stop; the matrix is then eliminated in part.
  [[nodiscard]] bool cancelled() const { return cancelled_; }
  /// Pivots of the elimination, after `reduce`.
  [[nodiscard]] const EliminationRecord<T>& record() const { return record_; }
  /// Columns with a pivot, ascending, after `fetch_state`; waits.
  [[nodiscard]] std::vector<std::int64_t> fetch_pivot_columns() const {
    EliminationRecordBuffer<T> on_host = record_buffer_.on_host();
    return make_record(on_host).columns;
  }
  /// The first column without a pivot, when the rank is not full; waits.
  [[nodiscard]] std::int64_t first_without_pivot() const {
    return echelon::first_without_pivot(fetch_pivot_columns(), A_.columns());
  }
  // The following are in the backend's memory.
  [[nodiscard]] const EliminationState* device_state() const { return record_buffer_.state(); }
  [[nodiscard]] const std::int64_t* rows() const { return record_buffer_.rows(); }
  [[nodiscard]] const std::int64_t* columns() const { return record_buffer_.columns(); }
  [[nodiscard]] std::size_t bytes() const {
    return record_buffer_.bytes() + panel_workspace_.rows.bytes() + panel_workspace_.columns.bytes() +
           places_.bytes();
  }

  /// Computes X = T P X, where T P A = R; after `reduce`. 2 m r flops a column.
  void transform(B& backend, DenseView<T> X, PanelWorkspace<T>& workspace) const {
    if (multiplied_out_) {
      transform_by_product(backend, X, workspace);
      return;
    }
    for (const Panel& panel : panels_) {
      const DenseView<const T> G = transformation(backend, panel, workspace);
      apply_panel<B, T>(backend, G, panel.range, rows(), X, workspace);
    }
  }

  [[nodiscard]] bool multiplied_out() const { return multiplied_out_; }
  /// Computes x = P^T T^T x for one vector of m elements; not after a product that was multiplied out.
  /// `workspace`: for one column.
  void transform_transposed(B& backend, T* x, PanelWorkspace<T>& workspace) const {
    for (auto panel = panels_.rbegin(); panel != panels_.rend(); ++panel) {
      T* products = workspace.rows.data();
      const DenseView<const T> G = transformation(backend, *panel, workspace);
      multiply_transposed<T>(backend, T{1}, G, x, T{0}, products);
      put_back_pivot_rows(backend, panel->range, rows(), products, x);
    }
  }
  /// ||C^-1||_inf for the matrix C of pivot rows and columns, when multiplied out: C^-1 is the leading rank
  /// by rank part of T. `workspace`: for one column.
  [[nodiscard]] double inverse_norm(PanelWorkspace<T>& workspace) const {
    const DenseView<const T> G = whole_transformation(workspace_->backend, workspace);
    Array<double> row_sums(A_.device(), G.columns());
    const DenseView<const T> C_inverse{G.data(), G.columns(), G.columns(), G.leading(), G.device()};
    return scan<T>(*workspace_, C_inverse, row_sums.data()).norm_inf;
  }

  /// Workspace for `transform` of this many columns.
  [[nodiscard]] PanelWorkspace<T> make_panel_workspace(std::int64_t columns) const {
    if (multiplied_out_) {
      const bool scattered = state_.rank < A_.columns();
      return {Array<T>(A_.device(), A_.rows() * columns),
              Array<T>(A_.device(), scattered ? state_.rank * A_.rows() : 0)};
    }
    const bool scattered = std::any_of(panels_.begin(), panels_.end(), [](const Panel& panel) {
      return panel.range.count() < panel.end - panel.begin;
    });
    return {Array<T>(A_.device(), block_ * columns),
            Array<T>(A_.device(), scattered ? block_ * A_.rows() : 0)};
  }

 private:
  struct Panel {
    std::int64_t begin, end;
    PivotRange range;
  };

  template <class Start>
  void start(const Start& job) {
    workspace_->backend.for_each(panel_count_ + 1, job);
  }

  /// Eliminates panel after panel; `both_sides`: with updates of the columns on the left too.
  void run_panels(bool both_sides) {
    if constexpr (queues_panels<B, T>) {
      eliminate_panels<T>(workspace_->backend,
                          {.A = A_,
                           .block = block_,
                           .both_sides = both_sides,
                           .state = record_buffer_.state(),
                           .ranks = record_buffer_.ranks(),
                           .pivots = record_buffer_.pivots(),
                           .workspace = panel_workspace_,
                           .lookahead = A_.columns() > block_ ? &workspace_->lookahead() : nullptr,
                           .products = workspace_->products});
    } else {
      run_panels_in_turn(both_sides);
    }
  }

  void run_panels_in_turn(bool both_sides) {
    B& backend = workspace_->backend;
    fetch_state();
    cancelled_ = false;
    for (std::int64_t begin = 0; begin < A_.columns() && state_.overflow_column < 0; begin += block_) {
      const double share = static_cast<double>(begin) / static_cast<double>(A_.columns());
      cancelled_ = workspace_->control.stops_at(both_sides ? share : eliminated_share(begin, A_.columns()));
      if (cancelled_) return;
      const std::int64_t end = std::min(begin + block_, A_.columns());
      const std::int64_t rank_before = state_.rank;
      factor_panel<T>(backend, A_, begin, end, record_buffer_.state(), record_buffer_.pivots(),
                      panel_workspace_);
      fetch_state();
      const Panel panel{begin, end, {rank_before, state_.rank}};
      if (state_.overflow_column >= 0 || panel.range.count() == 0) continue;
      panels_.push_back(panel);
      const DenseView<const T> G = transformation(backend, panel, panel_workspace_);
      const auto apply_to = [&](std::int64_t first, std::int64_t last) {
        apply_panel<B, T>(backend, G, panel.range, rows(), column_range(A_, first, last), panel_workspace_);
      };
      apply_to(end, A_.columns());
      if (both_sides) apply_to(0, begin);
    }
  }

  /// Lists the panels that have pivots, from the ranks between them.
  void find_panels(const std::int64_t* ranks) {
    for (std::int64_t p = 0; p < panel_count_; ++p) {
      const PivotRange range{ranks[p], ranks[p + 1]};
      const std::int64_t begin = p * block_;
      if (range.count() > 0) panels_.push_back({begin, std::min(begin + block_, A_.columns()), range});
    }
  }

  [[nodiscard]] EliminationRecord<T> make_record(EliminationRecordBuffer<T>& on_host) const {
    const PivotList<T> pivots = on_host.pivots();
    return {{pivots.rows, pivots.rows + state_.rank},
            {pivots.columns, pivots.columns + state_.rank},
            {pivots.values, pivots.values + state_.rank}};
  }

  void transform_by_product(B& backend, DenseView<T> X, PanelWorkspace<T>& workspace) const {
    using namespace elimination_detail;
    if (state_.rank == 0) return;
    T* W = workspace.rows.data();
    backend.for_each(X.rows() * X.columns(), MoveRows<T>{X, places_.data(), W});
    backend.for_each(X.rows() * X.columns(), CopyBelowPivots<T>{X, state_.rank, W});
    add_product<B, T>(backend, whole_transformation(backend, workspace), W, X.rows(), X);
  }

  DenseView<const T> transformation(B& backend, const Panel& panel, PanelWorkspace<T>& workspace) const {
    return pivot_columns<B, T>(backend, A_, panel.begin, panel.end, panel.range, columns(), workspace);
  }
  DenseView<const T> whole_transformation(B& backend, PanelWorkspace<T>& workspace) const {
    return transformation(backend, {0, A_.columns(), {0, state_.rank}}, workspace);
  }

  EliminationWorkspace<B>* workspace_;
  DenseView<T> A_;
  std::int64_t block_;
  std::int64_t panel_count_;
  EliminationRecordBuffer<T> record_buffer_;
  EliminationState state_;
  PanelWorkspace<T> panel_workspace_;
  EliminationRecord<T> record_;
  bool cancelled_ = false;
  bool multiplied_out_ = false;
  Array<int> places_;          // of the rows; only when multiplied out
  std::vector<Panel> panels_;  // those with pivots; only when not multiplied out
};

}  // namespace echelon
