// SPDX-License-Identifier: BSD-3-Clause
// sparse-qr: solutions and ranks beside those of LAPACK's singular value decomposition of dense copies.
#include "support/solver/euclidean.hpp"

#include <echelon/echelon.hpp>
#include <echelon/methods/least_squares/sparse_qr.hpp>

#include <gtest/gtest.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace echelon::test {
namespace {

namespace sparse_qr {

using namespace euclidean;

using Triplets = std::vector<Triplet<double>>;

/// Some elements in each row, of a band around the diagonal and a few elsewhere, and some empty rows.
Csr<double> random_sparse(std::int64_t m, std::int64_t n, unsigned seed, int per_row = 3) {
  std::mt19937 random(seed);
  std::normal_distribution<double> value;
  Triplets elements;
  for (std::int64_t i = 0; i < m; ++i) {
    if (i % 17 == 11) continue;
    const std::int64_t centre = i * n / m;
    for (int k = 0; k < per_row; ++k) {
      const std::int64_t shift = k == 0 ? 0 : static_cast<std::int64_t>(random() % 7) - 3;
      const std::int64_t j = random() % 19 == 0
                                 ? static_cast<std::int64_t>(random() % static_cast<unsigned>(n))
                                 : centre + shift;
      elements.push_back({static_cast<std::int32_t>(i),
                          static_cast<std::int32_t>(std::clamp<std::int64_t>(j, 0, n - 1)), value(random)});
    }
  }
  return Csr<double>::from_triplets(m, n, elements);
}

struct Decomposed {
  std::vector<double> x;  // of least residual and least norm
  std::vector<double> singular_values;
  int rank = 0;
};
Decomposed by_svd(const Csr<double>& A, const std::vector<double>& b, double tolerance = 1e-12) {
  const auto m = static_cast<int>(A.rows());
  const auto n = static_cast<int>(A.columns());
  std::vector<double> a = to_dense(MatrixRef<double>(A)).to_vector();
  Decomposed result;
  result.x.assign(static_cast<std::size_t>(std::max(m, n)), 0.0);
  std::copy(b.begin(), b.end(), result.x.begin());
  result.singular_values.resize(static_cast<std::size_t>(std::min(m, n)));
  EXPECT_EQ(LAPACKE_dgelsd(LAPACK_COL_MAJOR, m, n, 1, a.data(), m, result.x.data(), std::max(m, n),
                           result.singular_values.data(), tolerance, &result.rank),
            0);
  result.x.resize(static_cast<std::size_t>(n));
  return result;
}

double residual_norm(const Csr<double>& A, const std::vector<double>& b, const std::vector<double>& x) {
  std::vector<double> r = b;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
      r[static_cast<std::size_t>(i)] -= A.values()[k] * x[static_cast<std::size_t>(A.column_indices()[k])];
  }
  return norm(r);
}

std::int64_t integer_of(const Report& report, const char* name) {
  const Statistic* const statistic = report.find_statistic(name);
  return statistic == nullptr ? -1 : std::get<std::int64_t>(statistic->value);
}

Solution<double> solved(const Csr<double>& A, const std::vector<double>& b, Options parameters = {}) {
  return solve(A, b, {.method = "sparse-qr", .parameters = std::move(parameters), .least_squares = true});
}

/// Compares x, its residual and the rank with those of the singular value decomposition.
void expect_least_squares(const Csr<double>& A, const std::vector<double>& b, double error = 1e-9) {
  SCOPED_TRACE(std::to_string(A.rows()) + " by " + std::to_string(A.columns()));
  const Decomposed expected = by_svd(A, b);
  const auto [x, report] = solved(A, b);
  ASSERT_TRUE(report.solved()) << report;
  // The rank of a square A is that in exact arithmetic.
  if (A.rows() != A.columns()) {
    EXPECT_EQ(report.rank, expected.rank) << report;
  }
  EXPECT_LE(difference(x.to_vector(), expected.x), error * norm(expected.x)) << report;
  EXPECT_NEAR(report.residual_norm, residual_norm(A, b, expected.x), 1e-12 * norm(b)) << report;
}

/// Column 3 j + 2 is a combination of the two before it, for the first of them.
Csr<double> with_combinations(const Csr<double>& A, int count) {
  Dense<double> full = to_dense(MatrixRef<double>(A));
  for (int c = 0; c < count; ++c) {
    for (std::int64_t i = 0; i < full.rows(); ++i)
      full(i, 3 * c + 2) = 2 * full(i, 3 * c) - 0.5 * full(i, 3 * c + 1);
  }
  return to_csr(MatrixRef<double>(full));
}

}  // namespace sparse_qr

