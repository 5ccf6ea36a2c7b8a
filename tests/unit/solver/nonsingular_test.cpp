// SPDX-License-Identifier: BSD-3-Clause
/// Nonsingular systems on which an elimination or an iteration loses its way to rounding errors: none is
/// called singular or indefinite for that.
#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace echelon::test {
namespace {

using Integers = std::vector<std::int64_t>;

Integers identity(std::int64_t n) {
  Integers order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  return order;
}
Integers shuffled(std::int64_t n, std::uint64_t seed) {
  Integers order = identity(n);
  std::mt19937_64 random(seed);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

/// 1 on the diagonal and in the last column, -multiple below, rows and columns in the given orders and with
/// random signs: elements grow by 1 + multiple in each step of elimination. Condition numbers below 100.
template <class T>
Csr<T> growing(std::int64_t n, double multiple, const Integers& rows, const Integers& columns,
               std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> sign(static_cast<std::size_t>(n));
  for (double& s : sign) s = seed > 0 && random() % 2 == 0 ? -1 : 1;
  std::vector<Triplet<T>> triplets;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const double value = j == n - 1 || i == j ? 1 : (j < i ? -multiple : 0);
      if (value == 0) continue;
      triplets.push_back({static_cast<std::int32_t>(rows[static_cast<std::size_t>(i)]),
                          static_cast<std::int32_t>(columns[static_cast<std::size_t>(j)]),
                          static_cast<T>(sign[static_cast<std::size_t>(i)] * value)});
    }
  }
  return Csr<T>::from_triplets(n, n, triplets);
}

/// b = A x for integers x, and x.
template <class T>
std::pair<std::vector<T>, std::vector<double>> integer_system(const Csr<T>& A) {
  std::vector<double> x(static_cast<std::size_t>(A.rows()));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>((7 * i) % 11) - 5;
  x[0] = 1;
  std::vector<T> b(x.size());
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    double sum = 0;
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
      sum += static_cast<double>(A.values()[k]) * x[static_cast<std::size_t>(A.column_indices()[k])];
    b[static_cast<std::size_t>(i)] = static_cast<T>(sum);
  }
  return {b, x};
}

/// Direct methods for general matrices on the host.
std::vector<std::string> general_direct_methods() {
  std::vector<std::string> names = {"auto"};
  for (const Method& method : methods()) {
    const bool general = method.needs == MethodNeeds::square || method.needs == MethodNeeds::any_shape;
    if (method.kind == MethodKind::direct && general && method.runs_on(Device::serial()))
      names.push_back(method.name);
  }
  return names;
}

template <class T>
void expect_solved(const Csr<T>& A) {
  const auto [b, exact] = integer_system(A);
  for (const std::string& method : general_direct_methods()) {
    const auto [x, report] = solve(A, b, {.method = method, .device = Device::serial()});
    EXPECT_EQ(report.status, Status::direct) << method << ": " << report;
    if (!report.solved()) continue;
    double error = 0;
    for (std::size_t i = 0; i < exact.size(); ++i)
      error = std::max(error, std::abs(static_cast<double>(x.data()[i]) - exact[i]));
    EXPECT_LE(error, std::sqrt(std::numeric_limits<T>::epsilon())) << method << ": " << report;
    EXPECT_LE(error, 50 * report.error_estimate.value_or(0)) << method << ": " << report;
  }
}

template <class T>
class NonsingularOf : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(NonsingularOf, Reals);

TYPED_TEST(NonsingularOf, GrowthOfElements_IsRepaired) {
  for (const std::int64_t n : {16, 33, 60, 90}) {
    for (const double multiple : {0.25, 0.5, 0.75, 1.0}) {
      SCOPED_TRACE("order " + std::to_string(n) + ", multiple " + std::to_string(multiple));
      expect_solved(growing<TypeParam>(n, multiple, identity(n), identity(n), 0));
    }
  }
}

