// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gpu_fixture.hpp"
#include "support/dense/symmetric.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace echelon::test {
namespace {

template <class T>
class GpuCholeskyOf : public GpuTest {
 protected:
  using GpuTest::gpu;

  /// Expects the status of the host and equally accurate solutions.
  void expect_like_host(const Dense<T>& a, std::int64_t columns, const CholeskyOptions& options) const {
    SCOPED_TRACE("n = " + std::to_string(a.rows()) + ", " + std::to_string(columns) + " right-hand sides");
    const Dense<T> on_gpu = a.to(gpu);
    Cholesky<T> cholesky(gpu, options);
    Cholesky<T> host({}, options);
    const Report setup = cholesky.factor(on_gpu);
    const Report expected = host.factor(a);
    EXPECT_EQ(setup.status, expected.status) << setup.message;
    EXPECT_EQ(setup.row, expected.row);
    if (!expected.ready()) return;
    ASSERT_TRUE(setup.reciprocal_condition);
    EXPECT_GT(*setup.reciprocal_condition / *expected.reciprocal_condition, 0.05);
    EXPECT_LT(*setup.reciprocal_condition / *expected.reciprocal_condition, 20);
    const Dense<T> b = random_dense<T>(a.rows(), columns, 17);
    Dense<T> x(gpu, a.rows(), columns);
    const Report report = cholesky.solve(b.to(gpu), x);
    EXPECT_TRUE(report.solved()) << report.message;
    EXPECT_LT(scaled_residual<T>(a, x.to(Device()), b), 30);
  }
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuCholeskyOf, Reals);

TYPED_TEST(GpuCholeskyOf, PositiveDefinite_LikeHost) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 15, 16, 17, 31, 63, 64, 65, 127, 128, 129, 200, 513, 1025}) {
    for (const std::int64_t refine : {0, 1}) {
      this->expect_like_host(positive_definite<T>(n, 1), 1, {.refine = refine});
    }
    this->expect_like_host(scaled_symmetrically(positive_definite<T>(n, 2)), 3, {});
  }
  for (const std::int64_t columns : {1, 7, 8, 33})
    this->expect_like_host(positive_definite<T>(150, 3), columns, {});
}

TYPED_TEST(GpuCholeskyOf, IllConditioned_LikeHost) {
  using T = TypeParam;
  this->expect_like_host(hilbert<T>(std::is_same_v<T, double> ? 8 : 4), 1, {});
  const Dense<T> singular = hilbert<T>(std::is_same_v<T, double> ? 12 : 7).to(this->gpu);
  Cholesky<T> cholesky(this->gpu);
  const Report report = cholesky.factor(singular);
  EXPECT_TRUE(report.status == Status::singular || report.status == Status::not_spd) << report.message;
}

TYPED_TEST(GpuCholeskyOf, NotPositive_FirstColumnWithItsValue) {
  using T = TypeParam;
  for (const std::int64_t n : {5, 64, 130, 700}) {
    for (const std::int64_t column : {std::int64_t{0}, n / 2, n - 1}) {
      for (const bool equilibrate : {false, true}) {
        Dense<T> a = identity<T>(n);
        a(column, column) = -2;
        Cholesky<T> cholesky(this->gpu, {.equilibrate = equilibrate});
        const Dense<T> on_gpu = a.to(this->gpu);
        const Report report = cholesky.factor(on_gpu);
        EXPECT_EQ(report.status, Status::not_spd);
        EXPECT_EQ(report.row, column);
        EXPECT_NE(report.message.find("is -2"), std::string::npos) << report.message;
      }
    }
    Dense<T> a = positive_definite<T>(n, 4);
    a(n - 1, n - 1) = a(n / 3, n / 3) = T{-0.5};
    this->expect_like_host(a, 1, {});
  }
  Dense<T> ones(Device(), 3, 3);
  for (std::int64_t e = 0; e < 9; ++e) ones[e] = 1;
  const Dense<T> ones_on_gpu = ones.to(this->gpu);
  Cholesky<T> cholesky(this->gpu);
  EXPECT_EQ(cholesky.factor(ones_on_gpu).row, 1);
}

