// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/left_looking/block_order.hpp"
#include "sparse_direct/left_looking/factorization.hpp"
#include "sparse_direct/left_looking/prediction.hpp"
#include "sparse_direct/left_looking/substitution.hpp"
#include "sparse_direct/matching/large_diagonal.hpp"
#include "support/sparse_systems.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <stop_token>
#include <string>
#include <vector>

namespace echelon {
namespace {

using namespace sparse_direct;
using test::csr_of;
using test::Elements;
using test::random_vector;
using test::scaled_residual;
using test::SparseSystem;
using test::statistic;

constexpr LuFactorization left_looking = LuFactorization::left_looking;

std::string word(const Report& report, const std::string& name) {
  const Statistic* found = report.find_statistic(name);
  if (found == nullptr) return {};
  const auto* text = std::get_if<std::string>(&found->value);
  return text == nullptr ? std::string() : *text;
}

/// A random pattern with a few rows and columns of many elements, some of them without a diagonal element, in
/// `blocks` diagonal blocks that are coupled upwards, and rows and columns in random orders.
SparseSystem random_blocks(std::int32_t n, std::int32_t blocks, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  const auto below = [&](std::int32_t limit) {
    return static_cast<std::int32_t>(random() % static_cast<unsigned>(limit));
  };
  std::vector<std::int32_t> rows(static_cast<std::size_t>(n));
  std::iota(rows.begin(), rows.end(), 0);
  std::vector<std::int32_t> columns = rows;
  std::shuffle(rows.begin(), rows.end(), random);
  std::shuffle(columns.begin(), columns.end(), random);
  const std::int32_t size = std::max(1, n / blocks);
  SparseSystem s{"random blocks", n, {}};
  for (std::int32_t i = 0; i < n; ++i) {
    const std::int32_t begin = i / size * size;
    const std::int32_t end = std::min(n, begin + size);
    const std::int32_t cyclic = i + 1 < end ? i + 1 : begin;
    s.elements.push_back({rows[i], columns[cyclic], value(random) + 2});
    for (int k = 0; k < (i % 29 == 0 ? size / 2 : 2); ++k) {
      s.elements.push_back({rows[i], columns[begin + below(end - begin)], value(random)});
      s.elements.push_back({rows[begin + below(end - begin)], columns[i], value(random)});
      s.elements.push_back({rows[i], columns[begin + below(n - begin)], value(random)});
    }
  }
  return s;
}

/// Elements of a matrix by long double Gaussian elimination with complete pivoting: x of A x = b, or A^T x =
/// b.
std::vector<double> dense_solution(const Csr<double>& A, bool transposed, const std::vector<double>& b) {
  const auto n = static_cast<std::size_t>(A.rows());
  std::vector<std::vector<long double>> m(n, std::vector<long double>(n + 1, 0));
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const std::int64_t j = A.column_indices()[k];
      m[transposed ? j : i][transposed ? i : j] += A.values()[k];
    }
    m[i][n] = b[i];
  }
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k; i < n; ++i) {
      if (std::fabs(m[i][k]) > std::fabs(m[pivot][k])) pivot = i;
    }
    std::swap(m[k], m[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const long double factor = m[i][k] / m[k][k];
      for (std::size_t j = k; j <= n && factor != 0; ++j) m[i][j] -= factor * m[k][j];
    }
  }
  std::vector<double> x(n);
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) m[k][n] -= m[k][j] * static_cast<long double>(x[j]);
    x[k] = static_cast<double>(m[k][n] / m[k][k]);
  }
  return x;
}

struct Factored {
  LargeDiagonal diagonal;
  BlockOrder order;
  LeftLookingFactors<double> factors;
  LeftLookingEnd end = LeftLookingEnd::finished;
};

Factored factored(const Csr<double>& A, double threshold, Ordering ordering = Ordering::automatic) {
  Factored f;
  f.diagonal = large_diagonal_of_rows(A);
  f.order = block_order(A, f.diagonal.row_permutation, {.ordering = ordering});
  f.end = factor_left_looking(A, f.diagonal.scaling, f.order, {.threshold = threshold}, f.factors);
  return f;
}

