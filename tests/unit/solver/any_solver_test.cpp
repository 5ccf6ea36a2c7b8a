// SPDX-License-Identifier: BSD-3-Clause
#include "support/dense/symmetric.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

namespace echelon {
namespace {

template <class T>
void expect_same_as_typed(Scalar scalar) {
  const Dense<T> A = test::positive_definite<T>(20, 1);
  const Dense<T> b = test::random_dense<T>(20, 2, 2);
  for (const char* method : {"lu", "cg", "sparse-cholesky"}) {
    for (const Operation operation : {Operation::none, Operation::transpose}) {
      AnySolver any(method, Device::openmp(2), scalar);
      Solver<T> typed = make_solver<T>(method, Device::openmp(2));
      EXPECT_EQ(any.scalar(), scalar);
      EXPECT_TRUE(any.analyze(MatrixRef<T>(A)).ready());
      EXPECT_TRUE(any.setup(MatrixRef<T>(A)).ready());
      EXPECT_TRUE(any.update_values(MatrixRef<T>(A)).ready());
      typed.setup(A);
      Dense<T> x(Device(), 20, 2);
      Dense<T> y(Device(), 20, 2);
      const Report report = any.solve(ConstDenseView<T>(b), x.view(), {.operation = operation});
      EXPECT_TRUE(report.solved()) << report.message;
      EXPECT_TRUE(typed.solve(b, y, {.operation = operation}).solved());
      EXPECT_EQ(x.to_vector(), y.to_vector()) << method;
      EXPECT_EQ(any.describe(), typed.describe());
      EXPECT_EQ(any.device().name(), typed.device().name());
      EXPECT_EQ(any.bytes(), typed.bytes());
    }
  }
}

TEST(AnySolver, SameAnswersAsTyped) {
  expect_same_as_typed<float>(Scalar::float32);
  expect_same_as_typed<double>(Scalar::float64);
}

TEST(AnySolver, Results_AreThoseOfTyped) {
  const Dense<float> A = test::positive_definite<float>(8, 3);
  Solver<float> typed = make_solver<float>("ldlt", Device());
  typed.setup(A);
  AnySolver any(make_solver<float>("ldlt", Device()));
  any.setup(MatrixRef<float>(A));
  EXPECT_EQ(any.determinant().log_abs(), typed.determinant().log_abs());
  EXPECT_EQ(any.inertia(), typed.inertia());
  EXPECT_EQ(std::get<MatrixFactors<float>>(any.factors()).diagonal, typed.factors().diagonal);
}

TEST(AnySolver, Analysis_ReportsProgressAndIsCancelled) {
  const Csr<double> A = generate::tridiagonal<double>(40, -1, 2.5, -1);
  AnySolver any("sparse-cholesky", Device(), Scalar::float64);
  int calls = 0;
  const Control control{.on_progress = [&](const Progress& progress) {
    EXPECT_EQ(progress.phase, SolverPhase::analysis);
    ++calls;
  }};
  EXPECT_TRUE(any.analyze(MatrixRef<double>(A), control).ready());
  EXPECT_GE(calls, 2);
  const std::atomic<bool> flag = true;
  EXPECT_EQ(any.analyze(MatrixRef<double>(A), {.cancel = &flag}).status, Status::cancelled);
}

TEST(AnySolver, ValuesAndPreconditioner_ThoseOfTyped) {
  const Csr<double> A = generate::tridiagonal<double>(40, -1, 2.5, -1);
  std::vector<double> values(A.values().data(), A.values().data() + A.nonzeros());
  for (double& value : values) value *= value < 0 ? 0.5 : 1;
  const Dense<double> b = test::random_dense<double>(40, 1, 2);
  AnySolver ilu("ilu0", Device(), Scalar::float64);
  AnySolver any("cg", Device(), Scalar::float64);
  Solver<double> typed_ilu = make_solver<double>("ilu0", Device());
  Solver<double> typed = make_solver<double>("cg", Device());
  ASSERT_TRUE(ilu.setup(MatrixRef<double>(A)).ready());
  ASSERT_TRUE(typed_ilu.setup(A).ready());
  any.set_preconditioner(ilu);
  typed.set_preconditioner(typed_ilu);
  ASSERT_TRUE(any.setup(MatrixRef<double>(A)).ready());
  ASSERT_TRUE(typed.setup(A).ready());
  ASSERT_TRUE(any.update_values(ConstSpan<double>(values)).ready());
  ASSERT_TRUE(typed.update_values(ConstSpan<double>(values)).ready());
  Dense<double> x(Device(), 40, 1);
  Dense<double> y(Device(), 40, 1);
  const Report report = any.solve(ConstDenseView<double>(b), x.view());
  EXPECT_EQ(report.iterations, typed.solve(b, y).iterations);
  EXPECT_EQ(x.to_vector(), y.to_vector());
  any.set_preconditioner(Preconditioner<double>([](const double* r, double* z) { std::copy_n(r, 40, z); }));
  EXPECT_NE(any.solve(ConstDenseView<double>(b), x.view()).iterations, report.iterations);
}

TEST(AnySolver, OtherScalarOfValuesOrPreconditioner_Refused) {
  AnySolver solver("cg", Device(), Scalar::float64);
  const std::vector<float> values(3);
  EXPECT_THROW(solver.update_values(ConstSpan<float>(values)), Error);
  EXPECT_THROW(solver.set_preconditioner(AnySolver("jacobi", Device(), Scalar::float32)), Error);
  EXPECT_THROW(solver.set_preconditioner(Preconditioner<float>([](const float*, float*) {})), Error);
}

TEST(AnySolver, Options_Checked) {
  EXPECT_EQ(AnySolver("gmres", Device(), Scalar::float64, {{"restart", 5}}).describe(), "gmres (restart=5)");
  EXPECT_THROW(AnySolver("gmers", Device(), Scalar::float64), BadOption);
  EXPECT_THROW(AnySolver("gmres", Device(), Scalar::float32, {{"restart", -5}}), BadOption);
}

TEST(AnySolver, OtherScalar_ErrorNamesBoth) {
  const Dense<float> A = test::positive_definite<float>(4, 1);
  AnySolver solver("lu", Device(), Scalar::float64);
  try {
    solver.setup(MatrixRef<float>(A));
    FAIL() << "accepted";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("A is of type float, the solver of type double"), std::string::npos) << text;
  }
}

TEST(Scalar, Words) {
  EXPECT_EQ(from_word<Scalar>("double"), Scalar::float64);
  EXPECT_EQ(to_string(Scalar::float32), "float");
  EXPECT_FALSE(from_word<Scalar>("half"));
  EXPECT_EQ(with_scalar(Scalar::float32, []<class T>() { return sizeof(T); }), sizeof(float));
}

}  // namespace
}  // namespace echelon
