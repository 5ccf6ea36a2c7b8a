// SPDX-License-Identifier: BSD-3-Clause
/// Direct methods for complex matrices.
#include "scalars/complex_systems.hpp"

#include <lapacke.h>

#include <tuple>

namespace echelon::test {
namespace {

template <class T>
class ComplexDirect : public ComplexSystems<T> {};
TYPED_TEST_SUITE(ComplexDirect, ComplexTypes);

TYPED_TEST(ComplexDirect, DirectMethods_AnyRegularMatrix_Solve) {
  using T = TypeParam;
  const std::vector<Entries> systems = {random_entries(1, 1, 1),     random_entries(31, 31, 2),
                                        random_entries(70, 70, 3),   random_sparse(150, 4, 4),
                                        magnetic_laplacian(12, 0.3), damped_helmholtz(11, 2.5, 0.1),
                                        random_hermitian(200, 6, 5)};
  for (const Device& device : this->devices) {
    for (const char* method : {"lu", "sparse-lu", "banded-lu", "auto"}) {
      for (const Entries& entries : systems) {
        for (const Operation operation : {Operation::none, Operation::transpose, Operation::adjoint}) {
          SCOPED_TRACE(device.name() + " " + method + ", order " + std::to_string(entries.rows));
          Solver<T> solver = this->make(method, device);
          const Csr<T> A = sparse<T>(entries);
          ASSERT_TRUE(solver.setup(A).ready());
          const Vector b = Random(7).vector(entries.rows);
          Dense<T> x(Device(), entries.rows, 1);
          const Report report = solver.solve(column<T>(b), x, {.operation = operation});
          EXPECT_EQ(report.status, Status::direct) << report.message;
          const Vector exact = solution(operate(operation, entries), b);
          const double error = relative_error(x, exact);
          EXPECT_LT(error, this->largest_error) << report.message;
          if (operation != Operation::none) continue;
          EXPECT_LT(report.backward_error, 10 * epsilon<T>);
          ASSERT_TRUE(report.error_estimate.has_value());
          EXPECT_LT(error, 100 * *report.error_estimate + 1e3 * epsilon<T>);
        }
      }
    }
  }
}

TYPED_TEST(ComplexDirect, DirectMethodsSolveSeveralColumns) {
  using T = TypeParam;
  const Entries entries = random_sparse(120, 5, 8);
  const Csr<T> A = sparse<T>(entries);
  for (const char* method : {"lu", "sparse-lu", "banded-lu"}) {
    Solver<T> solver = this->make(method, Device::openmp(2));
    ASSERT_TRUE(solver.setup(A).ready());
    constexpr std::int64_t columns = 19;
    Dense<T> X(Device(), 120, columns);
    const std::vector<Vector> b = random_vectors(120, columns);
    ASSERT_TRUE(solver.solve(matrix_of<T>(b), X).solved());
    for (std::int64_t c = 0; c < columns; ++c) {
      const Vector exact = solution(entries, b[static_cast<std::size_t>(c)]);
      EXPECT_LT(relative_error(X.view().column(c), exact), this->largest_error) << method << " " << c;
    }
  }
}

TYPED_TEST(ComplexDirect, SparseLu_LargeFront_Solves) {
  using T = TypeParam;
  const Entries entries = random_entries(300, 300, 11);  // one front, wider than a block
  const Csr<T> A = sparse<T>(entries);
  Solver<T> solver = this->make("sparse-lu", Device::openmp(2));
  ASSERT_TRUE(solver.setup(A).ready());
  const Vector b = Random(3).vector(300);
  Dense<T> x(Device(), 300, 1);
  const Report report = solver.solve(column<T>(b), x);
  EXPECT_TRUE(report.solved()) << report.message;
  EXPECT_LT(relative_error(x, solution(entries, b)), 100 * this->largest_error);
}

/// Complex symmetric with zeros on the diagonal: pivots of order two are needed.
Entries symmetric_saddle_point(std::int64_t n, unsigned seed) {
  Entries A = random_entries(n, n, seed);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < i; ++j) A(i, j) = A(j, i);
    A(i, i) = 0;
  }
  for (std::int64_t i = n / 2; i < n; ++i) {
    for (std::int64_t j = n / 2; j < n; ++j) A(i, j) = 0;
  }
  return A;
}

