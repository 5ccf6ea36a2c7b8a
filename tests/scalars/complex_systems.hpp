// SPDX-License-Identifier: BSD-3-Clause
/// Complex systems of the tests, and products and eliminations in long double with which results are
/// compared.
#pragma once

#include "support/dense/shape.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>
#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace echelon::test {

using Exact = std::complex<long double>;
using Vector = std::vector<Exact>;

/// A matrix in long double, row by row.
struct Entries {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  Vector values;

  Entries(std::int64_t m, std::int64_t n) : rows(m), columns(n), values(static_cast<std::size_t>(m * n)) {}
  Exact& operator()(std::int64_t i, std::int64_t j) {
    return values[static_cast<std::size_t>(i * columns + j)];
  }
  Exact operator()(std::int64_t i, std::int64_t j) const {
    return values[static_cast<std::size_t>(i * columns + j)];
  }
};

inline Entries operate(Operation operation, const Entries& A) {
  if (operation == Operation::none) return A;
  Entries result(A.columns, A.rows);
  for (std::int64_t i = 0; i < A.rows; ++i) {
    for (std::int64_t j = 0; j < A.columns; ++j)
      result(j, i) = operation == Operation::adjoint ? std::conj(A(i, j)) : A(i, j);
  }
  return result;
}

inline Vector product(const Entries& A, const Vector& x) {
  Vector y(static_cast<std::size_t>(A.rows));
  for (std::int64_t i = 0; i < A.rows; ++i) {
    for (std::int64_t j = 0; j < A.columns; ++j)
      y[static_cast<std::size_t>(i)] += A(i, j) * x[static_cast<std::size_t>(j)];
  }
  return y;
}

inline Entries product(const Entries& A, const Entries& B) {
  Entries C(A.rows, B.columns);
  for (std::int64_t i = 0; i < A.rows; ++i) {
    for (std::int64_t k = 0; k < A.columns; ++k) {
      for (std::int64_t j = 0; j < B.columns; ++j) C(i, j) += A(i, k) * B(k, j);
    }
  }
  return C;
}

/// A^-1 b by elimination with partial pivoting.
inline Vector solution(Entries A, Vector b) {
  const std::int64_t n = A.rows;
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k; i < n; ++i) pivot = std::abs(A(i, k)) > std::abs(A(pivot, k)) ? i : pivot;
    for (std::int64_t j = 0; j < n; ++j) std::swap(A(k, j), A(pivot, j));
    std::swap(b[static_cast<std::size_t>(k)], b[static_cast<std::size_t>(pivot)]);
    for (std::int64_t i = k + 1; i < n; ++i) {
      const Exact factor = A(i, k) / A(k, k);
      for (std::int64_t j = k; j < n; ++j) A(i, j) -= factor * A(k, j);
      b[static_cast<std::size_t>(i)] -= factor * b[static_cast<std::size_t>(k)];
    }
  }
  for (std::int64_t i = n; i-- > 0;) {
    Exact& x = b[static_cast<std::size_t>(i)];
    for (std::int64_t j = i + 1; j < n; ++j) x -= A(i, j) * b[static_cast<std::size_t>(j)];
    x /= A(i, i);
  }
  return b;
}

/// Numbers that double and float represent.
class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  Exact operator()() { return {part(), part()}; }
  Vector vector(std::int64_t n) {
    Vector x(static_cast<std::size_t>(n));
    for (Exact& element : x) element = (*this)();
    return x;
  }

 private:
  long double part() { return static_cast<float>(std::uniform_real_distribution<float>(-1, 1)(engine_)); }
  std::mt19937 engine_;
};

inline Entries random_entries(std::int64_t m, std::int64_t n, unsigned seed) {
  Random random(seed);
  Entries A(m, n);
  for (Exact& value : A.values) value = random();
  return A;
}

