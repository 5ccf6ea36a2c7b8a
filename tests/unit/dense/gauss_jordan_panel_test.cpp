// SPDX-License-Identifier: BSD-3-Clause
/// Elimination of a panel column by column, compared with the one of the host, and magnitudes as integers.
#include "backend/host/host.hpp"
#include "dense/panels/magnitude_bits.hpp"
#include "dense/panels/panel_loops.hpp"
#include "support/exact_elimination.hpp"

#include <gtest/gtest.h>

namespace echelon::test {
namespace {

template <class T>
class GaussJordanPanelOf : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GaussJordanPanelOf, Reals);

template <class T>
struct Panel {
  explicit Panel(const Dense<T>& a)
      : matrix(a),
        rows(Device::serial(), a.columns()),
        columns(Device::serial(), a.columns()),
        values(Device::serial(), a.columns()),
        workspace{Array<T>(Device::serial(), a.columns() * a.columns()),
                  Array<T>(Device::serial(), a.columns() * a.rows())} {}
  [[nodiscard]] PivotList<T> pivots() { return {rows.data(), columns.data(), values.data()}; }

  Dense<T> matrix;
  EliminationState state;
  Array<std::int64_t> rows, columns;
  Array<T> values;
  PanelWorkspace<T> workspace;
};

TYPED_TEST(GaussJordanPanelOf, ByColumns_IsThePanelOfTheHost) {
  using T = TypeParam;
  Host backend(Device::serial());
  for (const std::int64_t rank : {1, 5, 7}) {
    for (const std::int64_t m : {1, 2, 7, 40, 200}) {
      const Dense<T> a = product(random_dense<T>(m, rank, 1), random_dense<T>(rank, 7, 2));
      constexpr double tolerance = 1e3 * unit<T>;
      Panel<T> expected(a);
      Panel<T> panel(a);
      expected.state.tolerance = panel.state.tolerance = tolerance;
      factor_panel<T>(backend, expected.matrix.view(), 0, 7, &expected.state, expected.pivots(),
                      expected.workspace);
      factor_by_columns(backend, panel.matrix.view(), 0, 7, &panel.state, panel.pivots(), panel.workspace);
      ASSERT_EQ(panel.state.rank, std::min(m, rank));
      ASSERT_EQ(panel.state.rank, expected.state.rank);
      EXPECT_NEAR(panel.state.smallest_accepted / expected.state.smallest_accepted, 1, 1e-3);
      EXPECT_LE(panel.state.largest_rejected, tolerance);
      EXPECT_EQ(panel.state.largest_rejected < 0, expected.state.largest_rejected < 0);
      for (std::int64_t k = 0; k < panel.state.rank; ++k) {
        EXPECT_EQ(panel.rows[k], expected.rows[k]);
        EXPECT_EQ(panel.columns[k], expected.columns[k]);
      }
      const std::vector<std::int64_t> rows(panel.rows.data(), panel.rows.data() + panel.state.rank);
      const std::vector<std::int64_t> columns(panel.columns.data(), panel.columns.data() + panel.state.rank);
      const ExactElimination exact(a, rows, columns);
      EXPECT_LT(exact.error(panel.matrix), 1);
      EXPECT_LT(exact.error(expected.matrix), 1);
    }
  }
}

TYPED_TEST(GaussJordanPanelOf, ByColumns_NotFinite_Stops) {
  using T = TypeParam;
  Host backend(Device::serial());
  for (const T bad : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()}) {
    for (const std::int64_t row : {0, 3, 9}) {
      Dense<T> a = random_dense<T>(10, 6, 1);
      a(row, 4) = bad;
      Panel<T> panel(a);
      factor_by_columns(backend, panel.matrix.view(), 0, 6, &panel.state, panel.pivots(), panel.workspace);
      EXPECT_EQ(panel.state.overflow_column, 4);
      EXPECT_EQ(panel.state.rank, 4);
    }
  }
}

TYPED_TEST(GaussJordanPanelOf, MagnitudeBits_AreOrderedAsMagnitudes) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  const std::vector<T> ascending = {T{0},          Limits::denorm_min(),       Limits::min(),
                                    T{1},          std::nextafter(T{1}, T{2}), T{2},
                                    Limits::max(), Limits::infinity(),         Limits::quiet_NaN()};
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    EXPECT_EQ(magnitude_bits(ascending[i]), magnitude_bits(-ascending[i]));
    if (ascending[i] == ascending[i]) {
      EXPECT_EQ(magnitude_from<T>(magnitude_bits(-ascending[i])), ascending[i]);
    }
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_LT(magnitude_bits(ascending[j]), magnitude_bits(-ascending[i]));
    }
  }
}

}  // namespace
}  // namespace echelon::test
