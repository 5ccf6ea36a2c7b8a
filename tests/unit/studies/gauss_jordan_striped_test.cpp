// SPDX-License-Identifier: BSD-3-Clause
#include "support/gallery.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

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

/// Subtracting rows of zeros changes no bit.
TYPED_TEST(GaussJordanStripedOf, PublishedSecondPass_GivesTheSameBits) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 33, 100}) {
    const Dense<T> a = dominant<T>(n);
    const Dense<T> b = random_dense<T>(n, 2, 6);
    std::vector<std::vector<T>> answers;
    for (const SecondPass pass : {SecondPass::shortened, SecondPass::published}) {
      GaussJordanStriped<T> method(Device::openmp(2), {.stripe = 7, .second_pass = pass});
      Dense<T> x(Device(), n, 2);
      method.setup(a);
      EXPECT_EQ(method.solve(b, x).status, Status::direct);
      answers.push_back(x.to_vector());
    }
    EXPECT_EQ(answers[0], answers[1]);
  }
}

/// R of m equations in n unknowns: the identity, then A1^-1 A2 by the elimination with pivoting.
TYPED_TEST(GaussJordanStripedOf, AnyShape_IsReduced) {
  using T = TypeParam;
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{0, 3},
                             {3, 0},
                             {1, 1},
                             {1, 5},
                             {5, 1},
                             {33, 33},
                             {31, 64},
                             {64, 31},
                             {70, 100}}) {
    Dense<T> a = random_dense<T>(m, n, 5);
    for (std::int64_t i = 0; i < std::min(m, n); ++i) a(i, i) = static_cast<T>(m + n + 1);
    const EchelonForm<T> expected = RowReduction<T>().reduce(MatrixRef<T>(a));
    for (const SecondPass pass : {SecondPass::shortened, SecondPass::published}) {
      const EchelonForm<T> form = reduce_striped(a, {.stripe = 8, .second_pass = pass});
      ASSERT_TRUE(form.report.solved()) << form.report;
      EXPECT_EQ(form.facts.rank, std::min(m, n));
      EXPECT_FALSE(form.facts.doubtful);
      EXPECT_EQ(form.pivot_columns, expected.pivot_columns);
      EXPECT_EQ(form.determinant.has_value(), m == n);
      ASSERT_EQ(form.R.rows(), m);
      ASSERT_EQ(form.R.columns(), n);
      for (std::int64_t k = 0; k < m * n; ++k)
        ASSERT_NEAR(form.R.data()[k], expected.R.data()[k], 100 * std::numeric_limits<T>::epsilon())
            << m << " " << n;
    }
  }
}

TYPED_TEST(GaussJordanStripedOf, ReductionRefused_SaysWhy) {
  using T = TypeParam;
  Dense<T> a = identity<T>(3);
  a(1, 1) = 0;
  const EchelonForm<T> zero = reduce_striped(a);
  EXPECT_EQ(zero.report.status, Status::breakdown);
  EXPECT_EQ(zero.report.row, 1);
  a(1, 1) = std::numeric_limits<T>::quiet_NaN();
  EXPECT_EQ(reduce_striped(a).report.status, Status::not_a_number);
  a(1, 1) = std::numeric_limits<T>::epsilon();
  const EchelonForm<T> small = reduce_striped(a);
  EXPECT_TRUE(small.facts.doubtful);
  EXPECT_EQ(small.report.warnings.size(), 1U);
  EXPECT_THROW(static_cast<void>(reduce_striped(a, {.stripe = 0})), BadOption);
  EXPECT_THROW(static_cast<void>(reduce_striped(a, Options{{"strip", 3}})), BadOption);
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
