// SPDX-License-Identifier: BSD-3-Clause
/// Complex systems that are empty, singular, badly scaled or not finite.
#include "scalars/complex_systems.hpp"

namespace echelon::test {
namespace {

template <class T>
class ComplexHardCases : public ComplexSystems<T> {};
TYPED_TEST_SUITE(ComplexHardCases, ComplexTypes);

TYPED_TEST(ComplexHardCases, EmptyAndZeroSystems) {
  using T = TypeParam;
  for (const char* method :
       {"auto",         "banded-lu",       "bicgstab",    "cg",        "cholesky", "cocg", "cocr",   "cr",
        "gauss-jordan", "gauss-seidel",    "gmres",       "jacobi",    "ldlt",     "lu",   "minres", "qr",
        "sor",          "sparse-cholesky", "sparse-ldlt", "sparse-lu", "ssor"}) {
    for (const Device& device : this->devices) {
      Solver<T> solver = this->make(method, device);
      const Csr<T> empty;
      ASSERT_TRUE(solver.setup(empty).ready());
      Dense<T> none(Device(), 0, 1);
      EXPECT_TRUE(solver.solve(Dense<T>(Device(), 0, 1), none).solved());

      const Csr<T> A = sparse<T>(magnetic_laplacian(3, 0.2));
      ASSERT_TRUE(solver.setup(A).ready());
      Dense<T> x = column<T>(Random(1).vector(9));
      const Report report = solver.solve(column<T>(Vector(9)), x);
      EXPECT_TRUE(report.solved()) << report.message;
      EXPECT_EQ(report.iterations, 0);
      EXPECT_EQ(norm2<T>(x), 0);
    }
  }
}

TYPED_TEST(ComplexHardCases, NotANumber_InAnImaginaryPart_IsFound) {
  using T = TypeParam;
  const Real<T> nan = std::numeric_limits<Real<T>>::quiet_NaN();
  Csr<T> A = sparse<T>(magnetic_laplacian(3, 0.2));
  Solver<T> cg = this->make("cg", Device::serial());
  ASSERT_TRUE(cg.setup(A).ready());
  Dense<T> b = column<T>(Random(1).vector(9));
  b[4] = {1, nan};
  Dense<T> x(Device(), 9, 1);
  const Report of_b = cg.solve(b, x);
  EXPECT_EQ(of_b.status, Status::not_a_number);
  EXPECT_EQ(of_b.row, 4);

  A.values()[0] = {1, nan};
  const Report of_a = cg.setup(A);
  EXPECT_EQ(of_a.status, Status::not_a_number);
  EXPECT_EQ(of_a.row, 0);
  EXPECT_EQ(of_a.column, 0);
  const Dense<T> D = to_dense<T>(A);
  EXPECT_EQ(cg.setup(D.view()).status, Status::not_a_number);
}

TYPED_TEST(ComplexHardCases, SingularMatrices_AreNamed) {
  using T = TypeParam;
  Entries dependent = random_entries(30, 30, 31);
  for (std::int64_t j = 0; j < 30; ++j) dependent(17, j) = Exact(0, 2) * dependent(4, j);
  Entries empty_row = random_sparse(30, 4, 32);
  for (std::int64_t j = 0; j < 30; ++j) empty_row(9, j) = 0;
  for (const Entries& entries : {dependent, empty_row}) {
    const Csr<T> A = sparse<T>(entries);
    for (const char* method : {"lu", "sparse-lu", "banded-lu"}) {
      Solver<T> solver = this->make(method, Device::serial());
      const Report report = solver.setup(A);
      EXPECT_EQ(report.status, Status::singular) << method << ": " << report.message;
      if (method == std::string("sparse-lu")) {
        EXPECT_EQ(report.rank, 29);
      }
    }
  }
}

TYPED_TEST(ComplexHardCases, BadlyScaledSystems_AreSolved) {
  using T = TypeParam;
  Entries entries = random_entries(50, 50, 41);
  const bool is_double = std::is_same_v<Real<T>, double>;
  for (std::int64_t i = 0; i < 50; ++i) {
    for (std::int64_t j = 0; j < 50; ++j) {
      const int exponent =
          static_cast<int>((i % 7 - 3) * (is_double ? 60 : 6) + (j % 5 - 2) * (is_double ? 50 : 5));
      entries(i, j) = {std::ldexp(entries(i, j).real(), exponent),
                       std::ldexp(entries(i, j).imag(), exponent)};
    }
  }
  const Csr<T> A = sparse<T>(entries);
  const Vector b = product(entries, Vector(50, Exact(1, 1)));
  for (const char* method : {"lu", "sparse-lu", "banded-lu"}) {
    Solver<T> solver = this->make(method, Device::serial());
    ASSERT_TRUE(solver.setup(A).ready()) << method;
    Dense<T> x(Device(), 50, 1);
    const Report report = solver.solve(column<T>(b), x);
    EXPECT_TRUE(report.solved()) << report.message;
    EXPECT_LT(report.backward_error, 100 * epsilon<T>) << method;
  }
}

TYPED_TEST(ComplexHardCases, TinyImaginaryParts_AreKept) {
  if constexpr (std::is_same_v<TypeParam, std::complex<double>>) {
    using T = TypeParam;
    const Csr<T> A = Csr<T>::from_triplets(
        2, 2, {{0, 0, T{1, 0}}, {0, 1, T{0, 1e-300}}, {1, 0, T{0, 1e-300}}, {1, 1, T{0, 1e-300}}});
    for (const char* method : {"lu", "sparse-lu", "banded-lu", "ldlt"}) {
      Solver<T> solver = this->make(method, Device::serial());
      ASSERT_TRUE(solver.setup(A).ready()) << method;
      Dense<T> b(Device(), 2, 1);
      b[0] = T{1, 0};
      b[1] = T{0, 1e-300};
      Dense<T> x(Device(), 2, 1);
      EXPECT_TRUE(solver.solve(b, x).solved()) << method;
      EXPECT_LT(std::abs(x[0] - T{1, 0}), 1e-15) << method;
      EXPECT_LT(std::abs(x[1]), 1e-15) << method;
    }
  }
}

TYPED_TEST(ComplexHardCases, TinyHermitianParts_AreKept) {
  if constexpr (std::is_same_v<TypeParam, std::complex<double>>) {
    using T = TypeParam;
    const Csr<T> A = Csr<T>::from_triplets(
        2, 2, {{0, 0, T{1, 0}}, {0, 1, T{0, -1e-300}}, {1, 0, T{0, 1e-300}}, {1, 1, T{1e-300, 0}}});
    for (const char* method : {"cholesky", "sparse-cholesky", "ldlt", "sparse-ldlt"}) {
      Solver<T> solver = this->make(method, Device::serial());
      ASSERT_TRUE(solver.setup(A).ready()) << method;
      Dense<T> b(Device(), 2, 1);
      b[0] = T{1, 0};
      b[1] = T{1e-300, 2e-300};  // of x = (1, 1 + i)
      Dense<T> x(Device(), 2, 1);
      EXPECT_TRUE(solver.solve(b, x).solved()) << method;
      EXPECT_LT(std::abs(x[0] - T{1, 0}), 1e-15) << method;
      EXPECT_LT(std::abs(x[1] - T{1, 1}), 1e-14) << method;
    }
  }
}

/// Methods that solve Hermitian positive definite systems, by any part of their kind.
const std::vector<const char*> definite_methods = {
    "auto",   "banded-lu",   "bicgstab", "cg", "cholesky",        "cr",          "gauss-jordan", "gmres",
    "ldlt",   "lu",          "minres",   "qr", "sparse-cholesky", "sparse-ldlt", "sparse-lu",    "amg",
    "jacobi", "gauss-seidel"};

TYPED_TEST(ComplexHardCases, ExceptionalValues_InOnePart_AreFoundByEveryMethod) {
  using T = TypeParam;
  using R = Real<T>;
  const R nan = std::numeric_limits<R>::quiet_NaN();
  const R infinity = std::numeric_limits<R>::infinity();
  const Csr<T> A = sparse<T>(magnetic_laplacian(3, 0.2));
  for (const T value : {T{nan, 1}, T{1, nan}, T{infinity, 1}, T{1, infinity}, T{1, -infinity}}) {
    SCOPED_TRACE(value);
    Csr<T> broken = A;
    broken.values()[broken.row_offsets()[4]] = value;  // element (4, 1)
    Dense<T> b = column<T>(Random(1).vector(9));
    b[6] = value;
    for (const char* method : definite_methods) {
      SCOPED_TRACE(method);
      Solver<T> solver = this->make(method, Device());
      const Report of_a = solver.setup(broken);
      EXPECT_EQ(of_a.status, Status::not_a_number) << of_a.message;
      EXPECT_EQ(of_a.row, 4);
      EXPECT_EQ(of_a.column, 1);
      ASSERT_TRUE(solver.setup(A).ready());
      Dense<T> x(Device(), 9, 1);
      const Report of_b = solver.solve(b, x);
      EXPECT_EQ(of_b.status, Status::not_a_number) << of_b.message;
      EXPECT_EQ(of_b.row, 6);
    }
  }
}

TYPED_TEST(ComplexHardCases, ComplexDiagonalOfAHermitianMatrix_IsNamed) {
  using T = TypeParam;
  Entries entries = magnetic_laplacian(3, 0.2);
  entries(5, 5) += Exact(0, 1);
  const Csr<T> A = sparse<T>(entries);
  const Dense<T> D = dense<T>(entries);
  for (const char* method : {"cg", "cr", "minres", "cholesky", "sparse-cholesky"}) {
    for (const bool as_sparse : {true, false}) {
      SCOPED_TRACE(std::string(method) + (as_sparse ? ", sparse" : ", dense"));
      Solver<T> solver = this->make(method, Device());
      const Report report = solver.setup(as_sparse ? MatrixRef<T>(A) : MatrixRef<T>(D.view()));
      EXPECT_FALSE(report.ready());
      EXPECT_EQ(report.row, 5);
      EXPECT_NE(report.message.find("the diagonal element of row 5 (from 0) has an imaginary part"),
                std::string::npos)
          << report.message;
    }
  }
}

TYPED_TEST(ComplexHardCases, TinyImaginaryParts_DoNotDisturbIterations) {
  if constexpr (std::is_same_v<TypeParam, std::complex<double>>) {
    using T = TypeParam;
    Csr<T> A = sparse<T>(magnetic_laplacian(6, 0));
    for (T& value : A.values().span()) value = {value.real(), 1e-300};
    const Vector b = Random(2).vector(36);
    const Vector expected = solution(magnetic_laplacian(6, 0), b);
    for (const char* method : {"cg", "cr", "minres", "cocg", "cocr", "bicgstab", "gmres", "jacobi",
                               "gauss-seidel", "amg", "cholesky", "sparse-cholesky", "sparse-ldlt"}) {
      SCOPED_TRACE(method);
      Solver<T> solver = this->make(method, Device());
      ASSERT_TRUE(solver.setup(A).ready());
      Dense<T> x(Device(), 36, 1);
      const Report report = solver.solve(column<T>(b), x, {.rtol = 1e-12});
      EXPECT_TRUE(report.solved()) << report.message;
      EXPECT_LT(relative_error(x, expected), 1e-10);
    }
  }
}

/// Sums of squares and products of the elements overflow, and magnitudes of the largest element do.
TYPED_TEST(ComplexHardCases, ElementsAtTheEndOfTheRange_AreSolved) {
  if constexpr (std::is_same_v<TypeParam, std::complex<double>>) {
    using T = TypeParam;
    const Csr<T> A = Csr<T>::from_triplets(
        2, 2, {{0, 0, T{1e308, 1e308}}, {0, 1, T{1, 0}}, {1, 0, T{1, 0}}, {1, 1, T{0, 1e308}}});
    Dense<T> b(Device(), 2, 1);
    b[0] = T{1e308, 0};
    b[1] = T{0, 1e308};  // of x = ((1 - i) / 2, 1), up to 1e-308
    for (const char* method : {"auto", "banded-lu", "bicgstab", "gauss-jordan", "gmres", "jacobi", "ldlt",
                               "lu", "qr", "sparse-ldlt", "sparse-lu"}) {
      SCOPED_TRACE(method);
      Solver<T> solver = this->make(method, Device());
      ASSERT_TRUE(solver.setup(A).ready());
      Dense<T> x(Device(), 2, 1);
      const Report report = solver.solve(b, x);
      EXPECT_TRUE(report.solved()) << report.message;
      EXPECT_LT(std::abs(x[0] - T{0.5, -0.5}), 1e-14);
      EXPECT_LT(std::abs(x[1] - T{1, 0}), 1e-14);
    }
  }
}

}  // namespace
}  // namespace echelon::test
