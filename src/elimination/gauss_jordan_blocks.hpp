// SPDX-License-Identifier: BSD-3-Clause
/// Blocked Gauss-Jordan elimination: panels, and multiplications that apply them to the rest.
#pragma once

#include "backend/backend.hpp"
#include "elimination/gauss_jordan_panel.hpp"
#include "linalg/multiply.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace echelon {

namespace gauss_jordan_detail {

/// Puts the columns of A that have pivots side by side.
template <class T>
struct PackColumns {
  DenseView<const T> A;
  const std::int64_t* columns;
  T* packed;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t j = e / A.rows;
    packed[e] = A.data[columns[j] * A.leading + e % A.rows];
  }
};

}  // namespace gauss_jordan_detail

/// The columns of A that got the pivots of `range`, which lie in columns [begin, end) of A: G.
template <class B, class T>
DenseView<const T> pivot_columns(B& backend, DenseView<const T> A, std::int64_t begin, std::int64_t end,
                                 PivotRange range, const std::int64_t* columns, PanelScratch<T>& scratch) {
  if (range.count() == end - begin) {
    return {A.column(begin), A.rows, range.count(), A.leading, A.device};
  }
  backend.for_each(A.rows * range.count(),
                   gauss_jordan_detail::PackColumns<T>{A, columns + range.first, scratch.columns.data()});
  return {scratch.columns.data(), A.rows, range.count(), A.rows, A.device};
}

/// Applies a panel to the columns X: exchanges rows, then X = X + G W. 2 m p X.columns flops.
template <class B, class T>
void apply_panel(B& backend, DenseView<const T> G, PivotRange range, const std::int64_t* rows, DenseView<T> X,
                 PanelScratch<T>& scratch) {
  if (range.count() == 0 || X.columns == 0) return;
  T* W = scratch.rows.data();
  take_pivot_rows(backend, X, range, rows, W);
  if (X.columns == 1) {
    multiply<T>(backend, T{1}, MatrixRef<T>(G), W, T{1}, X.data);
  } else {
    gemm<T>(backend, T{1}, G, DenseView<const T>(W, range.count(), X.columns, range.count(), X.device), T{1},
            X);
  }
}

template <class T>
DenseView<T> column_range(const DenseView<T>& A, std::int64_t begin, std::int64_t end) {
  return {A.column(begin), A.rows, end - begin, A.leading, A.device};
}

/// Eliminates in place, on a column-major matrix that it refers to.
///
/// `reduce` touches what is to the right of a panel only. The columns without a pivot then hold the reduced
/// form R, and those with one the panels' G: the elimination as a product, which `transform` applies to
/// right- hand sides. `invert` applies every panel to the columns on its left too, which multiplies the
/// product out.
template <class B, class T>
class Elimination {
 public:
  /// `block` columns make a panel.
  Elimination(B& backend, DenseView<T> A, std::int64_t block, T tolerance)
      : backend_(&backend),
        A_(A),
        block_(std::max(block, std::int64_t{1})),
        tolerance_(tolerance),
        state_(A.device, 1),
        rows_(A.device, std::min(A.rows, A.columns)),
        columns_(A.device, rows_.size()),
        values_(A.device, rows_.size()),
        scratch_{Array<T>(A.device, block_ * std::max(A.columns, std::int64_t{1})),
                 Array<T>(A.device, block_ * A.rows)} {
    backend.write(EliminationState{}, state_.data());
  }

  /// m n^2 flops for full rank n <= m; 2 m r (n - r / 2) for rank r.
  void reduce() { eliminate(false); }
  /// 2 n^3 flops. Leaves the inverse of P A in place when the rank is full.
  void invert() { eliminate(true); }

  [[nodiscard]] const EliminationState& state() const { return found_; }
  [[nodiscard]] const Array<std::int64_t>& rows() const { return rows_; }
  [[nodiscard]] const Array<std::int64_t>& columns() const { return columns_; }
  [[nodiscard]] const Array<T>& values() const { return values_; }
  [[nodiscard]] std::size_t bytes() const {
    return rows_.bytes() + columns_.bytes() + values_.bytes() + scratch_.rows.bytes() +
           scratch_.columns.bytes();
  }

