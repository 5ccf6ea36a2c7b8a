// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gpu_fixture.hpp"
#include "support/dense/gauss_jordan.hpp"
#include "support/dense/lu_factors_cases.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
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

/// The methods that are tested alike.
template <class T>
struct OfCusolver {
  using Value = T;
  using Solver = CusolverLu<T>;
  using Options = CusolverLuOptions;
};
template <class T>
struct Own {
  using Value = T;
  using Solver = Lu<T>;
  using Options = LuOptions;
};

template <class Method>
class GpuLuOf : public testing::Test {
 protected:
  using Value = typename Method::Value;

  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no GPU that can be used";
  }

  const Device gpu = Device::cuda();

  struct Answer {
    Report setup;
    Report report;
    Dense<Value> x;
  };
  Answer solve(const Dense<Value>& a, const Dense<Value>& b,
               const typename Method::Options& options = {}) const {
    const Dense<Value> a_gpu = a.to(gpu);
    const Dense<Value> b_gpu = b.to(gpu);
    Dense<Value> x(gpu, b.rows(), b.columns());
    typename Method::Solver lu(gpu, options);
    Answer answer;
    answer.setup = lu.factor(a_gpu);
    answer.report = lu.solve(b_gpu, x);
    answer.x = x.to(Device());
    return answer;
  }

  /// Expects LAPACK's status, a condition number like LAPACK's, and an answer as good.
  void expect_like_lapack(const Dense<Value>& a, std::int64_t refine, const std::string& what) const {
    const Dense<Value> b = random_dense<Value>(a.rows(), 3, 99);
    typename Method::Options options;
    options.refine = refine;
    const Answer answer = solve(a, b, options);
    LapackLu<Value> lapack;
    const Report expected = lapack.factor(a);
    EXPECT_EQ(answer.setup.status, expected.status) << what << ": " << answer.setup.message;
    const bool solvable = expected.status == Status::ready;
    EXPECT_EQ(answer.report.status, solvable ? Status::direct : expected.status)
        << what << ": " << answer.report.message;
    EXPECT_FALSE(answer.report.row) << what;
    ASSERT_TRUE(answer.report.reciprocal_condition) << what;
    if (solvable) {
      const double ratio = *answer.report.reciprocal_condition / *expected.reciprocal_condition;
      EXPECT_GT(ratio, 0.05) << what;
      EXPECT_LT(ratio, 20) << what;
    }
    EXPECT_LT(scaled_residual<Value>(a, answer.x, b), passing) << what;
  }
};
using Methods = testing::Types<OfCusolver<float>, OfCusolver<double>, Own<float>, Own<double>>;
TYPED_TEST_SUITE(GpuLuOf, Methods);

TYPED_TEST(GpuLuOf, Matrices_OutcomesAsLapack) {
  using T = typename TypeParam::Value;
  for (const std::int64_t n : {1, 2, 31, 33, 1025}) {
    for (const std::int64_t refine : {0, 1, 3}) {
      const std::string what = "n = " + std::to_string(n) + ", refine " + std::to_string(refine);
      this->expect_like_lapack(random_dense<T>(n, n, 1), refine, "random, " + what);
      this->expect_like_lapack(graded<T>(n, 2), refine, "graded, " + what);
    }
  }
}

/// The ratios of LAPACK's test program dchkge for its eleven types of matrices.
template <class T>
class GpuLuRatiosOf : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_device_count() == 0) GTEST_SKIP() << "no GPU that can be used";
  }
  const Device gpu = Device::cuda();

  /// |B - A X| / (|A| |X| n eps), and |X - X*| rcond / (|X*| eps) for a known solution X*. `ill`: the matrix
  /// may be singular to working precision.
  void expect_accurate_solutions(const Lu<T>& lu, const Dense<T>& a, double rcond, bool ill) const {
    for (const std::int64_t columns : {1, 2, 15}) {
      const Dense<T> known = random_dense<T>(a.rows(), columns, 17);
      const Dense<T> b = test::product(a, known);
      Dense<T> x(gpu, a.rows(), columns);
      const Report report = lu.solve(b.to(gpu), x);
      EXPECT_TRUE(report.solved() || (ill && report.status == Status::singular)) << report.message;
      const Dense<T> here = x.to(Device());
      EXPECT_LT(scaled_residual<T>(a, here, b), passing);
      const double error = test::largest_difference(here, known) / test::largest_magnitude(known);
      EXPECT_LT(error * rcond / test::unit<T>, passing);
    }
  }
  /// |I - A A^-1| / (|A| |A^-1| n eps) in the maximum norm of rows; returns |A| |A^-1|.
  double expect_accurate_inverse(const Lu<T>& lu, const Dense<T>& a) const {
    Dense<T> x(gpu, a.rows(), a.rows());
    EXPECT_TRUE(lu.inverse(x).solved());
    const Dense<T> inverse = x.to(Device());
    const double condition = row_norm(a) * row_norm(inverse);
    const double error = test::largest_difference(test::product(a, inverse), identity<T>(a.rows()));
    EXPECT_LT(error / (condition * static_cast<double>(a.rows()) * test::unit<T>), passing);
    return condition;
  }
  static double row_norm(const Dense<T>& a) {
    double largest = 0;
    for (std::int64_t i = 0; i < a.rows(); ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < a.columns(); ++j) sum += std::abs(static_cast<double>(a(i, j)));
      largest = std::max(largest, sum);
    }
    return largest;
  }
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuLuRatiosOf, Reals);

