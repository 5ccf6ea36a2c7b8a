// SPDX-License-Identifier: BSD-3-Clause
// <echelon/banded.hpp>, compared with LAPACK's gbsv.
#include "support/bands.hpp"
#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

namespace echelon {
namespace {

using namespace test;

const std::vector<Device> host_devices = {Device::serial(), Device::openmp(2), Device::openmp(5)};

template <class T>
class BandFactorizationOf : public testing::Test {
 protected:
  static constexpr double roundoff = std::numeric_limits<T>::epsilon() / 2;

  /// Expects x as accurate as LAPACK's, or backward stable by a wide margin.
  static void expect_like_lapack(BandMatrix<T>& A, const Device& device, const std::string& what) {
    SCOPED_TRACE(what + ", n " + std::to_string(A.n) + ", lower " + std::to_string(A.lower) + ", upper " +
                 std::to_string(A.upper) + " on " + device.name());
    const Dense<T> B = random_dense<T>(A.n, 3, 77);
    Dense<T> expected = B;
    Dense<T> X = B;
    const int info = solve_with_lapack(A, expected);
    BandFactorization<T> factorization(device);
    const BatchOutcome outcome = factorization.factor(A.view())[0];
    EXPECT_EQ(outcome.status, info == 0 ? Status::direct : Status::singular);
    if (outcome.status != Status::direct) return;
    factorization.solve({X.data(), A.n, 3, 1, device});
    const double error = backward_error(A, X, B);
    EXPECT_LE(error, 8 * backward_error(A, expected, B) + 20 * roundoff);
  }

