// SPDX-License-Identifier: BSD-3-Clause
// Properties of `lu` that the other methods of dense_lu_test.cpp lack.
#include "support/gallery.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
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

/// Elements double with every column of I - L + e e_n^T, whose condition number is about n: answers to random
/// right-hand sides, which the test of the factors has not seen, are accurate for every n.
TEST(Lu, GrowthOfEverySize_BackwardErrorIsRounding) {
  for (std::int64_t n = 20; n <= 100; n += 5) {
    Dense<double> a(Device(), n, n);
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < n; ++i) a(i, j) = j == n - 1 || i == j ? 1 : i > j ? -1 : 0;
    }
    const Dense<double> b = random_dense<double>(n, 8, static_cast<std::uint64_t>(n));
    Lu<double> lu(Device::serial());
    EXPECT_TRUE(lu.factor(a).ready());
    Dense<double> x(Device(), n, 8);
    const Report report = lu.solve(b, x);
    EXPECT_TRUE(report.solved());
    for (const ColumnReport& column : report.columns) EXPECT_LT(column.backward_error, 2e-15) << n;
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

/// Scaled, far beyond the range of T, and after butterflies: |det| of the matrix of growth is 2^(n-1).
TYPED_TEST(LuOf, Determinant_TransformedMatrices) {
  using T = TypeParam;
  const std::int64_t n = 301;
  const Dense<T> growing = test::growing<T>(n);
  Lu<T> lu;
  EXPECT_EQ(text(lu.factor(growing), "factorization"), "butterfly-lu");
  EXPECT_EQ(lu.determinant().sign, 1);
  EXPECT_NEAR(lu.determinant().log10(), static_cast<double>(n - 1) * std::log10(2.0), 1e-3);
  Dense<T> diagonal = test::identity<T>(n);
  for (std::int64_t i = 0; i < n; ++i) diagonal(i, i) = static_cast<T>(i % 2 == 0 ? -1e10 : 1e9);
  lu.factor(diagonal);
  EXPECT_EQ(lu.determinant().sign, -1);
  EXPECT_NEAR(lu.determinant().log10(), 151 * 10 + 150 * 9, 1e-3);
}

TYPED_TEST(LuOf, Determinant_SingularOrMissing) {
  using T = TypeParam;
  Lu<T> lu;
  EXPECT_THROW(static_cast<void>(lu.determinant()), Error);
  Dense<T> a = test::identity<T>(5);
  lu.factor(a);
  EXPECT_EQ(lu.determinant().value(), 1);
  a(3, 3) = 0;
  lu.factor(a);
  EXPECT_EQ(lu.determinant().sign, 0);
  EXPECT_EQ(lu.determinant().value(), 0);
  a(3, 3) = std::numeric_limits<T>::quiet_NaN();
  lu.factor(a);
  EXPECT_THROW(static_cast<void>(lu.determinant()), Error);
  Dense<T> x(Device(), 5, 1);
  EXPECT_EQ(lu.solve_transposed(random_dense<T>(5, 1, 1), x).status, Status::not_a_number);
  const Dense<T> empty(Device(), 0, 0);
  lu.factor(empty);
  EXPECT_EQ(lu.determinant().value(), 1);
}

template <class T>
Dense<T> transposed(const Dense<T>& a) {
  Dense<T> result(Device(), a.columns(), a.rows());
  for (std::int64_t e = 0; e < a.rows() * a.columns(); ++e) result(e / a.rows(), e % a.rows()) = a[e];
  return result;
}

TYPED_TEST(LuOf, Transpose_IsSolved) {
  using T = TypeParam;
  for (const Device& device : host_devices) {
    for (const std::int64_t n : {1, 2, 33, 129}) {
      for (const Dense<T>& a : {random_dense<T>(n, n, 1), test::graded<T>(n, 2), test::growing<T>(2 * n)}) {
        const Dense<T> b = random_dense<T>(a.rows(), 3, 9);
        Dense<T> x(Device(), a.rows(), 3);
        Lu<T> lu(device);
        lu.factor(a);
        const Report report = lu.solve_transposed(b, x);
        EXPECT_EQ(report.status, Status::direct) << report.message;
        EXPECT_LT(scaled_residual<T>(transposed(a), x, b), passing) << n;
        EXPECT_EQ(report.columns.size(), 3U);
      }
    }
  }
  const Csr<T> sparse = test::convection_diffusion(9, 0.5).csr<T>();
  const Dense<T> b = random_dense<T>(sparse.rows(), 2, 9);
  Dense<T> x(Device(), sparse.rows(), 2);
  Lu<T> lu;
  lu.factor(sparse);
  EXPECT_TRUE(lu.solve_transposed(b, x).solved());
  EXPECT_LT(scaled_residual<T>(transposed(to_dense(MatrixRef<T>(sparse))), x, b), passing);
}

/// A factorisation on one thread must not wait for the caller's other threads.
TYPED_TEST(LuOf, InsideParallelRegion_Factors) {
  using T = TypeParam;
  int failures = 0;
#pragma omp parallel for num_threads(3) schedule(dynamic, 1) reduction(+ : failures)
  for (int task = 0; task < 20; ++task) {
    const std::int64_t n = 10 + 17 * task;
    const Dense<T> a = random_dense<T>(n, n, 1);
    const Dense<T> b = random_dense<T>(n, 1, 2);
    Dense<T> x(Device(), n, 1);
    Lu<T> lu(task % 2 == 0 ? Device::serial() : Device::openmp(2));
    lu.factor(a);
    failures += lu.solve(b, x).solved() && scaled_residual<T>(a, x, b) < passing ? 0 : 1;
  }
  EXPECT_EQ(failures, 0);
}

/// LAPACK's second ratio, |I - A^-1 A| / (n |A| |A^-1| eps), in the 1-norm.
TYPED_TEST(LuOf, InverseIsAccurate) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 31, 100}) {
    const Dense<T> a = random_dense<T>(n, n, 1);
    Lu<T> lu;
    const Report setup = lu.factor(a);
    Dense<T> x(Device(), n, n);
    const Report report = lu.inverse(x);
    EXPECT_EQ(report.status, Status::direct);
    EXPECT_EQ(report.columns.size(), static_cast<std::size_t>(n));
    Dense<T> rest = test::identity<T>(n);
    gemm<T>(T{-1}, x, a, T{1}, rest);
    double largest = 0;
    double norm = 0;
    double inverse_norm = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      double sums[3] = {};
      for (std::int64_t i = 0; i < n; ++i) {
        sums[0] += std::abs(static_cast<double>(rest(i, j)));
        sums[1] += std::abs(static_cast<double>(a(i, j)));
        sums[2] += std::abs(static_cast<double>(x(i, j)));
      }
      largest = std::max(largest, sums[0]);
      norm = std::max(norm, sums[1]);
      inverse_norm = std::max(inverse_norm, sums[2]);
    }
    EXPECT_LT(largest / (static_cast<double>(n) * norm * inverse_norm * std::numeric_limits<T>::epsilon()),
              passing);
    // The estimate is a lower bound of the condition number and seldom less than a third of it.
    EXPECT_LE(1 / *setup.reciprocal_condition, 1.01 * norm * inverse_norm);
    EXPECT_GE(10 / *setup.reciprocal_condition, norm * inverse_norm);
  }
}

}  // namespace
}  // namespace echelon
