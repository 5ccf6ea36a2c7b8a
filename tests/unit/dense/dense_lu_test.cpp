// SPDX-License-Identifier: BSD-3-Clause
#include "support/gallery.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace echelon {
namespace {

using test::graded;
using test::growing;
using test::hilbert;
using test::identity;
using test::random_dense;
using test::scaled;
using test::scaled_residual;

constexpr double passing = 30;  // LAPACK's threshold
const std::vector<Device> host_devices = {Device::serial(), Device::openmp(2)};

template <class Method, class T>
struct MethodIn {
  using Solver = Method;
  using Value = T;
};

/// Fixture of the methods of dense LU with partial pivoting.
template <class M>
class DenseLuOf : public testing::Test {
 protected:
  using Value = typename M::Value;
  static void expect_solved(const Dense<Value>& a, const Device& device,
                            const typename M::Solver::MethodOptions& options, const std::string& what) {
    const std::int64_t n = a.rows();
    const Dense<Value> b = random_dense<Value>(n, 3, 99);
    Dense<Value> x(Device(), n, 3);
    typename M::Solver lu(device, options);
    const Report setup = lu.factor(a);
    const Report report = lu.solve(b, x);
    // Factors that are called singular to working precision may solve.
    EXPECT_TRUE(report.status == Status::direct || report.status == setup.status) << what << ": " << report;
    EXPECT_FALSE(report.row) << what;
    EXPECT_TRUE(report.reciprocal_condition) << what;
    EXPECT_LT(scaled_residual<Value>(a, x, b), passing) << what << " on " << device.name();
    EXPECT_EQ(report.columns.size(), 3u);
  }
};
using Methods = testing::Types<MethodIn<Lu<float>, float>, MethodIn<Lu<double>, double>,
                               MethodIn<LapackLu<float>, float>, MethodIn<LapackLu<double>, double>>;
TYPED_TEST_SUITE(DenseLuOf, Methods);

TYPED_TEST(DenseLuOf, LapackTypes_SmallBackwardError) {
  using T = typename TypeParam::Value;
  using Method = typename TypeParam::Solver;
  for (const Device& device : host_devices) {
    for (const std::int64_t n : {1, 2, 3, 31, 33, 127, 129}) {
      for (const bool equilibrate : {false, true}) {
        for (const std::int64_t refine : {0, 1, 3}) {
          const typename Method::MethodOptions options{.equilibrate = equilibrate, .refine = refine};
          const std::string what = "n = " + std::to_string(n) + ", equilibrate " +
                                   std::to_string(equilibrate) + ", refine " + std::to_string(refine);
          this->expect_solved(random_dense<T>(n, n, 1), device, options, "random, " + what);
          this->expect_solved(hilbert<T>(n), device, options, "Hilbert, " + what);
          this->expect_solved(graded<T>(n, 2), device, options, "graded, " + what);
          if (n < 20) this->expect_solved(growing<T>(n), device, options, "growing, " + what);
        }
      }
    }
  }
}

TYPED_TEST(DenseLuOf, ThreadedBlas_SmallBackwardError) {
  using T = typename TypeParam::Value;
  this->expect_solved(random_dense<T>(257, 257, 1), Device::openmp(2), {}, "random");
  this->expect_solved(graded<T>(257, 2), Device::openmp(2), {}, "graded");
}

TYPED_TEST(DenseLuOf, PreconditionsAway) {
  using T = typename TypeParam::Value;
  using Method = typename TypeParam::Solver;
  const auto problem = test::convection_diffusion(12, 0.4);
  const Csr<T> a = problem.csr<T>();
  const Dense<T> b = random_dense<T>(problem.n, 1, 1);
  Dense<T> x(Device(), problem.n, 1);
  Gmres<T> gmres({}, {.preconditioner = std::string(Method::MethodOptions::name)});
  gmres.setup(a);
  const Report report = gmres.solve(b, x);
  EXPECT_EQ(report.status, Status::converged);
  EXPECT_EQ(report.iterations, 1);
}

TYPED_TEST(DenseLuOf, GradedMatrix_EquilibrationHelps) {
  using T = typename TypeParam::Value;
  using Method = typename TypeParam::Solver;
  const Dense<T> a = graded<T>(33, 4);
  Method plain({}, {.equilibrate = false});
  Method equilibrated;
  const double without = *plain.factor(a).reciprocal_condition;
  const Report with = equilibrated.factor(a);
  EXPECT_EQ(with.status, Status::ready);
  EXPECT_GT(*with.reciprocal_condition, 100 * without);
}

TYPED_TEST(DenseLuOf, SolvesNothing) {
  using T = typename TypeParam::Value;
  using Method = typename TypeParam::Solver;
  Method lu;
  const Dense<T> a(Device(), 0, 0);
  EXPECT_EQ(lu.factor(a).status, Status::ready);
  Dense<T> x(Device(), 0, 2);
  EXPECT_EQ(lu.solve(Dense<T>(Device(), 0, 2), x).status, Status::direct);

  const Dense<T> one = identity<T>(3);
  lu.factor(one);
  Dense<T> none(Device(), 3, 0);
  EXPECT_EQ(lu.solve(Dense<T>(Device(), 3, 0), none).status, Status::direct);
}

TYPED_TEST(DenseLuOf, NamesTheZeroPivot) {
  using T = typename TypeParam::Value;
  using Method = typename TypeParam::Solver;
  const Dense<T> b = random_dense<T>(33, 1, 1);
  Dense<T> x = random_dense<T>(33, 1, 2);
  const std::vector<T> untouched = x.to_vector();
  Dense<T> a = identity<T>(33);
  a(20, 20) = 0;
  for (const bool equilibrate : {false, true}) {
    Method lu({}, {.equilibrate = equilibrate});
    const Report setup = lu.factor(a);
    EXPECT_EQ(setup.status, Status::singular);
    EXPECT_EQ(setup.row, 20);
    EXPECT_NE(setup.message.find("20 (from 0)"), std::string::npos) << setup.message;
    const Report report = lu.solve(b, x);
    EXPECT_EQ(report.status, Status::singular);
    EXPECT_EQ(report.row, 20);
    EXPECT_TRUE(report.columns.empty());
    EXPECT_EQ(x.to_vector(), untouched);
  }
}

TYPED_TEST(DenseLuOf, ZeroRowOrColumn_IsNamed) {
  using T = typename TypeParam::Value;
  using Method = typename TypeParam::Solver;
  for (const bool zero_row : {true, false}) {
    Dense<T> a = random_dense<T>(31, 31, 8);
    for (std::int64_t k = 0; k < 31; ++k) (zero_row ? a(12, k) : a(k, 12)) = 0;
    Method lu;
    const Report report = lu.factor(a);
    EXPECT_EQ(report.status, Status::singular);
    EXPECT_EQ(report.row, 12);
    EXPECT_NE(report.message.find(zero_row ? "row 12" : "column 12"), std::string::npos) << report.message;
  }
}

TYPED_TEST(DenseLuOf, SmallIntegers_ExactSingularity) {
  using T = typename TypeParam::Value;
  using Method = typename TypeParam::Solver;
  Dense<T> a(Device(), 2, 2);
  a(0, 0) = 2, a(0, 1) = 4, a(1, 0) = 1, a(1, 1) = 2;
  Method lu;
  const Report report = lu.factor(a);
  EXPECT_EQ(report.status, Status::singular) << report;
  EXPECT_EQ(report.rank, 1);
  EXPECT_NE(report.message.find("pivot 1 "), std::string::npos) << report.message;
  EXPECT_EQ(lu.determinant().sign, 0);
}

/// Pivots that are exactly zero are at the level of rounding errors: systems are solved, and accepted or
/// refused, as others of a singular matrix.
TYPED_TEST(DenseLuOf, ZeroPivots_ConsistentSystemsAreSolved) {
  using T = typename TypeParam::Value;
  using Method = typename TypeParam::Solver;
  for (const std::int64_t n : {2, 3, 7, 40}) {
    for (const std::int64_t rank : {std::int64_t{1}, n - 1}) {
      Dense<T> a(Device(), n, n);
      for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = 0; i < n; ++i) a(i, j) = j % rank == i % rank ? T{2} : T{1};
      }
      Dense<T> b(Device(), n, 1);
      Dense<T> x(Device(), n, 1);
      for (std::int64_t i = 0; i < n; ++i) {
        b(i, 0) = 0;
        for (std::int64_t j = 0; j < n; ++j) b(i, 0) += a(i, j) * static_cast<T>(1 + j % 3);
      }
      Method lu;
      lu.factor(a);
      const Report solved = lu.solve(b, x);
      EXPECT_EQ(solved.status, Status::underdetermined) << n << " " << rank << ": " << solved;
      EXPECT_EQ(solved.rank, rank) << solved;
      EXPECT_EQ(solved.certainty, Certainty::proven) << solved;
      EXPECT_LE(solved.relative_residual, 100 * std::numeric_limits<T>::epsilon()) << solved;
      b(n - 1, 0) += 1;
      const Report refused = lu.solve(b, x);
      EXPECT_EQ(refused.status, Status::inconsistent) << n << " " << rank << ": " << refused;
      EXPECT_EQ(refused.certainty, Certainty::proven) << refused;
    }
  }
}

