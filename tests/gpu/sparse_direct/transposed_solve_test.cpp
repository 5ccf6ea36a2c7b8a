// SPDX-License-Identifier: BSD-3-Clause
/// Solves with the transpose of banded-lu and sparse-lu on a GPU.
#include "gpu/gpu_fixture.hpp"
#include "support/transposed_cases.hpp"

namespace echelon::test {
namespace {

template <class T>
class GpuTransposedSolveOf : public GpuTest {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuTransposedSolveOf, Reals);

TYPED_TEST(GpuTransposedSolveOf, SparseLu_LikeLapack) {
  check_transposed_solves<SparseLu<TypeParam>, TypeParam>(this->gpu);
  check_transposed_singular<SparseLu<TypeParam>, TypeParam>(this->gpu);
}

TYPED_TEST(GpuTransposedSolveOf, BandedLu_LikeLapack) {
  check_transposed_solves<BandedLu<TypeParam>, TypeParam>(this->gpu);
  check_transposed_singular<BandedLu<TypeParam>, TypeParam>(this->gpu);
  expect_transposed_solved<BandedLu<TypeParam>>(this->gpu, shuffled_band<TypeParam>(3000, 1, 1.0, 5), 2);
}

}  // namespace
}  // namespace echelon::test