TYPED_TEST(GpuLuRatiosOf, AreSmallForLapacksTypes) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 3, 5, 10, 50, 150}) {
    for (int type = 1; type <= 11; ++type) {
      SCOPED_TRACE("n = " + std::to_string(n) + ", type " + std::to_string(type));
      const Dense<T> a = test::lapack_type<T>(type, n, 21);
      const Dense<T> there = a.to(this->gpu);
      Lu<T> lu(this->gpu);
      const Report setup = lu.factor(there);
      if (type >= 5 && type <= 7) {
        EXPECT_EQ(setup.status, Status::singular);
        EXPECT_EQ(setup.row, type == 5 ? 0 : (type == 6 ? n - 1 : n - (n + 1) / 2));
        continue;
      }
      const bool ill = type == 9;
      ASSERT_TRUE(setup.ready() || (ill && setup.status == Status::singular && !setup.row)) << setup.message;
      // The inverses of the scaled matrices overflow or are not normal numbers.
      const double condition =
          type >= 9 ? 1 / *setup.reciprocal_condition : this->expect_accurate_inverse(lu, a);
      this->expect_accurate_solutions(lu, a, 1 / condition, ill);
    }
  }
}

TYPED_TEST(GpuLuRatiosOf, Condition_AgreesWithInverse) {
  using T = TypeParam;
  for (const std::int64_t n : {2, 3, 5, 10, 50, 150}) {
    for (const int type : {1, 2, 3, 4, 8}) {
      SCOPED_TRACE("n = " + std::to_string(n) + ", type " + std::to_string(type));
      const Dense<T> a = test::lapack_type<T>(type, n, 22);
      Dense<T> transposed(Device(), n, n);
      for (std::int64_t e = 0; e < n * n; ++e) transposed[e / n + e % n * n] = a[e];
      const Dense<T> there = transposed.to(this->gpu);
      Lu<T> lu(this->gpu, {.equilibrate = false});
      const Report setup = lu.factor(there);
      ASSERT_TRUE(setup.ready()) << setup.message;
      // The 1-norm of a transpose is the norm of rows.
      const Dense<T> original = a.to(this->gpu);
      Lu<T> of_rows(this->gpu);
      ASSERT_TRUE(of_rows.factor(original).ready());
      const double condition = this->expect_accurate_inverse(of_rows, a);
      EXPECT_GT(*setup.reciprocal_condition * condition, 0.9);  // a lower bound on |A^-1|
      EXPECT_LT(*setup.reciprocal_condition * condition, 10);
    }
  }
}

TYPED_TEST(GpuLuOf, LargeGrowth_IsFactoredOtherwise) {
  using T = typename TypeParam::Value;
  for (const char* generator : {"gepp-growth", "gfpp", "foster", "wright"}) {
    const auto a = std::get<Dense<T>>(make_matrix<T>(generator, {{"n", 300}}));
    this->expect_like_lapack(a, 0, generator);
    const auto answer = this->solve(a, random_dense<T>(300, 2, 4));
    EXPECT_EQ(answer.report.status, Status::direct) << generator << ": " << answer.report.message;
    EXPECT_FALSE(answer.report.warnings.empty()) << generator;
  }
}

