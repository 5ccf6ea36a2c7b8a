// SPDX-License-Identifier: BSD-3-Clause
// The matrix is stored by rows and divided into stripes of rows, and these into square tiles, the last ones
// truncated. With pivots in stripe I, the first pass updates
//
//     II, the tile on the diagonal,   IK, the tiles on its right,
//     JI, the tiles below II,         JK, the tiles on the right of those,
//
// in this order, the stripes J independently of each other. The second pass goes from the last stripe to the
// first and clears what is above the diagonal, upwards and to the left, with the columns right of all pivots.
#include "studies/gauss_jordan_striped/striped.hpp"

#include "backend/host/host.hpp"
#include "linalg/determinant_product.hpp"
#include "matrix/assign.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/dense/gauss_jordan_striped.hpp>

#include <algorithm>

namespace echelon {

namespace {

/// An m by n matrix and its elimination, with the pivots on the diagonal.
template <class T>
class StripedHostMatrix {
 public:
  StripedHostMatrix() = default;
  StripedHostMatrix(const MatrixRef<T>& A, const GaussJordanStripedOptions& options)
      : stripe_(options.stripe),
        second_pass_(options.second_pass),
        m_(A.rows()),
        n_(A.columns()),
        elements_(A.device(), m_ * n_) {
    const DenseView<T> by_row(elements_.data(), m_, n_, n_, A.device(), Layout::row_major);
    if (A.is_sparse()) {
      const Dense<T> all = to_dense(A);
      assign<T>(all, by_row);
    } else {
      assign<T>(A.dense(), by_row);
    }
    if (second_pass_ == SecondPass::published) multipliers_ = Array<T>(A.device(), m_ * n_);
  }

  /// Both passes.
  Outcome eliminate() {
    for (std::int64_t i = 0; i < pivots(); i += stripe_) {
      Outcome outcome = eliminate_below(pivot_stripe(i));
      if (!outcome.ok()) return outcome;
    }
    for (std::int64_t i = last_pivot_stripe(); i >= 0; i -= stripe_) {
      if (second_pass_ == SecondPass::published) {
        eliminate_above(pivot_stripe(i));
      } else {
        clear_above(pivot_stripe(i));
      }
    }
    return {};
  }

  [[nodiscard]] const T* elements() const { return elements_.data(); }
  [[nodiscard]] T pivot(std::int64_t p) const { return row(p)[p]; }
  /// Multipliers of row y; element p is that of pivot row p.
  [[nodiscard]] const T* multipliers(std::int64_t y) const {
    return (multipliers_.size() > 0 ? multipliers_ : elements_).data() + y * n_;
  }
  [[nodiscard]] std::size_t bytes() const { return elements_.bytes() + multipliers_.bytes(); }

 private:
  [[nodiscard]] std::int64_t pivots() const { return std::min(m_, n_); }
  [[nodiscard]] T* row(std::int64_t i) { return elements_.data() + i * n_; }
  [[nodiscard]] const T* row(std::int64_t i) const { return elements_.data() + i * n_; }
  [[nodiscard]] T& multiplier(std::int64_t y, std::int64_t p) {
    return (multipliers_.size() > 0 ? multipliers_ : elements_).data()[y * n_ + p];
  }
  [[nodiscard]] StripeRange pivot_stripe(std::int64_t begin) const {
    return {begin, std::min(begin + stripe_, pivots())};
  }
  [[nodiscard]] std::int64_t last_pivot_stripe() const {
    return pivots() > 0 ? (pivots() - 1) / stripe_ * stripe_ : -1;
  }
  [[nodiscard]] StripeRange stripe_at(std::int64_t begin, std::int64_t end) const {
    return {begin, std::min(begin + stripe_, end)};
  }

  /// The first pass, for the pivots in stripe I.
  Outcome eliminate_below(StripeRange I) {
    for (std::int64_t p = I.begin; p < I.end; ++p) {
      if (row(p)[p] == 0) return zero_without_exchanges(p);
      update_right({p + 1, I.end}, p, I);
    }
#pragma omp parallel for num_threads(elements_.device().threads()) schedule(dynamic)
    for (std::int64_t j = I.end; j < m_; j += stripe_) {
      for (std::int64_t p = I.begin; p < I.end; ++p) update_right(stripe_at(j, m_), p, I);
    }
    return {};
  }

  /// The second pass as published, for the pivots in stripe I.
  void eliminate_above(StripeRange I) {
    for (std::int64_t p = I.end; p-- > I.begin;) update_left({I.begin, p}, p, I);
#pragma omp parallel for num_threads(elements_.device().threads()) schedule(dynamic)
    for (std::int64_t j = 0; j < I.begin; j += stripe_) {
      for (std::int64_t p = I.end; p-- > I.begin;) update_left(stripe_at(j, I.begin), p, I);
    }
  }

  /// The second pass without what is known to be zero: the columns of pivots are cleared by their
  /// multipliers.
  void clear_above(StripeRange I) {
    for (std::int64_t p = I.end; p-- > I.begin;) {
      compute_multipliers({0, p}, p);
      update_tile({0, p}, p, {pivots(), n_});
    }
  }

