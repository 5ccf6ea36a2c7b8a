// SPDX-License-Identifier: BSD-3-Clause
/// Condition estimates of the Krylov methods, and the error estimates made from them.
#include "krylov/lanczos.hpp"
#include "krylov/restart.hpp"
#include "support/problems.hpp"
#include "support/test_data.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace echelon::test {
namespace {

/// The square of the second difference: eigenvalues (2 - 2 cos(k pi / (n + 1)))^2, so a condition number of
/// about (2 (n + 1) / pi)^4.
Csr<double> bilaplacian(std::int32_t n) {
  std::vector<Triplet<double>> elements;
  for (std::int32_t i = 0; i < n; ++i) {
    elements.push_back({i, i, i == 0 || i == n - 1 ? 5.0 : 6.0});
    for (const std::int32_t j : {i - 1, i + 1}) {
      if (j >= 0 && j < n) elements.push_back({i, j, -4});
    }
    for (const std::int32_t j : {i - 2, i + 2}) {
      if (j >= 0 && j < n) elements.push_back({i, j, 1});
    }
  }
  return Csr<double>::from_triplets(n, n, elements);
}

double smallest_eigenvalue_of_bilaplacian(std::int64_t n) {
  const double second = 2 - 2 * std::cos(std::numbers::pi / static_cast<double>(n + 1));
  return second * second;
}

/// b = A 1.
Dense<double> times_ones(const Csr<double>& A) {
  const std::vector<double> ones(static_cast<std::size_t>(A.columns()), 1.0);
  Dense<double> b(Device(), A.rows(), 1);
  multiply<double>(1, A, ones, 0, b);
  return b;
}

/// ||x - 1||_2 / ||x||_2.
double distance_from_ones(const Dense<double>& x) {
  double squares = 0;
  double norm = 0;
  for (std::int64_t i = 0; i < x.rows(); ++i) {
    squares += (x[i] - 1) * (x[i] - 1);
    norm += x[i] * x[i];
  }
  return std::sqrt(squares / norm);
}

TEST(RitzRange, TwoByTwo_KnownEigenvalues) {
  // T = [2 1; 1 2] with eigenvalues 1 and 3: 1/alpha_0 = 2, sqrt(beta_0)/alpha_0 = 1, 1/alpha_1 = 2 - 1/2.
  const RitzRange range = ritz_range({0.5, 1 / 1.5}, {0.25, 0});
  EXPECT_NEAR(range.smallest, 1, 2e-3);
  EXPECT_NEAR(range.largest, 3, 6e-3);
}

TEST(RitzRange, OneStep_OneValue) {
  const RitzRange range = ritz_range({0.25}, {});
  EXPECT_NEAR(range.smallest, 4, 0.01);
  EXPECT_NEAR(range.largest, 4, 0.01);
  EXPECT_EQ(ritz_range({}, {}).largest, 0);
}

TEST(ConditionEstimate, Cg_FindsTheSpectrumOfADiagonal) {
  std::vector<Triplet<double>> elements;
  for (std::int32_t i = 0; i < 20; ++i) elements.push_back({i, i, 1.0 + i});
  const auto A = Csr<double>::from_triplets(20, 20, elements);
  Dense<double> x(Device(), 20, 1);
  Cg<double> cg(Device(), {.stop = {.rtol = 1e-12}});
  cg.setup(A);
  const Report report = cg.solve(random_dense<double>(20, 1, 1), x);
  ASSERT_TRUE(report.solved());
  EXPECT_EQ(report.condition_kind, ConditionKind::krylov);
  EXPECT_NEAR(*report.preconditioned_condition, 20, 0.2);
  EXPECT_NEAR(1 / *report.reciprocal_condition, 20, 0.2);
}

TEST(ConditionEstimate, WithoutOne_ReportsSaySo) {
  const Csr<double> A = convection_diffusion(5, 0).csr<double>();
  Dense<double> x(Device(), 25, 1);
  Jacobi<double> jacobi;
  jacobi.setup(A);
  const Report report = jacobi.solve(times_ones(A), x);
  ASSERT_TRUE(report.solved());
  EXPECT_EQ(report.condition_kind, ConditionKind::none);
  EXPECT_FALSE(report.reciprocal_condition);
  EXPECT_FALSE(report.error_estimate);
  EXPECT_FALSE(report.expected_digits());
}

/// A relative residual of 1e-6 with a condition number of 1e9 and more: the estimate must admit the error,
/// and not exceed condition number times relative residual, which are known here (||A||_2 < 16).
TEST(ErrorEstimate, KrylovMethods_CoverTheErrorOfAnIllConditionedSystem) {
  const Csr<double> A = bilaplacian(300);
  const Dense<double> b = times_ones(A);
  const double inverse_norm = 1 / smallest_eigenvalue_of_bilaplacian(300);
  const std::vector<std::pair<std::string, Options>> cases = {
      {"cg", {{"rtol", 1e-6}}},
      {"cg", {{"rtol", 1e-6}, {"preconditioner", "jacobi"}}},
      {"cg", {{"rtol", 1e-6}, {"preconditioner", "ssor"}}},
      {"minres", {{"rtol", 1e-6}}},
      {"gmres", {{"rtol", 1e-6}, {"restart", 300}}},
      {"gmres", {{"rtol", 1e-6}, {"restart", 300}, {"preconditioner", "jacobi"}}},
      {"gmres", {{"rtol", 1e-6}, {"restart", 300}, {"preconditioner", "jacobi"}, {"flexible", true}}},
  };
  for (const auto& [method, options] : cases) {
    Solver<double> solver = make_solver<double>(method, Device::serial(), options);
    SCOPED_TRACE(solver.describe());
    solver.setup(A);
    Dense<double> x(Device(), A.rows(), 1);
    const Report report = solver.solve(b, x);
    ASSERT_TRUE(report.error_estimate) << to_string(report.status);
    // MINRES stops before it has met the smallest eigenvalues: on this matrix, for an rtol of 1e-4, 1e-5,
    // ..., 1e-8, the error is 137, 84, 19, 173 and 0.7 times the estimate; that of CG at most 0.3 times, that
    // of GMRES at most 2.7 times.
    EXPECT_GT(*report.error_estimate, (method == "minres" ? 0.01 : 0.1) * distance_from_ones(x));
    EXPECT_LT(*report.error_estimate, 1.1 * 16 * inverse_norm * report.relative_residual);
  }
}

TEST(ErrorEstimate, NoCorrectDigit_IsAWarning) {
  const Csr<double> A = bilaplacian(300);
  const Dense<double> b = times_ones(A);
  Dense<double> x(Device(), A.rows(), 1);
  Cg<double> loose(Device(), {.stop = {.rtol = 1e-2}});
  loose.setup(A);
  const Report doubtful = loose.solve(b, x);
  ASSERT_TRUE(doubtful.solved());
  EXPECT_EQ(doubtful.expected_digits(), 0);
  ASSERT_EQ(doubtful.warnings.size(), 1U);
  EXPECT_NE(doubtful.warnings.front().find("ill-conditioned"), std::string::npos);

  const Csr<double> easy = convection_diffusion(10, 0).csr<double>();
  Dense<double> y(Device(), 100, 1);
  Cg<double> cg;
  cg.setup(easy);
  const Report good = cg.solve(times_ones(easy), y);
  EXPECT_GE(good.expected_digits().value_or(0), 6);
  EXPECT_TRUE(good.warnings.empty());
}

TEST(ErrorEstimate, LapackLu_CoversTheErrorOfAnIllConditionedSystem) {
  const Csr<double> A = bilaplacian(300);
  LapackLu<double> lu;
  lu.factor(A);
  Dense<double> x(Device(), 300, 1);
  const Report report = lu.solve(times_ones(A), x);
  EXPECT_EQ(report.condition_kind, ConditionKind::factored);
  ASSERT_TRUE(report.error_estimate);
  EXPECT_GT(*report.error_estimate, distance_from_ones(x));
  EXPECT_LT(*report.error_estimate, 1e-5);
}

/// On these, conjugate gradients and BiCGStab end with a relative residual of 1e-8 and an error of 0.2 to 12.
/// A with elements rounded to 40 bits of the largest in their row or column, so that the sums of rows are
/// exact: otherwise the rounding of b = A 1 moves the solution by the condition number times eps.
Csr<double> with_exact_row_sums(Csr<double> A) {
  std::vector<int> exponents(static_cast<std::size_t>(A.rows()), -2000);
  const auto for_each = [&](const auto& f) {
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
        if (A.values()[k] != 0)
          f(A.values()[k], exponents[static_cast<std::size_t>(i)],
            exponents[static_cast<std::size_t>(A.column_indices()[k])]);
    }
  };
  for_each([](double a, int& row, int&) { row = std::max(row, std::ilogb(a)); });
  for_each([](double& a, int row, int column) {
    const int unit = std::max(row, column) - 40;
    a = std::ldexp(std::nearbyint(std::ldexp(a, -unit)), unit);
  });
  return A;
}

