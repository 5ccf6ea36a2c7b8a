// SPDX-License-Identifier: BSD-3-Clause
// Partitions and interfaces of a band matrix, in any number.
#include "backend/host/host.hpp"
#include "sparse_direct/banded/factorization.hpp"
#include "support/bands.hpp"
#include "support/problems.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace echelon::banded {
namespace {

using namespace test;

const std::vector<std::int64_t> partition_counts = {1, 2, 3, 4, 7, 8, 13};

/// Factors of one matrix in a given number of partitions.
class Factors {
 public:
  Factors(BandMatrix<double>& A, std::int64_t partitions)
      : backend_(Device::serial()), factorization_(Device::serial()) {
    factorization_.prepare({A.n, A.lower, A.upper, 1}, partitions);
    factorization_.factor(backend_, {{A.values.data() + A.upper, 1, A.leading - 1, A.lower, A.upper}, 0});
    workspace_ = factorization_.make_workspace(1, true);
  }
  [[nodiscard]] std::int64_t zero_column() const { return factorization_.facts()->zero_column.value; }

  Dense<double> solve(const Dense<double>& b) {
    Dense<double> x(Device(), b.rows(), 1);
    factorization_.solve(backend_, workspace_, {.b = b.data(), .x = x.data(), .columns = 1});
    return x;
  }
  Dense<double> solve_transposed(const Dense<double>& b) {
    Dense<double> x = b;
    factorization_.solve_transposed(backend_, workspace_, x.data());
    return x;
  }

 private:
  Host backend_;
  BandFactorizationOn<Host, double> factorization_;
  SubstitutionWorkspace<double> workspace_;
};

BandMatrix<double> transposed(BandMatrix<double>& A) {
  BandMatrix<double> result(A.n, A.upper, A.lower);
  A.for_each([&](std::int64_t i, std::int64_t j, double value) { result.at(j, i) = value; });
  return result;
}

void expect_solved(BandMatrix<double>& A) {
  BandMatrix<double> At = transposed(A);
  const Dense<double> b = random_dense<double>(A.n, 1, 3);
  for (const std::int64_t partitions : partition_counts) {
    SCOPED_TRACE("n " + std::to_string(A.n) + ", lower " + std::to_string(A.lower) + ", upper " +
                 std::to_string(A.upper) + ", partitions " + std::to_string(partitions));
    Factors factors(A, partitions);
    EXPECT_EQ(factors.zero_column(), FirstIndex::none);
    constexpr double passing = 1e-13;
    EXPECT_LT(backward_error(A, factors.solve(b), b), passing);
    EXPECT_LT(backward_error(At, factors.solve_transposed(b), b), passing);
  }
}

TEST(BandNodes, AnyNumberOfPartitions_Solves) {
  struct Shape {
    std::int64_t n, lower, upper;
  };
  const std::vector<Shape> shapes = {
      {1, 0, 0},   {2, 1, 0},   {3, 1, 1},   {40, 1, 1},   {41, 0, 2},   {60, 2, 0},   {100, 2, 1},
      {97, 3, 5},  {90, 2, 2},  {150, 6, 2}, {200, 4, 4},  {300, 0, 0},  {9, 8, 8},    {35, 9, 1},
      {120, 1, 8}, {200, 0, 8}, {200, 8, 0}, {260, 12, 9}, {410, 32, 3}, {410, 3, 32}, {900, 32, 32}};
  for (const Shape& shape : shapes) {
    BandMatrix<double> A = random_band<double>(shape.n, shape.lower, shape.upper, 11);
    for (std::int64_t i = 0; i < A.n; ++i) A.at(i, i) += static_cast<double>(std::abs(A.lower - A.upper));
    expect_solved(A);
  }
}

/// The interior of a partition is singular as a square matrix; the rectangular one is not.
TEST(BandNodes, SingularDiagonalBlocks_Solve) {
  for (const std::int64_t k : {1, 2, 5}) {
    for (const std::int64_t n : {32, 60, 122}) {
      BandMatrix<double> pairs = exchange_pairs<double>(n, k, k);
      BandMatrix<double> zeros = zero_diagonal_band<double>(n, k, k, 7);
      expect_solved(pairs);
      expect_solved(zeros);
    }
  }
}

TEST(BandNodes, SingularMatrix_NamesAColumn) {
  BandMatrix<double> A = random_band<double>(90, 2, 2, 5);
  for (std::int64_t i = 38; i <= 42; ++i) A.at(i, 40) = 0;
  for (const std::int64_t partitions : partition_counts) EXPECT_EQ(Factors(A, partitions).zero_column(), 40);
}

TEST(BandPlan, EveryColumn_IsEliminatedOnce) {
  for (const std::int64_t partitions : partition_counts) {
    for (const std::int64_t n : {0, 1, 30, 1000}) {
      const BandPlan plan = make_band_plan(n, 3, 2, {.partitions = partitions, .end_weight = 3});
      std::vector<int> times(static_cast<std::size_t>(n));
      std::int64_t steps = 0;
      for (const BandNode& node : plan.nodes) {
        EXPECT_EQ(node.first_step, steps);
        steps += node.steps;
        for (std::int64_t g = 0; g < node.steps; ++g) ++times[static_cast<std::size_t>(node_column(node, g))];
      }
      EXPECT_EQ(steps, n);
      EXPECT_TRUE(std::all_of(times.begin(), times.end(), [](int t) { return t == 1; }));
    }
  }
}

/// The length of a partition limits the growth of the elements in the columns of its left interface.
TEST(CudaPartitionRule, WideBands_ShortPartitionsInPowersOfTwo) {
  for (const std::int64_t k : {32, 64, 200, 512}) {
    for (const std::int64_t n : {1, 100, 5000, 600'000, 20'000'000}) {
      SCOPED_TRACE("n = " + std::to_string(n) + ", k = " + std::to_string(k));
      const PartitionRule rule = cuda_partition_rule({n, k / 2, k - k / 2, 1});
      EXPECT_EQ(rule.partitions & (rule.partitions - 1), 0);
      const BandPlan plan = make_band_plan(n, k / 2, k - k / 2, rule);
      for (const BandNode& node : plan.nodes) {
        const bool partition = node.first_child < 0;
        EXPECT_LE(partition ? node.rows : 0, 17 * k);
      }
    }
  }
}

TEST(CudaPartitionRule, InterfacesTooWideForPanels_OnePartition) {
  EXPECT_GT(cuda_partition_rule({100'000, 256, 256, 1}).partitions, 1);
  EXPECT_EQ(cuda_partition_rule({100'000, 257, 256, 1}).partitions, 1);
  EXPECT_EQ(cuda_partition_rule({100'000, 992, 900, 1}).partitions, 1);
}

}  // namespace
}  // namespace echelon::banded
