// SPDX-License-Identifier: BSD-3-Clause
/// On the host, a lower precision is float, inside of double.
#include "support/dense/factor_precision.hpp"

namespace echelon::test {
namespace {

TEST(FactorPrecision, Solve_IsRefinedToTheWorkingPrecision) {
  expect_refined_answers<double>(Device::serial(), {1, 2, 33});
  expect_refined_answers<double>(Device::openmp(2), {129});
}

TEST(FactorPrecision, IllConditioned_FallsBackToWorkingPrecision) {
  expect_working_precision_where_it_is_needed<double>(Device::openmp(2));
}

TEST(FactorPrecision, BeyondTheRangeOfFloat_FallsBack) {
  const Dense<double> a = random_dense<double>(20, 20, 1);
  const Dense<double> b = random_dense<double>(20, 1, 2);
  expect_working_answers<double>(Device(), scaled(a, 1e200), b);
  expect_working_answers<double>(Device(), scaled(a, 1e-200), b);
}

/// Float sees rank 20 of 20, and double a matrix that rounding made singular or not: the answer is double's.
TEST(FactorPrecision, Hilbert_FallsBack) {
  for (const std::int64_t n : {9, 11, 20}) {
    expect_working_answers<double>(Device(), hilbert<double>(n), random_dense<double>(n, 1, 2));
  }
}

TEST(FactorPrecision, BadlyScaled_IsRefined) {
  const Dense<double> a = graded<double>(33, 2);
  const Dense<double> b = random_dense<double>(33, 2, 1);
  const GeneralSolution<double> solution =
      solve_on_device<double>({}, a, b, {.factor_precision = Precision::single});
  expect_factor_precision(solution.report, "single", "single");
  EXPECT_EQ(solution.report.status, Status::direct);
  EXPECT_LT(scaled_residual<double>(a, solution.X, b), 30);
}

TEST(FactorPrecision, RightHandSides_ZeroOrNotFinite_AreReported) {
  expect_odd_right_hand_sides<double>({}, "single");
}

/// Residuals far below the range of float are scaled.
TEST(FactorPrecision, RightHandSides_TinyAndHuge_AreSolved) {
  const std::int64_t n = 50;
  const Dense<double> a = with_condition<double>(n, 10, 3);
  for (const double size : {1e-250, 1e-40, 1e40, 1e250}) {
    const Dense<double> b = scaled(random_dense<double>(n, 2, 4), size);
    const GeneralSolution<double> solution =
        solve_on_device<double>({}, a, b, {.factor_precision = Precision::single});
    expect_factor_precision(solution.report, "single", "single");
    EXPECT_LE(solution.report.backward_error, unit<double>);
  }
}

TEST(FactorPrecision, Accuracy_IsMet) {
  expect_accuracy_as_asked<double>(Device::openmp(2), "single");
}

TEST(FactorPrecision, Invert_AccuracyMet_UsesLowerPrecision) {
  expect_inverses<double>(Device::openmp(2), {0, 1, 33, 270});
}

/// Without a digit in the inverse, a small backward error says nothing.
TEST(FactorPrecision, Invert_NoCorrectDigit_FallsBack) {
  Dense<double> a = with_condition<double>(100, 1e9, 3);
  const Report report =
      invert_on_device<double>({}, a, {.factor_precision = Precision::single, .accuracy = 1e-2});
  expect_factor_precision(report, "single", "working");
  EXPECT_EQ(report.status, Status::direct);
}

TEST(FactorPrecision, Threads_ShareASolver) {
  expect_threads_to_share_a_solver<double>(Device::openmp(2), "single");
}

TEST(FactorPrecision, SparseAndRowMajor_AreSolved) {
  const auto problem = convection_diffusion(8, 0.4);
  const Csr<double> a = problem.csr<double>();
  const Dense<double> b = random_dense<double>(problem.n, 2, 1);
  const RowReduction<double> method({}, {.factor_precision = Precision::single});
  const GeneralSolution<double> solution = method.solve(a, b);
  expect_factor_precision(solution.report, "single", "single");
  EXPECT_LT(scaled_residual<double>(to_dense<double>(a), solution.X, b), 30);
  Dense<double> rows = random_dense<double>(31, 31, 5);
  const Dense<double> given = rows;
  const DenseView<double> by_row(rows.data(), 31, 31, 31, Device(), Layout::row_major);
  const Report report =
      RowReduction<double>({}, {.factor_precision = Precision::single, .accuracy = 1e-3}).invert(by_row);
  expect_factor_precision(report, "single", "single");
  EXPECT_LT(largest_difference(product(rows, given), identity<double>(31)), 1e-2);
}

TEST(FactorPrecision, Preconditioner_Converges) {
  const auto problem = convection_diffusion(12, 0.4);
  const Csr<double> a = problem.csr<double>();
  const Dense<double> b = random_dense<double>(problem.n, 1, 1);
  Dense<double> x(Device(), problem.n, 1);
  Gmres<double> gmres({}, {.stop = {.rtol = 1e-12},
                           .preconditioner = "gauss-jordan",
                           .preconditioner_options = {{"factor_precision", "single"}}});
  gmres.setup(a);
  const Report report = gmres.solve(b, x);
  EXPECT_EQ(report.status, Status::converged);
  EXPECT_LE(report.iterations, 3);
  EXPECT_GT(report.iterations, 1);
}

TEST(FactorPrecision, FloatOnHost_HasNoLowerPrecision) {
  const Dense<float> a = with_condition<float>(33, 10, 3);
  const Dense<float> b = random_dense<float>(33, 2, 4);
  expect_working_answers<float>(Device(), a, b);
  Dense<float> x = a;
  expect_factor_precision(
      invert_on_device<float>({}, x, {.factor_precision = Precision::tf32, .accuracy = 1e-2}), "tf32",
      "working");
}

TEST(FactorPrecision, Reduce_UsesTheWorkingPrecision) {
  const Dense<double> a = random_dense<double>(20, 30, 3);
  const EchelonForm<double> form =
      RowReduction<double>({}, {.factor_precision = Precision::single}).reduce(a);
  expect_factor_precision(form.report, "single", "working");
  EXPECT_EQ(form.R.to_vector(), RowReduction<double>().reduce(a).R.to_vector());
}

TEST(FactorPrecision, UnknownPrecision_Throws) {
  EXPECT_THROW(static_cast<void>(make_solver<double>("gauss-jordan", {}, {{"factor_precision", "half"}})),
               BadOption);
}

}  // namespace
}  // namespace echelon::test
