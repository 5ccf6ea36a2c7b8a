// SPDX-License-Identifier: BSD-3-Clause
/// Estimated costs of factorisations, and the time of choosing.
#include "solver/factor_estimate.hpp"

#include "solver/selection/method_selection.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace echelon::test {
namespace {

Csr<double> generated(const std::string& name, const Options& options) {
  return std::get<Csr<double>>(find_generator(name).make_double(options));
}

TEST(FactorEstimate, Meshes_WithinAFactorOfThePrediction) {
  struct Case {
    std::string name;
    Options options;
  };
  const std::vector<Case> cases = {{"poisson-2d", {{"nx", 500}, {"ny", 500}}},
                                   {"poisson-3d", {{"nx", 45}, {"ny", 45}, {"nz", 45}}},
                                   {"convection-diffusion-2d", {{"nx", 400}, {"ny", 300}}},
                                   {"tridiagonal", {{"n", 200'000}}}};
  for (const auto& [name, options] : cases) {
    const Csr<double> A = generated(name, options);
    const CostPrediction estimate = estimate_factor_cost(A, false);
    const CostPrediction predicted = analyze_factorization("sparse-lu", A, Device()).cost;
    constexpr double factor = 6;
    EXPECT_LE(estimate.flops, factor * predicted.flops) << name;
    EXPECT_GE(estimate.flops, predicted.flops / factor) << name;
    EXPECT_LE(static_cast<double>(estimate.bytes), factor * static_cast<double>(predicted.bytes)) << name;
    EXPECT_GE(static_cast<double>(estimate.bytes), static_cast<double>(predicted.bytes) / factor) << name;
  }
}

TEST(FactorEstimate, AwkwardMatrices_HaveAnEstimate) {
  const Csr<double> disconnected = generated("diagonally-dominant", {{"n", 3000}});
  EXPECT_GT(estimate_factor_cost(disconnected, false).flops, 0);
  // Rows without neighbours: the search goes on with the next row.
  std::vector<Triplet<double>> diagonal;
  for (std::int32_t i = 0; i < 50'000; ++i) diagonal.push_back({i, i, 1});
  const CostPrediction cost =
      estimate_factor_cost(Csr<double>::from_triplets(50'000, 50'000, diagonal), false);
  EXPECT_LE(cost.flops, 1e6);
}

TEST(ChoosingCost, LargeMesh_NoOrderingBeforeCg) {
  const Csr<double> A = generated("jumps-3d", {{"nx", 95}, {"ny", 95}, {"nz", 95}});
  MethodSelection selection = MethodSelection::of(MatrixRef<double>(A), Device());
  EXPECT_TRUE(selection.factor_deferred);
  EXPECT_FALSE(selection.factor.has_value());
  const std::vector<Candidate> first = selection.candidates();
  ASSERT_GE(first.size(), 2U);
  EXPECT_EQ(first[0].method, "structured-multigrid");
  EXPECT_EQ(first[1].method, "cg");
  selection.complete(MatrixRef<double>(A));
  const std::vector<Candidate> all = selection.candidates();
  ASSERT_GT(all.size(), first.size());
  for (std::size_t k = 0; k < first.size(); ++k) EXPECT_EQ(all[k].method, first[k].method);
}

TEST(ChoosingCost, SmallStencil_ComesBeforeOtherIterationsOnly) {
  const auto first = [](const Csr<double>& A) {
    return MethodSelection::of(MatrixRef<double>(A), Device()).candidates().at(0).method;
  };
  EXPECT_EQ(first(generated("poisson-3d", {{"nx", 24}, {"ny", 24}, {"nz", 24}})), "structured-multigrid");
  EXPECT_EQ(first(generated("jumps-3d", {{"nx", 30}, {"ny", 30}, {"nz", 30}})), "structured-multigrid");
  EXPECT_EQ(first(generated("poisson-2d", {{"nx", 110}, {"ny", 100}})), "sparse-cholesky");
}

TEST(ChoosingCost, TrialWithoutADigit_GoesOnToASmallerTolerance) {
  const Csr<double> A = generated("jumps-2d", {{"nx", 400}, {"ny", 400}});
  const auto n = static_cast<std::size_t>(A.rows());
  std::vector<double> b(n);
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
      b[static_cast<std::size_t>(i)] += A.values()[k];
  }
  const auto [x, report] = solve(A, b);
  ASSERT_TRUE(report.method.starts_with("structured-multigrid")) << report;
  EXPECT_TRUE(report.attempts.empty()) << report;
  EXPECT_GE(report.expected_digits().value_or(0), 1) << report;
  EXPECT_LT(report.relative_residual, 1e-9) << report;
  ASSERT_EQ(report.warnings.size(), 1U) << report;
  EXPECT_NE(report.warnings[0].find("at the relative tolerance 1.0e-08"), std::string::npos) << report;
  for (std::int64_t i = 0; i < A.rows(); ++i) ASSERT_NEAR(x[i], 1, report.error_estimate.value_or(0));
  EXPECT_EQ(std::ssize(report.history), report.iterations + 1);
  EXPECT_TRUE(std::is_sorted(report.history_seconds.begin(), report.history_seconds.end()));
  EXPECT_EQ(report.history_seconds.size(), report.history.size());
}

TEST(ChoosingCost, Stencils_AreNotLookedForOnRequest) {
  const Csr<double> A = generated("poisson-2d", {{"nx", 220}, {"ny", 210}});
  const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
  SolveOptions options;
  EXPECT_TRUE(solve(A, b, options).report.method.starts_with("structured-multigrid"));
  options.parameters.set("stencils", false);
  const Report report = solve(A, b, options).report;
  EXPECT_TRUE(report.solved());
  EXPECT_FALSE(report.method.starts_with("structured-multigrid"));
  EXPECT_TRUE(report.attempts.empty());
}

TEST(ChoosingCost, TimeIsReported) {
  const Csr<double> A = generated("convection-diffusion-2d", {{"nx", 60}, {"ny", 60}});
  const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
  const Report report = solve(A, b).report;
  EXPECT_TRUE(report.solved());
  EXPECT_GT(report.choosing_seconds, 0);
  SolveOptions named;
  named.method = "sparse-lu";
  EXPECT_EQ(solve(A, b, named).report.choosing_seconds, 0);
}

std::int64_t most_iterations(const Candidate& candidate) {
  std::int64_t most = -1;
  for (const auto& [name, value] : candidate.parameters.entries()) {
    if (name == "max_iterations") most = std::get<std::int64_t>(value.get());
  }
  return most;
}

TEST(ChoosingCost, AttemptsBeforeAFactorization_AreLimited) {
  // The square of the 5-point Laplacian: CG with IC(0) takes thousands of iterations.
  const Csr<double> L = generated("poisson-2d", {{"nx", 120}, {"ny", 120}});
  const Csr<double> A = multiply(L, L);
  MethodSelection selection = MethodSelection::of(MatrixRef<double>(A), Device::serial());
  selection.complete(MatrixRef<double>(A));
  ASSERT_TRUE(selection.factor.has_value());
  for (const double flops : {2e10, 1e11}) {
    selection.factor->flops = flops;
    const std::vector<Candidate> list = selection.candidates();
    ASSERT_EQ(list.front().method, "cg");
    EXPECT_GE(list.front().trial_iterations, 30);
    EXPECT_LE(static_cast<double>(list.front().trial_iterations), 1e-6 * flops);
    std::size_t attempts = 1;
    for (; list[attempts].method == "cg"; ++attempts) {
      EXPECT_GE(most_iterations(list[attempts]), 30);
      EXPECT_LE(most_iterations(list[attempts]), 1e-6 * flops);
    }
    EXPECT_EQ(list[attempts].method, "sparse-cholesky");
  }
}

}  // namespace
}  // namespace echelon::test
