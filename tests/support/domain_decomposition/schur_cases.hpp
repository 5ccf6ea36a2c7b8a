// SPDX-License-Identifier: BSD-3-Clause
/// Checks of Schur complements against block elimination in extended precision, for every device.
#pragma once

#include "support/sparse_systems.hpp"

#include <echelon/domain_decomposition/schur_complement.hpp>
#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace echelon::test {

using Interface = std::vector<std::int32_t>;

/// Dense matrix in extended precision, by rows.
struct ExtendedMatrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<long double> values;
  ExtendedMatrix(std::int64_t r, std::int64_t c)
      : rows(r), columns(c), values(static_cast<std::size_t>(r * c), 0) {}
  long double& operator()(std::int64_t i, std::int64_t j) {
    return values[static_cast<std::size_t>(i * columns + j)];
  }
  long double operator()(std::int64_t i, std::int64_t j) const {
    return values[static_cast<std::size_t>(i * columns + j)];
  }
  [[nodiscard]] long double norm_inf() const {
    long double norm = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
      long double sum = 0;
      for (std::int64_t j = 0; j < columns; ++j) sum += std::abs((*this)(i, j));
      norm = std::max(norm, sum);
    }
    return norm;
  }
};

/// Solves A X = B by elimination with partial pivoting; false if A is singular.
inline bool eliminate(ExtendedMatrix A, ExtendedMatrix& B) {
  const std::int64_t n = A.rows;
  for (std::int64_t p = 0; p < n; ++p) {
    std::int64_t row = p;
    for (std::int64_t i = p; i < n; ++i) {
      if (std::abs(A(i, p)) > std::abs(A(row, p))) row = i;
    }
    if (A(row, p) == 0) return false;
    for (std::int64_t j = p; j < n; ++j) std::swap(A(p, j), A(row, j));
    for (std::int64_t j = 0; j < B.columns; ++j) std::swap(B(p, j), B(row, j));
    for (std::int64_t i = 0; i < n; ++i) {
      const long double factor = A(i, p) / A(p, p);
      if (i == p || factor == 0) continue;
      for (std::int64_t j = p; j < n; ++j) A(i, j) -= factor * A(p, j);
      for (std::int64_t j = 0; j < B.columns; ++j) B(i, j) -= factor * B(p, j);
    }
  }
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < B.columns; ++j) B(i, j) /= A(i, i);
  }
  return true;
}

/// The exact values, and the size of rounding errors that they admit.
struct SchurReference {
  ExtendedMatrix S, G;
  long double error_bound;  ///< of elements, for a unit roundoff of 1
};

/// S and the reduced right-hand sides of A, with a bound that grows with the condition of A_II.
template <class T>
SchurReference reference_schur(const Csr<T>& A, const Interface& interface, const Dense<T>& B) {
  const std::int64_t n = A.rows();
  std::vector<std::int32_t> interior;
  for (std::int32_t i = 0; i < n; ++i) {
    if (std::find(interface.begin(), interface.end(), i) == interface.end()) interior.push_back(i);
  }
  ExtendedMatrix a(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
      a(i, A.column_indices()[k]) = static_cast<long double>(A.values()[k]);
  }
  const auto block = [&](const std::vector<std::int32_t>& rows, const std::vector<std::int32_t>& columns) {
    ExtendedMatrix result(std::ssize(rows), std::ssize(columns));
    for (std::int64_t i = 0; i < result.rows; ++i) {
      for (std::int64_t j = 0; j < result.columns; ++j)
        result(i, j) = a(rows[static_cast<std::size_t>(i)], columns[static_cast<std::size_t>(j)]);
    }
    return result;
  };
  const ExtendedMatrix A_II = block(interior, interior);
  const ExtendedMatrix A_BI = block(interface, interior);
  const std::int64_t n_I = A_II.rows;
  const std::int64_t n_B = std::ssize(interface);
  // A_II^-1 (A_IB, B_I, I)
  ExtendedMatrix X(n_I, n_B + B.columns() + n_I);
  const ExtendedMatrix A_IB = block(interior, interface);
  for (std::int64_t i = 0; i < n_I; ++i) {
    for (std::int64_t j = 0; j < n_B; ++j) X(i, j) = A_IB(i, j);
    for (std::int64_t c = 0; c < B.columns(); ++c)
      X(i, n_B + c) = static_cast<long double>(B(interior[static_cast<std::size_t>(i)], c));
    X(i, n_B + B.columns() + i) = 1;
  }
  EXPECT_TRUE(eliminate(A_II, X));
  SchurReference reference{block(interface, interface), ExtendedMatrix(n_B, B.columns()), 0};
  for (std::int64_t i = 0; i < n_B; ++i) {
    for (std::int64_t c = 0; c < B.columns(); ++c)
      reference.G(i, c) = static_cast<long double>(B(interface[static_cast<std::size_t>(i)], c));
    for (std::int64_t k = 0; k < n_I; ++k) {
      if (A_BI(i, k) == 0) continue;
      for (std::int64_t j = 0; j < n_B; ++j) reference.S(i, j) -= A_BI(i, k) * X(k, j);
      for (std::int64_t c = 0; c < B.columns(); ++c) reference.G(i, c) -= A_BI(i, k) * X(k, n_B + c);
    }
  }
  ExtendedMatrix inverse(n_I, n_I);
  long double largest = 1;  // of A_II^-1 (A_IB, B_I)
  for (std::int64_t i = 0; i < n_I; ++i) {
    for (std::int64_t j = 0; j < n_I; ++j) inverse(i, j) = X(i, n_B + B.columns() + j);
    for (std::int64_t j = 0; j < n_B + B.columns(); ++j) largest = std::max(largest, std::abs(X(i, j)));
  }
  const long double condition = std::max<long double>(1, A_II.norm_inf() * inverse.norm_inf());
  reference.error_bound = 2 * condition * (a.norm_inf() + A_BI.norm_inf() * largest);
  return reference;
}

