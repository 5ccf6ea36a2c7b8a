// SPDX-License-Identifier: BSD-3-Clause
// What set-ups of sparse factorisations keep for later ones: analyses, and condition numbers.
#include "solver/direct/updated_condition.hpp"
#include "sparse_direct/symbolic/kept_analysis.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <vector>

namespace echelon::sparse_direct {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();
constexpr PatternKey first{3, 7, 1};
constexpr PatternKey second{3, 7, 2};

TEST(PatternAnalysis, Renewed_IsOfItsPattern) {
  KeptAnalysis analysis;
  analysis.renew(first, [](bool same) { EXPECT_FALSE(same); });
  EXPECT_TRUE(analysis.is_of(first));
  EXPECT_TRUE(analysis.is_unused());
  analysis.use();
  EXPECT_FALSE(analysis.is_unused());
  analysis.renew(first, [](bool same) { EXPECT_TRUE(same); });
  analysis.renew(second, [](bool same) { EXPECT_FALSE(same); });
  EXPECT_FALSE(analysis.is_of(first));
}

TEST(PatternAnalysis, Failed_IsOfNoPattern) {
  KeptAnalysis analysis;
  analysis.renew(first, [](bool) {});
  EXPECT_THROW(analysis.renew(first, [](bool) { throw std::runtime_error("out of memory"); }),
               std::runtime_error);
  EXPECT_FALSE(analysis.is_of(first));
}

TEST(PatternAnalysis, PredictedOrder_ServesItsPattern) {
  const std::vector<std::int32_t> order = {2, 0, 1};
  for (const PatternKey& next : {first, second}) {
    KeptAnalysis analysis;
    analysis.renew(first, [](bool) {});
    analysis.keep_order_only(order);
    EXPECT_FALSE(analysis.is_of(first));
    analysis.renew(next, [&](bool) { EXPECT_EQ(!analysis.minimum_degree().empty(), next == first); });
    EXPECT_TRUE(analysis.minimum_degree().empty());
  }
}

TEST(UpdatedCondition, SmallChange_IsPredicted) {
  direct::UpdatedCondition condition;
  EXPECT_EQ(condition.value(0.5, epsilon, [] { return 0.01; }), 0.01);
  EXPECT_FALSE(condition.is_predicted());
  const auto never = []() -> double { throw std::logic_error("estimated"); };
  EXPECT_EQ(condition.value(0.25, epsilon, never), 0.005);
  EXPECT_TRUE(condition.is_predicted());
  EXPECT_EQ(condition.value(1, epsilon, never), 0.02);
}

TEST(UpdatedCondition, DoubtfulPrediction_IsEstimated) {
  const auto estimate = [] { return 0.5; };
  direct::UpdatedCondition condition;
  EXPECT_EQ(condition.value(0.5, epsilon, [] { return 0.01; }), 0.01);
  EXPECT_EQ(condition.value(0.01, epsilon, estimate), 0.5);  // a large change
  EXPECT_FALSE(condition.is_predicted());
  condition.forget();
  EXPECT_EQ(condition.value(0.01, epsilon, [] { return 2e4 * epsilon; }), 2e4 * epsilon);
  EXPECT_EQ(condition.value(0.01, epsilon, estimate), 0.5);  // near the machine epsilon
  condition.forget();
  EXPECT_EQ(condition.value(0.01, epsilon, estimate), 0.5);
  EXPECT_FALSE(condition.is_predicted());
}

}  // namespace
}  // namespace echelon::sparse_direct
