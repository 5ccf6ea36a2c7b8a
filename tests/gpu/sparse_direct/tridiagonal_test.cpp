// SPDX-License-Identifier: BSD-3-Clause
/// Tridiagonal matrices on a GPU, which have kernels of their own, compared with LAPACK's gbsv.
#include "gpu/gpu_fixture.hpp"
#include "support/bands.hpp"
#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace echelon {
namespace {

using namespace test;

template <class T>
class GpuTridiagonalOf : public GpuTest {
 protected:
  static constexpr double roundoff = std::numeric_limits<T>::epsilon() / 2;

  struct Solution {
    BatchOutcome outcome;
    Dense<T> X;
  };
  /// `offset`: elements from the beginning of an allocation to those of A.
  Solution solve_once(const BandMatrix<T>& A, const Dense<T>& B, std::int64_t offset = 0) {
    std::vector<T> elements(static_cast<std::size_t>(offset));
    elements.insert(elements.end(), A.values.begin(), A.values.end());
    const Array<T> values(this->gpu, std::span<const T>(elements));
    Dense<T> X = B.to(this->gpu);
    const Array<BatchOutcome> outcomes =
        solve_band<T>({values.data() + offset, A.n, A.lower, A.upper, A.leading, this->gpu},
                      {X.data(), B.rows(), B.columns(), 1, this->gpu});
    return {outcomes.to(Device())[0], X.to(Device())};
  }
  Solution factor_and_solve(const BandMatrix<T>& A, const Dense<T>& B) {
    BandFactorization<T> factorization(this->gpu);
    Array<BatchOutcome> outcomes;
    {
      const Array<T> values(this->gpu, std::span<const T>(A.values));
      outcomes = factorization.factor({values.data(), A.n, A.lower, A.upper, A.leading, this->gpu});
    }
    Dense<T> X = B.to(this->gpu);
    factorization.solve({X.data(), B.rows(), B.columns(), 1, this->gpu});
    return {outcomes.to(Device())[0], X.to(Device())};
  }

