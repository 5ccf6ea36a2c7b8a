// SPDX-License-Identifier: BSD-3-Clause
/// When iterations stop, and what the report says of them: residuals, history, tolerance, limit,
/// cancellation.
#include "solver/iteration/iterative_method.hpp"
#include "support/problems.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

TEST(Solver, Residual_IsTrueOne) {
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

TEST(Solver, History_StartAndEveryIteration) {
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

TEST(StepsBeforeCheck, ApproachThePredictedEnd) {
  EXPECT_EQ(steps_before_check(0, 1, 1, 1e-8), 4) << "no rate yet";
  // A tenth per iteration: the end is expected after 8.
  EXPECT_EQ(steps_before_check(4, 1, 1e-4, 1e-8), 3);
  EXPECT_EQ(steps_before_check(7, 1, 1e-7, 1e-8), 1);
  EXPECT_EQ(steps_before_check(100, 1, 0.5, 1e-8), 16) << "at most";
  EXPECT_EQ(steps_before_check(4, 1, 2, 1e-8), 16) << "no convergence";
  EXPECT_EQ(steps_before_check(4, 1, 1e-4, 0), 16) << "no end";
  EXPECT_EQ(steps_before_check(4, 1, std::nan(""), 1e-8), 16);
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

TEST(Solver, SerialAndOpenMp_SameBits) {
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

TEST(Solver, Tolerance_FollowsFormula) {
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

TEST(Solver, ImpossibleTolerance_Stagnates) {
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

TEST(Solver, IterationLimit_IsKept) {
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

TEST(Solver, Cancellation_KeepsBestIterate) {
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

}  // namespace
}  // namespace echelon::test