TEST(SparseQr, EveryShape_HasTheSolutionOfTheSvd) {
  using namespace sparse_qr;
  for (const auto& [m, n] : {std::pair(1, 1),
                             {1, 9},
                             {9, 1},
                             {31, 33},
                             {33, 31},
                             {120, 40},
                             {40, 120},
                             {64, 64},
                             {400, 90},
                             {90, 400}}) {
    for (const int per_row : {2, 4}) {
      const Csr<double> A = random_sparse(m, n, static_cast<unsigned>(m + n + per_row), per_row);
      expect_least_squares(A, normal_vector(m, 5), 1e-8);
    }
  }
}

/// Fronts of more than 32 columns are factored in blocks.
TEST(SparseQr, LargeFronts_AreFactoredInBlocks) {
  using namespace sparse_qr;
  for (const auto& [m, n, per_row] : {std::tuple(500, 150, 12), {150, 500, 12}, {300, 200, 60}}) {
    const Csr<double> A = random_sparse(m, n, 3, per_row);
    const auto [x, report] = solved(A, normal_vector(m, 6));
    EXPECT_GT(integer_of(report, "largest_front"), 32) << report;
    expect_least_squares(A, normal_vector(m, 6));
    expect_least_squares(with_combinations(A, 20), normal_vector(m, 7), 1e-8);
  }
}

TEST(SparseQr, DependentColumnsAndRows_AreFound) {
  using namespace sparse_qr;
  for (const auto& [m, n, count] : {std::tuple(60, 30, 1), {60, 30, 9}, {200, 90, 30}, {45, 45, 5}}) {
    const Csr<double> A = with_combinations(random_sparse(m, n, 8, 4), count);
    expect_least_squares(A, normal_vector(m, 9), 1e-8);
    expect_least_squares(transpose(A), normal_vector(n, 10), 1e-8);
  }
}

TEST(SparseQr, SingletonsAlone_NeedNoFront) {
  using namespace sparse_qr;
  Triplets elements;
  for (std::int32_t i = 0; i < 50; ++i) {
    elements.push_back({i, 49 - i, 2.0 + i});
    if (i < 48) elements.push_back({i, 48 - i, 1.0});
  }
  const Csr<double> A = Csr<double>::from_triplets(60, 50, elements);
  const auto [x, report] = solved(A, normal_vector(60, 11));
  EXPECT_EQ(integer_of(report, "singletons"), 50) << report;
  EXPECT_EQ(integer_of(report, "supernodes"), 0) << report;
  expect_least_squares(A, normal_vector(60, 11));
}

/// Every pivot of this triangle is 1, and its smallest singular value about 2^-59.
TEST(SparseQr, NoPivotIsSmall_RankIsFoundBySingularValues) {
  using namespace sparse_qr;
  Triplets elements;
  for (std::int32_t i = 0; i < 60; ++i) {
    elements.push_back({i, i, 1.0});
    if (i < 59) elements.push_back({i, i + 1, -2.0});
  }
  for (std::int32_t i = 60; i < 70; ++i) elements.push_back({i, 59, 0.0});
  const Csr<double> A = Csr<double>::from_triplets(70, 60, elements);
  const auto [x, report] = solved(A, normal_vector(70, 12));
  EXPECT_EQ(report.rank, 59) << report;
  EXPECT_EQ(report.find_statistic("doubtful"), nullptr) << report;
  expect_least_squares(A, normal_vector(70, 12), 1e-8);
}

