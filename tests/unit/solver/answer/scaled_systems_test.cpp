// SPDX-License-Identifier: BSD-3-Clause
/// Digits of answers to systems with scaled rows and columns, and with numbers near the limits of the range.
#include "support/big_float.hpp"
#include "support/problems.hpp"
#include "support/solver/rows.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace echelon::test {
namespace {

template <class T>
class ScaledSystemsOf : public ::testing::Test {};
TYPED_TEST_SUITE(ScaledSystemsOf, Reals);

/// Powers of two as column scales: x is known exactly, and its largest elements belong to the smallest
/// columns.
TEST(ScaledSystems, ColumnsScaledOverDecades_PromisedDigitsAreThere) {
  std::mt19937 random(11);
  std::uniform_int_distribution<int> integer(-9, 9);
  for (const int bits : {0, 20, 30, 40, 53, 80, 120, 200}) {
    for (const std::size_t n : {3, 10, 50}) {
      Rows rows(n, std::vector<double>(n));
      std::vector<double> y(n);
      for (auto& row : rows) std::generate(row.begin(), row.end(), [&] { return integer(random); });
      for (std::size_t i = 0; i < n; ++i) rows[i][i] += 10 + static_cast<double>(n);
      std::generate(y.begin(), y.end(), [&] { return integer(random); });
      std::vector<double> b = product(rows, y);
      std::vector<double> exact(n);
      for (std::size_t j = 0; j < n; ++j) {
        const int exponent = -static_cast<int>(j) * bits / static_cast<int>(n);
        for (auto& row : rows) row[j] = std::ldexp(row[j], exponent);
        exact[j] = std::ldexp(y[j], -exponent);
      }
      for (const std::string method :
           {"auto", "lu", "sparse-lu", "gauss-jordan", "mapped-echelon", "banded-lu"}) {
        const auto [x, report] =
            solve(sparse<double>(rows), b, {.method = method, .device = Device::serial()});
        double size = 0;
        double error = 0;
        for (std::size_t j = 0; j < n; ++j) {
          size = std::max(size, std::abs(exact[j]));
          error = std::max(error, std::abs(x.data()[j] - exact[j]));
        }
        EXPECT_TRUE(report.solved()) << method << ", " << bits << " bits: " << report;
        ASSERT_TRUE(report.error_estimate.has_value()) << method << ": " << report;
        EXPECT_LE(error / size, 10 * *report.error_estimate) << method << ", " << bits << " bits: " << report;
        EXPECT_LE(*report.error_estimate, std::max(100 * error / size, 3e-15))
            << method << ", " << bits << ": " << report;
      }
    }
  }
}

/// -2^p or 2^p for each of n lines.
std::vector<int> alternating_exponents(std::mt19937& random, std::size_t n, int p) {
  std::vector<int> exponents(n);
  for (int& exponent : exponents) exponent = random() % 2 == 0 ? p : -p;
  return exponents;
}

/// R M C for a well-conditioned M with a few elements in each row, and powers of two R and C that alternate:
/// x = C^-1 y is known exactly.
TYPED_TEST(ScaledSystemsOf, RowsAndColumnsScaledAlternately_AreSolved) {
  using T = TypeParam;
  std::mt19937 random(5);
  const std::vector<int> sizes =
      std::is_same_v<T, double> ? std::vector<int>{60, 300, 400} : std::vector{20, 30};
  for (const int p : sizes) {
    for (const std::size_t n : {5, 12, 40}) {
      const std::vector<int> r = alternating_exponents(random, n, p);
      const std::vector<int> c = alternating_exponents(random, n, p);
      Rows rows(n, std::vector<double>(n, 0));
      std::vector<double> y(n);
      for (std::size_t i = 0; i < n; ++i) {
        rows[i][i] = 20;
        rows[i][(i + 1) % n] = static_cast<double>(random() % 9) - 4;
        rows[i][random() % n] += 3;
        y[i] = static_cast<double>(random() % 9) + 1;
      }
      std::vector<double> b = product(rows, y);
      double size = 0;
      for (std::size_t i = 0; i < n; ++i) {
        b[i] = std::ldexp(b[i], r[i]);
        for (std::size_t j = 0; j < n; ++j) rows[i][j] = std::ldexp(rows[i][j], r[i] + c[j]);
        size = std::max(size, std::ldexp(y[i], -c[i]));
      }
      for (const std::string method : {"auto", "lu", "qr", "crout", "lapack-lu", "banded-lu", "gauss-jordan",
                                       "sparse-lu", "mapped-echelon"}) {
        SCOPED_TRACE(method + " " + std::to_string(p) + " " + std::to_string(n));
        const auto [x, report] =
            solve(sparse<T>(rows), as<T>(b), {.method = method, .device = Device::serial()});
        EXPECT_EQ(report.status, Status::direct) << report;
        double error = 0;
        for (std::size_t j = 0; j < n; ++j)
          error = std::max(error, std::abs(static_cast<double>(x.data()[j]) - std::ldexp(y[j], -c[j])));
        EXPECT_LE(error, 1e3 * std::numeric_limits<T>::epsilon() * size) << report;
      }
    }
  }
}

/// ||x - x*||_inf / ||x*||_inf for the exact solution x*, which is in the range of double.
double exact_error(const Rows& rows, const std::vector<double>& b, const Dense<double>& x) {
  std::vector<double> elements;
  for (const auto& row : rows) elements.insert(elements.end(), row.begin(), row.end());
  const std::vector<BigFloat> exact = solve_exactly(elements, b);
  double error = 0;
  double size = 0;
  for (std::size_t j = 0; j < b.size(); ++j) {
    size = std::max(size, std::abs(exact[j].to_double()));
    error = std::max(error, std::abs((exact[j] - BigFloat(x.data()[j])).to_double()));
  }
  return error / size;
}

const std::vector<std::string> methods_with_factors = {"lu",           "qr",        "crout",    "lapack-lu",
                                                       "gauss-jordan", "banded-lu", "sparse-lu"};

/// Elements of A x beyond the range of double, for an x and a b within it.
TEST(ScaledSystems, ProductsOutOfRange_AreMeasured) {
  std::mt19937 random(3);
  for (const std::size_t n : {3, 7, 20}) {
    for (const int size : {450, -450}) {
      Rows rows(n, std::vector<double>(n));
      std::vector<double> b(n);
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          const double element = static_cast<double>(random() % 9) - 4 + (i == j ? 30.0 : 0);
          rows[i][j] = std::ldexp(element, i % 2 == 0 ? 480 : -480);
        }
        b[i] = std::ldexp(static_cast<double>(random() % 9) - 4.5, size);
      }
      for (const std::string& method : methods_with_factors) {
        SCOPED_TRACE(method + " " + std::to_string(n) + " " + std::to_string(size));
        const auto [x, report] =
            solve(sparse<double>(rows), b, {.method = method, .device = Device::serial()});
        ASSERT_EQ(report.status, Status::direct) << report;
        ASSERT_TRUE(report.error_estimate.has_value()) << report;
        const double error = exact_error(rows, b, x);
        EXPECT_LE(error, 1e-13) << report;
        EXPECT_LE(error, 10 * *report.error_estimate) << report;
      }
    }
  }
}

