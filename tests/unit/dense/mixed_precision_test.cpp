// SPDX-License-Identifier: BSD-3-Clause
/// factor_precision of lu and cholesky on the host: float inside of double.
#include "support/dense/mixed_precision.hpp"

namespace echelon::test {
namespace {

const Options in_single = {{"factor_precision", "single"}};

class MixedPrecision : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Methods, MixedPrecision, testing::Values("lu", "cholesky"),
                         [](const auto& test) { return test.param; });

TEST_P(MixedPrecision, WellConditioned_IsRefined) {
  for (const std::int64_t n : {0, 1, 2, 31, 33}) {
    expect_accurate_in_lower_precision<double>(GetParam(), Device::serial(), n, 2, 10);
  }
  expect_accurate_in_lower_precision<double>(GetParam(), Device::openmp(2), 257, 70, 100);
  expect_accurate_in_lower_precision<double>(GetParam(), Device::openmp(2), 33, 0, 10);
}

TEST_P(MixedPrecision, WellConditioned_TakesFewStepsAndNoGmres) {
  const Dense<double> a = matrix_for<double>(GetParam(), 100, 100, 3);
  const Dense<double> b = random_dense<double>(100, 1, 4);
  for (const std::int64_t more : {0, 1}) {
    const Report report =
        answer_of(GetParam(), Device(), a, b, {{"factor_precision", "single"}, {"refine", more}}).report;
    EXPECT_EQ(statistic(report, "gmres_steps"), 0);
    EXPECT_GE(report.iterations, 1);  // float alone leaves an error of 1e-8
    EXPECT_LE(report.iterations, 3 + more);
  }
}

/// Classical refinement stagnates where the condition number is near the reciprocal of float's unit roundoff.
TEST_P(MixedPrecision, IllConditioned_TakesGmres) {
  const std::string method = GetParam();
  std::int64_t gmres_steps = 0;
  for (const double condition : {2e7, 1e8, 3e8, 1e9}) {
    const Dense<double> a = matrix_for<double>(method, 60, condition, 3);
    const Dense<double> b = random_dense<double>(60, 2, 4);
    const Answer<double> answer = answer_of(method, Device(), a, b, in_single);
    EXPECT_EQ(answer.report.status, Status::direct) << answer.report.message;
    expect_backward_stable(a, answer.x, b);
    if (answer.report.factor_precision->used != Precision::single) continue;  // not definite in float
    gmres_steps += statistic(answer.report, "gmres_steps");
    const double rcond = *answer_of(method, Device(), a, b, {}).report.reciprocal_condition;
    EXPECT_GT(*answer.report.reciprocal_condition, rcond / 30);
    EXPECT_LT(*answer.report.reciprocal_condition, rcond * 30);
  }
  EXPECT_GT(gmres_steps, 0);
}

TEST_P(MixedPrecision, EveryCondition_GivesAccurateAnswers) {
  expect_accurate_for_every_condition<double>(GetParam(), Device(), 40);
}

TEST_P(MixedPrecision, OutsideOfFloatsRange_FallsBack) {
  const Dense<double> a = matrix_for<double>(GetParam(), 20, 10, 1);
  const Dense<double> b = random_dense<double>(20, 2, 2);
  expect_fall_back<double>(GetParam(), Device(), scaled(a, 1e200), b);
  expect_fall_back<double>(GetParam(), Device(), scaled(a, 1e-200), b);
}

/// Most elements are subnormal numbers of float, of few bits.
TEST_P(MixedPrecision, Underflow_GivesAccurateAnswers) {
  const Dense<double> a = scaled(matrix_for<double>(GetParam(), 20, 10, 1), 1e-42);
  const Dense<double> b = random_dense<double>(20, 2, 2);
  const Answer<double> answer = answer_of(GetParam(), Device(), a, b, in_single);
  EXPECT_EQ(answer.report.status, Status::direct) << answer.report.message;
  expect_backward_stable(a, answer.x, b, 3);
}

/// The rows differ by less than float resolves.
TEST_P(MixedPrecision, SingularInFloatOnly_FallsBack) {
  Dense<double> a = identity<double>(2);
  a(0, 1) = a(1, 0) = 1;
  a(1, 1) = 1 + 1e-10;
  expect_fall_back<double>(GetParam(), Device(), a, random_dense<double>(2, 1, 2));
}

TEST_P(MixedPrecision, Singular_IsReportedAsByTheWorkingPrecision) {
  const std::int64_t n = 30;
  const Dense<double> half = random_dense<double>(n, 15, 1);
  Dense<double> transposed(Device(), 15, n);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < 15; ++j) transposed(j, i) = half(i, j);
  }
  Dense<double> a = product(half, transposed);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < j; ++i) a(i, j) = a(j, i);
  }
  const Dense<double> right = random_dense<double>(n, 1, 2);
  expect_fall_back<double>(GetParam(), Device(), a, product(a, right));
  expect_fall_back<double>(GetParam(), Device(), a, right);
  expect_fall_back<double>(GetParam(), Device(), zeros<double>(n, n), right);
  expect_fall_back<double>(GetParam(), Device(), hilbert<double>(14), random_dense<double>(14, 1, 2));
}

