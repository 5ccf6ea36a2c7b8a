// SPDX-License-Identifier: BSD-3-Clause
#include <echelon/error.hpp>
#include <echelon/generate.hpp>
#include <echelon/linalg.hpp>
#include <echelon/matrix/complex.hpp>
#include <echelon/matrix/linear_operator.hpp>
#include <echelon/problems/shifted_systems.hpp>
#include <echelon/solver.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace echelon {
namespace {

using Complex = std::complex<double>;

template <class T>
Csr<T> shifted(const Csr<T>& A, T shift) {
  std::vector<Triplet<T>> elements;
  for (std::int32_t i = 0; i < A.rows(); ++i) {
    elements.push_back({i, i, shift});
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
      elements.push_back({i, A.column_indices()[k], A.values()[k]});
  }
  return Csr<T>::from_triplets(A.rows(), A.columns(), elements);
}

template <class T>
std::vector<T> right_hand_side(std::int64_t n) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<T> b(static_cast<std::size_t>(n));
  for (T& element : b) element = static_cast<T>(value(random));
  return b;
}

/// Compares each x with that of a factorisation of the shifted matrix.
template <class T>
void expect_solutions(const Csr<T>& A, const std::vector<T>& shifts, const ShiftedOptions& options,
                      double largest_error) {
  const std::vector<T> b = right_hand_side<T>(A.rows());
  const ShiftedSolution<T> found = solve_shifted<T>(A, b, shifts, options);
  EXPECT_TRUE(found.solved());
  for (std::size_t k = 0; k < shifts.size(); ++k) {
    SCOPED_TRACE("shift " + std::to_string(k));
    EXPECT_LE(found.relative_residuals[k], options.rtol);
    const Csr<T> matrix = shifted(A, shifts[k]);
    Solver<T> lu = make_solver<T>("sparse-lu", Device());
    ASSERT_TRUE(lu.setup(matrix).ready());
    std::vector<T> x(b.size());
    ASSERT_TRUE(lu.solve(b, x).solved());
    double error = 0;
    double size = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      error = std::max<double>(error, std::abs(found.X(row, static_cast<std::int64_t>(k)) - x[i]));
      size = std::max<double>(size, std::abs(x[i]));
    }
    EXPECT_LT(error, largest_error * size);
  }
}

TEST(ShiftedSystems, SymmetricMatrix_AllShiftsByOneBasis) {
  const Csr<double> A = generate::poisson_2d<double>(30, 30);
  std::vector<double> shifts;
  for (int k = 0; k < 50; ++k) shifts.push_back(std::pow(10, -3 + 0.1 * k));
  expect_solutions(A, shifts, {.rtol = 1e-10}, 1e-7);
  const std::vector<double> b = right_hand_side<double>(900);
  EXPECT_LT(solve_shifted<double>(A, b, shifts).products, 150);
}

TEST(ShiftedSystems, NegativeShifts_MakeTheMatrixIndefinite) {
  expect_solutions(generate::poisson_2d<double>(12, 12), {0, -0.5, -2.1, -9}, {.rtol = 1e-10}, 1e-6);
}

TEST(ShiftedSystems, SmallBasis_Restarts) {
  const Csr<double> A = generate::poisson_2d<double>(20, 20);
  const std::vector<double> shifts = {0.05, 0.3, 1, 10};
  for (const std::int64_t basis : {7, 20, 33}) expect_solutions(A, shifts, {.basis = basis}, 1e-6);
}

TEST(ShiftedSystems, UnsymmetricMatrix_ByArnoldi) {
  std::vector<Triplet<double>> elements;
  constexpr std::int32_t n = 200;
  for (std::int32_t i = 0; i < n; ++i) {
    elements.push_back({i, i, 2.0 + i % 3});
    if (i > 0) elements.push_back({i, i - 1, -1.5});
    if (i + 1 < n) elements.push_back({i, i + 1, -0.5});
    if (i + 20 < n) elements.push_back({i, i + 20, 0.3});
  }
  const Csr<double> A = Csr<double>::from_triplets(n, n, elements);
  expect_solutions(A, {0.1, 1, 5, 100}, {.rtol = 1e-10}, 1e-7);
  expect_solutions(A, {0.1, 1, 5, 100}, {.rtol = 1e-8, .basis = 25}, 1e-5);
}

TEST(ShiftedSystems, ComplexShifts_OfHermitianAndOtherMatrices) {
  const Csr<Complex> hermitian = to_complex(generate::poisson_2d<double>(15, 15));
  const std::vector<Complex> shifts = {{0, 0.5}, {-1, 0.2}, {2, -3}, {0, 10}};
  expect_solutions(hermitian, shifts, {.rtol = 1e-10}, 1e-7);
  Csr<Complex> other = hermitian;
  for (std::int64_t k = 0; k < other.nonzeros(); ++k) other.values()[k] *= Complex(1, 0.3);
  expect_solutions(other, shifts, {.rtol = 1e-10}, 1e-7);
}

TEST(ShiftedSystems, InvariantSubspace_EndsTheBasis) {
  std::vector<Triplet<double>> elements;
  for (std::int32_t i = 0; i < 50; ++i) elements.push_back({i, i, 1.0 + i % 3});
  expect_solutions(Csr<double>::from_triplets(50, 50, elements), {0, 1, 2}, {.rtol = 1e-12}, 1e-12);
}

TEST(ShiftedSystems, OperatorsEmptyAndZeroSystems) {
  const Csr<double> A = generate::poisson_2d<double>(8, 8);
  const auto product = [&A](const double* x, double* y) {
    multiply<double>(1.0, MatrixRef<double>(A), DenseView<const double>(x, 64, 1, 64, Device()), 0.0,
                     DenseView<double>(y, 64, 1, 64, Device()));
  };
  const std::vector<double> b = right_hand_side<double>(64);
  const std::vector<double> shifts = {0, 1};
  EXPECT_TRUE(solve_shifted<double>(LinearOperator<double>(64, 64, product), b, shifts).solved());
  const std::vector<double> zero(64, 0.0);
  const ShiftedSolution<double> of_zero = solve_shifted<double>(A, zero, shifts);
  EXPECT_TRUE(of_zero.solved());
  EXPECT_EQ(of_zero.products, 0);
  EXPECT_TRUE(solve_shifted<double>(A, b, {}).solved());
  EXPECT_TRUE(solve_shifted<double>(Csr<double>(), {}, shifts).solved());
}

TEST(ShiftedSystems, Unsolved_SaysWhy) {
  const Csr<double> A = generate::poisson_2d<double>(30, 30);
  const std::vector<double> b = right_hand_side<double>(900);
  const std::vector<double> shifts = {0, 100};
  const ShiftedSolution<double> found = solve_shifted<double>(A, b, shifts, {.max_products = 20});
  EXPECT_EQ(found.statuses[0], Status::max_iterations);
  EXPECT_EQ(found.statuses[1], Status::converged);
  EXPECT_GT(found.relative_residuals[0], 1e-8);
  EXPECT_THROW(static_cast<void>(solve_shifted<double>(A, shifts, shifts)), DimensionMismatch);
  EXPECT_THROW(static_cast<void>(solve_shifted<double>(A, b, shifts, {.rtol = 0})), BadOption);
}

}  // namespace
}  // namespace echelon
