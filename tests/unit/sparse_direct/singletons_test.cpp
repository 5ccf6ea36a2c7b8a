// SPDX-License-Identifier: BSD-3-Clause
/// Singletons of structurally singular matrices, and the factorisation of what they leave.
#include "sparse_direct/singletons/singletons.hpp"

#include "support/sparse_systems.hpp"

#include <echelon/matrix/structure.hpp>
#include <echelon/matrix/transform.hpp>
#include <echelon/rank_modulo.hpp>
#include <echelon/sparse_direct.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace echelon {
namespace {

using sparse_direct::find_singletons;
using sparse_direct::Singletons;
using test::csr_of;
using test::Elements;
using test::random_vector;
using test::scaled_residual;
using test::statistic;

constexpr double least = 1e-10;
constexpr std::int64_t prime = 2147483647;

/// Integers from 1 to 9 at random places, about `mean` of them in a row and few rows with many.
Elements random_graph(std::int32_t n, double mean, bool symmetric, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> place(0, 1);
  std::uniform_int_distribution<int> value(1, 9);
  std::vector<std::vector<bool>> taken(static_cast<std::size_t>(n),
                                       std::vector<bool>(static_cast<std::size_t>(n)));
  Elements elements;
  const auto count = static_cast<int>(mean * n / (symmetric ? 2 : 1));
  for (int k = 0; k < count; ++k) {
    const double x = place(random);
    const double y = place(random);
    const auto i = static_cast<std::int32_t>(n * x * x);
    const auto j = static_cast<std::int32_t>(n * y * y);
    if (taken[i][j] || (symmetric && i == j)) continue;
    const double v = value(random);
    taken[i][j] = true;
    elements.push_back({i, j, v});
    if (symmetric) taken[j][i] = true, elements.push_back({j, i, v});
  }
  return elements;
}

std::vector<std::int32_t> positions(const std::vector<std::int32_t>& order) {
  std::vector<std::int32_t> position(order.size(), -1);
  for (std::size_t k = 0; k < order.size(); ++k) {
    EXPECT_EQ(position.at(order[k]), -1);
    position[order[k]] = static_cast<std::int32_t>(k);
  }
  return position;
}

/// Number of a position's diagonal block: each singleton is one, and the core.
std::int64_t block_of(const Singletons& s, std::int64_t k) {
  return k < s.core_begin || k >= s.core_end ? k : s.core_begin;
}

void expect_block_triangle(const Csr<double>& A, const Singletons& s) {
  const std::vector<std::int32_t> row_position = positions(s.rows);
  const std::vector<std::int32_t> column_position = positions(s.columns);
  std::vector<int> in_row(static_cast<std::size_t>(s.size()), 0);  // elements in the core
  std::vector<int> in_column(in_row.size(), 0);
  std::vector<bool> has_pivot(in_row.size(), false);
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t p = A.row_offsets()[i]; p < A.row_offsets()[i + 1]; ++p) {
      if (A.values()[p] == 0) continue;
      const std::int32_t row = row_position[i];
      const std::int32_t column = column_position[A.column_indices()[p]];
      if (row == column) has_pivot[row] = true;
      const bool row_in_core = block_of(s, row) == s.core_begin && row >= s.core_begin && row < s.core_end;
      if (row_in_core && column >= s.core_begin && column < s.core_end) ++in_row[row], ++in_column[column];
      if (column >= s.end) {
        EXPECT_TRUE(row >= s.core_end && row < s.end) << "zero column " << column << " in row " << row;
      } else if (row >= s.end) {
        EXPECT_LT(column, s.core_begin) << "zero row " << row;
      } else {
        EXPECT_LE(block_of(s, column), block_of(s, row));
      }
    }
  }
  for (std::int64_t k = 0; k < s.end; ++k) {
    const bool in_core = k >= s.core_begin && k < s.core_end;
    EXPECT_TRUE(in_core || has_pivot[k]) << k;
    EXPECT_FALSE(in_core && (in_row[k] == 1 || in_column[k] == 1)) << "a singleton in the core";
  }
}

TEST(Singletons, RandomGraphs_FormABlockTriangle) {
  for (const double mean : {0.5, 1.0, 2.0, 3.0, 5.0}) {
    for (unsigned seed = 1; seed <= 6; ++seed) {
      for (const bool symmetric : {false, true}) {
        SCOPED_TRACE(std::to_string(mean) + ", seed " + std::to_string(seed) +
                     (symmetric ? " symmetric" : ""));
        const Csr<double> A = csr_of<double>(200, random_graph(200, mean, symmetric, seed));
        const Singletons s = find_singletons(A, least);
        ASSERT_EQ(s.rows.size(), 200U);
        ASSERT_EQ(s.columns.size(), 200U);
        expect_block_triangle(A, s);
      }
    }
  }
}

