// SPDX-License-Identifier: BSD-3-Clause
#include <echelon/error.hpp>
#include <echelon/generate.hpp>
#include <echelon/matrix/complex.hpp>
#include <echelon/matrix/linear_operator.hpp>
#include <echelon/problems/pencils.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace echelon {
namespace {

/// ||b - (A + shift B) x|| / (||A + shift B||_F ||x|| + ||b||) in long double.
template <class T>
double backward_error(const Csr<T>& A, const Csr<T>& B, T shift, const std::vector<T>& b, const T* x) {
  using Exact = std::complex<long double>;
  std::vector<Exact> r(b.begin(), b.end());
  long double matrix = 0;
  const auto subtract = [&](const Csr<T>& M, Exact factor) {
    for (std::int64_t i = 0; i < M.rows(); ++i) {
      for (std::int64_t k = M.row_offsets()[i]; k < M.row_offsets()[i + 1]; ++k) {
        const Exact element = factor * Exact(M.values()[k]);
        r[static_cast<std::size_t>(i)] -= element * Exact(x[M.column_indices()[k]]);
        matrix += std::norm(element);
      }
    }
  };
  subtract(A, 1);
  subtract(B, Exact(shift));
  long double residual = 0;
  long double solution = 0;
  long double rhs = 0;
  for (std::size_t i = 0; i < r.size(); ++i) {
    residual += std::norm(r[i]);
    solution += std::norm(Exact(x[i]));
    rhs += std::norm(Exact(b[i]));
  }
  return static_cast<double>(std::sqrt(residual) / (std::sqrt(matrix * solution) + std::sqrt(rhs)));
}

/// A diagonal with a few elements beside it: a mass matrix, symmetric or not.
Csr<double> mass(std::int64_t n, bool symmetric) {
  std::vector<Triplet<double>> elements;
  for (std::int32_t i = 0; i < n; ++i) {
    elements.push_back({i, i, 1 + 0.1 * (i % 5)});
    const std::int32_t j = (i + 3) % static_cast<std::int32_t>(n);
    if (j == i) continue;
    elements.push_back({i, j, 0.2});
    if (symmetric) elements.push_back({j, i, 0.2});
  }
  return Csr<double>::from_triplets(n, n, elements);
}

template <class T>
std::vector<T> right_hand_side(std::int64_t n) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<T> b(static_cast<std::size_t>(n));
  for (T& element : b) element = T{value(random)};
  return b;
}

template <class T>
void expect_solutions(const Csr<T>& A, const Csr<T>& B, const std::vector<T>& shifts,
                      const std::string& method) {
  const std::vector<T> b = right_hand_side<T>(A.rows());
  const PencilSolution<T> found = solve_pencil<T>(A, B, b, shifts);
  EXPECT_EQ(found.method, method);
  EXPECT_EQ(found.analyses, 1);
  EXPECT_TRUE(found.solved());
  ASSERT_EQ(found.reports.size(), shifts.size());
  for (std::size_t k = 0; k < shifts.size(); ++k) {
    const T* const x = found.X.data() + A.rows() * static_cast<std::int64_t>(k);
    EXPECT_LT(backward_error(A, B, shifts[k], b, x), 1e-15) << "shift " << k;
  }
}

TEST(Pencils, RealShifts_OneAnalysis) {
  const Csr<double> A = generate::poisson_2d<double>(20, 20);
  std::vector<double> shifts;
  for (int k = 0; k < 20; ++k) shifts.push_back(-3 + 0.37 * k);
  expect_solutions(A, mass(400, true), shifts, "sparse-ldlt");
  expect_solutions(A, mass(400, false), shifts, "sparse-lu");
  expect_solutions(mass(400, false), A, shifts, "sparse-lu");
}

TEST(Pencils, ComplexShifts_RealPencil) {
  const Csr<std::complex<double>> A = to_complex(generate::poisson_2d<double>(15, 15));
  std::vector<std::complex<double>> shifts;
  for (int k = 0; k < 12; ++k) shifts.push_back(std::polar(0.5 * k, 0.5 * k));
  expect_solutions(A, to_complex(mass(225, true)), shifts, "sparse-ldlt");
  expect_solutions(A, to_complex(mass(225, false)), shifts, "sparse-lu");
}

