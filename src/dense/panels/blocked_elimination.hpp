// SPDX-License-Identifier: BSD-3-Clause
/// Blocked Gauss-Jordan elimination: panels, and multiplications that apply them to the rest.
#pragma once

#include "backend/backend.hpp"
#include "dense/panels/panel.hpp"
#include "linalg/spmv/multiply.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#ifdef __CUDACC__
#include "dense/panels/workspace.cuh"
#endif

namespace echelon {

namespace gauss_jordan_detail {

/// W = the rows of X in a new order.
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

/// X = W with zeros in the first `rank` rows.
template <class T>
struct PutBehindPivots {
  DenseView<T> X;
  std::int64_t rank;
  const T* W;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % X.rows();
    X.data()[e / X.rows() * X.leading() + i] = i < rank ? T{0} : W[e];
  }
};

/// No pivots yet, and none before any panel.
struct StartElimination {
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

/// The same for a matrix that has been scanned; what is not finite, or far from 1, is not to be eliminated.
template <class T>
struct StartIfInRange {
  const MatrixScan* scanned;
  double tolerance;  // relative
  EliminationState* state;
  std::int64_t* ranks;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    StartElimination{static_cast<double>(static_cast<T>(tolerance * scanned->norm_inf)), state, ranks}(i);
    if (i == 0 && (scanned->row >= 0 || far_from_one<T>(scanned->largest))) state->overflow_column = 0;
  }
};

/// Puts the columns of A that have pivots side by side.
template <class T>
struct PackColumns {
  DenseView<const T> A;
  const std::int64_t* columns;
  T* packed;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t j = e / A.rows();
    packed[e] = A.data()[columns[j] * A.leading() + e % A.rows()];
  }
};

}  // namespace gauss_jordan_detail

/// The columns of A that got the pivots of `range`, which lie in columns [begin, end) of A: G.
template <class B, class T>
DenseView<const T> pivot_columns(B& backend, DenseView<const T> A, std::int64_t begin, std::int64_t end,
                                 PivotRange range, const std::int64_t* columns, PanelScratch<T>& scratch) {
  if (range.count() == end - begin) {
    return {A.column(begin), A.rows(), range.count(), A.leading(), A.device()};
  }
  backend.for_each(A.rows() * range.count(),
                   gauss_jordan_detail::PackColumns<T>{A, columns + range.first, scratch.columns.data()});
  return {scratch.columns.data(), A.rows(), range.count(), A.rows(), A.device()};
}

/// X = X + G W, for a W of G.columns() rows. 2 m p X.columns() flops.
template <class B, class T>
void add_product(B& backend, DenseView<const T> G, const T* W, std::int64_t leading, DenseView<T> X) {
  if (X.columns() == 1) {
    multiply<T>(backend, T{1}, MatrixRef<T>(G), W, T{1}, X.data());
  } else {
    gemm<T>(backend, T{1}, G, DenseView<const T>(W, G.columns(), X.columns(), leading, X.device()), T{1}, X);
  }
}

/// Applies a panel to the columns X: exchanges rows, then X = X + G W.
template <class B, class T>
void apply_panel(B& backend, DenseView<const T> G, PivotRange range, const std::int64_t* rows, DenseView<T> X,
                 PanelScratch<T>& scratch) {
  if (range.count() == 0 || X.columns() == 0) return;
  T* W = scratch.rows.data();
  take_pivot_rows(backend, X, range, rows, W);
  add_product<B, T>(backend, G, W, range.count(), X);
}

template <class T>
DenseView<T> column_range(const DenseView<T>& A, std::int64_t begin, std::int64_t end) {
  return {A.column(begin), A.rows(), end - begin, A.leading(), A.device()};
}

/// What an elimination decided, on the host.
template <class T>
struct EliminationRecord {
  std::vector<std::int64_t> rows;     ///< rows[k] >= k was exchanged with row k
  std::vector<std::int64_t> columns;  ///< of the pivots
  std::vector<T> values;

