// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/array.hpp>
#include <echelon/device.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

namespace echelon::test {

/// Skips its tests where no OpenCL device can be used.
class OpenClTest : public testing::Test {
 protected:
  void SetUp() override {
    if (opencl_device_count() == 0) GTEST_SKIP() << "no usable OpenCL device";
  }
  template <class V>
  [[nodiscard]] static Array<V> there(const std::vector<V>& values) {
    return Array<V>(Device::opencl(), std::span<const V>(values));
  }
};

}  // namespace echelon::test