TYPED_TEST(NonsingularOf, GrowthOfElements_PermutedAndSigned_IsRepaired) {
  for (const std::int64_t n : {24, 48}) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      SCOPED_TRACE("order " + std::to_string(n) + ", seed " + std::to_string(seed));
      expect_solved(growing<TypeParam>(n, 1, shuffled(n, seed), identity(n), seed));
      expect_solved(growing<TypeParam>(n, 0.5, shuffled(n, seed), shuffled(n, seed + 9), seed));
    }
  }
}

/// Elimination without pivoting has no good x of badly scaled matrices, and does not call them singular.
TYPED_TEST(NonsingularOf, ScaledWithoutPivoting_IsNotSingular) {
  using T = TypeParam;
  constexpr int most = std::is_same_v<T, double> ? 400 : 40;
  for (const std::int64_t n : {5, 17, 33}) {
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U, 6U}) {
      std::mt19937_64 random(seed);
      const auto exponent = [&] { return static_cast<int>(random() % (2 * most)) - most; };
      std::vector<int> rows(static_cast<std::size_t>(n));
      for (int& e : rows) e = exponent();
      std::vector<int> columns = rows;
      for (int& e : columns) e = exponent();
      Dense<T> A(Device::serial(), n, n);
      for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = 0; i < n; ++i) {
          const double element = static_cast<double>(random() % 19) - 9 + (i == j ? 40 : 0);
          const int scale = rows[static_cast<std::size_t>(i)] + columns[static_cast<std::size_t>(j)];
          A(i, j) = static_cast<T>(std::ldexp(element, scale));
        }
      }
      std::vector<T> b(static_cast<std::size_t>(n));
      for (T& element : b) element = static_cast<T>(random() % 19) - T{9};
      for (const std::string method : {"gauss-jordan-striped", "gauss-jordan"}) {
        const Report report = solve(A, b, {.method = method, .device = Device::serial()}).report;
        EXPECT_NE(report.status, Status::singular) << method << ", order " << n << ": " << report;
      }
    }
  }
}

/// Rows and columns scaled over most of the range of float: the x of the matrix with moderate elements, which
/// methods factor, may overflow where that of the given one does not.
TEST(Nonsingular, ScaledOverTheRangeOfFloat_IsSolved) {
  constexpr int most = 50;
  int solved = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random(seed);
    const auto n = static_cast<std::int64_t>(5 + seed % 20);
    const auto exponents = [&] {
      std::vector<int> all(static_cast<std::size_t>(n));
      for (int& e : all) e = static_cast<int>(random() % (2 * most)) - most;
      return all;
    };
    const std::vector<int> rows = exponents();
    const std::vector<int> columns = exponents();
    Dense<float> A(Device::serial(), n, n);
    Dense<double> exact(Device::serial(), n, n);
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < n; ++i) {
        const double element = static_cast<double>(random() % 19) - 9 + (i == j ? 60 : 0);
        const int scale = rows[static_cast<std::size_t>(i)] + columns[static_cast<std::size_t>(j)];
        A(i, j) = static_cast<float>(std::ldexp(element, scale));
        exact(i, j) = std::ldexp(element, scale);
      }
    }
    std::vector<float> b(static_cast<std::size_t>(n));
    for (float& element : b) element = static_cast<float>(random() % 19) - 9;
    const std::vector<double> wide(b.begin(), b.end());
    const auto expected = solve(exact, wide, {.method = "lu"}).x;
    double size = 0;
    for (std::int64_t i = 0; i < n; ++i) size = std::max(size, std::abs(expected.data()[i]));
    if (!(size < 1e38 && size > 1e-30)) continue;
    for (const std::string method : {"auto", "lu", "qr", "gauss-jordan", "lapack-lu", "crout", "sparse-lu"}) {
      SCOPED_TRACE(method + ", seed " + std::to_string(seed));
      const auto [x, report] = solve(A, b, {.method = method});
      EXPECT_EQ(report.status, Status::direct) << report;
      double error = 0;
      for (std::int64_t i = 0; i < n; ++i)
        error = std::max(error, std::abs(static_cast<double>(x.data()[i]) - expected.data()[i]) / size);
      EXPECT_LE(error, 1e-5) << report;
      ++solved;
    }
  }
  EXPECT_GE(solved, 100);
}