TEST(SparseQr, GapsOfSingularValues_SayHowCertainTheRankIs) {
  using namespace sparse_qr;
  // Four pairs of columns that differ by `small` times a vector.
  const auto with_difference = [](double small) {
    Dense<double> full = to_dense(MatrixRef<double>(random_sparse(80, 30, 13, 5)));
    for (int c = 0; c < 4; ++c) {
      for (std::int64_t i = 0; i < full.rows(); ++i)
        full(i, 3 * c + 1) = full(i, 3 * c) + small * std::cos(static_cast<double>((c + 1) * i));
    }
    return to_csr(MatrixRef<double>(full));
  };
  struct Gap {
    double small, tolerance;
    std::int64_t rank;
    bool doubtful;
  };
  for (const Gap& gap : {Gap{1e-8, 1e-6, 26, false},
                         {1e-4, 1e-3, 26, false},
                         {1e-14, 1e-13, 26, false},
                         {1e-4, 1e-10, 30, false},
                         {1e-11, 1e-13, 30, true}}) {
    const auto [x, report] =
        solved(with_difference(gap.small), normal_vector(80, 14), {{"tolerance", gap.tolerance}});
    EXPECT_TRUE(report.solved()) << report;
    EXPECT_EQ(report.rank, gap.rank) << report;
    EXPECT_EQ(report.find_statistic("doubtful") != nullptr, gap.doubtful) << report;
  }
}

TEST(SparseQr, BasicSolution_HasAsManyElementsAsTheRank) {
  using namespace sparse_qr;
  for (const auto& [m, n, count] : {std::tuple(60, 30, 6), {30, 60, 0}, {30, 60, 5}}) {
    const Csr<double> A = with_combinations(random_sparse(m, n, 15, 4), count);
    const std::vector<double> b = normal_vector(m, 16);
    const Decomposed expected = by_svd(A, b);
    const auto [x, report] = solved(A, b, {{"solution", "basic"}});
    ASSERT_TRUE(report.solved()) << report;
    EXPECT_EQ(report.rank, expected.rank) << report;
    const std::vector<double> basic = x.to_vector();
    EXPECT_LE(n - std::count(basic.begin(), basic.end(), 0.0), expected.rank);
    EXPECT_NEAR(report.residual_norm, residual_norm(A, b, expected.x), 1e-9 * norm(b)) << report;
  }
}

/// New values in the pattern of an analysis, some of which make singletons too small.
TEST(SparseQr, UpdatedValues_KeepTheAnalysisOrRenewIt) {
  using namespace sparse_qr;
  Csr<double> A = random_sparse(90, 40, 17);
  Solver<double> solver = make_solver<double>("sparse-qr", Device());
  ASSERT_TRUE(solver.setup(A).ready());
  for (int change = 0; change < 4; ++change) {
    for (std::int64_t k = 0; k < A.nonzeros(); ++k)
      A.values()[k] = k % (change + 2) == 0 ? 0.0 : A.values()[k] + 1;
    ASSERT_TRUE(solver.update_values(A).ready());
    const std::vector<double> b = normal_vector(90, 18);
    std::vector<double> x(40);
    const Report report = solver.solve(b, x);
    const Decomposed expected = by_svd(A, b);
    EXPECT_EQ(report.rank, expected.rank) << report;
    EXPECT_LE(difference(x, expected.x), 1e-8 * norm(expected.x)) << report;
  }
}

/// A = [I; dense rows] fills the whole of R, which the analysis tells before any memory is taken.
TEST(SparseQr, FactorBeyondMemory_IsNamed) {
  using namespace sparse_qr;
  Triplets elements;
  constexpr std::int32_t n = 400'000;
  for (std::int32_t j = 0; j < n; ++j) {
    elements.push_back({j, j, 1.0});
    elements.push_back({n, j, 1.0});
  }
  const Csr<double> A = Csr<double>::from_triplets(n + 1, n, elements);
  Solver<double> solver = make_solver<double>("sparse-qr", Device());
  EXPECT_THROW(static_cast<void>(solver.setup(A)), OutOfMemory);
}

}  // namespace
}  // namespace echelon::test
