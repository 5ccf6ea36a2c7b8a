// SPDX-License-Identifier: BSD-3-Clause
/// The elimination on a GPU for every way to cut panels, beside one kernel that takes the whole matrix.
#include "elimination/gauss_jordan_cuda.cuh"
#include "gpu_fixture.hpp"
#include "support/gauss_jordan.hpp"

#include <gtest/gtest.h>

namespace echelon::test {
namespace {

template <class T>
class GpuPanelOf : public GpuTest {
 protected:
  struct Result {
    Dense<T> matrix;
    std::vector<std::int64_t> rows, columns;
    EliminationState state;
  };

  Result eliminate_with(const Dense<T>& a, std::int64_t block, const PanelTuning& tuning,
                        SideStream* side) const {
    Cuda backend(gpu);
    Dense<T> matrix = a.to(gpu);
    const std::int64_t n = a.columns();
    Array<EliminationState> state(gpu, 1);
    Array<std::int64_t> ranks(gpu, n / block + 2);
    Array<std::int64_t> rows(gpu, n);
    Array<std::int64_t> columns(gpu, n);
    Array<T> values(gpu, n);
    PanelScratch<T> scratch{Array<T>(gpu, block * n), Array<T>(gpu, block * a.rows())};
    backend.write(EliminationState{}, state.data());
    backend.fill(1, std::int64_t{0}, ranks.data());
    const T tolerance = static_cast<T>(1e3 * unit<T>);
    eliminate<T>(backend, matrix.view(), block, true, tolerance, state.data(), ranks.data(),
                 {rows.data(), columns.data(), values.data()}, scratch, tuning, side);
    Result result{matrix.to(Device()), rows.to_vector(), columns.to_vector(), backend.read(state.data())};
    result.rows.resize(static_cast<std::size_t>(result.state.rank));
    result.columns.resize(static_cast<std::size_t>(result.state.rank));
    return result;
  }
  using GpuTest::gpu;
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuPanelOf, Reals);

TYPED_TEST(GpuPanelOf, EveryWayToCutItComesToTheSame) {
  using T = TypeParam;
  SideStream side(this->gpu);
  struct Shape {
    std::int64_t m, n, rank;
  };
  for (const Shape s : {Shape{150, 150, 150}, {150, 150, 90}, {200, 130, 130}, {100, 220, 100}}) {
    const Dense<T> a = product(random_dense<T>(s.m, s.rank, 1), random_dense<T>(s.rank, s.n, 2));
    const auto expected = this->eliminate_with(a, 256, {}, nullptr);
    ASSERT_EQ(expected.state.rank, s.rank);
    const double scale = std::max(1.0, largest_magnitude(expected.matrix));
    for (const std::int64_t block : {16, 40, 64}) {
      for (const PanelTuning& tuning :
           {PanelTuning{}, {16, 1, 256}, {16, 2, 512}, {32, 4, 256}, {24, 8, 512}}) {
        for (SideStream* const on : {static_cast<SideStream*>(nullptr), &side}) {
          const auto result = this->eliminate_with(a, block, tuning, on);
          SCOPED_TRACE("panels of " + std::to_string(block) + ", leaves of " + std::to_string(tuning.leaf));
          ASSERT_EQ(result.state.rank, s.rank);
          ASSERT_EQ(result.columns, expected.columns);
          ASSERT_EQ(result.rows, expected.rows);
          EXPECT_LT(largest_difference(result.matrix, expected.matrix), 1e5 * unit<T> * scale * scale);
        }
      }
    }
  }
}

}  // namespace
}  // namespace echelon::test