TYPED_TEST(GpuLuOf, IllConditioned_OutcomesAsLapack) {
  using T = typename TypeParam::Value;
  for (const std::int64_t n : {2, 3, 4, 20}) {
    this->expect_like_lapack(hilbert<T>(n), 1, "Hilbert " + std::to_string(n));
  }
  this->expect_like_lapack(growing<T>(15), 1, "growing");
}

TYPED_TEST(GpuLuOf, SolvesNothing) {
  using T = typename TypeParam::Value;
  typename TypeParam::Solver lu(this->gpu);
  const Dense<T> a(this->gpu, 0, 0);
  EXPECT_EQ(lu.factor(a).status, Status::ready);
  Dense<T> x(this->gpu, 0, 2);
  EXPECT_EQ(lu.solve(Dense<T>(this->gpu, 0, 2), x).status, Status::direct);

  const Dense<T> one = identity<T>(3).to(this->gpu);
  lu.factor(one);
  Dense<T> none(this->gpu, 3, 0);
  EXPECT_EQ(lu.solve(Dense<T>(this->gpu, 3, 0), none).status, Status::direct);
}

TYPED_TEST(GpuLuOf, ZeroPivotOrLine_IsNamed) {
  using T = typename TypeParam::Value;
  const Dense<T> b = random_dense<T>(33, 1, 1);
  Dense<T> twins = identity<T>(33);
  twins(20, 20) = 2, twins(20, 21) = 4, twins(21, 20) = 1, twins(21, 21) = 2;
  auto answer = this->solve(twins, b);
  EXPECT_EQ(answer.setup.status, Status::singular);
  EXPECT_NE(answer.setup.message.find("pivot 21 (from 0)"), std::string::npos) << answer.setup.message;
  if (std::is_same_v<TypeParam, Own<T>>) {
    EXPECT_EQ(answer.setup.row, 21);
    EXPECT_EQ(answer.report.status, Status::singular);
    EXPECT_TRUE(answer.report.columns.empty());
  } else {  // cuSOLVER goes on after a zero pivot
    EXPECT_EQ(answer.setup.rank, 32);
    EXPECT_EQ(answer.report.status, Status::inconsistent);
  }

  for (const bool zero_row : {true, false}) {
    Dense<T> a = random_dense<T>(33, 33, 8);
    for (std::int64_t k = 0; k < 33; ++k) (zero_row ? a(12, k) : a(k, 12)) = 0;
    answer = this->solve(a, b);
    EXPECT_EQ(answer.report.status, Status::singular);
    EXPECT_EQ(answer.report.row, 12);
    EXPECT_NE(answer.report.message.find(zero_row ? "row 12" : "column 12"), std::string::npos)
        << answer.report.message;
  }
}

TYPED_TEST(GpuLuOf, NearOverflowAndUnderflow_Solved) {
  using T = typename TypeParam::Value;
  const T large = std::is_same_v<T, double> ? static_cast<T>(1e305) : static_cast<T>(1e36);
  const Dense<T> a = random_dense<T>(31, 31, 6);
  const Dense<T> b = random_dense<T>(31, 1, 7);
  const double rcond = *this->solve(a, b).report.reciprocal_condition;
  for (const T factor : {large, 1 / large}) {
    const Dense<T> extreme_a = scaled(a, factor);
    const Dense<T> extreme_b = scaled(b, factor);
    const auto answer = this->solve(extreme_a, extreme_b);
    EXPECT_EQ(answer.report.status, Status::direct) << answer.report.message;
    EXPECT_GT(*answer.report.reciprocal_condition, rcond / 20);
    EXPECT_LT(scaled_residual<T>(extreme_a, answer.x, extreme_b), passing);
  }
}

TYPED_TEST(GpuLuOf, SolutionOverflows_IsReported) {
  using T = typename TypeParam::Value;
  const T tiny = std::is_same_v<T, double> ? static_cast<T>(1e-200) : static_cast<T>(1e-25);
  const auto answer = this->solve(scaled(identity<T>(3), tiny), scaled(identity<T>(3), 1 / tiny));
  EXPECT_EQ(answer.report.status, Status::not_a_number);
}

