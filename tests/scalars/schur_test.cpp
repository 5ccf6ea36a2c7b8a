// SPDX-License-Identifier: BSD-3-Clause
/// Schur complements of complex matrices, sparse and dense, compared with elimination in long double.
#include "scalars/complex_systems.hpp"

#include <echelon/domain_decomposition/schur_complement.hpp>

namespace echelon::test {
namespace {

template <class T>
class ComplexSchur : public ComplexSystems<T> {};
TYPED_TEST_SUITE(ComplexSchur, ComplexTypes);

using Indices = std::vector<std::int32_t>;

/// Every fifth unknown, in descending order.
Indices interface_of(std::int64_t n) {
  Indices interface;
  for (auto i = static_cast<std::int32_t>(n) - 1; i >= 0; i -= 5) interface.push_back(i);
  return interface;
}

Indices others(std::int64_t n, const Indices& interface) {
  Indices interior;
  for (std::int32_t i = 0; i < n; ++i) {
    if (std::find(interface.begin(), interface.end(), i) == interface.end()) interior.push_back(i);
  }
  return interior;
}

Entries block(const Entries& A, const Indices& rows, const Indices& columns) {
  Entries result(std::ssize(rows), std::ssize(columns));
  for (std::int64_t i = 0; i < result.rows; ++i) {
    for (std::int64_t j = 0; j < result.columns; ++j)
      result(i, j) = A(rows[static_cast<std::size_t>(i)], columns[static_cast<std::size_t>(j)]);
  }
  return result;
}

Vector part(const Vector& x, const Indices& rows) {
  Vector result;
  for (const std::int32_t i : rows) result.push_back(x[static_cast<std::size_t>(i)]);
  return result;
}

/// b_B - A_BI A_II^-1 b_I.
Vector reduced(const Entries& A, const Indices& interface, const Vector& b) {
  const Indices interior = others(A.rows, interface);
  const Vector x = solution(block(A, interior, interior), part(b, interior));
  const Vector subtracted = product(block(A, interface, interior), x);
  Vector g = part(b, interface);
  for (std::size_t i = 0; i < g.size(); ++i) g[i] -= subtracted[i];
  return g;
}

/// S, column by column: the reduced right-hand sides of the columns of A.
Entries complement(const Entries& A, const Indices& interface) {
  Entries S(std::ssize(interface), std::ssize(interface));
  for (std::int64_t j = 0; j < S.columns; ++j) {
    Vector column;
    for (std::int64_t i = 0; i < A.rows; ++i) column.push_back(A(i, interface[static_cast<std::size_t>(j)]));
    const Vector of_S = reduced(A, interface, column);
    for (std::int64_t i = 0; i < S.rows; ++i) S(i, j) = of_S[static_cast<std::size_t>(i)];
  }
  return S;
}

template <class T>
void expect_near(const Dense<T>& actual, const Entries& expected, double tolerance) {
  ASSERT_EQ(actual.rows(), expected.rows);
  Vector values;
  std::vector<T> found;
  for (std::int64_t j = 0; j < expected.columns; ++j) {
    for (std::int64_t i = 0; i < expected.rows; ++i) {
      values.push_back(expected(i, j));
      found.push_back(actual(i, j));
    }
  }
  EXPECT_LT(relative_error(found.data(), values), tolerance);
}

/// S, right-hand sides, extensions and solutions, for A and its transpose, of the matrix in both forms.
template <class T>
void expect_complement(const Entries& A, SchurFactorization factorization, const char* chosen,
                       double tolerance) {
  const Indices interface = interface_of(A.rows);
  const Entries S = complement(A, interface);
  const Csr<T> sparse_A = sparse<T>(A);
  const Dense<T> dense_A = dense<T>(A);
  const Vector b = Random(3).vector(A.rows);
  for (const MatrixRef<T>& matrix : {MatrixRef<T>(sparse_A), MatrixRef<T>(dense_A)}) {
    SCOPED_TRACE(matrix.is_sparse() ? "sparse" : "dense");
    const SchurComplement<T> schur(matrix, interface, {.factorization = factorization});
    ASSERT_TRUE(schur.ready()) << schur.report().message;
    EXPECT_EQ(std::get<std::string>(schur.report().find_statistic("factorization")->value), chosen);
    expect_near(schur.matrix(), S, tolerance);

    for (const bool transposed : {false, true}) {
      SCOPED_TRACE(transposed ? "transposed" : "plain");
      const Entries op_A = operate(transposed ? Operation::transpose : Operation::none, A);
      const Dense<T> B = column<T>(b);
      Dense<T> G(Device(), S.rows, 1);
      Dense<T> X(Device(), A.rows, 1);
      transposed ? schur.reduce_transposed(B, G) : schur.reduce(B, G);
      EXPECT_LT(relative_error(G, reduced(op_A, interface, b)), tolerance);
      const Vector x = solution(op_A, b);
      const Dense<T> x_B = column<T>(part(x, interface));
      transposed ? schur.expand_transposed(x_B, B, X) : schur.expand(x_B, B, X);
      EXPECT_LT(relative_error(X, x), tolerance);
    }
    Dense<T> X(Device(), A.rows, 1);
    const Report report = schur.solve(column<T>(b), X);
    EXPECT_EQ(report.status, Status::direct) << report.message;
    EXPECT_LT(relative_error(X, solution(A, b)), tolerance);
    EXPECT_LT(report.backward_error, 100 * epsilon<T>);
  }
}

TYPED_TEST(ComplexSchur, OfHermitianMatrices) {
  using T = TypeParam;
  expect_complement<T>(random_hermitian(60, 6, 1), SchurFactorization::automatic, "cholesky",
                       this->largest_error);
  Entries A = magnetic_laplacian(8, 0.3);
  for (std::int64_t i = 0; i < A.rows; ++i) A(i, i) -= 1.7L;
  expect_complement<T>(A, SchurFactorization::automatic, "ldlt", this->largest_error);
}

TYPED_TEST(ComplexSchur, OfSymmetricMatrices) {
  expect_complement<TypeParam>(damped_helmholtz(8, 1.3, 0.1), SchurFactorization::automatic, "ldlt",
                               this->largest_error);
}

TYPED_TEST(ComplexSchur, OfOtherMatrices) {
  using T = TypeParam;
  Entries A = random_sparse(70, 5, 2);
  for (std::int64_t i = 0; i < A.rows; ++i) A(i, i) += 8.0L;
  expect_complement<T>(A, SchurFactorization::automatic, "lu", this->largest_error);
  expect_complement<T>(random_hermitian(40, 6, 5), SchurFactorization::lu, "lu", this->largest_error);
}

TYPED_TEST(ComplexSchur, HasInertiaOfHermitianInteriors) {
  using T = TypeParam;
  Entries A = magnetic_laplacian(6, 0.2);
  for (std::int64_t i = 0; i < A.rows; ++i) A(i, i) -= i % 2 == 0 ? 20.0L : -20.0L;
  const Indices interface = {0};
  const Csr<T> hermitian = sparse<T>(A);
  const std::optional<Inertia> inertia =
      schur_complement(hermitian, interface, {.factorization = SchurFactorization::ldlt}).interior_inertia();
  ASSERT_TRUE(inertia.has_value());
  EXPECT_EQ(inertia->positive, 18);
  EXPECT_EQ(inertia->negative, 17);
  const Csr<T> symmetric = sparse<T>(damped_helmholtz(6, 1, 0.2));
  EXPECT_FALSE(schur_complement(symmetric, interface).interior_inertia().has_value());
}

TYPED_TEST(ComplexSchur, NamesWhatCannotBeFactored) {
  using T = TypeParam;
  const Csr<T> symmetric = sparse<T>(damped_helmholtz(5, 1, 0.2));
  const Indices interface = {3};
  const Report not_hermitian =
      schur_complement(symmetric, interface, {.factorization = SchurFactorization::cholesky}).report();
  EXPECT_EQ(not_hermitian.status, Status::not_spd);
  EXPECT_NE(not_hermitian.message.find("not Hermitian"), std::string::npos) << not_hermitian.message;
  const Csr<T> general = sparse<T>(random_sparse(30, 4, 3));
  const Report neither =
      schur_complement(general, interface, {.factorization = SchurFactorization::ldlt}).report();
  EXPECT_EQ(neither.status, Status::breakdown);
  EXPECT_NE(neither.message.find("neither symmetric nor Hermitian"), std::string::npos) << neither.message;

  Entries singular = random_hermitian(20, 4, 9);
  for (std::int64_t j = 0; j < 20; ++j) singular(7, j) = singular(j, 7) = 0;
  const Csr<T> A = sparse<T>(singular);
  EXPECT_EQ(schur_complement(A, interface).report().status, Status::singular);
  const Indices with_it = {3, 7};
  EXPECT_TRUE(schur_complement(A, with_it).ready());

  Entries with_nan = random_hermitian(10, 4, 9);
  with_nan(2, 2) = Exact(1, std::numeric_limits<long double>::quiet_NaN());
  const Csr<T> nan = sparse<T>(with_nan);
  EXPECT_EQ(schur_complement(nan, interface).report().status, Status::not_a_number);
}

}  // namespace
}  // namespace echelon::test
