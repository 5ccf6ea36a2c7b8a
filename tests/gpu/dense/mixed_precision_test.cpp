// SPDX-License-Identifier: BSD-3-Clause
/// The host's tests with another device, and with products on the tensor cores.
#include "support/dense/mixed_precision.hpp"

#include "gpu/gpu_fixture.hpp"

namespace echelon::test {
namespace {

template <class T>
class GpuMixedPrecisionOf : public GpuTest {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuMixedPrecisionOf, Reals);

/// One panel, several, and a matrix whose panels are not all equally wide.
TYPED_TEST(GpuMixedPrecisionOf, WellConditioned_IsRefined) {
  for (const char* method : {"lu", "cholesky"}) {
    for (const std::int64_t n : {0, 1, 31, 33, 129, 700, 1025}) {
      expect_accurate_in_lower_precision<TypeParam>(method, this->gpu, n, n == 129 ? 70 : 2, 10);
    }
  }
}

TYPED_TEST(GpuMixedPrecisionOf, EveryCondition_GivesAccurateAnswers) {
  for (const char* method : {"lu", "cholesky"}) {
    expect_accurate_for_every_condition<TypeParam>(method, this->gpu, 200);
  }
}

TYPED_TEST(GpuMixedPrecisionOf, Singular_FallsBack) {
  const Dense<TypeParam> right = random_dense<TypeParam>(40, 1, 2);
  for (const char* method : {"lu", "cholesky"}) {
    expect_fall_back<TypeParam>(method, this->gpu, zeros<TypeParam>(40, 40), right);
    expect_fall_back<TypeParam>(method, this->gpu, hilbert<TypeParam>(40), right);
  }
  Dense<TypeParam> equal_columns = random_dense<TypeParam>(40, 40, 3);
  std::copy_n(equal_columns.data() + 7 * 40, 40, equal_columns.data() + 31 * 40);
  expect_fall_back<TypeParam>("lu", this->gpu, equal_columns, right);
  Dense<TypeParam> indefinite = matrix_for<TypeParam>("cholesky", 40, 10, 3);
  indefinite(20, 20) = -1;
  expect_fall_back<TypeParam>("cholesky", this->gpu, indefinite, right);
  Dense<TypeParam> asymmetric = matrix_for<TypeParam>("cholesky", 40, 10, 3);
  asymmetric(7, 3) += std::is_same_v<TypeParam, double> ? TypeParam(1e-7) : TypeParam(1e-2);
  expect_fall_back<TypeParam>("cholesky", this->gpu, asymmetric, right);
}

TYPED_TEST(GpuMixedPrecisionOf, Threads_ShareASolver) {
  for (const char* method : {"lu", "cholesky"}) {
    expect_threads_to_share<TypeParam>(method, this->gpu, "tf32");
  }
}

TYPED_TEST(GpuMixedPrecisionOf, RepeatedRuns_GiveTheSameBits) {
  for (const char* method : {"lu", "cholesky"}) {
    const Dense<TypeParam> a = matrix_for<TypeParam>(method, 900, 10, 3);
    const Dense<TypeParam> b = random_dense<TypeParam>(900, 2, 4);
    for (const std::string& asked : lower_factor_precisions<TypeParam>(this->gpu)) {
      const Options options = {{"factor_precision", asked}};
      const std::vector<TypeParam> first = answer_of(method, this->gpu, a, b, options).x.to_vector();
      EXPECT_EQ(answer_of(method, this->gpu, a, b, options).x.to_vector(), first) << method << ' ' << asked;
    }
  }
}

class GpuMixedPrecision : public GpuTest {};

TEST_F(GpuMixedPrecision, OutsideOfFloatsRange_FallsBack) {
  for (const char* method : {"lu", "cholesky"}) {
    const Dense<double> a = matrix_for<double>(method, 40, 10, 1);
    const Dense<double> b = random_dense<double>(40, 2, 2);
    expect_fall_back<double>(method, gpu, scaled(a, 1e200), b);
    expect_fall_back<double>(method, gpu, scaled(a, 1e-200), b);
  }
}

TEST_F(GpuMixedPrecision, Growth_IsRefined) {
  const Dense<double> a = growing<double>(129);
  const Dense<double> b = random_dense<double>(129, 1, 2);
  for (const std::string& asked : lower_factor_precisions<double>(gpu)) {
    const Answer<double> answer = answer_of("lu", gpu, a, b, {{"factor_precision", asked}});
    EXPECT_EQ(answer.report.status, Status::direct) << answer.report.message;
    expect_backward_stable(a, answer.x, b, 3);
  }
}

}  // namespace
}  // namespace echelon::test
