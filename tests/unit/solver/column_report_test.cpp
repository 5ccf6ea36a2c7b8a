// SPDX-License-Identifier: BSD-3-Clause
/// Figures of single columns, the checks of an answer, and the column that a report describes.
#include "solver/column_report.hpp"

#include "solver/answer/acceptance.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <vector>

namespace echelon {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(ColumnReport, Figures_AreThoseOfTheDefinitions) {
  const VectorFacts b = {.norm2 = 5, .norm_inf = 4};
  const VectorFacts x = {.norm2 = 1, .norm_inf = 1};
  const VectorFacts r = {.norm2 = 0.5, .norm_inf = 0.3};
  const ColumnReport column = measured_column(b, x, r, 2);
  EXPECT_DOUBLE_EQ(column.relative_residual, 0.1);
  EXPECT_DOUBLE_EQ(column.backward_error, 0.05);  // 0.3 / (2 * 1 + 4)
  const ColumnReport of_zero = measured_column({}, {}, r, 2);
  EXPECT_DOUBLE_EQ(of_zero.relative_residual, 0.5);
  EXPECT_DOUBLE_EQ(of_zero.backward_error, 0.3);
}

/// Decision on the answer to 2 x = b of a direct method that reports `outcome`.
Outcome decide(Outcome outcome, const VectorFacts& x, double backward_error) {
  const Dense<double> A(1, 1, Array<double>(Device(), std::vector<double>{2}));
  ExactRank<double> exact{MatrixRef<double>(A)};
  const VectorFacts small{.norm2 = backward_error, .norm_inf = backward_error};
  const Answer<double> answer{.b = {.norm2 = 1, .norm_inf = 1},
                              .x = x,
                              .r = small,
                              .backward_error = backward_error,
                              .accurate_residual = [&] { return small; },
                              .host_rhs = [] { return std::vector<double>{1}; }};
  accept_direct(answer, 1, exact, outcome);
  return outcome;
}

TEST(Acceptance, Decisions_WithdrawPromisesOnly) {
  const VectorFacts half = {.norm2 = 0.5, .norm_inf = 0.5};
  const VectorFacts overflow = {.norm2 = nan, .norm_inf = nan, .nonfinite = 3};
  EXPECT_EQ(decide({Status::direct}, half, 1e-12).status, Status::direct);
  // The rank is 1.
  EXPECT_EQ(decide({Status::underdetermined}, half, 1e-12).status, Status::direct);
  EXPECT_EQ(decide({Status::singular}, half, 1e-12).status, Status::direct);
  EXPECT_EQ(decide({Status::direct}, overflow, 1e-12).status, Status::not_a_number);
  EXPECT_EQ(decide({Status::direct}, overflow, 1e-12).row, 3);
  for (const double error : {1e-7, nan}) {
    const Outcome inaccurate = decide({Status::direct}, half, error);
    EXPECT_EQ(inaccurate.status, Status::breakdown);
    EXPECT_FALSE(inaccurate.message.empty());
  }
  const Outcome failed = decide({Status::not_spd, "pivot 7", 7}, overflow, 1);
  EXPECT_EQ(failed.status, Status::not_spd);
  EXPECT_EQ(failed.message, "pivot 7");
  EXPECT_EQ(failed.row, 7);
}

/// Decides on an x without a correct digit, whose residual is large.
Outcome decide_spoilt(const std::vector<double>& elements, std::optional<double> reciprocal_condition) {
  const Dense<double> A(2, 2, Array<double>(Device(), elements));
  const VectorFacts one{.norm2 = 1, .norm_inf = 1};
  ExactRank<double> exact{MatrixRef<double>(A)};
  const Answer<double> answer{.b = one,
                              .x = one,
                              .r = one,
                              .backward_error = 1e-12,
                              .error = 1,
                              .accurate_residual = [&] { return one; },
                              .host_rhs =
                                  [] {
                                    return std::vector<double>{1, 0};
                                  }};
  Outcome outcome{.status = Status::direct, .reciprocal_condition = reciprocal_condition};
  accept_direct(answer, 2, exact, outcome);
  return outcome;
}

TEST(Acceptance, SpoiltAnswer_SaysWhetherMatrixOrMethodIsToBlame) {
  const std::vector<double> by_elimination{1, 2, 2, 1};  // elimination proves that it is nonsingular
  EXPECT_EQ(decide_spoilt(by_elimination, 0.5).status, Status::breakdown);
  EXPECT_EQ(decide_spoilt(by_elimination, {}).status, Status::breakdown);
  EXPECT_EQ(decide_spoilt(by_elimination, 1e-15).status, Status::singular);
  const std::vector<double> triangle{1, 2, 0, 1};
  EXPECT_EQ(decide_spoilt(triangle, 0.5).status, Status::breakdown);
  EXPECT_EQ(decide_spoilt(triangle, {}).status, Status::breakdown);
  const Outcome proven = decide_spoilt(triangle, 1e-15);
  EXPECT_EQ(proven.status, Status::direct);
  ASSERT_EQ(proven.warnings.size(), 1U);
  EXPECT_NE(proven.warnings[0].find("need not have a correct digit"), std::string::npos);
}

TEST(ColumnReport, Report_DescribesWorstColumn) {
  Report report;
  const auto add = [&](Status status, double backward_error) {
    return add_column({.iterations = 2, .backward_error = backward_error, .error_estimate = backward_error},
                      1, {status, "message"}, report);
  };
  EXPECT_TRUE(add(Status::direct, 1e-15));
  EXPECT_FALSE(add(Status::direct, 1e-16));
  EXPECT_TRUE(add(Status::direct, 1e-14));
  EXPECT_TRUE(add(Status::underdetermined, 1e-17));
  EXPECT_TRUE(add(Status::stagnated, 1e-18));
  EXPECT_FALSE(add(Status::inconsistent, 1e-19));
  EXPECT_TRUE(add(Status::inconsistent, 1e-17));
  EXPECT_TRUE(add(Status::not_a_number, nan));
  EXPECT_FALSE(add(Status::not_a_number, nan));
  EXPECT_FALSE(add(Status::breakdown, 1));
  EXPECT_EQ(report.columns.size(), 10U);
  EXPECT_EQ(report.status, Status::not_a_number);
  EXPECT_EQ(report.message, "message");
  EXPECT_EQ(report.iterations, 2);
  EXPECT_EQ(report.columns[3].status, Status::underdetermined);
  EXPECT_EQ(report.columns[3].error_estimate, 1e-17);
}

}  // namespace
}  // namespace echelon
