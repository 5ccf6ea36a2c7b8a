// SPDX-License-Identifier: BSD-3-Clause
#include "backend/host/host.hpp"
#include "solver/implementation.hpp"
#include "studies/gauss_seidel_relaunch/relaunch.hpp"
#include "support/problems.hpp"
#include "unit/relaxation/sweep_oracle.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace echelon {
namespace {

using test::expect_same_bits;
using test::plain_sweeps;
using test::random_dense;
using test::random_dominant;

TEST(GaussSeidelSolver, HostDevices_EqualBitsAndCounts) {
  const Csr<double> A = generate::poisson_3d<double>(30, 25, 22);
  const Dense<double> b = random_dense<double>(A.rows(), 2, 1);
  Dense<double> expected;
  std::int64_t iterations = 0;
  for (const Device& device : {Device::serial(), Device::openmp(3)}) {
    Sor<double> sor(device, {.stop = {.rtol = 1e-2}, .omega = 1.8, .residual_every = 3});
    sor.setup(A);
    Dense<double> x(Device(), A.rows(), 2);
    const Report report = sor.solve(b, x);
    ASSERT_EQ(report.status, Status::converged) << report.message;
    EXPECT_EQ(report.iterations % 3, 0);
    if (iterations == 0) {
      iterations = report.iterations;
      expected = x;
    }
    EXPECT_EQ(report.iterations, iterations);
    expect_same_bits(x, expected);
  }
}

TEST(GaussSeidelSolver, Divergence_Reported) {
  // |spectral radius| > 1: row sums far from dominant.
  const Csr<double> A = Csr<double>::from_triplets(2, 2, {{0, 0, 1}, {0, 1, 3}, {1, 0, 2}, {1, 1, 1}});
  const Dense<double> b = random_dense<double>(2, 1, 1);
  for (const char* method : {"gauss-seidel", "gauss-seidel-relaunch", "sor", "ssor"}) {
    Solver<double> solver = make_solver<double>(method, Device::serial());
    solver.setup(A);
    Dense<double> x(Device(), 2, 1);
    EXPECT_EQ(solver.solve(b, x).status, Status::diverged) << method;
  }
}

TEST(GaussSeidelSolver, MissingDiagonal_CountedAndNamed) {
  const Csr<double> A = Csr<double>::from_triplets(3, 3, {{0, 0, 1}, {1, 0, 3}, {2, 1, 2}, {2, 2, 0}});
  for (const char* method : {"gauss-seidel", "gauss-seidel-relaunch", "sor", "ssor"}) {
    const Report report = make_solver<double>(method, Device::serial()).setup(A);
    EXPECT_EQ(report.status, Status::breakdown);
    EXPECT_EQ(report.row, 1);
    EXPECT_NE(report.message.find("2 rows"), std::string::npos) << report.message;
  }
}

/// z = M^-1 r is a symmetric sweep from zero, and (M^-1 r, s) = (r, M^-1 s).
TEST(Ssor, Apply_Symmetric) {
  const Csr<double> A = random_dominant(200, 5, true, 3).csr<double>();
  for (const std::int64_t sweeps : {1, 3}) {
    Ssor<double> ssor(Device::serial(), {.omega = 1.3, .sweeps = sweeps});
    ssor.setup(A);
    const auto apply = [&](const Dense<double>& r) {
      Dense<double> z(Device(), 200, 1);
      const SolverImplementation<double>& method = SolverAccess<double>::implementation(ssor);
      method.apply(*method.make_workspace(), {r.data(), 200}, {z.data(), 200});
      return z;
    };
    const Dense<double> r = random_dense<double>(200, 1, 1);
    const Dense<double> s = random_dense<double>(200, 1, 2);
    Dense<double> zero(Device(), 200, 1);
    std::fill_n(zero.data(), 200, 0.0);
    const Dense<double> z = apply(r);
    expect_same_bits(
        z, plain_sweeps(A, r, zero, {.kind = SweepKind::symmetric, .sweeps = sweeps, .omega = 1.3}));
    EXPECT_NEAR(dot<double>(z, s), dot<double>(r, apply(s)), 1e-12);
    EXPECT_GT(dot<double>(z, r), 0);
  }
}

TEST(GaussSeidelRelaunch, Launches_AtMostLevels) {
  for (const Csr<double>& A :
       {generate::poisson_2d<double>(40, 30), generate::published_triangle<double>(20'000),
        random_dominant(500, 80, false, 3).csr<double>()}) {
    const Dense<double> b = random_dense<double>(A.rows(), 1, 1);
    const Dense<double> x = random_dense<double>(A.rows(), 1, 2);
    const SweepDependencies levels = analyze_dependencies<double>(A);
    const auto run = [&]<class B>(B backend, bool backward, bool one_pass) {
      const Dense<double> expected =
          plain_sweeps(A, b, x, {.kind = backward ? SweepKind::backward : SweepKind::forward});
      gauss_seidel::RelaunchWorkspace<double> scratch(backend.device(), A.rows());
      Dense<double> got = x;
      const std::int64_t launches = gauss_seidel::relaunch_sweep(backend, A, nullptr, b.data(), got.data(),
                                                                 scratch, backward, {.one_pass = one_pass});
      expect_same_bits(got, expected);
      EXPECT_LE(launches, (backward ? levels.backward : levels.forward).levels);
      EXPECT_GE(launches, 1);
      if (backend.device() == Device::serial()) {
        EXPECT_EQ(launches, 1);
      }
    };
    for (const bool backward : {false, true}) {
      for (const bool one_pass : {false, true}) {
        run(Host(Device::serial()), backward, one_pass);
        run(Host(Device::openmp(3)), backward, one_pass);
      }
    }
  }
}

TEST(GaussSeidelRelaunch, SweepKinds_BitsOfGaussSeidel) {
  const Csr<double> A = generate::poisson_2d<double>(20, 17);
  const Dense<double> b = random_dense<double>(A.rows(), 1, 1);
  for (const char* kind : {"forward", "backward", "symmetric"}) {
    std::vector<Dense<double>> found;
    for (const int passes : {0, 1, 2}) {
      Options options = {{"sweep", kind}, {"max_iterations", 7}, {"rtol", 0.0}};
      if (passes > 0) options.set("row_passes", passes);
      Solver<double> solver = make_solver<double>(passes == 0 ? "gauss-seidel" : "gauss-seidel-relaunch",
                                                  Device::openmp(2), options);
      ASSERT_TRUE(solver.setup(A).ready());
      Dense<double> x(Device(), A.rows(), 1);
      const Report report = solver.solve(b, x);
      EXPECT_EQ(report.iterations, 7);
      found.push_back(std::move(x));
      const Statistic* const sweeps = report.find_statistic("sweeps");
      if (sweeps != nullptr) {
        EXPECT_EQ(std::get<std::int64_t>(sweeps->value), kind == std::string("symmetric") ? 14 : 7);
      }
    }
    expect_same_bits(found[1], found[0]);
    expect_same_bits(found[2], found[0]);
  }
}

}  // namespace
}  // namespace echelon