  static void expect_like_lapack_everywhere(BandMatrix<T> A, const std::string& what) {
    for (const Device& device : host_devices) expect_like_lapack(A, device, what);
  }
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(BandFactorizationOf, Reals);

TYPED_TEST(BandFactorizationOf, RandomBands_LikeLapack) {
  using T = TypeParam;
  std::mt19937 random(20);
  for (int trial = 0; trial < 160; ++trial) {
    const auto n = static_cast<std::int64_t>(1 + random() % (trial % 8 == 0 ? 2000 : 150));
    const auto most = static_cast<std::uint64_t>(trial % 2 == 0 ? 41 : 5);
    const auto lower = static_cast<std::int64_t>(random() % most);
    const auto upper = static_cast<std::int64_t>(random() % most);
    BandMatrix<T> A = random_band<T>(n, lower, upper, random(), trial % 3);
    // The condition of a random band grows exponentially with n where there are more diagonals on one side.
    for (std::int64_t i = 0; i < n; ++i) A.at(i, i) += static_cast<T>(std::abs(lower - upper));
    this->expect_like_lapack(A, host_devices[static_cast<std::size_t>(trial) % 3], "random");
  }
}

TYPED_TEST(BandFactorizationOf, DominantBands_LikeLapack) {
  using T = TypeParam;
  for (const std::int64_t lower : {0, 1, 2, 3, 8, 32}) {
    for (const std::int64_t upper : {0, 1, 2, 3, 8, 32}) {
      for (const std::int64_t n : {1, 2, 3, 5, 31, 33, 257, 1025}) {
        BandMatrix<T> A = random_band<T>(n, lower, upper, 3);
        for (std::int64_t i = 0; i < n; ++i) A.at(i, i) += static_cast<T>(lower + upper);
        this->expect_like_lapack_everywhere(std::move(A), "dominant");
      }
    }
  }
}

TYPED_TEST(BandFactorizationOf, ZeroDiagonals_LikeLapack) {
  using T = TypeParam;
  for (const std::int64_t k : {1, 2, 3, 8, 17}) {
    for (const std::int64_t n : {2, 32, 600}) {
      this->expect_like_lapack_everywhere(zero_diagonal_band<T>(n, k, k, 5), "zero diagonal");
    }
  }
}

TYPED_TEST(BandFactorizationOf, ExchangePairs_AreSolvedExactly) {
  using T = TypeParam;
  for (const std::int64_t k : {1, 2, 5, 16}) {
    for (const std::int64_t n : {2, 3, 32, 33, 1000, 1001}) {
      for (const Device& device : host_devices) {
        const BandMatrix<T> A = exchange_pairs<T>(n, k, k);
        const Dense<T> B = random_dense<T>(n, 1, 4);
        Dense<T> X = B;
        EXPECT_EQ((solve_band<T>(A.view(), {X.data(), n, 1, 1, Device::serial()})[0].status), Status::direct);
        for (std::int64_t i = 0; i < n; ++i) {
          const bool single = i == n - 1 && n % 2 == 1;
          EXPECT_EQ(X(i, 0), B(single ? i : i ^ 1, 0)) << device.name();
        }
      }
    }
  }
}

TYPED_TEST(BandFactorizationOf, GradedRows_LikeLapack) {
  using T = TypeParam;
  const double exponent = std::is_same_v<T, double> ? 150 : 15;
  std::mt19937 random(6);
  std::uniform_real_distribution<double> power(-exponent, exponent);
  for (const std::int64_t k : {1, 2, 9}) {
    BandMatrix<T> A = random_band<T>(500, k, k, 8);
    for (std::int64_t i = 0; i < A.n; ++i) {
      const auto scale = static_cast<T>(std::pow(10.0, power(random)));
      for (std::int64_t j = std::max<std::int64_t>(0, i - k); j <= std::min(A.n - 1, i + k); ++j)
        A.at(i, j) *= scale;
    }
    this->expect_like_lapack_everywhere(std::move(A), "graded");
  }
}

TYPED_TEST(BandFactorizationOf, Growth_LikeLapack) {
  using T = TypeParam;
  for (const std::int64_t k : {2, 6, 12}) {
    this->expect_like_lapack_everywhere(growing_band<T>(300, k), "growing");
  }
}

/// Columns in the middle of what a partition eliminates depend on each other.
TYPED_TEST(BandFactorizationOf, SingularColumn_IsReportedAndPoisoned) {
  using T = TypeParam;
  for (const std::int64_t k : {1, 2, 7}) {
    for (const Device& device : host_devices) {
      for (const std::int64_t column : {0, 3, 400, 799}) {
        BandMatrix<T> A = random_band<T>(800, k, k, 9);
        for (std::int64_t i = std::max<std::int64_t>(0, column - k); i <= std::min(A.n - 1, column + k);
             ++i) {
          A.at(i, column) = 0;
        }
        BandFactorization<T> factorization(device);
        const BatchOutcome outcome = factorization.factor(A.view())[0];
        EXPECT_EQ(outcome.status, Status::singular);
        EXPECT_EQ(outcome.column, column);
        Dense<T> X = random_dense<T>(A.n, 2, 1);
        factorization.solve({X.data(), A.n, 2, 1, device});
        for (std::int64_t e = 0; e < 2 * A.n; ++e) ASSERT_TRUE(std::isnan(X[e]));
      }
    }
  }
}

TYPED_TEST(BandFactorizationOf, Overflow_IsNotANumber) {
  using T = TypeParam;
  const T huge = std::numeric_limits<T>::max() / 10 * 9;
  BandMatrix<T> A(20, 1, 1);
  A.for_each([&](std::int64_t i, std::int64_t j, T& element) { element = i == j + 1 ? -huge : huge; });
  BandFactorization<T> factorization(Device::serial());
  EXPECT_EQ(factorization.factor(A.view())[0].status, Status::not_a_number);
}

/// An element that is no finite number, in any part of the band, in any partition.
TYPED_TEST(BandFactorizationOf, NotFinite_IsNotANumber) {
  using T = TypeParam;
  for (const T value : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()}) {
    for (const std::int64_t k : {0, 1, 2, 3, 9}) {
      for (const std::int64_t row : {0, 1, 250, 499}) {
        for (const std::int64_t diagonal : {-k, std::int64_t{0}, k}) {
          if (row + diagonal < 0 || row + diagonal >= 500) continue;
          for (const Device& device : host_devices) {
            SCOPED_TRACE("k " + std::to_string(k) + ", row " + std::to_string(row) + ", diagonal " +
                         std::to_string(diagonal) + " on " + device.name());
            BandMatrix<T> A = random_band<T>(500, k, k, 8);
            for (std::int64_t i = 0; i < A.n; ++i) A.at(i, i) += 3;
            A.at(row, row + diagonal) = value;
            BandFactorization<T> factorization(device);
            EXPECT_EQ(factorization.factor(A.view())[0].status, Status::not_a_number);
            Dense<T> X = random_dense<T>(A.n, 1, 1);
            factorization.solve({X.data(), A.n, 1, 1, device});
            EXPECT_TRUE(std::isnan(X[0]) && std::isnan(X[499]));
          }
        }
      }
    }
  }
}

TYPED_TEST(BandFactorizationOf, ManyRightHandSides_HaveTheBitsOfSingleOnes) {
  using T = TypeParam;
  constexpr std::int64_t columns = 19;
  for (const std::int64_t k : {1, 2, 8}) {
    for (const Device& device : host_devices) {
      BandMatrix<T> A = random_band<T>(333, k, k, 5);
      const Dense<T> B = random_dense<T>(A.n, columns, 6);
      Dense<T> together = B;
      Dense<T> one_by_one = B;
      BandFactorization<T> factorization(device);
      factorization.factor(A.view());
      factorization.solve({together.data(), A.n, columns, 1, device});
      for (std::int64_t c = 0; c < columns; ++c)
        factorization.solve({one_by_one.data() + c * A.n, A.n, 1, 1, device});
      for (std::int64_t e = 0; e < A.n * columns; ++e) ASSERT_EQ(together[e], one_by_one[e]);
    }
  }
}

TYPED_TEST(BandFactorizationOf, Empty_IsSolved) {
  using T = TypeParam;
  for (const Device& device : host_devices) {
    BandFactorization<T> factorization(device);
    EXPECT_EQ(factorization.factor({nullptr, 0, 0, 0, 1, device})[0].status, Status::direct);
    factorization.solve({nullptr, 0, 3, 1, device});
    EXPECT_EQ(factorization.factor({nullptr, 7, 2, 1, 0, 4, 28, device}).size(), 0);
    factorization.solve({nullptr, 7, 3, 0, device});
  }
}

/// The band may reach beyond the matrix.
TYPED_TEST(BandFactorizationOf, WiderThanTheMatrix_LikeLapack) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 5})
    this->expect_like_lapack_everywhere(random_band<T>(n, 7, 9, 2), "wide");
}

