// SPDX-License-Identifier: BSD-3-Clause
// Ranks that rounding errors leave open, of matrices whose exact rank follows from their structure.
#include "support/dense/gauss_jordan_cases.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

using Weight = std::function<double(std::int64_t, std::int64_t)>;

/// Laplacian of the graph with these weights; its rank is n - 1 if the graph is connected.
Dense<double> laplacian(std::int64_t n, const Weight& weight) {
  Dense<double> A = zeros<double>(n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      if (i == j) continue;
      A(i, j) = -weight(std::min(i, j), std::max(i, j));
      A(i, i) -= A(i, j);
    }
  }
  return A;
}

Weight complete() {
  return [](std::int64_t, std::int64_t) { return 1.0; };
}
Weight star() {
  return [](std::int64_t i, std::int64_t) { return i == 0 ? 1.0 : 0.0; };
}
Weight wheel(std::int64_t n) {
  return [n](std::int64_t i, std::int64_t j) {
    return i == 0 || j == i + 1 || (i == 1 && j == n - 1) ? 1.0 : 0.0;
  };
}
Weight bipartite(std::int64_t left) {
  return [left](std::int64_t i, std::int64_t j) { return i < left && j >= left ? 1.0 : 0.0; };
}

/// Upper triangular: the diagonal s^i, and -c s^i to the right of it, for s^2 + c^2 = 1.
Dense<double> kahan(std::int64_t n, double angle = 1.2) {
  Dense<double> A = zeros<double>(n, n);
  double scale = 1;
  for (std::int64_t i = 0; i < n; ++i, scale *= std::sin(angle)) {
    A(i, i) = scale;
    for (std::int64_t j = i + 1; j < n; ++j) A(i, j) = -std::cos(angle) * scale;
  }
  return A;
}
Dense<double> ones_above(std::int64_t n) {
  Dense<double> A = zeros<double>(n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i <= j; ++i) A(i, j) = i == j ? 1 : -1;
  }
  return A;
}
Dense<double> hilbert(std::int64_t n) {
  Dense<double> A = zeros<double>(n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) A(i, j) = 1 / static_cast<double>(i + j + 1);
  }
  return A;
}
/// Binomial coefficients, of determinant 1; exact in double up to n = 29.
Dense<double> pascal(std::int64_t n) {
  Dense<double> A = zeros<double>(n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) A(i, j) = i == 0 || j == 0 ? 1 : A(i - 1, j) + A(i, j - 1);
  }
  return A;
}
Dense<double> transpose(const Dense<double>& A) {
  Dense<double> result(Device(), A.columns(), A.rows());
  for (std::int64_t j = 0; j < A.columns(); ++j) {
    for (std::int64_t i = 0; i < A.rows(); ++i) result(j, i) = A(i, j);
  }
  return result;
}
Dense<double> scaled(const Dense<double>& A, const std::vector<int>& rows, const std::vector<int>& columns) {
  Dense<double> result = A;
  for (std::int64_t j = 0; j < A.columns(); ++j) {
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      result(i, j) =
          std::ldexp(A(i, j), rows[static_cast<std::size_t>(i)] + columns[static_cast<std::size_t>(j)]);
    }
  }
  return result;
}
std::vector<int> random_exponents(std::int64_t n, int most, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int> exponents;
  for (std::int64_t i = 0; i < n; ++i) {
    exponents.push_back(static_cast<int>(random() % static_cast<unsigned>(2 * most + 1)) - most);
  }
  return exponents;
}

/// The rank by `reduce`, `solve` and `invert`, which is proven by the first two.
void expect_rank(const Dense<double>& A, std::int64_t rank) {
  const RowReduction<double> reduction(Device::serial());
  const EchelonForm<double> form = reduction.reduce(A);
  EXPECT_EQ(form.facts.rank, rank);
  EXPECT_TRUE(form.facts.proven);
  EXPECT_FALSE(form.facts.doubtful);
  EXPECT_EQ(static_cast<std::int64_t>(form.pivot_columns.size()), rank);
  EXPECT_EQ(null_space(form).columns(), A.columns() - rank);
  const Dense<double> b = zeros<double>(A.rows(), 1);
  const GeneralSolution<double> solution = reduction.solve(A, b.view());
  EXPECT_EQ(solution.facts.rank, rank);
  EXPECT_TRUE(solution.facts.proven);
  EXPECT_EQ(solution.report.status == Status::underdetermined, rank < A.columns());
  Dense<double> inverse = A;
  const Report inverted = reduction.invert(inverse);
  EXPECT_EQ(inverted.column.has_value(), rank < A.columns()) << inverted.message;
}

