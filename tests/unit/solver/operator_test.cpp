// SPDX-License-Identifier: BSD-3-Clause
/// A user's own operators and preconditioners.
#include "support/problems.hpp"

#include <gtest/gtest.h>

#include <atomic>

namespace echelon::test {
namespace {

/// y = A x by a loop of its own, counting its calls.
template <class T>
LinearOperator<T> operator_of(const Csr<T>& A, std::int64_t& calls) {
  return LinearOperator<T>(A.rows(), A.columns(), [&A, &calls](const T* x, T* y) {
    ++calls;
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      T sum = 0;
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
        sum += A.values()[k] * x[A.column_indices()[k]];
      }
      y[i] = sum;
    }
  });
}

bool is_krylov(const std::string& name) {
  return name == "cg" || name == "cr" || name == "minres" || name == "bicgstab" || name == "gmres";
}

template <class T>
void expect_krylov_methods_solve() {
  const Problem problem = convection_diffusion(20, 0);
  const Csr<T> A = problem.csr<T>();
  const Dense<T> b = random_dense<T>(problem.n, 2, 3);
  std::int64_t calls = 0;
  const LinearOperator<T> op = operator_of(A, calls);
  for (const char* method : {"cg", "minres", "bicgstab", "gmres"}) {
    for (const Device& device : {Device::serial(), Device::openmp(2)}) {
      SCOPED_TRACE(std::string(method) + " on " + device.name());
      Solver<T> solver = make_solver<T>(method, device);
      ASSERT_TRUE(solver.setup(op).ready());
      Dense<T> x(Device(), problem.n, 2);
      calls = 0;
      const Report report = solver.solve(b, x);
      EXPECT_EQ(report.status, Status::converged) << report.message;
      EXPECT_GE(calls, report.iterations);
      EXPECT_LT(assess(A, x, b).relative_residual, (std::is_same_v<T, double> ? 1e-7 : 1e-4));
    }
  }
}

TEST(Operator, KrylovMethods_SolveWithProductsAlone) {
  expect_krylov_methods_solve<double>();
  expect_krylov_methods_solve<float>();
}

TEST(Operator, OtherMethods_RefuseAndNameThoseThatDoNot) {
  const Csr<double> A = convection_diffusion(5, 0).csr<double>();
  std::int64_t calls = 0;
  const LinearOperator<double> op = operator_of(A, calls);
  for (const Method& method : methods()) {
    const bool automatic = method.kind == MethodKind::automatic;
    const bool least_squares = method.kind == MethodKind::iterative && method.needs == MethodNeeds::any_shape;
    const bool krylov = is_krylov(method.name) || method.name == "cocg" || method.name == "cocr";
    EXPECT_EQ(method.operators, automatic || krylov || least_squares) << method.name;
    if (!method.serial || method.operators) continue;
    SCOPED_TRACE(method.name);
    Solver<double> solver = make_solver<double>(method.name, Device::serial());
    try {
      solver.setup(op);
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("gmres"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(method.name), std::string::npos) << error.what();
    }
  }
  EXPECT_EQ(calls, 0);
}

TEST(Operator, ElementsOfAnOperator_AreAnError) {
  const Csr<double> A = convection_diffusion(5, 0).csr<double>();
  std::int64_t calls = 0;
  const LinearOperator<double> op = operator_of(A, calls);
  EXPECT_THROW((void)to_dense<double>(MatrixRef<double>(op)), Error);
  Cg<double> cg({}, {.preconditioner = "jacobi"});
  EXPECT_THROW(cg.setup(op), Error);
}

/// ||A||_inf is bounded from below, so that the backward error is bounded from above.
TEST(Operator, BackwardError_IsUpperBound) {
  const Problem problem = convection_diffusion(15, 0.4);
  const Csr<double> A = problem.csr<double>();
  const Dense<double> b = random_dense<double>(problem.n, 1, 3);
  std::int64_t calls = 0;
  const LinearOperator<double> op = operator_of(A, calls);
  Gmres<double> by_elements({}, {.stop = {.rtol = 1e-6}});
  Gmres<double> by_products({}, {.stop = {.rtol = 1e-6}});
  by_elements.setup(A);
  by_products.setup(op);
  Dense<double> x(Device(), problem.n, 1);
  const double exact = by_elements.solve(b, x).backward_error;
  const double bound = by_products.solve(b, x).backward_error;
  EXPECT_GE(bound, 0.99 * exact);
  EXPECT_LE(bound, 3 * exact) << "the norm of a matrix with signs like this one's is found nearly exactly";
}

TEST(Operator, NotANumberFromAnOperator_IsReported) {
  const LinearOperator<double> op(3, 3, [](const double* x, double* y) {
    for (int i = 0; i < 3; ++i) y[i] = i == 1 ? std::numeric_limits<double>::quiet_NaN() : x[i];
  });
  Cg<double> cg;
  const Report report = cg.setup(op);
  EXPECT_EQ(report.status, Status::not_a_number);
  EXPECT_EQ(report.row, 1);
}

