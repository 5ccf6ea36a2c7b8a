// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/condition.hpp"

#include "backend/host/host.hpp"
#include "linalg/blas/lapack.hpp"
#include "support/dense/gauss_jordan.hpp"

#include <gtest/gtest.h>

namespace echelon {
namespace {

using test::graded;
using test::growing;
using test::hilbert;
using test::norm_one;
using test::random_dense;

/// "Solves" by multiplying with a known inverse, and counts.
template <class T>
struct KnownInverse {
  const Dense<T>& inverse;
  int* solves;
  int* transposed_solves;
  void operator()(bool transposed, T* v) const {
    ++*(transposed ? transposed_solves : solves);
    const std::int64_t n = inverse.rows();
    std::vector<T> result(static_cast<std::size_t>(n), T{0});
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < n; ++i) {
        if (transposed) {
          result[static_cast<std::size_t>(j)] += inverse(i, j) * v[i];
        } else {
          result[static_cast<std::size_t>(i)] += inverse(i, j) * v[j];
        }
      }
    }
    std::copy(result.begin(), result.end(), v);
  }
};

template <class T>
double estimate(const Dense<T>& inverse) {
  int solves = 0;
  int transposed_solves = 0;
  Host backend(Device::serial());
  const double result = estimate_inverse_norm_one<T>(backend, inverse.rows(),
                                                     KnownInverse<T>{inverse, &solves, &transposed_solves});
  EXPECT_LE(solves, 7);
  EXPECT_LE(transposed_solves, 5);
  return result;
}

/// A^-1 column by column from LAPACK's factors, and LAPACK's own estimate.
template <class T>
struct Inverted {
  Dense<T> inverse;
  double reciprocal_condition = 0;

  explicit Inverted(Dense<T> a) : inverse(test::identity<T>(a.rows())) {
    const int n = static_cast<int>(a.rows());
    std::vector<int> pivots(static_cast<std::size_t>(n));
    const T norm = lapack::norm_one(n, a.data());
    EXPECT_EQ(lapack::getrf(n, n, a.data(), n, pivots.data()), 0);
    reciprocal_condition = lapack::reciprocal_condition(n, a.data(), norm);
    lapack::getrs(false, n, n, a.data(), pivots.data(), inverse.data(), n);
  }
};

template <class T>
class Condition : public testing::Test {
 protected:
  /// The estimate is a lower bound, seldom below a third, and no worse than LAPACK's by more than that.
  static void expect_sound(const Dense<T>& a, const std::string& what) {
    const Inverted<T> known(a);
    const double truth = norm_one(known.inverse);
    const double estimated = estimate(known.inverse);
    const double slack = 1 + 100 * static_cast<double>(a.rows()) * std::numeric_limits<T>::epsilon();
    EXPECT_LE(estimated, truth * slack) << what;
    EXPECT_GE(estimated * 3, truth) << what;

    int count = 0;
    Host backend(Device::serial());
    const double rcond = estimate_reciprocal_condition<T>(backend, a.rows(), norm_one(a),
                                                          KnownInverse<T>{known.inverse, &count, &count});
    EXPECT_LE(rcond, 3 * known.reciprocal_condition) << what;
    EXPECT_GE(rcond * 3, known.reciprocal_condition) << what;
  }
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(Condition, Reals);

TYPED_TEST(Condition, RandomMatrices_AgreeWithInverseAndLapack) {
  for (const std::int64_t n : {1, 2, 3, 31, 33, 100}) {
    for (unsigned seed = 0; seed < 10; ++seed) {
      this->expect_sound(random_dense<TypeParam>(n, n, seed),
                         "n = " + std::to_string(n) + ", seed " + std::to_string(seed));
    }
  }
}

TYPED_TEST(Condition, HardMatrices_AgreeWithInverseAndLapack) {
  for (const std::int64_t n : {2, 5, 9, 12, 33}) {
    this->expect_sound(hilbert<TypeParam>(n), "Hilbert " + std::to_string(n));
    this->expect_sound(growing<TypeParam>(n < 20 ? n : 20), "growing " + std::to_string(n));
    this->expect_sound(graded<TypeParam>(n, 5), "graded " + std::to_string(n));
  }
}

/// A^-1 = I + 1000 u u^T, where u sums to zero and begins with a zero: from its start the ascent sees the
/// identity only; the alternating vector sees u.
TYPED_TEST(Condition, CounterexamplesOfAscent_AlternativeStartFinds) {
  using T = TypeParam;
  const std::int64_t n = 33;
  Dense<T> inverse = test::identity<T>(n);
  for (std::int64_t i = 1; i < n; ++i) {
    for (std::int64_t j = 1; j < n; ++j) inverse(i, j) += static_cast<T>((i + j) % 2 == 0 ? 1000 : -1000);
  }
  EXPECT_GE(estimate(inverse) * 3, norm_one(inverse));
}

TYPED_TEST(Condition, DiagonalMatrix_IsExact) {
  using T = TypeParam;
  Dense<T> inverse = test::identity<T>(31);
  for (std::int64_t i = 0; i < 31; ++i) inverse(i, i) = static_cast<T>(i == 17 ? -4096 : 1 + i % 5);
  EXPECT_EQ(estimate(inverse), 4096);
}

TYPED_TEST(Condition, OverflowedInverse_IsSingular) {
  using T = TypeParam;
  for (const T bad : {std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()}) {
    for (const std::int64_t place : {0, 4, 24}) {
      Dense<T> inverse = test::identity<T>(5);
      inverse[place] = bad;
      int count = 0;
      Host backend(Device::serial());
      EXPECT_EQ(estimate_reciprocal_condition<T>(backend, 5, 1.0, KnownInverse<T>{inverse, &count, &count}),
                0)
          << bad << " at " << place;
    }
  }
}

TYPED_TEST(Condition, AnyNumberOfThreads_SameBits) {
  using T = TypeParam;
  const Dense<T> inverse = random_dense<T>(1025, 1025, 3);
  int count = 0;
  Host serial(Device::serial());
  Host openmp(Device::openmp(3));
  const KnownInverse<T> solve{inverse, &count, &count};
  EXPECT_EQ(estimate_inverse_norm_one<T>(serial, 1025, solve),
            estimate_inverse_norm_one<T>(openmp, 1025, solve));
}

TEST(ConditionOfNothing, IsPerfect) {
  Host backend(Device::serial());
  EXPECT_EQ(estimate_reciprocal_condition<double>(backend, 0, 0, [](bool, double*) { FAIL(); }), 1);
}

}  // namespace
}  // namespace echelon
