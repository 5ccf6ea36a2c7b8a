// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/columns_check.hpp"

#include "support/columns_check.hpp"

#include <gtest/gtest.h>

namespace echelon {
namespace {

TEST(ColumnsCheck, Columns_AsAlone) {
  for (const Device& device : {Device::serial(), Device::openmp(3)}) {
    test::ColumnsCheckCases::expect_as_alone(device);
  }
}

}  // namespace
}  // namespace echelon