TYPED_TEST(ComplexDirect, Ldlt_SymmetricMatrix_Solves) {
  using T = TypeParam;
  Entries one_front = random_entries(260, 260, 81);  // wider than a block
  for (std::int64_t i = 0; i < 260; ++i) {
    for (std::int64_t j = 0; j < i; ++j) one_front(i, j) = one_front(j, i);
  }
  const std::vector<Entries> systems = {damped_helmholtz(1, 1.0, 0.5),     damped_helmholtz(12, 2.5, 0.1),
                                        symmetric_saddle_point(2, 82),     symmetric_saddle_point(60, 83),
                                        magnetic_laplacian(9, 0.4, false), one_front};
  for (const Device& device : this->devices) {
    for (const Entries& entries : systems) {
      for (const Operation operation : {Operation::none, Operation::transpose, Operation::adjoint}) {
        for (const char* method : {"ldlt", "sparse-ldlt"}) {
          SCOPED_TRACE(device.name() + " " + method + ", order " + std::to_string(entries.rows));
          Solver<T> solver = this->make(method, device);
          const Csr<T> A = sparse<T>(entries);
          ASSERT_TRUE(solver.setup(A).ready());
          EXPECT_THROW(static_cast<void>(solver.inertia()), Error);
          const Vector b = Random(7).vector(entries.rows);
          Dense<T> x(Device(), entries.rows, 1);
          const Report report = solver.solve(column<T>(b), x, {.operation = operation});
          EXPECT_TRUE(report.solved()) << report.message;
          EXPECT_LT(relative_error(x, solution(operate(operation, entries), b)), 100 * this->largest_error);
          if (operation == Operation::none) {
            EXPECT_LT(report.backward_error, 10 * epsilon<T>);
          }
        }
      }
    }
  }
}

TYPED_TEST(ComplexDirect, Ldlt_NeitherSymmetricNorHermitian_Refused) {
  using T = TypeParam;
  Entries imaginary_diagonal = magnetic_laplacian(6, 0.2);
  imaginary_diagonal(8, 8) += Exact(0, 0.5L);
  const Csr<T> A = sparse<T>(random_sparse(20, 4, 91));
  const Csr<T> of_diagonal = sparse<T>(imaginary_diagonal);
  for (const char* method : {"ldlt", "sparse-ldlt"}) {
    Solver<T> solver = this->make(method, Device::serial());
    const Report report = solver.setup(A);
    EXPECT_EQ(report.status, Status::breakdown) << method;
    EXPECT_NE(report.message.find("neither symmetric nor Hermitian"), std::string::npos) << report.message;
    EXPECT_NE(report.message.find("lu takes any A"), std::string::npos) << report.message;
    const Report refused = solver.setup(of_diagonal);
    EXPECT_EQ(refused.status, Status::breakdown) << method;
    EXPECT_EQ(refused.row, 8) << method;
    EXPECT_NE(refused.message.find("row 8 has an imaginary part"), std::string::npos) << refused.message;
  }
}

TYPED_TEST(ComplexDirect, SparseLdlt_Singular_TellsTheRank) {
  using T = TypeParam;
  Entries entries = damped_helmholtz(6, 1.0, 0.3);
  for (std::int64_t j = 0; j < 36; ++j) entries(20, j) = Exact(0, 2) * entries(3, j);
  for (std::int64_t i = 0; i < 36; ++i) entries(i, 20) = Exact(0, 2) * entries(i, 3);
  entries(20, 20) = Exact(-4, 0) * entries(3, 3);
  const Csr<T> A = sparse<T>(entries);
  Solver<T> solver = this->make("sparse-ldlt", Device::serial());
  const Report report = solver.setup(A);
  EXPECT_EQ(report.status, Status::singular) << report.message;
  EXPECT_EQ(report.rank, 35);
}