/// X = A^-1 B or A^-T B with the factors of R A C.
std::vector<double> solution(const Factored& f, bool transposed, int columns, const std::vector<double>& b) {
  const std::int64_t n = f.factors.size();
  const auto& in = transposed ? f.factors.column_order : f.factors.row_order;
  const auto& out = transposed ? f.factors.row_order : f.factors.column_order;
  const auto& scale_in = transposed ? f.diagonal.scaling.columns : f.diagonal.scaling.rows;
  const auto& scale_out = transposed ? f.diagonal.scaling.rows : f.diagonal.scaling.columns;
  std::vector<double> x(b.size());
  std::vector<double> result(b.size());
  for (std::int64_t k = 0; k < n; ++k) {
    for (int c = 0; c < columns; ++c) x[k * columns + c] = scale_in[in[k]] * b[in[k] * columns + c];
  }
  substitute(f.factors, transposed, columns, x.data());
  for (std::int64_t k = 0; k < n; ++k) {
    for (int c = 0; c < columns; ++c) result[out[k] * columns + c] = scale_out[out[k]] * x[k * columns + c];
  }
  return result;
}

TEST(LeftLooking, RandomBlocks_AgreeWithDenseElimination) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    const auto n = static_cast<std::int32_t>(1 + seed * 7 % 97);
    const SparseSystem system = random_blocks(n, 1 + static_cast<std::int32_t>(seed % 5), seed);
    const Csr<double> A = csr_of<double>(n, system.elements);
    for (const double threshold : {0.001, 1.0}) {
      const Factored f = factored(A, threshold);
      ASSERT_EQ(f.end, LeftLookingEnd::finished);
      for (const bool transposed : {false, true}) {
        SCOPED_TRACE(std::to_string(seed) + (transposed ? " transposed" : ""));
        const std::vector<double> b = random_vector<double>(n, seed + 1);
        const std::vector<double> x = solution(f, transposed, 1, b);
        const std::vector<double> expected = dense_solution(A, transposed, b);
        double size = 0;
        for (const double e : expected) size = std::max(size, std::fabs(e));
        for (std::int32_t i = 0; i < n; ++i) EXPECT_NEAR(x[i], expected[i], 1e-8 * size);
      }
    }
  }
}

TEST(LeftLooking, SeveralColumns_AreThoseOfOne) {
  const SparseSystem system = random_blocks(120, 3, 5);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  const Factored f = factored(A, 0.1);
  ASSERT_EQ(f.end, LeftLookingEnd::finished);
  for (const int columns : {2, 5, 15, 16}) {
    for (const bool transposed : {false, true}) {
      const std::vector<double> b = random_vector<double>(system.n * columns, 3);
      const std::vector<double> x = solution(f, transposed, columns, b);
      for (int c = 0; c < columns; ++c) {
        std::vector<double> column(static_cast<std::size_t>(system.n));
        for (std::int64_t i = 0; i < system.n; ++i) column[i] = b[i * columns + c];
        const std::vector<double> expected = solution(f, transposed, 1, column);
        for (std::int64_t i = 0; i < system.n; ++i) {
          EXPECT_NEAR(x[i * columns + c], expected[i], 1e-13 * std::fabs(expected[i]));
        }
      }
    }
  }
}

TEST(LeftLooking, Multipliers_AreBoundedByTheThreshold) {
  for (const double threshold : {0.1, 1.0}) {
    const SparseSystem system = random_blocks(400, 2, 8);
    const Factored f = factored(csr_of<double>(system.n, system.elements), threshold);
    ASSERT_EQ(f.end, LeftLookingEnd::finished);
    for (const double value : f.factors.lower.value.span()) EXPECT_LE(std::fabs(value), 1.0001 / threshold);
  }
}

TEST(BlockOrder, PermutedMatrix_IsBlockTriangularWithTheMatchedDiagonal) {
  const SparseSystem system = random_blocks(300, 6, 3);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  const LargeDiagonal diagonal = large_diagonal_of_rows(A);
  const BlockOrder order = block_order(A, diagonal.row_permutation, {});
  EXPECT_GE(order.blocks(), 6);
  std::vector<std::int32_t> position(static_cast<std::size_t>(system.n), -1);
  for (std::int32_t k = 0; k < system.n; ++k) position[order.columns[k]] = k;
  EXPECT_EQ(std::count(position.begin(), position.end(), -1), 0);
  for (std::int64_t b = 0; b < order.blocks(); ++b) {
    for (std::int32_t k = order.block_begin[b]; k < order.block_begin[b + 1]; ++k) {
      EXPECT_EQ(order.rows[k], diagonal.row_permutation[order.columns[k]]);
      for (std::int64_t p = A.row_offsets()[order.rows[k]]; p < A.row_offsets()[order.rows[k] + 1]; ++p) {
        EXPECT_GE(position[A.column_indices()[p]], order.block_begin[b]);
      }
    }
  }
}

