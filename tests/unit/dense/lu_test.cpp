// SPDX-License-Identifier: BSD-3-Clause
// What `lu` does beyond the methods of dense_lu_test.cpp.
#include "support/gallery.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <variant>
#include <vector>

namespace echelon {
namespace {

using test::random_dense;
using test::scaled_residual;

constexpr double passing = 30;  // LAPACK's threshold
const std::vector<Device> host_devices = {Device::serial(), Device::openmp(2)};

template <class T>
class LuOf : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(LuOf, Reals);

std::string text(const Report& report, const char* name) {
  const Statistic* found = report.find_statistic(name);
  return found == nullptr ? "" : std::get<std::string>(found->value);
}

template <class T>
Dense<T> lapack_check(std::int64_t n, std::int64_t type) {
  return std::get<Dense<T>>(make_matrix<T>("lapack-check", {{"n", n}, {"type", type}}));
}

TYPED_TEST(LuOf, PassesLapacksTests) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 3, 5, 10, 50}) {
    for (std::int64_t type = 1; type <= 11; ++type) {
      SCOPED_TRACE("n = " + std::to_string(n) + ", type " + std::to_string(type));
      const Dense<T> a = lapack_check<T>(n, type);
      for (const Device& device : host_devices) {
        Lu<T> lu(device);
        const Report setup = lu.factor(a);
        if (type >= 5 && type <= 7) {
          EXPECT_EQ(setup.status, Status::singular);
          continue;
        }
        for (const std::int64_t right_hand_sides : {1, 2, 15}) {
          const Dense<T> b = random_dense<T>(n, right_hand_sides, 3);
          Dense<T> x(Device(), n, right_hand_sides);
          const Report report = lu.solve(b, x);
          EXPECT_TRUE(report.solved() || setup.status == Status::singular) << report.message;
          EXPECT_LT(scaled_residual<T>(a, x, b), passing);
        }
      }
    }
  }
}

/// Well-conditioned matrices on which partial pivoting multiplies elements by up to 2^299: x is known to
/// almost all digits.
TYPED_TEST(LuOf, LargeGrowth_IsCuredByButterflies) {
  using T = TypeParam;
  for (const char* generator : {"gepp-growth", "gfpp", "foster", "wright"}) {
    for (const std::int64_t n : {300, 302}) {
      SCOPED_TRACE(generator);
      const auto a = std::get<Dense<T>>(make_matrix<T>(generator, {{"n", n}}));
      const Dense<T> x_true = random_dense<T>(n, 2, 4);
      Dense<T> b(Device(), n, 2);
      multiply<T>(T{1}, a, x_true, T{0}, b);
      for (const Device& device : host_devices) {
        Lu<T> lu(device);
        const Report setup = lu.factor(a);
        EXPECT_EQ(setup.status, Status::ready) << setup.message;
        ASSERT_EQ(setup.warnings.size(), 1u);
        EXPECT_NE(setup.warnings.front().find("butterfly"), std::string::npos) << setup.warnings.front();
        EXPECT_EQ(text(setup, "factorization"), "butterfly-lu");
        EXPECT_GT(*setup.reciprocal_condition, 1e-5);
        Dense<T> x(Device(), n, 2);
        const Report report = lu.solve(b, x);
        EXPECT_EQ(report.status, Status::direct) << report.message;
        EXPECT_LT(scaled_residual<T>(a, x, b), passing);
        const double tolerance = 1e3 * std::numeric_limits<T>::epsilon() / *setup.reciprocal_condition;
        for (std::int64_t k = 0; k < 2 * n; ++k) ASSERT_NEAR(x[k], x_true[k], tolerance);
      }
    }
  }
}

/// Growth that refinement repairs costs no second factorisation.
TYPED_TEST(LuOf, ModerateGrowth_IsLeftToRefinement) {
  using T = TypeParam;
  const std::int64_t n = std::is_same_v<T, double> ? 36 : 20;
  const Dense<T> a = test::growing<T>(n);
  const Dense<T> b = random_dense<T>(n, 1, 4);
  Dense<T> x(Device(), n, 1);
  for (const std::int64_t refine : {0, 3}) {
    Lu<T> lu({}, {.refine = refine});
    const Report setup = lu.factor(a);
    EXPECT_EQ(text(setup, "factorization"), refine > 0 ? "lu" : "butterfly-lu");
    EXPECT_TRUE(lu.solve(b, x).solved());
    EXPECT_LT(scaled_residual<T>(a, x, b), passing);
  }
}

/// A singular matrix stays singular after every transformation.
TYPED_TEST(LuOf, SingularWithGrowth_IsSingular) {
  using T = TypeParam;
  const std::int64_t n = 200;
  Dense<T> a = test::growing<T>(n);
  for (std::int64_t i = 0; i < n; ++i) a(i, 100) = a(i, 99);
  Lu<T> lu;
  const Report setup = lu.factor(a);
  EXPECT_EQ(setup.status, Status::singular) << setup.message;
}

}  // namespace
}  // namespace echelon