TYPED_TEST(ComplexDirect, ConditionNumbersAreEstimated) {
  using T = TypeParam;
  Entries entries = random_entries(40, 40, 21);
  Vector inverse_column;
  long double norm_of_inverse = 0;
  long double norm_of_a = 0;
  for (std::int64_t j = 0; j < 40; ++j) {
    Vector unit(40);
    unit[static_cast<std::size_t>(j)] = 1;
    inverse_column = solution(entries, unit);
    long double sum = 0;
    for (const Exact& element : inverse_column) sum += std::abs(element);
    norm_of_inverse = std::max(norm_of_inverse, sum);
    sum = 0;
    for (std::int64_t i = 0; i < 40; ++i) sum += std::abs(entries(i, j));
    norm_of_a = std::max(norm_of_a, sum);
  }
  const auto exact = static_cast<double>(1 / norm_of_a / norm_of_inverse);
  const Csr<T> A = sparse<T>(entries);
  Solver<T> lu = this->make("lu", Device::serial(), {{"equilibrate", "false"}});
  const Report report = lu.setup(A);
  ASSERT_TRUE(report.reciprocal_condition.has_value());
  EXPECT_GE(*report.reciprocal_condition, 0.99 * exact);
  EXPECT_LE(*report.reciprocal_condition, 3 * exact);
}

TYPED_TEST(ComplexDirect, NewValuesInAPattern_AreFactored) {
  using T = TypeParam;
  Entries entries = damped_helmholtz(8, 1.0, 0.2);
  Csr<T> A = sparse<T>(entries);
  Solver<T> solver = this->make("sparse-lu", Device::openmp(2));
  ASSERT_TRUE(solver.setup(A).ready());
  for (std::int64_t i = 0; i < 64; ++i) entries(i, i) += Exact(0.5L, -0.25L);
  const Csr<T> changed = sparse<T>(entries);
  ASSERT_TRUE(solver.update_values(changed).ready());
  const Vector b = Random(2).vector(64);
  Dense<T> x(Device(), 64, 1);
  EXPECT_TRUE(solver.solve(column<T>(b), x).solved());
  EXPECT_LT(relative_error(x, solution(entries, b)), this->largest_error);
}

TYPED_TEST(ComplexDirect, Cholesky_HermitianMatrix_Solves) {
  using T = TypeParam;
  const std::vector<Entries> systems = {random_hermitian(1, 0, 1), random_hermitian(33, 32, 2),
                                        random_hermitian(150, 6, 3), magnetic_laplacian(13, 0.4),
                                        random_hermitian(270, 500, 4)};
  for (const Device& device : this->devices) {
    for (const char* method : {"cholesky", "sparse-cholesky", "sparse-ldlt"}) {
      for (const Entries& entries : systems) {
        for (const Operation operation : {Operation::none, Operation::transpose, Operation::adjoint}) {
          if (entries.rows > 200 && operation == Operation::transpose) continue;
          SCOPED_TRACE(device.name() + " " + method + ", order " + std::to_string(entries.rows));
          Solver<T> solver = this->make(method, device);
          const Csr<T> A = sparse<T>(entries);
          ASSERT_TRUE(solver.setup(A).ready());
          const Vector b = Random(7).vector(entries.rows);
          Dense<T> x(Device(), entries.rows, 1);
          const Report report = solver.solve(column<T>(b), x, {.operation = operation});
          EXPECT_EQ(report.status, Status::direct) << report.message;
          EXPECT_LT(relative_error(x, solution(operate(operation, entries), b)), this->largest_error);
          if (operation == Operation::none) {
            EXPECT_LT(report.backward_error, 10 * epsilon<T>);
          }
        }
      }
    }
  }
}