/// Without exchanges the fill is at most that of the symmetrised pattern, which is exact for a symmetric one.
TEST(BlockOrder, PredictedEntries_AreThoseOfTheFactors) {
  const Csr<double> grid = csr_of<double>(900, test::grid_system(30, 30, 1).elements);
  for (const Ordering ordering : {Ordering::natural, Ordering::rcm, Ordering::metis}) {
    const Factored f = factored(grid, 0.001, ordering);
    EXPECT_EQ(f.order.entries, static_cast<double>(f.factors.entries())) << to_string(ordering);
    EXPECT_EQ(f.order.ordering, to_string(ordering));
  }
  const Factored amd = factored(grid, 0.001, Ordering::amd);
  EXPECT_GE(amd.order.entries, static_cast<double>(amd.factors.entries()));
  EXPECT_GE(amd.order.flops, amd.factors.flops);
  EXPECT_LE(amd.order.flops, 1.5 * amd.factors.flops);
}

/// Expects |found - expected| <= 1e-9 max(1, |expected|).
void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t k = 0; k < found.size(); ++k)
    EXPECT_NEAR(found[k], expected[k], 1e-9 * std::max(1.0, std::fabs(expected[k]))) << k;
}

TEST(LeftLooking, Refactorization_OfTheSameValuesAgreesAndRepeats) {
  const SparseSystem system = random_blocks(500, 4, 2);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  Factored f = factored(A, 0.1);
  ASSERT_EQ(f.end, LeftLookingEnd::finished);
  const auto all = [&] {
    std::vector<double> values = f.factors.pivot.to_vector();
    for (const SparseVectors<double>* vectors : {&f.factors.lower, &f.factors.upper, &f.factors.coupling}) {
      const std::vector<double> part = vectors->value.to_vector();
      values.insert(values.end(), part.begin(), part.end());
    }
    return values;
  };
  const auto refactor = [&] {
    ASSERT_EQ(refactor_left_looking(A, f.diagonal.scaling, {.threshold = 0.1}, f.factors),
              LeftLookingEnd::finished);
  };
  const std::vector<double> first = all();
  refactor();
  ASSERT_FALSE(f.factors.schedule->steps.empty());
  const std::vector<double> scheduled = all();
  expect_near(scheduled, first);
  refactor();
  EXPECT_EQ(all(), scheduled);
  f.factors.schedule->steps.clear();  // by columns, in the order of the factorisation
  refactor();
  EXPECT_EQ(all(), first);
}

TEST(LeftLooking, Refactorization_OfOtherValuesAgreesWithDenseElimination) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const auto n = static_cast<std::int32_t>(1 + seed * 7 % 97);
    const SparseSystem system = random_blocks(n, 1 + static_cast<std::int32_t>(seed % 5), seed);
    Csr<double> A = csr_of<double>(n, system.elements);
    Factored f = factored(A, 1e-3);
    ASSERT_EQ(f.end, LeftLookingEnd::finished);
    for (const bool by_columns : {false, true}) {
      SCOPED_TRACE(std::to_string(seed) + (by_columns ? " by columns" : " scheduled"));
      const std::vector<double> change = random_vector<double>(A.nonzeros(), seed + 5);
      for (std::int64_t k = 0; k < A.nonzeros(); ++k) A.values()[k] *= 1 + 0.1 * change[k];
      if (by_columns) f.factors.schedule->steps.clear();
      ASSERT_EQ(refactor_left_looking(A, f.diagonal.scaling, {.threshold = 1e-6}, f.factors),
                LeftLookingEnd::finished);
      for (const bool transposed : {false, true}) {
        std::vector<double> b = random_vector<double>(n, seed + 1);
        // Right-hand sides that reach few rows take the order of the pivots.
        if (seed % 2 == 1) std::fill(b.begin(), b.end() - 1, 0.0);
        const std::vector<double> expected = dense_solution(A, transposed, b);
        const std::vector<double> x = solution(f, transposed, 1, b);
        double size = 0;
        for (const double e : expected) size = std::max(size, std::fabs(e));
        for (std::int32_t i = 0; i < n; ++i) EXPECT_NEAR(x[i], expected[i], 1e-8 * size);
      }
    }
  }
}

