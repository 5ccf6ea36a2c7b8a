// SPDX-License-Identifier: BSD-3-Clause
/// Figures of single columns, the checks of an answer, and the column that a report describes.
#include "solver/column_report.hpp"

#include <gtest/gtest.h>

#include <limits>
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

TEST(ColumnReport, Checks_WithdrawPromisesOnly) {
  const VectorFacts overflow = {.norm2 = nan, .norm_inf = nan, .nonfinite = 3};
  for (const Status promise : {Status::direct, Status::converged, Status::underdetermined}) {
    Outcome outcome = {promise};
    check_finite({}, outcome);
    check_backward_error(1e-12, 1e-10, outcome);
    EXPECT_EQ(outcome.status, promise);
    check_finite(overflow, outcome);
    EXPECT_EQ(outcome.status, Status::not_a_number);
    EXPECT_EQ(outcome.row, 3);
    for (const double error : {1e-9, nan}) {
      Outcome inaccurate = {promise};
      check_backward_error(error, 1e-10, inaccurate);
      EXPECT_EQ(inaccurate.status, Status::breakdown);
      EXPECT_FALSE(inaccurate.message.empty());
    }
  }
  Outcome failed = {Status::inconsistent, "row 7", 7};
  check_finite(overflow, failed);
  check_backward_error(1, 1e-10, failed);
  EXPECT_EQ(failed.status, Status::inconsistent);
  EXPECT_EQ(failed.message, "row 7");
  EXPECT_EQ(failed.row, 7);
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
