// SPDX-License-Identifier: BSD-3-Clause
// Systems with one pattern: against the exact products that made them, and one by one.
#include "sparse_direct/batched/elimination_program.hpp"
#include "support/sparse_direct/systems_of_one_pattern.hpp"

#include <echelon/error.hpp>
#include <echelon/methods/sparse_batch.hpp>
#include <echelon/solver.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace echelon::test {
namespace {

template <class T>
class SparseBatch : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SparseBatch, Reals);

TYPED_TEST(SparseBatch, RegularSystems_AreSolvedTogether) {
  for (const std::int64_t n : {1, 2, 9, 60, 300}) {
    for (const std::int64_t count : {1, 7, 8, 9, 150}) {
      SystemsOfOnePattern<TypeParam> systems(n, count, 2);
      const SparseBatchReport report = systems.solve();
      EXPECT_TRUE(report.solved());
      EXPECT_EQ(report.solved_singly, 0);
      for (std::int64_t s = 0; s < count; ++s) {
        const double error = systems.backward_error(s);
        EXPECT_LE(error, 10 * std::sqrt(n) * std::numeric_limits<TypeParam>::epsilon()) << n << ' ' << s;
        EXPECT_NEAR(report.backward_errors[static_cast<std::size_t>(s)], error,
                    8 * std::numeric_limits<TypeParam>::epsilon());
      }
    }
  }
}

TYPED_TEST(SparseBatch, UselessOrderOfPivots_IsNotUsed) {
  SystemsOfOnePattern<TypeParam> systems(40, 20);
  for (const std::int64_t s : {3, 17}) {  // a tiny diagonal, and pivots right of it
    for (std::int64_t i = 0; i < 40; ++i) {
      for (std::int64_t k = systems.pattern.row_offsets()[i]; k < systems.pattern.row_offsets()[i + 1]; ++k) {
        const std::int32_t j = systems.pattern.column_indices()[k];
        if (j == i) systems.at(s, k) = TypeParam{1e-30F};
        if (j == (i + 1) % 40) systems.at(s, k) = TypeParam{5};
      }
    }
  }
  const SparseBatchReport report = systems.solve();
  EXPECT_TRUE(report.solved());
  EXPECT_EQ(report.solved_singly, 2);
  for (std::int64_t s = 0; s < 20; ++s) {
    EXPECT_LE(systems.backward_error(s), 100 * std::numeric_limits<TypeParam>::epsilon()) << s;
  }
}

TYPED_TEST(SparseBatch, SingularSystem_IsNamedAndNoOther) {
  SystemsOfOnePattern<TypeParam> systems(30, 60);
  for (std::int64_t k = systems.pattern.row_offsets()[4]; k < systems.pattern.row_offsets()[5]; ++k) {
    systems.at(37, k) = 0;
  }
  const SparseBatchReport report = systems.solve();
  for (std::int64_t s = 0; s < 60; ++s) {
    const Status status = report.outcomes[static_cast<std::size_t>(s)].status;
    EXPECT_EQ(solved(status), s != 37) << s << ' ' << to_string(status);
  }
  EXPECT_LE(systems.backward_error(38), 100 * std::numeric_limits<TypeParam>::epsilon());
}

TYPED_TEST(SparseBatch, NanAndInf_StayInTheirSystem) {
  for (const TypeParam bad :
       {std::numeric_limits<TypeParam>::quiet_NaN(), std::numeric_limits<TypeParam>::infinity()}) {
    SystemsOfOnePattern<TypeParam> systems(30, 20);
    systems.at(6, 11) = bad;
    systems.b[12 * 30 + 5] = bad;
    const SparseBatchReport report = systems.solve();
    for (std::int64_t s = 0; s < 20; ++s) {
      const bool is_bad = s == 6 || s == 12;
      EXPECT_EQ(report.outcomes[static_cast<std::size_t>(s)].status,
                is_bad ? Status::not_a_number : Status::direct)
          << s;
    }
  }
}

TYPED_TEST(SparseBatch, FirstSystemSingular_AnotherGivesTheOrder) {
  SystemsOfOnePattern<TypeParam> systems(30, 12);
  for (std::int64_t k = 0; k < systems.pattern.nonzeros(); ++k) systems.at(0, k) = 0;
  const SparseBatchReport report = systems.solve();
  EXPECT_EQ(report.solved_singly, 1);
  EXPECT_FALSE(solved(report.outcomes[0].status));
  EXPECT_TRUE(solved(report.outcomes[1].status));
}

