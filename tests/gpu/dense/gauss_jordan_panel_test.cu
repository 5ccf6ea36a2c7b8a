// SPDX-License-Identifier: BSD-3-Clause
/// The elimination on a GPU with panels divided in several ways, compared with one kernel for the whole
/// matrix; and panels compared with those of the host.
#include "backend/host/host.hpp"
#include "dense/panels/panel.hpp"
#include "dense/panels/workspace.cuh"
#include "gpu/gpu_fixture.hpp"
#include "support/dense/gauss_jordan.hpp"
#include "support/exact_elimination.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

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
                        LookaheadStream* lookahead) const {
    Cuda backend(gpu);
    Dense<T> matrix = a.to(gpu);
    const std::int64_t n = a.columns();
    Array<EliminationState> state(gpu, 1);
    Array<std::int64_t> ranks(gpu, n / block + 2);
    Array<std::int64_t> rows(gpu, n);
    Array<std::int64_t> columns(gpu, n);
    Array<T> values(gpu, n);
    PanelWorkspace<T> workspace{Array<T>(gpu, block * n), Array<T>(gpu, block * a.rows())};
    backend.write(EliminationState{.tolerance = 1e3 * unit<T>}, state.data());
    backend.fill(1, std::int64_t{0}, ranks.data());
    eliminate_panels<T>(backend, {.A = matrix.view(),
                                  .block = block,
                                  .both_sides = true,
                                  .state = state.data(),
                                  .ranks = ranks.data(),
                                  .pivots = {rows.data(), columns.data(), values.data()},
                                  .workspace = workspace,
                                  .tuning = tuning,
                                  .lookahead = lookahead});
    Result result{matrix.to(Device()), rows.to_vector(), columns.to_vector(), backend.read(state.data())};
    result.rows.resize(static_cast<std::size_t>(result.state.rank));
    result.columns.resize(static_cast<std::size_t>(result.state.rank));
    return result;
  }
  template <class B>
  Result factor_on(const Device& device, const Dense<T>& a, double tolerance) const {
    B backend(device);
    const std::int64_t n = a.columns();
    Dense<T> matrix = a.to(device);
    Array<EliminationState> state(device, 1);
    Array<std::int64_t> rows(device, n);
    Array<std::int64_t> columns(device, n);
    Array<T> values(device, n);
    PanelWorkspace<T> workspace{Array<T>(device, n * n), Array<T>(device, n * a.rows())};
    backend.write(EliminationState{.tolerance = tolerance}, state.data());
    factor_panel<T>(backend, matrix.view(), 0, n, state.data(), {rows.data(), columns.data(), values.data()},
                    workspace);
    Result result{matrix.to(Device()), rows.to_vector(), columns.to_vector(), backend.read(state.data())};
    result.rows.resize(static_cast<std::size_t>(result.state.rank));
    result.columns.resize(static_cast<std::size_t>(result.state.rank));
    return result;
  }

  /// Expects the pivots of the host, and elements as accurate as rounding allows if all columns were finite.
  void expect_as_on_host(const Dense<T>& a, double tolerance) const {
    const Result expected = factor_on<Host>(Device::serial(), a, tolerance);
    const Result result = factor_on<Cuda>(gpu, a, tolerance);
    ASSERT_EQ(result.state.rank, expected.state.rank);
    ASSERT_EQ(result.state.overflow_column, expected.state.overflow_column);
    EXPECT_EQ(result.columns, expected.columns);
    EXPECT_EQ(result.rows, expected.rows);
    EXPECT_EQ(result.state.largest_rejected < 0, expected.state.largest_rejected < 0);
    EXPECT_LE(result.state.largest_rejected, tolerance);
    if (expected.state.rank > 0) {
      EXPECT_NEAR(result.state.smallest_accepted / expected.state.smallest_accepted, 1, 1e-3);
    }
    if (expected.state.overflow_column >= 0) return;
    EXPECT_LT(ExactElimination(a, result.rows, result.columns).error(result.matrix), 1);
  }
  using GpuTest::gpu;
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuPanelOf, Reals);

