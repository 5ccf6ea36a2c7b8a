// SPDX-License-Identifier: BSD-3-Clause
/// Krylov methods for complex matrices.
#include "scalars/complex_systems.hpp"

namespace echelon::test {
namespace {

template <class T>
class ComplexKrylov : public ComplexSystems<T> {};
TYPED_TEST_SUITE(ComplexKrylov, ComplexTypes);

TYPED_TEST(ComplexKrylov, CgSolvesHermitianSystems) {
  using T = TypeParam;
  const std::vector<Entries> systems = {random_hermitian(1, 0, 1), random_hermitian(33, 32, 2),
                                        random_hermitian(100, 6, 3), magnetic_laplacian(9, 0.4)};
  for (const Device& device : this->devices) {
    for (const Entries& entries : systems) {
      const Csr<T> A = sparse<T>(entries);
      const Dense<T> D = dense<T>(entries);
      const auto options = std::vector<Options>{
          {}, {{"preconditioner", "jacobi"}}, {{"preconditioner", "jacobi"}, {"flexible", "true"}}};
      for (const Options& of_cg : options) {
        SCOPED_TRACE(device.name() + ", order " + std::to_string(entries.rows));
        Solver<T> cg = this->make("cg", device, of_cg);
        this->expect_solves(cg, A, entries);
        this->expect_solves(cg, MatrixRef<T>(D.view()), entries);
      }
    }
  }
}

TYPED_TEST(ComplexKrylov, Cg_TransposeAndAdjoint_AreSolved) {
  using T = TypeParam;
  const Entries entries = magnetic_laplacian(9, 0.7);
  const Csr<T> A = sparse<T>(entries);
  for (const Operation operation : {Operation::transpose, Operation::adjoint}) {
    Solver<T> cg = this->make("cg", Device::openmp(2));
    this->expect_solves(cg, A, entries, operation);
  }
}

TYPED_TEST(ComplexKrylov, SeveralColumnsAndGuessesConverge) {
  using T = TypeParam;
  const Entries entries = magnetic_laplacian(10, 0.3);
  const Csr<T> A = sparse<T>(entries);
  constexpr std::int64_t columns = 5;
  Dense<T> B(Device(), A.rows(), columns);
  Dense<T> X(Device(), A.rows(), columns);
  std::vector<Vector> rhs;
  Random random(11);
  for (std::int64_t j = 0; j < columns; ++j) {
    rhs.push_back(random.vector(A.rows()));
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      B(i, j) = rounded<T>(rhs.back()[static_cast<std::size_t>(i)]);
      X(i, j) = rounded<T>(random());
    }
  }
  Solver<T> cg = this->make("cg", Device::openmp(2), {{"preconditioner", "jacobi"}});
  ASSERT_TRUE(cg.setup(A).ready());
  const Report report = cg.solve(B, X, {.use_initial_guess = true, .rtol = this->rtol});
  EXPECT_EQ(report.status, Status::converged) << report.message;
  for (std::int64_t j = 0; j < columns; ++j) {
    const Vector expected = solution(entries, rhs[static_cast<std::size_t>(j)]);
    EXPECT_LT(relative_error(X.view().column(j), expected), this->largest_error);
  }
}

TYPED_TEST(ComplexKrylov, OperatorsAndUserPreconditionersWork) {
  using T = TypeParam;
  const Entries entries = magnetic_laplacian(8, 0.5);
  const Csr<T> A = sparse<T>(entries);
  const LinearOperator<T> op(A.rows(), A.columns(), [&](const T* x, T* y) {
    multiply<T>(T{1}, A, {x, A.columns(), 1, A.columns()}, T{0}, {y, A.rows(), 1, A.rows()});
  });
  Solver<T> cg = this->make("cg", Device::serial());
  cg.set_preconditioner(Preconditioner<T>(
      [&](const T* r, T* z) { std::transform(r, r + A.rows(), z, [](T value) { return value / T{4}; }); }));
  this->expect_solves(cg, op, entries);
}

TYPED_TEST(ComplexKrylov, SystemsFarFromOne_Converge) {
  using T = TypeParam;
  const int exponent = std::is_same_v<Real<T>, double> ? -700 : -90;
  const Entries entries = magnetic_laplacian(6, 0.2);
  const Csr<T> A = sparse<T>(entries);
  const Vector b = Random(5).vector(A.rows());
  Vector small = b;
  for (Exact& element : small)
    element = {std::ldexp(element.real(), exponent), std::ldexp(element.imag(), exponent)};
  Solver<T> cg = this->make("cg", Device::serial());
  ASSERT_TRUE(cg.setup(A).ready());
  Dense<T> x(Device(), A.rows(), 1);
  EXPECT_EQ(this->solve(cg, small, x).status, Status::converged);
  EXPECT_LT(relative_error(x, solution(entries, small)), this->largest_error);
}

TYPED_TEST(ComplexKrylov, KrylovMethodsSolveTheirSystems) {
  using T = TypeParam;
  Entries dominant = random_hermitian(90, 8, 51);
  for (std::int64_t i = 0; i < 90; ++i) {  // neither Hermitian nor with a real diagonal
    dominant(i, i) *= 2.0L * Exact(0.6L, 0.8L);
    dominant(i, (i + 1) % 90) *= Exact(0, 1);
  }
  Entries indefinite = random_hermitian(80, 6, 52);
  for (std::int64_t i = 0; i < 80; i += 3) indefinite(i, i) = -indefinite(i, i);
  const Entries symmetric = damped_helmholtz(9, 1.5, 0.5);
  struct Case {
    const char* method;
    const Entries& entries;
    bool takes_jacobi;
  };
  const Case cases[] = {{"gmres", dominant, true},
                        {"gmres", indefinite, true},
                        {"gmres", symmetric, true},
                        {"bicgstab", dominant, true},
                        {"bicgstab", symmetric, true},
                        {"minres", indefinite, false},
                        {"minres", random_hermitian(60, 6, 53), true},
                        {"cr", random_hermitian(60, 6, 54), true},
                        {"cocg", symmetric, true},
                        {"cocr", symmetric, true}};
  for (const Device& device : this->devices) {
    for (const Case& c : cases) {
      for (const bool jacobi : {false, true}) {
        if (jacobi && !c.takes_jacobi) continue;
        SCOPED_TRACE(device.name() + " " + c.method + (jacobi ? " with jacobi" : ""));
        Solver<T> solver =
            this->make(c.method, device, jacobi ? Options({{"preconditioner", "jacobi"}}) : Options());
        const Csr<T> A = sparse<T>(c.entries);
        this->expect_solves(solver, A, c.entries);
      }
    }
  }
}

TYPED_TEST(ComplexKrylov, Gmres_Restarted_Converges) {
  using T = TypeParam;
  const Entries entries = damped_helmholtz(10, 0.5, 0.3);
  const Csr<T> A = sparse<T>(entries);
  for (const char* flexible : {"false", "true"}) {
    Solver<T> gmres = this->make("gmres", Device::openmp(2),
                                 {{"restart", 12}, {"preconditioner", "jacobi"}, {"flexible", flexible}});
    this->expect_solves(gmres, A, entries);
  }
}

TYPED_TEST(ComplexKrylov, SparseLu_AsPreconditioner_NeedsOneStep) {
  using T = TypeParam;
  const Entries entries = damped_helmholtz(10, 3.0, 0.1);
  const Csr<T> A = sparse<T>(entries);
  Solver<T> gmres = this->make("gmres", Device::serial(), {{"preconditioner", "sparse-lu"}});
  ASSERT_TRUE(gmres.setup(A).ready());
  Dense<T> x(Device(), 100, 1);
  const Report report = this->solve(gmres, Random(1).vector(100), x);
  EXPECT_TRUE(report.solved()) << report.message;
  EXPECT_LE(report.iterations, 3);
}

TYPED_TEST(ComplexKrylov, Cg_NotHermitian_Refused) {
  using T = TypeParam;
  Entries imaginary_diagonal = magnetic_laplacian(6, 0.2);
  imaginary_diagonal(8, 8) += Exact(0, 0.5L);
  const Entries symmetric = magnetic_laplacian(6, 0.4, false);
  for (const char* method : {"cg", "cr", "minres"}) {
    Solver<T> solver = this->make(method, Device::serial());
    const Csr<T> A = sparse<T>(imaginary_diagonal);
    const Report report = solver.setup(A);
    EXPECT_EQ(report.status, method == std::string("minres") ? Status::breakdown : Status::not_spd);
    EXPECT_EQ(report.row, 8);
    EXPECT_NE(report.message.find("not Hermitian"), std::string::npos) << report.message;
    const Dense<T> S = dense<T>(symmetric);
    const char* const other = method == std::string("cr") ? "cocr" : "cocg";
    EXPECT_NE(solver.setup(S.view()).message.find(other), std::string::npos);
  }
}

TYPED_TEST(ComplexKrylov, Cg_OperatorThatIsNotHermitian_IsNotSolved) {
  using T = TypeParam;
  const Csr<T> A = sparse<T>(magnetic_laplacian(6, 0.4, false));
  const LinearOperator<T> op(36, 36, [&](const T* x, T* y) {
    multiply<T>(T{1}, A, {x, 36, 1, 36}, T{0}, {y, 36, 1, 36});
  });
  Solver<T> cg = this->make("cg", Device::serial());
  ASSERT_TRUE(cg.setup(op).ready());
  Dense<T> x(Device(), 36, 1);
  const Report report = this->solve(cg, Random(3).vector(36), x);
  EXPECT_EQ(report.status, Status::not_spd) << report.message;
}

TYPED_TEST(ComplexKrylov, SymmetricRecurrences_WhereTheProductVanishes_BreakDown) {
  using T = TypeParam;
  const Csr<T> of_cocg = Csr<T>::from_triplets(2, 2, {{0, 0, T{1, 0}}, {1, 1, T{2, 0}}});
  const Csr<T> of_cocr = Csr<T>::from_triplets(2, 2, {{0, 0, T{2, 0}}, {1, 1, T{2, 0}}});
  for (const char* preconditioner : {"none", "jacobi"}) {
    for (const char* method : {"cocg", "cocr"}) {
      const bool is_cocg = method == std::string("cocg");
      if (is_cocg && preconditioner == std::string("jacobi")) continue;
      Solver<T> solver = this->make(method, Device::serial(), {{"preconditioner", preconditioner}});
      ASSERT_TRUE(solver.setup(is_cocg ? of_cocg : of_cocr).ready());
      Dense<T> x(Device(), 2, 1);
      const Report report = this->solve(solver, {Exact(1, 0), Exact(0, 1)}, x);  // r^T r = 1 + i^2
      EXPECT_EQ(report.status, Status::breakdown) << method << ": " << report.message;
    }
  }
}

TYPED_TEST(ComplexKrylov, SymmetricRecurrences_SeveralColumns_Converge) {
  using T = TypeParam;
  const Entries entries = damped_helmholtz(9, 1.5, 0.5);
  const Csr<T> A = sparse<T>(entries);
  for (const char* method : {"cocg", "cocr"}) {
    Solver<T> solver = this->make(method, Device::openmp(2), {{"preconditioner", "jacobi"}});
    ASSERT_TRUE(solver.setup(A).ready());
    Dense<T> X(Device(), 81, 3);
    const std::vector<Vector> b = random_vectors(81, 3);
    ASSERT_TRUE(solver.solve(matrix_of<T>(b), X, {.rtol = this->rtol}).solved());
    for (std::int64_t c = 0; c < 3; ++c) {
      const Vector exact = solution(entries, b[static_cast<std::size_t>(c)]);
      EXPECT_LT(relative_error(X.view().column(c), exact), this->largest_error) << method;
    }
  }
}

}  // namespace
}  // namespace echelon::test