TYPED_TEST(DenseLuOf, SingularToWorkingPrecision_StillSolves) {
  using T = typename TypeParam::Value;
  using Method = typename TypeParam::Solver;
  const Dense<T> a = hilbert<T>(20);
  const Dense<T> b = random_dense<T>(20, 1, 1);
  Dense<T> x(Device(), 20, 1);
  Method lu;
  lu.factor(a);
  const Report report = lu.solve(b, x);
  EXPECT_EQ(report.status, Status::singular);
  EXPECT_FALSE(report.row);
  EXPECT_LT(*report.reciprocal_condition, std::numeric_limits<T>::epsilon());
  EXPECT_NE(report.message.find("to working precision"), std::string::npos) << report.message;
  ASSERT_EQ(report.columns.size(), 1u);
  EXPECT_LT(scaled_residual<T>(a, x, b), passing);
}

TYPED_TEST(DenseLuOf, NearOverflowAndUnderflow_Solved) {
  using T = typename TypeParam::Value;
  using Method = typename TypeParam::Solver;
  const T large = std::is_same_v<T, double> ? static_cast<T>(1e305) : static_cast<T>(1e36);
  const Dense<T> a = random_dense<T>(31, 31, 6);
  Method lu;
  const double rcond = *lu.factor(a).reciprocal_condition;
  for (const T factor : {large, 1 / large}) {
    const Dense<T> extreme = scaled(a, factor);
    const Dense<T> b = scaled(random_dense<T>(31, 1, 7), factor);
    Dense<T> x(Device(), 31, 1);
    EXPECT_NEAR(*lu.factor(extreme).reciprocal_condition / rcond, 1, 0.5);
    EXPECT_EQ(lu.solve(b, x).status, Status::direct);
    EXPECT_LT(scaled_residual<T>(extreme, x, b), passing);
  }
}

