// SPDX-License-Identifier: BSD-3-Clause
// Iterations that `auto` tries for large matrices that are not square, before it factors them.
#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

/// Three blocks of rows with 1, 2 and 2 times the identity, and as many columns again that equal these.
Csr<double> equal_columns(std::int32_t n) {
  std::vector<Triplet<double>> elements;
  for (std::int32_t i = 0; i < 3 * n; ++i) {
    const double value = i < n ? 1 : 2;
    elements.push_back({i, i % n, value});
    elements.push_back({i, n + i % n, value});
  }
  return Csr<double>::from_triplets(3 * n, 2 * n, elements);
}

std::vector<double> sines(std::int64_t m) {
  std::vector<double> b;
  for (std::int64_t i = 0; i < m; ++i) b.push_back(std::sin(static_cast<double>(i + 1)));
  return b;
}

TEST(AutoForRectangles, FewIterationsSuffice_LeastNormWithoutFactorization) {
  constexpr std::int32_t n = 5000;
  const Csr<double> A = equal_columns(n);
  const std::vector<double> b = sines(3 * n);
  const auto [x, report] = solve(A, b);
  EXPECT_EQ(report.status, Status::least_squares) << report;
  EXPECT_EQ(report.method.find("lsmr"), 0U) << report.method;
  EXPECT_NE(report.reason.find("at most 10 iterations"), std::string::npos) << report.reason;
  ASSERT_TRUE(report.normal_residual);
  EXPECT_LT(*report.normal_residual, 1e-8);
  for (std::int64_t j = 0; j < n; ++j) {
    const auto k = static_cast<std::size_t>(j);
    const double expected = (b[k] + 2 * b[k + n] + 2 * b[k + 2 * n]) / 18;
    EXPECT_NEAR(x[j], expected, 1e-12);
    EXPECT_NEAR(x[n + j], expected, 1e-12);
  }
}

/// Columns whose norms differ by eight decades: ten iterations do not suffice.
TEST(AutoForRectangles, IterationsDoNotSuffice_FactorizationFollows) {
  constexpr std::int32_t n = 4000;
  std::vector<Triplet<double>> elements;
  for (std::int32_t i = 0; i < 4 * n; ++i) {
    elements.push_back({i, i % n, std::pow(10.0, -8.0 * (i % n) / n)});
    elements.push_back({i, (i * 7 + 3) % n, 0.1 * std::pow(10.0, -8.0 * ((i * 7 + 3) % n) / n)});
  }
  const Csr<double> A = Csr<double>::from_triplets(4 * n, n, elements);
  const std::vector<Candidate> candidates = choose<double>(A, Device::serial());
  EXPECT_EQ(candidates.front().method, "lsmr");
  SolveOptions options;
  options.device = Device::serial();
  const auto [x, report] = solve(A, sines(4 * n), options);
  EXPECT_EQ(report.status, Status::least_squares) << report;
  EXPECT_EQ(report.method.find("sparse-qr"), 0U) << report.method;
  ASSERT_FALSE(report.attempts.empty());
  EXPECT_EQ(report.attempts.front().status, Status::max_iterations);
}

/// Small matrices, and a choice of direct methods, are factored at once.
TEST(AutoForRectangles, SmallOrDirect_NoIterations) {
  EXPECT_NE(choose<double>(equal_columns(500)).front().method, "lsmr");
  SolveOptions options;
  options.kind = MethodKind::direct;
  const Csr<double> A = equal_columns(5000);
  const Report report = solve(A, sines(A.rows()), options).report;
  EXPECT_EQ(report.method.find("sparse-qr"), 0U) << report.method;
  EXPECT_TRUE(report.attempts.empty());
}

}  // namespace
}  // namespace echelon::test