/// Hermitian, diagonally dominant, with about `per_row` elements a row off the diagonal.
inline Entries random_hermitian(std::int64_t n, std::int64_t per_row, unsigned seed) {
  Random random(seed);
  std::mt19937 engine(seed);
  Entries A(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t k = 0; k < per_row / 2; ++k) {
      const auto j = static_cast<std::int64_t>(engine() % static_cast<unsigned>(n));
      if (i == j) continue;
      A(i, j) = random();
      A(j, i) = std::conj(A(i, j));
    }
  }
  for (std::int64_t i = 0; i < n; ++i) {
    long double sum = 0;
    for (std::int64_t j = 0; j < n; ++j) sum += i == j ? 0 : std::abs(A(i, j));
    A(i, i) = std::ceil(sum) + 1;
  }
  return A;
}

/// The Laplacian of a grid of side by side vertices in a magnetic field: an edge has a phase, which its
/// reverse has conjugated. `hermitian`: false for equal phases in both directions.
inline Entries magnetic_laplacian(std::int64_t side, double flux, bool hermitian = true) {
  Entries A(side * side, side * side);
  const auto connect = [&](std::int64_t i, std::int64_t j, double angle) {
    const std::complex<float> phase = std::polar(1.0F, static_cast<float>(angle));
    A(i, j) = -Exact(phase.real(), phase.imag());
    A(j, i) = hermitian ? std::conj(A(i, j)) : A(i, j);
  };
  for (std::int64_t y = 0; y < side; ++y) {
    for (std::int64_t x = 0; x < side; ++x) {
      const std::int64_t i = x + side * y;
      A(i, i) = 4;
      if (x + 1 < side) connect(i, i + 1, flux * static_cast<double>(y));
      if (y + 1 < side) connect(i, i + side, hermitian ? 0 : flux);
    }
  }
  return A;
}

/// Complex symmetric: -Laplace u - k^2 (1 + i damping) u on a grid of side by side points.
inline Entries damped_helmholtz(std::int64_t side, double k_squared, double damping) {
  Entries A = magnetic_laplacian(side, 0);
  for (std::int64_t i = 0; i < A.rows; ++i)
    A(i, i) -= Exact(static_cast<float>(k_squared), static_cast<float>(k_squared * damping));
  return A;
}

/// Random, without symmetry or dominance, with about `per_row` elements a row.
inline Entries random_sparse(std::int64_t n, std::int64_t per_row, unsigned seed) {
  Random random(seed);
  std::mt19937 engine(seed);
  Entries A(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    A(i, (7 * i + 3) % n) = random() * 3.0L;  // so that the structural rank is full
    for (std::int64_t k = 1; k < per_row; ++k)
      A(i, static_cast<std::int64_t>(engine() % static_cast<unsigned>(n))) = random();
  }
  return A;
}

template <class T>
T rounded(Exact value) {
  return {static_cast<Real<T>>(value.real()), static_cast<Real<T>>(value.imag())};
}

template <class T>
Csr<T> sparse(const Entries& A) {
  std::vector<Triplet<T>> triplets;
  for (std::int64_t i = 0; i < A.rows; ++i) {
    for (std::int64_t j = 0; j < A.columns; ++j) {
      if (A(i, j) == Exact(0)) continue;
      triplets.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), rounded<T>(A(i, j))});
    }
  }
  return Csr<T>::from_triplets(A.rows, A.columns, triplets);
}

template <class T>
Dense<T> dense(const Entries& A) {
  return to_dense<T>(sparse<T>(A));
}

template <class T>
Dense<T> column(const Vector& x) {
  Dense<T> result(Device(), std::ssize(x), 1);
  for (std::size_t i = 0; i < x.size(); ++i) result[static_cast<std::int64_t>(i)] = rounded<T>(x[i]);
  return result;
}

/// Vectors of n elements, each by a seed of its own: first_seed, first_seed + 1, ...
inline std::vector<Vector> random_vectors(std::int64_t n, std::int64_t count, unsigned first_seed = 0) {
  std::vector<Vector> vectors;
  for (std::int64_t c = 0; c < count; ++c)
    vectors.push_back(Random(first_seed + static_cast<unsigned>(c)).vector(n));
  return vectors;
}

