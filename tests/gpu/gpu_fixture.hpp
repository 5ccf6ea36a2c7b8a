// SPDX-License-Identifier: BSD-3-Clause
/// Fixture that skips tests if there is no GPU.
#pragma once

#include <echelon/device.hpp>

#include <gtest/gtest.h>

namespace echelon::test {

class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cuda_built()) GTEST_SKIP() << "built without CUDA";
    if (cuda_device_count() == 0) GTEST_SKIP() << "no NVIDIA GPU can be used here";
  }
  const Device gpu = Device::cuda();
};

}  // namespace echelon::test
