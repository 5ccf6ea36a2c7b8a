// SPDX-License-Identifier: BSD-3-Clause
/// Systems of every shape: one solution, many, none.
#include "support/dense/gauss_jordan_cases.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <thread>
#include <type_traits>

namespace echelon::test {
namespace {

const std::vector<Device> host_devices = {Device::serial(), Device::openmp(2)};

template <class T>
class GaussJordanSolveOf : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GaussJordanSolveOf, Reals);

const std::vector<Shape> shapes = {{1, 1, 1},     {1, 5, 1},     {5, 1, 1},      {4, 4, 2},
                                   {6, 4, 4},     {6, 4, 2},     {4, 6, 4},      {4, 6, 3},
                                   {33, 33, 33},  {33, 33, 30},  {129, 65, 65},  {129, 65, 40},
                                   {65, 129, 65}, {65, 129, 40}, {300, 200, 150}};

TYPED_TEST(GaussJordanSolveOf, ConsistentSystems_OneSolutionOrMany) {
  for (const Device& device : host_devices) check_consistent_systems<TypeParam>(device, shapes);
}

TYPED_TEST(GaussJordanSolveOf, InconsistentSystem_RowIsReported) {
  check_contradictions<TypeParam>(Device());
}

TYPED_TEST(GaussJordanSolveOf, LargeGrowth_IsNotSingular) {
  for (const Device& device : host_devices) check_large_growth<TypeParam>(device);
}

TYPED_TEST(GaussJordanSolveOf, ZeroRow_NonzeroRightHandSide_IsInconsistent) {
  using T = TypeParam;
  Dense<T> a = random_dense<T>(6, 6, 1);
  for (std::int64_t j = 0; j < 6; ++j) a(4, j) = 0;
  Dense<T> b = random_dense<T>(6, 1, 2);
  b[4] = static_cast<T>(0.01);
  const GeneralSolution<T> none = RowReduction<T>().solve(a, b);
  EXPECT_EQ(none.report.status, Status::inconsistent);
  EXPECT_EQ(none.report.row, 4);
  b[4] = static_cast<T>(1e-20);  // is negligible compared with the other elements
  EXPECT_EQ(RowReduction<T>().solve(a, b).report.status, Status::underdetermined);
  b[4] = 0;
  EXPECT_EQ(RowReduction<T>().solve(a, b).report.status, Status::underdetermined);
}

TYPED_TEST(GaussJordanSolveOf, EmptyShapes_AreAccepted) {
  check_empty_systems<TypeParam>(Device());
}

TYPED_TEST(GaussJordanSolveOf, WrongShapes_Throw) {
  using T = TypeParam;
  EXPECT_THROW(static_cast<void>(RowReduction<T>().solve(zeros<T>(4, 3), zeros<T>(3, 1))), DimensionMismatch);
}

TYPED_TEST(GaussJordanSolveOf, NotFinite_PositionIsReported) {
  using T = TypeParam;
  Dense<T> a = random_dense<T>(5, 4, 1);
  Dense<T> b = zeros<T>(5, 2);
  b(3, 1) = std::numeric_limits<T>::infinity();
  const GeneralSolution<T> no_answer = RowReduction<T>().solve(a, b);
  const Report& of_b = no_answer.report;
  EXPECT_EQ(of_b.status, Status::not_a_number);
  EXPECT_EQ(of_b.row, 3);
  EXPECT_EQ(of_b.column, 1);
  EXPECT_EQ(of_b.relative_residual, 1);
  EXPECT_EQ(no_answer.X.columns(), 0);
  EXPECT_EQ(no_answer.facts.rank, 4);
  a(2, 3) = std::numeric_limits<T>::quiet_NaN();
  const Report of_a = RowReduction<T>().solve(a, b).report;
  EXPECT_EQ(of_a.status, Status::not_a_number);
  EXPECT_EQ(of_a.row, 2);
  EXPECT_EQ(of_a.column, 3);
}

TYPED_TEST(GaussJordanSolveOf, GradedRowsAndColumns_AreEquilibrated) {
  using T = TypeParam;
  const Dense<T> a = graded<T>(33, 2);
  const Dense<T> b = random_dense<T>(33, 2, 1);
  const GeneralSolution<T> solution = RowReduction<T>().solve(a, b);
  EXPECT_EQ(solution.report.status, Status::direct) << solution.report.message;
  EXPECT_LT(scaled_residual<T>(a, solution.X.view(), b.view()), passing);
  EXPECT_LT(RowReduction<T>({}, {.equilibrate = false}).solve(a, b).facts.rank, 33);
}

TYPED_TEST(GaussJordanSolveOf, FullRank_AccuracyIsEstimated) {
  using T = TypeParam;
  const Dense<T> a = random_dense<T>(33, 33, 1);
  for (const Precision precision : {Precision::working, Precision::single}) {
    const Report report =
        RowReduction<T>({}, {.factor_precision = precision}).solve(a, random_dense<T>(33, 2, 2)).report;
    ASSERT_EQ(report.status, Status::direct) << report.message;
    EXPECT_EQ(report.condition_kind, ConditionKind::factored);
    ASSERT_TRUE(report.reciprocal_condition && report.error_estimate);
    EXPECT_GE(*report.error_estimate, std::numeric_limits<T>::epsilon() / 2);
    EXPECT_LT(*report.error_estimate, (std::is_same_v<T, double> ? 1e-11 : 1e-2));
    ASSERT_EQ(report.columns.size(), 2U);
    EXPECT_TRUE(report.columns[0].error_estimate && report.columns[1].error_estimate);
  }
}

/// Every figure but times and bytes.
void expect_same_report(const Report& a, const Report& b) {
  EXPECT_EQ(a.status, b.status);
  EXPECT_EQ(a.method, b.method);
  EXPECT_EQ(a.device, b.device);
  EXPECT_EQ(a.message, b.message);
  EXPECT_EQ(a.row, b.row);
  EXPECT_EQ(a.column, b.column);
  EXPECT_EQ(a.rank, b.rank);
  EXPECT_EQ(a.warnings, b.warnings);
  EXPECT_EQ(a.iterations, b.iterations);
  EXPECT_EQ(a.relative_residual, b.relative_residual);
  EXPECT_EQ(a.backward_error, b.backward_error);
  EXPECT_EQ(a.reciprocal_condition, b.reciprocal_condition);
  EXPECT_EQ(a.condition_kind, b.condition_kind);
  EXPECT_EQ(a.error_estimate, b.error_estimate);
  ASSERT_EQ(a.columns.size(), b.columns.size());
  for (std::size_t j = 0; j < a.columns.size(); ++j) {
    EXPECT_EQ(a.columns[j].status, b.columns[j].status);
    EXPECT_EQ(a.columns[j].backward_error, b.columns[j].backward_error);
  }
}

/// The general solution and the Solver build their reports by the same rules.
TYPED_TEST(GaussJordanSolveOf, Reports_AreThoseOfSolver) {
  using T = TypeParam;
  const Dense<T> regular = random_dense<T>(33, 33, 1);
  const Dense<T> singular = product(random_dense<T>(33, 20, 1), random_dense<T>(20, 33, 2));
  const Dense<T> wide = random_dense<T>(20, 33, 3);
  Dense<T> not_finite = regular;
  not_finite(3, 7) = std::numeric_limits<T>::quiet_NaN();
  Dense<T> overflow = random_dense<T>(33, 2, 4);
  overflow(5, 1) = std::numeric_limits<T>::infinity();
  const Dense<T> b = random_dense<T>(33, 2, 5);
  const auto expect_same = [](const Dense<T>& A, const Dense<T>& B) {
    Dense<T> x(Device(), A.columns(), B.columns());
    GaussJordan<T> s;
    s.setup(A);
    expect_same_report(RowReduction<T>().solve(A, B).report, s.solve(B, x));
  };
  expect_same(regular, b);
  expect_same(regular, overflow);
  expect_same(singular, b);
  expect_same(singular, product(singular, b));
  expect_same(wide, random_dense<T>(20, 3, 6));
  expect_same(not_finite, b);
}

TYPED_TEST(GaussJordanSolveOf, ConditionBelowTolerance_IsSolvedAndDoubted) {
  for (const Device& device : host_devices) check_conditions_near_tolerance<TypeParam>(device);
}

/// Rounding leaves pivots above eps ||A||_inf in some of these.
TYPED_TEST(GaussJordanSolveOf, SingularProducts_KeepTheirRank) {
  using T = TypeParam;
  for (const std::int64_t n : {2, 3, 4, 5, 10, 33, 150}) {
    for (unsigned seed = 1; seed <= 10; ++seed) {
      for (const std::int64_t rank : {n - 1, n / 2}) {
        SCOPED_TRACE("n = " + std::to_string(n) + ", rank " + std::to_string(rank));
        if (rank == 0) continue;
        const Dense<T> a = product(random_dense<T>(n, rank, seed), random_dense<T>(rank, n, seed + 50));
        const GeneralSolution<T> solution = RowReduction<T>().solve(a, random_dense<T>(n, 1, 99));
        EXPECT_LE(solution.facts.rank, rank);
        EXPECT_FALSE(solution.report.solved());
      }
    }
  }
}

TYPED_TEST(GaussJordanSolveOf, MagicSquare_IsSingular) {
  using T = TypeParam;
  Dense<T> a(Device(), 4, 4);
  const std::vector<int> magic = {16, 5, 9, 4, 2, 11, 7, 14, 3, 10, 6, 15, 13, 8, 12, 1};
  std::copy(magic.begin(), magic.end(), a.data());
  const GeneralSolution<T> solution = RowReduction<T>().solve(a, random_dense<T>(4, 1, 1));
  EXPECT_EQ(solution.facts.rank, 3);
  EXPECT_EQ(solution.report.status, Status::inconsistent);
}

template <class T>
Solver<T> solver(const Device& device, const Options& options = {}) {
  return make_solver<T>("gauss-jordan", device, options);
}

TYPED_TEST(GaussJordanSolveOf, LapackTypes_ResidualsAreSmall) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 3, 5, 10, 31, 32, 33, 50, 127, 129}) {
    for (const int type : {1, 2, 3, 4, 8, 9, 10, 11}) {
      for (const std::int64_t k : {1, 2, 15}) {
        SCOPED_TRACE("type " + std::to_string(type) + ", n = " + std::to_string(n));
        const Dense<T> a = lapack_type<T>(type, n, 5);
        const Dense<T> exact = random_dense<T>(n, k, 6);
        const Dense<T> b = product(a, exact);
        Dense<T> x(Device(), n, k);
        Solver<T> s = solver<T>(Device::openmp(2), {{"tolerance", 0.0}});
        s.setup(a);
        const Report report = s.solve(b, x);
        ASSERT_EQ(report.columns.size(), static_cast<std::size_t>(k)) << report.message;
        if (type != 9) {  // where rounding may take all digits, elimination in this form may leave a residual
          EXPECT_LT(scaled_residual<T>(a, x, b), passing);
        }
        const double forward = largest_difference(x, exact) / largest_magnitude(exact);
        EXPECT_LT(forward * *report.reciprocal_condition,
                  passing * unit<T> * std::sqrt(static_cast<double>(n)));
      }
    }
  }
  for (const std::int64_t n : {1000, 1023, 1025}) {
    const Dense<T> a = random_dense<T>(n, n, 5);
    const Dense<T> b = random_dense<T>(n, 3, 6);
    Dense<T> x(Device(), n, 3);
    Solver<T> s = solver<T>(Device());
    s.setup(a);
    EXPECT_EQ(s.solve(b, x).status, Status::direct);
    EXPECT_LT(scaled_residual<T>(a, x, b), passing);
  }
}