/// The matrix of these columns, at least one.
template <class T>
Dense<T> matrix_of(const std::vector<Vector>& vectors) {
  Dense<T> result(Device(), std::ssize(vectors.front()), std::ssize(vectors));
  for (std::size_t c = 0; c < vectors.size(); ++c) {
    for (std::size_t i = 0; i < vectors[c].size(); ++i)
      result(static_cast<std::int64_t>(i), static_cast<std::int64_t>(c)) = rounded<T>(vectors[c][i]);
  }
  return result;
}

inline long double norm(const Vector& x) {
  long double square = 0;
  for (const Exact& element : x) square += std::norm(element);
  return std::sqrt(square);
}

/// ||x - expected||_2 / ||expected||_2, or ||x||_2 for expected = 0.
template <class T>
double relative_error(const T* x, const Vector& expected) {
  Vector difference = expected;
  for (std::size_t i = 0; i < expected.size(); ++i) difference[i] -= Exact(x[i].real(), x[i].imag());
  const long double size = norm(expected);
  return static_cast<double>(size > 0 ? norm(difference) / size : norm(difference));
}
template <class T>
double relative_error(const Dense<T>& x, const Vector& expected) {
  return relative_error(x.data(), expected);
}

template <class T>
constexpr double epsilon = static_cast<double>(std::numeric_limits<Real<T>>::epsilon());

/// Shapes and ranks of matrices to eliminate: empty ones, single rows and columns, and deficient ones.
inline const std::vector<Shape> shapes_of_ranks = {
    {0, 3, 0},    {3, 0, 0},    {1, 1, 1},    {1, 1, 0},    {1, 7, 1},       {7, 1, 1},      {5, 4, 0},
    {31, 33, 31}, {33, 31, 31}, {40, 60, 17}, {60, 40, 17}, {150, 150, 150}, {150, 140, 90}, {300, 280, 280}};

/// An m by n matrix of this rank.
inline Entries of_rank(std::int64_t m, std::int64_t n, std::int64_t rank, unsigned seed) {
  const Entries left = random_entries(m, rank, seed);
  const Entries right = random_entries(rank, n, seed + 1);
  Entries A(m, n);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t k = 0; k < rank; ++k) A(i, j) += left(i, k) * right(k, j);
    }
  }
  return A;
}

/// Largest magnitude of A X, for the matrix X, relative to that of A.
template <class T>
double largest_of_product(const Entries& A, const Dense<T>& X) {
  long double largest = 0;
  long double size = 0;
  for (const Exact& value : A.values) size = std::max(size, std::abs(value));
  for (std::int64_t c = 0; c < X.columns(); ++c) {
    Vector x;
    for (std::int64_t j = 0; j < X.rows(); ++j) x.emplace_back(X(j, c).real(), X(j, c).imag());
    for (const Exact& value : product(A, x)) largest = std::max(largest, std::abs(value));
  }
  return static_cast<double>(size > 0 ? largest / size : largest);
}

/// The pivot columns of R are unit vectors, and its columns are those of A in the basis of A's pivot columns.
template <class T>
void expect_reduced(const Entries& A, const EchelonForm<T>& form, double tolerance) {
  long double size = 0;
  for (const Exact& value : A.values) size = std::max(size, std::abs(value));
  const auto rank = std::ssize(form.pivot_columns);
  for (std::int64_t j = 0; j < A.columns; ++j) {
    for (std::int64_t i = rank; i < A.rows; ++i) EXPECT_EQ(form.R(i, j), T{0});
    for (std::int64_t i = 0; i < A.rows; ++i) {
      Exact sum = A(i, j);
      long double terms = size;
      for (std::int64_t k = 0; k < rank; ++k) {
        const Exact r(form.R(k, j).real(), form.R(k, j).imag());
        sum -= A(i, form.pivot_columns[static_cast<std::size_t>(k)]) * r;
        terms += size * std::abs(r);
      }
      ASSERT_LE(static_cast<double>(std::abs(sum)), tolerance * static_cast<double>(terms)) << i << ", " << j;
    }
  }
  for (std::int64_t k = 0; k < rank; ++k) {
    for (std::int64_t i = 0; i < A.rows; ++i)
      EXPECT_EQ(form.R(i, form.pivot_columns[static_cast<std::size_t>(k)]),
                T{i == k ? Real<T>{1} : Real<T>{0}});
  }
}

