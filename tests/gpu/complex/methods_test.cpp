// SPDX-License-Identifier: BSD-3-Clause
// Methods for complex matrices on a GPU, compared with solutions in long double.
#include "gpu/gpu_fixture.hpp"
#include "scalars/complex_systems.hpp"

#include <echelon/domain_decomposition/schur_complement.hpp>

namespace echelon::test {
namespace {

using T = std::complex<double>;

class GpuComplexMethods : public GpuTest {
 protected:
  static constexpr double rtol = 1e-12;

  /// Solves op(A) x = b on the GPU, and compares x with the solution in long double.
  void expect_solves(const std::string& method, const Entries& entries, const Options& options = {},
                     bool is_dense = false, Operation operation = Operation::none) {
    SCOPED_TRACE(method + (is_dense ? ", dense" : ", sparse"));
    const Csr<T> A = sparse<T>(entries).to(gpu);
    const Dense<T> D = is_dense ? dense<T>(entries).to(gpu) : Dense<T>();
    Solver<T> solver = make_solver<T>(method, gpu, options);
    const Report setup = solver.setup(is_dense ? MatrixRef<T>(D.view()) : MatrixRef<T>(A));
    ASSERT_TRUE(setup.ready()) << setup.message;
    const Vector b = Random(7).vector(entries.rows);
    Dense<T> x(gpu, entries.rows, 1);
    const Report report = solver.solve(column<T>(b).to(gpu), x, {.operation = operation, .rtol = rtol});
    EXPECT_TRUE(report.solved()) << report.message;
    EXPECT_EQ(report.device, gpu);
    EXPECT_LT(report.relative_residual, 1e-11);
    EXPECT_LT(relative_error(x.to(Device()), solution(operate(operation, entries), b)), 1e-9);
  }
  /// The message of the error of making the method, or nothing.
  std::string refusal(const std::string& method, const Options& options = {}) const {
    try {
      static_cast<void>(make_solver<T>(method, gpu, options));
    } catch (const NotBuilt& error) {
      return error.what();
    }
    return {};
  }
};

TEST_F(GpuComplexMethods, HermitianSystems) {
  const Entries A = random_hermitian(200, 6, 1);
  for (const bool is_dense : {false, true}) {
    for (const char* const method : {"cg", "cr", "minres", "bicgstab", "gmres"}) {
      expect_solves(method, A, {}, is_dense);
      expect_solves(method, A, {{"preconditioner", "jacobi"}}, is_dense);
    }
    for (const char* const method : {"jacobi", "gauss-seidel", "sor", "ssor", "lu", "cholesky"})
      expect_solves(method, A, {}, is_dense);
  }
  for (const char* const preconditioner : {"ilu0", "ic0", "ssor"}) {
    expect_solves("cg", A, {{"preconditioner", preconditioner}});
    expect_solves("gmres", A, {{"preconditioner", preconditioner}});
  }
}

TEST_F(GpuComplexMethods, SymmetricSystems) {
  const Entries A = damped_helmholtz(13, 1.0, 0.5);
  for (const char* const method : {"cocg", "cocr", "gmres"}) {
    expect_solves(method, A);
    expect_solves(method, A, {{"preconditioner", "jacobi"}});
  }
  expect_solves("cocg", A, {{"preconditioner", "ssor"}});
  expect_solves("lu", A);
}

TEST_F(GpuComplexMethods, GeneralSystems) {
  Entries A = random_sparse(150, 5, 3);
  for (std::int64_t i = 0; i < A.rows; ++i) A(i, i) += Exact(8, 3);
  for (const char* const method : {"bicgstab", "gmres"}) {
    expect_solves(method, A);
    expect_solves(method, A, {{"preconditioner", "jacobi"}});
    expect_solves(method, A, {{"preconditioner", "ilu0"}});
  }
  for (const Operation operation : {Operation::none, Operation::transpose, Operation::adjoint}) {
    expect_solves("gmres", A, {{"restart", 20}}, false, operation);
    expect_solves("lu", A, {}, true, operation);
    expect_solves("cusolver-lu", A, {}, true, operation);
  }
}

/// Least squares, and solutions of least norm, with the x of the host.
TEST_F(GpuComplexMethods, Rectangles_AsOnTheHost) {
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{90, 30}, {30, 90}}) {
    const Csr<T> A = sparse<T>(random_entries(rows, columns, 71));
    const Csr<T> there = A.to(gpu);
    const Dense<T> b = column<T>(Random(72).vector(rows));
    for (const char* const method : {"lsmr", "lsqr", "cgls", "craig"}) {
      if (rows > columns && std::string(method) == "craig") continue;  // for consistent systems
      const auto solve_on = [&](const Csr<T>& matrix, const Device& device) {
        Solver<T> solver = make_solver<T>(method, device);
        EXPECT_TRUE(solver.setup(matrix).ready());
        Dense<T> x(device, columns, 1);
        const Report report = solver.solve(b.to(device), x, {.rtol = rtol, .least_squares = true});
        EXPECT_TRUE(report.solved()) << method << ": " << report.message;
        return x.to(Device());
      };
      Dense<T> difference = solve_on(there, gpu);
      const Dense<T> expected = solve_on(A, Device());
      axpy<T>(T{-1}, expected, difference);
      EXPECT_LT(norm2<T>(difference), 1e-8 * norm2<T>(expected)) << method;
    }
  }
}