TEST(Operator, SolveFunction_UsesGmres) {
  const Csr<double> A = convection_diffusion(10, 0.3).csr<double>();
  std::int64_t calls = 0;
  const LinearOperator<double> op = operator_of(A, calls);
  const std::vector<double> b(100, 1.0);
  const auto [x, report] = solve(op, b);
  EXPECT_TRUE(report.solved());
  EXPECT_NE(report.method.find("gmres"), std::string::npos);
  EXPECT_NE(report.reason.find("operator"), std::string::npos);
  const auto [y, by_name] = solve(op, b, {.method = "bicgstab"});
  EXPECT_TRUE(by_name.solved());
}

/// One application of Jacobi's preconditioner.
std::vector<double> inverse_diagonal(const Csr<double>& A) {
  std::vector<double> result(static_cast<std::size_t>(A.rows()));
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      if (A.column_indices()[k] == i) result[static_cast<std::size_t>(i)] = 1 / A.values()[k];
    }
  }
  return result;
}

TEST(Preconditioner, ObjectOrCallable_GivesTheBitsOfTheName) {
  const Problem problem = random_dominant(300, 4, true, 3);
  const Csr<double> A = problem.csr<double>();
  const Dense<double> b = random_dense<double>(problem.n, 1, 4);
  const std::vector<double> scale = inverse_diagonal(A);
  Jacobi<double> jacobi;
  jacobi.setup(A);
  const Preconditioner<double> callable([&scale](const double* r, double* z) {
    for (std::size_t i = 0; i < scale.size(); ++i) z[i] = scale[i] * r[i];
  });
  for (const char* method : {"cg", "minres", "bicgstab", "gmres"}) {
    SCOPED_TRACE(method);
    Solver<double> by_name = make_solver<double>(method, Device(), {{"preconditioner", "jacobi"}});
    by_name.setup(A);
    Dense<double> expected(Device(), problem.n, 1);
    const Report named = by_name.solve(b, expected);
    for (const Preconditioner<double>& given : {Preconditioner<double>(jacobi), callable}) {
      Solver<double> solver = make_solver<double>(method, Device());
      solver.set_preconditioner(given);
      ASSERT_TRUE(solver.setup(A).ready());
      Dense<double> x(Device(), problem.n, 1);
      const Report report = solver.solve(b, x);
      EXPECT_TRUE(report.solved()) << report.message;
      EXPECT_EQ(report.iterations, named.iterations);
      EXPECT_EQ(x.to_vector(), expected.to_vector());
    }
  }
}

TEST(Preconditioner, SetAfterSetup_TakesTheOtherOnesPlace) {
  const Problem problem = convection_diffusion(25, 0);
  const Csr<double> A = problem.csr<double>();
  const Dense<double> b = random_dense<double>(problem.n, 1, 4);
  Dense<double> x(Device(), problem.n, 1);
  Cg<double> cg({}, {.preconditioner = "jacobi"});
  cg.setup(A);
  const std::int64_t with_jacobi = cg.solve(b, x).iterations;
  LapackLu<double> lu;
  lu.setup(A);
  cg.set_preconditioner(lu);
  const Report report = cg.solve(b, x);
  EXPECT_TRUE(report.solved());
  EXPECT_LE(report.iterations, 2);
  EXPECT_GT(with_jacobi, 20);
}

TEST(Preconditioner, WholeSolve_InsideFlexibleGmres) {
  const Problem problem = convection_diffusion(20, 0.3);
  const Csr<double> A = problem.csr<double>();
  const Dense<double> b = random_dense<double>(problem.n, 1, 4);
  Bicgstab<double> inner({}, {.stop = {.rtol = 0.01}});
  inner.setup(A);
  std::int64_t calls = 0;
  const LinearOperator<double> op = operator_of(A, calls);
  Gmres<double> outer({}, {.flexible = true});
  outer.set_preconditioner(inner);
  ASSERT_TRUE(outer.setup(op).ready());
  Dense<double> x(Device(), problem.n, 1);
  const Report report = outer.solve(b, x);
  EXPECT_TRUE(report.solved()) << report.message;
  EXPECT_LE(report.iterations, 8);
  EXPECT_LT(assess(A, x, b).relative_residual, 1e-7);
}

TEST(Preconditioner, MethodsWithout_RefuseOne) {
  const Preconditioner<double> identity([](const double*, double*) {});
  for (const Method& method : methods()) {
    if (!method.serial || method.operators) continue;
    Solver<double> solver = make_solver<double>(method.name, Device::serial());
    EXPECT_THROW(solver.set_preconditioner(identity), Error) << method.name;
  }
}

}  // namespace
}  // namespace echelon::test