  /// Where the m rows come from.
  [[nodiscard]] std::vector<std::int64_t> origins(std::int64_t m) const {
    std::vector<std::int64_t> result(static_cast<std::size_t>(m));
    std::iota(result.begin(), result.end(), std::int64_t{0});
    for (std::size_t k = 0; k < rows.size(); ++k) {
      std::swap(result[k], result[static_cast<std::size_t>(rows[k])]);
    }
    return result;
  }
};

/// What an elimination decides, side by side in a backend's memory: one copy to the host shows it all.
template <class T>
class EliminationLists {
 public:
  EliminationLists(const Device& device, std::int64_t panels, std::int64_t most_pivots)
      : panels_(panels),
        most_pivots_(most_pivots),
        bytes_(device, static_cast<std::int64_t>(sizeof(EliminationState) +
                                                 sizeof(std::int64_t) * numbers(panels, most_pivots) +
                                                 sizeof(T) * static_cast<std::size_t>(most_pivots))) {}

  [[nodiscard]] EliminationState* state() { return reinterpret_cast<EliminationState*>(bytes_.data()); }
  [[nodiscard]] const EliminationState* state() const {
    return reinterpret_cast<const EliminationState*>(bytes_.data());
  }
  /// Between the panels.
  [[nodiscard]] std::int64_t* ranks() {
    return reinterpret_cast<std::int64_t*>(bytes_.data() + sizeof(EliminationState));
  }
  [[nodiscard]] const std::int64_t* rows() const {
    return reinterpret_cast<const std::int64_t*>(bytes_.data() + sizeof(EliminationState)) + panels_ + 1;
  }
  [[nodiscard]] const std::int64_t* columns() const { return rows() + most_pivots_; }
  [[nodiscard]] PivotList<T> pivots() {
    std::int64_t* const first = ranks() + panels_ + 1;
    return {first, first + most_pivots_, reinterpret_cast<T*>(first + 2 * most_pivots_)};
  }

  /// Waits.
  [[nodiscard]] EliminationLists on_host() const { return {panels_, most_pivots_, bytes_.to(Device())}; }
  [[nodiscard]] std::size_t bytes() const { return bytes_.bytes(); }

 private:
  EliminationLists(std::int64_t panels, std::int64_t most_pivots, Array<unsigned char> bytes)
      : panels_(panels), most_pivots_(most_pivots), bytes_(std::move(bytes)) {}

  static std::size_t numbers(std::int64_t panels, std::int64_t most_pivots) {
    return static_cast<std::size_t>(panels + 1 + 2 * most_pivots);
  }

  std::int64_t panels_;
  std::int64_t most_pivots_;
  Array<unsigned char> bytes_;
};

/// Eliminates in place, on a column-major matrix that it refers to.
///
/// `reduce` touches what is to the right of a panel only. The columns without a pivot then hold the reduced
/// form R, and those with one the panels' G: the elimination as a product, which `transform` applies to
/// right-hand sides. `invert` applies every panel to the columns on its left too, which multiplies the
/// product out. `reduce` does the same where that takes no time: on a GPU that waits for pivots anyway.
template <class B, class T>
class Elimination {
 public:
  /// `block` columns make a panel. `tools` are used as long as it lives.
  Elimination(EliminationTools<B>& tools, DenseView<T> A, std::int64_t block)
      : tools_(&tools),
        A_(A),
        block_(std::max(block, std::int64_t{1})),
        panel_count_((A.columns() + block_ - 1) / block_),
        lists_(A.device(), panel_count_, std::min(A.rows(), A.columns())),
        scratch_{Array<T>(A.device(), block_ * std::max(A.columns(), std::int64_t{1})),
                 Array<T>(A.device(), block_ * A.rows())} {}