TYPED_TEST(GaussJordanSolveOf, IllConditionedFamilies_AreSolved) {
  using T = TypeParam;
  for (const Dense<T>& a : {hilbert<T>(8), lotkin<T>(8), frank<T>(9), vandermonde<T>(8), kahan<T>(40, 1.2),
                            growing<T>(std::is_same_v<T, double> ? 50 : 22)}) {
    const std::int64_t n = a.rows();
    const Dense<T> b = random_dense<T>(n, 2, 4);
    Dense<T> x(Device(), n, 2);
    Solver<T> s = solver<T>(Device(), {{"refine", 3}, {"tolerance", 0.0}});
    s.setup(a);
    ASSERT_EQ(s.solve(b, x).columns.size(), 2U);
    EXPECT_LT(scaled_residual<T>(a, x, b), passing);
  }
}

TYPED_TEST(GaussJordanSolveOf, ElementGrowth_IsRefined) {
  for (const Device& device : host_devices) check_growing_systems<TypeParam>(device);
}

TYPED_TEST(GaussJordanSolveOf, Refinement_NeverIncreasesTheResidual) {
  using T = TypeParam;
  for (const Dense<T>& a : {random_dense<T>(129, 129, 3), hilbert<T>(12), growing<T>(40)}) {
    const std::int64_t n = a.rows();
    const Dense<T> b = random_dense<T>(n, 1, 4);
    double before = std::numeric_limits<double>::infinity();
    for (const int refine : {0, 1, 2, 5}) {
      Solver<T> s = solver<T>(Device(), {{"refine", refine}, {"tolerance", 0.0}});
      s.setup(a);
      Dense<T> x(Device(), n, 1);
      // A correction by a measured error makes x better, and may increase the residual.
      ASSERT_EQ(s.solve(b, x, {.measure_error = false}).columns.size(), 1U);
      Dense<T> r = b;
      multiply<T>(T{-1}, a, x, T{1}, r);
      const double residual = norm_inf<T>(DenseView<const T>(r));
      EXPECT_LE(residual, before);
      before = residual;
    }
  }
}

