// SPDX-License-Identifier: BSD-3-Clause
#include "support/residual_columns.hpp"

#include "gpu/gpu_fixture.hpp"

#include <gtest/gtest.h>

namespace echelon {
namespace {

using GpuResidualCheck = test::GpuTest;

TEST_F(GpuResidualCheck, Columns_AsAlone) {
  test::ResidualColumnsCases::expect_as_alone(gpu);
}

}  // namespace
}  // namespace echelon