TYPED_TEST(ComplexDirect, Cholesky_WideFront_Solves) {
  using T = TypeParam;
  const Entries entries = random_hermitian(620, 1200, 5);  // wider than the blocks of both factorisations
  const Csr<T> A = sparse<T>(entries);
  const Vector b = product(entries, Vector(620, Exact(1, 2)));
  for (const char* method : {"cholesky", "sparse-cholesky", "sparse-ldlt"}) {
    Solver<T> solver = this->make(method, Device::openmp(2), {{"refine", 0}});
    ASSERT_TRUE(solver.setup(A).ready()) << method;
    Dense<T> x(Device(), 620, 1);
    const Report report = solver.solve(column<T>(b), x);
    EXPECT_LT(relative_error(x, Vector(620, Exact(1, 2))), this->largest_error) << method;
    EXPECT_LT(report.backward_error, 30 * epsilon<T>) << method;
  }
}

TYPED_TEST(ComplexDirect, HermitianFactors_SeveralColumns_Solve) {
  using T = TypeParam;
  const Entries entries = magnetic_laplacian(11, 0.5);
  const Csr<T> A = sparse<T>(entries);
  for (const char* method : {"cholesky", "sparse-cholesky", "sparse-ldlt"}) {
    Solver<T> solver = this->make(method, Device::openmp(2));
    ASSERT_TRUE(solver.setup(A).ready());
    constexpr std::int64_t columns = 19;
    const std::vector<Vector> b = random_vectors(121, columns);
    const Dense<T> B = matrix_of<T>(b);
    Dense<T> X(Device(), 121, columns);
    for (const Operation operation : {Operation::none, Operation::transpose}) {
      ASSERT_TRUE(solver.solve(B, X, {.operation = operation}).solved());
      for (std::int64_t c = 0; c < columns; c += 6) {
        const Vector exact = solution(operate(operation, entries), b[static_cast<std::size_t>(c)]);
        EXPECT_LT(relative_error(X.view().column(c), exact), this->largest_error) << method << " " << c;
      }
    }
  }
}

/// Eigenvalues of a Hermitian matrix, ascending.
std::vector<double> eigenvalues(const Entries& A) {
  std::vector<std::complex<double>> a;
  for (const Exact& value : A.values)
    a.emplace_back(static_cast<double>(value.real()), static_cast<double>(value.imag()));
  std::vector<double> values(static_cast<std::size_t>(A.rows));
  const auto n = static_cast<int>(A.rows);
  EXPECT_EQ(LAPACKE_zheev(LAPACK_ROW_MAJOR, 'N', 'L', n, reinterpret_cast<lapack_complex_double*>(a.data()),
                          n, values.data()),
            0);
  return values;
}

/// Hermitian with zeros on the diagonal: pivots of order two are needed.
Entries hermitian_saddle_point(std::int64_t n, unsigned seed) {
  Entries A = random_entries(n, n, seed);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < i; ++j) A(i, j) = std::conj(A(j, i));
    A(i, i) = 0;
  }
  for (std::int64_t i = n / 2; i < n; ++i) {
    for (std::int64_t j = n / 2; j < n; ++j) A(i, j) = 0;
  }
  return A;
}

