// SPDX-License-Identifier: BSD-3-Clause
/// Band matrices on a GPU, compared with LAPACK's gbsv and with the host.
#include "gpu/gpu_fixture.hpp"
#include "support/bands.hpp"
#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace echelon {
namespace {

using namespace test;

template <class T>
class GpuBandOf : public GpuTest {
 protected:
  static constexpr double roundoff = std::numeric_limits<T>::epsilon() / 2;

  BatchOutcome factor(BandFactorization<T>& factorization, const BandMatrix<T>& A) {
    const Array<T> values(this->gpu, std::span<const T>(A.values));
    return factorization.factor({values.data(), A.n, A.lower, A.upper, A.leading, this->gpu}).to(Device())[0];
  }
  Dense<T> solve(BandFactorization<T>& factorization, const Dense<T>& B) {
    Dense<T> X = B.to(this->gpu);
    factorization.solve({X.data(), B.rows(), B.columns(), 1, this->gpu});
    return X.to(Device());
  }

  /// Expects x as accurate as LAPACK's, or backward stable: elements are sums of lower + upper rounded terms.
  void expect_like_lapack(BandMatrix<T>& A, std::int64_t columns = 3) {
    SCOPED_TRACE("n " + std::to_string(A.n) + ", lower " + std::to_string(A.lower) + ", upper " +
                 std::to_string(A.upper));
    const Dense<T> B = random_dense<T>(A.n, columns, 77);
    Dense<T> expected = B;
    const int info = solve_with_lapack(A, expected);
    BandFactorization<T> factorization(this->gpu);
    const BatchOutcome outcome = factor(factorization, A);
    EXPECT_EQ(outcome.status, info == 0 ? Status::direct : Status::singular);
    if (outcome.status != Status::direct) return;
    const Dense<T> X = solve(factorization, B);
    const auto terms = static_cast<double>(std::max<std::int64_t>(20, (A.lower + A.upper) / 4));
    EXPECT_LE(backward_error(A, X, B), 8 * backward_error(A, expected, B) + terms * roundoff);
  }
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuBandOf, Reals);

TYPED_TEST(GpuBandOf, RandomBands_LikeLapack) {
  using T = TypeParam;
  std::mt19937 random(20);
  for (int trial = 0; trial < 120; ++trial) {
    const auto n = static_cast<std::int64_t>(1 + random() % (trial % 8 == 0 ? 20000 : 150));
    const auto most = static_cast<std::uint64_t>(trial % 2 == 0 ? 41 : 5);
    const auto lower = static_cast<std::int64_t>(random() % most);
    const auto upper = static_cast<std::int64_t>(random() % most);
    BandMatrix<T> A = random_band<T>(n, lower, upper, random(), trial % 3);
    for (std::int64_t i = 0; i < n; ++i) A.at(i, i) += static_cast<T>(std::abs(lower - upper));
    this->expect_like_lapack(A);
  }
}

/// Windows in shared memory, tiled ones in global memory, and those with too many rows for a panel: all, or
/// those of interfaces.
TYPED_TEST(GpuBandOf, WideBands_LikeLapack) {
  using T = TypeParam;
  struct Shape {
    std::int64_t n, lower, upper;
  };
  for (const Shape shape : {Shape{40'000, 16, 16},
                            {20'000, 58, 60},
                            {20'000, 61, 61},
                            {30'000, 16, 15},
                            {9'000, 130, 40},
                            {9'000, 40, 130},
                            {4'000, 0, 300},
                            {4'000, 300, 0},
                            {3'000, 450, 10},
                            {15'000, 250, 250},
                            {9'000, 300, 300},
                            {2'600, 1200, 3}}) {
    BandMatrix<T> A = random_band<T>(shape.n, shape.lower, shape.upper, 3);
    for (std::int64_t i = 0; i < A.n; ++i) A.at(i, i) += static_cast<T>(std::abs(A.lower - A.upper));
    this->expect_like_lapack(A);
  }
}

TYPED_TEST(GpuBandOf, ZeroDiagonals_LikeLapack) {
  using T = TypeParam;
  for (const std::int64_t k : {1, 2, 8, 20, 70}) {
    // Elements of U are products of up to n / 2 random ratios for k = 1, and must not underflow.
    BandMatrix<T> A = zero_diagonal_band<T>(k == 1 ? 600 : 6'000, k, k, 7);
    this->expect_like_lapack(A);
    BandMatrix<T> pairs = exchange_pairs<T>(6'000, k, k);
    this->expect_like_lapack(pairs);
  }
}

TYPED_TEST(GpuBandOf, DependentColumn_IsNamed) {
  using T = TypeParam;
  for (const std::int64_t k : {2, 20, 70}) {
    BandMatrix<T> A = random_band<T>(5'000, k, k, 5);
    for (std::int64_t i = 2'000 - k; i <= 2'000 + k; ++i) A.at(i, 2'000) = 0;
    BandFactorization<T> factorization(this->gpu);
    const BatchOutcome outcome = this->factor(factorization, A);
    EXPECT_EQ(outcome.status, Status::singular);
    EXPECT_EQ(outcome.column, 2'000);
    const Dense<T> X = this->solve(factorization, random_dense<T>(A.n, 1, 1));
    EXPECT_TRUE(std::isnan(X[0]) && std::isnan(X[A.n - 1]));
  }
}

TYPED_TEST(GpuBandOf, NotFinite_IsNotANumber) {
  using T = TypeParam;
  for (const T value : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()}) {
    for (const std::int64_t k : {0, 1, 9, 70}) {
      for (const std::int64_t row : {0, 1, 2'500, 4'999}) {
        BandMatrix<T> A = random_band<T>(5'000, k, k, 8);
        for (std::int64_t i = 0; i < A.n; ++i) A.at(i, i) += 3;
        A.at(row, row) = value;
        BandFactorization<T> factorization(this->gpu);
        EXPECT_EQ(this->factor(factorization, A).status, Status::not_a_number)
            << "k " << k << ", row " << row;
      }
    }
  }
}

/// Factors and solves `count` matrices of 500 rows; expects small backward errors.
template <class T>
void expect_batch_is_solved(const Device& gpu, std::int64_t count, std::int64_t lower, std::int64_t upper) {
  constexpr double tolerance = 100 * static_cast<double>(std::numeric_limits<T>::epsilon());
  constexpr std::int64_t n = 500;
  const BandMatrix<T> all = random_band<T>(n * count, lower, upper, 5);
  const Array<T> values(gpu, std::span<const T>(all.values));
  const std::int64_t stride = all.leading * n;
  const Dense<T> B = random_dense<T>(n * count, 1, 6);
  Dense<T> X = B.to(gpu);
  BandFactorization<T> factorization(gpu);
  const Array<BatchOutcome> outcomes =
      factorization.factor({values.data(), n, lower, upper, count, all.leading, stride, gpu}).to(Device());
  factorization.solve({X.data(), n, 1, count, n, n, gpu});
  const Dense<T> x = X.to(Device());
  for (const std::int64_t matrix : {std::int64_t{0}, std::int64_t{1}, count - 1}) {
    EXPECT_EQ(outcomes[matrix].status, Status::direct);
    BandMatrix<T> A(n, lower, upper);
    A.for_each([&](std::int64_t i, std::int64_t j, T& element) {
      element = all.values[static_cast<std::size_t>(matrix * stride + upper + i - j + j * all.leading)];
    });
    Dense<T> own(Device(), n, 1);
    Dense<T> b(Device(), n, 1);
    for (std::int64_t i = 0; i < n; ++i) own[i] = x[matrix * n + i], b[i] = B[matrix * n + i];
    EXPECT_LT(backward_error(A, own, b), tolerance);
  }
}

TYPED_TEST(GpuBandOf, Batch_EveryMatrixIsSolved) {
  expect_batch_is_solved<TypeParam>(this->gpu, 300, 3, 2);
  expect_batch_is_solved<TypeParam>(this->gpu, 20, 30, 21);
}

TYPED_TEST(GpuBandOf, Repeated_HasTheSameBits) {
  using T = TypeParam;
  for (const std::int64_t k : {1, 8, 70}) {
    BandMatrix<T> A = random_band<T>(30'000, k, k, 5);
    const Dense<T> B = random_dense<T>(A.n, 2, 6);
    BandFactorization<T> factorization(this->gpu);
    this->factor(factorization, A);
    const Dense<T> first = this->solve(factorization, B);
    for (int repetition = 0; repetition < 5; ++repetition) {
      this->factor(factorization, A);
      const Dense<T> again = this->solve(factorization, B);
      for (std::int64_t e = 0; e < 2 * A.n; ++e) ASSERT_EQ(again[e], first[e]);
    }
  }
}

/// banded-lu: refinement, the condition estimate with the transpose, renumbering.
TYPED_TEST(GpuBandOf, BandedLu_LikeTheHost) {
  using T = TypeParam;
  for (const std::int64_t k : {1, 2, 8, 40}) {
    BandMatrix<T> A = random_band<T>(4'000, k, k, 5);
    for (std::int64_t i = 0; i < A.n; ++i) A.at(i, i) += 3;
    std::vector<Triplet<T>> elements;  // rows and columns in another order
    A.for_each([&](std::int64_t i, std::int64_t j, T value) {
      elements.push_back(
          {static_cast<std::int32_t>(i * 1'003 % A.n), static_cast<std::int32_t>(j * 1'003 % A.n), value});
    });
    const Csr<T> csr = Csr<T>::from_triplets(A.n, A.n, elements);
    const Csr<T> on_gpu = csr.to(this->gpu);
    BandedLu<T> host;
    BandedLu<T> lu(this->gpu);
    const Report expected = host.factor(csr);
    const Report report = lu.factor(on_gpu);
    ASSERT_TRUE(report.ready()) << report.message;
    EXPECT_EQ(std::get<std::string>(report.find_statistic("ordering")->value), "rcm");
    EXPECT_EQ(std::get<std::int64_t>(report.find_statistic("lower_bandwidth")->value),
              std::get<std::int64_t>(expected.find_statistic("lower_bandwidth")->value));
    const double ratio = *report.reciprocal_condition / *expected.reciprocal_condition;
    EXPECT_GT(ratio, 0.1);
    EXPECT_LT(ratio, 10);
    const Dense<T> b = random_dense<T>(A.n, 11, 5).to(this->gpu);
    Dense<T> x(this->gpu, A.n, 11);
    const Report solved = lu.solve(b, x);
    EXPECT_EQ(solved.status, Status::direct) << solved.message;
    EXPECT_LT(solved.backward_error, 40 * TestFixture::roundoff);
  }
}

TYPED_TEST(GpuBandOf, BandedLu_SingularMatrix_HasItsRank) {
  using T = TypeParam;
  BandMatrix<T> A = random_band<T>(700, 1, 1, 8);
  for (std::int64_t i = 0; i < A.n; ++i) A.at(i, i) += 3;
  for (const std::int64_t row : {20, 90, 91, 650}) {
    for (std::int64_t j = row - 1; j <= row + 1; ++j) A.at(row, j) = 0;
  }
  const Csr<T> csr = A.csr();
  const Csr<T> on_gpu = csr.to(this->gpu);
  BandedLu<T> lu(this->gpu);
  const Report report = lu.factor(on_gpu);
  EXPECT_EQ(report.status, Status::singular);
  EXPECT_EQ(report.rank, 696);
  Dense<T> b(Device(), A.n, 1);
  std::fill_n(b.data(), A.n, T{0});
  A.for_each([&](std::int64_t i, std::int64_t, T element) { b[i] += element; });
  Dense<T> x(this->gpu, A.n, 1);
  EXPECT_EQ(lu.solve(b.to(this->gpu), x).status, Status::underdetermined);
  EXPECT_LT(backward_error(A, x.to(Device()), b), 45 * std::numeric_limits<T>::epsilon());
  b[90] = 1;
  EXPECT_EQ(lu.solve(b.to(this->gpu), x).status, Status::inconsistent);
}

}  // namespace
}  // namespace echelon
