// SPDX-License-Identifier: BSD-3-Clause
/// Gauss-Jordan elimination on a GPU: the host's tests with another device, and the shapes at which kernels
/// change over.
#include "support/gauss_jordan.hpp"

#include "gpu_fixture.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

namespace echelon::test {
namespace {

constexpr double passing = 30;  // LAPACK's threshold

template <class T>
class GpuGaussJordanOf : public GpuTest {
 protected:
  [[nodiscard]] EchelonForm<T> reduce(const Dense<T>& a, const GaussJordanOptions& options = {}) const {
    EchelonForm<T> form = GaussJordan<T>(gpu, options).reduce(a.to(gpu));
    if (form.R.rows() == a.rows()) form.R = form.R.to(Device());
    return form;
  }
  [[nodiscard]] GeneralSolution<T> solve(const Dense<T>& a, const Dense<T>& b,
                                         const GaussJordanOptions& options = {}) const {
    const Dense<T> a_gpu = a.to(gpu);
    const Dense<T> b_gpu = b.to(gpu);
    GeneralSolution<T> solution = GaussJordan<T>(gpu, options).solve(a_gpu, b_gpu);
    solution.X = solution.X.to(Device());
    solution.null_space = solution.null_space.to(Device());
    return solution;
  }
  /// Replaces a.
  Report invert(Dense<T>& a, const GaussJordanOptions& options = {}) const {
    Dense<T> there = a.to(gpu);
    const Report report = GaussJordan<T>(gpu, options).invert(there);
    a = there.to(Device());
    return report;
  }
  using GpuTest::gpu;
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuGaussJordanOf, Reals);

struct Shape {
  std::int64_t m, n, rank;
};

/// Sizes around those of warps, leaves and clusters, and a panel too tall for registers.
TYPED_TEST(GpuGaussJordanOf, FindsTheRankOfProducts) {
  using T = TypeParam;
  for (const Shape s : {Shape{1, 1, 1},
                        {5, 5, 0},
                        {3, 7, 2},
                        {7, 3, 2},
                        {33, 31, 7},
                        {64, 64, 63},
                        {129, 200, 64},
                        {200, 129, 64},
                        {300, 300, 150},
                        {40, 300, 40},
                        {300, 40, 40},
                        {513, 520, 260},
                        {1100, 150, 80},
                        {2100, 70, 70},
                        {4200, 40, 20},
                        {9000, 20, 11},
                        {17000, 40, 12}}) {
    SCOPED_TRACE(std::to_string(s.m) + " by " + std::to_string(s.n) + ", rank " + std::to_string(s.rank));
    const Dense<T> a = product(random_dense<T>(s.m, s.rank, 1), random_dense<T>(s.rank, s.n, 2));
    for (const std::int64_t block : {0, 1, 24, 100}) {
      if (block == 1 && s.m > 300) continue;
      const EchelonForm<T> form = this->reduce(a, {.block = block});
      ASSERT_EQ(form.report.status, Status::direct) << form.report.message;
      ASSERT_EQ(form.facts.rank, s.rank);
      expect_reduced(a, form, 1000);
      if constexpr (std::is_same_v<T, double>) {
        for (std::int64_t k = 0; k < s.rank; ++k) {
          EXPECT_EQ(form.pivot_columns[static_cast<std::size_t>(k)], k);
        }
        EXPECT_FALSE(form.facts.doubtful);
      }
    }
  }
}

/// Pivots on columns 0, 3, 4, 7, ...: what is between them is a combination of those before.
TYPED_TEST(GpuGaussJordanOf, FindsPivotsWhereverTheyAre) {
  using T = TypeParam;
  for (const Shape s : {Shape{20, 40, 20}, {70, 130, 65}, {130, 100, 50}, {1025, 60, 30}, {600, 610, 305}}) {
    std::vector<std::int64_t> pivots;
    Dense<T> a = random_dense<T>(s.m, s.n, 4);
    for (std::int64_t j = 0; j < s.n; ++j) {
      if (j % 4 == 0 || j % 4 == 3) {
        pivots.push_back(j);
        continue;
      }
      for (std::int64_t i = 0; i < s.m; ++i) a(i, j) = j % 4 == 1 ? a(i, j / 4 * 4) / 2 : -a(i, j - 2);
    }
    ASSERT_EQ(static_cast<std::int64_t>(pivots.size()), s.rank);
    const EchelonForm<T> form = this->reduce(a);
    ASSERT_EQ(form.pivot_columns, pivots);
    expect_reduced(a, form, 1000);
    const Dense<T> basis = null_space(GaussJordan<T>(this->gpu).reduce(a.to(this->gpu))).to(Device());
    ASSERT_EQ(basis.columns(), s.n - s.rank);
    EXPECT_LT(largest_magnitude(product(a, basis)), 1e3 * unit<T> * largest_magnitude(a) *
                                                        static_cast<double>(s.n) *
                                                        std::max(1.0, largest_magnitude(basis)));
  }
}

TYPED_TEST(GpuGaussJordanOf, ReportsWhatTheHostReports) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 3, 5, 10, 31, 32, 33, 50, 127, 129}) {
    for (int type = 1; type <= 11; ++type) {
      if (type == 9) continue;  // singular by the tolerance or not: rounding decides
      SCOPED_TRACE("type " + std::to_string(type) + ", n = " + std::to_string(n));
      const Dense<T> a = lapack_type<T>(type, n, 11);
      const EchelonForm<T> host = GaussJordan<T>().reduce(a);
      const EchelonForm<T> form = this->reduce(a);
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

TYPED_TEST(GpuGaussJordanOf, TakesEmptyShapes) {
  using T = TypeParam;
  for (const Shape s : {Shape{0, 0, 0}, {0, 5, 0}, {5, 0, 0}}) {
    const EchelonForm<T> form = this->reduce(Dense<T>(Device(), s.m, s.n));
    EXPECT_EQ(form.report.status, Status::direct);
    EXPECT_EQ(form.facts.rank, 0);
    const GeneralSolution<T> solution = this->solve(zeros<T>(s.m, s.n), zeros<T>(s.m, 2));
    EXPECT_EQ(solution.report.status, s.n == 0 ? Status::direct : Status::underdetermined);
    EXPECT_EQ(solution.null_space.columns(), s.n);
  }
  Dense<T> nothing(Device(), 0, 0);
  EXPECT_EQ(this->invert(nothing).status, Status::direct);
}

TYPED_TEST(GpuGaussJordanOf, SkipsZeroColumnsAndRows) {
  using T = TypeParam;
  Dense<T> a = random_dense<T>(60, 90, 8);
  for (const std::int64_t j : {0, 1, 31, 32, 50, 89}) std::fill_n(a.data() + j * 60, 60, T{0});
  for (std::int64_t j = 0; j < 90; ++j) a(0, j) = a(17, j) = a(59, j) = 0;
  for (const std::int64_t block : {0, 16}) {
    const EchelonForm<T> form = this->reduce(a, {.block = block});
    EXPECT_EQ(form.facts.rank, 57);
    EXPECT_EQ(form.facts.largest_rejected_pivot, 0);
    expect_reduced(a, form, 1000);
  }
}

/// Hadamard's matrix by Sylvester: all magnitudes are equal, and stay powers of two. Of equals the upper one
/// is the pivot, wherever its row is kept.
TYPED_TEST(GpuGaussJordanOf, TakesTheUpperOfEqualPivots) {
  using T = TypeParam;
  for (const std::int64_t n : {2, 16, 64, 128, 512}) {
    Dense<T> a(Device(), n, n);
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < n; ++i) {
        a(i, j) = __builtin_parityll(static_cast<unsigned long long>(i & j)) == 0 ? T{1} : T{-1};
      }
    }
    for (const std::int64_t block : {0, 16}) {
      const EchelonForm<T> host = GaussJordan<T>({}, {.block = block}).reduce(a);
      EXPECT_EQ(this->reduce(a, {.block = block}).row_permutation, host.row_permutation) << n;
    }
  }
}