template <class T>
class ComplexSystems : public testing::Test {
 protected:
  static constexpr double rtol = std::is_same_v<Real<T>, double> ? 1e-13 : 1e-6;
  static constexpr double largest_error = std::is_same_v<Real<T>, double> ? 1e-11 : 1e-4;
  const std::vector<Device> devices = {Device::serial(), Device::openmp(2)};

  static Solver<T> make(const std::string& method, const Device& device, Options options = {}) {
    return make_solver<T>(method, device, options);
  }
  static Report solve(Solver<T>& solver, const Vector& b, Dense<T>& x, Control control = {}) {
    control.rtol = rtol;
    return solver.solve(column<T>(b), x, control);
  }
  /// Solves and compares with the solution in long double.
  static void expect_solves(Solver<T>& solver, MatrixRef<T> A, const Entries& entries,
                            Operation operation = Operation::none) {
    ASSERT_TRUE(solver.setup(A).ready());
    const Vector b = Random(7).vector(entries.rows);
    Dense<T> x(Device(), entries.rows, 1);
    const Report report = solve(solver, b, x, {.operation = operation});
    EXPECT_EQ(report.status, Status::converged) << report.message;
    EXPECT_LT(relative_error(x, solution(operate(operation, entries), b)), largest_error);
  }
};
#ifdef ECHELON_COMPLEX_FLOAT
using ComplexTypes = testing::Types<std::complex<double>, std::complex<float>>;
#else
using ComplexTypes = testing::Types<std::complex<double>>;
#endif

/// Expects inner products, sums, norms and axpy of random vectors of n elements on the device as in extended
/// precision.
template <class T>
void expect_reductions(std::int64_t n, const Device& device) {
  const Vector x = Random(1).vector(n);
  const Vector y = Random(2).vector(n);
  Exact expected = 0;
  Exact total = 0;
  long double one = 0;
  long double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    expected += std::conj(x[i]) * y[i];
    total += x[i];
    one += std::abs(x[i]);
    largest = std::max(largest, std::abs(x[i]));
  }
  const Dense<T> X = column<T>(x).to(device);
  const Dense<T> Y = column<T>(y).to(device);
  const std::complex<double> found = dot<T>(X, Y);
  EXPECT_LT(std::abs(Exact(found.real(), found.imag()) - expected), 1e-12 * (norm(x) * norm(y) + 1));
  EXPECT_EQ(found, std::conj(dot<T>(Y, X)));
  const std::complex<double> summed = sum<T>(X);
  EXPECT_LT(std::abs(Exact(summed.real(), summed.imag()) - total), 1e-12 * (one + 1));
  EXPECT_NEAR(norm2<T>(X), static_cast<double>(norm(x)), 1e-12 * static_cast<double>(norm(x)));
  EXPECT_NEAR(norm1<T>(X), static_cast<double>(one), 1e-12 * static_cast<double>(one));
  Context context(device);
  EXPECT_NEAR(norm_inf<T>(context, X), static_cast<double>(largest), 1e-15);
  Dense<T> Z = Y;
  axpy<T>(T{0, 2}, X, Z);
  Vector moved = y;
  for (std::size_t i = 0; i < x.size(); ++i) moved[i] += Exact(0, 2) * x[i];
  EXPECT_LT(relative_error(Z.to(Device()), moved), 4 * epsilon<T>);
}

}  // namespace echelon::test