/// The inverse of M has zeros, whose rounding errors outgrow x where rows and columns are scaled: corrections
/// remove them although they are as large as x itself.
TEST(ScaledSystems, RoundingErrorsLargerThanSolution_AreCorrected) {
  std::mt19937 random(8);
  const auto factor = [&random] { return std::pow(10.0, static_cast<double>(random() % 81) - 40); };
  for (int repetition = 0; repetition < 12; ++repetition) {
    const std::size_t n = 4 + static_cast<std::size_t>(repetition);
    std::vector<double> r(n);
    std::vector<double> c(n);
    std::generate(r.begin(), r.end(), factor);
    std::generate(c.begin(), c.end(), factor);
    Rows rows(n, std::vector<double>(n));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        const auto distance = static_cast<double>(std::max(i, j) - std::min(i, j));
        rows[i][j] = std::pow(0.3, distance) * r[i] * c[j];
      }
    }
    std::vector<double> b(n, 0);
    b[random() % n] = 1;
    for (const std::string& method : methods_with_factors) {
      SCOPED_TRACE(method + " " + std::to_string(n));
      const auto [x, report] = solve(sparse<double>(rows), b, {.method = method, .device = Device::serial()});
      ASSERT_EQ(report.status, Status::direct) << report;
      ASSERT_TRUE(report.error_estimate.has_value()) << report;
      EXPECT_LE(*report.error_estimate, 1e-8) << report;
      EXPECT_LE(exact_error(rows, b, x), 10 * *report.error_estimate) << report;
    }
  }
}