TEST(LeftLooking, Refactorization_RefusesPivotsThatBecameSmall) {
  Csr<double> A = csr_of<double>(2, {{0, 0, 2}, {0, 1, 1}, {1, 0, 1}, {1, 1, 2}});
  Factored f = factored(A, 0.1);
  ASSERT_EQ(f.end, LeftLookingEnd::finished);
  A.values()[0] = A.values()[3] = 1e-9;
  EXPECT_EQ(refactor_left_looking(A, f.diagonal.scaling, {.threshold = 0.1}, f.factors),
            LeftLookingEnd::no_pivot);
}

TEST(LeftLooking, Ends_OfEveryKind) {
  const Csr<double> singular = csr_of<double>(2, {{0, 0, 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}});
  EXPECT_EQ(factored(singular, 0.1).end, LeftLookingEnd::no_pivot);
  const Csr<double> infinite =
      csr_of<double>(2, {{0, 0, std::numeric_limits<double>::infinity()}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}});
  EXPECT_EQ(factored(infinite, 0.1).end, LeftLookingEnd::no_pivot);
  const Csr<double> grid = csr_of<double>(900, test::grid_system(30, 30, 1).elements);
  Factored f = factored(grid, 0.1);
  EXPECT_EQ(factor_left_looking(grid, f.diagonal.scaling, f.order, {.most_entries = 5000}, f.factors),
            LeftLookingEnd::too_much_fill);
  std::stop_source source;
  source.request_stop();
  const SetupControl stopped(source.get_token());
  EXPECT_EQ(factor_left_looking(grid, f.diagonal.scaling, f.order, {.control = stopped}, f.factors),
            LeftLookingEnd::cancelled);
  EXPECT_EQ(refactor_left_looking(grid, f.diagonal.scaling, {.control = stopped}, f.factors),
            LeftLookingEnd::cancelled);
}

TEST(LeftLookingLu, Report_StatesBlocksAndExchanges) {
  // An upper triangle in a random order: blocks of one row, of which the matching finds the diagonal.
  SparseSystem system{"triangle", 60, {}};
  for (std::int32_t i = 0; i < 60; ++i) {
    for (std::int32_t j = i; j < 60; j += 1 + i % 7)
      system.elements.push_back({59 - i, (j * 17) % 60, 1.0 + j});
  }
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseLu<double> solver(Device::serial(), {.factorization = left_looking});
  const Report report = solver.factor(A);
  ASSERT_TRUE(report.ready());
  EXPECT_EQ(word(report, "factorization"), "left-looking");
  EXPECT_EQ(word(report, "row_exchanges"), "matching");
  EXPECT_EQ(statistic(report, "blocks"), 60);
  EXPECT_EQ(statistic(report, "largest_block"), 1);
  EXPECT_EQ(statistic(report, "factor_entries"), static_cast<double>(A.nonzeros()));
  EXPECT_EQ(statistic(report, "factor_flops"), 0);
  EXPECT_EQ(statistic(report, "column_exchanges"), 0);
  EXPECT_EQ(report.rank, 60);
}

TEST(LeftLookingLu, Singular_IsHandedOverToFronts) {
  SparseSystem system = test::random_system(50, 3, false, 1.1, 4);
  for (auto& e : system.elements) {
    if (e.row == 20) e.value = 0;
  }
  for (const auto& e : Elements(system.elements)) {
    if (e.row == 21) system.elements.push_back({20, e.column, e.value});
  }
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  for (const LuFactorization factorization : {LuFactorization::automatic, left_looking}) {
    SparseLu<double> solver(Device::serial(), {.factorization = factorization});
    const Report report = solver.factor(A);
    EXPECT_EQ(report.status, Status::singular);
    EXPECT_EQ(report.rank, 49);
    EXPECT_EQ(word(report, "factorization"), "multifrontal");
    const std::vector<double> b = test::product(A, random_vector<double>(system.n, 2));
    std::vector<double> x(b.size());
    EXPECT_EQ(solver.solve(b, x).status, Status::underdetermined);
    EXPECT_LT(scaled_residual(A, x.data(), b.data()), 30);
  }
}