TYPED_TEST(GpuLuOf, RefusesNaNAndInf) {
  using T = typename TypeParam::Value;
  for (const T bad : {std::numeric_limits<T>::quiet_NaN(), -std::numeric_limits<T>::infinity()}) {
    Dense<T> a = random_dense<T>(33, 33, 1);
    Dense<T> b = random_dense<T>(33, 2, 1);
    b(3, 1) = bad;
    auto answer = this->solve(a, b);
    EXPECT_EQ(answer.report.status, Status::not_a_number);
    EXPECT_EQ(answer.report.row, 3);
    EXPECT_EQ(answer.report.column, 1);
    a(2, 4) = bad;
    answer = this->solve(a, b);
    EXPECT_EQ(answer.report.status, Status::not_a_number);
    EXPECT_EQ(answer.report.row, 2);
    EXPECT_EQ(answer.report.column, 4);
  }
}

TYPED_TEST(GpuLuOf, ManyRightHandSides_EveryLayout) {
  using T = typename TypeParam::Value;
  const std::int64_t n = 33;
  const std::int64_t k = 35;
  const std::int64_t leading = 40;
  const Dense<T> a = random_dense<T>(n, n, 3);
  const Dense<T> a_gpu = a.to(this->gpu);
  typename TypeParam::Solver lu(this->gpu);
  lu.factor(a_gpu);
  for (const Layout layout : {Layout::column_major, Layout::row_major}) {
    Dense<T> b = random_dense<T>(leading, leading, 5);
    Dense<T> x = random_dense<T>(leading, leading, 6);
    const Dense<T> before = x;
    const Dense<T> b_gpu = b.to(this->gpu);
    Dense<T> x_gpu = x.to(this->gpu);
    const Report report = lu.solve(DenseView<const T>(b_gpu.data(), n, k, leading, this->gpu, layout),
                                   DenseView<T>(x_gpu.data(), n, k, leading, this->gpu, layout));
    EXPECT_EQ(report.status, Status::direct);
    EXPECT_EQ(report.columns.size(), static_cast<std::size_t>(k));
    x = x_gpu.to(Device());
    const DenseView<const T> x_view(x.data(), n, k, leading, {}, layout);
    const DenseView<const T> b_view(b.data(), n, k, leading, {}, layout);
    EXPECT_LT(scaled_residual<T>(a, x_view, b_view), passing);
    const std::int64_t length = layout == Layout::column_major ? n : k;
    const std::int64_t lines = layout == Layout::column_major ? k : n;
    for (std::int64_t e = 0; e < leading * leading; ++e) {
      const bool inside = e % leading < length && e / leading < lines;
      ASSERT_TRUE(inside || x[e] == before[e]) << "element " << e;
    }
  }
}

TYPED_TEST(GpuLuOf, RowMajorAndSparse_Solved) {
  using T = typename TypeParam::Value;
  const auto problem = test::shifted_cycle(129);
  const Dense<T> a = problem.template dense<T>();
  const Csr<T> sparse = problem.template csr<T>().to(this->gpu);
  Dense<T> transposed(Device(), 129, 129);
  for (std::int64_t e = 0; e < 129 * 129; ++e) transposed(e / 129, e % 129) = a(e % 129, e / 129);
  const Dense<T> transposed_gpu = transposed.to(this->gpu);
  const DenseView<const T> by_rows(transposed_gpu.data(), 129, 129, 129, this->gpu, Layout::row_major);
  const Dense<T> b = random_dense<T>(129, 2, 1);
  const Dense<T> b_gpu = b.to(this->gpu);
  for (const MatrixRef<T>& form : {MatrixRef<T>(sparse), MatrixRef<T>(by_rows)}) {
    Dense<T> x(this->gpu, 129, 2);
    typename TypeParam::Solver lu(this->gpu);
    lu.factor(form);
    EXPECT_EQ(lu.solve(b_gpu, x).status, Status::direct);
    EXPECT_LT(scaled_residual<T>(a, x.to(Device()), b), passing);
  }
}

TYPED_TEST(GpuLuOf, Growth_IsRefined) {
  using T = typename TypeParam::Value;
  const std::int64_t n = std::is_same_v<T, double> ? 50 : 22;
  const Dense<T> a = growing<T>(n);
  const Dense<T> b = random_dense<T>(n, 1, 4);
  typename TypeParam::Options options;
  options.refine = 3;
  EXPECT_LT(scaled_residual<T>(a, this->solve(a, b, options).x, b), passing);
}

