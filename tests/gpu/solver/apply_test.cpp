// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gpu_fixture.hpp"
#include "support/solver/applied_columns.hpp"

#include <gtest/gtest.h>

namespace echelon::test {
namespace {

using GpuApply = GpuTest;

TEST_F(GpuApply, ColumnsLeftOut_OthersAsAlone) {
  AppliedColumns::expect_as_alone(gpu);
}

}  // namespace
}  // namespace echelon::test