TYPED_TEST(GaussJordanSolveOf, Solver_SingularMatrix_AssessesEachRightHandSide) {
  using T = TypeParam;
  const Dense<T> a = integers_of_rank<T>({50, 50, 30});
  const Dense<T> good = product(a, integers<T>(50, 2, 3));
  const Dense<T> bad = random_dense<T>(50, 1, 4);
  Dense<T> b(Device(), 50, 3);
  std::copy_n(good.data(), 50, b.data());
  std::copy_n(bad.data(), 50, b.data() + 50);
  std::copy_n(good.data() + 50, 50, b.data() + 100);
  Solver<T> s = solver<T>(Device());
  const Report setup = s.setup(a);
  EXPECT_EQ(setup.status, Status::singular);
  EXPECT_NE(setup.message.find("rank 30 of 50"), std::string::npos) << setup.message;
  Dense<T> x(Device(), 50, 3);
  const Report report = s.solve(b, x);
  EXPECT_EQ(report.status, Status::inconsistent);
  EXPECT_TRUE(report.row);
  ASSERT_EQ(report.columns.size(), 3U);
  EXPECT_EQ(report.columns[0].status, Status::underdetermined);
  EXPECT_EQ(report.columns[1].status, Status::inconsistent);
  EXPECT_EQ(report.columns[2].status, Status::underdetermined);
  EXPECT_LT(report.columns[0].backward_error, 1000 * unit<T>);
  EXPECT_FALSE(report.solved());
}