TEST_F(GpuComplexMethods, Lu_AnyRegularMatrix_Solves) {
  for (const std::int64_t n : {1, 2, 31, 33, 257}) {
    Entries A = random_entries(n, n, 21);
    expect_solves("lu", A, {}, true);
    expect_solves("cusolver-lu", A, {}, true);
    for (std::int64_t j = 0; j < n; ++j) A(n / 2, j) *= 0x1p60L;
    for (std::int64_t i = 0; i < n; ++i) A(i, n / 3) *= 0x1p-40L;
    const Dense<T> D = dense<T>(A).to(gpu);
    Solver<T> solver = make_solver<T>("lu", gpu);
    ASSERT_TRUE(solver.setup(MatrixRef<T>(D.view())).ready());
    Dense<T> x(gpu, n, 1);
    const Vector b = Random(8).vector(n);
    const Report report = solver.solve(column<T>(b).to(gpu), x);
    EXPECT_EQ(report.status, Status::direct) << report.message;
    EXPECT_LT(relative_error(x.to(Device()), solution(A, b)), 1e-9) << n;
  }
}

TEST_F(GpuComplexMethods, Lu_SeveralColumnsAndFacts_AreThoseOfTheHost) {
  const Entries A = random_entries(65, 65, 22);
  const Dense<T> D = dense<T>(A);
  Solver<T> here = make_solver<T>("lu", Device());
  Solver<T> there = make_solver<T>("lu", gpu);
  const Dense<T> moved = D.to(gpu);
  const Report of_host = here.setup(MatrixRef<T>(D.view()));
  const Report of_gpu = there.setup(MatrixRef<T>(moved.view()));
  ASSERT_TRUE(of_gpu.ready());
  ASSERT_TRUE(of_host.reciprocal_condition && of_gpu.reciprocal_condition);
  EXPECT_NEAR(*of_gpu.reciprocal_condition / *of_host.reciprocal_condition, 1, 1e-6);
  const Determinant expected = here.determinant();
  const Determinant found = there.determinant();
  EXPECT_LT(std::abs(found.complex_value() / expected.complex_value() - 1.0), 1e-10);
  Dense<T> B(Device(), 65, 40);
  Random random(23);
  for (std::int64_t k = 0; k < 65 * 40; ++k) B[k] = rounded<T>(random());
  Dense<T> X(gpu, 65, 40);
  EXPECT_TRUE(there.solve(B.to(gpu), X).solved());
  Dense<T> residual = B;
  multiply<T>(T{-1}, MatrixRef<T>(D.view()), X.to(Device()), T{1}, residual);
  for (std::int64_t k = 0; k < 65 * 40; ++k) EXPECT_LT(std::abs(residual[k]), 1e-11);
}

TEST_F(GpuComplexMethods, DegenerateSystems) {
  const auto setup_of = [&](const std::string& method, const Dense<T>& A) {
    const Dense<T> there = A.to(gpu);
    Solver<T> solver = make_solver<T>(method, gpu);
    return solver.setup(MatrixRef<T>(there.view()));
  };
  EXPECT_TRUE(setup_of("lu", Dense<T>(Device(), 0, 0)).ready());
  EXPECT_EQ(setup_of("lu", dense<T>(Entries(3, 3))).status, Status::singular);
  Entries deficient = random_entries(20, 20, 24);
  for (std::int64_t j = 0; j < 20; ++j) deficient(4, j) = deficient(9, j);
  EXPECT_EQ(setup_of("lu", dense<T>(deficient)).status, Status::singular);
  Dense<T> bad = dense<T>(random_entries(4, 4, 25));
  bad(2, 1) = {0, std::numeric_limits<double>::infinity()};
  for (const char* const method : {"lu", "gmres"}) {
    const Report report = setup_of(method, bad);
    EXPECT_EQ(report.status, Status::not_a_number) << method;
    EXPECT_EQ(report.row, 2);
  }
  const Report no_diagonal = setup_of("jacobi", dense<T>(Entries(3, 3)));
  EXPECT_FALSE(no_diagonal.ready());
}

