// SPDX-License-Identifier: BSD-3-Clause
/// Certificates of dense systems against solutions in 512 bits.
#pragma once

#include "support/big_float.hpp"

#include <echelon/certify.hpp>
#include <echelon/generate.hpp>
#include <echelon/matrix/dense.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace echelon::test {

/// A and b on the host, and x* in 512 bits; empty if A is singular.
struct ExactSystem {
  Dense<double> A;
  std::vector<double> b;
  std::vector<BigFloat> x;

  ExactSystem(Dense<double> matrix, std::vector<double> right)
      : A(std::move(matrix)), b(std::move(right)), x(solve_exactly(row_by_row(A), b)) {}

  [[nodiscard]] std::int64_t order() const { return A.rows(); }
  /// |value - x*_i|, or zero where that cannot be told from rounding errors of x*.
  [[nodiscard]] BigFloat error(std::size_t i, double value) const {
    const BigFloat difference = (BigFloat(value) - x[i]).magnitude();
    return difference < x[i].magnitude() * BigFloat(0x1p-300) ? BigFloat() : difference;
  }
  /// x* rounded to double, up to the last bit.
  [[nodiscard]] std::vector<double> rounded() const {
    std::vector<double> result;
    for (const BigFloat& element : x) result.push_back(element.to_double());
    return result;
  }

 private:
  static std::vector<double> row_by_row(const Dense<double>& A) {
    std::vector<double> rows;
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      for (std::int64_t j = 0; j < A.columns(); ++j) rows.push_back(A(i, j));
    }
    return rows;
  }
};

/// Bounds divided by errors.
struct Tightness {
  double of_largest = 0;                 ///< error_bound / max |x_i - x*_i|
  std::vector<double> of_elements = {};  ///< where the error is not 0
};

/// Expects every bound of a certificate to hold for x; returns how tight they are.
inline Tightness expect_bounds_hold(const ErrorCertificate& certificate, const ExactSystem& system,
                                    const std::vector<double>& x) {
  Tightness tightness;
  BigFloat largest;
  BigFloat largest_solution;
  EXPECT_FALSE(system.x.empty()) << "a singular matrix was certified: " << certificate.reason;
  EXPECT_EQ(certificate.element_bounds.rows(), system.order());
  for (std::size_t i = 0; i < system.x.size(); ++i) {
    const BigFloat error = system.error(i, x[i]);
    const double bound = certificate.element_bounds(static_cast<std::int64_t>(i), 0);
    EXPECT_FALSE(BigFloat(bound) < error) << "element " << i << ": " << bound << " < " << error.to_double();
    if (largest < error) largest = error;
    if (largest_solution < system.x[i].magnitude()) largest_solution = system.x[i].magnitude();
    if (!error.is_zero()) tightness.of_elements.push_back((BigFloat(bound) / error).to_double());
  }
  EXPECT_FALSE(BigFloat(certificate.error_bound) < largest);
  if (std::isfinite(certificate.relative_error_bound)) {
    EXPECT_FALSE(BigFloat(certificate.relative_error_bound) * largest_solution < largest);
  }
  if (!largest.is_zero()) {
    tightness.of_largest = (BigFloat(certificate.error_bound) / largest).to_double();
  }
  return tightness;
}

inline double median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

/// A dense matrix of the generator.
inline Dense<double> generated(const std::string& name, const Options& options = {}) {
  return to_dense<double>(make_matrix<double>(name, options));
}

/// Elements uniform in [-1, 1), each row and column scaled by a power of two up to 2^decades.
inline Dense<double> badly_scaled(std::int64_t n, int row_exponents, int column_exponents,
                                  std::mt19937_64& random) {
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<int> rows;
  std::vector<int> columns;
  for (std::int64_t i = 0; i < n; ++i) {
    rows.push_back(std::uniform_int_distribution<int>(-row_exponents, row_exponents)(random));
    columns.push_back(std::uniform_int_distribution<int>(-column_exponents, column_exponents)(random));
  }
  Dense<double> A(Device(), n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      const auto row = static_cast<std::size_t>(i);
      const auto column = static_cast<std::size_t>(j);
      A(i, j) = std::ldexp(value(random), rows[row] + columns[column]);
    }
  }
  return A;
}

/// U diag(s) V with s from 1 down to 1 / condition in geometric steps, U and V products of random
/// reflections.
inline Dense<double> of_condition(std::int64_t n, double condition, std::mt19937_64& random) {
  Dense<double> A(Device(), n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      const double share = n > 1 ? static_cast<double>(i) / static_cast<double>(n - 1) : 0;
      A(i, j) = i == j ? std::pow(condition, -share) : 0;
    }
  }
  std::normal_distribution<double> normal;
  std::vector<double> v(static_cast<std::size_t>(n));
  for (int reflection = 0; reflection < 6; ++reflection) {
    double square = 0;
    for (double& element : v) {
      element = normal(random);
      square += element * element;
    }
    const bool from_left = reflection % 2 == 0;
    for (std::int64_t k = 0; k < n; ++k) {
      const auto element = [&](std::int64_t i) -> double& { return from_left ? A(i, k) : A(k, i); };
      double product = 0;
      for (std::int64_t i = 0; i < n; ++i) product += v[static_cast<std::size_t>(i)] * element(i);
      for (std::int64_t i = 0; i < n; ++i) {
        element(i) -= 2 * product / square * v[static_cast<std::size_t>(i)];
      }
    }
  }
  return A;
}

}  // namespace echelon::test
