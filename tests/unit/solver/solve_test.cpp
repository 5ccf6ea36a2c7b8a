// SPDX-License-Identifier: BSD-3-Clause
/// Solving in one call, and what `auto` makes of matrices.
#include "support/problems.hpp"

#include <gtest/gtest.h>

namespace echelon::test {
namespace {

template <class T>
Dense<T> times_ones(const Csr<T>& A) {
  const std::vector<T> ones(static_cast<std::size_t>(A.columns()), T{1});
  Dense<T> b(Device(), A.rows(), 1);
  multiply<T>(T{1}, A, ones, T{0}, b);
  return b;
}

TEST(Solve, AutoSolvesEveryProblemAndSaysWhy) {
  std::vector<Problem> list = {diagonal(1),
                               diagonal(40),
                               convection_diffusion(40, 0),
                               convection_diffusion(40, 0.6),
                               random_dominant(500, 4, false, 3),
                               shifted_cycle(77)};
  for (const Problem& problem : list) {
    const Csr<double> A = problem.csr<double>();
    const Dense<double> b = times_ones(A);
    const auto [x, report] = solve(A, b);
    EXPECT_TRUE(report.solved()) << problem.name;
    EXPECT_FALSE(report.reason.empty());
    EXPECT_LT(judge(A, x, b).relative_residual, 1e-7) << problem.name;
  }
}

TEST(Solve, AutoSolvesInFloat) {
  const Csr<float> A = convection_diffusion(30, 0).csr<float>();
  const Dense<float> b = times_ones(A);
  const auto [x, report] = solve(A, b);
  EXPECT_TRUE(report.solved());
  EXPECT_LT(judge(A, x, b).relative_residual, 1e-4);
}

TEST(Solve, AutoTakesSymmetricPositiveMatricesForCg) {
  const std::vector<Candidate> candidates =
      choose<double>(convection_diffusion(60, 0).csr<double>(), Device::openmp());
  ASSERT_FALSE(candidates.empty());
  EXPECT_EQ(candidates.front().method, "cg");
}

TEST(Solve, AutoTakesDenseMatricesForLu) {
  const Dense<double> A = random_dominant(20, 5, false, 1).dense<double>();
  const std::vector<Candidate> candidates = choose<double>(A, Device::openmp());
  ASSERT_FALSE(candidates.empty());
  EXPECT_EQ(candidates.front().method, "lapack-lu");
}

TEST(Solve, AutoFallsBackAndSaysSo) {
  // Symmetric with a positive diagonal, so CG is tried, but indefinite: [[1, 0.9, 0.9], ...] with a sign.
  std::vector<Triplet<double>> elements;
  constexpr std::int32_t blocks = 200;
  for (std::int32_t k = 0; k < blocks; ++k) {
    const std::int32_t i = 3 * k;
    for (std::int32_t d = 0; d < 3; ++d) elements.push_back({i + d, i + d, 1});
    const auto pair = [&](std::int32_t a, std::int32_t c, double v) {
      elements.push_back({i + a, i + c, v});
      elements.push_back({i + c, i + a, v});
    };
    pair(0, 1, 0.9);
    pair(0, 2, 0.9);
    pair(1, 2, -0.9);
  }
  const Csr<double> A = Csr<double>::from_triplets(3 * blocks, 3 * blocks, elements);
  const Dense<double> b = random_dense<double>(A.rows(), 1, 2);
  const auto [x, report] = solve(A, b);
  EXPECT_TRUE(report.solved());
  ASSERT_FALSE(report.attempts.empty());
  EXPECT_EQ(report.attempts.front().status, Status::not_spd);
  EXPECT_LT(judge(A, x, b).relative_residual, 1e-7);
}

TEST(Solve, ASingularInconsistentSystemIsNeverCalledSolved) {
  const Csr<double> A = Csr<double>::from_triplets(3, 3, {{0, 0, 2}, {1, 1, 3}, {2, 0, 1}});
  const std::vector<double> b = {1, 1, 1};
  const auto [x, report] = solve(A, DenseView<const double>(b));
  EXPECT_FALSE(report.solved());
  EXPECT_FALSE(report.message.empty());
}

TEST(Solve, ASingularConsistentSystemIsSolvedWithAWarning) {
  const auto A = Csr<double>::from_triplets(2, 2, {{0, 0, 1}, {0, 1, 2}, {1, 0, 3}, {1, 1, 6.0}});
  const std::vector<double> b = {3, 9};
  const auto [x, report] = solve(A, b);
  EXPECT_TRUE(report.solved()) << report.message;
  EXPECT_NEAR(x[0] + 2 * x[1], 3, 1e-7);
  ASSERT_EQ(report.warnings.size(), 1U);
  EXPECT_NE(report.warnings.front().find("singular"), std::string::npos) << report.warnings.front();
}

TEST(Solve, ANamedMethodIsUsedWithItsParameters) {
  const Csr<double> A = convection_diffusion(20, 0).csr<double>();
  const auto [x, report] =
      solve(A, times_ones(A), {.method = "cg", .rtol = 1e-4, .parameters = {{"preconditioner", "jacobi"}}});
  EXPECT_TRUE(report.solved());
  EXPECT_NE(report.method.find("preconditioner=jacobi"), std::string::npos) << report.method;
  EXPECT_GT(report.relative_residual, 1e-9);
}

TEST(Solve, MisuseIsRefused) {
  const Csr<double> A = convection_diffusion(5, 0).csr<double>();
  const std::vector<double> b(24, 1.0);
  const std::vector<double> right(25, 1.0);
  EXPECT_THROW((void)solve(A, DenseView<const double>(b)), DimensionMismatch);
  EXPECT_THROW((void)solve(A, DenseView<const double>(right), {.method = "ilu0"}), BadOption);
  EXPECT_THROW((void)solve(A, DenseView<const double>(right), {.method = "cgg"}), BadOption);
  EXPECT_THROW((void)solve(A, DenseView<const double>(right), {.parameters = {{"restart", 3}}}), BadOption);
  const Csr<double> wide = Csr<double>::from_triplets(2, 3, {});
  const DenseView<const double> two(right.data(), 2, 1, 2);
  EXPECT_THROW((void)solve(wide, two), DimensionMismatch);
  EXPECT_THROW((void)solve(wide, two, {.method = "gmres"}), DimensionMismatch);
  EXPECT_THROW((void)solve(wide, DenseView<const double>(right), {.method = "gauss-jordan"}),
               DimensionMismatch);
}

TEST(Solve, AskingForCudaWithoutItSaysWhatToDo) {
  if (cuda_device_count() > 0) GTEST_SKIP() << "there is a GPU";
  const Csr<double> A = convection_diffusion(5, 0).csr<double>();
  const std::vector<double> b(25, 1.0);
  try {
    (void)solve(A, DenseView<const double>(b), {.device = Device::cuda()});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("openmp"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace echelon::test
