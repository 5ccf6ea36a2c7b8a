// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gpu_fixture.hpp"
#include "support/dense/dense_factorizations.hpp"
#include "support/dense/symmetric.hpp"
#include "support/sparse_systems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace echelon::test {
namespace {

/// [0 C; C^T H] with random C of m rows and symmetric H, constraints first.
template <class T>
Dense<T> saddle_point(std::int64_t n, std::int64_t m, unsigned seed) {
  Dense<T> a = random_symmetric<T>(n, seed);
  for (std::int64_t j = 0; j < m; ++j) {
    for (std::int64_t i = 0; i < m; ++i) a(i, j) = 0;
  }
  return a;
}

/// Ones on the other diagonal: every column needs one far from it for a pivot of order two.
template <class T>
Dense<T> exchange(std::int64_t n) {
  Dense<T> a = scaled(identity<T>(n), T{0});
  for (std::int64_t i = 0; i < n; ++i) a(i, n - 1 - i) = 1;
  return a;
}

template <class T>
class GpuLdltOf : public GpuTest {
 protected:
  using GpuTest::gpu;

  /// Expects the host's inertia, and an answer as good. The host calls LAPACK's sytrf_rook, for `congruent`
  /// if that is given: S A S with other scales, which has the same inertia.
  void expect_like_host(const Dense<T>& a, std::int64_t columns, const LdltOptions& options,
                        bool on_host = false, const Dense<T>* congruent = nullptr) const {
    SCOPED_TRACE("n = " + std::to_string(a.rows()) + ", " + std::to_string(columns) + " right-hand sides");
    const Dense<T> on_gpu = a.to(gpu);
    Ldlt<T> ldlt(gpu, options);
    Ldlt<T> host({}, options);
    const Report setup = ldlt.factor(on_gpu);
    const Report expected = host.factor(congruent == nullptr ? a : *congruent);
    EXPECT_EQ(setup.status, expected.status) << setup.message;
    if (!expected.ready()) return;
    const bool moved =
        !setup.warnings.empty() && setup.warnings[0].find("factored on the host") != std::string::npos;
    EXPECT_EQ(moved, on_host) << (setup.warnings.empty() ? "no warnings" : setup.warnings[0]);
    for (const char* name : {"positive_eigenvalues", "negative_eigenvalues"})
      EXPECT_EQ(statistic(setup, name), statistic(expected, name)) << name;
    ASSERT_TRUE(setup.reciprocal_condition);
    if (congruent == nullptr) {
      EXPECT_GT(*setup.reciprocal_condition / *expected.reciprocal_condition, 0.02);
      EXPECT_LT(*setup.reciprocal_condition / *expected.reciprocal_condition, 50);
    }
    const Dense<T> b = random_dense<T>(a.rows(), columns, 17);
    Dense<T> x(gpu, a.rows(), columns);
    const Report report = ldlt.solve(b.to(gpu), x);
    EXPECT_TRUE(report.solved()) << report.message;
    EXPECT_LT(scaled_residual<T>(a, x.to(Device()), b), 30);
  }
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuLdltOf, Reals);

TYPED_TEST(GpuLdltOf, Random_LikeHost) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200, 513, 1025}) {
    this->expect_like_host(random_symmetric<T>(n, 1), 1, {});
    const Dense<T> a = random_symmetric<T>(n, 2);
    this->expect_like_host(scaled_symmetrically(a), 3, {}, false, &a);
  }
  for (const std::int64_t columns : {1, 7, 8, 33})
    this->expect_like_host(random_symmetric<T>(150, 3), columns, {});
}

/// From 2048 rows on cuBLAS does a part of the work.
TYPED_TEST(GpuLdltOf, Large_LikeHost) {
  using T = TypeParam;
  this->expect_like_host(random_symmetric<T>(3000, 4), 1, {});
}

TYPED_TEST(GpuLdltOf, SaddlePoint_LikeHost) {
  using T = TypeParam;
  for (const auto& [n, m] :
       {std::pair(2, 1), std::pair(40, 13), std::pair(150, 64), std::pair(300, 150), std::pair(1025, 300)}) {
    this->expect_like_host(saddle_point<T>(n, m, 5), 1, {});
  }
}

TYPED_TEST(GpuLdltOf, Inertia_OfKnownEigenvalues) {
  using T = TypeParam;
  // Q D Q for a reflection Q: as many negative eigenvalues as D has negative elements.
  const std::int64_t n = 700;
  const std::int64_t negative = 123;
  std::vector<double> v(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i)
    v[static_cast<std::size_t>(i)] = std::cos(static_cast<double>(i * i + 1));
  double norm = 0;
  for (const double e : v) norm += e * e;
  const auto d = [&](std::int64_t i) {
    return (i * 9 % n < negative ? -1.0 : 1.0) * (1 + static_cast<double>(i % 10));
  };
  double vdv = 0;
  for (std::int64_t i = 0; i < n; ++i)
    vdv += v[static_cast<std::size_t>(i)] * v[static_cast<std::size_t>(i)] * d(i);
  Dense<T> a(Device(), n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      const double product = v[static_cast<std::size_t>(i)] * v[static_cast<std::size_t>(j)];
      a(i, j) = static_cast<T>((i == j ? d(i) : 0) - 2 * product * (d(i) + d(j)) / norm +
                               4 * product * vdv / (norm * norm));
    }
  }
  const Dense<T> on_gpu = a.to(this->gpu);
  Ldlt<T> ldlt(this->gpu);
  const Report report = ldlt.factor(on_gpu);
  ASSERT_TRUE(report.ready()) << report.message;
  EXPECT_EQ(statistic(report, "negative_eigenvalues"), negative);
  EXPECT_EQ(statistic(report, "positive_eigenvalues"), n - negative);
}