TYPED_TEST(GaussJordanSolveOf, Solver_AnyShape_IsSolved) {
  check_solver<TypeParam>(Device(), shapes);
}

TYPED_TEST(GaussJordanSolveOf, Solver_EmptyShapes_AreAccepted) {
  using T = TypeParam;
  for (const Shape s : {Shape{0, 0, 0}, {0, 4, 0}, {4, 0, 0}}) {
    const auto [x, report] = solve(zeros<T>(s.m, s.n), zeros<T>(s.m, 2), {.method = "gauss-jordan"});
    EXPECT_EQ(report.status, s.n == 0 ? Status::direct : Status::underdetermined);
    EXPECT_EQ(x.to_vector(), std::vector<T>(static_cast<std::size_t>(2 * s.n)));
  }
}

/// Full rank by every pivot, and yet no digit can be trusted.
TEST(GaussJordanSolve, Kahan_WithoutTolerance_IsSingular) {
  Solver<double> s = solver<double>(Device(), {{"tolerance", 0.0}, {"equilibrate", false}});
  const Dense<double> a = kahan<double>(110, 1.2);
  const Report report = s.setup(a);
  EXPECT_EQ(report.status, Status::singular);
  EXPECT_FALSE(report.row);
}

TYPED_TEST(GaussJordanSolveOf, AnyNumberOfThreads_GivesTheSameBits) {
  using T = TypeParam;
  const std::int64_t n = 601;
  const Dense<T> a = random_dense<T>(n, n, 1);
  const Dense<T> b = random_dense<T>(n, 3, 2);
  const auto bits = [&](const Device& device) {
    Solver<T> s = solver<T>(device);
    s.setup(a);
    Dense<T> x(Device(), n, 3);
    EXPECT_EQ(s.solve(b, x).status, Status::direct);
    return x.to_vector();
  };
  const std::vector<T> serial = bits(Device::serial());
  for (const int threads : {1, 2, 3, 2}) EXPECT_EQ(bits(Device::openmp(threads)), serial);
}