/// The rows of a matrix with n rows that a seed selects, in random order.
inline Interface random_interface(std::int64_t n, std::int64_t count, unsigned seed) {
  Interface rows(static_cast<std::size_t>(n));
  std::iota(rows.begin(), rows.end(), 0);
  std::shuffle(rows.begin(), rows.end(), std::mt19937(seed));
  rows.resize(static_cast<std::size_t>(std::min(n, count)));
  return rows;
}

template <class T>
Dense<T> random_columns(std::int64_t n, std::int64_t columns, unsigned seed) {
  Dense<T> result(Device(), n, columns);
  const std::vector<T> values = random_vector<T>(n * columns, seed);
  std::copy(values.begin(), values.end(), result.data());
  return result;
}

/// Expects elements within the bound of a reference; reports the first that is not.
template <class T>
void expect_close(const Dense<T>& actual, const ExtendedMatrix& expected, long double bound,
                  const std::string& where) {
  ASSERT_EQ(actual.rows(), expected.rows) << where;
  ASSERT_EQ(actual.columns(), expected.columns) << where;
  const long double allowed = bound * static_cast<long double>(std::numeric_limits<T>::epsilon());
  for (std::int64_t j = 0; j < actual.columns(); ++j) {
    for (std::int64_t i = 0; i < actual.rows(); ++i) {
      const long double difference = std::abs(static_cast<long double>(actual(i, j)) - expected(i, j));
      ASSERT_TRUE(difference <= allowed) << where << ", element (" << i << ", " << j << "): " << actual(i, j)
                                         << " in place of " << expected(i, j);
    }
  }
}

/// ||b - A x||_inf in the interior, relative to ||A|| ||x|| + ||b||, in units of the machine epsilon.
template <class T>
double interior_residual(const Csr<T>& A, const Interface& interface, Dense<T> X, Dense<T> B) {
  double worst = 0;
  for (std::int64_t c = 0; c < X.columns(); ++c) {
    // Right-hand sides of the interface become those of X, so that they are satisfied.
    for (const std::int32_t i : interface) {
      long double sum = 0;
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
        sum +=
            static_cast<long double>(A.values()[k]) * static_cast<long double>(X(A.column_indices()[k], c));
      B(i, c) = static_cast<T>(sum);
    }
    worst = std::max(worst, scaled_residual<T>(A, X.view().column(c), B.view().column(c)));
  }
  return worst;
}

/// Checks reduce_transposed and expand_transposed by the complement of the transposed matrix.
template <class T>
void check_transposed(const SchurComplement<T>& schur, const Csr<T>& A, const Interface& interface,
                      const std::string& where) {
  constexpr std::int64_t columns = 3;
  const Device device = schur.device();
  const auto n_B = static_cast<std::int64_t>(interface.size());
  const Dense<T> B = random_columns<T>(A.rows(), columns, 7);
  const Csr<T> transpose = echelon::transpose(A);
  const SchurReference reference = reference_schur(transpose, interface, B);
  const Dense<T> b = B.to(device);
  Dense<T> G(device, n_B, columns);
  schur.reduce_transposed(b, G);
  expect_close(G.to(Device()), reference.G, reference.error_bound, where + ", transposed G");
  Dense<T> X(device, A.rows(), columns);
  schur.expand_transposed(random_columns<T>(n_B, columns, 8).to(device), b, X);
  EXPECT_LT(interior_residual(transpose, interface, X.to(Device()), B), 300)
      << where << ", transposed expand";
}