TYPED_TEST(DenseLuOf, SolutionOverflows_IsReported) {
  using T = typename TypeParam::Value;
  using Method = typename TypeParam::Solver;
  const T tiny = std::is_same_v<T, double> ? static_cast<T>(1e-200) : static_cast<T>(1e-25);
  const Dense<T> a = scaled(identity<T>(3), tiny);
  const Dense<T> b = scaled(identity<T>(3), 1 / tiny);
  Dense<T> x(Device(), 3, 3);
  for (const std::int64_t refine : {0, 1}) {
    Method lu({}, {.refine = refine});
    lu.factor(a);
    const Report report = lu.solve(b, x);
    EXPECT_FALSE(report.solved());
    EXPECT_EQ(report.status, Status::not_a_number) << to_string(report.status);
  }
}

TYPED_TEST(DenseLuOf, RefusesNaNAndInf) {
  using T = typename TypeParam::Value;
  using Method = typename TypeParam::Solver;
  for (const T bad : {std::numeric_limits<T>::quiet_NaN(), -std::numeric_limits<T>::infinity()}) {
    Dense<T> a = random_dense<T>(5, 5, 1);
    Dense<T> b = random_dense<T>(5, 2, 1);
    Dense<T> x(Device(), 5, 2);
    Method lu;
    lu.factor(a);
    b(3, 1) = bad;
    Report report = lu.solve(b, x);
    EXPECT_EQ(report.status, Status::not_a_number);
    EXPECT_EQ(report.row, 3);
    EXPECT_EQ(report.column, 1);
    a(2, 4) = bad;
    lu.factor(a);
    report = lu.solve(b, x);
    EXPECT_EQ(report.status, Status::not_a_number);
    EXPECT_EQ(report.row, 2);
    EXPECT_EQ(report.column, 4);
  }
}

