// SPDX-License-Identifier: BSD-3-Clause
// Tasks of the substitutions on a GPU: complete, and none before those that it waits for.
#include "sparse_direct/multifrontal/cuda/front_plan.hpp"
#include "support/problems.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace echelon::sparse_direct::gpu {
namespace {

using namespace test;
using Kind = SubstitutionTask::Kind;

FrontPlan plan_of(const Csr<double>& A, FactorKind kind) {
  const SymbolicFactor tree =
      analyze_symmetric(pattern_of(A), {.ordering = {.ordering = Ordering::dissection}});
  return plan_fronts(lay_out(tree, kind), sizeof(double));
}

/// Tasks of a list by front and kind: the places of the first and of the last, and how many parts they have.
struct Parts {
  std::size_t first = 0, last = 0;
  std::int32_t count = 0;
};
class TaskList {
 public:
  TaskList(const FrontPlan& plan, const std::vector<SubstitutionTask>& tasks) {
    for (std::size_t t = 0; t < tasks.size(); ++t) {
      const SubstitutionTask& task = tasks[t];
      const bool small = task.kind == Kind::small_fronts;
      for (std::int32_t k = 0; k < (small ? task.count : 1); ++k) {
        const std::int32_t front = plan.order[static_cast<std::size_t>(task.place + k)];
        Parts& parts = parts_.try_emplace({front, task.kind}, Parts{t, t, 0}).first->second;
        parts.last = t;
        ++parts.count;
      }
    }
  }
  [[nodiscard]] Parts of(std::int32_t front, Kind kind) const {
    const auto found = parts_.find({front, kind});
    return found == parts_.end() ? Parts{} : found->second;
  }
  /// First and last of all tasks of a front.
  [[nodiscard]] Parts of(std::int32_t front) const {
    Parts all{~std::size_t{0}, 0, 0};
    for (const auto& [key, parts] : parts_) {
      if (key.first != front) continue;
      all = {std::min(all.first, parts.first), std::max(all.last, parts.last), all.count + parts.count};
    }
    return all;
  }

