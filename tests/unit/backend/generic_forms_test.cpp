// SPDX-License-Identifier: BSD-3-Clause
#include "unit/backend/generic_forms.hpp"

#include "backend/host/host.hpp"

#include <gtest/gtest.h>

namespace echelon::test {
namespace {

template <class T>
class GenericForms : public testing::Test {
 protected:
  template <class F>
  void on_each_device(const F& f) {
    for (const Device& device : {Device::serial(), Device::openmp(3)}) {
      SCOPED_TRACE(device.name());
      f(device);
    }
  }
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GenericForms, Reals);

TYPED_TEST(GenericForms, Compression_NativeBits) {
  this->on_each_device([](const Device& device) { expect_compression_by_radix<Host, TypeParam>(device); });
}
TYPED_TEST(GenericForms, Sums_NativeBits) {
  this->on_each_device([](const Device& device) { expect_sums_by_rows<Host, TypeParam>(device); });
}
TYPED_TEST(GenericForms, Products_NativeBits) {
  this->on_each_device([](const Device& device) { expect_products_by_expansion<Host, TypeParam>(device); });
}
TYPED_TEST(GenericForms, Sweeps_NativeBits) {
  this->on_each_device([](const Device& device) { expect_sweeps_by_levels<Host, TypeParam>(device); });
}
TYPED_TEST(GenericForms, DenseLoops_NativeResults) {
  this->on_each_device([](const Device& device) { expect_dense_loops<Host, TypeParam>(device); });
}
TYPED_TEST(GenericForms, DenseScaling_NativeBits) {
  this->on_each_device([](const Device& device) { expect_scaling_in_steps<Host, TypeParam>(device); });
}
TYPED_TEST(GenericForms, DenseInspection_NativeResults) {
  this->on_each_device([](const Device& device) { expect_inspection_by_products<Host, TypeParam>(device); });
}
TYPED_TEST(GenericForms, IncompleteFactors_NativeBits) {
  this->on_each_device(
      [](const Device& device) { expect_incomplete_factors_by_levels<Host, TypeParam>(device); });
}

}  // namespace
}  // namespace echelon::test
