// SPDX-License-Identifier: BSD-3-Clause
#include "backend/device/thread_start.hpp"

#include <echelon/device.hpp>
#include <echelon/generate.hpp>
#include <echelon/solver.hpp>

#include <gtest/gtest.h>
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

namespace echelon {
namespace {

TEST(StartableThreads, Bounds) {
  EXPECT_EQ(startable_threads(1), 1);
  EXPECT_EQ(startable_threads(3), 3);
  EXPECT_EQ(startable_threads(0), 1);
  EXPECT_LE(startable_threads(100'000), most_threads);
}

/// Exit status of a child that calls f, 14 if it takes longer than 20 seconds.
template <class F>
int status_in_child(const F& f) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(f());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
}

TEST(StartableThreads, ChildOfFork_SameSolution) {
  const Csr<double> A = generate::poisson_2d<double>(120, 120);
  const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
  for (const char* method : {"cg", "sparse-cholesky", "amg", "banded-lu"}) {
    for (const Device& device : {Device(), Device::openmp(3), Device::serial()}) {
      SCOPED_TRACE(method + (" on " + device.name()));
      Solver<double> solver = make_solver<double>(method, device);
      (void)solver.setup(A);
      std::vector<double> x(b.size());
      (void)solver.solve(b, x);
      const auto solves_alike = [&] {
        std::vector<double> y(b.size());
        Solver<double> own = make_solver<double>(method, device);
        (void)own.setup(A);
        for (Solver<double>* each : {&solver, &own}) {
          (void)each->solve(b, y);
          if (std::memcmp(x.data(), y.data(), x.size() * sizeof(double)) != 0) return 1;
        }
        return 0;
      };
      EXPECT_EQ(status_in_child(solves_alike), 0);
      EXPECT_EQ(solves_alike(), 0) << "in the parent, after the fork";
    }
  }
}

TEST(StartableThreads, ForkInParallelRegion_OneThread) {
  (void)Device::openmp(2).threads();
  int status = -1;
#pragma omp parallel num_threads(2)
#pragma omp master
  status = status_in_child([] { return Device::openmp(2).threads(); });
  EXPECT_EQ(status, 1);
  EXPECT_EQ(Device::openmp(2).threads(), 2);
}

}  // namespace
}  // namespace echelon
