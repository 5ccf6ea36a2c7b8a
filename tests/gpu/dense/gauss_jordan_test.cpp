// SPDX-License-Identifier: BSD-3-Clause
/// Gauss-Jordan elimination on a GPU: the host's tests with another device, and the shapes at which kernels
/// change over.
#include "gpu/gpu_fixture.hpp"
#include "support/dense/gauss_jordan_cases.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

namespace echelon::test {
namespace {

template <class T>
class GpuGaussJordanOf : public GpuTest {
 protected:
  using GpuTest::gpu;
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuGaussJordanOf, Reals);

/// Sizes around those of warps, leaves and clusters, and a panel too tall for registers.
TYPED_TEST(GpuGaussJordanOf, Products_RankIsFound) {
  const std::vector<Shape> shapes = {
      {1, 1, 1},       {5, 5, 0},      {3, 7, 2},       {7, 3, 2},      {33, 31, 7},    {64, 64, 63},
      {129, 200, 64},  {200, 129, 64}, {300, 300, 150}, {40, 300, 40},  {300, 40, 40},  {513, 520, 260},
      {1100, 150, 80}, {2100, 70, 70}, {4200, 40, 20},  {9000, 20, 11}, {17000, 40, 12}};
  check_rank_of_products<TypeParam>(this->gpu, shapes, {0, 1, 24, 100});
}

TYPED_TEST(GpuGaussJordanOf, ScatteredPivots_AreFound) {
  check_scattered_pivots<TypeParam>(
      this->gpu, {{20, 40, 12}, {70, 130, 50}, {130, 100, 41}, {1025, 60, 20}, {600, 610, 305}});
}

TYPED_TEST(GpuGaussJordanOf, Facts_AreThoseOfTheHost) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 3, 5, 10, 31, 32, 33, 50, 127, 129}) {
    for (int type = 1; type <= 11; ++type) {
      if (type == 9) continue;  // singular by the tolerance or not: rounding decides
      SCOPED_TRACE("type " + std::to_string(type) + ", n = " + std::to_string(n));
      const Dense<T> a = lapack_type<T>(type, n, 11);
      const EchelonForm<T> host = RowReduction<T>().reduce(a);
      const EchelonForm<T> form = reduce_on(this->gpu, a);
      ASSERT_EQ(form.report.status, host.report.status) << form.report.message;
      ASSERT_EQ(form.pivot_columns, host.pivot_columns);
      EXPECT_EQ(form.facts.doubtful, host.facts.doubtful);
      EXPECT_NEAR(form.facts.tolerance, host.facts.tolerance, 1e-3 * host.facts.tolerance);
      EXPECT_EQ(form.facts.largest_rejected_pivot.has_value(), host.facts.largest_rejected_pivot.has_value());
      if (host.facts.smallest_accepted_pivot && type != 8) {
        EXPECT_NEAR(*form.facts.smallest_accepted_pivot / *host.facts.smallest_accepted_pivot, 1, 1e-2);
      }
      EXPECT_EQ(form.determinant->sign, host.determinant->sign);
      if (host.determinant->sign != 0) {
        EXPECT_NEAR(form.determinant->log10(), host.determinant->log10(), 1e-2);
      }
    }
  }
}

TYPED_TEST(GpuGaussJordanOf, EmptyShapes_AreAccepted) {
  check_empty_forms<TypeParam>(this->gpu);
  check_empty_systems<TypeParam>(this->gpu);
  Dense<TypeParam> nothing(this->gpu, 0, 0);
  EXPECT_EQ(RowReduction<TypeParam>(this->gpu).invert(nothing).status, Status::direct);
}

TYPED_TEST(GpuGaussJordanOf, ZeroColumnsAndRows_HaveNoPivots) {
  check_zero_lines<TypeParam>(this->gpu);
}

/// Hadamard's matrix by Sylvester: all magnitudes are equal, and stay powers of two. Of equals the upper one
/// is the pivot, wherever its row is kept.
TYPED_TEST(GpuGaussJordanOf, EqualPivots_TheUpperRowIsSelected) {
  using T = TypeParam;
  for (const std::int64_t n : {2, 16, 64, 128, 512}) {
    Dense<T> a(Device(), n, n);
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < n; ++i) {
        a(i, j) = __builtin_parityll(static_cast<unsigned long long>(i & j)) == 0 ? T{1} : T{-1};
      }
    }
    for (const std::int64_t block : {0, 16}) {
      const EchelonForm<T> host = RowReduction<T>({}, {.block = block}).reduce(a);
      EXPECT_EQ(reduce_on(this->gpu, a, {.block = block}).row_permutation, host.row_permutation) << n;
    }
  }
}

TYPED_TEST(GpuGaussJordanOf, NotFinite_PositionIsReported) {
  check_not_a_number<TypeParam>(this->gpu);
  check_inverse_that_overflows<TypeParam>(this->gpu);
}

/// The last column grows until it is infinite: both sides stop at the same column.
TYPED_TEST(GpuGaussJordanOf, Overflow_ColumnIsReported) {
  using T = TypeParam;
  const std::int64_t n = 200;
  const T far = std::ldexp(T{1}, std::numeric_limits<T>::max_exponent / 4);
  Dense<T> a = identity<T>(n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = j + 1; i < n; ++i) a(i, j) = -1;
    a(j, n - 1) = far;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j + 1 < n; ++j) a(i, j) /= far;
  }
  const GaussJordanOptions options{.tolerance = 0};
  const EchelonForm<T> host = RowReduction<T>({}, options).reduce(a);
  const EchelonForm<T> form = reduce_on(this->gpu, a, options);
  EXPECT_EQ(form.report.status, host.report.status);
  EXPECT_EQ(form.report.column, host.report.column);
}

