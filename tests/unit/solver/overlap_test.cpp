// SPDX-License-Identifier: BSD-3-Clause
/// B and X in one memory.
#include "support/problems.hpp"

#include <gtest/gtest.h>

namespace echelon::test {
namespace {

std::vector<const Method*> solvers_on_the_host() {
  std::vector<const Method*> found;
  for (const Method& method : methods()) {
    if (method.serial && method.kind != MethodKind::preconditioner) found.push_back(&method);
  }
  return found;
}

constexpr std::int64_t n = 60;

template <class T>
Csr<T> matrix_for(const Method& method) {
  return system_for(method, n, 4, 5).csr<T>();
}

template <class T>
void expect_same_memory_is_solved() {
  const Dense<T> B = random_dense<T>(n, 3, 7);
  for (const Method* method : solvers_on_the_host()) {
    SCOPED_TRACE(method->name);
    const Csr<T> A = matrix_for<T>(*method);
    Solver<T> solver = make_solver<T>(method->name, Device::serial());
    ASSERT_TRUE(solver.setup(A).ready());
    Dense<T> X(Device(), n, 3);
    ASSERT_TRUE(solver.solve(B, X).solved());
    Dense<T> Y = B;
    const Report report = solver.solve(Y, Y);
    EXPECT_TRUE(report.solved()) << report.message;
    EXPECT_EQ(Y.to_vector(), X.to_vector());
    EXPECT_LT(assess(A, Y, B).relative_residual, (std::is_same_v<T, double> ? 1e-7 : 1e-4));
  }
}

TEST(Overlap, SameMemory_IsSolvedByEveryMethod) {
  expect_same_memory_is_solved<double>();
  expect_same_memory_is_solved<float>();
}

TEST(Overlap, SameMemoryInRows_IsSolvedByEveryMethod) {
  const Dense<double> B = random_dense<double>(n, 3, 7);
  for (const Method* method : solvers_on_the_host()) {
    SCOPED_TRACE(method->name);
    const Csr<double> A = matrix_for<double>(*method);
    Solver<double> solver = make_solver<double>(method->name, Device::serial());
    ASSERT_TRUE(solver.setup(A).ready());
    std::vector<double> memory(static_cast<std::size_t>(n) * 3);
    const DenseView<double> Y(memory.data(), n, 3, 3, Device(), Layout::row_major);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < 3; ++j) Y(i, j) = B(i, j);
    }
    EXPECT_TRUE(solver.solve(Y, Y).solved());
    Dense<double> X(Device(), n, 3);
    ASSERT_TRUE(solver.solve(B, X).solved());
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < 3; ++j) EXPECT_EQ(Y(i, j), X(i, j));
    }
  }
}

TEST(Overlap, PartOfTheMemory_IsRefusedByEveryMethod) {
  const std::vector<double> before = random_dense<double>(2 * n, 1, 7).to_vector();
  for (const Method* method : solvers_on_the_host()) {
    SCOPED_TRACE(method->name);
    const Csr<double> A = matrix_for<double>(*method);
    Solver<double> solver = make_solver<double>(method->name, Device::serial());
    ASSERT_TRUE(solver.setup(A).ready());
    std::vector<double> memory = before;
    const DenseView<const double> b(memory.data(), n, 1, n);
    for (const std::int64_t shift : {std::int64_t{1}, n / 2, n - 1}) {
      const DenseView<double> x(memory.data() + shift, n, 1, n);
      EXPECT_THROW((void)solver.solve(b, x), OverlappingOperands);
      EXPECT_EQ(memory, before);
    }
    const DenseView<double> after(memory.data() + n, n, 1, n);
    EXPECT_TRUE(solver.solve(b, after).solved());
  }
}

TEST(Overlap, InterleavedColumns_AreApart) {
  std::vector<double> memory = random_dense<double>(4 * n, 1, 7).to_vector();
  const DenseView<const double> B(memory.data(), n, 2, 2 * n);
  const DenseView<double> X(memory.data() + n, n, 2, 2 * n);
  const Csr<double> A = matrix_for<double>(find_method("cg"));
  Cg<double> cg;
  cg.setup(A);
  EXPECT_TRUE(cg.solve(B, X).solved());
}

TEST(Overlap, SolutionInADenseMatrix_IsRefused) {
  Dense<double> A = system_for(find_method("cg"), n, 4, 5).dense<double>();
  const Dense<double> b = random_dense<double>(A.rows(), 1, 7);
  Cg<double> cg;
  cg.setup(A);
  EXPECT_THROW((void)cg.solve(b, DenseView<double>(A.data(), A.rows(), 1, A.rows())), OverlappingOperands);
}

}  // namespace
}  // namespace echelon::test