TEST(ExactRanks, LaplaciansOfConnectedGraphs_LackOne) {
  for (std::int64_t n = 5; n < 64; n += 7) {
    SCOPED_TRACE(n);
    expect_rank(laplacian(n, complete()), n - 1);
    expect_rank(laplacian(n, star()), n - 1);
    expect_rank(laplacian(n, wheel(n)), n - 1);
    expect_rank(laplacian(n, bipartite(n / 2)), n - 1);
  }
  expect_rank(laplacian(129, star()), 128);
  expect_rank(laplacian(130, wheel(130)), 129);
}

TEST(ExactRanks, Triangles_AreRegular) {
  for (const std::int64_t n : {1, 2, 20, 55, 90, 200}) {
    SCOPED_TRACE(n);
    for (const Dense<double>& A : {kahan(n), ones_above(n), kahan(n, 0.9)}) {
      for (const Dense<double>& triangle : {A, transpose(A)}) {
        const EchelonForm<double> form = RowReduction<double>(Device::serial()).reduce(triangle);
        EXPECT_EQ(form.facts.rank, n);
        EXPECT_FALSE(form.facts.doubtful);
        GaussJordan<double> solver(Device::serial());
        EXPECT_EQ(solver.setup(triangle).rank, n);
      }
    }
  }
}

TEST(ExactRanks, TriangleOfOnes_IsSolvedExactly) {
  const std::int64_t n = 60;
  const Dense<double> A = ones_above(n);
  std::vector<double> b(static_cast<std::size_t>(n), 1);
  std::vector<double> x(b.size());
  GaussJordan<double> solver(Device::serial());
  static_cast<void>(solver.setup(A));
  static_cast<void>(solver.solve(b, x));
  for (std::int64_t i = 0; i < n; ++i) {
    EXPECT_EQ(x[static_cast<std::size_t>(i)], std::ldexp(1.0, static_cast<int>(n - 1 - i)));
  }
}

TEST(ExactRanks, PascalMatrices_AreRegular) {
  for (std::int64_t n = 12; n <= 24; n += 3) {
    SCOPED_TRACE(n);
    const EchelonForm<double> form = RowReduction<double>(Device::serial()).reduce(pascal(n));
    EXPECT_EQ(form.facts.rank, n);
    EXPECT_FALSE(form.facts.doubtful);
  }
}

TEST(ExactRanks, RowsAndColumnsOfAnyUnits_HaveTheRankOfTheScaledMatrix) {
  const std::int64_t n = 8;
  const Determinant plain = *RowReduction<double>(Device::serial()).reduce(hilbert(n)).determinant;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    for (const bool symmetric : {false, true}) {
      SCOPED_TRACE(seed);
      const std::vector<int> rows = random_exponents(n, 490, seed);
      const std::vector<int> columns = symmetric ? rows : random_exponents(n, 490, seed + 100);
      const Dense<double> A = scaled(hilbert(n), rows, columns);
      const EchelonForm<double> form = RowReduction<double>(Device::serial()).reduce(A);
      EXPECT_EQ(form.facts.rank, n);
      EXPECT_FALSE(form.facts.doubtful);
      std::int64_t exponent = 0;
      for (std::size_t i = 0; i < rows.size(); ++i) exponent += rows[i] + columns[i];
      EXPECT_NEAR(form.determinant->log10(), plain.log10() + static_cast<double>(exponent) * std::log10(2.0),
                  1e-4);
      GaussJordan<double> solver(Device::serial());
      const Report factored = solver.setup(A);
      EXPECT_TRUE(factored.ready()) << factored.message;
      Dense<double> inverse = A;
      const Report inverted = RowReduction<double>(Device::serial()).invert(inverse);
      EXPECT_EQ(inverted.status, Status::direct) << inverted.message;
      // The element (0, 0) of the inverse of Hilbert's matrix of order n is n^2.
      EXPECT_NEAR(std::ldexp(inverse(0, 0), rows[0] + columns[0]), static_cast<double>(n * n), 1e-3);
    }
  }
}