TYPED_TEST(BandFactorizationOf, FurtherMatrices_UseTheObjectAgain) {
  using T = TypeParam;
  BandFactorization<T> factorization(Device::openmp(2));
  for (const std::int64_t n : {200, 200, 31, 900}) {
    BandMatrix<T> A = random_band<T>(n, 3, 2, static_cast<unsigned>(n));
    const Dense<T> B = random_dense<T>(n, 11, 3);
    Dense<T> X = B;
    EXPECT_EQ(factorization.factor(A.view())[0].status, Status::direct);
    for (int repetition = 0; repetition < 2; ++repetition) {
      X = B;
      factorization.solve({X.data(), n, 11, 1, Device::serial()});
      EXPECT_LT(backward_error(A, X, B), 100 * this->roundoff);
    }
  }
}

TYPED_TEST(BandFactorizationOf, Batch_HasAnOutcomeForEachMatrix) {
  using T = TypeParam;
  for (const Device& device : host_devices) {
    for (const std::int64_t n : {1, 2, 33, 300}) {
      for (const std::int64_t k : {0, 1, 2, 6}) {
        constexpr std::int64_t count = 7;
        std::vector<BandMatrix<T>> matrices;
        std::vector<T> values;
        for (unsigned b = 0; b < count; ++b) {
          BandMatrix<T> A = random_band<T>(n, k, k, b, 2);
          for (std::int64_t i = 0; i < n; ++i) A.at(i, i) += 2;
          if (b == 4)
            A.for_each(
                [n](std::int64_t, std::int64_t j, T& element) { element *= j == n / 2 ? T{0} : T{1}; });
          values.insert(values.end(), A.values.begin(), A.values.end());
          values.insert(values.end(), 5, T{-7});
          matrices.push_back(std::move(A));
        }
        const std::int64_t leading = matrices[0].leading;
        const Dense<T> B = random_dense<T>(n + 3, 2 * count, 5);
        Dense<T> X = B;
        const Array<BatchOutcome> outcomes =
            solve_band<T>({values.data(), n, k, k, count, leading, leading * n + 5, device},
                          {X.data(), n, 2, count, n + 3, 2 * (n + 3), device});
        ASSERT_EQ(outcomes.size(), count);
        for (std::int64_t b = 0; b < count; ++b) {
          Dense<T> x(Device(), n, 2);
          Dense<T> rhs(Device(), n, 2);
          for (std::int64_t e = 0; e < 2 * n; ++e) {
            x[e] = X(e % n, 2 * b + e / n);
            rhs[e] = B(e % n, 2 * b + e / n);
          }
          if (b == 4) {
            EXPECT_EQ(outcomes[b].status, Status::singular);
            EXPECT_EQ(outcomes[b].column, n / 2);
            EXPECT_TRUE(std::isnan(x[0]));
          } else {
            EXPECT_EQ(outcomes[b].status, Status::direct);
            EXPECT_LT(backward_error(matrices[static_cast<std::size_t>(b)], x, rhs), 100 * this->roundoff);
          }
        }
        for (std::int64_t c = 0; c < 2 * count; ++c) {
          for (std::int64_t i = n; i < n + 3; ++i) EXPECT_EQ(X(i, c), B(i, c));
        }
      }
    }
  }
}