TEST_F(GpuComplexMethods, SchurComplements_AsOnTheHost) {
  const std::vector<std::int32_t> interface = {17, 3, 40, 8};
  for (const Entries& entries :
       {random_hermitian(60, 6, 1), damped_helmholtz(8, 1.3, 0.1), random_sparse(50, 5, 4)}) {
    const Csr<T> host = sparse<T>(entries);
    const Csr<T> A = host.to(gpu);
    const Dense<T> D = dense<T>(entries).to(gpu);
    const SchurComplement<T> expected = schur_complement(host, interface);
    ASSERT_TRUE(expected.ready()) << expected.report().message;
    const Vector b = Random(7).vector(entries.rows);
    const Vector x = solution(entries, b);
    for (const MatrixRef<T>& matrix : {MatrixRef<T>(A), MatrixRef<T>(D.view())}) {
      SCOPED_TRACE(matrix.is_sparse() ? "sparse" : "dense");
      const SchurComplement<T> schur(matrix, interface);
      ASSERT_TRUE(schur.ready()) << schur.report().message;
      EXPECT_EQ(schur.matrix().device(), gpu);
      const Dense<T> S = schur.matrix().to(Device());
      for (std::int64_t j = 0; j < S.columns(); ++j) {
        for (std::int64_t i = 0; i < S.rows(); ++i)
          EXPECT_LT(std::abs(S(i, j) - expected.matrix()(i, j)), 1e-11) << i << ", " << j;
      }
      Dense<T> X(gpu, entries.rows, 1);
      const Report report = schur.solve(column<T>(b).to(gpu), X);
      EXPECT_TRUE(report.solved()) << report.message;
      EXPECT_LT(relative_error(X.to(Device()), x), 1e-10);
    }
  }
}

TEST_F(GpuComplexMethods, NotHermitian_IsRefused) {
  const Csr<T> A = sparse<T>(damped_helmholtz(5, 1.0, 0.5)).to(gpu);
  for (const char* const method : {"cg", "cr", "minres"}) {
    Solver<T> solver = make_solver<T>(method, gpu);
    const Report report = solver.setup(A);
    EXPECT_FALSE(report.ready()) << method;
    EXPECT_NE(report.message.find("not Hermitian"), std::string::npos) << report.message;
  }
}

TEST_F(GpuComplexMethods, SeveralColumns_ConvergeLikeOne) {
  const Entries entries = random_hermitian(300, 6, 31);
  const Csr<T> A = sparse<T>(entries).to(gpu);
  Solver<T> solver = make_solver<T>("cg", gpu, {{"preconditioner", "jacobi"}});
  ASSERT_TRUE(solver.setup(A).ready());
  Dense<T> B(Device(), 300, 11);
  Random random(32);
  for (std::int64_t k = 0; k < 300 * 11; ++k) B[k] = rounded<T>(random());
  const Dense<T> b = B.to(gpu);
  Dense<T> X(gpu, 300, 11);
  ASSERT_TRUE(solver.solve(b, X, {.rtol = rtol}).solved());
  const Dense<T> together = X.to(Device());
  for (const std::int64_t c : {0, 10}) {
    Dense<T> x(gpu, 300, 1);
    const DenseView<const T> one(b.view().column(c), 300, 1, 300, gpu);
    ASSERT_TRUE(solver.solve(one, x, {.rtol = rtol}).solved());
    const Dense<T> alone = x.to(Device());
    for (std::int64_t i = 0; i < 300; ++i) EXPECT_EQ(alone[i], together(i, c));
  }
}