/// Checks S, reduce, expand, extend and solve for one matrix, given as a sparse or as a dense one.
template <class T, class M>
void check_schur(const Device& device, const Csr<T>& A, const M& given, const Interface& interface,
                 const SchurOptions& options, const std::string& name) {
  const std::string where = name + ", n = " + std::to_string(A.rows()) + ", interface of " +
                            std::to_string(interface.size()) + ", " +
                            std::string(to_string(options.factorization)) + " on " + device.name();
  constexpr std::int64_t columns = 19;
  const Dense<T> B = random_columns<T>(A.rows(), columns, 5);
  const SchurReference reference = reference_schur(A, interface, B);
  SchurOptions on_device = options;
  on_device.device = device;
  const M on = given.to(device);
  const SchurComplement<T> schur = schur_complement(on, interface, on_device);
  ASSERT_TRUE(schur.ready()) << where << ": " << schur.report().message;
  const auto n_B = static_cast<std::int64_t>(interface.size());
  expect_close(schur.matrix().to(Device()), reference.S, reference.error_bound, where + ", S");

  const Dense<T> b = B.to(device);
  Dense<T> G(device, n_B, columns);
  schur.reduce(b, G);
  expect_close(G.to(Device()), reference.G, reference.error_bound, where + ", G");

  constexpr double passing = 300;
  const Dense<T> x_B = random_columns<T>(n_B, columns, 6).to(device);
  Dense<T> X(device, A.rows(), columns);
  schur.expand(x_B, b, X);
  EXPECT_LT(interior_residual(A, interface, X.to(Device()), B), passing) << where << ", expand";
  schur.extend(x_B, X);
  Dense<T> zero(Device(), A.rows(), columns);
  std::fill_n(zero.data(), A.rows() * columns, T{0});
  EXPECT_LT(interior_residual(A, interface, X.to(Device()), zero), passing) << where << ", extend";
  if (A.rows() <= 120) check_transposed(schur, A, interface, where);
}

/// Checks that A X = B is solved to LAPACK's standard.
template <class T, class M>
void check_schur_solve(const Device& device, const Csr<T>& A, const M& given, const Interface& interface,
                       const SchurOptions& options, const std::string& name) {
  SchurOptions on_device = options;
  on_device.device = device;
  const M on = given.to(device);
  const SchurComplement<T> schur = schur_complement(on, interface, on_device);
  ASSERT_TRUE(schur.ready()) << name << ": " << schur.report().message;
  const Dense<T> B = random_columns<T>(A.rows(), 3, 15);
  Dense<T> X(device, A.rows(), 3);
  const Report report = schur.solve(B.to(device), X);
  EXPECT_EQ(report.status, Status::direct) << name << ": " << report.message;
  const Dense<T> x = X.to(Device());
  for (std::int64_t c = 0; c < 3; ++c)
    EXPECT_LT(scaled_residual<T>(A, x.view().column(c), B.view().column(c)), 30) << name;
  EXPECT_LT(report.backward_error, 30 * static_cast<double>(std::numeric_limits<T>::epsilon())) << name;
}

/// Checks a system with several interfaces, as a sparse and as a dense matrix.
template <class T>
void check_schur_of(const Device& device, const SparseSystem& system, SchurFactorization factorization,
                    unsigned seed = 1) {
  const Csr<T> A = csr_of<T>(system.n, system.elements);
  const Dense<T> dense = to_dense<T>(MatrixRef<T>(A));
  const SchurOptions options{.factorization = factorization};
  for (const std::int64_t count : {std::int64_t{1}, system.n / 7, system.n / 2}) {
    const Interface interface = random_interface(system.n, count, seed);
    check_schur<T>(device, A, A, interface, options, system.name);
    check_schur_solve<T>(device, A, A, interface, options, system.name);
    if (system.n > 120) continue;
    check_schur<T>(device, A, dense, interface, options, "dense " + system.name);
    check_schur_solve<T>(device, A, dense, interface, options, "dense " + system.name);
  }
}

}  // namespace echelon::test
