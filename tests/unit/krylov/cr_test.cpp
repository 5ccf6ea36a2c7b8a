// SPDX-License-Identifier: BSD-3-Clause
#include "support/problems.hpp"

#include <echelon/echelon.hpp>
#include <echelon/methods/cr.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

/// The 5-point Laplacian on m by m points with a coefficient that grows along the rows.
Csr<double> diffusion(std::int32_t m) {
  std::vector<Triplet<double>> triplets;
  const auto weight = [](std::int32_t i) { return 1.0 + 0.1 * i; };
  for (std::int32_t i = 0; i < m; ++i) {
    for (std::int32_t j = 0; j < m; ++j) {
      const std::int32_t k = i * m + j;
      triplets.push_back({k, k, weight(i) + weight(i + 1) + 2});
      if (i + 1 < m)
        triplets.insert(triplets.end(), {{k, k + m, -weight(i + 1)}, {k + m, k, -weight(i + 1)}});
      if (j + 1 < m) triplets.insert(triplets.end(), {{k, k + 1, -1}, {k + 1, k, -1}});
    }
  }
  return Csr<double>::from_triplets(m * m, m * m, triplets);
}

TEST(Cr, ResidualNorms_NeverGrow) {
  const Csr<double> A = diffusion(30);
  const std::vector<double> b(900, 1.0);
  const Report report = solve(A, b, {.method = "cr"}).report;
  ASSERT_TRUE(report.solved()) << report;
  for (std::size_t k = 1; k < report.history.size(); ++k)
    EXPECT_LE(report.history[k], report.history[k - 1] * (1 + 1e-12));
}

TEST(Cr, Iterates_AreThoseOfMinimalResiduals) {
  const Csr<double> A = diffusion(20);
  std::vector<double> b(400);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = std::sin(static_cast<double>(i * i));
  const Report cr = solve(A, b, {.method = "cr"}).report;
  const Report minres = solve(A, b, {.method = "minres"}).report;
  ASSERT_TRUE(cr.solved() && minres.solved());
  const std::size_t common = std::min({cr.history.size(), minres.history.size(), std::size_t{20}});
  for (std::size_t k = 0; k < common; ++k) EXPECT_NEAR(cr.history[k], minres.history[k], 1e-8);
}

TEST(Cr, Preconditioners_SolveInFewerSteps) {
  const Csr<double> A = diffusion(40);
  const std::vector<double> b(1600, 1.0);
  const std::int64_t alone = solve(A, b, {.method = "cr"}).report.iterations;
  for (const std::string name : {"jacobi", "ic0", "ssor", "amg", "approximate-cholesky"}) {
    SolveOptions options{.method = "cr"};
    options.parameters = {{"preconditioner", name}};
    const Report report = solve(A, b, options).report;
    EXPECT_TRUE(report.solved()) << name << ": " << report;
    EXPECT_LE(report.relative_residual, 1e-8);
    EXPECT_LE(report.iterations, alone) << name;
  }
}

TEST(Cr, IndefiniteMatrix_IsNamed) {
  const Csr<double> A = Csr<double>::from_triplets(2, 2, {{0, 0, 1}, {1, 1, -1}});
  EXPECT_EQ(solve(A, std::vector<double>{1, 2}, {.method = "cr"}).report.status, Status::not_spd);
}

TEST(Cr, ZeroRightHandSideAndExactGuess_TakeNoStep) {
  const Csr<double> A = diffusion(5);
  const Report zero = solve(A, std::vector<double>(25, 0.0), {.method = "cr"}).report;
  EXPECT_TRUE(zero.solved());
  EXPECT_EQ(zero.iterations, 0);
}

}  // namespace
}  // namespace echelon::test