TEST_F(GpuComplexMethods, Cholesky_HermitianMatrices_AsOnTheHost) {
  const Entries entries = random_hermitian(65, 8, 61);
  for (const Operation operation : {Operation::none, Operation::transpose, Operation::adjoint})
    expect_solves("cholesky", entries, {}, true, operation);
  Dense<T> D = dense<T>(entries);
  for (std::int64_t k = 0; k < 65; ++k) {
    D(7, k) *= 0x1p-30;
    D(k, 7) *= 0x1p-30;
  }
  const Dense<T> there = D.to(gpu);
  Solver<T> of_gpu = make_solver<T>("cholesky", gpu);
  Solver<T> of_host = make_solver<T>("cholesky", Device());
  ASSERT_TRUE(of_gpu.setup(MatrixRef<T>(there.view())).ready());
  ASSERT_TRUE(of_host.setup(MatrixRef<T>(D.view())).ready());
  const Determinant expected = of_host.determinant();
  const Determinant found = of_gpu.determinant();
  EXPECT_EQ(found.exponent, expected.exponent);
  EXPECT_NEAR(found.mantissa / expected.mantissa, 1, 1e-10);
  D(3, 3) = T{-1};
  const Dense<T> indefinite = D.to(gpu);
  const Report report = of_gpu.setup(MatrixRef<T>(indefinite.view()));
  EXPECT_EQ(report.status, Status::not_spd);
  EXPECT_EQ(report.row, 3);
  D(3, 3) = T{1000};
  D(2, 3) += T{0, 1};
  const Dense<T> unsymmetric = D.to(gpu);
  EXPECT_NE(of_gpu.setup(MatrixRef<T>(unsymmetric.view())).message.find("not Hermitian"), std::string::npos);
}

/// A refused method names the devices that it has; a method for real matrices is refused as on the host.
TEST_F(GpuComplexMethods, OtherMethods_AreRefused) {
  for (const Method& method : methods()) {
    if (!method.complex || method.kind == MethodKind::preconditioner) continue;
    const std::string text = refusal(method.name);
    EXPECT_EQ(method.takes_complex_on(gpu), text.empty()) << method.name;
    if (text.empty()) continue;
    EXPECT_NE(text.find("on serial and openmp only, not on cuda"), std::string::npos) << text;
  }
  EXPECT_NE(refusal("lamg").find("real matrices"), std::string::npos);
}

TEST_F(GpuComplexMethods, Auto_TakesTheDeviceOfTheQuickerFactorization) {
  const Entries small = random_entries(60, 60, 41);
  const Vector b = Random(42).vector(60);
  const Solution<T> by_lu = echelon::solve<T>(sparse<T>(small), column<T>(b), {.device = gpu});
  EXPECT_TRUE(by_lu.report.solved()) << by_lu.report.message;
  EXPECT_EQ(by_lu.report.device, gpu);
  EXPECT_EQ(by_lu.report.method, "lu");
  EXPECT_LT(relative_error(by_lu.x, solution(small, b)), 1e-9);

  const Csr<T> sparse_matrix = sparse<T>(damped_helmholtz(13, 1.0, 0.5));
  std::vector<std::string> names;
  for (const Candidate& candidate : choose<T>(sparse_matrix, gpu)) {
    names.push_back(candidate.method);
    const bool factors = candidate.method.starts_with("sparse-");
    EXPECT_EQ(candidate.device.on_host(), factors) << candidate.method;  // a core factors a small matrix
    EXPECT_EQ(candidate.reason.find("on the host") != std::string::npos, factors) << candidate.reason;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"sparse-ldlt", "sparse-lu", "cocg", "gmres"}));
  const Solution<T> found =
      echelon::solve<T>(sparse_matrix, column<T>(Random(43).vector(169)), {.device = gpu});
  EXPECT_TRUE(found.report.solved()) << found.report.message;
}

TEST_F(GpuComplexMethods, Operators_AreIterated) {
  const Entries entries = random_hermitian(120, 4, 51);
  const Csr<T> A = sparse<T>(entries).to(gpu);
  Context context(gpu);
  const LinearOperator<T> product(
      120, 120,
      [&](const T* x, T* y) {
        multiply<T>(context, T{1}, A, {x, 120, 1, 120, gpu}, T{0}, {y, 120, 1, 120, gpu});
      },
      gpu);
  Solver<T> solver = make_solver<T>("cg", gpu);
  ASSERT_TRUE(solver.setup(product).ready());
  const Vector b = Random(52).vector(120);
  Dense<T> x(gpu, 120, 1);
  const Report report = solver.solve(column<T>(b).to(gpu), x, {.rtol = rtol});
  EXPECT_EQ(report.status, Status::converged) << report.message;
  EXPECT_LT(relative_error(x.to(Device()), solution(entries, b)), 1e-9);
}

}  // namespace
}  // namespace echelon::test