  /// Subtracts multiples of row p from others: first in the columns of stripe I, then tile by tile.
  void update_right(StripeRange rows, std::int64_t p, StripeRange I) {
    compute_multipliers(rows, p);
    update_tile(rows, p, {p + 1, I.end});
    for (std::int64_t k = I.end; k < n_; k += stripe_) update_tile(rows, p, stripe_at(k, n_));
  }
  /// Subtracts multiples of row p to the left of the pivot, and in the columns to the right of all pivots.
  void update_left(StripeRange rows, std::int64_t p, StripeRange I) {
    compute_multipliers(rows, p);
    update_tile(rows, p, {I.begin, p});
    for (std::int64_t k = 0; k < I.begin; k += stripe_) update_tile(rows, p, stripe_at(k, I.begin));
    for (std::int64_t k = pivots(); k < n_; k += stripe_) update_tile(rows, p, stripe_at(k, n_));
  }

  /// Replaces the elements of column p by zeros, and keeps the multipliers, in their place or elsewhere.
  void compute_multipliers(StripeRange rows, std::int64_t p) {
    const T pivot = row(p)[p];
    for (std::int64_t y = rows.begin; y < rows.end; ++y) {
      const T factor = row(y)[p] / pivot;
      row(y)[p] = 0;
      multiplier(y, p) = factor;
    }
  }

  void update_tile(StripeRange rows, std::int64_t p, StripeRange columns) {
    const T* __restrict pivot_row = row(p);
    for (std::int64_t y = rows.begin; y < rows.end; ++y) {
      T* __restrict target = row(y);
      const T factor = multiplier(y, p);
      for (std::int64_t x = columns.begin; x < columns.end; ++x) target[x] -= factor * pivot_row[x];
    }
  }

  std::int64_t stripe_ = 1;
  SecondPass second_pass_ = SecondPass::shortened;
  std::int64_t m_ = 0, n_ = 0;
  Array<T> elements_;     // row after row; of the shortened form with multipliers in place of zeros
  Array<T> multipliers_;  // of the published form: row after row
};

template <class B, class T>
class StripedElimination final : public SolverImplementation<T> {
 public:
  StripedElimination(const Device& device, const GaussJordanStripedOptions& options)
      : SolverImplementation<T>(device), options_(options) {}

  Outcome setup(const MatrixRef<T>& A) override {
    n_ = A.rows();
    matrix_ = StripedHostMatrix<T>(A, options_);
    return matrix_.eliminate();
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<Workspace>();
  }
  [[nodiscard]] std::size_t bytes() const override { return matrix_.bytes(); }

  [[nodiscard]] Determinant determinant() const override {
    DeterminantProduct product;
    for (std::int64_t p = 0; p < n_; ++p) product.multiply(static_cast<double>(matrix_.pivot(p)));
    return product.value();
  }

  /// Applies both passes to right-hand sides.
  void solve(Workspace& /*workspace*/, DenseView<const T> rhs, DenseView<T> X,
             std::vector<Job>& /*jobs*/) const override {
    for (std::int64_t j = 0; j < rhs.columns(); ++j) {
      T* x = X.column(j);
      std::copy_n(rhs.column(j), n_, x);
      for (std::int64_t y = 0; y < n_; ++y) subtract_multiples(y, {0, y}, x);
      for (std::int64_t y = n_; y-- > 0;) subtract_multiples(y, {y + 1, n_}, x);
      for (std::int64_t y = 0; y < n_; ++y) x[y] /= matrix_.pivot(y);
    }
  }

 private:
  void subtract_multiples(std::int64_t y, StripeRange pivots, T* x) const {
    const T* multipliers = matrix_.multipliers(y);
    T sum = 0;
    for (std::int64_t p = pivots.begin; p < pivots.end; ++p) sum += multipliers[p] * x[p];
    x[y] -= sum;
  }

  GaussJordanStripedOptions options_;
  std::int64_t n_ = 0;
  StripedHostMatrix<T> matrix_;
};

}  // namespace

template <>
struct MethodWith<GaussJordanStripedOptions> {
  template <class B, class T>
  using Type = StripedElimination<B, T>;
};

template <class Target, class T>
StripedForm<T> reduce_striped_on(const Dense<T>& A, const GaussJordanStripedOptions& options) {
  StripedHostMatrix<T> matrix(A, options);
  Outcome outcome = matrix.eliminate();
  if (!outcome.ok()) return {.outcome = std::move(outcome), .R = {}, .pivots = {}};
  Host backend(A.device());
  return form_of(backend, matrix.elements(), A.rows(), A.columns());
}

template StripedForm<float> reduce_striped_on<HostTarget>(const Dense<float>&,
                                                          const GaussJordanStripedOptions&);
template StripedForm<double> reduce_striped_on<HostTarget>(const Dense<double>&,
                                                           const GaussJordanStripedOptions&);

template std::unique_ptr<SolverImplementation<float>> make_implementation<HostTarget>(
    const Device&, const GaussJordanStripedOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<HostTarget>(
    const Device&, const GaussJordanStripedOptions&);

}  // namespace echelon