/// A window in a larger array whose other elements must survive.
template <class T>
struct Window {
  std::vector<T> storage;
  DenseView<T> view;
  Window(std::int64_t rows, std::int64_t columns, Layout layout)
      : storage(static_cast<std::size_t>((rows + 5) * (columns + 5)), T{-77}),
        view(storage.data(), rows, columns, (layout == Layout::column_major ? rows : columns) + 5, {},
             layout) {}
  [[nodiscard]] bool surroundings_intact() const {
    const bool by_column = view.layout() == Layout::column_major;
    const std::int64_t length = by_column ? view.rows() : view.columns();
    const std::int64_t lines = by_column ? view.columns() : view.rows();
    for (std::size_t k = 0; k < storage.size(); ++k) {
      const auto place = static_cast<std::int64_t>(k);
      const bool inside = place / view.leading() < lines && place % view.leading() < length;
      if (!inside && storage[k] != T{-77}) return false;
    }
    return true;
  }
};

TYPED_TEST(DenseLuOf, ManyRightHandSides_EveryLayout) {
  using T = typename TypeParam::Value;
  using Method = typename TypeParam::Solver;
  const std::int64_t n = 33;
  const std::int64_t k = 35;
  const Dense<T> a = random_dense<T>(n, n, 3);
  for (const Layout a_layout : {Layout::column_major, Layout::row_major}) {
    Window<T> a_window(n, n, a_layout);
    for (std::int64_t e = 0; e < n * n; ++e) a_window.view(e % n, e / n) = a(e % n, e / n);
    Method lu;
    lu.factor(a_window.view);
    for (const Layout b_layout : {Layout::column_major, Layout::row_major}) {
      for (const Layout x_layout : {Layout::column_major, Layout::row_major}) {
        Window<T> b(n, k, b_layout);
        Window<T> x(n, k, x_layout);
        for (std::int64_t e = 0; e < n * k; ++e) b.view(e % n, e / n) = static_cast<T>(std::sin(e));
        const Report report = lu.solve(b.view, x.view);
        EXPECT_EQ(report.status, Status::direct);
        EXPECT_EQ(report.columns.size(), static_cast<std::size_t>(k));
        EXPECT_LT(scaled_residual<T>(a, x.view, b.view), passing);
        EXPECT_TRUE(x.surroundings_intact());
      }
    }
  }
}

TYPED_TEST(DenseLuOf, TakesASparseMatrix) {
  using T = typename TypeParam::Value;
  using Method = typename TypeParam::Solver;
  for (const auto& problem : {test::shifted_cycle(129), test::convection_diffusion(9, 0.5)}) {
    const Dense<T> a = problem.template dense<T>();
    const Csr<T> sparse = problem.template csr<T>();
    const Dense<T> b = random_dense<T>(problem.n, 2, 1);
    Dense<T> x(Device(), problem.n, 2);
    Method lu;
    lu.factor(sparse);
    EXPECT_EQ(lu.solve(b, x).status, Status::direct) << problem.name;
    EXPECT_LT(scaled_residual<T>(a, x, b), passing) << problem.name;
  }
}

/// A step is taken only when it makes the residual smaller, so more steps can never leave a larger one.
TYPED_TEST(DenseLuOf, Refinement_NeverIncreasesError) {
  using T = typename TypeParam::Value;
  using Method = typename TypeParam::Solver;
  for (const Dense<T>& a : {random_dense<T>(129, 129, 3), hilbert<T>(12), hilbert<T>(40)}) {
    const std::int64_t n = a.rows();
    const Dense<T> b = random_dense<T>(n, 1, 4);
    double before = std::numeric_limits<double>::infinity();
    for (const std::int64_t refine : {0, 1, 2, 5}) {
      Method lu(Device::serial(), {.refine = refine});
      lu.factor(a);
      Dense<T> x(Device(), n, 1);
      ASSERT_EQ(lu.solve(b, x, {.measure_error = false}).columns.size(), 1u);
      Dense<T> r = b;
      multiply<T>(T{-1}, a, x, T{1}, r);
      const double residual = norm_inf<T>(DenseView<const T>(r));
      EXPECT_LE(residual, before) << "n = " << n << ", refine " << refine;
      before = residual;
    }
  }
}

/// Number of rows from which the factorisation consists of panels and can be interrupted.
TYPED_TEST(DenseLuOf, Panels_FactorsOfLapack) {
  using T = typename TypeParam::Value;
  using Method = typename TypeParam::Solver;
  const std::int64_t n = 1100;
  const Dense<T> a = random_dense<T>(n, n, 3);
  this->expect_solved(a, Device::serial(), {}, "random");
  Dense<T> dependent = a;
  for (std::int64_t i = 0; i < n; ++i) dependent(i, 700) = 0;
  Method lu({}, {.equilibrate = false});
  const Report setup = lu.factor(dependent);
  EXPECT_EQ(setup.status, Status::singular);
  EXPECT_EQ(setup.row, 700);
}