TYPED_TEST(GpuPanelOf, Elimination_IsTheSameForAnyDivisionIntoPanels) {
  using T = TypeParam;
  LookaheadStream lookahead(this->gpu);
  struct Shape {
    std::int64_t m, n, rank;
  };
  for (const Shape s : {Shape{150, 150, 150}, {150, 150, 90}, {200, 130, 130}, {100, 220, 100}}) {
    const Dense<T> a = product(random_dense<T>(s.m, s.rank, 1), random_dense<T>(s.rank, s.n, 2));
    const auto expected = this->eliminate_with(a, 256, {}, nullptr);
    ASSERT_EQ(expected.state.rank, s.rank);
    const double scale = std::max(1.0, largest_magnitude(expected.matrix));
    for (const std::int64_t block : {16, 40, 64}) {
      for (const PanelTuning& tuning : {PanelTuning{}, {16, 1}, {16, 2}, {32, 4}, {24, 8}}) {
        for (LookaheadStream* const on : {static_cast<LookaheadStream*>(nullptr), &lookahead}) {
          const auto result = this->eliminate_with(a, block, tuning, on);
          SCOPED_TRACE("panels of " + std::to_string(block) + ", leaves of " +
                       std::to_string(tuning.leaf_columns));
          ASSERT_EQ(result.state.rank, s.rank);
          ASSERT_EQ(result.columns, expected.columns);
          ASSERT_EQ(result.rows, expected.rows);
          EXPECT_LT(largest_difference(result.matrix, expected.matrix), 1e5 * unit<T> * scale * scale);
        }
      }
    }
  }
}

/// Heights that need from one warp of one block to 16 blocks with four rows for each thread.
const std::vector<std::int64_t> heights{1, 5, 33, 257, 700, 1025, 4097, 9000};

TYPED_TEST(GpuPanelOf, Pivots_AreThoseOfTheHost) {
  using T = TypeParam;
  for (const std::int64_t m : heights) {
    for (const std::int64_t rank : {7, 40}) {
      SCOPED_TRACE(std::to_string(m) + " rows, rank " + std::to_string(rank));
      const Dense<T> a = product(random_dense<T>(m, rank, 1), random_dense<T>(rank, 40, 2));
      this->expect_as_on_host(a, 1e3 * unit<T>);
    }
  }
}

TYPED_TEST(GpuPanelOf, EqualPivots_TheUpperRowIsSelected) {
  using T = TypeParam;
  for (const std::int64_t m : heights) {
    SCOPED_TRACE(std::to_string(m) + " rows");
    Dense<T> a(Device(), m, 37);  // of a Hadamard matrix: powers of two all the way
    for (std::int64_t j = 0; j < 37; ++j) {
      for (std::int64_t i = 0; i < m; ++i) {
        a(i, j) = std::popcount(static_cast<std::uint64_t>(i & j)) % 2 == 0 ? T{1} : T{-1};
      }
    }
    this->expect_as_on_host(a, 0);
  }
}

TYPED_TEST(GpuPanelOf, NotFinite_StopsTheElimination) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  for (const T bad : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()}) {
    for (const std::int64_t row : {0, 299}) {
      for (const std::int64_t column : {0, 5, 20}) {
        Dense<T> a = random_dense<T>(300, 40, 1);
        a(row, column) = bad;
        this->expect_as_on_host(a, 0);
      }
    }
  }
}

TYPED_TEST(GpuPanelOf, PivotsNearTheEndsOfTheRange_AreDividedBy) {
  using T = TypeParam;
  const int far = sizeof(T) == 8 ? 1005 : 110;
  for (const int exponent : {-far, far}) {
    const Dense<T> a = scaled(random_dense<T>(100, 20, 1), static_cast<T>(std::ldexp(1.0, exponent)));
    this->expect_as_on_host(a, 0);
  }
}

}  // namespace
}  // namespace echelon::test
