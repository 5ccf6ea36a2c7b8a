// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/multifrontal/cuda/spare_pivots.hpp"

#include "dense/tiles/indefinite_work.hpp"
#include "sparse_direct/multifrontal/cuda/front_plan.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

namespace echelon::sparse_direct::gpu {
namespace {

SymbolicFactor analysed(const Csr<double>& a) {
  return analyze_symmetric(pattern_of(a), {.ordering = {.ordering = Ordering::amd}});
}

TEST(SparePivots, LargeSupernodes_AreContinued) {
  const SymbolicFactor before = analysed(generate::poisson_3d<double>(12, 12, 12));
  const SpareSymbolic after = add_spare_pivots(before);
  const SymbolicFactor& symbolic = after.symbolic;
  ASSERT_EQ(symbolic.supernodes(), before.supernodes());
  std::int64_t spare = 0;
  bool has_large = false;
  for (std::int64_t s = 0; s < before.supernodes(); ++s) {
    const std::int32_t count = after.spare[static_cast<std::size_t>(s)];
    EXPECT_EQ(symbolic.pivots(s), before.pivots(s) + count);
    EXPECT_EQ(count > 0, before.pivots(s) > tiles::indefinite_width);
    has_large = has_large || count > 0;
    spare += count;
    // The same columns of the matrix, then spare ones; the same rows of the matrix below.
    for (std::int64_t j = 0; j < symbolic.pivots(s); ++j) {
      const std::int32_t column = symbolic.permutation[static_cast<std::size_t>(
          symbolic.supernode_begin[static_cast<std::size_t>(s)] + j)];
      if (j >= before.pivots(s)) {
        EXPECT_EQ(column, -1);
      } else {
        EXPECT_EQ(column, before.permutation[static_cast<std::size_t>(
                              before.supernode_begin[static_cast<std::size_t>(s)] + j)]);
      }
    }
    const auto old_rows = before.rows_of(s);
    const auto new_rows = symbolic.rows_of(s);
    ASSERT_EQ(new_rows.size(), old_rows.size());
    EXPECT_TRUE(std::is_sorted(new_rows.begin(), new_rows.end()));
    for (std::size_t k = 0; k < old_rows.size(); ++k) {
      EXPECT_EQ(symbolic.permutation[static_cast<std::size_t>(new_rows[k])],
                before.permutation[static_cast<std::size_t>(old_rows[k])]);
    }
  }
  EXPECT_TRUE(has_large);
  EXPECT_EQ(symbolic.n, before.n + spare);
  EXPECT_EQ(symbolic.supernode_begin.back(), symbolic.n);
}

TEST(SparePivots, Empty_StaysEmpty) {
  const SpareSymbolic after = add_spare_pivots(SymbolicFactor{});
  EXPECT_EQ(after.symbolic.n, 0);
  EXPECT_TRUE(after.spare.empty());
}

/// Each element of the lower triangle has a place of its own in a front of the plan, apart from spare
/// columns.
TEST(SparePivots, PlanPlacesEveryElement) {
  const Csr<double> a = generate::poisson_3d<double>(12, 12, 12);
  const SpareSymbolic spare = add_spare_pivots(analysed(a));
  const FrontPlan plan = plan_fronts(lay_out(spare.symbolic, FactorKind::ldlt), sizeof(double), spare.spare);
  const std::vector<std::int32_t> places = places_in(spare.symbolic.permutation, a.rows());
  const auto offsets =
      element_offsets(plan, a.row_offsets().span(), a.column_indices().span(), places, places);
  std::set<std::int64_t> used;
  for (const std::int64_t offset : offsets) {
    if (offset < 0) continue;
    EXPECT_LT(offset, plan.factor_entries);
    EXPECT_TRUE(used.insert(offset).second);
  }
  EXPECT_EQ(std::ssize(used), (a.nonzeros() + a.rows()) / 2);
  for (const Front& front : plan.fronts) {
    EXPECT_LE(front.spare, front.pivots);
    EXPECT_LE(front.work + tiles::indefinite_work_size(front.rows, front.pivots), plan.work_entries);
    for (std::int32_t j = front.spare; j < front.pivots; ++j) {
      for (std::int32_t i = j; i < front.rows; ++i)
        EXPECT_FALSE(used.contains(front.panel + i + std::int64_t{j} * front.rows));
    }
  }
}

}  // namespace
}  // namespace echelon::sparse_direct::gpu
