// SPDX-License-Identifier: BSD-3-Clause
#include "support/gallery.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

namespace echelon::test {
namespace {

template <class T>
class GaussJordanStripedOf : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GaussJordanStripedOf, Reals);

template <class T>
Dense<T> dominant(std::int64_t n) {
  Dense<T> a = random_dense<T>(n, n, 5);
  for (std::int64_t i = 0; i < n; ++i) a(i, i) = static_cast<T>(n + 1);
  return a;
}

TYPED_TEST(GaussJordanStripedOf, EveryStripeHeight_IsSolved) {
  using T = TypeParam;
  for (const Device& device : {Device::serial(), Device::openmp(3)}) {
    for (const std::int64_t n : {0, 1, 2, 31, 32, 33, 63, 64, 65, 129}) {
      for (const std::int64_t stripe : {1, 7, 32, 200}) {
        GaussJordanStriped<T> method(device, {.stripe = stripe});
        const Dense<T> a = dominant<T>(n);
        const Dense<T> b = random_dense<T>(n, 3, 6);
        Dense<T> x(Device(), n, 3);
        ASSERT_EQ(method.setup(a).status, Status::ready);
        ASSERT_EQ(method.solve(b, x).status, Status::direct);
        EXPECT_LT(scaled_residual<T>(a, x, b), 30) << n << ", stripes of " << stripe;
      }
    }
  }
}

/// The order of the operations on an element does not depend on where the cuts are, nor on the threads.
TYPED_TEST(GaussJordanStripedOf, AnyStripeHeight_GivesTheSameBits) {
  using T = TypeParam;
  const std::int64_t n = 150;
  const Dense<T> a = dominant<T>(n);
  const Dense<T> b = random_dense<T>(n, 1, 6);
  std::vector<T> first;
  for (const Device& device : {Device::serial(), Device::openmp(2), Device::openmp(3)}) {
    for (const std::int64_t stripe : {32, 1, 50}) {
      GaussJordanStriped<T> method(device, {.stripe = stripe});
      method.setup(a);
      Dense<T> x(Device(), n, 1);
      EXPECT_EQ(method.solve(b, x).status, Status::direct);
      if (first.empty()) first = x.to_vector();
      EXPECT_EQ(x.to_vector(), first);
    }
  }
}

TYPED_TEST(GaussJordanStripedOf, ZeroPivot_IsReported) {
  using T = TypeParam;
  Dense<T> a = identity<T>(70);
  a(40, 40) = 0;
  a(40, 41) = a(41, 40) = 1;  // regular, but not without pivoting
  GaussJordanStriped<T> method;
  const Report report = method.setup(a);
  EXPECT_EQ(report.status, Status::breakdown);
  EXPECT_EQ(report.row, 40);
}

}  // namespace
}  // namespace echelon::test
