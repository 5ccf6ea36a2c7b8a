// SPDX-License-Identifier: BSD-3-Clause
/// Ranks that pivots leave in doubt, by every direct method: the exact rank decides where it is known.
#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace echelon::test {
namespace {

const std::vector<std::string> rank_deciding_methods = {"lu",        "qr",           "lapack-lu",
                                                        "ldlt",      "gauss-jordan", "sparse-ldlt",
                                                        "sparse-lu", "banded-lu",    "mapped-echelon"};

template <class T>
Dense<T> generated(const std::string& name, std::int64_t n) {
  return std::get<Dense<T>>(make_matrix<T>(name, {{"n", n}}));
}

/// b = A x for x of ones, summed and rounded in T.
template <class T>
std::vector<T> row_sums(const Dense<T>& A) {
  std::vector<T> b(static_cast<std::size_t>(A.rows()), T{0});
  for (std::int64_t j = 0; j < A.columns(); ++j) {
    for (std::int64_t i = 0; i < A.rows(); ++i) b[static_cast<std::size_t>(i)] += A(i, j);
  }
  return b;
}

template <class T>
class DoubtfulRankOf : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DoubtfulRankOf, Reals);

/// Matrices of full exact rank that are singular to working precision: a satisfied system is solved, another
/// one refused, and none called underdetermined.
TYPED_TEST(DoubtfulRankOf, FullExactRank_IsNeverUnderdetermined) {
  using T = TypeParam;
  for (const std::string name : {"hilbert", "pascal"}) {
    for (const std::int64_t n : {7, 10, 12, 13, 14, 15, 17, 20}) {
      const Dense<T> A = generated<T>(name, n);
      for (const bool range : {true, false}) {
        const std::vector<T> b = range ? row_sums(A) : std::vector<T>(static_cast<std::size_t>(n), T{1});
        for (const std::string& method : rank_deciding_methods) {
          SCOPED_TRACE(method + " " + name + " " + std::to_string(n) + (range ? "" : " ones"));
          const Report report = solve(A, b, {.method = method, .device = Device::serial()}).report;
          EXPECT_TRUE(report.status == Status::direct || report.status == Status::singular) << report;
          const bool refined = std::is_same_v<T, double>;
          EXPECT_TRUE(!range || !refined || report.status == Status::direct) << report;
          EXPECT_EQ(report.rank.value_or(n), n) << report;
          EXPECT_FALSE(report.row) << report;
          const double most = std::is_same_v<T, double> ? 1e-8 : 1e-4;
          const bool near = report.error_estimate.value_or(1) < 0.5;
          const bool proven = report.rank == n && report.certainty == Certainty::proven;
          EXPECT_TRUE(!report.solved() || near || proven || report.relative_residual <= most) << report;
        }
      }
    }
  }
}

/// Products of smaller rank, rounded: the gap of the pivots says more than the exact rank, which is full.
TEST(DoubtfulRank, RoundedProductWithAGap_KeepsItsRank) {
  std::mt19937 random(17);
  std::normal_distribution<double> normal;
  for (const std::int64_t n : {8, 40, 80}) {
    const std::int64_t rank = n - n / 6;
    Dense<double> B(Device(), n, rank);
    Dense<double> C(Device(), rank, n);
    for (std::int64_t k = 0; k < n * rank; ++k) B.data()[k] = normal(random);
    for (std::int64_t k = 0; k < n * rank; ++k) C.data()[k] = normal(random);
    Dense<double> A(Device(), n, n);
    std::vector<double> inside(static_cast<std::size_t>(n), 0);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        A(i, j) = 0;
        for (std::int64_t k = 0; k < rank; ++k) A(i, j) += B(i, k) * C(k, j);
        inside[static_cast<std::size_t>(i)] += A(i, j);
      }
    }
    std::vector<double> outside(inside);
    outside[0] += 10;
    for (const std::string method : {"gauss-jordan", "sparse-lu", "mapped-echelon"}) {
      SCOPED_TRACE(method + " " + std::to_string(n));
      const Report solved = solve(to_csr(MatrixRef<double>(A)), inside, {.method = method}).report;
      EXPECT_EQ(solved.status, Status::underdetermined) << solved;
      EXPECT_EQ(solved.rank, rank) << solved;
      EXPECT_EQ(solved.certainty, Certainty::working_precision) << solved;
      const Report refused = solve(to_csr(MatrixRef<double>(A)), outside, {.method = method}).report;
      EXPECT_EQ(refused.status, Status::singular) << refused;
    }
  }
}

