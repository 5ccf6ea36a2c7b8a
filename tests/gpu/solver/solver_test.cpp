// SPDX-License-Identifier: BSD-3-Clause
// Iterative methods on the GPU compared with the serial backend, and what a repeated or concurrent solve
// promises.
#include "gpu/gpu_fixture.hpp"
#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace echelon {
namespace {

using test::assess;
using test::GpuTest;
using test::Problem;
using test::random_dense;

struct Case {
  std::string method;
  Options options;
  Problem problem;
};

std::vector<Case> cases() {
  const Problem poisson = test::convection_diffusion(33, 0);
  const Problem convection = test::convection_diffusion(32, 0.4);
  const Problem dominant = test::random_dominant(1025, 6, false, 1);
  return {{"jacobi", {}, dominant},
          {"jacobi", {{"variant", "l1"}, {"weight", 0.9}}, dominant},
          {"cg", {}, poisson},
          {"cg", {{"preconditioner", "jacobi"}}, poisson},
          {"cg",
           {{"preconditioner", "jacobi"}, {"preconditioner.sweeps", 3}, {"preconditioner.weight", 0.7}},
           poisson},
          {"bicgstab", {}, convection},
          {"bicgstab", {{"preconditioner", "jacobi"}}, convection},
          {"gmres", {{"restart", 20}}, convection},
          {"gmres", {{"preconditioner", "jacobi"}}, convection},
          {"gmres", {{"preconditioner", "jacobi"}, {"flexible", true}}, convection}};
}

struct Answer {
  Report report;
  std::vector<double> x;
};

Answer solve_on(const Device& device, const std::string& method, const Options& options,
                const Csr<double>& host_matrix, const Dense<double>& b) {
  const Csr<double> A = host_matrix.to(device);
  Solver<double> solver = make_solver<double>(method, device, options);
  solver.setup(A);
  Dense<double> x(device, b.rows(), b.columns());
  Report report = solver.solve(b.to(device), x);
  const bool computed = !report.columns.empty();
  return {std::move(report), computed ? x.to_vector() : std::vector<double>{}};
}

Dense<double> on_host(const std::vector<double>& values) {
  return Dense<double>(std::span<const double>(values));
}

class GpuSolver : public GpuTest {};

TEST_F(GpuSolver, Methods_AgreeWithSerial) {
  for (const Case& c : cases()) {
    const Csr<double> A = c.problem.csr<double>();
    const Dense<double> b = random_dense<double>(A.rows(), 1, 21);
    const Answer serial = solve_on(Device::serial(), c.method, c.options, A, b);
    const Answer cuda = solve_on(gpu, c.method, c.options, A, b);
    SCOPED_TRACE(c.method + " on " + c.problem.name + ": " + cuda.report.message);
    EXPECT_EQ(serial.report.status, Status::converged);
    EXPECT_EQ(cuda.report.status, Status::converged);
    // BiCGStab's residuals are erratic: rounding alone moves the last iteration.
    const std::int64_t slack = c.method == "bicgstab" ? 2 + serial.report.iterations / 10 : 2;
    EXPECT_LE(std::abs(serial.report.iterations - cuda.report.iterations), slack);
    EXPECT_LE(assess(A, on_host(cuda.x), b).relative_residual, 1e-8);
    EXPECT_NEAR(cuda.report.relative_residual, assess(A, on_host(cuda.x), b).relative_residual, 1e-12);
    EXPECT_EQ(static_cast<std::int64_t>(cuda.report.history.size()), cuda.report.iterations + 1);
  }
}

TEST_F(GpuSolver, CheckInterval_ChangesNothing) {
  for (const Case& c : cases()) {
    const Csr<double> A = c.problem.csr<double>();
    const Dense<double> b = random_dense<double>(A.rows(), 1, 22);
    const auto every = [&](std::int64_t k) {
      Options options = c.options;
      options.set("check_every", k);
      return solve_on(gpu, c.method, options, A, b);
    };
    const Answer once = every(1);
    for (const std::int64_t k : {7, 16, 64}) {
      SCOPED_TRACE(c.method + " on " + c.problem.name + ", every " + std::to_string(k));
      const Answer other = every(k);
      EXPECT_EQ(once.x, other.x);
      EXPECT_EQ(once.report.iterations, other.report.iterations);
      EXPECT_EQ(once.report.history, other.report.history);
    }
  }
}

TEST_F(GpuSolver, SolvesInFloat) {
  const Csr<float> A = test::convection_diffusion(33, 0).csr<float>();
  const Dense<float> b = random_dense<float>(A.rows(), 1, 23);
  const Csr<float> A_gpu = A.to(gpu);
  Cg<float> cg(gpu, {.preconditioner = "jacobi"});
  cg.setup(A_gpu);
  Dense<float> x(gpu, A.rows(), 1);
  const Report report = cg.solve(b.to(gpu), x);
  EXPECT_EQ(report.status, Status::converged) << report.message;
  EXPECT_LE(assess(A, x.to(Device()), b).relative_residual, 1.1e-5);
}

TEST_F(GpuSolver, SeveralRightHandSides_Solved) {
  const Csr<double> A = test::convection_diffusion(32, 0).csr<double>();
  const Dense<double> B = random_dense<double>(A.rows(), 5, 24);
  const Csr<double> A_gpu = A.to(gpu);
  Cg<double> cg(gpu);
  cg.setup(A_gpu);
  Dense<double> X(gpu, A.rows(), 5);
  const Report report = cg.solve(B.to(gpu), X);
  EXPECT_EQ(report.status, Status::converged) << report.message;
  ASSERT_EQ(report.columns.size(), 5u);
  const Dense<double> host = X.to(Device());
  for (std::int64_t j = 0; j < 5; ++j) EXPECT_LE(assess(A, host, B, j).relative_residual, 1e-8);
}

TEST_F(GpuSolver, TwoThreads_Solve) {
  const Csr<double> A = test::convection_diffusion(48, 0).csr<double>();
  const Csr<double> A_gpu = A.to(gpu);
  Cg<double> cg(gpu, {.preconditioner = "jacobi"});
  cg.setup(A_gpu);
  const std::int64_t n = A.rows();
  constexpr int threads = 2;
  constexpr int solves = 8;
  std::vector<std::vector<double>> alone;
  for (int t = 0; t < threads; ++t) {
    Dense<double> x(gpu, n, 1);
    ASSERT_TRUE(cg.solve(random_dense<double>(n, 1, 30 + t).to(gpu), x).solved());
    alone.push_back(x.to_vector());
  }
  std::vector<int> agreed(threads, 0);
  {
    std::vector<std::jthread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        const Dense<double> b = random_dense<double>(n, 1, 30 + t).to(gpu);
        for (int k = 0; k < solves; ++k) {
          Dense<double> x(gpu, n, 1);
          const bool solved = cg.solve(b, x).solved();
          agreed[static_cast<std::size_t>(t)] +=
              solved && x.to_vector() == alone[static_cast<std::size_t>(t)];
        }
      });
    }
  }
  for (const int count : agreed) EXPECT_EQ(count, solves);
}