TYPED_TEST(GpuGaussJordanOf, RepeatedRuns_GiveTheSameBits) {
  using T = TypeParam;
  for (const std::int64_t n : {100, 512, 700, 1500}) {
    const Dense<T> a = random_dense<T>(n, n, 3);
    Dense<T> first = a;
    invert_on(this->gpu, first);
    const EchelonForm<T> form = reduce_on(this->gpu, a);
    for (int run = 0; run < 3; ++run) {
      Dense<T> x = a;
      invert_on(this->gpu, x);
      EXPECT_EQ(x.to_vector(), first.to_vector());
      EXPECT_EQ(reduce_on(this->gpu, a).facts.distance_to_lower_rank, form.facts.distance_to_lower_rank);
    }
  }
}

TYPED_TEST(GpuGaussJordanOf, LapackTypes_InverseResidualsAreSmall) {
  for (const std::int64_t n : {0, 1, 2, 3, 5, 10, 31, 32, 33, 50, 127, 129}) {
    check_inverses_of_types<TypeParam>(this->gpu, n, {1, 2, 3, 4, 8, 9, 10, 11});
  }
  for (const std::int64_t n : {260, 530}) check_inverses_of_types<TypeParam>(this->gpu, n, {4});
}

/// Several panels of several leaves, with look-ahead.
TYPED_TEST(GpuGaussJordanOf, LargeMatrices_AreInverted) {
  for (const std::int64_t n : {1000, 1025, 2100}) {
    for (const std::int64_t block : {0, 64, 200}) check_large_inverse<TypeParam>(this->gpu, n, block);
  }
}

TYPED_TEST(GpuGaussJordanOf, IllConditionedFamilies_AreInverted) {
  check_inverses_that_are_hard<TypeParam>(this->gpu);
}

TYPED_TEST(GpuGaussJordanOf, Views_AreInverted) {
  check_inverse_in_a_window<TypeParam>(this->gpu);
}

TYPED_TEST(GpuGaussJordanOf, DependentColumn_IsReported) {
  check_dependent_columns<TypeParam>(this->gpu, {1, 5, 33, 129, 600});
}

TYPED_TEST(GpuGaussJordanOf, ElementGrowth_IsRefined) {
  check_growing_systems<TypeParam>(this->gpu);
}

TYPED_TEST(GpuGaussJordanOf, LargeGrowth_IsNotSingular) {
  check_large_growth<TypeParam>(this->gpu);
}

TYPED_TEST(GpuGaussJordanOf, ConsistentSystems_OneSolutionOrMany) {
  check_consistent_systems<TypeParam>(this->gpu, {{1, 1, 1},
                                                  {1, 5, 1},
                                                  {5, 1, 1},
                                                  {6, 4, 2},
                                                  {4, 6, 3},
                                                  {33, 33, 30},
                                                  {129, 65, 40},
                                                  {65, 129, 65},
                                                  {300, 200, 150},
                                                  {700, 600, 400}});
}

TYPED_TEST(GpuGaussJordanOf, ConditionBelowTolerance_IsSolvedAndDoubted) {
  check_conditions_near_tolerance<TypeParam>(this->gpu);
}

/// Pivots of random matrices of floats are below the tolerance at this size, but most are regular in float.
TEST_F(GpuTest, GaussJordan_LargeRandomFloats_AreSolvedUnlessTheConditionExcludesIt) {
  const std::int64_t n = 4096;
  int solved = 0;
  for (const unsigned seed : {1, 2, 3, 4, 5, 6}) {
    const Dense<float> a = random_dense<float>(n, n, seed);
    const Dense<float> b = random_dense<float>(n, 1, seed + 10);
    const GeneralSolution<float> solution = solve_on(gpu, a, b);
    if (!solution.report.solved()) continue;
    ++solved;
    EXPECT_GE(*solution.report.reciprocal_condition, unit<float>);
    EXPECT_EQ(solution.facts.rank, n);
    EXPECT_TRUE(solution.facts.doubtful);
    EXPECT_LT(solution.report.backward_error, 100 * unit<float>);
  }
  EXPECT_GE(solved, 3);
}

TYPED_TEST(GpuGaussJordanOf, InconsistentSystem_RowIsReported) {
  check_contradictions<TypeParam>(this->gpu);
}

TYPED_TEST(GpuGaussJordanOf, Solver_MatchesSolve) {
  using T = TypeParam;
  check_solver<T>(this->gpu, {{1, 5, 1}, {5, 1, 1}, {6, 4, 4}, {33, 33, 30}, {129, 65, 40}, {65, 129, 65}});
  for (const std::int64_t n : {1, 33, 129, 1025}) {
    const Dense<T> a = n > 1 ? graded<T>(n, 2) : identity<T>(n);
    const Dense<T> b = random_dense<T>(n, 3, 1);
    const Dense<T> a_gpu = a.to(this->gpu);
    const Dense<T> b_gpu = b.to(this->gpu);
    Dense<T> x(this->gpu, n, 3);
    Solver<T> solver = make_solver<T>("gauss-jordan", this->gpu);
    EXPECT_TRUE(solver.setup(a_gpu).ready());
    EXPECT_EQ(solver.solve(b_gpu, x).status, Status::direct);
    EXPECT_LT(scaled_residual<T>(a, x.to(Device()), b), passing);
  }
}

}  // namespace
}  // namespace echelon::test