/// A tridiagonal matrix, whose solution for elements of b near the largest number overflows.
TYPED_TEST(NonsingularOf, SolutionBeyondTheLargestNumber_IsReported) {
  using T = TypeParam;
  std::vector<Triplet<T>> triplets;
  for (std::int32_t i = 0; i < 40; ++i) {
    triplets.push_back({i, i, T{2.5}});
    if (i > 0) triplets.insert(triplets.end(), {{i, i - 1, T{-1}}, {i - 1, i, T{-1}}});
  }
  const auto A = Csr<T>::from_triplets(40, 40, triplets);
  const std::vector<T> b(40, std::numeric_limits<T>::max() / 2 * T{1.5});
  for (const std::string& method : general_direct_methods()) {
    const Report report = solve(A, b, {.method = method, .device = Device::serial()}).report;
    EXPECT_EQ(report.status, Status::not_a_number) << method << ": " << report;
  }
}

/// Curvatures of the last directions are as small as their rounding errors.
TEST(Nonsingular, WeaklyGroundedPath_IsNotIndefinite) {
  for (const double sign : {1.0, -1.0}) {
    for (const std::int32_t n : {20, 61}) {
      for (const int exponent : {-30, -35, -44}) {
        std::vector<Triplet<double>> triplets;
        for (std::int32_t i = 0; i < n; ++i) {
          const double ends = i == 0 || i + 1 == n ? 1 : 2;
          triplets.push_back({i, i, sign * (ends + (i == n / 3 ? std::ldexp(1.0, exponent) : 0))});
          if (i > 0) triplets.insert(triplets.end(), {{i, i - 1, -sign}, {i - 1, i, -sign}});
        }
        const auto A = Csr<double>::from_triplets(n, n, triplets);
        for (const std::uint64_t seed : {1U, 2U}) {
          std::mt19937_64 random(seed);
          std::vector<double> b(static_cast<std::size_t>(n));
          for (double& element : b) element = static_cast<double>(random() % 19) - 9;
          for (const std::string method : {"cg", "bddc"}) {
            if (method == "cg" && sign < 0) continue;
            const Report report = solve(A, b, {.method = method, .max_iterations = 400}).report;
            EXPECT_NE(report.status, Status::not_spd)
                << method << ", order " << n << ", ground 2^" << exponent << ": " << report;
            EXPECT_NE(report.status, Status::inconsistent) << method << ": " << report;
          }
        }
      }
    }
  }
}

TEST(Nonsingular, HilbertMatrix_IsNotIndefiniteForRounding) {
  for (const std::int64_t n : {6, 8, 10, 12}) {
    Dense<double> A(Device::serial(), n, n);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) A(i, j) = 1 / static_cast<double>(i + j + 1);
    }
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      std::mt19937_64 random(seed);
      std::vector<double> b(static_cast<std::size_t>(n));
      for (double& element : b) element = static_cast<double>(random() % 19) - 9;
      const Report report = solve(A, b, {.method = "cg", .max_iterations = 1000}).report;
      EXPECT_NE(report.status, Status::not_spd) << n << ": " << report;
    }
  }
}

/// A negative eigenvalue beyond rounding errors is found as before.
TEST(Nonsingular, NegativeCurvature_IsIndefinite) {
  for (const double negative : {-1.0, -1e-3, -1e-9}) {
    std::vector<Triplet<double>> triplets;
    for (std::int32_t i = 0; i < 30; ++i) triplets.push_back({i, i, i == 7 ? negative : 1.0 + i});
    const auto A = Csr<double>::from_triplets(30, 30, triplets);
    std::vector<double> b(30, 0);
    b[7] = 1;
    EXPECT_EQ(solve(A, b, {.method = "cg"}).report.status, Status::not_spd) << negative;
    std::fill(b.begin(), b.end(), 1.0);
    const Report report = solve(A, b, {.method = "cg"}).report;
    EXPECT_TRUE(report.status == Status::not_spd || report.relative_residual <= 1e-8) << report;
  }
}

}  // namespace
}  // namespace echelon::test