/// Sizes from which panels are factored concurrently with the products of earlier panels.
TYPED_TEST(GpuCholeskyOf, SeveralPanels_LikeHost) {
  using T = TypeParam;
  for (const std::int64_t n : {4097, 5183}) this->expect_like_host(positive_definite<T>(n, 10), 2, {});
  const std::int64_t n = 5000;
  for (const std::int64_t column : {1023, 1024, 3000, 4999}) {
    Dense<T> a = identity<T>(n);
    a(column, column) = a(n - 1, n - 1) = -2;
    const Dense<T> on_gpu = a.to(this->gpu);
    Cholesky<T> cholesky(this->gpu);
    const Report report = cholesky.factor(on_gpu);
    EXPECT_EQ(report.status, Status::not_spd);
    EXPECT_EQ(report.row, column);
  }
}

TYPED_TEST(GpuCholeskyOf, NotSymmetric_PlaceOfTheHost) {
  using T = TypeParam;
  for (const auto& [row, column] : {std::pair(66, 3), std::pair(1, 0), std::pair(69, 68)}) {
    Dense<T> a = identity<T>(70);
    a(row, column) = 1;
    a(69, 60) = 1;
    Cholesky<T> host;
    Cholesky<T> cholesky(this->gpu);
    const Dense<T> on_gpu = a.to(this->gpu);
    const Report report = cholesky.factor(on_gpu);
    EXPECT_EQ(report.status, Status::not_spd);
    EXPECT_EQ(report.message, host.factor(a).message);
  }
}

TYPED_TEST(GpuCholeskyOf, SameBits_EveryTime) {
  using T = TypeParam;
  const Dense<T> a = positive_definite<T>(900, 5).to(this->gpu);
  const Dense<T> b = random_dense<T>(900, 1, 6).to(this->gpu);
  std::vector<T> first;
  for (int run = 0; run < 3; ++run) {
    Cholesky<T> cholesky(this->gpu);
    ASSERT_TRUE(cholesky.factor(a).ready());
    for (int solve = 0; solve < 3; ++solve) {
      Dense<T> x(this->gpu, 900, 1);
      ASSERT_TRUE(cholesky.solve(b, x).solved());
      if (first.empty()) first = x.to_vector();
      EXPECT_EQ(x.to_vector(), first);
    }
  }
}

TYPED_TEST(GpuCholeskyOf, Empty_NotANumber_UsedAgain) {
  using T = TypeParam;
  Cholesky<T> cholesky(this->gpu);
  const Dense<T> empty(this->gpu, 0, 0);
  EXPECT_TRUE(cholesky.factor(empty).ready());
  Dense<T> nothing(this->gpu, 0, 1);
  EXPECT_TRUE(cholesky.solve(Dense<T>(this->gpu, 0, 1), nothing).solved());
  Dense<T> a = positive_definite<T>(70, 7);
  a(69, 2) = a(2, 69) = std::numeric_limits<T>::quiet_NaN();
  const Dense<T> with_nan = a.to(this->gpu);
  EXPECT_EQ(cholesky.factor(with_nan).status, Status::not_a_number);
  for (const std::int64_t n : {40, 7, 90}) {
    const Dense<T> again = positive_definite<T>(n, 8);
    const Dense<T> on_gpu = again.to(this->gpu);
    const Dense<T> b = random_dense<T>(n, 1, 9);
    Dense<T> x(this->gpu, n, 1);
    ASSERT_TRUE(cholesky.factor(on_gpu).ready());
    EXPECT_TRUE(cholesky.solve(b.to(this->gpu), x).solved());
    EXPECT_LT(scaled_residual<T>(again, x.to(Device()), b), 30);
  }
}

}  // namespace
}  // namespace echelon::test