TEST(BandFactorization, WrongShapes_AreRefused) {
  std::vector<double> a(100);
  std::vector<double> b(100);
  const Device host;
  using A = BandBatch<const double>;
  using B = DenseBatch<double>;
  EXPECT_THROW(static_cast<void>(solve_band(A(a.data(), 10, 2, 2, 4, host), B(b.data(), 10, 1, 1, host))),
               DimensionMismatch);
  EXPECT_THROW(static_cast<void>(solve_band(A(a.data(), 10, -1, 2, 4, host), B(b.data(), 10, 1, 1, host))),
               DimensionMismatch);
  EXPECT_THROW(static_cast<void>(solve_band(A(a.data(), 10, 1, 2, 4, host), B(b.data(), 9, 1, 1, host))),
               DimensionMismatch);
  EXPECT_THROW(
      static_cast<void>(solve_band(A(a.data(), 10, 1, 2, 2, 4, 39, host), B(b.data(), 10, 1, 2, host))),
      DimensionMismatch);
  EXPECT_THROW(static_cast<void>(
                   solve_band(A(a.data(), 10, 1, 2, 1, 4, 40, host), B(b.data(), 10, 2, 1, 9, 90, host))),
               DimensionMismatch);
  EXPECT_THROW(static_cast<void>(solve_band(A(a.data(), 10, 1, 2, 4, host), B(b.data(), 10, 1, 2, host))),
               DimensionMismatch);
  BandFactorization<double> factorization;
  EXPECT_THROW(factorization.solve(B(b.data(), 10, 1, 1, host)), Error);
}

}  // namespace
}  // namespace echelon
