// SPDX-License-Identifier: BSD-3-Clause
// Systems with one pattern on a GPU: by levels, by whole systems, and one by one.
#include "gpu/gpu_fixture.hpp"
#include "support/sparse_direct/systems_of_one_pattern.hpp"

namespace echelon::test {
namespace {

template <class T>
class GpuSparseBatchOf : public GpuTest {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuSparseBatchOf, Reals);

TYPED_TEST(GpuSparseBatchOf, RegularSystems_AreSolvedTogether) {
  for (const std::int64_t n : {1, 40, 700}) {
    for (const std::int64_t count : {1, 33, 200}) {
      SystemsOfOnePattern<TypeParam> systems(n, count, 2);
      const SparseBatchReport report = systems.solve_on(this->gpu);
      EXPECT_TRUE(report.solved());
      EXPECT_EQ(report.solved_singly, 0);
      for (std::int64_t s = 0; s < count; ++s) {
        EXPECT_LE(systems.backward_error(s), 10 * std::sqrt(n) * std::numeric_limits<TypeParam>::epsilon());
      }
    }
  }
}

/// Minimum degree eliminates a narrow graph from its ends, in thousands of levels.
TYPED_TEST(GpuSparseBatchOf, NarrowGraphs_AreDissected) {
  using Systems = SystemsOfOnePattern<TypeParam>;
  Systems systems(Systems::narrow_pattern(5000), 40);
  const SparseBatchReport report = systems.solve_on(this->gpu);
  EXPECT_TRUE(report.solved());
  EXPECT_EQ(report.solved_singly, 0);
  for (std::int64_t s = 0; s < 40; ++s) {
    EXPECT_LE(systems.backward_error(s), 10 * std::sqrt(5000) * std::numeric_limits<TypeParam>::epsilon());
  }
}

TYPED_TEST(GpuSparseBatchOf, ManySystems_TakeAThreadEach) {
  SystemsOfOnePattern<TypeParam> systems(12, 70000);
  const SparseBatchReport report = systems.solve_on(this->gpu);
  EXPECT_TRUE(report.solved());
  for (std::int64_t s = 0; s < 70000; s += 999) {
    EXPECT_LE(systems.backward_error(s), 100 * std::numeric_limits<TypeParam>::epsilon()) << s;
  }
}

TYPED_TEST(GpuSparseBatchOf, BadSystems_AreNamedAndNoOthers) {
  SystemsOfOnePattern<TypeParam> systems(30, 60);
  for (std::int64_t k = systems.pattern.row_offsets()[4]; k < systems.pattern.row_offsets()[5]; ++k) {
    systems.at(37, k) = 0;
  }
  systems.at(6, 11) = std::numeric_limits<TypeParam>::quiet_NaN();
  const SparseBatchReport report = systems.solve_on(this->gpu);
  for (std::int64_t s = 0; s < 60; ++s) {
    EXPECT_EQ(solved(report.outcomes[static_cast<std::size_t>(s)].status), s != 37 && s != 6) << s;
  }
  EXPECT_EQ(report.outcomes[6].status, Status::not_a_number);
  EXPECT_LE(systems.backward_error(38), 100 * std::numeric_limits<TypeParam>::epsilon());
}

}  // namespace
}  // namespace echelon::test