TYPED_TEST(GpuLdltOf, NoPivotsNearby_HostFactors) {
  using T = TypeParam;
  this->expect_like_host(exchange<T>(64), 2, {});
  this->expect_like_host(exchange<T>(1024), 2, {}, true);
}

TYPED_TEST(GpuLdltOf, Hilbert_LikeHost) {
  using T = TypeParam;
  this->expect_like_host(hilbert<T>(std::is_same_v<T, double> ? 8 : 4), 1, {});
  const Dense<T> singular = hilbert<T>(40).to(this->gpu);
  Ldlt<T> ldlt(this->gpu);
  EXPECT_EQ(ldlt.factor(singular).status, Status::singular);
}

TYPED_TEST(GpuLdltOf, Singular_Named) {
  using T = TypeParam;
  for (const std::int64_t n : {3, 50, 200}) {
    Dense<T> ones(Device(), n, n);
    for (std::int64_t e = 0; e < n * n; ++e) ones[e] = 1;
    const Dense<T> ones_on_gpu = ones.to(this->gpu);
    Ldlt<T> ldlt(this->gpu);
    const Report report = ldlt.factor(ones_on_gpu);
    EXPECT_EQ(report.status, Status::singular) << report.message;
    EXPECT_EQ(report.rank.value_or(1), 1);
    Dense<T> a = identity<T>(n);
    a(n / 2, n / 2) = 0;
    for (const bool equilibrate : {false, true}) {
      Ldlt<T> again(this->gpu, {.equilibrate = equilibrate});
      const Dense<T> on_gpu = a.to(this->gpu);
      const Report zero = again.factor(on_gpu);
      EXPECT_EQ(zero.status, Status::singular) << zero.message;
      EXPECT_EQ(zero.row, n / 2);
    }
  }
}

TYPED_TEST(GpuLdltOf, NotSymmetric_PlaceOfTheHost) {
  using T = TypeParam;
  Dense<T> a = identity<T>(70);
  a(66, 3) = 1;
  Ldlt<T> host;
  Ldlt<T> ldlt(this->gpu);
  const Dense<T> on_gpu = a.to(this->gpu);
  const Report report = ldlt.factor(on_gpu);
  EXPECT_EQ(report.status, Status::breakdown);
  EXPECT_EQ(report.message, host.factor(a).message);
}

TYPED_TEST(GpuLdltOf, SameBits_EveryTime) {
  using T = TypeParam;
  const Dense<T> a = saddle_point<T>(900, 250, 5).to(this->gpu);
  const Dense<T> b = random_dense<T>(900, 1, 6).to(this->gpu);
  std::vector<T> first;
  for (int run = 0; run < 3; ++run) {
    Ldlt<T> ldlt(this->gpu);
    ASSERT_TRUE(ldlt.factor(a).ready());
    for (int solve = 0; solve < 3; ++solve) {
      Dense<T> x(this->gpu, 900, 1);
      ASSERT_TRUE(ldlt.solve(b, x).solved());
      if (first.empty()) first = x.to_vector();
      EXPECT_EQ(x.to_vector(), first);
    }
  }
}

TYPED_TEST(GpuLdltOf, Empty_NotANumber_UsedAgain) {
  using T = TypeParam;
  Ldlt<T> ldlt(this->gpu);
  const Dense<T> empty(this->gpu, 0, 0);
  EXPECT_TRUE(ldlt.factor(empty).ready());
  Dense<T> nothing(this->gpu, 0, 1);
  EXPECT_TRUE(ldlt.solve(Dense<T>(this->gpu, 0, 1), nothing).solved());
  Dense<T> a = random_symmetric<T>(70, 7);
  a(69, 2) = a(2, 69) = std::numeric_limits<T>::quiet_NaN();
  const Dense<T> with_nan = a.to(this->gpu);
  EXPECT_EQ(ldlt.factor(with_nan).status, Status::not_a_number);
  for (const Dense<T>& again : {random_symmetric<T>(40, 8), exchange<T>(1024), random_symmetric<T>(7, 8),
                                random_symmetric<T>(90, 9)}) {
    const Dense<T> on_gpu = again.to(this->gpu);
    const Dense<T> b = random_dense<T>(again.rows(), 1, 9);
    Dense<T> x(this->gpu, again.rows(), 1);
    ASSERT_TRUE(ldlt.factor(on_gpu).ready());
    EXPECT_TRUE(ldlt.solve(b.to(this->gpu), x).solved());
    EXPECT_LT(scaled_residual<T>(again, x.to(Device()), b), 30);
  }
}

TYPED_TEST(GpuLdltOf, Preconditioner_OfGmres_Converges) {
  using T = TypeParam;
  for (const Dense<T>& a : {random_symmetric<T>(200, 10), exchange<T>(1024)}) {
    const Dense<T> on_gpu = a.to(this->gpu);
    Gmres<T> gmres(this->gpu, {.preconditioner = "ldlt"});
    ASSERT_TRUE(gmres.setup(on_gpu).ready());
    const Dense<T> b = random_dense<T>(a.rows(), 1, 11).to(this->gpu);
    Dense<T> x(this->gpu, a.rows(), 1);
    const Report report = gmres.solve(b, x);
    EXPECT_TRUE(report.solved()) << report.message;
    EXPECT_LE(report.iterations, 5);
  }
}

}  // namespace
}  // namespace echelon::test
