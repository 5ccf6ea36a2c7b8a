// SPDX-License-Identifier: BSD-3-Clause
/// Dense LU with partial pivoting of complex matrices, by LAPACK: the methods lu and lapack-lu.
#pragma once

#include "dense/factorization/blocked_lu.hpp"
#include "dense/factorization/packed_factors.hpp"
#include "dense/factorization/zero_diagonal.hpp"
#include "linalg/balancing_scale.hpp"
#include "linalg/blas/blas.hpp"
#include "linalg/blas/lapack.hpp"
#include "solver/direct/factorization.hpp"
#include "solver/factor_status.hpp"
#include "support/scalar.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace echelon::lu {

/// Largest magnitudes of the rows and of the columns of a column-major A.
struct LargestOfLines {
  std::vector<double> rows, columns;
};
template <class T>
LargestOfLines largest_of_lines(const Dense<T>& A) {
  LargestOfLines largest{std::vector<double>(static_cast<std::size_t>(A.rows()), 0.0),
                         std::vector<double>(static_cast<std::size_t>(A.columns()), 0.0)};
  for (std::int64_t j = 0; j < A.columns(); ++j) {
    double& of_column = largest.columns[static_cast<std::size_t>(j)];
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      const double size = magnitude(A(i, j));
      double& of_row = largest.rows[static_cast<std::size_t>(i)];
      of_row = std::max(of_row, size);
      of_column = std::max(of_column, size);
    }
  }
  return largest;
}

/// Whether lines differ by more than ten times, or are so large or small that products of two elements may
/// leave the range of T.
template <class T>
bool is_badly_scaled(const std::vector<double>& largest) {
  const auto [least, most] = std::minmax_element(largest.begin(), largest.end());
  const double safe = std::sqrt(static_cast<double>(std::numeric_limits<Real<T>>::max()));
  return *most > 10 * *least || *most > safe || *least < 1 / safe;
}

template <class T>
Array<T> balancing_scales(const std::vector<double>& largest) {
  Array<T> scales(Device::serial(), static_cast<std::int64_t>(largest.size()));
  std::transform(largest.begin(), largest.end(), scales.data(),
                 [](double size) { return T{balancing_scale<Real<T>>(size)}; });
  return scales;
}

/// P R A C = L U for the scales R and C of equilibrate().
template <class B, class T>
class ComplexLuFactorization {
  using Operation = direct::Operation;

 public:
  using Scope = blas::Threads;
  static constexpr bool calls_blas = true;

  template <class O>
  ComplexLuFactorization(const Device&, const O& options) : equilibrates_(options.equilibrate) {}

  void clear() {
    factors_ = Dense<T>();
    pivots_.clear();
  }

  Outcome factor(const direct::FactorContext<B, T>& context) {
    const int n = blas::dimension(context.A.rows());
    factors_ = to_dense(context.A);
    if (Outcome scaled = equilibrate(context.scales); !scaled.ok()) return scaled;
    const double largest = measure();
    pivots_.assign(static_cast<std::size_t>(n), 0);
    const BlockedLuResult end = factor_blocked_lu(n, factors_.data(), pivots_.data(), context.control);
    if (end.cancelled) return cancelled_factorization();
    Outcome outcome;
    if (end.zero_pivot > 0)
      outcome = replace_zero_pivots(context.backend, context.A, factors_, end.zero_pivot - 1, largest);
    outcome.statistics = {{"factorization", "lu"}, {"pivot_growth", largest_of_upper() / largest}};
    return outcome;
  }

  void substitute(Operation operation, B& /*backend*/, direct::NoSpace& /*space*/, DenseView<T> X) const {
    lapack::getrs(operation == Operation::transpose, static_cast<int>(X.rows()),
                  static_cast<int>(X.columns()), factors_.data(), pivots_.data(), X.data(),
                  blas::dimension(X.leading()));
  }

  [[nodiscard]] DeterminantProduct determinant(B& /*backend*/) const {
    DeterminantProduct product;
    multiply_by_diagonal(product, factors_);
    count_exchanges(product, pivots_, 1);
    return product;
  }
  [[nodiscard]] MatrixFactors<T> factors(B& backend) const {
    MatrixFactors<T> result;
    result.lower = copy_triangle(backend, factors_.view(), {.lower = true, .unit_diagonal = true});
    result.upper = copy_triangle(backend, factors_.view(), {.lower = false, .unit_diagonal = false});
    result.row_permutation = permutation_by_exchanges(factors_.rows(), pivots_, 1);
    return result;
  }
  [[nodiscard]] double norm() const { return norm_one_; }
  [[nodiscard]] std::size_t bytes() const { return factors_.bytes() + pivots_.size() * sizeof(int); }

 private:
  /// Scales rows, then columns, to largest magnitudes of about 1, by powers of two, where they differ much.
  Outcome equilibrate(Scales<T>& scales) {
    LargestOfLines largest = largest_of_lines(factors_);
    const auto zero_of = [](const std::vector<double>& lines) {
      return std::find(lines.begin(), lines.end(), 0.0) - lines.begin();
    };
    const std::int64_t n = factors_.rows();
    if (zero_of(largest.rows) < n) return zero_line("row", zero_of(largest.rows));
    if (zero_of(largest.columns) < n) return zero_line("column", zero_of(largest.columns));
    if (!equilibrates_) return {};
    if (is_badly_scaled<T>(largest.rows)) {
      scales.rows = balancing_scales<T>(largest.rows);
      apply(scales.rows, Array<T>());
      largest = largest_of_lines(factors_);
    }
    if (is_badly_scaled<T>(largest.columns)) {
      scales.columns = balancing_scales<T>(largest.columns);
      apply(Array<T>(), scales.columns);
    }
    return {};
  }
  void apply(const Array<T>& rows, const Array<T>& columns) {
    for (std::int64_t j = 0; j < factors_.columns(); ++j) {
      const Real<T> of_column = columns.size() > 0 ? columns[j].real() : Real<T>{1};
      for (std::int64_t i = 0; i < factors_.rows(); ++i)
        factors_(i, j) *= (rows.size() > 0 ? rows[i].real() : Real<T>{1}) * of_column;
    }
  }

  /// Finds the 1-norm. Returns the largest magnitude.
  double measure() {
    norm_one_ = 0;
    double largest = 0;
    for (std::int64_t j = 0; j < factors_.columns(); ++j) {
      double sum = 0;
      for (std::int64_t i = 0; i < factors_.rows(); ++i) {
        const double size = magnitude(factors_(i, j));
        sum += size;
        largest = std::max(largest, size);
      }
      norm_one_ = std::max(norm_one_, sum);
    }
    return largest;
  }
  [[nodiscard]] double largest_of_upper() const {
    double largest = 0;
    for (std::int64_t j = 0; j < factors_.columns(); ++j) {
      for (std::int64_t i = 0; i <= j; ++i) largest = std::max(largest, magnitude(factors_(i, j)));
    }
    return largest;
  }

  bool equilibrates_;
  Dense<T> factors_;
  std::vector<int> pivots_;
  double norm_one_ = 0;
};

}  // namespace echelon::lu