TEST(Pencils, HermitianPencils_StayHermitianForRealShiftsOnly) {
  using Complex = std::complex<double>;
  std::vector<Triplet<Complex>> elements;
  for (std::int32_t i = 0; i < 60; ++i) {
    elements.push_back({i, i, 4.0});
    if (i + 1 == 60) continue;
    elements.push_back({i, i + 1, Complex(0.3, 1)});
    elements.push_back({i + 1, i, Complex(0.3, -1)});
  }
  const auto A = Csr<Complex>::from_triplets(60, 60, elements);
  const Csr<Complex> B = to_complex(mass(60, true));
  expect_solutions<Complex>(A, B, {0, -2.5, 1}, "sparse-ldlt");
  expect_solutions<Complex>(A, B, {Complex(0, 1), 2}, "sparse-lu");
}

/// Elements that cancel for one shift, and values that need other pivots, as 0 in place of a diagonal.
TEST(Pencils, CancelledElements_AreSolved) {
  const Csr<double> A =
      Csr<double>::from_triplets(2, 2, {{0, 0, 1.0}, {0, 1, 2.0}, {1, 0, 1.0}, {1, 1, 1.0}});
  const Csr<double> B = Csr<double>::from_triplets(2, 2, {{0, 0, -1.0}, {1, 1, -1.0}});
  const std::vector<double> b = {3, 5};
  const std::vector<double> shifts = {0, 1, 1e3};
  const PencilSolution<double> found = solve_pencil<double>(A, B, b, shifts);
  EXPECT_TRUE(found.solved());
  EXPECT_DOUBLE_EQ(found.X(0, 1), 5);
  EXPECT_DOUBLE_EQ(found.X(1, 1), 1.5);
}

/// An eigenvalue as a shift: that system is singular, and the others are solved.
TEST(Pencils, SingularShift_IsNamedInItsReport) {
  const Csr<double> A = Csr<double>::from_triplets(3, 3, {{0, 0, 1.0}, {1, 1, 2.0}, {2, 2, 3.0}});
  const Csr<double> I = Csr<double>::from_triplets(3, 3, {{0, 0, 1.0}, {1, 1, 1.0}, {2, 2, 1.0}});
  const std::vector<double> b = {1, 1, 1};
  const std::vector<double> shifts = {0, -2, 1};
  const PencilSolution<double> found = solve_pencil<double>(A, I, b, shifts);
  EXPECT_FALSE(found.solved());
  EXPECT_TRUE(found.reports[0].solved());
  EXPECT_FALSE(found.reports[1].solved());
  EXPECT_TRUE(found.reports[2].solved());
  EXPECT_DOUBLE_EQ(found.X(2, 2), 0.25);
}

TEST(Pencils, MethodsAndDenseMatrices) {
  const Csr<double> A = generate::poisson_2d<double>(6, 6);
  const Dense<double> full = to_dense(MatrixRef<double>(A));
  const Csr<double> B = mass(36, true);
  const std::vector<double> b = right_hand_side<double>(36);
  const std::vector<double> shifts = {0.5, 1};
  for (const char* method : {"sparse-cholesky", "sparse-lu", "banded-lu", "lu"}) {
    const PencilSolution<double> found = solve_pencil<double>(full, B, b, shifts, {.method = method});
    EXPECT_TRUE(found.solved()) << method;
    EXPECT_LT(backward_error(A, B, 1.0, b, found.X.data() + 36), 1e-15) << method;
  }
  EXPECT_EQ(solve_pencil<double>(A, B, b, std::vector<double>()).X.columns(), 0);
}

TEST(Pencils, WrongShapes_AreNamed) {
  const Csr<double> A = generate::poisson_2d<double>(3, 3);
  const std::vector<double> b(9, 1);
  const std::vector<double> shifts = {1};
  EXPECT_THROW(static_cast<void>(solve_pencil<double>(A, mass(8, true), b, shifts)), DimensionMismatch);
  EXPECT_THROW(static_cast<void>(solve_pencil<double>(A, A, shifts, shifts)), DimensionMismatch);
  EXPECT_THROW(static_cast<void>(solve_pencil<double>(A, A, b, shifts, {.method = "sparse"})), Error);
  const LinearOperator<double> op(9, 9, [](const double*, double*) {});
  EXPECT_THROW(static_cast<void>(solve_pencil<double>(A, MatrixRef<double>(op), b, shifts)), Error);
}

}  // namespace
}  // namespace echelon