TYPED_TEST(GpuGaussJordanOf, SaysWhereANonNumberIs) {
  using T = TypeParam;
  for (const T bad : {std::numeric_limits<T>::quiet_NaN(), -std::numeric_limits<T>::infinity()}) {
    Dense<T> a = random_dense<T>(1025, 33, 8);
    a(1024, 3) = bad;
    a(700, 20) = bad;
    const EchelonForm<T> form = this->reduce(a);
    EXPECT_EQ(form.report.status, Status::not_a_number);
    EXPECT_EQ(form.report.row, 700);
    EXPECT_EQ(form.report.column, 20);
  }
  Dense<T> tiny = scaled(identity<T>(3), std::numeric_limits<T>::denorm_min());
  EXPECT_EQ(this->invert(tiny).status, Status::not_a_number);  // the inverse overflows
}

/// The last column grows until it is infinite: both sides stop at the same column.
TYPED_TEST(GpuGaussJordanOf, StopsWhereItOverflows) {
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
  const EchelonForm<T> host = GaussJordan<T>({}, options).reduce(a);
  const EchelonForm<T> form = this->reduce(a, options);
  EXPECT_EQ(form.report.status, host.report.status);
  EXPECT_EQ(form.report.column, host.report.column);
}

TYPED_TEST(GpuGaussJordanOf, GivesTheSameBitsOnEveryRun) {
  using T = TypeParam;
  for (const std::int64_t n : {100, 512, 700, 1500}) {
    const Dense<T> a = random_dense<T>(n, n, 3);
    Dense<T> first = a;
    this->invert(first);
    const EchelonForm<T> form = this->reduce(a);
    for (int run = 0; run < 3; ++run) {
      Dense<T> x = a;
      this->invert(x);
      EXPECT_EQ(x.to_vector(), first.to_vector());
      EXPECT_EQ(this->reduce(a).facts.distance_to_lower_rank, form.facts.distance_to_lower_rank);
    }
  }
}

