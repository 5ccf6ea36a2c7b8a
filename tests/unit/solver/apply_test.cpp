// SPDX-License-Identifier: BSD-3-Clause
/// Methods applied to several vectors.
#include "support/solver/applied_columns.hpp"

#include <gtest/gtest.h>

namespace echelon::test {
namespace {

TEST(Apply, ColumnsLeftOut_OthersAsAlone) {
  for (const Device& device : {Device::serial(), Device::openmp(3)}) AppliedColumns::expect_as_alone(device);
}

}  // namespace
}  // namespace echelon::test