  /// m n^2 flops for full rank n <= m; 2 m r (n - r / 2) for rank r. Up to twice that when multiplied out.
  /// `scanned` and the relative `tolerance`: as for `invert`. Waits, after A was scanned as it is then, where
  /// it is multiplied out.
  void reduce(const MatrixScan* scanned, double tolerance, double* row_sums, MatrixScan* after) {
    constexpr std::int64_t small = 4096;
    multiplied_out_ = std::is_same_v<B, Cuda> && std::max(A_.rows(), A_.columns()) <= small;
    panels_.clear();
    start(gauss_jordan_detail::StartIfInRange<T>{scanned, tolerance, lists_.state(), lists_.ranks()});
    eliminate(multiplied_out_);
    if constexpr (std::is_same_v<B, Cuda>) {
      if (multiplied_out_) {
        places_ = Array<int>(A_.device(), A_.rows());
        find_places(tools_->backend, A_.rows(), rows(), 0, lists_.state(), places_.data());
        scan<T>(tools_->backend, A_, row_sums, after);
      }
    }
    EliminationLists<T> lists = lists_.on_host();
    found_ = *lists.state();
    record_ = make_record(lists);
    if constexpr (std::is_same_v<B, Cuda>) {
      if (!multiplied_out_) find_panels(lists.ranks());
    }
  }
  /// 2 n^3 flops. Leaves the inverse of P A in place when the rank is full. On a GPU it is queued, and
  /// nothing is known before `look`.
  void invert(T tolerance) {
    start(gauss_jordan_detail::StartElimination{static_cast<double>(tolerance), lists_.state(),
                                                lists_.ranks()});
    eliminate(true);
  }
  /// The same with a relative tolerance and a scan of A, in the backend's memory or the mailbox, that may
  /// only be queued yet. Where it has a NaN or Inf, or is far from 1, `state` tells an overflow in column 0;
  /// A is unchanged if it is finite.
  void invert(const MatrixScan* scanned, double tolerance) {
    start(gauss_jordan_detail::StartIfInRange<T>{scanned, tolerance, lists_.state(), lists_.ranks()});
    eliminate(true);
  }
  /// Waits for what was queued.
  void look() { found_ = tools_->backend.read(lists_.state()); }

  [[nodiscard]] const EliminationState& state() const { return found_; }
  /// After `reduce`.
  [[nodiscard]] const EliminationRecord<T>& record() const { return record_; }
  /// The first column without a pivot, when the rank is not full; waits.
  [[nodiscard]] std::int64_t first_without_pivot() const {
    EliminationLists<T> lists = lists_.on_host();
    const std::vector<std::int64_t> columns = make_record(lists).columns;
    std::int64_t column = 0;
    while (column < found_.rank && columns[static_cast<std::size_t>(column)] == column) ++column;
    return column;
  }
  /// The following are in the backend's memory.
  [[nodiscard]] const EliminationState* state_there() const { return lists_.state(); }
  [[nodiscard]] const std::int64_t* rows() const { return lists_.rows(); }
  [[nodiscard]] const std::int64_t* columns() const { return lists_.columns(); }
  [[nodiscard]] std::size_t bytes() const {
    return lists_.bytes() + scratch_.rows.bytes() + scratch_.columns.bytes() + places_.bytes();
  }

  /// X = T P X, where T P A = R; after `reduce`. 2 m r flops a column.
  void transform(B& backend, DenseView<T> X, PanelScratch<T>& scratch) const {
    if (multiplied_out_) {
      transform_at_once(backend, X, scratch);
      return;
    }
    for (const Panel& panel : panels_) {
      const DenseView<const T> G = transformation(backend, panel, scratch);
      apply_panel<B, T>(backend, G, panel.range, rows(), X, scratch);
    }
  }

  [[nodiscard]] bool multiplied_out() const { return multiplied_out_; }
  /// x = P^T T^T x for one vector of m elements, unless multiplied out. `scratch` as for one column.
  void transform_transposed(B& backend, T* x, PanelScratch<T>& scratch) const {
    for (auto panel = panels_.rbegin(); panel != panels_.rend(); ++panel) {
      T* products = scratch.rows.data();
      const DenseView<const T> G = transformation(backend, *panel, scratch);
      multiply_transposed<T>(backend, T{1}, G, x, T{0}, products);
      put_back_pivot_rows(backend, panel->range, rows(), products, x);
    }
  }
  /// ||C^-1||_inf for the matrix C of pivot rows and columns, when multiplied out: what T has in its leading
  /// rank by rank elements. `scratch` as for one column.
  [[nodiscard]] double inverse_norm(PanelScratch<T>& scratch) const {
    const DenseView<const T> G = whole_transformation(tools_->backend, scratch);
    Array<double> row_sums(A_.device(), G.columns());
    const DenseView<const T> C_inverse{G.data(), G.columns(), G.columns(), G.leading(), G.device()};
    return scan<T>(*tools_, C_inverse, row_sums.data()).norm_inf;
  }