TYPED_TEST(GpuGaussJordanOf, InvertsWithASmallResidualOnBothSides) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 3, 5, 10, 31, 32, 33, 50, 127, 129, 260, 530}) {
    for (const int type : {1, 2, 3, 4, 8, 9, 10, 11}) {
      if (n > 130 && type != 4) continue;
      SCOPED_TRACE("type " + std::to_string(type) + ", n = " + std::to_string(n));
      const Dense<T> a = lapack_type<T>(type, n, 3);
      Dense<T> x = a;
      const Report report = this->invert(x, {.tolerance = 0});
      ASSERT_TRUE(report.solved() || (type == 9 && !report.column)) << report.message;
      EXPECT_LT(inverse_ratio(x, a), passing);
      if (type < 8 || type > 9) {
        EXPECT_LT(inverse_ratio(a, x), passing);
      }
    }
  }
}

/// Several panels of several leaves, with look-ahead; a few vectors in extended precision.
TYPED_TEST(GpuGaussJordanOf, InvertsLargeMatrices) {
  using T = TypeParam;
  for (const std::int64_t n : {1000, 1025, 2100}) {
    const Dense<T> a = random_dense<T>(n, n, 3);
    for (const std::int64_t block : {0, 64, 200}) {
      Dense<T> x = a;
      const Report report = this->invert(x, {.block = block});
      ASSERT_EQ(report.status, Status::direct);
      const Dense<T> v = random_dense<T>(n, 2, 4);
      const double bound = passing * unit<T> / *report.reciprocal_condition;
      EXPECT_LT(largest_difference(product(x, product(a, v)), v), bound);
      EXPECT_LT(largest_difference(product(a, product(x, v)), v), bound);
    }
  }
}

TYPED_TEST(GpuGaussJordanOf, InvertsWhatIsHardForElimination) {
  using T = TypeParam;
  for (const Dense<T>& a :
       {hilbert<T>(6), lotkin<T>(6), frank<T>(8), vandermonde<T>(7), kahan<T>(40, 1.2), growing<T>(12)}) {
    Dense<T> x = a;
    ASSERT_NE(this->invert(x, {.tolerance = 0}).status, Status::breakdown);
    EXPECT_LT(inverse_ratio(a, x), passing);
    EXPECT_LT(inverse_ratio(x, a), passing);
  }
}

TYPED_TEST(GpuGaussJordanOf, SolvesWhereElementsGrow) {
  using T = TypeParam;
  for (const Dense<T>& a : growth_matrices<T>()) {
    const Dense<T> b = product(a, random_dense<T>(a.rows(), 2, 4));
    const GeneralSolution<T> solution = this->solve(a, b, {.tolerance = 0, .refine = 5});
    EXPECT_LT(scaled_residual<T>(a, solution.X, b), passing) << "n = " << a.rows();
  }
}

TYPED_TEST(GpuGaussJordanOf, InvertsInAWindow) {
  using T = TypeParam;
  const std::int64_t n = 37;
  const std::int64_t leading = 50;
  Dense<T> storage = zeros<T>(leading, n);
  const Dense<T> a = random_dense<T>(n, n, 3);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < leading; ++i) storage(i, j) = i < n ? a(i, j) : T{-77};
  }
  for (const Layout layout : {Layout::column_major, Layout::row_major}) {
    Dense<T> there = storage.to(this->gpu);
    const DenseView<T> window(there.data(), n, n, leading, this->gpu, layout);
    ASSERT_EQ(GaussJordan<T>(this->gpu).invert(window).status, Status::direct);
    const Dense<T> back = there.to(Device());
    Dense<T> x(Device(), n, n);
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < n; ++i) x(i, j) = back(i, j);
      for (std::int64_t i = n; i < leading; ++i) EXPECT_EQ(back(i, j), T{-77});
    }
    EXPECT_LT(inverse_ratio(x, a), passing);
  }
}