TEST(LeftLookingLu, StructurallySingular_IsSolvedByBlocks) {
  // Row 3 is empty; without it, and column 0, a cycle of 29 rows.
  SparseSystem system{"cycle", 30, {}};
  for (std::int32_t i = 0; i < 30; ++i) {
    if (i == 3) continue;
    system.elements.push_back({i, std::max(1, (i + 1) % 30), 2.0 + i % 3});
    system.elements.push_back({i, std::max(1, (i + 7) % 30), 0.5});
  }
  system.elements.push_back({2, 3, 1});
  system.elements.push_back({29, 4, 2});
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseLu<double> blocks(Device::serial(), {.factorization = left_looking});
  SparseLu<double> fronts(Device::serial(), {.factorization = LuFactorization::multifrontal});
  const Report report = blocks.factor(A);
  EXPECT_EQ(report.status, Status::singular);
  EXPECT_EQ(report.rank, fronts.factor(A).rank);
  std::vector<double> b = test::product(A, random_vector<double>(system.n, 2));
  std::vector<double> x(b.size());
  EXPECT_EQ(blocks.solve(b, x).status, Status::underdetermined);
  EXPECT_LT(scaled_residual(A, x.data(), b.data()), 30);
  b[3] = 1;
  const Report inconsistent = blocks.solve(b, x);
  EXPECT_EQ(inconsistent.status, Status::inconsistent);
  EXPECT_EQ(inconsistent.row, 3);
}

TEST(LeftLookingLu, UpdateValues_KeepsPivotsOrChoosesOthers) {
  const SparseSystem system = random_blocks(300, 3, 7);
  Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseLu<double> solver(Device::serial(), {.factorization = left_looking});
  ASSERT_TRUE(solver.factor(A).ready());
  std::mt19937 random(5);
  std::uniform_real_distribution<double> value(-1, 1);
  for (int round = 0; round < 6; ++round) {
    // Changes of one percent, then values that have nothing in common with those before.
    for (double& a : A.values().span()) a = round % 2 == 0 ? a * (1 + 0.01 * value(random)) : value(random);
    const Report report = solver.update_values(A);
    ASSERT_TRUE(report.ready()) << report.message;
    EXPECT_EQ(word(report, "factorization"), "left-looking");
    const std::vector<double> b = random_vector<double>(system.n, 3);
    std::vector<double> x(b.size());
    EXPECT_TRUE(solver.solve(b, x).solved());
    EXPECT_LT(scaled_residual(A, x.data(), b.data()), 3);
  }
}

TEST(LeftLookingLu, UpdateValues_InFloatAreSolvedAlike) {
  const SparseSystem system = random_blocks(400, 2, 11);
  Csr<float> A = csr_of<float>(system.n, system.elements);
  SparseLu<float> solver(Device::serial(), {.factorization = left_looking});
  ASSERT_TRUE(solver.factor(A).ready());
  const std::vector<float> b = random_vector<float>(system.n, 3);
  std::vector<float> x(b.size());
  std::vector<float> first;
  for (int round = 0; round < 4; ++round) {
    ASSERT_TRUE(solver.update_values(A).ready());
    EXPECT_TRUE(solver.solve(b, x).solved());
    EXPECT_LT(scaled_residual(A, x.data(), b.data()), 3);
    if (round == 0) first = x;
    if (round == 2) {
      EXPECT_EQ(x, first);  // of the values of round 0
    }
    for (float& a : A.values().span()) a *= round % 2 == 0 ? 2.0F : 0.5F;
  }
}

/// Scale factors are kept as long as the pivots show no other scales.
TEST(LeftLookingLu, UpdateValues_OfOtherScalesIsScaledAgain) {
  const SparseSystem system = test::grid_system(20, 20, 1);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseLu<double> solver(Device::serial(), {.factorization = left_looking});
  ASSERT_TRUE(solver.factor(A).ready());
  const std::vector<double> b = random_vector<double>(system.n, 3);
  std::vector<double> x(b.size());
  for (const double scale : {1.0, 1e6, 1e-9, 1.0}) {
    Csr<double> scaled = A;
    for (std::int64_t i = 0; i < A.rows(); i += 3) {
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) scaled.values()[k] *= scale;
    }
    const Report report = solver.update_values(scaled);
    ASSERT_TRUE(report.ready()) << report.message;
    SparseLu<double> fresh(Device::serial(), {.factorization = left_looking});
    const Report expected = fresh.factor(scaled);
    ASSERT_TRUE(report.reciprocal_condition && expected.reciprocal_condition);
    EXPECT_LT(std::fabs(std::log10(*report.reciprocal_condition / *expected.reciprocal_condition)), 1.5);
    EXPECT_TRUE(solver.solve(b, x).solved());
    EXPECT_LT(scaled_residual(scaled, x.data(), b.data()), 3);
  }
}

