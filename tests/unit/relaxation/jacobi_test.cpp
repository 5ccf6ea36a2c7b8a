// SPDX-License-Identifier: BSD-3-Clause
/// Outcomes of Jacobi's method on matrices for which it does not converge.
#include "support/problems.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace echelon::test {
namespace {

TEST(Jacobi, Divergence_KeepsFiniteX) {
  // Symmetric, a_ii = 1, off-diagonal 0.9: the iteration matrix has eigenvalue 0.9 (n - 1).
  std::vector<Triplet<double>> elements;
  for (std::int32_t i = 0; i < 10; ++i) {
    for (std::int32_t j = 0; j < 10; ++j) elements.push_back({i, j, i == j ? 1.0 : 0.9});
  }
  const Csr<double> A = Csr<double>::from_triplets(10, 10, elements);
  const std::vector<double> b(10, 1.0);
  std::vector<double> x(10);
  Jacobi<double> point;
  point.setup(A);
  const Report report = point.solve(b, x);
  EXPECT_EQ(report.status, Status::diverged);
  EXPECT_EQ(x, std::vector<double>(10, 0.0));
  Jacobi<double> l1(Device(), {.variant = JacobiVariant::l1});
  l1.setup(A);
  EXPECT_TRUE(l1.solve(b, x).solved()) << "l1 Jacobi converges for every SPD matrix";
}

TEST(Jacobi, ZeroDiagonal_IsNamed) {
  const Csr<double> A = shifted_cycle(5).csr<double>();
  Jacobi<double> solver;
  const Report report = solver.setup(A);
  EXPECT_EQ(report.status, Status::breakdown);
  EXPECT_EQ(report.row, 0);
}

}  // namespace
}  // namespace echelon::test