/// Such products where rounding errors of pivots exceed the tolerance: the rank is found, or full with a word
/// that A is singular to working precision.
TEST(DoubtfulRank, RoundedProduct_IsNeverOfFullRankWithoutAWord) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    const std::int64_t n = 80;
    const std::int64_t rank = 66;
    std::vector<double> factors(static_cast<std::size_t>(2 * n * rank));
    for (double& element : factors) element = normal(random);
    Dense<double> A(Device(), n, n);
    std::vector<double> b(static_cast<std::size_t>(n), 0);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        A(i, j) = 0;
        for (std::int64_t k = 0; k < rank; ++k)
          A(i, j) += factors[static_cast<std::size_t>(i * rank + k)] *
                     factors[static_cast<std::size_t>((n + j) * rank + k)];
        b[static_cast<std::size_t>(i)] += A(i, j);
      }
    }
    for (const std::string& method : rank_deciding_methods) {
      if (method == "ldlt" || method == "sparse-ldlt") continue;  // A is unsymmetric
      SCOPED_TRACE(method + ", seed " + std::to_string(seed));
      const Report report = solve(to_csr(MatrixRef<double>(A)), b, {.method = method}).report;
      EXPECT_TRUE(report.solved()) << report;
      if (report.status == Status::underdetermined) {
        EXPECT_EQ(report.rank, rank) << report;
        continue;
      }
      EXPECT_EQ(report.expected_digits(), 0) << report;
      EXPECT_FALSE(report.warnings.empty()) << report;
      EXPECT_NE(report.warnings.front().find("singular to working precision"), std::string::npos) << report;
      EXPECT_NE(method, "mapped-echelon");
      EXPECT_NE(method, "sparse-lu");
      EXPECT_NE(method, "gauss-jordan");
    }
  }
}

/// R A C of a singular integer matrix, with powers of two over the range: its rank, and a contradiction of
/// its equations, are those of A.
TEST(DoubtfulRank, WideScalesOfRowsAndColumns_LeaveTheRank) {
  std::mt19937 random(4);
  for (const int p : {30, 200, 400}) {
    for (const std::size_t n : {6, 12, 30}) {
      for (const std::size_t lacking : {0, 1, 2}) {
        std::vector<std::vector<double>> rows(n, std::vector<double>(n, 0));
        for (std::size_t i = 0; i < n; ++i) {
          rows[i][i] = 20;
          rows[i][(i + 1) % n] = static_cast<double>(random() % 9) - 4;
          rows[i][random() % n] += 3;
        }
        for (std::size_t d = 0; d < lacking; ++d) {
          for (std::size_t j = 0; j < n; ++j) rows[n - 1 - d][j] = rows[d][j] - 2 * rows[d + 1][j];
        }
        const auto exponent = [&] { return random() % 2 == 0 ? p : -p; };
        std::vector<int> columns(n);
        for (int& e : columns) e = exponent();
        std::vector<Triplet<double>> elements;
        for (std::size_t i = 0; i < n; ++i) {
          const int of_row = exponent();
          for (std::size_t j = 0; j < n; ++j) {
            if (rows[i][j] != 0)
              elements.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j),
                                  std::ldexp(rows[i][j], of_row + columns[j])});
          }
        }
        const auto order = static_cast<std::int64_t>(n);
        const auto A = Csr<double>::from_triplets(order, order, elements);
        for (const std::string method : {"mapped-echelon", "gauss-jordan", "sparse-lu"}) {
          auto solver = make_solver<double>(method, Device::serial());
          const Report report = solver.setup(A);
          EXPECT_EQ(report.rank.value_or(order), order - static_cast<std::int64_t>(lacking))
              << method << " " << p << " " << n << ": " << report;
        }
      }
    }
  }
}

/// The combination of equations that contradict each other is one of the equations as they were given.
TEST(DoubtfulRank, ContradictionOfScaledEquations_IsThatOfTheGivenOnes) {
  // Row 2 = row 0 + row 1, times 2^-60 and 2^60.
  const auto A = Csr<double>::from_triplets(3, 3,
                                            {{0, 0, 1},
                                             {0, 1, 2},
                                             {1, 1, std::ldexp(1.0, 60)},
                                             {1, 2, std::ldexp(3.0, 60)},
                                             {2, 0, std::ldexp(1.0, -60)},
                                             {2, 1, std::ldexp(3.0, -60)},
                                             {2, 2, std::ldexp(3.0, -60)}});
  const std::vector<double> b = {0, 0, 1};
  const Report report = solve(A, b, {.method = "mapped-echelon"}).report;
  EXPECT_EQ(report.status, Status::inconsistent) << report;
  EXPECT_EQ(report.certainty, Certainty::proven) << report;
}

}  // namespace
}  // namespace echelon::test