TYPED_TEST(ComplexDirect, Ldlt_HermitianMatrix_HasTheInertiaOfItsEigenvalues) {
  using T = TypeParam;
  Entries shifted = magnetic_laplacian(12, 0.4);
  for (std::int64_t i = 0; i < 144; ++i) shifted(i, i) -= 3.3125L;
  Entries one_front = random_entries(200, 200, 84);  // wider than a block
  for (std::int64_t i = 0; i < 200; ++i) {
    for (std::int64_t j = 0; j < i; ++j) one_front(i, j) = std::conj(one_front(j, i));
    one_front(i, i) = one_front(i, i).real();
  }
  const std::vector<Entries> systems = {hermitian_saddle_point(2, 82), hermitian_saddle_point(60, 83),
                                        shifted, one_front};
  for (const Device& device : this->devices) {
    for (const Entries& entries : systems) {
      const std::vector<double> values = eigenvalues(entries);
      const auto negative = std::count_if(values.begin(), values.end(), [](double v) { return v < 0; });
      for (const char* method : {"ldlt", "sparse-ldlt"}) {
        SCOPED_TRACE(device.name() + " " + method + ", order " + std::to_string(entries.rows));
        Solver<T> solver = this->make(method, device);
        const Csr<T> A = sparse<T>(entries);
        ASSERT_TRUE(solver.setup(A).ready());
        EXPECT_EQ(solver.inertia().negative, negative);
        EXPECT_EQ(solver.inertia().positive, entries.rows - negative);
        for (const Operation operation : {Operation::none, Operation::transpose, Operation::adjoint}) {
          const Vector b = Random(7).vector(entries.rows);
          Dense<T> x(Device(), entries.rows, 1);
          const Report report = solver.solve(column<T>(b), x, {.operation = operation});
          EXPECT_TRUE(report.solved()) << report.message;
          EXPECT_LT(relative_error(x, solution(operate(operation, entries), b)), 100 * this->largest_error);
        }
      }
    }
  }
}

TYPED_TEST(ComplexDirect, SparseLdlt_SingularHermitian_TellsTheRank) {
  using T = TypeParam;
  Entries entries = magnetic_laplacian(6, 0.3);
  for (std::int64_t i = 0; i < 36; ++i) entries(i, i) -= 2.5L;
  for (std::int64_t j = 0; j < 36; ++j) entries(20, j) = Exact(0, 2) * entries(3, j);
  for (std::int64_t i = 0; i < 36; ++i) entries(i, 20) = Exact(0, -2) * entries(i, 3);
  entries(20, 20) = 4.0L * entries(3, 3);
  Solver<T> solver = this->make("sparse-ldlt", Device::serial());
  const Csr<T> A = sparse<T>(entries);
  const Report report = solver.setup(A);
  EXPECT_EQ(report.status, Status::singular) << report.message;
  EXPECT_EQ(report.rank, 35);
  EXPECT_EQ(solver.inertia().zero, 1);
}

TYPED_TEST(ComplexDirect, SparseLdlt_NewValuesOfTheOtherSymmetry_AreFactored) {
  using T = TypeParam;
  const Entries hermitian = magnetic_laplacian(8, 0.3);
  const Entries symmetric = magnetic_laplacian(8, 0.4, false);
  const Csr<T> A = sparse<T>(hermitian);
  const Csr<T> S = sparse<T>(symmetric);
  Solver<T> solver = this->make("sparse-ldlt", Device::openmp(2));
  ASSERT_TRUE(solver.setup(A).ready());
  const Vector b = Random(2).vector(64);
  for (const auto& [matrix, entries] : {std::pair(&S, &symmetric), {&A, &hermitian}, {&S, &symmetric}}) {
    ASSERT_TRUE(solver.update_values(*matrix).ready());
    Dense<T> x(Device(), 64, 1);
    EXPECT_TRUE(solver.solve(column<T>(b), x).solved());
    EXPECT_LT(relative_error(x, solution(*entries, b)), this->largest_error);
  }
  EXPECT_THROW(static_cast<void>(solver.inertia()), Error);
}

TYPED_TEST(ComplexDirect, Cholesky_OtherMatrices_Refused) {
  using T = TypeParam;
  Entries imaginary_diagonal = magnetic_laplacian(6, 0.2);
  imaginary_diagonal(8, 8) += Exact(0, 0.5L);
  Entries indefinite = magnetic_laplacian(6, 0.2);
  indefinite(8, 8) = -1;
  const Csr<T> first = sparse<T>(imaginary_diagonal);
  const Csr<T> second = sparse<T>(magnetic_laplacian(6, 0.4, false));
  const Csr<T> third = sparse<T>(indefinite);
  for (const char* method : {"cholesky", "sparse-cholesky"}) {
    Solver<T> solver = this->make(method, Device::serial());
    const Report of_diagonal = solver.setup(first);
    EXPECT_EQ(of_diagonal.status, Status::not_spd) << method;
    EXPECT_EQ(of_diagonal.row, 8) << method;
    const Report of_symmetric = solver.setup(second);
    EXPECT_EQ(of_symmetric.status, Status::not_spd) << method;
    EXPECT_NE(of_symmetric.message.find("sparse-ldlt"), std::string::npos) << of_symmetric.message;
    EXPECT_EQ(solver.setup(third).status, Status::not_spd) << method;
  }
}

