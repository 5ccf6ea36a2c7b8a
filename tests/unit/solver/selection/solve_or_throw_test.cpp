// SPDX-License-Identifier: BSD-3-Clause
/// Exceptions for systems that are not solved.
#include <echelon/echelon.hpp>
#include <echelon/solver/solve_or_throw.hpp>

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

template <class T>
Dense<T> two_by_two(std::array<T, 4> by_columns) {
  Dense<T> A(Device(), 2, 2);
  for (std::int64_t k = 0; k < 4; ++k) A(k % 2, k / 2) = by_columns[static_cast<std::size_t>(k)];
  return A;
}

TEST(SolveOrThrow, RegularSystem_GivesX) {
  const Dense<double> x = solve_or_throw(two_by_two<double>({2, 1, 1, 3}), std::vector<double>{3, 4});
  EXPECT_NEAR(x(0, 0), 1, 1e-15);
  EXPECT_NEAR(x(1, 0), 1, 1e-15);
  const Dense<float> y =
      solve_or_throw(to_csr(MatrixRef<float>(two_by_two<float>({2, 1, 1, 3}))), std::vector<float>{3, 4});
  EXPECT_NEAR(y(0, 0), 1, 1e-6);
}

TEST(SolveOrThrow, ContradictoryEquations_Throw) {
  try {
    static_cast<void>(solve_or_throw(two_by_two<double>({1, 2, 2, 4}), std::vector<double>{1, 1}));
    FAIL() << "no exception";
  } catch (const NotSolved& error) {
    EXPECT_FALSE(solved(error.status()));
    EXPECT_EQ(error.status(), error.report().status);
    EXPECT_FALSE(std::string(error.what()).empty());
    EXPECT_NE(std::string(error.what()).find(error.report().message), std::string::npos);
  }
}

TEST(SolveOrThrow, ConsistentSingularSystem_GivesOneSolution) {
  const Dense<double> A = two_by_two<double>({1, 2, 2, 4});
  const Dense<double> x = solve_or_throw(A, std::vector<double>{3, 6}, {.method = "mapped-echelon"});
  EXPECT_NEAR(x(0, 0) + 2 * x(1, 0), 3, 1e-14);
}

TEST(SolveOrThrow, IterationLimit_Throws) {
  const Csr<double> A = generate::poisson_2d<double>(30, 30);
  const std::vector<double> b(900, 1.0);
  EXPECT_THROW(static_cast<void>(solve_or_throw(A, b, {.method = "cg", .max_iterations = 2})), NotSolved);
  EXPECT_THROW(static_cast<void>(solve_or_throw(A, std::vector<double>(3, 1.0))), DimensionMismatch);
}

}  // namespace
}  // namespace echelon::test
