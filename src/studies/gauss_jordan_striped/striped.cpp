// SPDX-License-Identifier: BSD-3-Clause
// The matrix is stored by rows and divided into stripes of rows, and these into square tiles, the last ones
// truncated. With pivots in stripe I, the first pass updates
//
//     II, the tile on the diagonal,   IK, the tiles on its right,
//     JI, the tiles below II,         JK, the tiles on the right of those,
//
// in this order, the stripes J independently of each other. The second pass goes from the last stripe to the
// first and clears what is above the diagonal.
#include "backend/host/host.hpp"
#include "linalg/determinant_product.hpp"
#include "matrix/assign.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/dense/gauss_jordan_striped.hpp>

#include <algorithm>

namespace echelon {

namespace {

template <class B, class T>
class StripedElimination final : public SolverImplementation<T> {
  struct Range {
    std::int64_t begin, end;
  };

 public:
  StripedElimination(const Device& device, const GaussJordanStripedOptions& options)
      : SolverImplementation<T>(device), stripe_(options.stripe) {}

  Outcome setup(const MatrixRef<T>& A) override {
    n_ = A.rows();
    elements_ = Array<T>(this->device(), n_ * n_);
    const DenseView<T> by_row(elements_.data(), n_, n_, n_, this->device(), Layout::row_major);
    if (A.is_sparse()) {
      const Dense<T> all = to_dense(A);
      assign<T>(all, by_row);
    } else {
      assign<T>(A.dense(), by_row);
    }
    for (std::int64_t i = 0; i < n_; i += stripe_) {
      Outcome outcome = eliminate_below(stripe_at(i));
      if (!outcome.ok()) return outcome;
    }
    for (std::int64_t i = last_stripe(); i >= 0; i -= stripe_) eliminate_above(stripe_at(i));
    return {};
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<Workspace>();
  }
  [[nodiscard]] std::size_t bytes() const override { return elements_.bytes(); }

  [[nodiscard]] Determinant determinant() const override {
    DeterminantProduct product;
    for (std::int64_t i = 0; i < n_; ++i) product.multiply(static_cast<double>(row(i)[i]));
    return product.value();
  }

  /// Applies both passes to right-hand sides, with the multipliers that are stored in place of the zeros.
  void solve(Workspace& /*workspace*/, DenseView<const T> rhs, DenseView<T> X,
             std::vector<Job>& /*jobs*/) const override {
    for (std::int64_t j = 0; j < rhs.columns(); ++j) {
      T* x = X.column(j);
      std::copy_n(rhs.column(j), n_, x);
      for (std::int64_t y = 0; y < n_; ++y) subtract_multiples(y, {0, y}, x);
      for (std::int64_t y = n_; y-- > 0;) subtract_multiples(y, {y + 1, n_}, x);
      for (std::int64_t y = 0; y < n_; ++y) x[y] /= row(y)[y];
    }
  }

 private:
  [[nodiscard]] T* row(std::int64_t i) { return elements_.data() + i * n_; }
  [[nodiscard]] const T* row(std::int64_t i) const { return elements_.data() + i * n_; }
  [[nodiscard]] Range stripe_at(std::int64_t begin) const { return {begin, std::min(begin + stripe_, n_)}; }
  [[nodiscard]] std::int64_t last_stripe() const { return n_ > 0 ? (n_ - 1) / stripe_ * stripe_ : -1; }

  /// The first pass, for the pivots in stripe I.
  Outcome eliminate_below(Range I) {
    for (std::int64_t p = I.begin; p < I.end; ++p) {
      if (row(p)[p] == 0) {
        return {Status::breakdown,
                "without pivoting, every diagonal element has to differ from zero when it becomes the pivot: "
                "that "
                "of row " +
                    std::to_string(p) + " (from 0) does not",
                p};
      }
      update({p + 1, I.end}, p, I);
    }
#pragma omp parallel for num_threads(this->device().threads()) schedule(dynamic)
    for (std::int64_t j = I.end; j < n_; j += stripe_) {
      for (std::int64_t p = I.begin; p < I.end; ++p) update(stripe_at(j), p, I);
    }
    return {};
  }

  /// Subtracts multiples of row p from others: first in the columns of stripe I, then tile by tile.
  void update(Range rows, std::int64_t p, Range I) {
    const T pivot = row(p)[p];
    for (std::int64_t y = rows.begin; y < rows.end; ++y) row(y)[p] /= pivot;
    update_tile(rows, p, {p + 1, I.end});
    for (std::int64_t k = I.end; k < n_; k += stripe_) update_tile(rows, p, stripe_at(k));
  }

  void update_tile(Range rows, std::int64_t p, Range columns) {
    const T* __restrict pivot_row = row(p);
    for (std::int64_t y = rows.begin; y < rows.end; ++y) {
      T* __restrict target = row(y);
      const T multiplier = target[p];
      for (std::int64_t x = columns.begin; x < columns.end; ++x) target[x] -= multiplier * pivot_row[x];
    }
  }

  /// Second pass: row p is zero except for its pivot, so that only the multipliers are computed.
  void eliminate_above(Range I) {
    for (std::int64_t p = I.begin; p < I.end; ++p) {
      const T pivot = row(p)[p];
      for (std::int64_t y = 0; y < p; ++y) row(y)[p] /= pivot;
    }
  }

  void subtract_multiples(std::int64_t y, Range pivots, T* x) const {
    const T* multipliers = row(y);
    T sum = 0;
    for (std::int64_t p = pivots.begin; p < pivots.end; ++p) sum += multipliers[p] * x[p];
    x[y] -= sum;
  }

  std::int64_t stripe_;
  std::int64_t n_ = 0;
  Array<T> elements_;  // row after row: the multipliers, and the pivots on the diagonal
};

}  // namespace

template <>
struct MethodWith<GaussJordanStripedOptions> {
  template <class B, class T>
  using Type = StripedElimination<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<HostTarget>(
    const Device&, const GaussJordanStripedOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<HostTarget>(
    const Device&, const GaussJordanStripedOptions&);

}  // namespace echelon
