// SPDX-License-Identifier: BSD-3-Clause
#include "support/residual_columns.hpp"

#include <gtest/gtest.h>

namespace echelon {
namespace {

TEST(ResidualCheck, Columns_AsAlone) {
  for (const Device& device : {Device::serial(), Device::openmp(3)}) {
    test::ResidualColumnsCases::expect_as_alone(device);
  }
}

}  // namespace
}  // namespace echelon