TYPED_TEST(GpuLuOf, PreconditionsAway) {
  using T = typename TypeParam::Value;
  const auto problem = test::convection_diffusion(12, 0.4);
  const Csr<T> a = problem.csr<T>().to(this->gpu);
  Dense<T> x(this->gpu, problem.n, 1);
  Gmres<T> gmres(this->gpu, {.preconditioner = std::string(TypeParam::Options::name)});
  gmres.setup(a);
  const Report report = gmres.solve(random_dense<T>(problem.n, 1, 1).to(this->gpu), x);
  EXPECT_EQ(report.status, Status::converged);
  EXPECT_EQ(report.iterations, 1);
}

TYPED_TEST(GpuLuOf, NewValuesAndSizes_Solved) {
  using T = typename TypeParam::Value;
  typename TypeParam::Solver lu(this->gpu);
  for (const std::int64_t n : {33, 5, 129}) {
    const Dense<T> first = random_dense<T>(n, n, 1);
    const Dense<T> second = graded<T>(n, 2);
    const Dense<T> first_gpu = first.to(this->gpu);
    const Dense<T> second_gpu = second.to(this->gpu);
    const Dense<T> zero = scaled(identity<T>(n), T{0}).to(this->gpu);
    Dense<T> x(this->gpu, n, 1);
    EXPECT_EQ(lu.factor(zero).status, Status::singular);
    lu.factor(first_gpu);
    for (unsigned seed = 0; seed < 3; ++seed) {
      const Dense<T> b = random_dense<T>(n, 1, seed);
      EXPECT_EQ(lu.solve(b.to(this->gpu), x).status, Status::direct);
      EXPECT_LT(scaled_residual<T>(first, x.to(Device()), b), passing);
    }
    lu.update_values(second_gpu);
    const Dense<T> b = random_dense<T>(n, 1, 9);
    EXPECT_EQ(lu.solve(b.to(this->gpu), x).status, Status::direct);
    EXPECT_LT(scaled_residual<T>(second, x.to(Device()), b), passing);
  }
}

TYPED_TEST(GpuLuOf, ConcurrentSolves_AreCorrect) {
  using T = typename TypeParam::Value;
  const std::int64_t n = 129;
  const Dense<T> a = random_dense<T>(n, n, 3);
  const Dense<T> a_gpu = a.to(this->gpu);
  typename TypeParam::Solver lu(this->gpu);
  lu.factor(a_gpu);
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned round = 0; round < 10; ++round) {
        const Dense<T> b = random_dense<T>(n, 2, 100 * t + round);
        Dense<T> x(this->gpu, n, 2);
        const bool solved = lu.solve(b.to(this->gpu), x).solved();
        if (!solved || !(scaled_residual<T>(a, x.to(Device()), b) < passing)) ++failures;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
}

/// An n^2 that no GPU holds: the exception says so, and the solver still works.
TYPED_TEST(GpuLuOf, OutOfMemory_StaysUsable) {
  using T = typename TypeParam::Value;
  const std::int32_t n = 1 << 20;
  std::vector<Triplet<T>> elements;
  for (std::int32_t i = 0; i < n; ++i) elements.push_back({i, i, T{1}});
  const Csr<T> huge = Csr<T>::from_triplets(n, n, elements).to(this->gpu);
  const Dense<T> a = random_dense<T>(33, 33, 3);
  const Dense<T> a_gpu = a.to(this->gpu);
  const Dense<T> b = random_dense<T>(33, 1, 4);
  typename TypeParam::Solver lu(this->gpu);
  EXPECT_THROW(lu.factor(huge), OutOfMemory);
  Dense<T> x(this->gpu, 33, 1);
  EXPECT_THROW(static_cast<void>(lu.solve(b.to(this->gpu), x)), Error);
  EXPECT_EQ(lu.factor(a_gpu).status, Status::ready);
  EXPECT_EQ(lu.solve(b.to(this->gpu), x).status, Status::direct);
  EXPECT_LT(scaled_residual<T>(a, x.to(Device()), b), passing);
}

template <class T>
class GpuLuFactorsOf : public test::GpuTest {
 protected:
  using test::GpuTest::gpu;
};
TYPED_TEST_SUITE(GpuLuFactorsOf, Reals);

TYPED_TEST(GpuLuFactorsOf, AnyShape_AgreesWithGetrf) {
  test::check_lu_factors<TypeParam>(this->gpu);
}

TYPED_TEST(GpuLuFactorsOf, ZeroColumnsAndNan_AreReported) {
  test::check_lu_factors_of_special_matrices<TypeParam>(this->gpu);
}

}  // namespace
}  // namespace echelon
