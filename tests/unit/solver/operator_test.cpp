// SPDX-License-Identifier: BSD-3-Clause
/// A user's own operators and preconditioners.
#include "support/problems.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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

/// operator_of() for several vectors in each call, whose numbers of columns are noted.
template <class T>
LinearOperator<T> operator_of_columns(const Csr<T>& A, std::vector<std::int64_t>& widths) {
  return LinearOperator<T>::of_columns(A.rows(), A.columns(),
                                       [&A, &widths](DenseView<const T> X, DenseView<T> Y) {
                                         widths.push_back(X.columns());
                                         std::int64_t calls = 0;
                                         const LinearOperator<T> one = operator_of(A, calls);
                                         for (std::int64_t j = 0; j < X.columns(); ++j)
                                           one.apply(X.column(j), Y.column(j));
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

TEST(Operator, SeveralColumns_MultipliedTogetherWithTheBitsOfEach) {
  const Problem problem = convection_diffusion(20, 0);
  const Csr<double> A = problem.csr<double>();
  const Dense<double> b = random_dense<double>(problem.n, 11, 3);
  std::int64_t calls = 0;
  const LinearOperator<double> one = operator_of(A, calls);
  std::vector<std::int64_t> widths;
  const LinearOperator<double> several = operator_of_columns(A, widths);
  EXPECT_FALSE(one.takes_columns());
  EXPECT_TRUE(several.takes_columns());
  for (const char* method : {"cg", "cocg", "minres", "bicgstab", "gmres"}) {
    for (const Device& device : {Device::serial(), Device::openmp(2)}) {
      SCOPED_TRACE(std::string(method) + " on " + device.name());
      Solver<double> by_one = make_solver<double>(method, device);
      Solver<double> by_several = make_solver<double>(method, device);
      ASSERT_TRUE(by_one.setup(one).ready());
      ASSERT_TRUE(by_several.setup(several).ready());
      Dense<double> x(Device(), problem.n, 11);
      Dense<double> y(Device(), problem.n, 11);
      ASSERT_TRUE(by_one.solve(b, x).solved());
      widths.clear();
      ASSERT_TRUE(by_several.solve(b, y).solved());
      EXPECT_EQ(x.to_vector(), y.to_vector());
      const bool together = method == std::string("cg") || method == std::string("cocg");
      EXPECT_EQ(*std::max_element(widths.begin(), widths.end()), together ? 8 : 1);
      widths.clear();
      ASSERT_TRUE(by_several.solve(b, y).solved());
      EXPECT_EQ(x.to_vector(), y.to_vector()) << "memory of an earlier solve";
    }
  }
}

TEST(Operator, TransposeOfSeveralColumns_IsTheirs) {
  const Csr<double> A = Csr<double>::from_triplets(2, 3, {{0, 0, 1}, {0, 2, 2}, {1, 1, 3}});
  const Csr<double> At = transpose(A);
  const auto multiply_by = [](const Csr<double>& M) {
    return [&M](DenseView<const double> X, DenseView<double> Y) { multiply<double>(1, M, X, 0, Y); };
  };
  const auto both = LinearOperator<double>::of_columns(2, 3, multiply_by(A), multiply_by(At));
  const auto none = LinearOperator<double>::of_columns(2, 3, multiply_by(A));
  EXPECT_FALSE(none.has_transpose());
  EXPECT_THROW((void)none.transposed(), Error);
  const LinearOperator<double> transposed = both.transposed();
  EXPECT_TRUE(transposed.takes_columns());
  EXPECT_EQ(transposed.rows(), 3);
  const Dense<double> X(2, 2, Array<double>{1, 1, 0, 2});
  Dense<double> Y(Device(), 3, 2);
  transposed.apply(X.view(), Y.view());
  EXPECT_EQ(Y.to_vector(), (std::vector<double>{1, 3, 2, 0, 6, 0}));
  std::vector<double> y(3);
  both.apply_transposed(X.data(), y.data());
  EXPECT_EQ(y, (std::vector<double>{1, 3, 2}));
  transposed.apply_transposed(Y.data(), y.data());
  EXPECT_EQ(y[0], 5);
  EXPECT_EQ(y[1], 9);
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

TEST(Preconditioner, SolverMoves_IsFollowed) {
  const Problem problem = convection_diffusion(12, 0.3);
  const Csr<double> A = problem.csr<double>();
  const Dense<double> b = random_dense<double>(problem.n, 1, 4);
  for (const char* method : {"ilu0", "sparse-lu", "bicgstab"}) {
    SCOPED_TRACE(method);
    Dense<double> x(Device(), problem.n, 1);
    Dense<double> y(Device(), problem.n, 1);
    Gmres<double> outer({}, {.flexible = true});
    std::vector<Solver<double>> inner;
    inner.push_back(make_solver<double>(method, Device()));
    ASSERT_TRUE(inner.front().setup(A).ready());
    outer.set_preconditioner(inner.front());
    ASSERT_TRUE(outer.setup(A).ready());
    ASSERT_TRUE(outer.solve(b, x).solved());
    Solver<double> moved = std::move(inner.front());
    inner.clear();
    ASSERT_TRUE(outer.solve(b, y).solved());
    EXPECT_EQ(x.to_vector(), y.to_vector());
    Solver<double> elsewhere = std::move(outer);
    ASSERT_TRUE(elsewhere.solve(b, y).solved());
    EXPECT_EQ(x.to_vector(), y.to_vector());
    EXPECT_THROW(moved.set_preconditioner(moved), Error);
  }
}

TEST(Preconditioner, SolverDestroyed_ErrorExplains) {
  const Csr<double> A = convection_diffusion(6, 0).csr<double>();
  const std::vector<double> b(36, 1.0);
  std::vector<double> x(36);
  Cg<double> outer;
  {
    Jacobi<double> inner;
    inner.setup(A);
    outer.set_preconditioner(inner);
    ASSERT_TRUE(outer.setup(A).ready());
    ASSERT_TRUE(outer.solve(b, x).solved());
  }
  try {
    (void)outer.solve(b, x);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("does not exist any more"), std::string::npos) << error.what();
  }
  Jacobi<double> other;
  other.setup(A);
  outer.set_preconditioner(other);
  EXPECT_TRUE(outer.solve(b, x).solved());
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
