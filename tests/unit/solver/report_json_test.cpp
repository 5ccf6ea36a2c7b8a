// SPDX-License-Identifier: BSD-3-Clause
#include <echelon/echelon.hpp>
#include <echelon/solver/report_json.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

using Json = nlohmann::json;

Csr<double> diagonal(double last) {
  return Csr<double>::from_triplets(2, 2, {{0, 0, 4}, {1, 1, last}});
}

TEST(ReportJson, SolvedSystem_HasTheFiguresOfTheReport) {
  const Csr<double> A = diagonal(2);
  const auto [x, report] = solve(A, std::vector<double>{8, 2}, {.method = "sparse-lu"});
  const Json json = Json::parse(to_json(report));
  EXPECT_EQ(json.at("status"), "direct");
  EXPECT_EQ(json.at("status_code"), static_cast<int>(Status::direct));
  EXPECT_EQ(json.at("solved"), true);
  EXPECT_EQ(json.at("method"), "sparse-lu");
  EXPECT_EQ(json.at("relative_residual"), report.relative_residual);
  EXPECT_EQ(json.at("columns").size(), 1U);
  EXPECT_EQ(json.at("certificate"), nullptr);
  EXPECT_EQ(json.at("statistics").size(), report.statistics.size());
}

TEST(ReportJson, NothingComputed_ResidualsAreNull) {
  const Csr<double> A = diagonal(0);
  const auto [x, report] = solve(A, std::vector<double>{8, 2}, {.method = "sparse-cholesky"});
  const Json json = Json::parse(to_json(report));
  EXPECT_EQ(json.at("solved"), false);
  EXPECT_EQ(json.at("columns").empty(), json.at("relative_residual").is_null());
}

TEST(ReportJson, TextAndNumbersWithoutJsonForm_AreReplaced) {
  Report report;
  report.message = std::string("caf\xE9 \"quoted\"\n") + '\x01';
  report.columns.resize(1);
  report.residual_norm = std::nan("");
  report.reciprocal_condition = std::numeric_limits<double>::infinity();
  const std::string text = to_json(report);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const Json json = Json::parse(text);
  EXPECT_EQ(json.at("message"), "caf\xEF\xBF\xBD \"quoted\"\n\x01");
  EXPECT_TRUE(json.at("residual_norm").is_null());
  EXPECT_TRUE(json.at("reciprocal_condition").is_null());
}

TEST(ReportJson, Certificate_BoundsOrNull) {
  ErrorCertificate certificate;
  certificate.reason = "none was possible";
  const Json json = Json::parse(to_json(certificate));
  EXPECT_EQ(json.at("proof"), "none");
  EXPECT_TRUE(json.at("error_bound").is_null());
  const Csr<double> A = diagonal(2);
  SolveOptions options;
  options.certify = true;
  const auto [x, report] = solve(A, std::vector<double>{8, 2}, options);
  EXPECT_GE(Json::parse(to_json(report)).at("certificate").at("error_bound").get<double>(), 0);
}

}  // namespace
}  // namespace echelon::test
