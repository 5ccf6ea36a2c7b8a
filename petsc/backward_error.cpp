// SPDX-License-Identifier: BSD-3-Clause
#include "backward_error.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

namespace echelon::petsc {

namespace {

/// b - A x, and the sums of magnitudes of the rows of A.
struct Residual {
  std::vector<double> residual;
  std::vector<double> row_sums;
};

void subtract(const Csr<double>& A, std::span<const double> x, Residual& result) {
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    const auto row = static_cast<std::size_t>(i);
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      result.residual[row] -= A.values()[k] * x[static_cast<std::size_t>(A.column_indices()[k])];
      result.row_sums[row] += std::abs(A.values()[k]);
    }
  }
}

void subtract(const Dense<double>& A, std::span<const double> x, Residual& result) {
  for (std::int64_t j = 0; j < A.columns(); ++j) {
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      const auto row = static_cast<std::size_t>(i);
      result.residual[row] -= A(i, j) * x[static_cast<std::size_t>(j)];
      result.row_sums[row] += std::abs(A(i, j));
    }
  }
}

/// Largest magnitude; NaN if an element is one.
double largest(std::span<const double> values) {
  double result = 0;
  for (const double value : values) {
    if (!(std::abs(value) <= result)) result = std::abs(value);
    if (std::isnan(result)) return result;
  }
  return result;
}

}  // namespace

double backward_error(const Matrix<double>& A, std::span<const double> b, std::span<const double> x) {
  Residual result{{b.begin(), b.end()}, std::vector<double>(b.size())};
  std::visit([&](const auto& held) { subtract(held, x, result); }, A);
  const double scale = largest(result.row_sums) * largest(x) + largest(b);
  const double residual = largest(result.residual);
  return residual == 0 && scale == 0 ? 0 : residual / scale;
}

}  // namespace echelon::petsc
