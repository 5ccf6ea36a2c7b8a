// SPDX-License-Identifier: BSD-3-Clause
#include "support/dense/symmetric.hpp"

#include "support/dense/dense_factorizations.hpp"
#include "support/sparse_systems.hpp"
#include "support/spectra.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace echelon {
namespace {

using test::hilbert;
using test::identity;
using test::random_dense;
using test::random_symmetric;
using test::scaled_residual;
using test::scaled_symmetrically;
using test::statistic;

constexpr double passing = 30;  // LAPACK's threshold
const std::vector<Device> host_devices = {Device::serial(), Device::openmp(2)};
const std::vector<std::int64_t> sizes = {1, 2, 3, 31, 64, 65, 129, 200};

/// G G^T + I for a random G.
template <class T>
Dense<T> random_positive_definite(std::int64_t n, unsigned seed) {
  const Dense<T> g = random_dense<T>(n, n, seed);
  Dense<T> a(Device(), n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i <= j; ++i) {
      double sum = i == j ? 1 : 0;
      for (std::int64_t k = 0; k < n; ++k) sum += static_cast<double>(g(i, k)) * static_cast<double>(g(j, k));
      a(i, j) = a(j, i) = static_cast<T>(sum);
    }
  }
  return a;
}

template <class T>
class DenseSymmetricOf : public testing::Test {
 protected:
  static void expect_solved(const std::string& method, const Dense<T>& a, const std::string& what) {
    for (const Device& device : host_devices) {
      for (const bool equilibrate : {false, true}) {
        test::expect_solved<T>(method, {{"equilibrate", equilibrate}}, device, a, what);
      }
    }
  }
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(DenseSymmetricOf, Reals);

TYPED_TEST(DenseSymmetricOf, LapackTypes_SmallBackwardError) {
  using T = TypeParam;
  for (const std::int64_t n : sizes) {
    this->expect_solved("ldlt", random_symmetric<T>(n, 1), "random");
    if (n < 40) this->expect_solved("ldlt", hilbert<T>(n), "Hilbert");
    this->expect_solved("ldlt", scaled_symmetrically(random_symmetric<T>(n, 2)), "badly scaled");
    for (const char* method : {"cholesky", "ldlt"}) {
      this->expect_solved(method, random_positive_definite<T>(n, 3), "positive definite");
      this->expect_solved(method, scaled_symmetrically(random_positive_definite<T>(n, 4)), "badly scaled");
      this->expect_solved(method, identity<T>(n), "identity");
    }
  }
}

TYPED_TEST(DenseSymmetricOf, SeveralBlocks_AreFactored) {
  using T = TypeParam;
  this->expect_solved("cholesky", random_positive_definite<T>(1100, 5), "positive definite");
}

TYPED_TEST(DenseSymmetricOf, NotPositive_FirstColumnIsNamed) {
  using T = TypeParam;
  for (const std::int64_t n : {5, 130, 1100}) {
    for (const std::int64_t column : {std::int64_t{0}, n / 2, n - 1}) {
      for (const bool equilibrate : {false, true}) {
        Dense<T> a = identity<T>(n);
        a(column, column) = -2;
        Cholesky<T> cholesky({}, {.equilibrate = equilibrate});
        const Report report = cholesky.factor(a);
        EXPECT_EQ(report.status, Status::not_spd);
        EXPECT_EQ(report.row, column);
        EXPECT_NE(report.message.find("is -2"), std::string::npos) << report.message;
      }
    }
  }
  // Positive diagonal, indefinite.
  Dense<T> a = identity<T>(3);
  a(2, 1) = a(1, 2) = 2;
  Cholesky<T> cholesky;
  EXPECT_EQ(cholesky.factor(a).row, 2);
}

TYPED_TEST(DenseSymmetricOf, NotSymmetric_PlaceIsNamed) {
  using T = TypeParam;
  Dense<T> a = identity<T>(70);
  a(66, 3) = 1;
  for (const auto& [method, status] :
       {std::pair("cholesky", Status::not_spd), std::pair("ldlt", Status::breakdown)}) {
    Solver<T> solver = make_solver<T>(method, {});
    const Report report = solver.setup(a);
    EXPECT_EQ(report.status, status) << method;
    EXPECT_EQ(report.row, 66) << method;
    EXPECT_NE(report.message.find("row 66, column 3"), std::string::npos) << report.message;
  }
}

TYPED_TEST(DenseSymmetricOf, Ldlt_InertiaIsReported) {
  using T = TypeParam;
  // A saddle-point matrix [I C^T; C 0] has as many negative eigenvalues as C has rows.
  const std::int64_t n = 90;
  const std::int64_t constraints = 25;
  Dense<T> a = identity<T>(n);
  const Dense<T> c = random_dense<T>(constraints, n - constraints, 7);
  for (std::int64_t i = 0; i < constraints; ++i) {
    a(n - constraints + i, n - constraints + i) = 0;
    for (std::int64_t j = 0; j < n - constraints; ++j) {
      a(n - constraints + i, j) = a(j, n - constraints + i) = c(i, j);
    }
  }
  Ldlt<T> ldlt;
  const Report report = ldlt.factor(a);
  ASSERT_TRUE(report.ready()) << report.message;
  EXPECT_EQ(statistic(report, "negative_eigenvalues"), constraints);
  EXPECT_EQ(statistic(report, "positive_eigenvalues"), n - constraints);
}

TEST(Ldlt, Inertia_AgreesWithEigenvalues) {
  for (const std::int64_t n : {2, 5, 63, 64, 65, 66, 150}) {
    const Dense<double> a = random_symmetric<double>(n, static_cast<unsigned>(n));
    const std::vector<double> eigenvalues = test::symmetric_eigenvalues(a);
    const auto negative =
        std::count_if(eigenvalues.begin(), eigenvalues.end(), [](double x) { return x < 0; });
    Ldlt<double> ldlt;
    const Report report = ldlt.factor(a);
    ASSERT_TRUE(report.ready());
    EXPECT_EQ(statistic(report, "negative_eigenvalues"), static_cast<double>(negative)) << n;
  }
}

/// D A D for powers of two D over many decades has the factors and inertia of A after scaling.
TEST(Ldlt, AnyUnits_AreScaled) {
  for (const int most : {20, 75, 400}) {
    for (unsigned seed = 1; seed <= 5; ++seed) {
      SCOPED_TRACE(most);
      const std::int64_t n = 8;
      std::vector<double> units;
      for (std::int64_t i = 0; i < n; ++i) {
        const auto step = static_cast<int>((i * 5 + seed) % 8);
        units.push_back(std::ldexp(1.0, -most + 2 * most * step / 7));
      }
      Dense<double> a = hilbert<double>(n);
      for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = 0; i < n; ++i) {
          a(i, j) *= units[static_cast<std::size_t>(i)] * units[static_cast<std::size_t>(j)];
        }
      }
      Ldlt<double> ldlt(Device::serial());
      const Report report = ldlt.factor(a);
      EXPECT_TRUE(report.ready()) << report.message;
      EXPECT_EQ(statistic(report, "negative_eigenvalues"), 0);
      EXPECT_GT(report.reciprocal_condition.value_or(0), 1e-12);
    }
  }
}