/// Random blocks with a stored zero beside each element, at random places.
SparseSystem with_stored_zeros(SparseSystem system, unsigned seed) {
  std::mt19937 random(seed);
  const std::size_t count = system.elements.size();
  for (std::size_t k = 0; k < count; ++k) {
    const auto column = static_cast<std::int32_t>(random() % static_cast<unsigned>(system.n));
    system.elements.push_back({system.elements[k].row, column, 0});
  }
  return system;
}

TEST(LeftLookingLu, StoredZeros_AreLeftOut) {
  const SparseSystem system = random_blocks(300, 6, 7);
  const Csr<double> plain = csr_of<double>(system.n, system.elements);
  const Csr<double> A = csr_of<double>(system.n, with_stored_zeros(system, 3).elements);
  ASSERT_GT(A.nonzeros(), 3 * plain.nonzeros() / 2);
  SparseLu<double> expected(Device::serial(), {.factorization = left_looking});
  SparseLu<double> solver(Device::serial(), {.factorization = left_looking});
  const Report of_plain = expected.factor(plain);
  const Report report = solver.factor(A);
  for (const char* name : {"blocks", "largest_block", "factor_entries", "factor_flops"}) {
    EXPECT_EQ(statistic(report, name), statistic(of_plain, name)) << name;
  }
  const std::vector<double> b = random_vector<double>(system.n, 3);
  std::vector<double> x(b.size()), y(b.size());
  EXPECT_TRUE(expected.solve(b, y).solved());
  EXPECT_TRUE(solver.solve(b, x).solved());
  EXPECT_EQ(x, y);
  std::vector<double> transposed(b.size());
  EXPECT_TRUE(solver.solve_transposed(b, transposed).solved());
  EXPECT_LT(scaled_residual(transpose(A), transposed.data(), b.data()), 3);
}

TEST(LeftLookingLu, StoredZeros_ThatChange_AreTakenIntoAccount) {
  const SparseSystem system = with_stored_zeros(random_blocks(200, 4, 9), 5);
  Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseLu<double> solver(Device::serial(), {.factorization = left_looking});
  ASSERT_TRUE(solver.factor(A).ready());
  std::vector<std::int64_t> zeros;
  for (std::int64_t k = 0; k < A.nonzeros(); ++k) {
    if (A.values()[k] == 0) zeros.push_back(k);
  }
  const auto expect_solved = [&](const Report& report) {
    ASSERT_TRUE(report.ready()) << report.message;
    EXPECT_EQ(word(report, "factorization"), "left-looking");
    const std::vector<double> b = random_vector<double>(system.n, 3);
    std::vector<double> x(b.size());
    EXPECT_TRUE(solver.solve(b, x).solved());
    EXPECT_LT(scaled_residual(A, x.data(), b.data()), 3);
  };
  const double entries = statistic(solver.update_values(A), "factor_entries");
  for (double& a : A.values().span()) a *= 1.5;
  const Report same_zeros = solver.update_values(A);
  expect_solved(same_zeros);
  EXPECT_EQ(statistic(same_zeros, "factor_entries"), entries);
  for (const std::int64_t k : zeros) A.values()[k] = 0.25;
  const Report none = solver.update_values(A);
  expect_solved(none);
  EXPECT_GT(statistic(none, "factor_entries"), entries);
  for (const std::int64_t k : zeros) A.values()[k] = 0;
  expect_solved(solver.update_values(A));  // the places of the zeros are kept from now on
  A.values()[zeros.front()] = 0.5;
  expect_solved(solver.update_values(A));
  expect_solved(solver.factor(A));
}

