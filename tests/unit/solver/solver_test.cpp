// SPDX-License-Identifier: BSD-3-Clause
/// Promises of the Solver around every method: phases, checks, measured reports, control.
#include "solver/implementation.hpp"
#include "support/problems.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <variant>
#include <vector>

namespace echelon::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// A solve whose text is in the exception that it causes.
template <class Exception, class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Exception& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

/// The text of the exception that making the method throws; empty if there is none.
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(Method, CheckOptions_RefusesWhatMakingASolverRefuses) {
  const std::vector<Options> cases = {{},
                                      {{"no_such_option", 1}},
                                      {{"rtol", 2.0}},
                                      {{"rtol", 0.5}},
                                      {{"preconditioner", "jacobi"}},
                                      {{"preconditioner", "jacobi"}, {"preconditioner.weight", 0.5}},
                                      {{"preconditioner", "jacobi"}, {"preconditioner.weight", 5.0}},
                                      {{"preconditioner", "jacobi"}, {"preconditioner.wieght", 0.5}},
                                      {{"preconditioner", "none"}, {"preconditioner.weight", 0.5}},
                                      {{"preconditioner.weight", 0.5}},
                                      {{"preconditioner", "jacbi"}},
                                      {{"preconditioner", "cusolver-lu"}},
                                      {{"preconditioner", "cg"}}};
  int refused = 0;
  for (const Method& method : methods()) {
    for (const Options& options : cases) {
      const std::string expected = error_of([&] { static_cast<void>(method.maker<double>()({}, options)); });
      EXPECT_EQ(error_of([&] { method.check_options(Device(), options); }), expected) << method.name;
      refused += expected.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(refused, static_cast<int>(methods().size()));
}

TEST(Solver, NoSetup_SolveThrows) {
  const Solver<double> solver = make_solver<double>("cg", Device());
  std::vector<double> b(3);
  std::vector<double> x(3);
  EXPECT_THROW((void)solver.solve(b, x), Error);
}

TEST(Solver, WrongShapes_AreNamed) {
  const Csr<double> A = poisson(3);
  const Csr<double> wide = Csr<double>::from_triplets(2, 3, {});
  Cg<double> solver;
  EXPECT_NE(message_of<DimensionMismatch>([&] { solver.setup(wide); }).find("2 by 3"), std::string::npos);
  solver.setup(A);
  std::vector<double> b(8);
  std::vector<double> x(9);
  const std::string text = message_of<DimensionMismatch>([&] { (void)solver.solve(b, x); });
  EXPECT_NE(text.find("9 by 9"), std::string::npos) << text;
  EXPECT_NE(text.find("8 by 1"), std::string::npos) << text;
}

TEST(Solver, SquareMethods_RejectRectangular) {
  const std::vector<double> elements = {1, 0, 0, 1, 2, 3};
  const Dense<double> wide(2, 3, Array<double>(Device(), std::span<const double>(elements)));
  for (const Method& method : methods()) {
    const Device device = method.serial ? Device::serial() : Device::cuda();
    if (!device.on_host() && cuda_device_count() == 0) continue;
    Solver<double> solver = make_solver<double>(method.name, device);
    const Dense<double> there = wide.to(device);
    if (method.needs == MethodNeeds::any_shape) {
      const Report report = solver.setup(there);
      EXPECT_TRUE(report.ready() || report.status == Status::underdetermined) << method.name;
    } else {
      const std::string text = message_of<DimensionMismatch>([&] { solver.setup(there); });
      EXPECT_NE(text.find("2 by 3"), std::string::npos) << text;
      EXPECT_NE(text.find(method.name), std::string::npos) << text;
    }
  }
}

TEST(Solver, NaNInMatrix_IsFoundInSetup) {
  Csr<double> A = poisson(3);
  A.values()[5] = nan;
  A.values()[9] = infinity;
  const std::int32_t column = A.column_indices()[5];
  for (const char* method : {"cg", "gmres", "bicgstab", "jacobi", "lapack-lu"}) {
    Solver<double> solver = make_solver<double>(method, Device::serial());
    const Report report = solver.setup(A);
    EXPECT_EQ(report.status, Status::not_a_number);
    EXPECT_EQ(report.row, 1);
    EXPECT_EQ(report.column, column);
    const std::vector<double> b(9, 1.0);
    std::vector<double> x(9, 5.0);
    EXPECT_EQ(solver.solve(b, x).status, Status::not_a_number);
    EXPECT_EQ(x, std::vector<double>(9, 5.0)) << "X is left alone";
  }
}

TEST(Solver, NaNInRhs_PlaceIsReported) {
  const Csr<double> A = poisson(3);
  Dense<double> B = random_dense<double>(9, 2, 1);
  B(4, 1) = -infinity;
  Dense<double> X(Device(), 9, 2);
  Cg<double> solver;
  solver.setup(A);
  const Report report = solver.solve(B, X);
  EXPECT_EQ(report.status, Status::not_a_number);
  EXPECT_EQ(report.row, 4);
  EXPECT_EQ(report.column, 1);
}

TEST(Solver, EmptySystem_IsSolved) {
  const Csr<double> A;
  const Dense<double> B(Device(), 0, 1);
  Dense<double> X(Device(), 0, 1);
  for (const char* method : {"cg", "gmres", "bicgstab", "jacobi", "lapack-lu"}) {
    Solver<double> solver = make_solver<double>(method, Device());
    solver.setup(A);
    EXPECT_TRUE(solver.solve(B, X).solved()) << method;
  }
}

TEST(Solver, NoRightHandSide_IsSolved) {
  const Csr<double> A = poisson(3);
  const Dense<double> B(Device(), 9, 0);
  Dense<double> X(Device(), 9, 0);
  for (const char* method : {"cg", "lapack-lu"}) {
    Solver<double> solver = make_solver<double>(method, Device());
    solver.setup(A);
    EXPECT_TRUE(solver.solve(B, X).solved()) << method;
  }
}

TEST(Solver, ZeroRightHandSide_GivesZero) {
  const Csr<double> A = poisson(5);
  const std::vector<double> b(25, 0.0);
  for (const char* method : {"cg", "gmres", "bicgstab", "jacobi", "lapack-lu"}) {
    std::vector<double> x(25, 3.0);
    Solver<double> solver = make_solver<double>(method, Device());
    solver.setup(A);
    const Report report = solver.solve(b, x);
    EXPECT_TRUE(report.solved()) << method;
    EXPECT_EQ(report.residual_norm, 0);
    EXPECT_EQ(x, std::vector<double>(25, 0.0)) << method;
  }
}

TEST(Solver, Setup_ReportsReady) {
  for (const Method& method : methods()) {
    if (!method.serial) continue;
    const Csr<double> A = system_for(method, 30, 3, 5).csr<double>();
    Solver<double> solver = make_solver<double>(method.name, Device::serial());
    EXPECT_EQ(solver.analyze(A).status, Status::ready) << method.name;
    const Report report = solver.setup(A);
    EXPECT_EQ(report.status, Status::ready) << method.name;
    EXPECT_TRUE(report.ready());
    EXPECT_FALSE(report.solved()) << "nothing has been solved yet";
    EXPECT_TRUE(solver.update_values(A).ready());
  }
}

template <class M>
concept SetsUpTemporary = requires(Cg<double> cg, M matrix) {
  cg.setup(std::move(matrix));
};
template <class M>
concept SetsUpNamed = requires(Cg<double> cg, M matrix) {
  cg.setup(matrix);
  cg.factor(matrix);
};

TEST(Solver, TemporaryMatrix_DoesNotCompile) {
  static_assert(SetsUpNamed<Csr<double>> && !SetsUpTemporary<Csr<double>>);
  static_assert(SetsUpNamed<Dense<double>> && !SetsUpTemporary<Dense<double>>);
  static_assert(SetsUpNamed<Matrix<double>> && !SetsUpTemporary<Matrix<double>>);
  static_assert(SetsUpNamed<CsrView<double>> && !SetsUpTemporary<CsrView<double>>);
  static_assert(SetsUpNamed<LinearOperator<double>> && !SetsUpTemporary<LinearOperator<double>>);
  static_assert(SetsUpTemporary<DenseView<const double>> && SetsUpTemporary<MatrixRef<double>>);
}

TEST(Solver, NothingComputed_ReportsTheResidualOfZero) {
  const Csr<double> A = Csr<double>::from_triplets(2, 2, {{0, 1, 1.0}, {1, 0, 1.0}});
  Cg<double> cg({}, {.preconditioner = "ilu0"});
  EXPECT_EQ(cg.setup(A).status, Status::breakdown);
  const std::vector<double> b = {1, 1};
  std::vector<double> x = {5, 6};
  const Report report = cg.solve(b, x);
  EXPECT_EQ(report.status, Status::breakdown);
  EXPECT_TRUE(report.columns.empty());
  EXPECT_EQ(report.relative_residual, 1);
  EXPECT_EQ(report.backward_error, 1);
  EXPECT_EQ(x, (std::vector<double>{5, 6}));
}

TEST(Solver, ConcurrentSolves_AreCorrect) {
  const Csr<double> A = poisson(25);
  for (const char* method : {"cg", "gmres", "lapack-lu"}) {
    const Options options =
        std::string(method) == "lapack-lu" ? Options{} : Options{{"preconditioner", "ilu0"}};
    Solver<double> solver = make_solver<double>(method, Device::serial(), options);
    ASSERT_TRUE(solver.setup(A).ready());
    std::vector<std::thread> threads;
    std::vector<std::vector<double>> answers(8);
    for (unsigned t = 0; t < answers.size(); ++t) {
      threads.emplace_back([&, t] {
        const Dense<double> b = random_dense<double>(625, 1, t % 2);
        Dense<double> x(Device(), 625, 1);
        EXPECT_TRUE(solver.solve(b, x).solved());
        answers[t] = x.to_vector();
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (unsigned t = 2; t < answers.size(); ++t) EXPECT_EQ(answers[t], answers[t % 2]) << method;
  }
}

TEST(Solver, RowMajorViews_AreSolved) {
  const Csr<double> A = poisson(6);
  const Dense<double> b = random_dense<double>(36, 3, 1);
  std::vector<double> rows(36 * 4, 0.0);
  std::vector<double> out(36 * 5, -1.0);
  for (std::int64_t i = 0; i < 36; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) rows[static_cast<std::size_t>(i * 4 + j)] = b(i, j);
  }
  Dense<double> expected(Device(), 36, 3);
  LapackLu<double> solver;
  solver.factor(A);
  ASSERT_TRUE(solver.solve(b, expected).solved());
  const Report report = solver.solve(DenseView<const double>(rows.data(), 36, 3, 4, {}, Layout::row_major),
                                     DenseView<double>(out.data(), 36, 3, 5, {}, Layout::row_major));
  ASSERT_TRUE(report.solved());
  for (std::int64_t i = 0; i < 36; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) {
      EXPECT_EQ(out[static_cast<std::size_t>(i * 5 + j)], expected(i, j));
    }
    EXPECT_EQ(out[static_cast<std::size_t>(i * 5 + 3)], -1) << "the gap between rows is not touched";
  }
}

TEST(Solver, UpdateValues_UsesNewValues) {
  Csr<double> A = poisson(10);
  const Dense<double> b = random_dense<double>(100, 1, 1);
  Dense<double> x(Device(), 100, 1);
  for (const char* method : {"cg", "gmres", "lapack-lu"}) {
    const Options options = std::string(method) == "gmres" ? Options{{"preconditioner", "ilu0"}} : Options{};
    Solver<double> solver = make_solver<double>(method, Device(), options);
    solver.setup(A);
    for (double& value : A.values().span()) value *= 2;
    ASSERT_TRUE(solver.update_values(A).ready());
    ASSERT_TRUE(solver.solve(b, x).solved());
    EXPECT_LT(assess(A, x, b).relative_residual, 1e-7) << method;
  }
}

TEST(Solver, OutOfMemory_Throws_SolverStaysUsable) {
  const Csr<double> huge = diagonal(4'000'000).csr<double>();  // dense: 116 TiB
  const Csr<double> small = poisson(5);
  const Dense<double> b = random_dense<double>(25, 1, 1);
  Dense<double> x(Device(), 25, 1);
  LapackLu<double> solver;
  solver.factor(small);
  try {
    solver.factor(huge);
    FAIL() << "factored";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.asked(), std::size_t{4'000'000} * 4'000'000 * sizeof(double));
    EXPECT_GT(error.available(), 0U);
    EXPECT_LT(error.available(), error.asked());
  }
  EXPECT_THROW((void)solver.solve(b, x), Error) << "there is no factor any more";
  solver.factor(small);
  EXPECT_TRUE(solver.solve(b, x).solved());
}

}  // namespace
}  // namespace echelon::test