TEST(Singletons, PermutedTriangle_LeavesNoCore) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    std::mt19937 random(seed);
    std::vector<std::int32_t> rows(300);
    std::iota(rows.begin(), rows.end(), 0);
    std::vector<std::int32_t> columns = rows;
    std::shuffle(rows.begin(), rows.end(), random);
    std::shuffle(columns.begin(), columns.end(), random);
    Elements elements;
    for (std::int32_t i = 0; i < 300; ++i) {
      elements.push_back({rows[i], columns[i], 2});
      for (int k = 0; k < 4 && i > 0; ++k)
        elements.push_back({rows[i], columns[random() % static_cast<unsigned>(i)], 1});
    }
    const Csr<double> A = csr_of<double>(300, elements);
    const Singletons s = find_singletons(A, least);
    EXPECT_EQ(s.core_size(), 0);
    EXPECT_EQ(s.count(), 300);
    expect_block_triangle(A, s);
  }
}

TEST(Singletons, SmallAndZeroElements_AreNone) {
  // Row 1 has a stored zero beside its element; the element alone in row 2 is tiny compared with an
  // eliminated one.
  const Csr<double> A = csr_of<double>(4, {{0, 0, 1},
                                           {1, 0, 0},
                                           {1, 1, 3},
                                           {2, 1, 1},
                                           {2, 2, 1e-14},
                                           {3, 2, 1},
                                           {3, 3, 1},
                                           {0, 3, 1},
                                           {3, 0, 2}});
  const Singletons s = find_singletons(A, least);
  EXPECT_EQ(s.count(), 1);
  EXPECT_EQ(s.rows.front(), 1);
  EXPECT_EQ(s.columns.front(), 1);
  EXPECT_EQ(s.core_size(), 3);
}

TEST(Singletons, AwkwardMatrices) {
  EXPECT_EQ(find_singletons(Csr<double>(), least).size(), 0);
  const Singletons zero = find_singletons(csr_of<double>(3, {}), least);
  EXPECT_EQ(zero.end, 0);
  EXPECT_EQ(zero.size(), 3);
  const Singletons full =
      find_singletons(csr_of<double>(2, {{0, 0, 1}, {0, 1, 2}, {1, 0, 3}, {1, 1, 4}}), least);
  EXPECT_EQ(full.core_size(), 2);
}

/// Solves for a consistent right-hand side, with A and with its transpose, and for several ones at once.
void expect_solutions(const SparseLu<double>& solver, const Csr<double>& A) {
  const std::int64_t n = A.rows();
  std::vector<double> b = test::product(A, random_vector<double>(n, 3));
  std::vector<double> x(b.size());
  EXPECT_EQ(solver.solve(b, x).status, Status::underdetermined);
  EXPECT_LT(scaled_residual(A, x.data(), b.data()), 30);

  const Csr<double> transposed = transpose(A);
  const std::vector<double> c = test::product(transposed, random_vector<double>(n, 4));
  EXPECT_EQ(solver.solve_transposed(c, x).status, Status::underdetermined);
  EXPECT_LT(scaled_residual(transposed, x.data(), c.data()), 30);

  constexpr std::int64_t columns = 19;
  Dense<double> B(Device(), n, columns);
  Dense<double> X(Device(), n, columns);
  for (std::int64_t k = 0; k < columns; ++k) {
    const std::vector<double> column =
        test::product(A, random_vector<double>(n, 10 + static_cast<unsigned>(k)));
    for (std::int64_t i = 0; i < n; ++i) B(i, k) = column[static_cast<std::size_t>(i)];
  }
  EXPECT_EQ(solver.solve(B, X).status, Status::underdetermined);
  for (std::int64_t k = 0; k < columns; ++k)
    EXPECT_LT(scaled_residual(A, X.view().column(k), B.view().column(k)), 30) << k;
}

constexpr SparseLuOptions fronts{.factorization = LuFactorization::multifrontal};

TEST(SparseLuOfSingularGraphs, RankAndSolutions) {
  for (const double mean : {1.0, 2.0, 3.0, 4.0}) {
    for (unsigned seed = 1; seed <= 5; ++seed) {
      for (const bool symmetric : {false, true}) {
        SCOPED_TRACE(std::to_string(mean) + ", seed " + std::to_string(seed) +
                     (symmetric ? " symmetric" : ""));
        const Csr<double> A = csr_of<double>(300, random_graph(300, mean, symmetric, seed));
        ASSERT_LT(structural_rank<double>(A), 300);
        SparseLu<double> solver(Device::serial(), fronts);
        const Report report = solver.factor(A);
        EXPECT_EQ(report.status, Status::singular);
        EXPECT_EQ(report.rank, rank_modulo<double>(A, prime));
        EXPECT_GT(statistic(report, "singletons"), 0);
        expect_solutions(solver, A);
      }
    }
  }
}