/// Residuals far below the range of float are scaled.
TEST_P(MixedPrecision, RightHandSides_TinyHugeOrZero_AreSolved) {
  const Dense<double> a = matrix_for<double>(GetParam(), 50, 10, 3);
  for (const double size : {1e-290, 1e-40, 1e40, 1e290}) {
    Dense<double> b = scaled(random_dense<double>(50, 3, 4), size);
    std::fill_n(b.data() + 50, 50, 0.0);
    const Answer<double> answer = answer_of(GetParam(), Device(), a, b, in_single);
    EXPECT_EQ(answer.report.status, Status::direct) << answer.report.message;
    expect_factor_precision(answer.report, "single", "single");
    EXPECT_LE(answer.report.backward_error, 10 * unit<double>);
    for (std::int64_t i = 0; i < 50; ++i) EXPECT_EQ(answer.x(i, 1), 0);
  }
}

TEST_P(MixedPrecision, NotANumber_IsReported) {
  Dense<double> a = matrix_for<double>(GetParam(), 20, 10, 3);
  Dense<double> b = random_dense<double>(20, 2, 4);
  b(7, 1) = std::numeric_limits<double>::quiet_NaN();
  Report report = answer_of(GetParam(), Device(), a, b, in_single).report;
  EXPECT_EQ(report.status, Status::not_a_number);
  EXPECT_EQ(report.row, 7);
  a(3, 4) = std::numeric_limits<double>::infinity();
  report = answer_of(GetParam(), Device(), a, random_dense<double>(20, 1, 4), in_single).report;
  EXPECT_EQ(report.status, Status::not_a_number);
  EXPECT_EQ(report.row, 3);
}

TEST_P(MixedPrecision, SparseAndRowMajor_AreSolved) {
  const Csr<double> a = poisson(7);
  const Dense<double> b = random_dense<double>(a.rows(), 2, 1);
  Dense<double> x(Device(), b.rows(), 2);
  Solver<double> solver = make_solver<double>(GetParam(), {}, in_single);
  solver.setup(a);
  EXPECT_EQ(solver.solve(b, x).status, Status::direct);
  const Dense<double> dense = to_dense<double>(a);
  expect_backward_stable(dense, x, b);
  const Dense<double> given = matrix_for<double>(GetParam(), 31, 10, 5);
  Dense<double> rows = given;
  for (std::int64_t j = 0; j < 31; ++j) {
    for (std::int64_t i = 0; i < 31; ++i) rows(i, j) = given(j, i);
  }
  const Dense<double> right = random_dense<double>(31, 1, 1);
  Dense<double> solution(Device(), 31, 1);
  solver.setup(DenseView<const double>(rows.data(), 31, 31, 31, Device(), Layout::row_major));
  EXPECT_EQ(solver.solve(right, solution).status, Status::direct);
  expect_backward_stable(given, solution, right);
}

TEST_P(MixedPrecision, Preconditioner_IsOneSubstitution) {
  const Csr<double> a = poisson(12);
  const Dense<double> b = random_dense<double>(a.rows(), 1, 1);
  Dense<double> x(Device(), a.rows(), 1);
  Gmres<double> gmres(
      {}, {.stop = {.rtol = 1e-12}, .preconditioner = GetParam(), .preconditioner_options = in_single});
  gmres.setup(a);
  const Report report = gmres.solve(b, x);
  EXPECT_EQ(report.status, Status::converged);
  EXPECT_LE(report.iterations, 3);
  EXPECT_GT(report.iterations, 1);
}

TEST_P(MixedPrecision, Threads_ShareASolver) {
  expect_threads_to_share<double>(GetParam(), Device::openmp(2), "single");
}

TEST_P(MixedPrecision, NewMatrix_ReplacesAFallBack) {
  const Dense<double> bad = scaled(matrix_for<double>(GetParam(), 20, 10, 1), 1e200);
  const Dense<double> good = matrix_for<double>(GetParam(), 30, 10, 1);
  Solver<double> solver = make_solver<double>(GetParam(), {}, in_single);
  const Dense<double> b = random_dense<double>(30, 1, 2);
  Dense<double> x(Device(), 30, 1);
  expect_factor_precision(solver.setup(bad), "single", "working");
  expect_factor_precision(solver.setup(good), "single", "single");
  const Report report = solver.solve(b, x);
  expect_factor_precision(report, "single", "single");
  expect_backward_stable(good, x, b);
  EXPECT_GE(report.bytes, 30U * 30U * sizeof(float));
  EXPECT_LT(solver.setup(good).bytes, 30U * 30U * sizeof(double));
}