TYPED_TEST(DenseSymmetricOf, SaysWhenSingular) {
  using T = TypeParam;
  Dense<T> ones(Device(), 3, 3);
  for (std::int64_t e = 0; e < 9; ++e) ones[e] = 1;
  Ldlt<T> ldlt;
  EXPECT_EQ(ldlt.factor(ones).status, Status::singular);
  Cholesky<T> cholesky;
  EXPECT_EQ(cholesky.factor(ones).row, 1);
  Dense<T> zero_row = identity<T>(4);
  zero_row(2, 2) = 0;
  const Report report = ldlt.factor(zero_row);
  EXPECT_EQ(report.status, Status::singular);
  EXPECT_EQ(report.row, 2);
  // Singular to working precision: the answer is given, with the word.
  const Dense<T> nearly = hilbert<T>(std::is_same_v<T, double> ? 14 : 8);
  EXPECT_EQ(ldlt.factor(nearly).status, Status::singular);
}

/// A zero pivot of ldlt does not decide: x satisfies consistent equations, and the inertia has the zeros.
TYPED_TEST(DenseSymmetricOf, ZeroPivots_AnswerIsJudged) {
  using T = TypeParam;
  for (const std::int64_t n : {3, 4, 70, 150}) {
    // [E E; E E] for a diagonal E of powers of two with either sign, by which elimination is exact; where n
    // is odd, with one element more.
    const std::int64_t m = n / 2;
    Dense<T> a(Device(), n, n);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        const T size = static_cast<T>(1 << (i % m % 6));
        a(i, j) = i < 2 * m && j < 2 * m && i % m == j % m ? (i % m % 2 == 0 ? size : -size) : T{0};
      }
    }
    if (n > 2 * m) a(n - 1, n - 1) = 5;
    Ldlt<T> ldlt;
    const Report setup = ldlt.factor(a);
    EXPECT_EQ(setup.status, Status::singular) << setup.message;
    EXPECT_FALSE(setup.row) << setup.message;
    EXPECT_EQ(setup.rank, n - m);
    EXPECT_EQ(ldlt.inertia(), (Inertia{(m + 1) / 2 + n % 2, m / 2, m}));
    EXPECT_EQ(ldlt.determinant().sign, 0);
    Dense<T> b(Device(), n, 1);
    for (std::int64_t i = 0; i < n; ++i) b(i, 0) = static_cast<T>(i % m + 1);
    Dense<T> x(Device(), n, 1);
    const Report consistent = ldlt.solve(b, x);
    EXPECT_EQ(consistent.status, Status::underdetermined) << consistent;
    EXPECT_EQ(consistent.rank, n - m) << consistent;
    EXPECT_LT(consistent.relative_residual, 100 * std::numeric_limits<T>::epsilon()) << consistent;
    b(0, 0) += 1;
    const Report contradicts = ldlt.solve(b, x);
    EXPECT_EQ(contradicts.status, Status::inconsistent) << contradicts;
  }
}

