// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gpu_fixture.hpp"
#include "support/transform_cases.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/builder.hpp>

#include <gtest/gtest.h>

namespace echelon::test {
namespace {

class GpuTransform : public GpuTest {};

TEST_F(GpuTransform, AwkwardShapes_Double) {
  for (const EntryList& list : awkward_lists(4'003, 1)) check_transforms<double>(list, gpu);
}

TEST_F(GpuTransform, AwkwardShapes_Float) {
  for (const EntryList& list : awkward_lists(4'003, 2)) check_transforms<float>(list, gpu);
}

TEST_F(GpuTransform, InvalidLists_Throw) {
  const Csr<double> a = Csr<double>(2, 3, {0, 1, 2}, {1, 2}, {5.0, 6.0}).to(gpu);
  const auto there = [&](const Array<std::int32_t>& list) { return list.to(gpu); };
  EXPECT_THROW(static_cast<void>(permute_rows(a, {1, 0})), DeviceMismatch);
  EXPECT_THROW(static_cast<void>(permute_rows(a, there({1, 1}))), InvalidMatrix);
  EXPECT_THROW(static_cast<void>(permute_columns(a, there({0, 3, 1}))), InvalidMatrix);
  EXPECT_EQ(permute_columns(a, there({2, 0, 1})).column_indices().to_vector(),
            (std::vector<std::int32_t>{2, 0}));
}

TEST_F(GpuTransform, Builder_BuildsOnGpu) {
  CsrBuilder<double> builder(3, 3);
  builder.add(2, 1, 4.0);
  builder.add(0, 0, 1.0);
  EXPECT_EQ(builder.build(gpu).device(), gpu);
  EXPECT_TRUE(equal_bits(builder.build(gpu), builder.build()));
}

}  // namespace
}  // namespace echelon::test
