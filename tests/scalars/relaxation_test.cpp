// SPDX-License-Identifier: BSD-3-Clause
/// Relaxation and incomplete factorisations of complex matrices.
#include "scalars/complex_systems.hpp"

namespace echelon::test {
namespace {

template <class T>
class ComplexRelaxation : public ComplexSystems<T> {};
TYPED_TEST_SUITE(ComplexRelaxation, ComplexTypes);

TYPED_TEST(ComplexRelaxation, JacobiSolvesDominantSystems) {
  using T = TypeParam;
  Entries entries = random_hermitian(60, 8, 4);
  for (std::int64_t i = 0; i < 60; ++i) {  // neither Hermitian nor with a real diagonal
    entries(i, i) *= 2.0L * Exact(0.6L, 0.8L);
    entries(i, (i + 1) % 60) *= Exact(0, 1);
  }
  const Csr<T> A = sparse<T>(entries);
  const Dense<T> D = dense<T>(entries);
  for (const Device& device : this->devices) {
    for (const char* variant : {"point", "l1"}) {
      for (const Operation operation : {Operation::none, Operation::transpose, Operation::adjoint}) {
        SCOPED_TRACE(device.name() + " " + variant);
        const bool is_point = variant == std::string("point");
        Solver<T> jacobi = this->make("jacobi", device, is_point ? Options() : Options({{"variant", "l1"}}));
        this->expect_solves(jacobi, A, entries, operation);
        this->expect_solves(jacobi, MatrixRef<T>(D.view()), entries, operation);
      }
    }
  }
}

TYPED_TEST(ComplexRelaxation, Jacobi_WithoutADiagonal_BreaksDown) {
  using T = TypeParam;
  const Csr<T> A = Csr<T>::from_triplets(2, 2, {{0, 0, T{0, 1}}, {1, 0, T{1, 0}}});
  Solver<T> jacobi = this->make("jacobi", Device::serial());
  const Report report = jacobi.setup(A);
  EXPECT_EQ(report.status, Status::breakdown);
  EXPECT_EQ(report.row, 1);
}

/// Neither Hermitian nor with a real diagonal; diagonally dominant.
Entries dominant(std::int64_t n, unsigned seed) {
  Entries entries = random_hermitian(n, 8, seed);
  for (std::int64_t i = 0; i < n; ++i) {
    entries(i, i) *= 2.0L * Exact(0.6L, 0.8L);
    entries(i, (i + 1) % n) *= Exact(0, 1);
  }
  return entries;
}

/// Diagonals of random elements, and on the main one numbers of magnitude 4; Hermitian or not.
Entries tridiagonal(std::int64_t n, bool hermitian, unsigned seed) {
  Random random(seed);
  Entries A(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    A(i, i) = hermitian ? Exact(4) : Exact(0, 4);
    if (i == 0) continue;
    A(i, i - 1) = random();
    A(i - 1, i) = hermitian ? std::conj(A(i, i - 1)) : random();
  }
  return A;
}

/// x after a forward (or backward) sweep of successive over-relaxation.
void relax(const Entries& A, const Vector& b, long double omega, bool backward, Vector& x) {
  for (std::int64_t step = 0; step < A.rows; ++step) {
    const std::int64_t i = backward ? A.rows - 1 - step : step;
    const auto at = static_cast<std::size_t>(i);
    Exact rest = b[at];
    for (std::int64_t j = 0; j < A.rows; ++j) rest -= i == j ? 0 : A(i, j) * x[static_cast<std::size_t>(j)];
    x[at] = (1 - omega) * x[at] + omega * rest / A(i, i);
  }
}

TYPED_TEST(ComplexRelaxation, ASweep_HasTheIterateOfItsDefinition) {
  using T = TypeParam;
  const Entries entries = dominant(90, 12);  // with rows of more elements than are summed in one chain
  Entries full = random_entries(70, 70, 13);
  for (std::int64_t i = 0; i < 70; ++i) full(i, i) += Exact(60, 80);
  for (const Entries& A : {entries, full}) {
    const Csr<T> matrix = sparse<T>(A);
    const Vector b = Random(7).vector(A.rows);
    for (const Device& device : this->devices) {
      for (const char* kind : {"forward", "backward", "symmetric"}) {
        Vector expected(b.size());
        if (kind != std::string("backward")) relax(A, b, 1, false, expected);
        if (kind != std::string("forward")) relax(A, b, 1, true, expected);
        Solver<T> solver = this->make("gauss-seidel", device, {{"sweep", kind}});
        ASSERT_TRUE(solver.setup(matrix).ready());
        Dense<T> x(Device(), A.rows, 1);
        const Report report = solver.solve(column<T>(b), x, {.max_iterations = 1});
        EXPECT_EQ(report.iterations, 1);
        EXPECT_LT(relative_error(x, expected), 20 * epsilon<T>) << kind;
      }
      Vector expected(b.size());
      relax(A, b, 1.25L, false, expected);
      Solver<T> sor = this->make("sor", device, {{"omega", 1.25}});
      ASSERT_TRUE(sor.setup(matrix).ready());
      Dense<T> x(Device(), A.rows, 1);
      static_cast<void>(sor.solve(column<T>(b), x, {.max_iterations = 1}));
      EXPECT_LT(relative_error(x, expected), 20 * epsilon<T>);
    }
  }
}

TYPED_TEST(ComplexRelaxation, SweepsSolveDominantSystems) {
  using T = TypeParam;
  const Entries entries = dominant(60, 14);
  const Csr<T> A = sparse<T>(entries);
  for (const Device& device : this->devices) {
    for (const char* method : {"gauss-seidel", "sor", "ssor"}) {
      for (const Operation operation : {Operation::none, Operation::transpose, Operation::adjoint}) {
        SCOPED_TRACE(device.name() + " " + method);
        Solver<T> solver = this->make(method, device);
        this->expect_solves(solver, A, entries, operation);
      }
    }
  }
}

TYPED_TEST(ComplexRelaxation, IncompleteFactors_WithoutFill_AreExact) {
  using T = TypeParam;
  for (const Device& device : this->devices) {
    for (const bool hermitian : {false, true}) {
      const Entries entries = tridiagonal(75, hermitian, 21);
      const Csr<T> A = sparse<T>(entries);
      for (const char* method : {"ilu0", "ic0"}) {
        if (!hermitian && method == std::string("ic0")) continue;
        Solver<T> solver = this->make(method, device);
        ASSERT_TRUE(solver.setup(A).ready());
        const Vector b = Random(7).vector(75);
        Dense<T> x(Device(), 75, 1);
        static_cast<void>(solver.solve(column<T>(b), x));
        EXPECT_LT(relative_error(x, solution(entries, b)), 50 * epsilon<T>) << method;
      }
    }
  }
}

TYPED_TEST(ComplexRelaxation, Preconditioners_SaveIterations) {
  using T = TypeParam;
  const Entries hermitian = magnetic_laplacian(12, 0.4);
  const Entries symmetric = damped_helmholtz(12, 0.8, 0.3);
  struct Case {
    const char* method;
    const char* preconditioner;
    const Entries& entries;
  };
  const Case cases[] = {{"cg", "ic0", hermitian},     {"cg", "ssor", hermitian},
                        {"cr", "ic0", hermitian},     {"minres", "ic0", hermitian},
                        {"gmres", "ilu0", symmetric}, {"bicgstab", "ilu0", symmetric},
                        {"cocg", "ssor", symmetric},  {"cocr", "ssor", symmetric}};
  for (const Device& device : this->devices) {
    for (const Case& c : cases) {
      SCOPED_TRACE(device.name() + " " + c.method + " with " + c.preconditioner);
      const Csr<T> A = sparse<T>(c.entries);
      const Vector b = Random(7).vector(c.entries.rows);
      std::int64_t iterations[2];
      for (const bool preconditioned : {false, true}) {
        Solver<T> solver = this->make(
            c.method, device, preconditioned ? Options({{"preconditioner", c.preconditioner}}) : Options());
        ASSERT_TRUE(solver.setup(A).ready());
        Dense<T> x(Device(), c.entries.rows, 1);
        const Report report = this->solve(solver, b, x);
        EXPECT_EQ(report.status, Status::converged) << report.message;
        EXPECT_LT(relative_error(x, solution(c.entries, b)), this->largest_error);
        iterations[preconditioned ? 1 : 0] = report.iterations;
      }
      EXPECT_LT(iterations[1], iterations[0]);
    }
  }
}

TYPED_TEST(ComplexRelaxation, Ic0_NotHermitian_NamesTheElement) {
  using T = TypeParam;
  Entries imaginary_diagonal = magnetic_laplacian(6, 0.2);
  imaginary_diagonal(8, 8) += Exact(0, 0.5L);
  Solver<T> ic0 = this->make("ic0", Device::serial());
  const Csr<T> first = sparse<T>(imaginary_diagonal);
  const Report of_diagonal = ic0.setup(first);
  EXPECT_EQ(of_diagonal.status, Status::not_spd);
  EXPECT_EQ(of_diagonal.row, 8);
  EXPECT_NE(of_diagonal.message.find("4 + 0.5i"), std::string::npos) << of_diagonal.message;
  const Csr<T> second = sparse<T>(magnetic_laplacian(6, 0.4, false));
  const Report of_symmetric = ic0.setup(second);
  EXPECT_EQ(of_symmetric.status, Status::not_spd);
  EXPECT_NE(of_symmetric.message.find("Hermitian"), std::string::npos) << of_symmetric.message;
  Entries indefinite = magnetic_laplacian(6, 0.4);
  indefinite(5, 5) = -1;
  const Csr<T> third = sparse<T>(indefinite);
  EXPECT_EQ(ic0.setup(third).row, 5);
}

TYPED_TEST(ComplexRelaxation, ZeroPivots_BreakDown) {
  using T = TypeParam;
  const Csr<T> missing = Csr<T>::from_triplets(2, 2, {{0, 0, T{0, 1}}, {1, 0, T{1, 0}}});
  for (const char* method : {"gauss-seidel", "sor", "ssor", "ilu0"}) {
    Solver<T> solver = this->make(method, Device::serial());
    const Report report = solver.setup(missing);
    EXPECT_EQ(report.status, Status::breakdown) << method;
    EXPECT_EQ(report.row, 1) << method;
  }
  const Csr<T> cancels =
      Csr<T>::from_triplets(2, 2, {{0, 0, T{0, 1}}, {0, 1, T{1, 0}}, {1, 0, T{1, 0}}, {1, 1, T{0, -1}}});
  Solver<T> ilu0 = this->make("ilu0", Device::serial());
  const Report report = ilu0.setup(cancels);  // -i - 1 / i = 0
  EXPECT_EQ(report.status, Status::breakdown);
  EXPECT_NE(report.message.find("became zero"), std::string::npos) << report.message;
}

}  // namespace
}  // namespace echelon::test