TYPED_TEST(SparseBatch, Scales_DoNotMatter) {
  const int exponent = std::numeric_limits<TypeParam>::max_exponent / 2 - 8;
  SystemsOfOnePattern<TypeParam> systems(30, 16);
  for (std::int64_t s = 0; s < 16; ++s) {
    const auto scale = std::ldexp(TypeParam{1}, s % 2 == 0 ? exponent : -exponent);
    for (std::int64_t k = 0; k < systems.pattern.nonzeros(); ++k) systems.at(s, k) *= scale;
    for (std::int64_t i = 0; i < 30; ++i) systems.b[static_cast<std::size_t>(s * 30 + i)] *= scale;
  }
  const SparseBatchReport report = systems.solve();
  EXPECT_TRUE(report.solved());
  EXPECT_EQ(report.solved_singly, 0);
}

TYPED_TEST(SparseBatch, XInPlaceOfB_AndRepeatedCalls_GiveTheSameBits) {
  SystemsOfOnePattern<TypeParam> apart(50, 21);
  SparseBatchSolver<TypeParam> solver(apart.pattern);
  EXPECT_TRUE(apart.solve(solver).solved());
  const std::vector<TypeParam> x = apart.x;
  EXPECT_TRUE(apart.solve(solver).solved());
  EXPECT_EQ(apart.x, x);
  std::vector<TypeParam> both = apart.b;
  const SparseBatchReport report = solver.solve(
      DenseView<const TypeParam>(apart.values.data(), apart.pattern.nonzeros(), 21, apart.pattern.nonzeros()),
      DenseBatch<const TypeParam>(both.data(), 50, 1, 21, Device()),
      DenseBatch<TypeParam>(both.data(), 50, 1, 21, Device()));
  EXPECT_TRUE(report.solved());
  EXPECT_EQ(both, x);
}

TEST(SparseBatchSolver, EmptyBatches) {
  SystemsOfOnePattern<double> none(20, 0);
  EXPECT_TRUE(none.solve().solved());
  SparseBatchSolver<double> empty((Csr<double>()));
  const SparseBatchReport report = empty.solve(DenseView<const double>(nullptr, 0, 3, 1),
                                               DenseBatch<const double>(nullptr, 0, 1, 3, Device()),
                                               DenseBatch<double>(nullptr, 0, 1, 3, Device()));
  EXPECT_EQ(report.outcomes.size(), 3U);
  EXPECT_TRUE(report.solved());
}

TEST(SparseBatchSolver, ShapesThatDoNotFit_AreNamed) {
  SystemsOfOnePattern<double> systems(20, 4);
  SparseBatchSolver<double> solver(systems.pattern);
  const DenseView<const double> values(systems.values.data(), systems.pattern.nonzeros(), 4,
                                       systems.pattern.nonzeros());
  const DenseBatch<const double> B(systems.b.data(), 20, 1, 4, Device());
  const DenseBatch<double> X(systems.x.data(), 20, 1, 4, Device());
  const DenseBatch<double> three(systems.x.data(), 20, 1, 3, Device());
  const DenseView<const double> short_values(systems.values.data(), 7, 4, 7);
  EXPECT_THROW(static_cast<void>(solver.solve(values, B, three)), DimensionMismatch);
  EXPECT_THROW(static_cast<void>(solver.solve(short_values, B, X)), DimensionMismatch);
  EXPECT_THROW(SparseBatchSolver<double>(Csr<double>::from_triplets(2, 3, {{0, 0, 1.0}})), DimensionMismatch);
}

TEST(EliminationProgram, TooManyTargets_GiveNone) {
  const std::vector<std::int64_t> offsets = {0, 2, 4};
  const std::vector<std::int32_t> indices = {0, 1, 0, 1};
  EXPECT_TRUE(sparse_direct::plan_elimination({offsets, indices}, {0, 1}, {0, 1}, 1).has_value());
  EXPECT_FALSE(sparse_direct::plan_elimination({offsets, indices}, {0, 1}, {0, 1}, 0).has_value());
}

TEST(EliminationProgram, Arrow_FillsInOnlyInTheBadOrder) {
  // A full first row and column, and a diagonal.
  const std::vector<std::int64_t> offsets = {0, 4, 6, 8, 10};
  const std::vector<std::int32_t> indices = {0, 1, 2, 3, 0, 1, 0, 2, 0, 3};
  const auto bad = sparse_direct::plan_elimination({offsets, indices}, {0, 1, 2, 3}, {0, 1, 2, 3}, 1000);
  const auto good = sparse_direct::plan_elimination({offsets, indices}, {3, 2, 1, 0}, {3, 2, 1, 0}, 1000);
  EXPECT_EQ(bad->entries(), 16);
  EXPECT_EQ(bad->forward.offsets.size(), 5U);
  EXPECT_EQ(good->entries(), 10);
  EXPECT_EQ(good->forward.offsets.size(), 3U);                           // three rows, then the last
  EXPECT_EQ(bad->followers, (std::vector<std::int32_t>{1, 2, 3, -1}));   // the factors are full
  EXPECT_EQ(good->followers, (std::vector<std::int32_t>{3, 3, 3, -1}));  // each row has the last column alone
}

}  // namespace
}  // namespace echelon::test
