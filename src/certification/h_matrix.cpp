// SPDX-License-Identifier: BSD-3-Clause
#include "certification/h_matrix.hpp"

#include "certification/residual_bound.hpp"
#include "certification/rounding.hpp"

#include <echelon/matrix/dense.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace echelon::certification {

namespace {

Csr<double> comparison_matrix(Csr<double> A) {
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const double magnitude = std::abs(A.values()[k]);
      A.values()[k] = A.column_indices()[k] == i ? magnitude : -magnitude;
    }
  }
  return A;
}

/// A lower bound of (C v)_i for v >= 0.
double lower_bound_of_product(const Csr<double>& C, std::int64_t i, const std::vector<double>& v) {
  double diagonal = 0;
  double others = 0;  // upper bound of the negated sum
  for (std::int64_t k = C.row_offsets()[i]; k < C.row_offsets()[i + 1]; ++k) {
    const std::int32_t j = C.column_indices()[k];
    const double factor = v[static_cast<std::size_t>(j)];
    if (j == i) {
      diagonal = multiply_down(C.values()[k], factor);
    } else if (C.values()[k] != 0) {
      others = add_up(others, multiply_up(-C.values()[k], factor));
    }
  }
  return subtract_down(diagonal, others);
}

std::vector<double> diagonal_of(const Csr<double>& C) {
  std::vector<double> diagonal(static_cast<std::size_t>(C.rows()));
  for (std::int64_t i = 0; i < C.rows(); ++i) {
    for (std::int64_t k = C.row_offsets()[i]; k < C.row_offsets()[i + 1]; ++k) {
      if (C.column_indices()[k] == i) diagonal[static_cast<std::size_t>(i)] = C.values()[k];
    }
  }
  return diagonal;
}

}  // namespace

ComparisonMatrix::ComparisonMatrix(const Csr<double>& A, bool symmetric, const Device& device,
                                   const CancellationToken& cancel)
    : matrix_(comparison_matrix(A)),
      solver_(
          make_solver<double>(symmetric ? "sparse-cholesky" : "sparse-lu", device, {{"condition", false}})) {
  Control control;
  control.cancel = cancel;
  if (solver_.setup(matrix_, control).status != Status::ready) return;
  v_.resize(static_cast<std::size_t>(A.rows()));
  u_.resize(v_.size());
  if (!solver_.solve(diagonal_of(matrix_), v_).solved()) return;
  for (std::size_t i = 0; i < v_.size(); ++i) {
    u_[i] = lower_bound_of_product(matrix_, static_cast<std::int64_t>(i), v_);
    if (!(v_[i] > 0 && u_[i] > 0)) return;
  }
  is_h_matrix_ = true;
}

std::vector<double> ComparisonMatrix::bound_inverse_times(const std::vector<double>& residual) const {
  std::vector<double> w(residual.size());
  if (!solver_.solve(residual, w).solved()) w.assign(w.size(), 0);
  const std::vector<double> rest = residual_bound(matrix_, residual, w);
  double quotient = 0;
  for (std::size_t i = 0; i < w.size(); ++i) quotient = std::max(quotient, divide_up(rest[i], u_[i]));
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = add_up(std::abs(w[i]), multiply_up(v_[i], quotient));
  return w;
}

}  // namespace echelon::certification