TEST_F(GpuSolver, StopsWhenAsked) {
  const Csr<double> A = test::convection_diffusion(48, 0).csr<double>();
  const Csr<double> A_gpu = A.to(gpu);
  CgOptions options;
  options.stop.check_every = 4;
  Cg<double> cg(gpu, options);
  cg.setup(A_gpu);
  std::stop_source source;
  const Control control{.on_progress =
                            [&](const Progress& progress) {
                              if (progress.iteration >= 8) source.request_stop();
                            },
                        .cancel = source.get_token()};
  Dense<double> x(gpu, A.rows(), 1);
  const Report report = cg.solve(random_dense<double>(A.rows(), 1, 25).to(gpu), x, control);
  EXPECT_EQ(report.status, Status::cancelled);
  EXPECT_GE(report.iterations, 8);
  EXPECT_LE(report.iterations, 16);
}

TEST_F(GpuSolver, RepeatedSolve_AllocatesNothing) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.method);
    const Csr<double> A = c.problem.csr<double>().to(gpu);
    Solver<double> solver = make_solver<double>(c.method, gpu, c.options);
    solver.setup(A);
    const Dense<double> b = random_dense<double>(A.rows(), 1, 26).to(gpu);
    Dense<double> x(gpu, A.rows(), 1);
    ASSERT_TRUE(solver.solve(b, x).solved());
    const std::size_t before = memory(gpu).available;
    std::size_t least = before;
    const Control watch{
        .on_progress = [&](const Progress&) { least = std::min(least, memory(gpu).available); }};
    for (int k = 0; k < 3; ++k) ASSERT_TRUE(solver.solve(b, x, watch).solved());
    EXPECT_EQ(least, before);
    EXPECT_EQ(memory(gpu).available, before);
  }
}

TEST_F(GpuSolver, OutOfMemory_StaysUsable) {
  const std::size_t available = memory(gpu).available;
  const auto too_many = static_cast<std::int64_t>(available / sizeof(double) * 2);
  EXPECT_THROW(Dense<double>(gpu, too_many, 1), OutOfMemory);
  const Csr<double> A = test::convection_diffusion(8, 0).csr<double>();
  const Dense<double> b = random_dense<double>(A.rows(), 1, 27);
  EXPECT_EQ(solve_on(gpu, "cg", {}, A, b).report.status, Status::converged);
}

TEST_F(GpuSolver, SaysWhereNaNIs) {
  const Csr<double> A = test::convection_diffusion(32, 0).csr<double>();
  Dense<double> b = random_dense<double>(A.rows(), 1, 28);
  b[777] = std::numeric_limits<double>::quiet_NaN();
  const Answer answer = solve_on(gpu, "cg", {}, A, b);
  EXPECT_EQ(answer.report.status, Status::not_a_number);
  EXPECT_EQ(answer.report.row, 777);
}

}  // namespace
}  // namespace echelon