TYPED_TEST(GpuGaussJordanOf, NamesTheFirstDependentColumn) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 5, 33, 129, 600}) {
    for (const std::int64_t column : {std::int64_t{0}, n / 2, n - 1}) {
      Dense<T> a = random_dense<T>(n, n, 3);
      for (std::int64_t i = 0; i < n; ++i) a(i, column) = column > 0 ? 2 * a(i, column - 1) : T{0};
      const Report report = this->invert(a);
      EXPECT_EQ(report.status, Status::singular);
      EXPECT_EQ(report.column, column);
    }
  }
}

template <class T>
double residual_ratio(const Dense<T>& a, const Dense<T>& x, const Dense<T>& b) {
  const double n = static_cast<double>(std::max<std::int64_t>({a.rows(), a.columns(), 1}));
  const double size = largest_magnitude(a) * n * largest_magnitude(x) + largest_magnitude(b);
  return size > 0 ? largest_difference(product(a, x), b) / (size * n * unit<T>) : 0;
}

TYPED_TEST(GpuGaussJordanOf, TellsOneSolutionFromMany) {
  using T = TypeParam;
  for (const Shape s : {Shape{1, 1, 1},
                        {1, 5, 1},
                        {5, 1, 1},
                        {6, 4, 2},
                        {4, 6, 3},
                        {33, 33, 30},
                        {129, 65, 40},
                        {65, 129, 65},
                        {300, 200, 150},
                        {700, 600, 400}}) {
    const Dense<T> a = product(random_dense<T>(s.m, s.rank, 1), random_dense<T>(s.rank, s.n, 2));
    for (const std::int64_t k : {1, 2, 70}) {
      SCOPED_TRACE(std::to_string(s.m) + " by " + std::to_string(s.n) + ", rank " + std::to_string(s.rank) +
                   ", k = " + std::to_string(k));
      const Dense<T> b = product(a, random_dense<T>(s.n, k, 3));
      const GeneralSolution<T> solution = this->solve(a, b);
      ASSERT_EQ(solution.facts.rank, s.rank);
      EXPECT_EQ(solution.report.status, s.rank == s.n ? Status::direct : Status::underdetermined)
          << solution.report.message;
      EXPECT_LT(residual_ratio(a, solution.X, b), passing);
      EXPECT_LT(largest_magnitude(product(a, solution.null_space)),
                passing * unit<T> * largest_magnitude(a) * static_cast<double>(s.n) *
                    (1 + largest_magnitude(solution.null_space)));
    }
  }
}

TYPED_TEST(GpuGaussJordanOf, NamesTheRowThatContradicts) {
  using T = TypeParam;
  for (const Shape s :
       {Shape{2, 1, 1}, {3, 3, 2}, {5, 9, 4}, {9, 5, 5}, {40, 40, 30}, {200, 64, 64}, {64, 200, 60}}) {
    const std::int64_t first = s.m / 3;
    const std::int64_t second = s.m - 1;
    Dense<T> a = product(random_dense<T>(s.m, s.rank, 1), random_dense<T>(s.rank, s.n, 2));
    for (std::int64_t j = 0; j < s.n; ++j) a(second, j) = a(first, j);
    Dense<T> b = product(a, random_dense<T>(s.n, 3, 3));
    b(second, 1) += T{1};
    const GeneralSolution<T> solution = this->solve(a, b);
    EXPECT_EQ(solution.report.status, Status::inconsistent);
    ASSERT_TRUE(solution.report.row);
    EXPECT_TRUE(solution.report.row == first || solution.report.row == second) << *solution.report.row;
    EXPECT_NE(solution.report.columns[0].status, Status::inconsistent);
    EXPECT_EQ(solution.report.columns[1].status, Status::inconsistent);
  }
}

TYPED_TEST(GpuGaussJordanOf, IsASolver) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 33, 129, 1025}) {
    const Dense<T> a = n > 1 ? graded<T>(n, 2) : identity<T>(n);
    const Dense<T> b = random_dense<T>(n, 3, 1);
    const Dense<T> a_gpu = a.to(this->gpu);
    const Dense<T> b_gpu = b.to(this->gpu);
    Dense<T> x(this->gpu, n, 3);
    Solver<T> solver = make_solver<T>("gauss-jordan", this->gpu);
    EXPECT_TRUE(solver.setup(a_gpu).solved());
    EXPECT_EQ(solver.solve(b_gpu, x).status, Status::direct);
    EXPECT_LT(scaled_residual<T>(a, x.to(Device()), b), passing);
  }
}

}  // namespace
}  // namespace echelon::test