  /// What `transform` needs for X of so many columns.
  [[nodiscard]] PanelScratch<T> make_scratch(std::int64_t columns) const {
    if (multiplied_out_) {
      const bool scattered = found_.rank < A_.columns();
      return {Array<T>(A_.device(), A_.rows() * columns),
              Array<T>(A_.device(), scattered ? found_.rank * A_.rows() : 0)};
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
    tools_->backend.for_each(panel_count_ + 1, job);
  }

  void eliminate(bool inverse) {
    if constexpr (std::is_same_v<B, Cuda>) {
      SideStream* const side = A_.columns() > block_ ? &tools_->side() : nullptr;
      echelon::eliminate<T>(tools_->backend, A_, block_, inverse, lists_.state(), lists_.ranks(),
                            lists_.pivots(), scratch_, {}, side, tools_->products);
    } else {
      eliminate_at_once(inverse);
    }
  }

  void eliminate_at_once(bool inverse) {
    B& backend = tools_->backend;
    look();
    if (found_.overflow_column >= 0) return;
    for (std::int64_t begin = 0; begin < A_.columns(); begin += block_) {
      const std::int64_t end = std::min(begin + block_, A_.columns());
      const std::int64_t before = found_.rank;
      factor_panel<T>(backend, A_, begin, end, lists_.state(), lists_.pivots(), scratch_);
      look();
      if (found_.overflow_column >= 0) return;
      const Panel panel{begin, end, {before, found_.rank}};
      if (panel.range.count() == 0) continue;
      panels_.push_back(panel);
      const DenseView<const T> G = transformation(backend, panel, scratch_);
      apply_panel<B, T>(backend, G, panel.range, rows(), column_range(A_, end, A_.columns()), scratch_);
      if (inverse) {
        apply_panel<B, T>(backend, G, panel.range, rows(), column_range(A_, 0, begin), scratch_);
      }
    }
  }

  /// From the ranks between them.
  void find_panels(const std::int64_t* ranks) {
    for (std::int64_t p = 0; p < panel_count_; ++p) {
      const PivotRange range{ranks[p], ranks[p + 1]};
      const std::int64_t begin = p * block_;
      if (range.count() > 0) panels_.push_back({begin, std::min(begin + block_, A_.columns()), range});
    }
  }

  [[nodiscard]] EliminationRecord<T> make_record(EliminationLists<T>& lists) const {
    const PivotList<T> pivots = lists.pivots();
    return {{pivots.rows, pivots.rows + found_.rank},
            {pivots.columns, pivots.columns + found_.rank},
            {pivots.values, pivots.values + found_.rank}};
  }

  void transform_at_once(B& backend, DenseView<T> X, PanelScratch<T>& scratch) const {
    using namespace gauss_jordan_detail;
    if (found_.rank == 0) return;
    T* W = scratch.rows.data();
    backend.for_each(X.rows() * X.columns(), MoveRows<T>{X, places_.data(), W});
    backend.for_each(X.rows() * X.columns(), PutBehindPivots<T>{X, found_.rank, W});
    add_product<B, T>(backend, whole_transformation(backend, scratch), W, X.rows(), X);
  }

  DenseView<const T> transformation(B& backend, const Panel& panel, PanelScratch<T>& scratch) const {
    return pivot_columns<B, T>(backend, A_, panel.begin, panel.end, panel.range, columns(), scratch);
  }
  DenseView<const T> whole_transformation(B& backend, PanelScratch<T>& scratch) const {
    return transformation(backend, {0, A_.columns(), {0, found_.rank}}, scratch);
  }

  EliminationTools<B>* tools_;
  DenseView<T> A_;
  std::int64_t block_;
  std::int64_t panel_count_;
  EliminationLists<T> lists_;
  EliminationState found_;
  PanelScratch<T> scratch_;
  EliminationRecord<T> record_;
  bool multiplied_out_ = false;
  Array<int> places_;          // of the rows, when multiplied out
  std::vector<Panel> panels_;  // otherwise
};

}  // namespace echelon
