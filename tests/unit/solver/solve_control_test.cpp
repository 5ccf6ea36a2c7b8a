// SPDX-License-Identifier: BSD-3-Clause
/// Arguments of a single solve: the operation, tolerances, a flag that cancels, a kind of methods, memory
/// for x.
#include "support/problems.hpp"
#include "support/solver/unsymmetric.hpp"

#include <echelon/echelon.hpp>
#include <echelon/matrix/transform.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

std::vector<double> random_numbers(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> x(n);
  for (double& element : x) element = uniform(random);
  return x;
}

Csr<double> symmetric(std::int32_t n) {
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < n; ++i) {
    triplets.push_back({i, i, 4});
    if (i + 1 < n) triplets.insert(triplets.end(), {{i, i + 1, -1}, {i + 1, i, -1}});
    if (i + 6 < n) triplets.insert(triplets.end(), {{i, i + 6, -1}, {i + 6, i, -1}});
  }
  return Csr<double>::from_triplets(n, n, triplets);
}

std::vector<double> product(const Csr<double>& A, const std::vector<double>& x) {
  std::vector<double> y(static_cast<std::size_t>(A.rows()), 0.0);
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      y[static_cast<std::size_t>(i)] += A.values()[k] * x[static_cast<std::size_t>(A.column_indices()[k])];
    }
  }
  return y;
}

double distance(const std::vector<double>& x, const std::vector<double>& y) {
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::abs(x[i] - y[i]));
  return largest;
}

bool is_for_symmetric(const Method& method) {
  return method.needs == MethodNeeds::symmetric || method.needs == MethodNeeds::symmetric_positive_definite ||
         method.needs == MethodNeeds::diagonally_dominant;
}

TEST(SolveControl, EveryMethod_SolvesWithTheTranspose) {
  for (const Method& method : methods()) {
    if (!method.runs_on(Device()) || method.kind == MethodKind::preconditioner) continue;
    if (method.needs == MethodNeeds::triangular) continue;
    SCOPED_TRACE(method.name);
    const Csr<double> A = is_for_symmetric(method) ? symmetric(40) : unsymmetric(40);
    const std::vector<double> exact = random_numbers(40, 5);
    const std::vector<double> b = product(transpose(A), exact);
    Solver<double> solver = make_solver<double>(method.name, Device());
    ASSERT_TRUE(solver.setup(A).ready());
    std::vector<double> x(40);
    for (const Operation operation : {Operation::transpose, Operation::adjoint}) {
      const Report report = solver.solve(b, x, {.operation = operation});
      EXPECT_TRUE(report.solved()) << report;
      EXPECT_LE(distance(x, exact), 1e-6);
      if (method.kind == MethodKind::automatic) continue;
      EXPECT_EQ(report.method, solver.describe());
    }
    ASSERT_TRUE(solver.solve(product(A, exact), x).solved());
    EXPECT_LE(distance(x, exact), 1e-6);
  }
}

TEST(SolveControl, TransposeAfterNewValues_FollowsThem) {
  for (const std::string method : {"sparse-lu", "lu", "banded-lu", "bicgstab"}) {
    SCOPED_TRACE(method);
    const Csr<double> A = unsymmetric(30);
    Csr<double> twice = A;
    for (std::int64_t k = 0; k < A.nonzeros(); ++k) twice.values()[k] *= 2;
    const std::vector<double> exact = random_numbers(30, 6);
    const std::vector<double> b = product(transpose(A), exact);
    Solver<double> solver = make_solver<double>(method, Device());
    ASSERT_TRUE(solver.setup(A).ready());
    std::vector<double> x(30);
    ASSERT_TRUE(solver.solve(b, x, {.operation = Operation::transpose}).solved());
    ASSERT_TRUE(solver.update_values(twice).ready());
    ASSERT_TRUE(solver.solve(b, x, {.operation = Operation::transpose}).solved());
    for (double& element : x) element *= 2;
    EXPECT_LE(distance(x, exact), 1e-6);
  }
}

TEST(SolveControl, TransposeOfRectangularMatrix_LeastNormOrLeastSquares) {
  const Dense<double> A(3, 2, Array<double>{1, 0, 0, 0, 1, 0});
  Solver<double> solver = make_solver<double>("gauss-jordan", Device());
  (void)solver.setup(A);
  std::vector<double> x(3);
  const Report report = solver.solve(std::vector<double>{2, 3}, x, {.operation = Operation::transpose});
  EXPECT_TRUE(report.solved()) << report;
  EXPECT_NEAR(x[0], 2, 1e-12);
  EXPECT_NEAR(x[1], 3, 1e-12);
}

TEST(SolveControl, HugeAndTinyMatrices_TransposeIsScaledAlike) {
  for (const double factor : {1e-290, 1e290}) {
    Csr<double> A = unsymmetric(20);
    for (std::int64_t k = 0; k < A.nonzeros(); ++k) A.values()[k] *= factor;
    const std::vector<double> exact = random_numbers(20, 7);
    const std::vector<double> b = product(transpose(A), exact);
    for (const std::string method : {"sparse-lu", "lu", "gmres"}) {
      Solver<double> solver = make_solver<double>(method, Device());
      ASSERT_TRUE(solver.setup(A).ready());
      std::vector<double> x(20);
      const Report report = solver.solve(b, x, {.operation = Operation::transpose});
      EXPECT_TRUE(report.solved()) << report;
      EXPECT_LE(distance(x, exact), 1e-6);
    }
  }
}

