// SPDX-License-Identifier: BSD-3-Clause
/// Report as text, and the statistics that methods put in it.
#include "solver/implementation.hpp"
#include "support/problems.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

namespace echelon::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(Solver, Report_IsPrintedInAFewLines) {
  const Csr<double> A = poisson(5);
  const std::vector<double> b(25, 1.0);
  const auto [x, report] = solve(A, b);
  std::ostringstream out;
  out << report;
  const std::string text = out.str();
  EXPECT_TRUE(text.starts_with("Solved: " + report.method)) << text;
  for (const std::string& part :
       {report.device.name(), report.reason, std::string("residual"), std::string("\n  time: ")}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
}

/// Returns x = b, right for the identity matrix, and counts its set-ups. The solve of column j says so.
class IdentityMethod final : public SolverImplementation<double> {
 public:
  IdentityMethod() : SolverImplementation<double>(Device::serial()) { set_description("identity", ""); }
  Outcome analyze(const MatrixRef<double>& /*A*/) override {
    return {.statistics = {{"ordering", "natural"}}};
  }
  Outcome setup(const MatrixRef<double>& A) override {
    return {.statistics = {{"setups", ++setups_}, {"rows", std::vector<std::int64_t>(A.rows(), 1)}}};
  }
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<Workspace>();
  }
  void solve(Workspace& /*workspace*/, DenseView<const double> B, DenseView<double> X,
             std::vector<Job>& jobs) const override {
    for (std::int64_t j = 0; j < B.columns(); ++j) {
      for (std::int64_t i = 0; i < B.rows(); ++i) X(i, j) = B(i, j);
      Job& job = jobs[static_cast<std::size_t>(j)];
      if (job.number == spoilt) X(0, j) += 1;
      job.statistics = {{"column", j}, {"ratio", 0.5}};
    }
  }
  static constexpr std::int64_t spoilt = 1;  ///< the column that is solved wrongly

 private:
  std::int64_t setups_ = 0;
};

std::string names_of(const std::vector<Statistic>& statistics) {
  std::string names;
  for (const Statistic& statistic : statistics) names += statistic.name + " ";
  return names;
}

TEST(Statistics, Order_SetupThenWorstColumn) {
  const Csr<double> identity = Csr<double>::from_triplets(2, 2, {{0, 0, 1.0}, {1, 1, 1.0}});
  Solver<double> solver(std::make_unique<IdentityMethod>());
  EXPECT_EQ(names_of(solver.analyze(identity).statistics), "ordering ");
  EXPECT_EQ(names_of(solver.setup(identity).statistics), "setups rows ");
  std::vector<double> b = {1, 2};
  std::vector<double> x(2);
  for (int repetition = 0; repetition < 2; ++repetition) {
    const Report report = solver.solve(b, x);
    EXPECT_EQ(names_of(report.statistics), "setups rows column ratio ");
    ASSERT_NE(report.find_statistic("column"), nullptr);
    EXPECT_EQ(std::get<std::int64_t>(report.find_statistic("column")->value), 0);
    EXPECT_EQ(report.find_statistic("ordering"), nullptr);
  }
  const Dense<double> B = random_dense<double>(2, 3, 1);
  Dense<double> X(Device(), 2, 3);
  const Report worst = solver.solve(B, X);
  EXPECT_EQ(worst.status, Status::breakdown);
  ASSERT_NE(worst.find_statistic("column"), nullptr);
  EXPECT_EQ(std::get<std::int64_t>(worst.find_statistic("column")->value), IdentityMethod::spoilt);
  const Report updated = solver.update_values(identity);
  ASSERT_NE(updated.find_statistic("setups"), nullptr);
  EXPECT_EQ(std::get<std::int64_t>(updated.find_statistic("setups")->value), 2);
}

TEST(Statistics, NothingComputed_GivesNone) {
  const Csr<double> identity = Csr<double>::from_triplets(1, 1, {{0, 0, 1.0}});
  const Csr<double> broken = Csr<double>::from_triplets(1, 1, {{0, 0, nan}});
  Solver<double> solver(std::make_unique<IdentityMethod>());
  solver.setup(identity);
  EXPECT_TRUE(solver.setup(broken).statistics.empty());
  std::vector<double> b = {1};
  std::vector<double> x(1);
  EXPECT_TRUE(solver.solve(b, x).statistics.empty());
  solver.setup(identity);
  b[0] = nan;
  EXPECT_EQ(names_of(solver.solve(b, x).statistics), "setups rows ");
}

TEST(Statistics, Preconditioner_HasItsPrefix) {
  const Csr<double> A = poisson(4);
  Cg<double> solver(Device::serial(), {.preconditioner = "lapack-lu"});
  EXPECT_EQ(names_of(solver.setup(A).statistics),
            "preconditioner.factorization preconditioner.pivot_growth ");
}

TEST(Statistics, Text) {
  EXPECT_EQ(to_string(Statistic{"levels", 12}), "levels 12");
  EXPECT_EQ(to_string(Statistic{"ordering", "amd"}), "ordering amd");
  EXPECT_EQ(to_string(Statistic{"growth", 1234.5}), "growth 1.23e+03");
  EXPECT_EQ(to_string(Statistic{"rows", std::vector<std::int64_t>{}}), "rows ");
  EXPECT_EQ(to_string(Statistic{"rows", std::vector<std::int64_t>(8, 1)}), "rows 1 1 1 1 1 1 1 1");
  EXPECT_EQ(to_string(Statistic{"rows", std::vector<std::int64_t>(9, 1)}), "rows 1 1 1 1 1 1 1 1 ...");
  Report report;
  std::ostringstream without;
  without << report;
  EXPECT_EQ(without.str().find("statistics"), std::string::npos);
  report.statistics = {{"levels", 12}, {"ordering", "amd"}};
  std::ostringstream with;
  with << report;
  EXPECT_NE(with.str().find("\n  statistics: levels 12, ordering amd\n"), std::string::npos) << with.str();
}

}  // namespace
}  // namespace echelon::test
