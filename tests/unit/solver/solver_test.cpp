// SPDX-License-Identifier: BSD-3-Clause
/// What the Solver around every method promises: phases, checks, audited reports, control.
#include "solver/implementation.hpp"
#include "support/problems.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <variant>
#include <vector>

namespace echelon::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

Csr<double> poisson(std::int32_t side) {
  return convection_diffusion(side, 0).csr<double>();
}

/// A solve whose text is in the exception that it causes.
template <class Exception, class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Exception& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

/// The text of the exception that making the method throws; empty if there is none.
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(Method, CheckOptions_RefusesWhatMakingASolverRefuses) {
  const std::vector<Options> cases = {{},
                                      {{"no_such_option", 1}},
                                      {{"rtol", 2.0}},
                                      {{"rtol", 0.5}},
                                      {{"preconditioner", "jacobi"}},
                                      {{"preconditioner", "jacobi"}, {"preconditioner.weight", 0.5}},
                                      {{"preconditioner", "jacobi"}, {"preconditioner.weight", 5.0}},
                                      {{"preconditioner", "jacobi"}, {"preconditioner.wieght", 0.5}},
                                      {{"preconditioner", "none"}, {"preconditioner.weight", 0.5}},
                                      {{"preconditioner.weight", 0.5}},
                                      {{"preconditioner", "jacbi"}},
                                      {{"preconditioner", "cusolver-lu"}},
                                      {{"preconditioner", "cg"}}};
  int refused = 0;
  for (const Method& method : methods()) {
    for (const Options& options : cases) {
      const std::string expected = error_of([&] { static_cast<void>(method.make_double({}, options)); });
      EXPECT_EQ(error_of([&] { method.check_options(Device(), options); }), expected) << method.name;
      refused += expected.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(refused, static_cast<int>(methods().size()));
}

TEST(Solver, SolvingBeforeSetupIsAnError) {
  const Solver<double> solver = make_solver<double>("cg", Device());
  std::vector<double> b(3);
  std::vector<double> x(3);
  EXPECT_THROW((void)solver.solve(b, x), Error);
}

TEST(Solver, ShapesThatDoNotFitAreNamed) {
  const Csr<double> A = poisson(3);
  const Csr<double> wide = Csr<double>::from_triplets(2, 3, {});
  Cg<double> solver;
  EXPECT_NE(message_of<DimensionMismatch>([&] { solver.setup(wide); }).find("2 by 3"), std::string::npos);
  solver.setup(A);
  std::vector<double> b(8);
  std::vector<double> x(9);
  const std::string text = message_of<DimensionMismatch>([&] { (void)solver.solve(b, x); });
  EXPECT_NE(text.find("9 by 9"), std::string::npos) << text;
  EXPECT_NE(text.find("8 by 1"), std::string::npos) << text;
}

TEST(Solver, WhoDoesNotTakeAnyShapeRefusesARectangle) {
  const std::vector<double> elements = {1, 0, 0, 1, 2, 3};
  const Dense<double> wide(2, 3, Array<double>(Device(), std::span<const double>(elements)));
  for (const Method& method : methods()) {
    const Device device = method.serial ? Device::serial() : Device::cuda();
    if (!device.on_host() && cuda_device_count() == 0) continue;
    Solver<double> solver = make_solver<double>(method.name, device);
    const Dense<double> there = wide.to(device);
    if (method.needs == MethodNeeds::any_shape) {
      EXPECT_EQ(solver.setup(there).status, Status::underdetermined) << method.name;
    } else {
      const std::string text = message_of<DimensionMismatch>([&] { solver.setup(there); });
      EXPECT_NE(text.find("2 by 3"), std::string::npos) << text;
      EXPECT_NE(text.find(method.name), std::string::npos) << text;
    }
  }
}

TEST(Solver, NotANumberInAIsFoundBeforeWorkIsWasted) {
  Csr<double> A = poisson(3);
  A.values()[5] = nan;
  A.values()[9] = infinity;
  const std::int32_t column = A.column_indices()[5];
  for (const char* method : {"cg", "gmres", "bicgstab", "jacobi", "lapack-lu"}) {
    Solver<double> solver = make_solver<double>(method, Device::serial());
    const Report report = solver.setup(A);
    EXPECT_EQ(report.status, Status::not_a_number);
    EXPECT_EQ(report.row, 1);
    EXPECT_EQ(report.column, column);
    const std::vector<double> b(9, 1.0);
    std::vector<double> x(9, 5.0);
    EXPECT_EQ(solver.solve(b, x).status, Status::not_a_number);
    EXPECT_EQ(x, std::vector<double>(9, 5.0)) << "X is left alone";
  }
}

TEST(Solver, NotANumberInBIsFoundWithItsPlace) {
  const Csr<double> A = poisson(3);
  Dense<double> B = random_dense<double>(9, 2, 1);
  B(4, 1) = -infinity;
  Dense<double> X(Device(), 9, 2);
  Cg<double> solver;
  solver.setup(A);
  const Report report = solver.solve(B, X);
  EXPECT_EQ(report.status, Status::not_a_number);
  EXPECT_EQ(report.row, 4);
  EXPECT_EQ(report.column, 1);
}

TEST(Solver, EmptySystemsAreSolved) {
  const Csr<double> A;
  const Dense<double> B(Device(), 0, 1);
  Dense<double> X(Device(), 0, 1);
  for (const char* method : {"cg", "gmres", "bicgstab", "jacobi", "lapack-lu"}) {
    Solver<double> solver = make_solver<double>(method, Device());
    solver.setup(A);
    EXPECT_TRUE(solver.solve(B, X).solved()) << method;
  }
}

TEST(Solver, NoRightHandSideIsSolved) {
  const Csr<double> A = poisson(3);
  const Dense<double> B(Device(), 9, 0);
  Dense<double> X(Device(), 9, 0);
  for (const char* method : {"cg", "lapack-lu"}) {
    Solver<double> solver = make_solver<double>(method, Device());
    solver.setup(A);
    EXPECT_TRUE(solver.solve(B, X).solved()) << method;
  }
}

TEST(Solver, AZeroRightHandSideGivesZero) {
  const Csr<double> A = poisson(5);
  const std::vector<double> b(25, 0.0);
  for (const char* method : {"cg", "gmres", "bicgstab", "jacobi", "lapack-lu"}) {
    std::vector<double> x(25, 3.0);
    Solver<double> solver = make_solver<double>(method, Device());
    solver.setup(A);
    const Report report = solver.solve(b, x);
    EXPECT_TRUE(report.solved()) << method;
    EXPECT_EQ(report.residual_norm, 0);
    EXPECT_EQ(x, std::vector<double>(25, 0.0)) << method;
  }
}

TEST(Solver, TheReportedResidualIsTheTrueOne) {
  const Csr<double> A = poisson(20);
  const Dense<double> b = random_dense<double>(400, 1, 3);
  for (const char* method : {"cg", "gmres", "bicgstab", "lapack-lu"}) {
    Dense<double> x(Device(), 400, 1);
    Solver<double> solver = make_solver<double>(method, Device::openmp(2));
    solver.setup(A);
    const Report report = solver.solve(b, x);
    ASSERT_TRUE(report.solved()) << method;
    const double truth = assess(A, x, b).relative_residual;
    EXPECT_NEAR(report.relative_residual, truth, 1e-3 * truth + 1e-14) << method;
    EXPECT_GT(report.backward_error, 0);
    EXPECT_LT(report.backward_error, 1e-7);
  }
}

TEST(Solver, HistoryHasTheStartAndOneEntryPerIteration) {
  const Csr<double> A = poisson(20);
  const Dense<double> b = random_dense<double>(400, 1, 3);
  Dense<double> x(Device(), 400, 1);
  for (const int check_every : {1, 7, 64}) {
    Solver<double> solver = make_solver<double>("cg", Device(), {{"check_every", check_every}});
    solver.setup(A);
    const Report report = solver.solve(b, x);
    ASSERT_EQ(report.history.size(), static_cast<std::size_t>(report.iterations) + 1);
    EXPECT_DOUBLE_EQ(report.history.front(), 1);
    EXPECT_NEAR(report.history.back(), report.relative_residual, 0.01 * report.relative_residual);
  }
}

TEST(Solver, CheckInterval_ChangesNothing) {
  const Csr<double> A = convection_diffusion(20, 0.3).csr<double>();
  const Dense<double> b = random_dense<double>(400, 1, 3);
  for (const char* method : {"gmres", "bicgstab"}) {
    std::vector<std::vector<double>> answers;
    std::vector<std::int64_t> iterations;
    for (const int check_every : {1, 7, 64}) {
      Dense<double> x(Device(), 400, 1);
      Solver<double> solver = make_solver<double>(
          method, Device::serial(), {{"check_every", check_every}, {"preconditioner", "jacobi"}});
      solver.setup(A);
      const Report report = solver.solve(b, x);
      ASSERT_TRUE(report.solved());
      answers.push_back(x.to_vector());
      iterations.push_back(report.iterations);
    }
    EXPECT_EQ(answers[0], answers[1]) << method;
    EXPECT_EQ(answers[0], answers[2]) << method;
    EXPECT_EQ(iterations[0], iterations[1]);
    EXPECT_EQ(iterations[0], iterations[2]);
  }
}

TEST(Solver, SerialAndOpenMpGiveTheSameBits) {
  const Csr<double> A = convection_diffusion(150, 0).csr<double>();
  const Dense<double> b = random_dense<double>(A.rows(), 1, 3);
  std::vector<std::vector<double>> answers;
  for (const Device& device : {Device::serial(), Device::openmp(1), Device::openmp(2), Device::openmp(5)}) {
    Dense<double> x(Device(), A.rows(), 1);
    Solver<double> solver = make_solver<double>("cg", device, {{"preconditioner", "jacobi"}});
    solver.setup(A);
    ASSERT_TRUE(solver.solve(b, x).solved());
    answers.push_back(x.to_vector());
  }
  for (const auto& answer : answers) EXPECT_EQ(answer, answers.front());
}

TEST(Solver, ToleranceFollowsTheFormula) {
  const Csr<double> A = poisson(20);
  const Dense<double> b = random_dense<double>(400, 1, 3);
  Dense<double> x(Device(), 400, 1);
  const auto solve_with = [&](const Options& options) {
    Solver<double> solver = make_solver<double>("cg", Device(), options);
    solver.setup(A);
    return solver.solve(b, x);
  };
  const double norm = norm2<double>(b);
  EXPECT_DOUBLE_EQ(solve_with({}).tolerance, 1e-8 * norm);
  EXPECT_DOUBLE_EQ(solve_with({{"rtol", 1e-3}}).tolerance, 1e-3 * norm);
  EXPECT_DOUBLE_EQ(solve_with({{"rtol", 1e-3}, {"atol", 5.0}}).tolerance, 5);
  EXPECT_EQ(solve_with({{"rtol", 1.0}}).iterations, 0) << "x = 0 is good enough";
}

TEST(Solver, AnImpossibleToleranceEndsInStagnation) {
  const Csr<double> A = poisson(20);
  const Dense<double> b = random_dense<double>(400, 1, 3);
  for (const char* method : {"cg", "gmres", "bicgstab"}) {
    Dense<double> x(Device(), 400, 1);
    Solver<double> solver =
        make_solver<double>(method, Device(), {{"rtol", 1e-18}, {"max_iterations", 5000}});
    solver.setup(A);
    const Report report = solver.solve(b, x);
    EXPECT_FALSE(report.solved()) << method << " " << to_string(report.status);
    EXPECT_LT(report.relative_residual, 1e-13) << "the answer is good all the same";
    EXPECT_FALSE(report.message.empty());
  }
}

TEST(Solver, TheIterationLimitIsKept) {
  const Csr<double> A = poisson(30);
  const Dense<double> b = random_dense<double>(900, 1, 3);
  for (const char* method : {"cg", "gmres", "bicgstab", "jacobi"}) {
    for (const int check_every : {1, 16}) {
      Dense<double> x(Device(), 900, 1);
      Solver<double> solver =
          make_solver<double>(method, Device(), {{"max_iterations", 5}, {"check_every", check_every}});
      solver.setup(A);
      const Report report = solver.solve(b, x);
      EXPECT_EQ(report.status, Status::max_iterations) << method;
      EXPECT_EQ(report.iterations, 5) << method;
      EXPECT_LT(report.relative_residual, 1) << method << ": x is the best so far";
    }
  }
}

TEST(Solver, ProgressIsReportedAndCancellationKeepsTheBestSoFar) {
  const Csr<double> A = poisson(30);
  const Dense<double> b = random_dense<double>(900, 1, 3);
  for (const char* method : {"cg", "gmres", "bicgstab", "jacobi"}) {
    Dense<double> x(Device(), 900, 1);
    std::stop_source source;
    std::int64_t calls = 0;
    const Control control = {.on_progress =
                                 [&](const Progress& progress) {
                                   EXPECT_EQ(progress.method, method);
                                   EXPECT_EQ(progress.iteration, ++calls);
                                   EXPECT_DOUBLE_EQ(progress.tolerance, 1e-8);
                                   if (calls == 4) source.request_stop();
                                 },
                             .cancel = source.get_token()};
    Solver<double> solver = make_solver<double>(method, Device());
    solver.setup(A);
    const Report report = solver.solve(b, x, control);
    EXPECT_EQ(report.status, Status::cancelled) << method;
    EXPECT_LE(report.iterations, 5);
    EXPECT_GT(report.iterations, 3);
    EXPECT_LT(report.relative_residual, 1) << method;
  }
}

TEST(Solver, Setup_ReportsReady) {
  const Csr<double> A = random_dominant(30, 3, true, 5).csr<double>();
  for (const Method& method : methods()) {
    if (!method.serial) continue;
    Solver<double> solver = make_solver<double>(method.name, Device::serial());
    EXPECT_EQ(solver.analyze(A).status, Status::ready) << method.name;
    const Report report = solver.setup(A);
    EXPECT_EQ(report.status, Status::ready) << method.name;
    EXPECT_TRUE(report.ready());
    EXPECT_FALSE(report.solved()) << "nothing has been solved yet";
    EXPECT_TRUE(solver.update_values(A).ready());
  }
}

template <class M>
concept SetsUpTemporary = requires(Cg<double> cg, M matrix) {
  cg.setup(std::move(matrix));
};
template <class M>
concept SetsUpNamed = requires(Cg<double> cg, M matrix) {
  cg.setup(matrix);
  cg.factor(matrix);
};

TEST(Solver, TemporaryMatrix_DoesNotCompile) {
  static_assert(SetsUpNamed<Csr<double>> && !SetsUpTemporary<Csr<double>>);
  static_assert(SetsUpNamed<Dense<double>> && !SetsUpTemporary<Dense<double>>);
  static_assert(SetsUpNamed<Matrix<double>> && !SetsUpTemporary<Matrix<double>>);
  static_assert(SetsUpNamed<CsrView<double>> && !SetsUpTemporary<CsrView<double>>);
  static_assert(SetsUpNamed<LinearOperator<double>> && !SetsUpTemporary<LinearOperator<double>>);
  static_assert(SetsUpTemporary<DenseView<const double>> && SetsUpTemporary<MatrixRef<double>>);
}

TEST(Solver, NothingComputed_ReportsTheResidualOfZero) {
  const Csr<double> A = Csr<double>::from_triplets(2, 2, {{0, 1, 1.0}, {1, 0, 1.0}});
  Cg<double> cg({}, {.preconditioner = "ilu0"});
  EXPECT_EQ(cg.setup(A).status, Status::breakdown);
  const std::vector<double> b = {1, 1};
  std::vector<double> x = {5, 6};
  const Report report = cg.solve(b, x);
  EXPECT_EQ(report.status, Status::breakdown);
  EXPECT_TRUE(report.columns.empty());
  EXPECT_EQ(report.relative_residual, 1);
  EXPECT_EQ(report.backward_error, 1);
  EXPECT_EQ(x, (std::vector<double>{5, 6}));
}

TEST(Solver, Report_IsPrintedInAFewLines) {
  const Csr<double> A = poisson(5);
  const std::vector<double> b(25, 1.0);
  const auto [x, report] = solve(A, b);
  std::ostringstream out;
  out << report;
  const std::string text = out.str();
  EXPECT_EQ(text.rfind(to_string(report.status), 0), 0U) << text;
  for (const std::string& part : {report.method, report.device.name(), report.reason, std::string("residual"),
                                  std::string("seconds")}) {
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

TEST(Statistics, ThoseOfTheSetupPrecedeThoseOfTheWorstColumn) {
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

TEST(Solver, SeveralThreadsMaySolveAtOnce) {
  const Csr<double> A = poisson(25);
  for (const char* method : {"cg", "gmres", "lapack-lu"}) {
    const Options options =
        std::string(method) == "lapack-lu" ? Options{} : Options{{"preconditioner", "ilu0"}};
    Solver<double> solver = make_solver<double>(method, Device::serial(), options);
    ASSERT_TRUE(solver.setup(A).ready());
    std::vector<std::thread> threads;
    std::vector<std::vector<double>> answers(8);
    for (unsigned t = 0; t < answers.size(); ++t) {
      threads.emplace_back([&, t] {
        const Dense<double> b = random_dense<double>(625, 1, t % 2);
        Dense<double> x(Device(), 625, 1);
        EXPECT_TRUE(solver.solve(b, x).solved());
        answers[t] = x.to_vector();
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (unsigned t = 2; t < answers.size(); ++t) EXPECT_EQ(answers[t], answers[t % 2]) << method;
  }
}

TEST(Solver, RowMajorViewsAreSolvedToo) {
  const Csr<double> A = poisson(6);
  const Dense<double> b = random_dense<double>(36, 3, 1);
  std::vector<double> rows(36 * 4, 0.0);
  std::vector<double> out(36 * 5, -1.0);
  for (std::int64_t i = 0; i < 36; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) rows[static_cast<std::size_t>(i * 4 + j)] = b(i, j);
  }
  Dense<double> expected(Device(), 36, 3);
  LapackLu<double> solver;
  solver.factor(A);
  ASSERT_TRUE(solver.solve(b, expected).solved());
  const Report report = solver.solve(DenseView<const double>(rows.data(), 36, 3, 4, {}, Layout::row_major),
                                     DenseView<double>(out.data(), 36, 3, 5, {}, Layout::row_major));
  ASSERT_TRUE(report.solved());
  for (std::int64_t i = 0; i < 36; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) {
      EXPECT_EQ(out[static_cast<std::size_t>(i * 5 + j)], expected(i, j));
    }
    EXPECT_EQ(out[static_cast<std::size_t>(i * 5 + 3)], -1) << "the gap between rows is not touched";
  }
}

TEST(Solver, UpdatedValuesAreUsed) {
  Csr<double> A = poisson(10);
  const Dense<double> b = random_dense<double>(100, 1, 1);
  Dense<double> x(Device(), 100, 1);
  for (const char* method : {"cg", "gmres", "lapack-lu"}) {
    const Options options = std::string(method) == "gmres" ? Options{{"preconditioner", "ilu0"}} : Options{};
    Solver<double> solver = make_solver<double>(method, Device(), options);
    solver.setup(A);
    for (double& value : A.values().span()) value *= 2;
    ASSERT_TRUE(solver.update_values(A).ready());
    ASSERT_TRUE(solver.solve(b, x).solved());
    EXPECT_LT(assess(A, x, b).relative_residual, 1e-7) << method;
  }
}

TEST(Solver, OutOfMemoryIsAnErrorAndTheSolverStaysUsable) {
  const Csr<double> huge = diagonal(4'000'000).csr<double>();  // dense: 116 TiB
  const Csr<double> small = poisson(5);
  const Dense<double> b = random_dense<double>(25, 1, 1);
  Dense<double> x(Device(), 25, 1);
  LapackLu<double> solver;
  solver.factor(small);
  try {
    solver.factor(huge);
    FAIL() << "factored";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.asked(), std::size_t{4'000'000} * 4'000'000 * sizeof(double));
    EXPECT_GT(error.available(), 0U);
    EXPECT_LT(error.available(), error.asked());
  }
  EXPECT_THROW((void)solver.solve(b, x), Error) << "there is no factor any more";
  solver.factor(small);
  EXPECT_TRUE(solver.solve(b, x).solved());
}

TEST(Cg, AnIndefiniteMatrixIsNotSpd) {
  Csr<double> A = diagonal(20).csr<double>();
  A.values()[7] = -1;
  const Dense<double> b = random_dense<double>(20, 1, 1);
  Dense<double> x(Device(), 20, 1);
  Cg<double> solver;
  solver.setup(A);
  EXPECT_EQ(solver.solve(b, x).status, Status::not_spd);
}

TEST(Cg, ASingularConsistentSystemConverges) {
  // The path graph's Laplacian: singular, its null space the constants.
  std::vector<Triplet<double>> elements;
  constexpr std::int32_t n = 50;
  for (std::int32_t i = 0; i + 1 < n; ++i) {
    elements.push_back({i, i, 1});
    elements.push_back({i + 1, i + 1, 1});
    elements.push_back({i, i + 1, -1});
    elements.push_back({i + 1, i, -1});
  }
  const Csr<double> A = Csr<double>::from_triplets(n, n, elements);
  Dense<double> b(Device(), n, 1);
  multiply<double>(1, A, random_dense<double>(n, 1, 4), 0, b);
  Dense<double> x(Device(), n, 1);
  Cg<double> solver;
  solver.setup(A);
  EXPECT_TRUE(solver.solve(b, x).solved());
}

TEST(Jacobi, DivergenceIsReportedAndXIsNotGarbage) {
  // Symmetric, a_ii = 1, off-diagonal 0.9: the iteration matrix has eigenvalue 0.9 (n - 1).
  std::vector<Triplet<double>> elements;
  for (std::int32_t i = 0; i < 10; ++i) {
    for (std::int32_t j = 0; j < 10; ++j) elements.push_back({i, j, i == j ? 1.0 : 0.9});
  }
  const Csr<double> A = Csr<double>::from_triplets(10, 10, elements);
  const std::vector<double> b(10, 1.0);
  std::vector<double> x(10);
  Jacobi<double> point;
  point.setup(A);
  const Report report = point.solve(b, x);
  EXPECT_EQ(report.status, Status::diverged);
  EXPECT_EQ(x, std::vector<double>(10, 0.0));
  Jacobi<double> l1(Device(), {.variant = JacobiVariant::l1});
  l1.setup(A);
  EXPECT_TRUE(l1.solve(b, x).solved()) << "l1 Jacobi converges for every SPD matrix";
}

TEST(Jacobi, AZeroDiagonalIsNamed) {
  const Csr<double> A = shifted_cycle(5).csr<double>();
  Jacobi<double> solver;
  const Report report = solver.setup(A);
  EXPECT_EQ(report.status, Status::breakdown);
  EXPECT_EQ(report.row, 0);
}

Dense<double> hilbert(std::int64_t n) {
  Dense<double> A(Device(), n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) A(i, j) = 1.0 / static_cast<double>(i + j + 1);
  }
  return A;
}

TEST(LapackLu, SingularToWorkingPrecisionIsSaidOfEveryColumn) {
  const Dense<double> A = hilbert(14);
  LapackLu<double> lu;
  EXPECT_EQ(lu.setup(A).status, Status::singular);
  Dense<double> X(Device(), 14, 2);
  const Report report = lu.solve(random_dense<double>(14, 2, 1), X);
  EXPECT_EQ(report.status, Status::singular);
  EXPECT_FALSE(report.row);
  EXPECT_NE(report.message.find("working precision"), std::string::npos) << report.message;
  ASSERT_EQ(report.columns.size(), 2U);
  for (const ColumnReport& column : report.columns) EXPECT_EQ(column.status, Status::singular);
}

TEST(Gmres, ASingularPreconditionerIsAWarningAndTheResidualDecides) {
  const Dense<double> A = hilbert(14);
  const std::vector<double> b(14, 1.0);
  std::vector<double> x(14);
  for (const std::int64_t limit : {0, 100}) {
    SCOPED_TRACE(limit);
    GmresOptions options;
    options.stop.max_iterations = limit;
    options.preconditioner = "lapack-lu";
    Gmres<double> gmres(Device(), options);
    gmres.setup(A);
    const Report report = gmres.solve(b, x);
    EXPECT_EQ(report.status, limit == 0 ? Status::max_iterations : Status::converged);
    EXPECT_EQ(report.solved(), report.residual_norm <= report.tolerance);
    ASSERT_EQ(report.warnings.size(), 1U);
    EXPECT_NE(report.warnings.front().find("singular"), std::string::npos) << report.warnings.front();
  }
}

TEST(Gmres, AnOverflowIsDivergenceAndXIsNotGarbage) {
  const auto A = Csr<double>::from_triplets(2, 2, {{0, 0, 1}, {1, 1, 1e-320}});
  const std::vector<double> b = {1, 1};
  std::vector<double> x(2);
  Solver<double> gmres = make_solver<double>("gmres", Device(), {{"preconditioner", "jacobi"}});
  gmres.setup(A);
  const Report report = gmres.solve(b, x);
  EXPECT_EQ(report.status, Status::diverged);
  EXPECT_EQ(x, std::vector<double>(2, 0.0));
  EXPECT_EQ(report.relative_residual, 1);
}

TEST(Gmres, AFullCycleIsExact) {
  for (const bool flexible : {false, true}) {
    const Csr<double> A = shifted_cycle(33).csr<double>();
    const Dense<double> b = random_dense<double>(33, 1, 2);
    Dense<double> x(Device(), 33, 1);
    Gmres<double> solver(Device(), {.restart = 33, .flexible = flexible});
    solver.setup(A);
    const Report report = solver.solve(b, x);
    EXPECT_TRUE(report.solved());
    EXPECT_LE(report.iterations, 33);
  }
}

TEST(Gmres, ResidualsNeverRise) {
  const Csr<double> A = convection_diffusion(20, 0.7).csr<double>();
  const Dense<double> b = random_dense<double>(400, 1, 2);
  Dense<double> x(Device(), 400, 1);
  Gmres<double> solver(Device(), {.restart = 10, .preconditioner = "ilu0"});
  solver.setup(A);
  const Report report = solver.solve(b, x);
  ASSERT_TRUE(report.solved());
  for (std::size_t k = 1; k < report.history.size(); ++k) {
    EXPECT_LE(report.history[k], report.history[k - 1] * (1 + 1e-10));
  }
}

TEST(Gmres, ASingularInconsistentSystemIsNotCalledSolved) {
  const Csr<double> A = Csr<double>::from_triplets(3, 3, {{0, 0, 1}, {1, 1, 1}});
  const std::vector<double> b = {1, 1, 1};
  std::vector<double> x(3);
  for (const char* method : {"gmres", "bicgstab", "cg"}) {
    Solver<double> solver = make_solver<double>(method, Device());
    solver.setup(A);
    const Report report = solver.solve(b, x);
    EXPECT_FALSE(report.solved()) << method;
    EXPECT_GE(report.relative_residual, 0.5) << method;
  }
}

TEST(Krylov, HugeAndTinySystemsConvergeWithoutOverflow) {
  for (const double scale : {1e-120, 1e120}) {
    Csr<double> A = poisson(10);
    for (double& value : A.values().span()) value *= scale;
    const Dense<double> b = random_dense<double>(100, 1, 2);
    Dense<double> x(Device(), 100, 1);
    for (const char* method : {"cg", "gmres", "bicgstab", "lapack-lu"}) {
      Solver<double> solver = make_solver<double>(method, Device());
      solver.setup(A);
      const Report report = solver.solve(b, x);
      EXPECT_TRUE(report.solved()) << method << " at " << scale << ": " << to_string(report.status);
    }
  }
}

}  // namespace
}  // namespace echelon::test