 private:
  std::map<std::pair<std::int32_t, Kind>, Parts> parts_;
};

std::int32_t tiles(std::int32_t rows, std::int32_t of) {
  return (rows + of - 1) / of;
}

void expect_all_tasks(const FrontPlan& plan) {
  const TaskList forward(plan, plan.forward);
  const TaskList backward(plan, plan.backward);
  for (std::int32_t s = 0; s < static_cast<std::int32_t>(plan.fronts.size()); ++s) {
    SCOPED_TRACE("front " + std::to_string(s));
    const Front& front = plan.fronts[static_cast<std::size_t>(s)];
    const bool one_task =
        forward.of(s, Kind::small_fronts).count + forward.of(s, Kind::whole_front).count > 0;
    if (one_task) {
      EXPECT_EQ(forward.of(s).count, 1);
      EXPECT_EQ(backward.of(s).count, 1);
    } else {
      const Parts pivots = forward.of(s, Kind::pivot_rows);
      const Parts border = forward.of(s, Kind::border_rows);
      EXPECT_EQ(forward.of(s, Kind::gather).count, tiles(front.rows, gathered_rows));
      EXPECT_EQ(pivots.count, tiles(front.pivots, pivot_tile_rows));
      EXPECT_EQ(border.count, tiles(front.rows - front.pivots, border_tile_rows));
      EXPECT_LT(forward.of(s, Kind::gather).last, pivots.first);
      EXPECT_TRUE(border.count == 0 || pivots.last < border.first);
      EXPECT_EQ(backward.of(s).count, tiles(front.pivots, pivot_tile_rows));
    }
    std::int32_t awaited = 0;
    for (std::int32_t c = front.child_begin; c < front.child_end; ++c) {
      const std::int32_t child = plan.layout.children[static_cast<std::size_t>(c)];
      EXPECT_LT(forward.of(child).last, forward.of(s).first);
      EXPECT_LT(backward.of(s).last, backward.of(child).first);
      EXPECT_EQ(plan.fronts[static_cast<std::size_t>(child)].awaited_solutions, backward.of(s).count);
      EXPECT_EQ(plan.fronts[static_cast<std::size_t>(child)].parent_counters, front.counters);
      const std::int32_t border = forward.of(child, Kind::border_rows).count;
      awaited += border > 0 ? border : 1;
    }
    EXPECT_EQ(front.awaited_contributions, awaited);
  }
}

TEST(SubstitutionPlan, Grids_EveryTaskOnceAndAfterThoseItWaitsFor) {
  for (const auto kind : {FactorKind::cholesky, FactorKind::lu}) {
    expect_all_tasks(plan_of(convection_diffusion(3, 0).csr<double>(), kind));
    expect_all_tasks(plan_of(convection_diffusion(150, 0).csr<double>(), kind));
  }
}

/// Each row of the border of a child is a source of its row in the parent, after those of earlier children.
TEST(SubstitutionPlan, Sources_AreTheBordersOfTheChildren) {
  for (const std::int32_t side : {3, 40, 90}) {
    const FrontPlan plan = plan_of(convection_diffusion(side, 0).csr<double>(), FactorKind::lu);
    std::vector<std::vector<std::int32_t>> expected(static_cast<std::size_t>(plan.vector_entries));
    for (const Front& front : plan.fronts) {
      for (std::int32_t c = front.child_begin; c < front.child_end; ++c) {
        const std::int32_t number = plan.layout.children[static_cast<std::size_t>(c)];
        const Front& child = plan.fronts[static_cast<std::size_t>(number)];
        for (std::int32_t i = 0; i < child.rows - child.pivots; ++i) {
          const std::int32_t row = plan.layout.position_in_parent[static_cast<std::size_t>(child.border + i)];
          expected[static_cast<std::size_t>(front.vector + row)].push_back(
              static_cast<std::int32_t>(child.vector) + child.pivots + i);
        }
      }
    }
    const auto& [begin, elements] = plan.sources;
    ASSERT_EQ(begin.size(), expected.size() + 1);
    for (std::size_t e = 0; e < expected.size(); ++e) {
      const std::vector<std::int32_t> found(elements.begin() + begin[e], elements.begin() + begin[e + 1]);
      ASSERT_EQ(found, expected[e]) << "element " << e;
    }
  }
}

/// Levels that one kernel factors have small fronts only, and each front awaits its small children and the
/// fronts of the level before.
TEST(FrontPlan, Runs_HaveAllLevelsAndCountWhatFrontsAwait) {
  bool some_joined = false;
  bool some_alone = false;
  for (const std::int32_t side : {1, 20, 150}) {
    const FrontPlan plan = plan_of(convection_diffusion(side, 0).csr<double>(), FactorKind::cholesky);
    std::int32_t next = 0;
    for (const LevelRun& run : plan.runs) {
      ASSERT_EQ(run.begin, next);
      next = run.end;
      (run.end - run.begin > 1 ? some_joined : some_alone) = true;
      for (std::int32_t l = run.begin; l < run.end; ++l) {
        const FrontLevel& level = plan.levels[static_cast<std::size_t>(l)];
        EXPECT_TRUE(run.end - run.begin == 1 || level.large_begin == level.large_end);
        const FrontLevel* const before =
            l > run.begin ? &plan.levels[static_cast<std::size_t>(l) - 1] : nullptr;
        for (std::int32_t place = level.small_begin[0]; place < level.large_end; ++place) {
          const Front& front =
              plan.fronts[static_cast<std::size_t>(plan.order[static_cast<std::size_t>(place)])];
          EXPECT_EQ(front.level, l);
          EXPECT_EQ(front.awaited_assemblies,
                    before == nullptr ? 0 : before->large_end - before->small_begin[0]);
        }
      }
    }
    EXPECT_EQ(next, static_cast<std::int32_t>(plan.levels.size()));
    std::vector<std::int32_t> small_children(plan.fronts.size(), 0);
    for (const FrontLevel& level : plan.levels) {
      for (std::int32_t place = level.small_begin[0]; place < level.large_begin; ++place) {
        const auto number = static_cast<std::size_t>(plan.order[static_cast<std::size_t>(place)]);
        EXPECT_EQ(plan.fronts[number].parent, plan.layout.tree.parent[number]);
        if (plan.fronts[number].parent >= 0)
          ++small_children[static_cast<std::size_t>(plan.fronts[number].parent)];
      }
    }
    for (std::size_t s = 0; s < plan.fronts.size(); ++s)
      EXPECT_EQ(plan.fronts[s].awaited_children, small_children[s]);
  }
  EXPECT_TRUE(some_joined && some_alone);
}

/// A front with more pivots than an inverse block has, whose tiles wait for each other in their order.
TEST(SubstitutionPlan, LargeFront_TilesInTheOrderOfTheirSteps) {
  std::vector<Triplet<double>> elements;
  for (std::int32_t i = 0; i < 300; ++i) {
    for (std::int32_t j = 0; j < 300; ++j) elements.push_back({i, j, 1.0});
  }
  const FrontPlan plan = plan_of(Csr<double>::from_triplets(300, 300, elements), FactorKind::cholesky);
  expect_all_tasks(plan);
  std::vector<std::int32_t> forward;
  std::vector<std::int32_t> backward;
  for (const SubstitutionTask& task : plan.forward) {
    if (task.kind == Kind::pivot_rows) forward.push_back(task.part);
  }
  for (const SubstitutionTask& task : plan.backward) backward.push_back(task.part);
  EXPECT_EQ(forward, (std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(backward, (std::vector<std::int32_t>{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}));
}

TEST(SubstitutionPlan, NoRows_NoTasks) {
  const FrontPlan plan = plan_of(Csr<double>(), FactorKind::cholesky);
  EXPECT_TRUE(plan.forward.empty());
  EXPECT_TRUE(plan.backward.empty());
}

}  // namespace
}  // namespace echelon::sparse_direct::gpu