TEST(LeftLookingLu, UpdateValues_FromSingularToRegularAndBack) {
  Csr<double> A = csr_of<double>(3, {{0, 0, 1}, {0, 1, 1}, {1, 0, 1}, {1, 1, 3}, {2, 2, 1}});
  SparseLu<double> solver(Device::serial(), {.factorization = left_looking});
  ASSERT_TRUE(solver.factor(A).ready());
  std::vector<double> b = {1, 1, 1}, x(3);
  for (int round = 0; round < 2; ++round) {
    A.values()[3] = 1;
    EXPECT_EQ(solver.update_values(A).rank, 2);
    EXPECT_EQ(solver.solve(b, x).status, Status::underdetermined);
    A.values()[3] = 2;
    EXPECT_EQ(solver.update_values(A).rank, 3);
    EXPECT_TRUE(solver.solve(b, x).solved());
    EXPECT_NEAR(x[0], 1, 1e-15);
    EXPECT_NEAR(x[1], 0, 1e-15);
  }
}

TEST(LeftLookingLu, Auto_TakesItForFewFlops) {
  const auto chosen = [](const SparseSystem& system, Ordering ordering) {
    const Csr<double> A = csr_of<double>(system.n, system.elements);
    SparseLu<double> solver(Device::serial(), {.ordering = ordering});
    return word(solver.factor(A), "factorization");
  };
  EXPECT_EQ(chosen(test::grid_system(1, 5000, 1), Ordering::automatic), "left-looking");
  EXPECT_EQ(chosen(test::grid_system(13, 13, 13), Ordering::automatic), "multifrontal");
  EXPECT_EQ(chosen(test::grid_system(1, 900, 1), Ordering::dissection), "multifrontal");
}

/// Fronts for the pattern of P A + (P A)^T would be dense; the blocks have one row each.
TEST(LeftLookingLu, PermutedTriangle_IsSolvedByAuto) {
  constexpr std::int32_t n = 20'000;
  std::mt19937 random(3);
  SparseSystem system{"triangle", n, {}};
  for (std::int32_t i = 0; i < n; ++i) {
    system.elements.push_back({(i * 7) % n, (i * 11) % n, 4.0 + i % 3});
    for (int k = 0; k < 4; ++k) {
      const auto j =
          static_cast<std::int32_t>(static_cast<unsigned>(i) + random() % static_cast<unsigned>(n - i));
      if (j != i) system.elements.push_back({(i * 7) % n, static_cast<std::int32_t>(j * 11LL % n), 0.5});
    }
  }
  const Csr<double> A = csr_of<double>(n, system.elements);
  EXPECT_TRUE(predict_left_looking(A));
  const std::vector<double> b = random_vector<double>(n, 1);
  SolveOptions options;
  options.device = Device::serial();
  const auto [x, report] = solve(A, b, options);
  EXPECT_EQ(report.status, Status::direct) << report.message;
  EXPECT_EQ(word(report, "factorization"), "left-looking");
  EXPECT_EQ(statistic(report, "blocks"), n);
  EXPECT_LT(scaled_residual(A, x.data(), b.data()), 3);
}

TEST(LeftLookingPrediction, IsForFewFlopsOnly) {
  const auto predicted = [](const SparseSystem& system) {
    return predict_left_looking(csr_of<double>(system.n, system.elements)).has_value();
  };
  EXPECT_TRUE(predicted(test::grid_system(1, 500, 1, 0, 0.3)));
  EXPECT_FALSE(predicted(test::grid_system(13, 13, 13, 0, 0.3)));
  EXPECT_FALSE(predicted(test::grid_system(1, 500, 1)));
  EXPECT_FALSE(predicted({"structurally singular", 3, {{0, 0, 1}, {1, 0, 2}, {2, 2, 1}}}));
  EXPECT_FALSE(predicted({"zero", 2, {}}));
}

/// Rows and columns of very different sizes, for which powers of two cannot bring everything close to 1.
TEST(LeftLookingLu, ElementsOfAllMagnitudes_AreSolvedOrRefused) {
  std::mt19937 random(17);
  for (unsigned seed = 0; seed < 20; ++seed) {
    SparseSystem system = random_blocks(60, 2, seed);
    for (auto& e : system.elements) {
      e.value *= std::pow(10.0, static_cast<int>(random() % 300) - 150);
    }
    const Csr<double> A = csr_of<double>(system.n, system.elements);
    SparseLu<double> solver(Device::serial(), {.factorization = left_looking});
    const Report factored = solver.factor(A);
    const std::vector<double> b(60, 1);
    std::vector<double> x(60);
    const Report report = solver.solve(b, x);
    if (report.solved()) {
      EXPECT_LE(report.backward_error, 1e-10) << seed;
    } else {
      EXPECT_FALSE(report.message.empty());
    }
  }
}

}  // namespace
}  // namespace echelon
