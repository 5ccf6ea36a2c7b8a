// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/cuda.cuh"
#include "gpu/gpu_fixture.hpp"
#include "unit/backend/generic_forms.hpp"

#include <gtest/gtest.h>

namespace echelon::test {
namespace {

template <class T>
class GpuGenericForms : public GpuTest {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuGenericForms, Reals);

TYPED_TEST(GpuGenericForms, Compression_NativeBits) {
  expect_compression_by_radix<Cuda, TypeParam>(this->gpu);
}
TYPED_TEST(GpuGenericForms, Sums_NativeBits) {
  expect_sums_by_rows<Cuda, TypeParam>(this->gpu);
}
TYPED_TEST(GpuGenericForms, Products_NativeBits) {
  expect_products_by_expansion<Cuda, TypeParam>(this->gpu);
}
TYPED_TEST(GpuGenericForms, Sweeps_NativeBits) {
  expect_sweeps_by_levels<Cuda, TypeParam>(this->gpu);
}
TYPED_TEST(GpuGenericForms, DenseLoops_NativeResults) {
  expect_dense_loops<Cuda, TypeParam>(this->gpu);
}
TYPED_TEST(GpuGenericForms, DenseScaling_NativeBits) {
  expect_scaling_in_steps<Cuda, TypeParam>(this->gpu);
}
TYPED_TEST(GpuGenericForms, DenseInspection_NativeResults) {
  expect_inspection_by_products<Cuda, TypeParam>(this->gpu);
}
TYPED_TEST(GpuGenericForms, IncompleteFactors_NativeBits) {
  expect_incomplete_factors_by_levels<Cuda, TypeParam>(this->gpu);
}

}  // namespace
}  // namespace echelon::test