  /// X = T P X, where T P A = R; after `reduce`. 2 m r flops a column.
  void transform(B& backend, DenseView<T> X, PanelScratch<T>& scratch) const {
    for (const Panel& panel : panels_) {
      const DenseView<const T> G = transformation(backend, panel, scratch);
      apply_panel<B, T>(backend, G, panel.range, rows_.data(), X, scratch);
    }
  }

  /// x = P^T T^T x for one vector of m elements. `scratch` as for one column.
  void transform_transposed(B& backend, T* x, PanelScratch<T>& scratch) const {
    for (auto panel = panels_.rbegin(); panel != panels_.rend(); ++panel) {
      T* products = scratch.rows.data();
      const DenseView<const T> G = transformation(backend, *panel, scratch);
      multiply_transposed<T>(backend, T{1}, G, x, T{0}, products);
      put_back_pivot_rows(backend, panel->range, rows_.data(), products, x);
    }
  }

  /// What `transform` needs for X of so many columns.
  [[nodiscard]] PanelScratch<T> make_scratch(std::int64_t columns) const {
    const bool scattered = std::any_of(panels_.begin(), panels_.end(), [](const Panel& panel) {
      return panel.range.count() < panel.end - panel.begin;
    });
    return {Array<T>(A_.device, block_ * columns), Array<T>(A_.device, scattered ? block_ * A_.rows : 0)};
  }
  [[nodiscard]] std::int64_t block() const { return block_; }

 private:
  struct Panel {
    std::int64_t begin, end;
    PivotRange range;
  };

  void eliminate(bool inverse) {
    if constexpr (std::is_same_v<B, Cuda>) {
      eliminate_queued(inverse);
    } else {
      eliminate_at_once(inverse);
    }
  }

  void eliminate_at_once(bool inverse) {
    for (std::int64_t begin = 0; begin < A_.columns; begin += block_) {
      const std::int64_t end = std::min(begin + block_, A_.columns);
      const std::int64_t before = found_.rank;
      factor_panel<T>(*backend_, A_, begin, end, tolerance_, state_.data(), pivots(), scratch_);
      found_ = backend_->read(state_.data());
      if (found_.overflow_column >= 0) return;
      const Panel panel{begin, end, {before, found_.rank}};
      if (panel.range.count() == 0) continue;
      panels_.push_back(panel);
      const DenseView<const T> G = transformation(*backend_, panel, scratch_);
      apply_panel<B, T>(*backend_, G, panel.range, rows_.data(), column_range(A_, end, A_.columns), scratch_);
      if (inverse) {
        apply_panel<B, T>(*backend_, G, panel.range, rows_.data(), column_range(A_, 0, begin), scratch_);
      }
    }
  }

  /// The GPU is waited for once, at the end.
  void eliminate_queued(bool inverse) {
    Array<std::int64_t> ranks(A_.device, (A_.columns + block_ - 1) / block_ + 1);
    backend_->fill(ranks.size(), std::int64_t{0}, ranks.data());
    echelon::eliminate<T>(*backend_, A_, block_, inverse, tolerance_, state_.data(), ranks.data(), pivots(),
                          scratch_);
    found_ = backend_->read(state_.data());
    const std::vector<std::int64_t> rank = ranks.to_vector();
    for (std::size_t p = 0; p + 1 < rank.size(); ++p) {
      const std::int64_t begin = static_cast<std::int64_t>(p) * block_;
      const PivotRange range{rank[p], rank[p + 1]};
      if (range.count() > 0) panels_.push_back({begin, std::min(begin + block_, A_.columns), range});
    }
  }

  [[nodiscard]] PivotList<T> pivots() { return {rows_.data(), columns_.data(), values_.data()}; }

  DenseView<const T> transformation(B& backend, const Panel& panel, PanelScratch<T>& scratch) const {
    return pivot_columns<B, T>(backend, A_, panel.begin, panel.end, panel.range, columns_.data(), scratch);
  }

  B* backend_;
  DenseView<T> A_;
  std::int64_t block_;
  T tolerance_;
  Array<EliminationState> state_;
  EliminationState found_;
  Array<std::int64_t> rows_, columns_;
  Array<T> values_;
  PanelScratch<T> scratch_;
  std::vector<Panel> panels_;
};

}  // namespace echelon
