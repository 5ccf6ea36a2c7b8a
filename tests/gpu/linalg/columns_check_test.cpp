// SPDX-License-Identifier: BSD-3-Clause
#include "support/columns_check.hpp"

#include "gpu/gpu_fixture.hpp"

#include <gtest/gtest.h>

namespace echelon {
namespace {

using GpuColumnsCheck = test::GpuTest;

TEST_F(GpuColumnsCheck, Columns_AsAlone) {
  test::ColumnsCheckCases::expect_as_alone(gpu);
}

}  // namespace
}  // namespace echelon
