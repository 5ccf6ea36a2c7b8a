// SPDX-License-Identifier: BSD-3-Clause
/// Checks of solutions of complex systems on a GPU: backward errors in long double, ||b - op(A) x|| / (||A||
/// ||x|| + ||b||) in the infinity norm.
#pragma once

#include "scalars/complex_systems.hpp"

namespace echelon::test {

/// Expects that the method did not go over to the host, of which it would warn.
inline void expect_on_gpu(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings)
    EXPECT_EQ(warning.find("on the host"), std::string::npos) << warning;
}

/// Sums up the backward error of x, row by row of op(A).
class BackwardError {
 public:
  BackwardError(std::int64_t n, const std::complex<double>* b, const std::complex<double>* x)
      : x_(x), residual_(static_cast<std::size_t>(n)), sums_(static_cast<std::size_t>(n)) {
    for (std::int64_t i = 0; i < n; ++i) {
      residual_[static_cast<std::size_t>(i)] = Exact(b[i].real(), b[i].imag());
      solution_ = std::max<long double>(solution_, std::abs(x[i]));
      right_ = std::max<long double>(right_, std::abs(b[i]));
    }
  }
  /// Element (i, j) of A.
  void add(Operation operation, std::int64_t i, std::int64_t j, Exact value) {
    const auto row = static_cast<std::size_t>(operation == Operation::none ? i : j);
    const std::complex<double> x = x_[operation == Operation::none ? j : i];
    residual_[row] -=
        (operation == Operation::adjoint ? std::conj(value) : value) * Exact(x.real(), x.imag());
    sums_[row] += std::abs(value);
  }
  [[nodiscard]] double value() const {
    long double residual = 0;
    for (const Exact& element : residual_) {
      if (!(std::abs(element) <= residual)) residual = std::abs(element);  // a NaN stays
    }
    const long double matrix = *std::max_element(sums_.begin(), sums_.end());
    return static_cast<double>(residual / (matrix * solution_ + right_));
  }

 private:
  const std::complex<double>* x_;
  Vector residual_;
  std::vector<long double> sums_;
  long double solution_ = 0;
  long double right_ = 0;
};

inline double backward_error(const Csr<std::complex<double>>& A, Operation operation,
                             const std::complex<double>* b, const std::complex<double>* x) {
  BackwardError error(A.rows(), b, x);
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
      error.add(operation, i, A.column_indices()[k], Exact(A.values()[k].real(), A.values()[k].imag()));
  }
  return error.value();
}

inline double backward_error(const Entries& A, Operation operation, const std::complex<double>* b,
                             const std::complex<double>* x) {
  BackwardError error(A.rows, b, x);
  for (std::int64_t i = 0; i < A.rows; ++i) {
    for (std::int64_t j = 0; j < A.columns; ++j) error.add(operation, i, j, A(i, j));
  }
  return error.value();
}

}  // namespace echelon::test