TEST_F(RealMatrices, IllConditioned_SolvedWithErrorEstimate) {
  for (const char* name : {"spd_fem/bcsstk20", "banded/plat362", "unsym_other/Pd"}) {
    SCOPED_TRACE(name);
    const Csr<double> A =
        with_exact_row_sums(read_matrix_market<double>((real_matrices() / name).string() + ".mtx.gz"));
    const auto [x, report] = solve(A, times_ones(A));
    ASSERT_TRUE(report.solved()) << report.message;
    ASSERT_TRUE(report.error_estimate);
    EXPECT_LT(*report.error_estimate, 1e-3);
    EXPECT_LT(distance_from_ones(x), 2 * *report.error_estimate);
  }
}

TEST(AffordableRestart, MemoryBoundsTheBasis) {
  EXPECT_EQ(affordable_restart(50, 1000, false, 1'000'000), 50);
  EXPECT_EQ(affordable_restart(50, 1000, false, 20'000), 10);  // 16 vectors less 6
  EXPECT_EQ(affordable_restart(50, 1000, true, 20'000), 5);
  EXPECT_EQ(affordable_restart(50, 1000, false, 0), 1);
  EXPECT_EQ(affordable_restart(50, 0, false, 0), 50);
}

}  // namespace
}  // namespace echelon::test
