// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gpu_fixture.hpp"
#include "support/dense/batches.hpp"

#include <gtest/gtest.h>

namespace echelon::test {
namespace {

template <class T>
class GpuBatchedOf : public GpuTest {
 protected:
  using GpuTest::gpu;
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuBatchedOf, Reals);

TYPED_TEST(GpuBatchedOf, Invert_EachMatrixHasItsInverse) {
  for (const std::int64_t n : {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 200}) {
    check_inverses<TypeParam>(this->gpu, n, n > 20 ? 7 : 50);
  }
  for (const std::int64_t n : {130, 300, 513, 640, 1000}) check_inverses<TypeParam>(this->gpu, n, 3);
}

TYPED_TEST(GpuBatchedOf, Solve_EachSystemHasItsSolution) {
  for (const std::int64_t n :
       {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 150, 257, 512, 513}) {
    for (const std::int64_t k : {0, 1, 4}) check_solutions<TypeParam>(this->gpu, n, k, 9);
  }
  for (const std::int64_t n : {640, 1025, 1700, 2100}) check_solutions<TypeParam>(this->gpu, n, 35, 3);
  check_solutions<TypeParam>(this->gpu, 4200, 2, 2);  // a matrix in eight blocks of threads
}

TYPED_TEST(GpuBatchedOf, Pivots_AreThoseOfTheHost) {
  for (const std::int64_t n : {2, 3, 4, 6, 9, 17, 40, 70})
    check_ties<TypeParam>(this->gpu, n, n < 10 ? 40 : 6);
}

TYPED_TEST(GpuBatchedOf, EmptyBatch_HasNoOutcomes) {
  using T = TypeParam;
  Array<T> nothing(this->gpu, 0);
  EXPECT_EQ(invert_batch(DenseBatch<T>(nothing.data(), 1, 1, 0, this->gpu)).size(), 0);
  EXPECT_EQ(invert_batch(DenseBatch<T>(nothing.data(), 0, 0, 4, this->gpu)).to_vector()[3].status,
            Status::direct);
}

TYPED_TEST(GpuBatchedOf, Factors_EachMatrixIsSolvedTwice) {
  for (const BatchFactorization kind : {BatchFactorization::lu, BatchFactorization::cholesky}) {
    for (const std::int64_t n : {1,  2,  3,  4,   5,   7,   8,   9,   15,  16,  17,  31,  32, 33,
                                 63, 64, 65, 100, 128, 129, 200, 255, 256, 257, 300, 511, 512}) {
      check_factors<TypeParam>(this->gpu, kind, n, 1, n > 200 ? 7 : 20);
    }
    for (const std::int64_t n : {513, 527, 528, 640, 769, 1100, 1601}) {
      check_factors<TypeParam>(this->gpu, kind, n, 1, 3);
      check_factors<TypeParam>(this->gpu, kind, n, 33, 3);
    }
    for (const std::int64_t n : {1, 2, 4, 5, 16, 20, 32, 40, 64, 130, 270}) {
      for (const std::int64_t k : {0, 2, 4, 11}) check_factors<TypeParam>(this->gpu, kind, n, k, 7);
    }
  }
}

TYPED_TEST(GpuBatchedOf, Factors_OfManyMatrices) {
  check_factors<TypeParam>(this->gpu, BatchFactorization::lu, 20, 1, 3000);
  check_factors<TypeParam>(this->gpu, BatchFactorization::cholesky, 20, 1, 3000);
}

TYPED_TEST(GpuBatchedOf, Factors_OfFewDifferentNumbers) {
  for (const std::int64_t n : {2, 3, 4, 6, 9, 17, 40}) {
    check_factor_ties<TypeParam>(this->gpu, n, n < 10 ? 60 : 12);
  }
}

TYPED_TEST(GpuBatchedOf, EmptyFactors_SolveNothing) {
  check_empty_factors<TypeParam>(this->gpu);
}

TYPED_TEST(GpuBatchedOf, TooManyRows_Throw) {
  using T = TypeParam;
  constexpr std::int64_t n = BatchFactors<T>::max_gpu_rows + 1;
  Array<T> a(this->gpu, n * n);
  EXPECT_THROW(BatchFactors<T>(DenseBatch<T>(a.data(), n, n, 1, this->gpu), BatchFactorization::lu),
               InvalidMatrix);
}

}  // namespace
}  // namespace echelon::test
