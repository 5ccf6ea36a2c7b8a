// SPDX-License-Identifier: BSD-3-Clause
#include "support/incomplete.hpp"
#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace echelon {
namespace {

using test::convection_diffusion;
using test::MaskedMatrix;
using test::precondition;
using test::random_dense;
using test::random_dominant;
using test::small_matrix;

template <class T>
class Ilu0Of : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(Ilu0Of, Reals);

TYPED_TEST(Ilu0Of, Factors_AgreeWithTextbook) {
  using T = TypeParam;
  for (const auto& problem :
       {convection_diffusion(5, 0.4), convection_diffusion(11, 0), random_dominant(1, 0, false, 1),
        random_dominant(31, 3, false, 2), random_dominant(33, 8, true, 3), random_dominant(129, 20, false, 4),
        test::diagonal(33)}) {
    const Csr<T> a = problem.template csr<T>();
    const MaskedMatrix masked(a);
    MaskedMatrix textbook = masked;
    textbook.eliminate();
    ASSERT_LT(textbook.defect(masked), 1e-15) << problem.name;
    const Dense<T> r = random_dense<T>(problem.n, 1, 7);
    const auto expected = textbook.solve(r);
    for (const Device& device : {Device::serial(), Device::openmp(2)}) {
      Ilu0<T> ilu(device);
      ASSERT_EQ(ilu.setup(a).status, Status::ready) << problem.name;
      const Dense<T> z = precondition(ilu, r);
      for (std::int64_t i = 0; i < problem.n; ++i) {
        const auto exact = static_cast<double>(expected[static_cast<std::size_t>(i)]);
        ASSERT_NEAR(static_cast<double>(z[i]), exact, 50 * std::numeric_limits<T>::epsilon())
            << problem.name << ", element " << i << " on " << device.name();
      }
    }
  }
}

/// Without fill to drop, L U = A.
TYPED_TEST(Ilu0Of, Tridiagonal_IsSolvedExactly) {
  using T = TypeParam;
  for (const std::int32_t n : {1, 2, 31, 33, 1025}) {
    std::vector<Triplet<T>> elements;
    for (std::int32_t i = 0; i < n; ++i) {
      if (i > 0) elements.push_back({i, i - 1, T{-1}});
      elements.push_back({i, i, static_cast<T>(3 + i % 4)});
      if (i + 1 < n) elements.push_back({i, i + 1, static_cast<T>(1.5)});
    }
    const auto a = Csr<T>::from_triplets(n, n, elements);
    const Dense<T> b = random_dense<T>(n, 1, 3);
    Ilu0<T> ilu;
    ilu.setup(a);
    EXPECT_LT(test::assess(a, precondition(ilu, b), b).scaled_residual, 30) << n;
  }
}

TYPED_TEST(Ilu0Of, NoPivot_RowIsNamed) {
  using T = TypeParam;
  const T huge = std::numeric_limits<T>::max();
  struct Case {
    Csr<T> a;
    std::int64_t row;
    const char* what;
  };
  const Case cases[] = {
      {small_matrix<T>(3, {{0, 0, 1}, {1, 0, 1}, {1, 2, 1}, {2, 2, 1}}), 1, "is not stored"},
      {small_matrix<T>(2, {{0, 1, 1}, {1, 0, 1}}), 0, "is not stored"},
      {small_matrix<T>(3, {{0, 0, 1}, {1, 1, 1}}), 2, "is not stored"},
      {small_matrix<T>(2, {{0, 0, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 1}}), 0, "became zero"},
      {small_matrix<T>(3, {{0, 0, 1}, {0, 1, 2}, {1, 0, 2}, {1, 1, 4}, {2, 2, 1}}), 1, "became zero"},
      {small_matrix<T>(2, {{0, 0, 4 / huge}, {0, 1, huge}, {1, 0, 1}, {1, 1, 1}}), 1, "overflowed"},
      {small_matrix<T>(2, {{0, 0, 1}, {1, 1, std::numeric_limits<T>::denorm_min()}}), 1, "inverse overflows"},
  };
  for (const auto& c : cases) {
    for (const Device& device : {Device::serial(), Device::openmp(2)}) {
      Ilu0<T> ilu(device);
      const Report report = ilu.setup(c.a);
      EXPECT_EQ(report.status, Status::breakdown);
      EXPECT_EQ(report.row, c.row);
      EXPECT_NE(report.message.find("row " + std::to_string(c.row)), std::string::npos) << report.message;
      EXPECT_NE(report.message.find(c.what), std::string::npos) << report.message;
    }
  }
}

TYPED_TEST(Ilu0Of, NoPivot_KrylovReportNamesRow) {
  using T = TypeParam;
  const auto a = small_matrix<T>(3, {{0, 0, 1}, {0, 1, 2}, {1, 0, 2}, {1, 1, 4}, {2, 2, 1}});
  Gmres<T> gmres({}, {.preconditioner = "ilu0"});
  const Report report = gmres.setup(a);
  EXPECT_EQ(report.status, Status::breakdown);
  EXPECT_EQ(report.row, 1);
  EXPECT_NE(report.message.find("ilu0"), std::string::npos) << report.message;
}

TYPED_TEST(Ilu0Of, RefusesADenseMatrix) {
  Ilu0<TypeParam> ilu;
  const Dense<TypeParam> dense = random_dense<TypeParam>(4, 4, 1);
  EXPECT_EQ(ilu.setup(dense).status, Status::breakdown);
}

TYPED_TEST(Ilu0Of, TakesNothing) {
  using T = TypeParam;
  Ilu0<T> ilu;
  const Csr<T> nothing;
  EXPECT_EQ(ilu.setup(nothing).status, Status::ready);
  EXPECT_EQ(precondition(ilu, Dense<T>(Device(), 0, 1)).rows(), 0);
}

TYPED_TEST(Ilu0Of, UpdateValues_AsNewSetup) {
  using T = TypeParam;
  const Csr<T> first = convection_diffusion(9, 0.3).csr<T>();
  const Csr<T> second = convection_diffusion(9, -0.6).csr<T>();
  const Dense<T> r = random_dense<T>(81, 1, 5);
  Ilu0<T> updated;
  updated.setup(first);
  ASSERT_EQ(updated.update_values(second).status, Status::ready);
  Ilu0<T> fresh;
  fresh.setup(second);
  EXPECT_EQ(precondition(updated, r).to_vector(), precondition(fresh, r).to_vector());

  Csr<T> singular = second;
  std::fill_n(singular.values().data(), singular.nonzeros(), T{0});
  EXPECT_EQ(updated.update_values(singular).row, 0);
  ASSERT_EQ(updated.update_values(second).status, Status::ready);
  EXPECT_EQ(precondition(updated, r).to_vector(), precondition(fresh, r).to_vector());
}

/// On cubes of 60 points a level has more than 1000 rows on average, so that several threads factor and
/// solve.
TYPED_TEST(Ilu0Of, AnyNumberOfThreads_SameBits) {
  using T = TypeParam;
  const Csr<T> a = test::seven_point_cube<T>(60, false);
  const Dense<T> r = random_dense<T>(a.rows(), 1, 5);
  Ilu0<T> serial(Device::serial());
  ASSERT_EQ(serial.setup(a).status, Status::ready);
  const std::vector<T> expected = precondition(serial, r).to_vector();
  for (const int threads : {1, 2, 5}) {
    Ilu0<T> parallel(Device::openmp(threads));
    parallel.setup(a);
    EXPECT_EQ(precondition(parallel, r).to_vector(), expected) << threads << " threads";
    // Level lists are kept only where they are used: 4 bytes a row.
    const std::size_t lists = threads > 1 ? 4 * static_cast<std::size_t>(a.rows()) : 0;
    EXPECT_GE(parallel.bytes(), serial.bytes() + lists);
  }
}

/// Threads find the first bad row, though another of the same level is found at the same time or before.
TYPED_TEST(Ilu0Of, SeveralThreads_NameTheFirstRowWithoutAPivot) {
  using T = TypeParam;
  Csr<T> a = test::seven_point_cube<T>(60, false);
  for (std::int64_t i : {100'000, 100'059, 130'000, 200'000}) {
    for (std::int64_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) a.values()[k] = 0;
  }
  for (const int threads : {1, 3}) {
    Ilu0<T> ilu(Device::openmp(threads));
    EXPECT_EQ(ilu.setup(a).row, 100'000) << threads << " threads";
  }
}

TYPED_TEST(Ilu0Of, ConcurrentSolves_ArePreconditioned) {
  using T = TypeParam;
  const Csr<T> a = convection_diffusion(33, 0.4).csr<T>();
  Bicgstab<T> solver({}, {.preconditioner = "ilu0"});
  solver.setup(a);
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned round = 0; round < 5; ++round) {
        const Dense<T> b = random_dense<T>(a.rows(), 1, 10 * t + round);
        Dense<T> x(Device(), a.rows(), 1);
        if (!solver.solve(b, x).solved()) ++failures;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

TYPED_TEST(Ilu0Of, SavesIterations) {
  using T = TypeParam;
  const Csr<T> a = convection_diffusion(40, 0.4).csr<T>();
  const Dense<T> b = random_dense<T>(a.rows(), 1, 1);
  const auto iterations = [&](const std::string& preconditioner) {
    Gmres<T> gmres({}, {.preconditioner = preconditioner});
    gmres.setup(a);
    Dense<T> x(Device(), a.rows(), 1);
    const Report report = gmres.solve(b, x);
    EXPECT_EQ(report.status, Status::converged) << report.message;
    return report.iterations;
  };
  EXPECT_LT(2 * iterations("ilu0"), iterations("none"));
}

}  // namespace
}  // namespace echelon
