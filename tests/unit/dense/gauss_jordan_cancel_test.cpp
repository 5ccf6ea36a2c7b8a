// SPDX-License-Identifier: BSD-3-Clause
#include "backend/host/host.hpp"
#include "dense/gauss_jordan/system.hpp"
#include "support/dense/gauss_jordan.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <stop_token>

namespace echelon::test {
namespace {

/// The request is checked before each panel: a system for which it has been made is not eliminated.
TEST(GaussJordanCancel, RequestedStop_EndsTheElimination) {
  const Dense<double> a = random_dense<double>(200, 200, 1);
  EliminationWorkspace<Host> workspace(Device::serial());
  EliminatedSystem<Host, double> system(workspace, {.block = 32});
  std::stop_source source;
  workspace.control = SetupControl(source.get_token());
  EXPECT_TRUE(system.factor(MatrixRef<double>(a)).ok());
  EXPECT_EQ(system.rank(), 200);
  source.request_stop();
  EXPECT_EQ(system.factor(MatrixRef<double>(a)).status, Status::cancelled);
  EXPECT_EQ(system.rank(), 0);
  workspace.control = {};
  EXPECT_TRUE(system.factor(MatrixRef<double>(a)).ok());
  EXPECT_EQ(system.rank(), 200);
}

TEST(GaussJordanCancel, Solver_RequestedStop_SetupIsCancelled) {
  const Dense<double> a = random_dense<double>(100, 100, 1);
  for (const Precision precision : {Precision::working, Precision::single}) {
    GaussJordan<double> solver(Device::openmp(2), {.factor_precision = precision});
    std::stop_source source;
    source.request_stop();
    EXPECT_EQ(solver.setup(a, {.cancel = source.get_token()}).status, Status::cancelled);
    EXPECT_EQ(solver.setup(a).status, Status::ready);
  }
}

}  // namespace
}  // namespace echelon::test