TYPED_TEST(DenseLuOf, Cancelled_StopsTheFactorization) {
  using T = typename TypeParam::Value;
  using Method = typename TypeParam::Solver;
  std::stop_source source;
  source.request_stop();
  for (const std::int64_t n : {10, 1100}) {
    const Dense<T> a = random_dense<T>(n, n, 3);
    const Dense<T> b = random_dense<T>(n, 1, 4);
    Dense<T> x(Device(), n, 1);
    Method lu;
    EXPECT_EQ(lu.factor(a, {.cancel = source.get_token()}).status, Status::cancelled);
    EXPECT_EQ(lu.solve(b, x).status, Status::cancelled);
    EXPECT_EQ(lu.factor(a).status, Status::ready);
    EXPECT_EQ(lu.solve(b, x).status, Status::direct);
    EXPECT_EQ(solve(a, b, {.cancel = source.get_token()}).report.status, Status::cancelled);
  }
}

TYPED_TEST(DenseLuOf, NewValuesAndSizes_Solved) {
  using T = typename TypeParam::Value;
  using Method = typename TypeParam::Solver;
  Method lu;
  for (const std::int64_t n : {33, 5, 129}) {
    const Dense<T> first = random_dense<T>(n, n, 1);
    const Dense<T> second = graded<T>(n, 2);
    Dense<T> x(Device(), n, 1);
    lu.factor(first);
    for (unsigned seed = 0; seed < 5; ++seed) {
      const Dense<T> b = random_dense<T>(n, 1, seed);
      EXPECT_EQ(lu.solve(b, x).status, Status::direct);
      EXPECT_LT(scaled_residual<T>(first, x, b), passing);
    }
    lu.update_values(second);
    const Dense<T> b = random_dense<T>(n, 1, 9);
    EXPECT_EQ(lu.solve(b, x).status, Status::direct);
    EXPECT_LT(scaled_residual<T>(second, x, b), passing);
  }
}

TYPED_TEST(DenseLuOf, FailedSetup_NextOneWorks) {
  using T = typename TypeParam::Value;
  using Method = typename TypeParam::Solver;
  Method lu;
  const Dense<T> singular = scaled(identity<T>(7), T{0});
  const Dense<T> regular = random_dense<T>(7, 7, 1);
  EXPECT_EQ(lu.factor(singular).status, Status::singular);
  EXPECT_EQ(lu.update_values(regular).status, Status::ready);
  const Dense<T> b = random_dense<T>(7, 1, 2);
  Dense<T> x(Device(), 7, 1);
  EXPECT_EQ(lu.solve(b, x).status, Status::direct);
  EXPECT_LT(scaled_residual<T>(regular, x, b), passing);
}

