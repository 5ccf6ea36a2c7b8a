// SPDX-License-Identifier: BSD-3-Clause
/// Reports as rows of text.
#include <echelon/echelon.hpp>
#include <echelon/solver/report_rows.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

const ReportRow* find(const std::vector<ReportRow>& rows, const std::string& label) {
  const auto found = std::ranges::find(rows, label, &ReportRow::label);
  return found == rows.end() ? nullptr : &*found;
}
std::vector<std::string> labels(const std::vector<ReportRow>& rows) {
  std::vector<std::string> result;
  for (const ReportRow& row : rows) result.push_back(row.label);
  return result;
}

Report converged() {
  Report report;
  report.status = Status::converged;
  report.method = "cg (preconditioner=jacobi)";
  report.reason = "A is symmetric";
  report.iterations = 1234;
  report.residual_norm = 2e-9;
  report.relative_residual = 1e-9;
  report.tolerance = 2e-8;
  report.backward_error = 1.5e-12;
  report.reciprocal_condition = 1e-4;
  report.condition_kind = ConditionKind::krylov;
  report.error_estimate = 2e-6;
  report.statistics = {{"levels", std::int64_t{3}}, {"ordering", std::string("amd")}};
  report.setup_seconds = 0.002;
  report.solve_seconds = 75;
  report.bytes = 1536;
  report.columns = {{Status::converged, 1234, 1e-9, 1.5e-12, 2e-6}};
  report.attempts = {{"sparse-cholesky", Status::not_spd, "pivot 3 is negative", 0.5}};
  report.warnings = {"first", "second"};
  return report;
}

TEST(ReportRows, SolvedReport_ValuesInOrder) {
  const std::vector<ReportRow> rows = report_rows(converged());
  EXPECT_EQ(labels(rows),
            (std::vector<std::string>{"Solved", "tried before", "method", "device", "relative residual",
                                      "backward error", "condition", "accuracy", "statistics", "time",
                                      "memory", "warning", "warning"}));
  EXPECT_EQ(rows[0].value, "cg converged after 1,234 iterations");
  EXPECT_EQ(rows[0].severity, Severity::good);
  EXPECT_EQ(rows[1].value, "sparse-cholesky: not_spd after 500 ms; pivot 3 is negative");
  EXPECT_EQ(rows[2].value, "cg (preconditioner=jacobi): A is symmetric");
  EXPECT_EQ(rows[4].value, "1.00e-09 (tolerance 1e-08)");
  EXPECT_FALSE(rows[4].explanation.empty());
  EXPECT_EQ(rows[5].value, "1.50e-12");
  EXPECT_EQ(rows[6].value, "about 1.0e+04 or more");
  EXPECT_EQ(rows[7].value, "expect about 5 correct digits in the largest elements of x");
  EXPECT_EQ(rows[8].value, "levels 3, ordering amd");
  EXPECT_EQ(rows[9].value, "failed attempts 500 ms, setup 2 ms, solving 1 min 15 s");
  EXPECT_EQ(rows[10].value, "1.5 KiB for the solver");
  EXPECT_EQ(rows[11].severity, Severity::warning);
  EXPECT_EQ(rows[12].value, "second");
}

TEST(ReportRows, EveryStatus_HasAnOutcome) {
  std::set<std::string> outcomes;
  for (int code = 0; code <= static_cast<int>(Status::cancelled); ++code) {
    Report report;
    report.status = static_cast<Status>(code);
    report.method = "lu";
    const std::vector<ReportRow> rows = report_rows(report);
    ASSERT_FALSE(rows.empty());
    outcomes.insert(rows[0].value);
    const bool good = report.solved() || report.ready();
    EXPECT_EQ(rows[0].label, report.ready() ? "Ready" : (good ? "Solved" : "Not solved"));
    EXPECT_EQ(rows[0].severity, good ? Severity::good : Severity::failure);
    EXPECT_TRUE(good || !rows[0].explanation.empty()) << "what to do: " << to_string(report.status);
    EXPECT_EQ(find(rows, "relative residual"), nullptr) << "nothing was computed";
  }
  EXPECT_EQ(outcomes.size(), static_cast<std::size_t>(Status::cancelled) + 1);
}

TEST(ReportRows, Doubt_IsAWarning) {
  Report report = converged();
  report.error_estimate = 3;
  const std::vector<ReportRow> rows = report_rows(report);
  EXPECT_EQ(find(rows, "accuracy")->severity, Severity::warning);
  EXPECT_EQ(find(rows, "accuracy")->value, "possibly no correct digit in x");
}

TEST(ReportRows, Certificate_ProvenOrWhyNot) {
  Report report = converged();
  ErrorCertificate certificate;
  certificate.reason = "no luck";
  report.certificate = std::make_shared<const ErrorCertificate>(certificate);
  EXPECT_EQ(find(report_rows(report), "accuracy")->value,
            "expect about 5 correct digits in the largest elements of x; no bound was proven: no luck");
  certificate.proof = Proof::h_matrix;
  certificate.reason = "A is an H-matrix";
  certificate.error_bound = 1e-7;
  certificate.relative_error_bound = 2e-7;
  report.certificate = std::make_shared<const ErrorCertificate>(certificate);
  const std::vector<ReportRow> rows = report_rows(report);
  EXPECT_EQ(find(rows, "accuracy")->value,
            "|x_i - x*_i| <= 1.00e-07, 2.00e-07 relative to the largest element, proven: A is an H-matrix");
  EXPECT_EQ(find(rows, "accuracy")->severity, Severity::good);
}

TEST(ReportRows, Stream_PrintsThem) {
  std::ostringstream out;
  out << converged();
  EXPECT_EQ(out.str().substr(0, out.str().find("  method")),
            "Solved: cg converged after 1,234 iterations\n"
            "  tried before: sparse-cholesky: not_spd after 500 ms; pivot 3 is negative\n");
}

TEST(ReportRows, LowerPrecision_SaysWhy) {
  Report report = converged();
  report.factor_precision = FactorPrecision{Precision::single, Precision::working, "A is ill-conditioned"};
  EXPECT_EQ(find(report_rows(report), "factor precision")->value,
            "working, not single: A is ill-conditioned; steps of refinement: 1234");
}

}  // namespace
}  // namespace echelon::test
