// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gpu_fixture.hpp"
#include "support/gallery.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace echelon::test {
namespace {

template <class T>
class GpuGaussJordanStripedOf : public GpuTest {
 protected:
  using GpuTest::gpu;
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuGaussJordanStripedOf, Reals);

TYPED_TEST(GpuGaussJordanStripedOf, EveryStripeHeight_IsSolved) {
  using T = TypeParam;
  for (const std::int64_t n : {0, 1, 2, 31, 32, 33, 64, 65, 129}) {
    for (const std::int64_t stripe : {1, 7, 32, 50, 200}) {
      Dense<T> a = random_dense<T>(n, n, 5);
      for (std::int64_t i = 0; i < n; ++i) a(i, i) = static_cast<T>(n + 1);
      const Dense<T> b = random_dense<T>(n, 3, 6);
      const Dense<T> a_there = a.to(this->gpu);
      const Dense<T> b_there = b.to(this->gpu);
      Dense<T> x(this->gpu, n, 3);
      GaussJordanStriped<T> method(this->gpu, {.stripe = stripe});
      ASSERT_EQ(method.setup(a_there).status, Status::ready);
      ASSERT_EQ(method.solve(b_there, x).status, Status::direct);
      EXPECT_LT(scaled_residual<T>(a, x.to(Device()), b), 30) << n << ", stripes of " << stripe;
    }
  }
}

TYPED_TEST(GpuGaussJordanStripedOf, AnyShape_IsReducedAsOnTheHost) {
  using T = TypeParam;
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{0, 3},
                             {1, 1},
                             {5, 1},
                             {33, 33},
                             {31, 64},
                             {64, 31},
                             {70, 150}}) {
    for (const std::int64_t stripe : {8, 32}) {
      Dense<T> a = random_dense<T>(m, n, 5);
      for (std::int64_t i = 0; i < std::min(m, n); ++i) a(i, i) = static_cast<T>(m + n + 1);
      const EchelonForm<T> expected = reduce_striped(a, {.stripe = stripe});
      const Dense<T> there = a.to(this->gpu);
      const EchelonForm<T> form = reduce_striped(there, {.stripe = stripe});
      const EchelonForm<T> published =
          reduce_striped(there, {.stripe = stripe, .second_pass = SecondPass::published});
      ASSERT_TRUE(form.report.solved());
      const std::vector<T> elements = form.R.to_vector();
      EXPECT_EQ(elements, published.R.to_vector()) << m << " by " << n << ", stripes of " << stripe;
      for (std::size_t k = 0; k < elements.size(); ++k)
        ASSERT_NEAR(elements[k], expected.R.data()[k], 100 * std::numeric_limits<T>::epsilon());
    }
  }
}

TYPED_TEST(GpuGaussJordanStripedOf, ZeroPivot_IsReported) {
  using T = TypeParam;
  Dense<T> a = identity<T>(70);
  a(40, 40) = 0;
  a(40, 41) = a(41, 40) = 1;  // regular, but not without pivoting
  const Dense<T> there = a.to(this->gpu);
  GaussJordanStriped<T> method(this->gpu);
  const Report report = method.setup(there);
  EXPECT_EQ(report.status, Status::breakdown);
  EXPECT_EQ(report.row, 40);
}

}  // namespace
}  // namespace echelon::test
