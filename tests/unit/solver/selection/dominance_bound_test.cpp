// SPDX-License-Identifier: BSD-3-Clause
/// Bounds on the error of x by the dominance of A, against the error.
#include "solver/selection/dominance_bound.hpp"

#include "support/scalar.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <variant>
#include <vector>

namespace echelon::test {
namespace {

template <class T>
T random_value(std::mt19937& random) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  using Part = Real<T>;
  if constexpr (is_complex<T>) {
    const auto real = static_cast<Part>(uniform(random));
    return {real, static_cast<Part>(uniform(random))};
  } else {
    return static_cast<Part>(uniform(random));
  }
}

/// Rows of 4 elements off the diagonal, whose magnitudes exceed theirs by `share` of their sum.
template <class T>
Csr<T> dominant(std::int64_t n, double share, std::mt19937& random) {
  std::uniform_int_distribution<std::int64_t> columns(0, n - 1);
  std::vector<Triplet<T>> elements;
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (int k = 0; k < 4; ++k) {
      const std::int64_t j = columns(random);
      if (j == i) continue;
      const T value = random_value<T>(random);
      sum += magnitude(value);
      elements.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), value});
    }
    const auto diagonal = static_cast<Real<T>>((1 + share) * (sum + 0.1));
    elements.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(i), T{diagonal}});
  }
  return Csr<T>::from_triplets(n, n, elements);
}

template <class T>
std::vector<T> product(const Csr<T>& A, const std::vector<T>& x) {
  std::vector<T> y(x.size());
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    Dot<T> sum{};
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const auto j = static_cast<std::size_t>(A.column_indices()[k]);
      sum += static_cast<Dot<T>>(A.values()[k]) * static_cast<Dot<T>>(x[j]);
    }
    y[static_cast<std::size_t>(i)] = static_cast<T>(sum);
  }
  return y;
}

template <class T>
class DominanceBound : public testing::Test {};
using Scalars = testing::Types<float, double, std::complex<double>>;
TYPED_TEST_SUITE(DominanceBound, Scalars);

TYPED_TEST(DominanceBound, RandomErrors_AreBounded) {
  using T = TypeParam;
  std::mt19937 random(11);
  for (const std::int64_t n : {1, 2, 5, 300, 20'000}) {
    for (const double share : {2.0, 0.3, 1e-3}) {
      const Csr<T> A = dominant<T>(n, share, random);
      std::vector<T> exact(static_cast<std::size_t>(n));
      for (T& value : exact) value = random_value<T>(random);
      const std::vector<T> b = product(A, exact);
      const double rounding = 32 * static_cast<double>(std::numeric_limits<Real<T>>::epsilon());
      for (const double change : {1e-2, 1e-5, 0.0}) {
        std::vector<T> x = exact;
        double error = 0;
        double size = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
          x[i] += static_cast<Real<T>>(change) * random_value<T>(random);
          error = std::max(error, magnitude(x[i] - exact[i]));
          size = std::max(size, magnitude(x[i]));
        }
        const std::optional<double> bound = dominance_error_bound(A, b.data(), x.data());
        ASSERT_TRUE(bound.has_value()) << n << " " << share;
        EXPECT_GE(*bound, error / size - rounding / share) << n << " " << share << " " << change;
        // |r_i| is at most |a_ii| (2 + share) / (1 + share) times the error, the excess share / (1 + share)
        // |a_ii|.
        EXPECT_LE(*bound, (2 + share) / share * (error / size + 4 * rounding) * 2) << n << " " << share;
      }
    }
  }
}

TEST(DominanceBoundOfRows, ScaledRows_SameBound) {
  std::mt19937 random(5);
  Csr<double> A = dominant<double>(50, 0.5, random);
  std::vector<double> b(50, 1.0);
  const std::vector<double> x(50, 0.3);
  const double bound = dominance_error_bound(A, b.data(), x.data()).value();
  for (std::int64_t i = 0; i < 50; ++i) {
    const double scale = std::ldexp(1.0, static_cast<int>(20 * (i - 25)));
    b[static_cast<std::size_t>(i)] *= scale;
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) A.values()[k] *= scale;
  }
  EXPECT_DOUBLE_EQ(dominance_error_bound(A, b.data(), x.data()).value(), bound);
}

TEST(DominanceBoundOfRows, NoStrictDominance_NoBound) {
  const auto bound = [](const Csr<double>& A, double b, double x) {
    const std::vector<double> rhs(static_cast<std::size_t>(A.rows()), b);
    const std::vector<double> of_all(static_cast<std::size_t>(A.rows()), x);
    return dominance_error_bound(A, rhs.data(), of_all.data());
  };
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const Csr<double> laplacian = to_csr(Stencil<double>::laplacian({{30, 30}}));
  EXPECT_FALSE(bound(laplacian, 1, 1).has_value());
  EXPECT_FALSE(bound(Csr<double>::from_triplets(2, 2, {{0, 0, 1}}), 1, 1).has_value()) << "an empty row";
  const Csr<double> identity = Csr<double>::from_triplets(2, 2, {{0, 0, 1}, {1, 1, 1}});
  EXPECT_LT(bound(identity, 1, 1).value(), 1e-14);
  EXPECT_FALSE(bound(identity, 1, 0).has_value()) << "x = 0 has no relative error";
  EXPECT_FALSE(bound(identity, std::nan(""), 1).has_value());
  EXPECT_FALSE(bound(identity, 1, infinite).has_value());
  EXPECT_FALSE(bound(Csr<double>::from_triplets(1, 1, {{0, 0, infinite}}), 1, 1).has_value());
  EXPECT_EQ(bound(Csr<double>::from_triplets(0, 0, {}), 1, 1).value(), 0);
}

TEST(DominanceBoundOfRows, AutoReportsIt_AboveTheError) {
  const Csr<double> A =
      std::get<Csr<double>>(find_generator("diagonally-dominant").make_double({{"n", 2000}}));
  std::vector<double> exact(static_cast<std::size_t>(A.rows()));
  for (std::size_t i = 0; i < exact.size(); ++i) exact[i] = std::sin(static_cast<double>(i));
  const auto [x, report] = solve(A, product(A, exact));
  ASSERT_TRUE(report.solved()) << report;
  EXPECT_TRUE(report.method.starts_with("bicgstab")) << report;
  double error = 0;
  for (std::size_t i = 0; i < exact.size(); ++i)
    error = std::max(error, std::abs(x[static_cast<std::int64_t>(i)] - exact[i]));
  ASSERT_TRUE(report.error_estimate.has_value());
  EXPECT_GE(*report.error_estimate * 1.01, error);
  EXPECT_GE(report.expected_digits().value_or(0), 5) << report;
}

}  // namespace
}  // namespace echelon::test
