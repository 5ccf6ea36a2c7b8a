// SPDX-License-Identifier: BSD-3-Clause
/// Answers to systems that are singular to working precision, or whose factors or iterations make them seem
/// so.
#include "support/big_float.hpp"
#include "support/solver/rows.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace echelon::test {
namespace {

template <class T>
class IllConditionedOf : public ::testing::Test {};
TYPED_TEST_SUITE(IllConditionedOf, Reals);

/// Growth of elements that makes the condition number of the factors one of rounding errors.
TYPED_TEST(IllConditionedOf, GrowthOfElements_IsNotTakenForSingularity) {
  using T = TypeParam;
  for (const std::int64_t n : {44, 50, 60, 84}) {
    const auto A = std::get<Dense<T>>(make_matrix<T>("foster", {{"n", n}}));
    std::vector<T> b(static_cast<std::size_t>(n), T{0});
    b[1] = 1;
    for (const std::string method : {"lu", "gauss-jordan", "banded-lu", "sparse-lu"}) {
      const Report report = solve(A, b, {.method = method, .device = Device::serial()}).report;
      EXPECT_EQ(report.status, Status::direct) << method << " " << n << ": " << report;
    }
  }
}

/// A triangular matrix without a zero on its diagonal is nonsingular, whatever its condition.
TEST(IllConditioned, IllConditionedTriangles_AreNotSingular) {
  for (const auto& [name, rows] : {std::pair("kahan", 200), std::pair("triw", 60), std::pair("triw", 100)}) {
    const Matrix<double> A = make_matrix<double>(name, {{"n", rows}});
    const std::vector<double> b(static_cast<std::size_t>(rows), 1.0);
    for (const std::string method : {"auto", "lu", "gauss-jordan", "crout", "sparse-lu"}) {
      const auto [x, report] = solve(MatrixRef<double>(A), b, {.method = method, .device = Device::serial()});
      EXPECT_EQ(report.status, Status::direct) << name << " " << method << ": " << report;
      EXPECT_EQ(report.rank, rows) << method << ": " << report;
      EXPECT_EQ(report.certainty, Certainty::proven) << method << ": " << report;
    }
  }
}

/// ||b - A x|| / ||b|| with a residual in 512 bits.
template <class T>
double relative_residual(const Dense<T>& A, const std::vector<T>& b, const Dense<T>& x) {
  double residual = 0;
  double size = 0;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    const double rhs = b[static_cast<std::size_t>(i)];
    BigFloat r = rhs;
    for (std::int64_t j = 0; j < A.columns(); ++j) r = r - BigFloat(A(i, j)) * BigFloat(x[j]);
    residual = std::hypot(residual, r.to_double());
    size = std::hypot(size, rhs);
  }
  return residual / size;
}

/// Kernels of integral equations of the first kind: the Laplace transform exp(-s t), and that of Phillips.
template <class T>
Dense<T> integral_kernel(const std::string& name, std::int64_t n) {
  Dense<T> A(Device(), n, n);
  const auto size = static_cast<double>(n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      const double s = 10 * static_cast<double>(i + 1) / size;
      const double t = static_cast<double>(j + 1) / size;
      const double distance = 12 * static_cast<double>(i - j) / size;
      const double phillips = std::abs(distance) < 3 ? 1 + std::cos(distance * 1.0471975511965976) : 0;
      A(i, j) = static_cast<T>(name == "laplace" ? std::exp(-s * t) / size : phillips);
    }
  }
  return A;
}

