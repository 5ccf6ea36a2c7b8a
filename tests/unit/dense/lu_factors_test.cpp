// SPDX-License-Identifier: BSD-3-Clause
#include "support/dense/lu_factors_cases.hpp"

#include <echelon/echelon.hpp>

namespace echelon::test {
namespace {

template <class T>
class LuFactorsOf : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(LuFactorsOf, Reals);

TYPED_TEST(LuFactorsOf, AnyShape_AgreesWithGetrf) {
  for (const Device& device : {Device::serial(), Device::openmp(2)}) check_lu_factors<TypeParam>(device);
}

TYPED_TEST(LuFactorsOf, ZeroColumnsAndNan_AreReported) {
  for (const Device& device : {Device::serial(), Device::openmp(2)}) {
    check_lu_factors_of_special_matrices<TypeParam>(device);
  }
}

TYPED_TEST(LuFactorsOf, SparseMatrixAndView_AreFactored) {
  using T = TypeParam;
  const Csr<T> sparse = Csr<T>::from_triplets(3, 2, {{0, 0, 1}, {1, 0, 2}, {2, 1, 3}});
  const LuFactors<T> factors = lu_factor(MatrixRef<T>(sparse));
  expect_factors(to_dense<T>(sparse), factors);
  EXPECT_EQ(factors.row_exchanges, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(factors.row_permutation(), (std::vector<std::int64_t>{1, 2, 0}));
  const std::vector<T> by_row = {1, 2, 3, 4, 5, 6};
  const DenseView<const T> view(by_row.data(), 2, 3, 3, Device(), Layout::row_major);
  EXPECT_EQ(lu_factor(MatrixRef<T>(view)).upper().to_vector(),
            (std::vector<T>{4, 0, 5, 2 - T{5} / 4, 6, 3 - T{6} / 4}));
}

TEST(LuFactors, NoGpu_Throws) {
  if (cuda_device_count() > 0) GTEST_SKIP() << "there is one";
  EXPECT_THROW(static_cast<void>(lu_factor(identity<double>(2), Device::cuda())), Error);
}

}  // namespace
}  // namespace echelon::test