TYPED_TEST(ComplexDirect, Qr_AnyShape_HasTheLeastResidualAndNorm) {
  using T = TypeParam;
  for (const auto& [m, n] :
       {std::pair<std::int64_t, std::int64_t>{1, 1}, {40, 40}, {90, 17}, {17, 90}, {3, 1}}) {
    SCOPED_TRACE(std::to_string(m) + " by " + std::to_string(n));
    const Entries A = random_entries(m, n, 101);
    const Entries adjoint = operate(Operation::adjoint, A);
    const Vector b = Random(7).vector(m);
    const Vector exact = m >= n ? solution(product(adjoint, A), product(adjoint, b))
                                : product(adjoint, solution(product(A, adjoint), b));
    const Csr<T> S = sparse<T>(A);
    const Dense<T> D = dense<T>(A);
    for (const char* method : {"qr", "sparse-qr", "auto"}) {
      for (const MatrixRef<T>& matrix : {MatrixRef<T>(S), MatrixRef<T>(D.view())}) {
        Solver<T> solver = this->make(method, Device::openmp(2));
        ASSERT_TRUE(solver.setup(matrix).ready());
        Dense<T> x(Device(), n, 1);
        const Report report = solver.solve(column<T>(b), x, {.least_squares = true});
        EXPECT_TRUE(report.solved()) << report.message;
        EXPECT_LT(relative_error(x, exact), this->largest_error);
        EXPECT_EQ(report.status == Status::least_squares, m > n) << report.message;
      }
    }
  }
}

TYPED_TEST(ComplexDirect, Qr_DeficientRank_IsFound) {
  using T = TypeParam;
  using Case = std::tuple<const char*, std::int64_t, std::int64_t>;
  for (const auto& [method, m, n] :
       {Case{"qr", 30, 12}, {"qr", 12, 30}, {"sparse-qr", 30, 12}, {"sparse-qr", 12, 30}}) {
    SCOPED_TRACE(method);
    const Entries A = product(random_entries(m, 5, 102), random_entries(5, n, 103));
    const Csr<T> S = sparse<T>(A);
    Solver<T> solver = this->make(method, Device::serial());
    EXPECT_EQ(solver.setup(S).rank, 5);
    const Vector b = Random(7).vector(m);
    Dense<T> x(Device(), n, 1);
    EXPECT_TRUE(solver.solve(column<T>(b), x, {.least_squares = true}).solved());
    Vector found;
    for (std::int64_t j = 0; j < n; ++j) found.emplace_back(x[j].real(), x[j].imag());
    Vector r = product(A, found);
    for (std::size_t i = 0; i < r.size(); ++i) r[i] = b[i] - r[i];
    const Entries adjoint = operate(Operation::adjoint, A);
    EXPECT_LT(norm(product(adjoint, r)), 1e3 * epsilon<T> * norm(product(adjoint, b)));
    // x of least norm is a combination of the columns of A^H: a projection on them does not change it.
    Solver<T> of_adjoint = this->make(method, Device::serial());
    const Csr<T> H = sparse<T>(adjoint);
    ASSERT_TRUE(of_adjoint.setup(H).ready());
    Dense<T> y(Device(), m, 1);
    EXPECT_TRUE(of_adjoint.solve(x, y, {.least_squares = true}).solved());
    Vector combination;
    for (std::int64_t i = 0; i < m; ++i) combination.emplace_back(y[i].real(), y[i].imag());
    EXPECT_LT(relative_error(x, product(adjoint, combination)), 1e4 * epsilon<T>);
  }
}

}  // namespace
}  // namespace echelon::test