/// Condition numbers far above 1 / eps, without growth of elements: a direct method has an x, and its
/// residual alone decides.
TYPED_TEST(IllConditionedOf, SingularToWorkingPrecision_ResidualDecides) {
  using T = TypeParam;
  const bool wide = std::is_same_v<T, double>;
  const std::vector<std::pair<std::string, std::vector<std::int64_t>>> families = {
      {"hilbert", wide ? std::vector<std::int64_t>{12, 13, 14, 16, 20, 40, 70}
                       : std::vector<std::int64_t>{6, 7, 9, 12, 30}},
      {"pascal", wide ? std::vector<std::int64_t>{18, 20, 22} : std::vector<std::int64_t>{9, 10, 12}},
      {"cauchy", wide ? std::vector<std::int64_t>{12, 20} : std::vector<std::int64_t>{7, 10}},
      {"laplace", {10, 20, 40}},
      {"phillips", {12, 24, 48}}};
  for (const auto& [family, orders] : families) {
    for (const std::int64_t n : orders) {
      const bool kernel = family == "laplace" || family == "phillips";
      const auto A =
          kernel ? integral_kernel<T>(family, n) : std::get<Dense<T>>(make_matrix<T>(family, {{"n", n}}));
      std::vector<T> b(static_cast<std::size_t>(n), T{0});
      for (const bool sum : {true, false}) {
        for (std::int64_t i = 0; i < n; ++i) {
          double value = i == n / 2 ? 1 : 0;
          for (std::int64_t j = 0; sum && j < n; ++j) value += static_cast<double>(A(i, j));
          b[static_cast<std::size_t>(i)] = static_cast<T>(value);
        }
        const bool solved_by_lu = solve(A, b, {.method = "lu"}).report.solved();
        for (const Method& method : methods()) {
          const bool square = method.needs == MethodNeeds::square || method.needs == MethodNeeds::any_shape;
          if (method.kind != MethodKind::direct || !square || !method.runs_on(Device())) continue;
          SCOPED_TRACE(method.name + " " + family + " " + std::to_string(n) + (sum ? " sums" : " unit"));
          const auto [x, report] = solve(A, b, {.method = method.name});
          if (method.name == "mapped-echelon" && report.status == Status::underdetermined) continue;
          if (report.columns.empty()) {  // a pivot that is exactly zero
            EXPECT_EQ(report.status, Status::singular) << report;
            EXPECT_TRUE(report.row.has_value()) << report;
            continue;
          }
          const double residual = relative_residual(A, b, x);
          EXPECT_NEAR(report.relative_residual, residual,
                      1e-3 * residual + 100 * std::numeric_limits<T>::epsilon())
              << report;
          const bool satisfied = residual <= (wide ? 1e-8 : 1e-4);
          // Without pivoting and a condition estimate, nothing says that A is singular.
          const bool spoilt = method.name == "gauss-jordan-striped" && report.status == Status::breakdown;
          EXPECT_TRUE(report.solved() || ((report.status == Status::singular || spoilt) && !satisfied))
              << report;
          EXPECT_FALSE(report.row.has_value());
          EXPECT_TRUE(method.name != "gauss-jordan" || report.solved() == solved_by_lu) << report;
        }
      }
    }
  }
}

/// One Ritz value says nothing about the smallest eigenvalue.
TEST(IllConditioned, KrylovEndsEarly_NoDigitsArePromisedThatAreNotThere) {
  const std::size_t n = 50;
  Rows rows(n, std::vector<double>(n, 0));
  for (std::size_t i = 0; i < n; ++i) rows[i][i] = rows[0][i] = rows[i][0] = 1;
  for (const double excess : {5e-9, 1e-6, 0.01}) {
    rows[0][0] = static_cast<double>(n) - 1 + excess;
    const Csr<double> A = sparse<double>(rows);
    const std::vector<double> b = product(rows, std::vector<double>(n, 1));
    for (const std::string method : {"cg", "minres", "gmres", "bicgstab"}) {
      const auto [x, report] = solve(A, b, {.method = method});
      if (!report.solved()) continue;
      double error = 0;
      for (std::size_t i = 0; i < n; ++i) error = std::max(error, std::abs(x.data()[i] - 1));
      ASSERT_TRUE(report.error_estimate.has_value()) << method;
      EXPECT_LE(error, 10 * *report.error_estimate) << method << ": " << report;
    }
  }
}

}  // namespace
}  // namespace echelon::test