TYPED_TEST(DenseSymmetricOf, NewMatrixAndNoColumns_Work) {
  using T = TypeParam;
  Cholesky<T> cholesky;
  Ldlt<T> ldlt;
  const Dense<T> empty(Device(), 0, 0);
  Dense<T> no_x(Device(), 0, 1);
  const Dense<T> no_b(Device(), 0, 1);
  for (Solver<T>* solver : std::initializer_list<Solver<T>*>{&cholesky, &ldlt}) {
    EXPECT_TRUE(solver->setup(empty).ready());
    EXPECT_TRUE(solver->solve(no_b, no_x).solved());
    for (const std::int64_t n : {40, 7, 90}) {
      const Dense<T> a = random_positive_definite<T>(n, 8);
      const Dense<T> b = random_dense<T>(n, 1, 9);
      Dense<T> x(Device(), n, 1);
      ASSERT_TRUE(solver->setup(a).ready());
      EXPECT_TRUE(solver->solve(b, x).solved());
      EXPECT_LT(scaled_residual<T>(a, x, b), passing);
    }
  }
}

TYPED_TEST(DenseSymmetricOf, Cancelled_StopsTheFactorization) {
  using T = TypeParam;
  const Dense<T> a = identity<T>(700);
  for (const char* method : {"cholesky", "ldlt"}) {
    std::stop_source source;
    source.request_stop();
    Solver<T> solver = make_solver<T>(method, {});
    EXPECT_EQ(solver.setup(a, {.cancel = source.get_token()}).status, Status::cancelled) << method;
  }
}

}  // namespace
}  // namespace echelon
