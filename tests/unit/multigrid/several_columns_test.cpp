// SPDX-License-Identifier: BSD-3-Clause
/// Several right-hand sides in multigrid cycles and around them: every column as alone.
#include "support/several_columns.hpp"

#include <echelon/generate.hpp>
#include <echelon/matrix/matrix.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

std::vector<Device> devices() {
  return {Device::serial(), Device::openmp(3)};
}

void expect_as_alone(const std::string& method, const Options& options, const Csr<double>& A) {
  for (const Device& device : devices()) {
    SCOPED_TRACE(method + " on " + device.name());
    SeveralColumns::expect_as_alone(method, device, options, A, SeveralColumns::right_hand_sides(A.rows()));
  }
}

TEST(SeveralColumns, EverySmoother_ColumnsAsAlone) {
  const Csr<double> A = generate::poisson_3d<double>(9, 8, 7);
  for (const char* smoother :
       {"jacobi", "l1-jacobi", "chebyshev", "gauss-seidel", "symmetric-gauss-seidel", "ilu0", "ic0"}) {
    for (const std::int64_t sweeps : {1, 2}) {
      SCOPED_TRACE(smoother + std::to_string(sweeps));
      const Options amg{{"smoother", smoother}, {"sweeps", sweeps}, {"coarse_size", 20}};
      expect_as_alone("amg", amg, A);
    }
  }
}

TEST(SeveralColumns, EveryCycleAndPrecision_ColumnsAsAlone) {
  const Csr<double> A = generate::anisotropic_2d<double>(40, 30, 0.01);
  for (const char* cycle : {"v", "w", "f", "k"}) {
    for (const char* precision : {"working", "single"}) {
      for (const char* coarsening : {"smoothed-aggregation", "aggregation", "classical"}) {
        SCOPED_TRACE(std::string(cycle) + " " + precision + " " + coarsening);
        expect_as_alone("cg",
                        {{"preconditioner", "amg"},
                         {"preconditioner.cycle", cycle},
                         {"preconditioner.precision", precision},
                         {"preconditioner.coarsening", coarsening},
                         {"preconditioner.coarse_size", 20}},
                        A);
      }
    }
  }
}

TEST(SeveralColumns, LargerThanOneThread_ColumnsAsAlone) {
  expect_as_alone("cg", {{"preconditioner", "amg"}}, generate::poisson_2d<double>(150, 140));
}

TEST(SeveralColumns, OtherPreconditioners_ColumnsAsAlone) {
  const Csr<double> A = generate::poisson_2d<double>(30, 31);
  for (const char* preconditioner : {"none", "jacobi", "ic0", "geometric-multigrid", "multigrid"}) {
    SCOPED_TRACE(preconditioner);
    expect_as_alone("cg", {{"preconditioner", preconditioner}}, A);
  }
  expect_as_alone("geometric-multigrid", {}, A);
}

TEST(SeveralColumns, FewIterationsAllowed_ColumnsAsAlone) {
  const Csr<double> A = generate::poisson_2d<double>(60, 61);
  expect_as_alone("cg", {{"preconditioner", "amg"}, {"max_iterations", 3}}, A);
  expect_as_alone("cg", {{"preconditioner", "amg"}, {"rtol", 1e-15}}, A);
}

/// The second column has a part in the null space, the first and third have none.
TEST(SeveralColumns, SingularMatrix_InconsistentColumnIsNamed) {
  const Csr<double> A = MultigridCases::neumann(20);
  std::vector<double> b;
  for (unsigned column = 0; column < 3; ++column) {
    std::vector<double> one = MultigridCases::product(A, MultigridCases::random_vector(A.rows(), column + 1));
    for (double& value : one) value += column == 1 ? 1 : 0;
    b.insert(b.end(), one.begin(), one.end());
  }
  for (const Device& device : devices()) {
    SeveralColumns::expect_as_alone("cg", device, {{"preconditioner", "amg"}}, A, b);
    SeveralColumns::expect_as_alone("amg", device, {}, A, b);
  }
  Solver<double> solver = make_solver<double>("cg", Device(), {{"preconditioner", "amg"}});
  ASSERT_TRUE(solver.setup(A).ready());
  Dense<double> x(Device(), A.rows(), 3);
  const Report report = solver.solve(Dense<double>(A.rows(), 3, Array<double>(Device(), b)), x);
  ASSERT_EQ(report.columns.size(), 3U);
  EXPECT_EQ(report.columns[0].status, Status::converged);
  EXPECT_EQ(report.columns[1].status, Status::inconsistent);
  EXPECT_EQ(report.columns[2].status, Status::converged);
}

/// Rows that end up in every kernel of a product: empty, short, long.
TEST(SeveralColumns, HardCases_ColumnsAsAlone) {
  for (const MultigridCase& problem : MultigridCases::solvable()) {
    SCOPED_TRACE(problem.name);
    std::vector<double> b;
    for (int column = 1; column <= 3; ++column) {
      for (const double value : problem.b) b.push_back(column * value);
    }
    SeveralColumns::expect_as_alone("cg", Device::openmp(2),
                                    {{"preconditioner", "amg"}, {"max_iterations", 400}}, problem.A, b);
  }
}

}  // namespace
}  // namespace echelon::test