/// Norms and tolerances that overflow are never met by x = 0.
TEST(ScaledSystems, NormOfRightHandSideOverflows_IsSolvedOrRefused) {
  const Problem problem = path(40);
  const Csr<double> A = problem.csr<double>();
  const std::vector<double> b(40, 1e308);
  for (const Method& method : methods()) {
    if (method.kind == MethodKind::preconditioner || !method.runs_on(Device::serial())) continue;
    if (method.needs == MethodNeeds::triangular) continue;
    const auto [x, report] =
        solve(A, b, {.method = method.name, .device = Device::serial(), .max_iterations = 5000});
    if (!report.solved()) continue;
    EXPECT_LE(report.backward_error, 1e-7) << method.name << ": " << report;
    EXPECT_GT(*std::max_element(x.data(), x.data() + 40), 1e307) << method.name;
  }
}

/// A system times a power of two has the answer of the system, for all methods.
TEST(ScaledSystems, TinyAndHugeSystems_HaveTheAnswerOfModerateOnes) {
  const Csr<double> A = poisson(8);
  const std::vector<double> ones(static_cast<std::size_t>(A.rows()), 1.0);
  Dense<double> b(Device(), A.rows(), 1);
  multiply<double>(1, A, ones, 0, b);
  for (const Method& method : methods()) {
    if (method.kind == MethodKind::preconditioner || !method.runs_on(Device::serial())) continue;
    if (method.needs == MethodNeeds::triangular) continue;
    const SolveOptions options{.method = method.name, .device = Device::serial()};
    const auto [x, report] = solve(A, b, options);
    for (const auto& [matrix, rhs] : {std::pair(-515, -515), std::pair(-900, -1000), std::pair(515, 515),
                                      std::pair(900, 990), std::pair(0, -1000), std::pair(-600, 0)}) {
      Csr<double> scaled_A = A.to(Device());
      std::vector<double> scaled_b(ones.size());
      for (std::int64_t k = 0; k < A.nonzeros(); ++k)
        scaled_A.values()[k] = std::ldexp(A.values()[k], matrix);
      for (std::size_t i = 0; i < ones.size(); ++i) scaled_b[i] = std::ldexp(b.data()[i], rhs);
      const auto [y, other] = solve(scaled_A, scaled_b, options);
      EXPECT_EQ(other.solved(), report.solved())
          << method.name << " " << matrix << " " << rhs << ": " << other;
      if (!report.solved()) continue;
      for (std::size_t i = 0; i < ones.size(); ++i) {
        EXPECT_NEAR(std::ldexp(y.data()[i], matrix - rhs), x.data()[i], 1e-6) << method.name << " " << matrix;
      }
    }
  }
}

TEST(ScaledSystems, SubnormalSolution_IsRoundedAtTheEnd) {
  const Csr<double> A = sparse<double>({{2, 1}, {1, 3}});
  const std::vector<double> b = {1e-308, 0};  // x = (6e-309, -2e-309)
  for (const Method& method : methods()) {
    if (method.kind != MethodKind::direct || !method.runs_on(Device())) continue;
    if (method.needs == MethodNeeds::triangular) continue;
    const auto [x, report] = solve(A, b, {.method = method.name});
    EXPECT_TRUE(report.solved()) << method.name << ": " << report;
    EXPECT_NEAR(x.data()[0], 6e-309, 1e-323) << method.name;
    EXPECT_NEAR(x.data()[1], -2e-309, 1e-323) << method.name;
  }
}

}  // namespace
}  // namespace echelon::test