TYPED_TEST(GaussJordanSolveOf, Solver_ConcurrentSolves_AreCorrect) {
  using T = TypeParam;
  const std::int64_t n = 129;
  const Dense<T> a = random_dense<T>(n, n, 3);
  Solver<T> s = solver<T>(Device::openmp(2));
  s.setup(a);
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned round = 0; round < 10; ++round) {
        const Dense<T> b = random_dense<T>(n, 2, 100 * t + round);
        Dense<T> x(Device(), n, 2);
        if (!s.solve(b, x).solved() || !(scaled_residual<T>(a, x, b) < passing)) ++failures;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

TYPED_TEST(GaussJordanSolveOf, Preconditioner_ConvergesInOneIteration) {
  using T = TypeParam;
  const auto problem = convection_diffusion(12, 0.4);
  const Csr<T> a = problem.csr<T>();
  const Dense<T> b = random_dense<T>(problem.n, 1, 1);
  Dense<T> x(Device(), problem.n, 1);
  Gmres<T> gmres({}, {.preconditioner = "gauss-jordan"});
  gmres.setup(a);
  const Report report = gmres.solve(b, x);
  EXPECT_EQ(report.status, Status::converged);
  EXPECT_EQ(report.iterations, 1);
}

TYPED_TEST(GaussJordanSolveOf, Solver_NewValuesAndSizes_AreSolved) {
  using T = TypeParam;
  Solver<T> s = solver<T>(Device());
  for (const std::int64_t n : {33, 5, 129}) {
    const Dense<T> singular = zeros<T>(n, n);
    const Dense<T> regular = random_dense<T>(n, n, 2);
    EXPECT_EQ(s.setup(singular).status, Status::singular);
    EXPECT_EQ(s.update_values(regular).status, Status::ready);
    const Dense<T> b = random_dense<T>(n, 1, 9);
    Dense<T> x(Device(), n, 1);
    EXPECT_EQ(s.solve(b, x).status, Status::direct);
    EXPECT_LT(scaled_residual<T>(regular, x, b), passing);
  }
}

}  // namespace
}  // namespace echelon::test