/// Tridiagonal D T D: scaling of rows and then of columns alone leaves the diagonal tiny.
TEST(ExactRanks, ScaledBands_HaveTheRankOfTheBand) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    const std::int64_t n = 40;
    Dense<double> T = zeros<double>(n, n);
    for (std::int64_t i = 0; i < n; ++i) {
      T(i, i) = 3;
      if (i > 0) T(i, i - 1) = T(i - 1, i) = -1;
    }
    const std::vector<int> units = random_exponents(n, 450, seed);
    const EchelonForm<double> form = RowReduction<double>(Device::serial()).reduce(scaled(T, units, units));
    EXPECT_EQ(form.facts.rank, n);
    EXPECT_FALSE(form.facts.doubtful);
  }
}

TEST(ExactRanks, TinyDiagonalElement_IsRegular) {
  for (std::int64_t place = 0; place < 5; ++place) {
    for (const double tiny : {1e-300, -1e-200, 1e-30, 1e300}) {
      Dense<double> A = identity<double>(5);
      A(place, place) = tiny;
      const EchelonForm<double> form = RowReduction<double>(Device::serial()).reduce(A);
      EXPECT_EQ(form.facts.rank, 5);
      EXPECT_EQ(largest_difference(form.R, identity<double>(5)), 0);
      EXPECT_NEAR(form.determinant->value() / tiny, 1, 1e-15);
      const Report inverted = RowReduction<double>(Device::serial()).invert(A);
      EXPECT_EQ(inverted.status, Status::direct);
      EXPECT_EQ(A(place, place), 1 / tiny);
    }
  }
}

/// The exact rank of a rounded product is full, its numerical rank that of the factors.
TEST(ExactRanks, RoundedProducts_KeepTheirNumericalRank) {
  for (const Shape& s : {Shape{30, 30, 12}, {60, 40, 39}, {40, 60, 7}}) {
    const Dense<double> A = of_rank<double>(s);
    const EchelonForm<double> form = RowReduction<double>(Device::serial()).reduce(A);
    EXPECT_EQ(form.facts.rank, s.rank);
    EXPECT_FALSE(form.facts.doubtful);
    EXPECT_FALSE(form.facts.proven);
    EXPECT_GT(form.facts.gap(), 1e6);
  }
}

TEST(ExactRanks, PivotsNearTheTolerance_AreDoubtful) {
  for (const double size : {3e-4, 3e-3, 3e-2, 0.3, 3.0}) {
    Dense<double> A = identity<double>(3);
    A(2, 1) = 1;
    A(1, 2) = 1;
    A(2, 2) = 1 + size;
    A(1, 1) = 1;
    const EchelonForm<double> form = RowReduction<double>(Device::serial(), {.tolerance = 1e-3}).reduce(A);
    EXPECT_TRUE(form.facts.doubtful) << size;
    EXPECT_FALSE(form.facts.proven);
  }
}

/// Hilbert's matrix of order 9 may be left to lu, but no unknowns are free.
TEST(ExactRanks, HilbertInFloat_IsRegular) {
  for (const std::int64_t n : {6, 9}) {
    Dense<float> A(Device(), n, n);
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < n; ++i) A(i, j) = 1 / static_cast<float>(i + j + 1);
    }
    EXPECT_EQ(RowReduction<float>(Device::serial()).reduce(A).facts.rank, n);
    GaussJordan<float> solver(Device::serial());
    const Report report = solver.setup(A);
    EXPECT_EQ(report.rank.value_or(n), n) << report.message;
  }
}

}  // namespace
}  // namespace echelon::test