TEST_P(MixedPrecision, Cancelled_IsReported) {
  const Dense<double> a = matrix_for<double>(GetParam(), 40, 10, 1);
  const Dense<double> b = random_dense<double>(40, 1, 2);
  Dense<double> x(Device(), 40, 1);
  std::stop_source source;
  source.request_stop();
  Control control;
  control.cancel = source.get_token();
  Solver<double> solver = make_solver<double>(GetParam(), {}, in_single);
  EXPECT_EQ(solver.setup(a, control).status, Status::cancelled);
  EXPECT_EQ(solver.setup(a).status, Status::ready);
  EXPECT_EQ(solver.solve(b, x, control).status, Status::cancelled);
}

TEST_P(MixedPrecision, FloatOnHost_HasNoLowerPrecision) {
  const Dense<float> a = matrix_for<float>(GetParam(), 33, 10, 3);
  const Dense<float> b = random_dense<float>(33, 2, 4);
  const Answer<float> answer = answer_of(GetParam(), Device(), a, b, in_single);
  expect_factor_precision(answer.report, "single", "working");
  EXPECT_EQ(answer.x.to_vector(), answer_of(GetParam(), Device(), a, b, {}).x.to_vector());
}

TEST_P(MixedPrecision, PrecisionOfGpus_IsRefusedOnHost) {
  for (const char* word : {"tf32", "tf32x3", "bf16x3"}) {
    try {
      static_cast<void>(make_solver<double>(GetParam(), {}, {{"factor_precision", word}}));
      ADD_FAILURE() << word;
    } catch (const BadOption& error) {
      EXPECT_NE(std::string(error.what()).find("needs a GPU"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(static_cast<void>(make_solver<double>(GetParam(), {}, {{"factor_precision", "half"}})),
               BadOption);
}

/// Elements grow in float as in double: the factors are those after butterflies.
TEST(MixedPrecisionLu, Growth_IsRefined) {
  const Dense<double> a = growing<double>(129);
  const Dense<double> b = random_dense<double>(129, 1, 2);
  const Answer<double> answer = answer_of("lu", Device(), a, b, in_single);
  EXPECT_EQ(answer.report.status, Status::direct) << answer.report.message;
  EXPECT_FALSE(answer.report.warnings.empty());
  expect_backward_stable(a, answer.x, b, 3);
}

TEST(MixedPrecisionLu, BadlyScaled_IsRefined) {
  const Dense<double> a = graded<double>(33, 2);
  const Dense<double> b = random_dense<double>(33, 2, 1);
  const Answer<double> answer = answer_of("lu", Device(), a, b, in_single);
  EXPECT_EQ(answer.report.status, Status::direct);
  expect_backward_stable(a, answer.x, b, 3);
}

/// The determinant, solves with the transpose and the inverse take factors in the working precision.
TEST(MixedPrecisionLu, DeterminantTransposeAndInverse_AreAccurate) {
  const std::int64_t n = 40;
  const Dense<double> a = with_condition<double>(n, 10, 3);
  Lu<double> lu({}, {.factor_precision = Precision::single});
  Lu<double> working;
  lu.setup(a);
  working.setup(a);
  EXPECT_EQ(lu.determinant().mantissa, working.determinant().mantissa);
  EXPECT_EQ(lu.determinant().exponent, working.determinant().exponent);
  const Dense<double> b = random_dense<double>(n, 2, 1);
  Dense<double> x(Device(), n, 2);
  EXPECT_EQ(lu.solve_transposed(b, x).status, Status::direct);
  Dense<double> transposed(Device(), n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) transposed(i, j) = a(j, i);
  }
  expect_backward_stable(transposed, x, b);
  Dense<double> inverse(Device(), n, n);
  const Report report = lu.inverse(inverse);
  EXPECT_EQ(report.status, Status::direct);
  expect_factor_precision(report, "single", "single");
  EXPECT_LT(largest_difference(product(a, inverse), identity<double>(n)), 100 * unit<double>);
}

/// An asymmetry that the tolerance of float would accept has to be refused.
TEST(MixedPrecisionCholesky, SlightlyAsymmetric_IsRefused) {
  Dense<double> a = matrix_for<double>("cholesky", 40, 10, 3);
  a(7, 3) += 1e-7;
  expect_fall_back<double>("cholesky", Device(), a, random_dense<double>(40, 1, 2));
}

TEST(MixedPrecisionCholesky, Indefinite_IsRefused) {
  Dense<double> a = matrix_for<double>("cholesky", 40, 10, 3);
  a(20, 20) = -1;
  expect_fall_back<double>("cholesky", Device(), a, random_dense<double>(40, 1, 2));
}

}  // namespace
}  // namespace echelon::test