TEST(SparseLuOfSingularGraphs, Inconsistent_NamesARow) {
  const Csr<double> A = csr_of<double>(300, random_graph(300, 2, true, 1));
  SparseLu<double> solver(Device::serial(), fronts);
  solver.factor(A);
  std::vector<double> b = random_vector<double>(300, 3), x(300);
  const Report report = solver.solve(b, x);
  EXPECT_EQ(report.status, Status::inconsistent);
  EXPECT_TRUE(report.row);
}

TEST(SparseLuOfSingularGraphs, UpdateValues_FollowsTheRank) {
  Csr<double> A = csr_of<double>(300, random_graph(300, 3, false, 2));
  SparseLu<double> solver(Device::serial(), fronts);
  solver.factor(A);
  std::mt19937 random(4);
  for (int round = 0; round < 6; ++round) {
    // Other values, then some of them zero, which makes singletons of their neighbours.
    for (double& a : A.values().span()) a = round % 2 == 1 && random() % 4 == 0 ? 0 : 1 + random() % 9;
    EXPECT_EQ(solver.update_values(A).rank, rank_modulo<double>(A, prime));
    expect_solutions(solver, A);
  }
}

TEST(SparseLuOfSingularGraphs, StoredZerosBecomeElements_Solved) {
  // An arrow whose diagonal is stored as zeros: rank 2, and then 40.
  Elements elements;
  for (std::int32_t i = 0; i < 40; ++i) {
    elements.push_back({i, i, 0});
    if (i > 0) elements.push_back({i, 0, 1}), elements.push_back({0, i, 1});
  }
  Csr<double> A = csr_of<double>(40, elements);
  SparseLu<double> solver(Device::serial(), fronts);
  EXPECT_EQ(solver.factor(A).rank, 2);
  for (std::int64_t i = 0; i < 40; ++i) {
    for (std::int64_t p = A.row_offsets()[i]; p < A.row_offsets()[i + 1]; ++p)
      if (A.column_indices()[p] == i) A.values()[p] = 100;
  }
  EXPECT_TRUE(solver.update_values(A).ready());
  const std::vector<double> b = random_vector<double>(40, 3);
  std::vector<double> x(40);
  EXPECT_TRUE(solver.solve(b, x).solved());
  EXPECT_LT(scaled_residual(A, x.data(), b.data()), 30);
}

TEST(SparseLuOfSingularGraphs, Threads_GiveTheSameBits) {
  const Csr<double> A = csr_of<double>(2000, random_graph(2000, 6, true, 1));
  const std::vector<double> b = test::product(A, random_vector<double>(2000, 3));
  std::vector<double> expected(b.size());
  for (const int threads : {1, 2, 5}) {
    SparseLu<double> solver(Device::openmp(threads), fronts);
    solver.factor(A);
    std::vector<double> x(b.size());
    EXPECT_EQ(solver.solve(b, x).status, Status::underdetermined);
    if (threads == 1) expected = x;
    EXPECT_EQ(x, expected) << threads << " threads";
  }
}

/// Star of stars: hubs with leaves, whose rank is twice the number of hubs. All is known without a front.
TEST(PredictFactor, StructurallySingular_CostsWhatSingletonsLeave) {
  Elements elements;
  constexpr std::int32_t hubs = 50;
  constexpr std::int32_t leaves = 40;
  for (std::int32_t h = 0; h < hubs; ++h) {
    for (std::int32_t other = 0; other < h; ++other)
      elements.push_back({h, other, 1}), elements.push_back({other, h, 1});
    for (std::int32_t k = 0; k < leaves; ++k) {
      const std::int32_t leaf = hubs + h * leaves + k;
      elements.push_back({leaf, h, 1}), elements.push_back({h, leaf, 1});
    }
  }
  const Csr<double> A = csr_of<double>(hubs * (leaves + 1), elements);
  const FactorPrediction prediction = predict_factor(A);
  EXPECT_EQ(prediction.structural_rank, 2 * hubs);
  EXPECT_EQ(prediction.flops, 0);
  EXPECT_EQ(prediction.entries, A.nonzeros());
  SparseLu<double> solver(Device::serial(), fronts);
  EXPECT_EQ(solver.factor(A).rank, 2 * hubs);
  expect_solutions(solver, A);
}

}  // namespace
}  // namespace echelon
