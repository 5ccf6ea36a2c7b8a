// SPDX-License-Identifier: BSD-3-Clause
#include "support/incomplete.hpp"
#include "support/problems.hpp"
#include "support/test_data.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <thread>
#include <variant>
#include <vector>

namespace echelon {
namespace {

using test::convection_diffusion;
using test::kershaw;
using test::MaskedMatrix;
using test::precondition;
using test::random_dense;
using test::random_dominant;
using test::RealMatrices;
using test::small_matrix;

template <class T>
class Ic0Of : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(Ic0Of, Reals);

template <class T>
void expect_textbook(const Csr<T>& a, double shift, const Ic0Options& options, const std::string& what) {
  MaskedMatrix masked(a);
  for (std::size_t i = 0; i < masked.size(); ++i) masked.at(i, i) *= 1 + shift;
  MaskedMatrix textbook = masked;
  textbook.eliminate();
  ASSERT_LT(textbook.defect(masked), 1e-15) << what;
  const Dense<T> r = random_dense<T>(a.rows(), 1, 7);
  const auto expected = textbook.solve(r);
  for (const Device& device : {Device::serial(), Device::openmp(2)}) {
    Ic0<T> ic(device, options);
    ASSERT_EQ(ic.setup(a).status, Status::ready) << what;
    const Dense<T> z = precondition(ic, r);
    for (std::int64_t i = 0; i < a.rows(); ++i) {
      const auto exact = static_cast<double>(expected[static_cast<std::size_t>(i)]);
      ASSERT_NEAR(static_cast<double>(z[i]), exact, 50 * std::numeric_limits<T>::epsilon())
          << what << ", element " << i << " on " << device.name();
    }
  }
}

double number(const Report& report, const char* name) {
  const Statistic* statistic = report.find_statistic(name);
  if (statistic == nullptr) return -1;
  if (const auto* integer = std::get_if<std::int64_t>(&statistic->value))
    return static_cast<double>(*integer);
  return std::get<double>(statistic->value);
}

/// The factors of a symmetric matrix by Gaussian elimination are L and D L^T, so the product is the same.
TYPED_TEST(Ic0Of, Application_AgreesWithTextbook) {
  for (const auto& problem :
       {convection_diffusion(5, 0), convection_diffusion(11, 0), random_dominant(1, 0, true, 1),
        random_dominant(31, 3, true, 2), random_dominant(33, 8, true, 3), random_dominant(129, 20, true, 4),
        test::diagonal(33)}) {
    expect_textbook(problem.template csr<TypeParam>(), 0, {}, problem.name);
  }
}

/// Without fill to drop, L L^T = A.
TYPED_TEST(Ic0Of, Tridiagonal_Solved) {
  using T = TypeParam;
  for (const std::int32_t n : {1, 2, 31, 33, 1025}) {
    std::vector<Triplet<T>> elements;
    for (std::int32_t i = 0; i < n; ++i) {
      if (i > 0) elements.push_back({i, i - 1, T{-1}});
      elements.push_back({i, i, static_cast<T>(3 + i % 4)});
      if (i + 1 < n) elements.push_back({i, i + 1, T{-1}});
    }
    const auto a = small_matrix<T>(n, elements);
    const Dense<T> b = random_dense<T>(n, 1, 3);
    Ic0<T> ic;
    ic.setup(a);
    EXPECT_LT(test::assess(a, precondition(ic, b), b).scaled_residual, 30) << n;
  }
}

TYPED_TEST(Ic0Of, Breakdown_Shifts) {
  using T = TypeParam;
  const Csr<T> a = kershaw<T>();
  Ic0<T> ic;
  const Report report = ic.setup(a);
  ASSERT_EQ(report.status, Status::ready) << report.message;
  const double shift = number(report, "shift");
  const auto attempts = static_cast<int>(number(report, "attempts"));
  ASSERT_GT(attempts, 1);
  EXPECT_DOUBLE_EQ(shift, std::ldexp(1e-3, attempts - 2));
  expect_textbook(a, shift, {}, "automatic shift");
  expect_textbook(a, 0.5, {.shift = 0.5}, "shift 0.5");
  // The shift before breaks down.
  Ic0<T> less({}, {.shift = shift / 2});
  EXPECT_EQ(less.setup(a).status, Status::breakdown);
}

TYPED_TEST(Ic0Of, BreakdownWithoutShift_NamesRowAndPivot) {
  using T = TypeParam;
  const Csr<T> a = kershaw<T>();
  for (const Device& device : {Device::serial(), Device::openmp(2)}) {
    Ic0<T> ic(device, {.shift = 0});
    const Report report = ic.setup(a);
    EXPECT_EQ(report.status, Status::breakdown);
    EXPECT_EQ(report.row, 3);
    EXPECT_NE(report.message.find("pivot of row 3 (from 0) is -1.67 times"), std::string::npos)
        << report.message;
  }
}

/// Rows of equal elements: elimination leaves no pivot, whatever the shift, since off-diagonal elements are
/// too large.
TYPED_TEST(Ic0Of, IndefiniteMatrix_GivesUp) {
  using T = TypeParam;
  const auto a = small_matrix<T>(2, {{0, 0, 1}, {0, 1, 1e6F}, {1, 0, 1e6F}, {1, 1, 1}});
  Ic0<T> ic;
  const Report report = ic.setup(a);
  EXPECT_EQ(report.status, Status::breakdown);
  EXPECT_EQ(report.row, 1);
}

TYPED_TEST(Ic0Of, NotPositiveDefinite_NamesElements) {
  using T = TypeParam;
  struct Case {
    Csr<T> a;
    std::int64_t row;
    const char* what;
  };
  const Case cases[] = {
      {small_matrix<T>(3, {{0, 0, 1}, {1, 0, 1}, {1, 2, 1}, {2, 2, 1}}), 1, "(1, 1) (from 0) is not stored"},
      {small_matrix<T>(2, {{0, 1, 1}, {1, 0, 1}}), 0, "(0, 0) (from 0) is not stored"},
      {small_matrix<T>(3, {{0, 0, 1}, {1, 1, -2}, {2, 2, 0}}), 1, "(1, 1) (from 0) is -2"},
      {small_matrix<T>(2, {{0, 0, 1}, {1, 1, 0}}), 1, "(1, 1) (from 0) is 0"},
      {small_matrix<T>(3, {{0, 0, 4}, {0, 2, 1}, {1, 1, 4}, {2, 0, 1.5}, {2, 2, 4}}), 2,
       "(2, 0) (from 0) is 1.5, but element (0, 2) is 1"},
      {small_matrix<T>(3, {{0, 0, 4}, {0, 2, 1}, {1, 1, 4}, {2, 2, 4}}), 2,
       "(2, 0) (from 0) is 0, but element (0, 2) is 1"},
      {small_matrix<T>(3, {{0, 0, 4}, {0, 2, 1}, {1, 0, 2}, {1, 1, 4}, {2, 2, 4}}), 1,
       "(1, 0) (from 0) is 2, but element (0, 1) is 0"},
  };
  for (const auto& c : cases) {
    for (const Device& device : {Device::serial(), Device::openmp(2)}) {
      Ic0<T> ic(device);
      const Report report = ic.setup(c.a);
      EXPECT_EQ(report.status, Status::not_spd);
      EXPECT_EQ(report.row, c.row);
      EXPECT_NE(report.message.find(c.what), std::string::npos) << report.message;
    }
  }
}

/// Elements that differ by rounding are equal, as far as a preconditioner is concerned.
TYPED_TEST(Ic0Of, AsymmetryByRounding_Accepted) {
  using T = TypeParam;
  const T close = 1 + 4 * std::numeric_limits<T>::epsilon();
  const auto a = small_matrix<T>(2, {{0, 0, 4}, {0, 1, 1}, {1, 0, close}, {1, 1, 4}});
  Ic0<T> ic;
  EXPECT_EQ(ic.setup(a).status, Status::ready);
}

/// A zero may be stored on one side of the diagonal only: the pattern is completed.
TYPED_TEST(Ic0Of, UnmatchedZeros_Completed) {
  using T = TypeParam;
  const auto a = small_matrix<T>(
      4, {{0, 0, 4}, {0, 1, 1}, {0, 3, 0}, {1, 0, 1}, {1, 1, 4}, {2, 1, 0}, {2, 2, 4}, {3, 3, 4}});
  const auto completed = symmetrize_pattern(a);
  ASSERT_EQ(completed.nonzeros(), a.nonzeros() + 2);
  const Dense<T> r = random_dense<T>(4, 1, 7);
  Ic0<T> ic;
  ASSERT_EQ(ic.setup(a).status, Status::ready);
  Ic0<T> expected;
  expected.setup(completed);
  EXPECT_EQ(precondition(ic, r).to_vector(), precondition(expected, r).to_vector());
  ASSERT_EQ(ic.update_values(a).status, Status::ready);
  EXPECT_EQ(precondition(ic, r).to_vector(), precondition(expected, r).to_vector());
}

/// Unsorted columns, which Csr::unchecked accepts: the elements left of the diagonal have no counterparts.
TYPED_TEST(Ic0Of, UnsortedColumns_Refused) {
  using T = TypeParam;
  constexpr std::int32_t n = 100;
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::int32_t> columns;
  for (std::int32_t i = 0; i < n; ++i) {
    if (i > 0 && i + 5 < n) columns.insert(columns.end(), {i + 5, i - 1});
    columns.push_back(i);
    if (i > 0 && i + 5 < n) columns.push_back(i + 1);
    offsets.push_back(static_cast<std::int64_t>(columns.size()));
  }
  const std::vector<T> values(columns.size(), T{1});
  const auto a = Csr<T>::unchecked(n, n, Array<std::int64_t>(Device(), offsets),
                                   Array<std::int32_t>(Device(), columns), Array<T>(Device(), values));
  for (const Device& device : {Device::serial(), Device::openmp(2)}) {
    Ic0<T> ic(device);
    EXPECT_THROW((void)ic.setup(a), InvalidMatrix);
  }
}

TYPED_TEST(Ic0Of, DenseMatrix_Refused) {
  Ic0<TypeParam> ic;
  const Dense<TypeParam> dense = random_dense<TypeParam>(4, 4, 1);
  EXPECT_EQ(ic.setup(dense).status, Status::breakdown);
}

TYPED_TEST(Ic0Of, EmptyMatrix_Ready) {
  using T = TypeParam;
  Ic0<T> ic;
  const Csr<T> nothing;
  EXPECT_EQ(ic.setup(nothing).status, Status::ready);
  EXPECT_EQ(precondition(ic, Dense<T>(Device(), 0, 1)).rows(), 0);
}

TYPED_TEST(Ic0Of, UpdatedValues_BitsOfFreshSetup) {
  using T = TypeParam;
  const Csr<T> first = convection_diffusion(9, 0).csr<T>();
  Csr<T> second = first;
  for (std::int64_t i = 0; i < 81; ++i) {
    for (std::int64_t k = second.row_offsets()[i]; k < second.row_offsets()[i + 1]; ++k) {
      if (second.column_indices()[k] == i) second.values()[k] += static_cast<T>(i % 5);
    }
  }
  const Dense<T> r = random_dense<T>(81, 1, 5);
  Ic0<T> updated;
  updated.setup(first);
  ASSERT_EQ(updated.update_values(second).status, Status::ready);
  Ic0<T> fresh;
  fresh.setup(second);
  EXPECT_EQ(precondition(updated, r).to_vector(), precondition(fresh, r).to_vector());

  Csr<T> zero = second;
  std::fill_n(zero.values().data(), zero.nonzeros(), T{0});
  EXPECT_EQ(updated.update_values(zero).status, Status::not_spd);
  ASSERT_EQ(updated.update_values(second).status, Status::ready);
  EXPECT_EQ(precondition(updated, r).to_vector(), precondition(fresh, r).to_vector());
}

/// On cubes of 60 points a level has more than 1000 rows on average, so that several threads factor and
/// solve.
TYPED_TEST(Ic0Of, AnyNumberOfThreads_SameBits) {
  using T = TypeParam;
  const Csr<T> a = test::seven_point_cube<T>(60, true);
  const Dense<T> r = random_dense<T>(a.rows(), 1, 5);
  Ic0<T> serial(Device::serial());
  ASSERT_EQ(serial.setup(a).status, Status::ready);
  const std::vector<T> expected = precondition(serial, r).to_vector();
  for (const int threads : {1, 2, 5}) {
    Ic0<T> parallel(Device::openmp(threads));
    parallel.setup(a);
    EXPECT_EQ(precondition(parallel, r).to_vector(), expected) << threads << " threads";
  }
}

/// Scaling by powers of two rounds nothing: M becomes D M D, and not a bit of it changes, shifts included.
TYPED_TEST(Ic0Of, ScaledSymmetrically_ScaledApplication) {
  using T = TypeParam;
  const int largest = std::is_same_v<T, double> ? 498 : 55;  // 10^150, 10^16
  for (const Csr<T>& a : {convection_diffusion(9, 0).csr<T>(), kershaw<T>()}) {
    std::vector<int> exponents;
    for (std::int64_t i = 0; i < a.rows(); ++i) {
      exponents.push_back(i % 3 == 0 ? largest : i % 3 == 1 ? -largest : static_cast<int>(i % 7));
    }
    const auto scale = [&](T value, std::int64_t i, int sign) {
      return std::ldexp(value, sign * exponents[static_cast<std::size_t>(i)]);
    };
    Csr<T> scaled = a;
    Dense<T> r = random_dense<T>(a.rows(), 1, 5);
    Ic0<T> ic;
    ASSERT_EQ(ic.setup(a).status, Status::ready);
    const Dense<T> z = precondition(ic, r);
    for (std::int64_t i = 0; i < a.rows(); ++i) {
      for (std::int64_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
        scaled.values()[k] = scale(scale(a.values()[k], i, 1), a.column_indices()[k], 1);
      }
      r[i] = scale(r[i], i, 1);
    }
    const Report report = ic.setup(scaled);
    ASSERT_EQ(report.status, Status::ready) << report.message;
    const Dense<T> scaled_z = precondition(ic, r);
    for (std::int64_t i = 0; i < a.rows(); ++i) EXPECT_EQ(scaled_z[i], scale(z[i], i, -1)) << i;
  }
}

TYPED_TEST(Ic0Of, SeveralThreads_PreconditionAtOnce) {
  using T = TypeParam;
  const Csr<T> a = convection_diffusion(33, 0).csr<T>();
  Cg<T> solver({}, {.preconditioner = "ic0"});
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

/// The solution is all ones.
template <class Krylov, class T>
Report solve_with(const Csr<T>& a, const std::string& preconditioner) {
  Krylov solver({}, {.preconditioner = preconditioner});
  solver.setup(a);
  Dense<T> b(Device(), a.rows(), 1);
  Dense<T> x(Device(), a.rows(), 1);
  std::fill_n(x.data(), a.rows(), T{1});
  multiply<T>(1, a, x, 0, b);
  return solver.solve(b, x);
}

TYPED_TEST(Ic0Of, CgAndMinres_SaveIterations) {
  using T = TypeParam;
  const Csr<T> a = convection_diffusion(40, 0).csr<T>();
  const Report cg = solve_with<Cg<T>>(a, "ic0");
  EXPECT_EQ(cg.status, Status::converged) << cg.message;
  EXPECT_LT(2 * cg.iterations, solve_with<Cg<T>>(a, "none").iterations);
  const Report minres = solve_with<Minres<T>>(a, "ic0");
  EXPECT_EQ(minres.status, Status::converged) << minres.message;
  EXPECT_LT(2 * minres.iterations, solve_with<Minres<T>>(a, "none").iterations);
}

TYPED_TEST(Ic0Of, Preconditioner_ReportsItsShift) {
  const Csr<TypeParam> a = kershaw<TypeParam>();
  const Report report = solve_with<Cg<TypeParam>>(a, "ic0");
  EXPECT_EQ(report.status, Status::converged) << report.message;
  EXPECT_GT(number(report, "preconditioner.shift"), 0);
  EXPECT_GT(number(report, "preconditioner.attempts"), 1);
}

TEST(Ic0Options, Shift_IsAutoOrNumber) {
  const Csr<double> a = kershaw<double>();
  EXPECT_TRUE(make_solver<double>("ic0", {}, {{"shift", "auto"}}).setup(a).ready());
  EXPECT_TRUE(make_solver<double>("ic0", {}, {{"shift", "0.5"}}).setup(a).ready());
  EXPECT_FALSE(make_solver<double>("ic0", {}, {{"shift", 0}}).setup(a).ready());
  EXPECT_THROW((void)make_solver<double>("ic0", {}, {{"shift", "off"}}), BadOption);
  EXPECT_THROW((void)make_solver<double>("ic0", {}, {{"shift", -0.5}}), BadOption);
}

/// ILU(0) breaks down or is indefinite for six of these.
TEST_F(RealMatrices, CgWithIc0_SolvesPositiveDefiniteSystems) {
  int solved = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(test::real_matrices())) {
    const std::string path = entry.path().string();
    const bool is_matrix = path.ends_with(".mtx.gz") && !path.ends_with("_b.mtx.gz");
    if (!is_matrix || path.find("/spd_") == std::string::npos || entry.file_size() > 2'000'000) continue;
    const Report report = solve_with<Cg<double>>(read_matrix_market<double>(path), "ic0");
    EXPECT_EQ(report.status, Status::converged) << path << ": " << report.message;
    ++solved;
  }
  EXPECT_GT(solved, 0);
}

}  // namespace
}  // namespace echelon