TYPED_TEST(DenseLuOf, ConcurrentSolves_AreCorrect) {
  using T = typename TypeParam::Value;
  using Method = typename TypeParam::Solver;
  for (const Device& device : host_devices) {
    const std::int64_t n = 257;
    const Dense<T> a = random_dense<T>(n, n, 3);
    Method lu(device);
    lu.factor(a);
    std::atomic<int> failures = 0;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (unsigned round = 0; round < 20; ++round) {
          const Dense<T> b = random_dense<T>(n, 2, 100 * t + round);
          Dense<T> x(Device(), n, 2);
          if (!lu.solve(b, x).solved() || !(scaled_residual<T>(a, x, b) < passing)) ++failures;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(failures, 0) << device.name();
  }
}

template <class T>
void expect_moderate_growth_repaired() {
  const std::int64_t n = std::is_same_v<T, double> ? 26 : 12;
  const Dense<T> a = growing<T>(n);
  const Dense<T> b = random_dense<T>(n, 1, 4);
  Dense<T> x(Device(), n, 1);
  const auto residual = [&](std::int64_t refine) {
    LapackLu<T> lu({}, {.refine = refine});
    EXPECT_TRUE(lu.factor(a).warnings.empty()) << "still LU";
    static_cast<void>(lu.solve(b, x, {.measure_error = false}));  // which would correct x
    return scaled_residual<T>(a, x, b);
  };
  if (std::is_same_v<T, double>) {  // float's moderate growth does no harm
    EXPECT_GT(residual(0), passing);
  }
  EXPECT_LT(residual(3), passing);
}

TEST(LapackLu, ModerateGrowth_IsRefined) {
  expect_moderate_growth_repaired<float>();
  expect_moderate_growth_repaired<double>();
}

/// Well-conditioned matrices on which partial pivoting multiplies elements by 10^15 and more: their condition
/// numbers are a few hundred at most, so x is known to almost all digits.
template <class T>
void expect_factored_by_qr() {
  for (const char* generator : {"gepp-growth", "gfpp", "foster", "wright"}) {
    SCOPED_TRACE(generator);
    const auto a = std::get<Dense<T>>(make_matrix<T>(generator, {{"n", 300}}));
    const Dense<T> x_true = random_dense<T>(300, 2, 4);
    Dense<T> b(Device(), 300, 2);
    multiply<T>(T{1}, a, x_true, T{0}, b);
    for (const Device& device : host_devices) {
      LapackLu<T> lu(device, {.refine = 0});
      const Report setup = lu.factor(a);
      EXPECT_EQ(setup.status, Status::ready) << setup.message;
      ASSERT_EQ(setup.warnings.size(), 1u);
      EXPECT_NE(setup.warnings.front().find("QR"), std::string::npos) << setup.warnings.front();
      EXPECT_GT(*setup.reciprocal_condition, 1e-5);
      Dense<T> x(Device(), 300, 2);
      const Report report = lu.solve(b, x);
      EXPECT_EQ(report.status, Status::direct) << report.message;
      EXPECT_LT(scaled_residual<T>(a, x, b), passing);
      const double tolerance = 1e3 * std::numeric_limits<T>::epsilon() / *setup.reciprocal_condition;
      for (std::int64_t k = 0; k < 600; ++k) ASSERT_NEAR(x[k], x_true[k], tolerance);
    }
  }
}

TEST(LapackLu, LargeGrowth_IsFactoredByQr) {
  expect_factored_by_qr<float>();
  expect_factored_by_qr<double>();
}

TEST(LapackLu, SingularToWorkingPrecision_EveryColumn) {
  // A product with noise of rounding: nonsingular as it is stored, and too large for a proof.
  Dense<double> A(Device(), 520, 520);
  multiply<double>(1, random_dense<double>(520, 519, 1), random_dense<double>(519, 520, 2), 0, A);
  LapackLu<double> lu;
  EXPECT_EQ(lu.setup(A).status, Status::singular);
  Dense<double> X(Device(), 520, 2);
  const Report report = lu.solve(random_dense<double>(520, 2, 99), X);
  EXPECT_EQ(report.status, Status::singular);
  EXPECT_FALSE(report.row);
  EXPECT_NE(report.message.find("working precision"), std::string::npos) << report.message;
  ASSERT_EQ(report.columns.size(), 2U);
  for (const ColumnReport& column : report.columns) EXPECT_EQ(column.status, Status::singular);
}

/// From 512 rows on, reports have the warning of host_blas(), if this machine causes one.
TEST(LapackLu, SlowBlas_IsAWarning) {
  const std::string expected = host_blas().warning;
  for (const std::int64_t n : {100, 600}) {
    const Dense<double> a = random_dense<double>(n, n, 1);
    LapackLu<double> lu;
    const std::vector<std::string> warnings = lu.factor(a).warnings;
    const bool warned = std::find(warnings.begin(), warnings.end(), expected) != warnings.end();
    EXPECT_EQ(warned, n >= 512 && !expected.empty());
  }
}

TEST(LapackLu, RefusesAGpu) {
  EXPECT_THROW(static_cast<void>(make_solver<double>("lapack-lu", Device::cuda())), Error);
}

TEST(LapackLu, Rectangular_IsRefused) {
  LapackLu<double> lu;
  const Dense<double> a = random_dense<double>(3, 4, 1);
  EXPECT_THROW(lu.factor(a), DimensionMismatch);
}

TEST(LapackLu, CountsItsBytes) {
  LapackLu<double> lu;
  const Dense<double> a = random_dense<double>(100, 100, 1);
  lu.factor(a);
  EXPECT_GE(lu.bytes(), 100u * 100u * sizeof(double));
  EXPECT_LT(lu.bytes(), 2 * 100u * 100u * sizeof(double));
}

}  // namespace
}  // namespace echelon