  void expect_like_lapack(BandMatrix<T> A) {
    SCOPED_TRACE("n " + std::to_string(A.n) + ", lower " + std::to_string(A.lower) + ", upper " +
                 std::to_string(A.upper));
    const Dense<T> B = random_dense<T>(A.n, 2, 77);
    Dense<T> expected = B;
    ASSERT_EQ(solve_with_lapack(A, expected), 0);
    const double bound = 8 * backward_error(A, expected, B) + 20 * roundoff;
    const Solution once = solve_once(A, B);
    EXPECT_EQ(once.outcome.status, Status::direct);
    EXPECT_LE(backward_error(A, once.X, B), bound);
    const Solution twice = factor_and_solve(A, B);
    EXPECT_EQ(twice.outcome.status, Status::direct);
    for (std::int64_t e = 0; e < 2 * A.n; ++e) ASSERT_EQ(twice.X.data()[e], once.X.data()[e]) << e;
  }
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuTridiagonalOf, Reals);

/// One block, several, and more than one level of them; rows that fill the last block or not.
TYPED_TEST(GpuTridiagonalOf, Orders_LikeLapack) {
  using T = TypeParam;
  for (const std::int64_t n :
       {1'024, 1'025, 1'055, 1'056, 2'047, 2'049, 4'097, 32'768, 32'769, 524'288, 700'001, 2'097'153}) {
    this->expect_like_lapack(random_band<T>(n, 1, 1, 3));
  }
}

TYPED_TEST(GpuTridiagonalOf, Shapes_LikeLapack) {
  using T = TypeParam;
  for (const std::int64_t padding : {0, 1, 2}) {
    for (const std::int64_t lower : {0, 1}) {
      for (const std::int64_t upper : {0, 1}) {
        BandMatrix<T> A = random_band<T>(5'000, lower, upper, 9, padding);
        for (std::int64_t i = 0; i < A.n; ++i) A.at(i, i) += lower == upper ? T{0} : T{2};
        this->expect_like_lapack(A);
      }
    }
  }
}

/// Elements from an odd place on are copied one by one, and lead to the same bits.
TYPED_TEST(GpuTridiagonalOf, OddPlace_SameBits) {
  using T = TypeParam;
  const BandMatrix<T> A = random_band<T>(5'000, 1, 1, 13);
  const Dense<T> B = random_dense<T>(A.n, 1, 3);
  const auto expected = this->solve_once(A, B);
  const auto solution = this->solve_once(A, B, 1);
  EXPECT_EQ(solution.outcome.status, Status::direct);
  for (std::int64_t i = 0; i < A.n; ++i) ASSERT_EQ(solution.X[i], expected.X[i]) << i;
}

/// No element on the diagonal is a pivot of its own column.
TYPED_TEST(GpuTridiagonalOf, ExchangedPairs_AreSolvedExactly) {
  using T = TypeParam;
  const BandMatrix<T> A = exchange_pairs<T>(6'001, 1, 1);
  const Dense<T> B = random_dense<T>(A.n, 1, 4);
  const auto solution = this->solve_once(A, B);
  EXPECT_EQ(solution.outcome.status, Status::direct);
  for (std::int64_t i = 0; i + 1 < A.n; ++i) ASSERT_EQ(solution.X[i], B[i % 2 == 0 ? i + 1 : i - 1]) << i;
  EXPECT_EQ(solution.X[A.n - 1], B[A.n - 1]);
}

/// The diagonal is tiny compared with its neighbours.
TYPED_TEST(GpuTridiagonalOf, TinyDiagonals_LikeLapack) {
  using T = TypeParam;
  BandMatrix<T> A = random_band<T>(6'000, 1, 1, 12);
  for (std::int64_t i = 0; i < A.n; ++i) {
    A.at(i, i) *= std::numeric_limits<T>::epsilon();
    if (i > 0) A.at(i, i - 1) = 1;
    if (i + 1 < A.n) A.at(i, i + 1) = 1;
  }
  this->expect_like_lapack(A);
}

TYPED_TEST(GpuTridiagonalOf, ZeroColumn_IsNamed) {
  using T = TypeParam;
  for (const std::int64_t column : {0, 1, 15, 16, 17, 31, 32, 1'023, 1'024, 2'047, 2'048, 4'999}) {
    BandMatrix<T> A = random_band<T>(5'000, 1, 1, 5);
    for (std::int64_t i = std::max<std::int64_t>(0, column - 1);
         i <= std::min<std::int64_t>(A.n - 1, column + 1); ++i)
      A.at(i, column) = 0;
    const auto solution = this->factor_and_solve(A, random_dense<T>(A.n, 1, 1));
    EXPECT_EQ(solution.outcome.status, Status::singular) << column;
    EXPECT_EQ(solution.outcome.column, column);
    EXPECT_TRUE(std::isnan(solution.X[0]) && std::isnan(solution.X[A.n - 1]));
  }
}

TYPED_TEST(GpuTridiagonalOf, NotFinite_IsNotANumber) {
  using T = TypeParam;
  for (const T value : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()}) {
    for (const std::int64_t row : {0, 1, 15, 2'500, 4'999}) {
      for (const std::int64_t offset : {-1, 0, 1}) {
        if (row + offset < 0 || row + offset >= 5'000) continue;
        BandMatrix<T> A = random_band<T>(5'000, 1, 1, 8);
        A.at(row, row + offset) = value;
        const auto solution = this->factor_and_solve(A, random_dense<T>(A.n, 1, 1));
        EXPECT_EQ(solution.outcome.status, Status::not_a_number) << row << " " << offset << " " << value;
        EXPECT_TRUE(std::isnan(solution.X[0]) && std::isnan(solution.X[A.n - 1]));
      }
    }
  }
}

/// Kernels for tridiagonal matrices and the others, by turns, in one object.
TYPED_TEST(GpuTridiagonalOf, OtherShapesBetween_AreSolved) {
  using T = TypeParam;
  BandFactorization<T> factorization(this->gpu);
  for (const std::int64_t k : {1, 3, 1, 0, 3}) {
    BandMatrix<T> A = random_band<T>(3'000, k, k, 21);
    for (std::int64_t i = 0; i < A.n; ++i) A.at(i, i) += 4;
    const Array<T> values(this->gpu, std::span<const T>(A.values));
    EXPECT_EQ(factorization.factor({values.data(), A.n, k, k, A.leading, this->gpu}).to(Device())[0].status,
              Status::direct);
    const Dense<T> B = random_dense<T>(A.n, 3, 6);
    Dense<T> X = B.to(this->gpu);
    factorization.solve({X.data(), A.n, 3, 1, this->gpu});
    EXPECT_LE(backward_error(A, X.to(Device()), B), 40 * TestFixture::roundoff) << k;
  }
}

}  // namespace
}  // namespace echelon
