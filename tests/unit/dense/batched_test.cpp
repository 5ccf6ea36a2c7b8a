// SPDX-License-Identifier: BSD-3-Clause
#include "support/dense/batches.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

namespace echelon::test {
namespace {

template <class T>
class BatchedOf : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(BatchedOf, Reals);

TYPED_TEST(BatchedOf, Invert_EachMatrixHasItsInverse) {
  for (const Device& device : {Device::serial(), Device::openmp(3)}) {
    for (const std::int64_t n : {1, 2, 5, 16, 33, 130}) check_inverses<TypeParam>(device, n, n > 50 ? 7 : 15);
  }
}

TYPED_TEST(BatchedOf, Solve_EachSystemHasItsSolution) {
  for (const Device& device : {Device::serial(), Device::openmp(3)}) {
    for (const std::int64_t n : {1, 2, 5, 16, 33}) {
      for (const std::int64_t k : {0, 1, 4}) check_solutions<TypeParam>(device, n, k, 9);
    }
  }
}

TYPED_TEST(BatchedOf, EmptyBatch_HasNoOutcomes) {
  using T = TypeParam;
  T element = 3;
  EXPECT_EQ(invert_batch(DenseBatch<T>(&element, 1, 1, 0, Device())).size(), 0);
  const Array<BatchOutcome> outcomes = invert_batch(DenseBatch<T>(&element, 0, 0, 4, Device()));
  EXPECT_EQ(outcomes.size(), 4);
  EXPECT_EQ(outcomes[3].status, Status::direct);
  EXPECT_EQ(element, 3);
}

TYPED_TEST(BatchedOf, WrongShapes_Throw) {
  using T = TypeParam;
  T elements[16] = {};
  const Device host;
  const DenseBatch<T> square(elements, 2, 2, 4, host);
  const DenseBatch<const T> constant(elements, 2, 2, 4, host);
  EXPECT_THROW(static_cast<void>(invert_batch(DenseBatch<T>(elements, 2, 3, 2, host))), DimensionMismatch);
  EXPECT_THROW(static_cast<void>(invert_batch(DenseBatch<T>(elements, 2, 2, 2, 1, 4, host))),
               DimensionMismatch);
  EXPECT_THROW(static_cast<void>(invert_batch(DenseBatch<T>(elements, 2, 2, 2, 2, 3, host))),
               DimensionMismatch);
  EXPECT_THROW(static_cast<void>(solve_batch(constant, DenseBatch<T>(elements, 2, 1, 3, host))),
               DimensionMismatch);
  EXPECT_THROW(static_cast<void>(solve_batch(constant, DenseBatch<T>(elements, 1, 1, 4, host))),
               DimensionMismatch);
  EXPECT_THROW(static_cast<void>(invert_batch(square, {.tolerance = -1.0})), BadOption);
  EXPECT_THROW(static_cast<void>(invert_batch(square, {.refine = 11})), BadOption);
}

TYPED_TEST(BatchedOf, Factors_EachMatrixIsSolvedTwice) {
  for (const Device& device : {Device::serial(), Device::openmp(3)}) {
    for (const BatchFactorization kind : {BatchFactorization::lu, BatchFactorization::cholesky}) {
      for (const std::int64_t n : {1, 2, 5, 16, 33, 130}) {
        for (const std::int64_t k : {0, 1, 4}) check_factors<TypeParam>(device, kind, n, k, 9);
      }
    }
    check_empty_factors<TypeParam>(device);
  }
}

TEST(Batched, FactorsOfWrongShapes_Throw) {
  double elements[16] = {};
  const Device host;
  const auto lu = BatchFactorization::lu;
  EXPECT_THROW(BatchFactors<double>(DenseBatch<double>(elements, 2, 3, 2, host), lu), DimensionMismatch);
  const DenseBatch<double> square(elements, 2, 2, 4, host);
  EXPECT_THROW(BatchFactors<double>(square, lu, {.tolerance = 2.0}), BadOption);
  const BatchFactors<double> factors(square, lu);
  EXPECT_EQ(factors.outcomes()[0].status, Status::singular);
  EXPECT_THROW(factors.solve(DenseBatch<double>(elements, 2, 1, 3, host)), DimensionMismatch);
}

TEST(Batched, CholeskyTolerance_IsRelativeToTheDiagonal) {
  std::vector<double> a = {1, 0, 0, 1e-30};
  const auto cholesky = BatchFactorization::cholesky;
  const DenseBatch<double> batch(a.data(), 2, 2, 1, Device());
  EXPECT_EQ(BatchFactors<double>(batch, cholesky).outcomes()[0].status, Status::direct);
  a = {1, 1, 0, 1 + 1e-9};
  EXPECT_EQ(BatchFactors<double>(batch, cholesky).outcomes()[0].status, Status::direct);
  a = {1, 1, 0, 1 + 1e-9};
  const BatchFactors<double> rejected(batch, cholesky, {.tolerance = 1e-8});
  EXPECT_EQ(rejected.outcomes()[0].status, Status::singular);
  EXPECT_EQ(rejected.outcomes()[0].column, 1);
}

TEST(Batched, Tolerance_IsRelativeAndAnOption) {
  std::vector<double> a = {1, 0, 0, 1e-9};
  const DenseBatch<double> batch(a.data(), 2, 2, 1, Device());
  EXPECT_EQ(invert_batch(batch, {.tolerance = 1e-8})[0].column, 1);
  a = {1, 0, 0, 1e-9};
  EXPECT_EQ(invert_batch(batch)[0].status, Status::direct);
  EXPECT_NEAR(a[3], 1e9, 1);
}

}  // namespace
}  // namespace echelon::test
