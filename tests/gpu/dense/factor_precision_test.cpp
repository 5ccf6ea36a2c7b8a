// SPDX-License-Identifier: BSD-3-Clause
/// The host's tests with another device, and TF32.
#include "support/dense/factor_precision.hpp"

#include "gpu/gpu_fixture.hpp"

namespace echelon::test {
namespace {

template <class T>
class GpuFactorPrecisionOf : public GpuTest {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuFactorPrecisionOf, Reals);

/// One panel, several, and more than are multiplied out.
TYPED_TEST(GpuFactorPrecisionOf, Solve_IsRefinedToTheWorkingPrecision) {
  expect_refined_answers<TypeParam>(this->gpu, {1, 33, 129, 700, 1025});
}

/// Panels as a product, and odd numbers of rows.
TYPED_TEST(GpuFactorPrecisionOf, LargeSystems_AreRefined) {
  using T = TypeParam;
  const std::int64_t n = 4161;
  Dense<T> a = random_dense<T>(n, n, 3);
  for (std::int64_t i = 0; i < n; ++i) a(i, i) += static_cast<T>(100);
  const Dense<T> b = random_dense<T>(n, 2, 4);
  const double working = solve_on_device<T>(this->gpu, a, b, {}).report.backward_error;
  for (const std::string& asked : lower_precisions(this->gpu)) {
    const Report report =
        solve_on_device<T>(this->gpu, a, b, {.factor_precision = *from_word<Precision>(asked)}).report;
    EXPECT_EQ(report.status, Status::direct) << report.message;
    expect_factor_precision(report, asked, precision_on<T>(this->gpu, asked));
    EXPECT_LE(report.backward_error, std::max(working, unit<T>));
  }
}

TYPED_TEST(GpuFactorPrecisionOf, IllConditioned_FallsBackToWorkingPrecision) {
  expect_working_precision_where_it_is_needed<TypeParam>(this->gpu);
}

TYPED_TEST(GpuFactorPrecisionOf, RightHandSides_ZeroOrNotFinite_AreReported) {
  for (const std::string& asked : lower_precisions(this->gpu))
    expect_odd_right_hand_sides<TypeParam>(this->gpu, asked);
}

TYPED_TEST(GpuFactorPrecisionOf, Accuracy_IsMet) {
  expect_accuracy_as_asked<TypeParam>(this->gpu, "tf32");
}

TYPED_TEST(GpuFactorPrecisionOf, Invert_AccuracyMet_UsesLowerPrecision) {
  expect_inverses<TypeParam>(this->gpu, {0, 1, 33, 700, 1025});
}

TYPED_TEST(GpuFactorPrecisionOf, Threads_ShareASolver) {
  expect_threads_to_share_a_solver<TypeParam>(this->gpu, "tf32");
}

TYPED_TEST(GpuFactorPrecisionOf, RepeatedRuns_GiveTheSameBits) {
  using T = TypeParam;
  const Dense<T> a = with_condition<T>(1500, 10, 3);
  const Dense<T> b = random_dense<T>(1500, 2, 4);
  for (const std::string& asked : lower_precisions(this->gpu)) {
    const GaussJordanOptions options{.factor_precision = *from_word<Precision>(asked)};
    const std::vector<T> first = solve_on_device<T>(this->gpu, a, b, options).X.to_vector();
    EXPECT_EQ(solve_on_device<T>(this->gpu, a, b, options).X.to_vector(), first);
  }
}

}  // namespace
}  // namespace echelon::test