TEST(SolveControl, OperatorWithTransposedProduct_IsTransposed) {
  const Csr<double> A = unsymmetric(25);
  const Csr<double> At = transpose(A);
  const auto multiply_by = [](const Csr<double>& M) {
    return [&M](const double* x, double* y) {
      const std::vector<double> result = product(M, std::vector<double>(x, x + M.columns()));
      std::copy(result.begin(), result.end(), y);
    };
  };
  const std::vector<double> exact = random_numbers(25, 8);
  const std::vector<double> b = product(At, exact);
  const LinearOperator<double> both(25, 25, multiply_by(A), multiply_by(At));
  Solver<double> solver = make_solver<double>("gmres", Device());
  ASSERT_TRUE(solver.setup(both).ready());
  std::vector<double> x(25);
  EXPECT_TRUE(solver.solve(b, x, {.operation = Operation::transpose}).solved());
  EXPECT_LE(distance(x, exact), 1e-6);
  const LinearOperator<double> one(25, 25, multiply_by(A));
  ASSERT_TRUE(solver.setup(one).ready());
  EXPECT_THROW((void)solver.solve(b, x, {.operation = Operation::transpose}), Error);
}

TEST(SolveControl, PreconditionerObject_IsNamedForTheTranspose) {
  const Csr<double> A = unsymmetric(25);
  const Preconditioner<double> identity([](const double* r, double* z) { std::copy(r, r + 25, z); });
  Solver<double> solver = make_solver<double>("bicgstab", Device());
  solver.set_preconditioner(identity);
  ASSERT_TRUE(solver.setup(A).ready());
  std::vector<double> x(25);
  EXPECT_THROW((void)solver.solve(std::vector<double>(25, 1.0), x, {.operation = Operation::transpose}),
               Error);
}

TEST(SolveControl, TolerancesOfOneSolve_ReplaceThoseOfTheMethod) {
  const Csr<double> A = symmetric(900);
  const std::vector<double> b(900, 1.0);
  std::vector<double> x(900);
  Solver<double> solver = make_solver<double>("cg", Device());
  ASSERT_TRUE(solver.setup(A).ready());
  const Report loose = solver.solve(b, x, {.rtol = 1e-2});
  const Report tight = solver.solve(b, x, {.rtol = 1e-12});
  const Report own = solver.solve(b, x);
  EXPECT_TRUE(loose.solved() && tight.solved() && own.solved());
  EXPECT_LE(tight.relative_residual, 1e-12);
  EXPECT_LE(own.relative_residual, 1e-8);
  EXPECT_LT(loose.iterations, own.iterations);
  EXPECT_LT(own.iterations, tight.iterations);
  EXPECT_NEAR(loose.tolerance, 1e-2 * 30, 1e-12);
  EXPECT_LT(solver.solve(b, x, {.rtol = 0.0, .atol = 3.0}).iterations, own.iterations);
  const Report limited = solver.solve(b, x, {.max_iterations = 3});
  EXPECT_EQ(limited.status, Status::max_iterations);
  EXPECT_EQ(limited.iterations, 3);
  EXPECT_THROW((void)solver.solve(b, x, {.rtol = 2.0}), BadOption);
  EXPECT_THROW((void)solver.solve(b, x, {.atol = -1.0}), BadOption);
  EXPECT_THROW((void)solver.solve(b, x, {.max_iterations = -1}), BadOption);
}

TEST(SolveControl, FlagOfTheCaller_Cancels) {
  const Csr<double> A = symmetric(2000);
  const std::vector<double> b(2000, 1.0);
  std::vector<double> x(2000);
  std::atomic<bool> flag = true;
  Solver<double> solver = make_solver<double>("cg", Device());
  ASSERT_TRUE(solver.setup(A).ready());
  EXPECT_EQ(solver.solve(b, x, {.cancel = &flag}).status, Status::cancelled);
  flag = false;
  EXPECT_TRUE(solver.solve(b, x, {.cancel = &flag}).solved());
  SolveOptions options;
  options.method = "cg";
  options.cancel = &flag;
  options.on_progress = [&flag](const Progress& progress) { flag = progress.iteration >= 2; };
  EXPECT_EQ(solve(A, b, options).report.status, Status::cancelled);
}

TEST(SolveControl, KindOfMethods_LimitsAuto) {
  const Csr<double> grid = symmetric(400);
  const std::vector<double> b(400, 1.0);
  for (const MethodKind kind : {MethodKind::direct, MethodKind::iterative}) {
    SolveOptions options;
    options.kind = kind;
    for (const Csr<double>& A : {grid, unsymmetric(400)}) {
      const Report report = solve(A, b, options).report;
      EXPECT_TRUE(report.solved()) << report;
      EXPECT_EQ(find_method(report.method.substr(0, report.method.find(' '))).kind, kind) << report.method;
    }
  }
  SolveOptions wrong;
  wrong.kind = MethodKind::preconditioner;
  EXPECT_THROW((void)solve(grid, b, wrong), BadOption);
  wrong.kind = MethodKind::direct;
  wrong.method = "cg";
  EXPECT_THROW((void)solve(grid, b, wrong), BadOption);
}

TEST(SolveControl, SolveInto_UsesTheMemoryOfTheCaller) {
  const Csr<double> A = unsymmetric(50);
  const std::vector<double> exact = random_numbers(50, 9);
  std::vector<double> x = product(A, exact);
  const Report report = solve_into<double>(A, x, x);
  EXPECT_TRUE(report.solved());
  EXPECT_LE(distance(x, exact), 1e-6);
  std::vector<double> small(49);
  EXPECT_THROW((void)solve_into<double>(A, x, small), DimensionMismatch);
  const std::vector<double> nan(50, std::nan(""));
  std::vector<double> kept(50, 3.0);
  EXPECT_FALSE(solve_into<double>(A, nan, kept).solved());
  EXPECT_EQ(kept, std::vector<double>(50, 3.0));
}

}  // namespace
}  // namespace echelon::test
