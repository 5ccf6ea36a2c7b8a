// SPDX-License-Identifier: BSD-3-Clause
/// Determinants, factors, and solves with the transpose and the adjoint, of each direct method.
#include "scalars/complex_systems.hpp"

namespace echelon::test {
namespace {

template <class T>
class ComplexFactors : public ComplexSystems<T> {};
TYPED_TEST_SUITE(ComplexFactors, ComplexTypes);

struct PhaseAndLog {
  std::complex<double> phase = 1;
  double logarithm = 0;
};

/// By elimination with partial pivoting in long double.
PhaseAndLog eliminated_determinant(Entries A) {
  Exact phase = 1;
  long double logarithm = 0;
  for (std::int64_t k = 0; k < A.rows; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k; i < A.rows; ++i) pivot = std::abs(A(i, k)) > std::abs(A(pivot, k)) ? i : pivot;
    for (std::int64_t j = 0; j < A.rows; ++j) std::swap(A(k, j), A(pivot, j));
    const long double size = std::abs(A(k, k));
    phase *= (pivot == k ? 1.0L : -1.0L) * A(k, k) / size;
    logarithm += std::log(size);
    for (std::int64_t i = k + 1; i < A.rows; ++i) {
      const Exact factor = A(i, k) / A(k, k);
      for (std::int64_t j = k; j < A.rows; ++j) A(i, j) -= factor * A(k, j);
    }
  }
  return {{static_cast<double>(phase.real()), static_cast<double>(phase.imag())},
          static_cast<double>(logarithm)};
}

template <class T>
Entries entries_of(const Matrix<T>& matrix) {
  const Dense<T> full = to_dense(MatrixRef<T>(matrix));
  Entries result(full.rows(), full.columns());
  for (std::int64_t i = 0; i < full.rows(); ++i) {
    for (std::int64_t j = 0; j < full.columns(); ++j) result(i, j) = {full(i, j).real(), full(i, j).imag()};
  }
  return result;
}

/// The matrix S that the factors form, and the scaled and permuted A that it should be.
template <class T>
void expect_equation(const Entries& A, const MatrixFactors<T>& factors) {
  const std::int64_t n = A.rows;
  Entries S = entries_of(factors.lower);
  if (factors.form == FactorForm::lu) {
    S = product(S, entries_of(factors.upper));
  } else {
    const Entries L = S;
    if (factors.form != FactorForm::cholesky) {
      Entries D(n, n);
      for (std::int64_t k = 0; k < n; ++k) {
        const auto exact = [](T value) { return Exact(value.real(), value.imag()); };
        D(k, k) = exact(factors.diagonal[static_cast<std::size_t>(k)]);
        const Exact below = exact(factors.subdiagonal[static_cast<std::size_t>(k)]);
        if (below == Exact(0)) continue;
        D(k + 1, k) = below;
        D(k, k + 1) = factors.form == FactorForm::ldlt ? below : std::conj(below);
      }
      S = product(S, D);
    }
    S = product(S, operate(factors.form == FactorForm::ldlt ? Operation::transpose : Operation::adjoint, L));
  }
  long double largest = 0;
  long double difference = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const auto p = factors.row_permutation[static_cast<std::size_t>(i)];
      const auto q = factors.column_permutation[static_cast<std::size_t>(j)];
      const Exact expected = std::ldexp(1.0L, factors.exponent) *
                             static_cast<long double>(factors.row_scales[static_cast<std::size_t>(p)] *
                                                      factors.column_scales[static_cast<std::size_t>(q)]) *
                             A(p, q);
      largest = std::max(largest, std::abs(expected));
      difference = std::max(difference, std::abs(S(i, j) - expected));
    }
  }
  EXPECT_LT(static_cast<double>(difference / largest), 1e4 * epsilon<T>);  // threshold pivoting lets L grow
}

Entries made_hermitian(Entries A) {
  for (std::int64_t i = 0; i < A.rows; ++i) {
    for (std::int64_t j = 0; j < i; ++j) A(i, j) = std::conj(A(j, i));
    A(i, i) = A(i, i).real();
  }
  return A;
}
Entries made_symmetric(Entries A) {
  for (std::int64_t i = 0; i < A.rows; ++i) {
    for (std::int64_t j = 0; j < i; ++j) A(i, j) = A(j, i);
  }
  return A;
}

struct DirectCase {
  const char* method;
  bool has_factors;
  std::vector<Entries> systems;
};

std::vector<DirectCase> cases() {
  const std::vector<Entries> general = {random_entries(1, 1, 600), random_entries(2, 2, 601),
                                        random_entries(45, 45, 602), random_sparse(71, 4, 603),
                                        damped_helmholtz(6, 2.5, 0.3)};
  const std::vector<Entries> definite = {random_hermitian(1, 0, 610), random_hermitian(40, 8, 611),
                                         magnetic_laplacian(7, 0.4)};
  std::vector<Entries> mirrored = {made_hermitian(random_entries(2, 2, 621)),
                                   made_hermitian(random_entries(71, 71, 622)),
                                   made_symmetric(random_entries(2, 2, 623)),
                                   made_symmetric(random_entries(71, 71, 624)),
                                   damped_helmholtz(6, 2.5, 0.3),
                                   magnetic_laplacian(7, 0.4)};
  mirrored[0](0, 0) = mirrored[0](1, 1) = mirrored[2](0, 0) = mirrored[2](1, 1) = 0;  // pivots of order two
  return {{"lu", true, general},
          {"sparse-lu", true, general},
          {"banded-lu", false, general},
          {"gauss-jordan", false, general},
          {"qr", false, general},
          {"cholesky", true, definite},
          {"sparse-cholesky", true, definite},
          {"ldlt", true, mirrored},
          {"sparse-ldlt", true, mirrored}};
}

TYPED_TEST(ComplexFactors, Determinant_PhaseAndLogarithm) {
  using T = TypeParam;
  for (const auto& [method, has_factors, systems] : cases()) {
    for (const Entries& entries : systems) {
      for (const double scale : {1.0, std::is_same_v<Real<T>, double> ? 0x1p-700 : 0x1p-80}) {
        SCOPED_TRACE(std::string(method) + ", order " + std::to_string(entries.rows));
        Entries scaled = entries;
        for (Exact& value : scaled.values) value *= scale;
        const PhaseAndLog expected = eliminated_determinant(scaled);
        const Csr<T> A = sparse<T>(scaled);
        Solver<T> solver = this->make(method, Device());
        ASSERT_TRUE(solver.setup(A).ready());
        const Determinant found = solver.determinant();
        const double tolerance = 1e4 * epsilon<T>;
        EXPECT_NEAR(std::abs(found.phase), 1, 4 * std::numeric_limits<double>::epsilon());
        EXPECT_LT(std::abs(static_cast<double>(found.sign) * found.phase - expected.phase), tolerance);
        EXPECT_NEAR(found.log_abs(), expected.logarithm,
                    tolerance * std::max(1.0, std::abs(expected.logarithm)));
        if (std::abs(expected.logarithm) > 600) continue;
        const std::complex<double> value = expected.phase * std::exp(expected.logarithm);
        EXPECT_LT(std::abs(found.complex_value() - value), 100 * tolerance * std::abs(value));
      }
    }
  }
}

TYPED_TEST(ComplexFactors, SingularMatrix_HasDeterminantZero) {
  using T = TypeParam;
  Entries entries = random_entries(12, 12, 631);
  for (std::int64_t j = 0; j < 12; ++j) entries(4, j) = 0;
  const Csr<T> A = sparse<T>(entries);
  for (const char* method : {"lu", "sparse-lu", "banded-lu", "gauss-jordan", "qr"}) {
    Solver<T> solver = this->make(method, Device());
    static_cast<void>(solver.setup(A));
    const Determinant found = solver.determinant();
    EXPECT_EQ(found.sign, 0) << method;
    EXPECT_EQ(found.complex_value(), 0.0) << method;
  }
}

TYPED_TEST(ComplexFactors, Factors_FormTheMatrix) {
  using T = TypeParam;
  for (const auto& [method, has_factors, systems] : cases()) {
    for (const Entries& entries : systems) {
      SCOPED_TRACE(std::string(method) + ", order " + std::to_string(entries.rows));
      Entries uneven = entries;  // so that the methods scale
      for (std::int64_t i = 0; i < uneven.rows; ++i) {
        for (std::int64_t j = 0; j < uneven.columns; ++j)
          uneven(i, j) *= std::ldexp(1.0L, static_cast<int>(i % 3 * 8 + j % 3 * 8));
      }
      const Csr<T> A = sparse<T>(uneven);
      Solver<T> solver = this->make(method, Device());
      ASSERT_TRUE(solver.setup(A).ready());
      if (!has_factors) {
        EXPECT_THROW(static_cast<void>(solver.factors()), Error);
        continue;
      }
      expect_equation(uneven, solver.factors());
    }
  }
}

TYPED_TEST(ComplexFactors, FactorMatrices_NameTheAdjoint) {
  if constexpr (std::is_same_v<TypeParam, std::complex<double>>) {
    using T = TypeParam;
    const auto equation = [&](const char* method, const Entries& entries) {
      const Csr<T> A = sparse<T>(entries);
      Solver<T> solver = this->make(method, Device());
      EXPECT_TRUE(solver.setup(A).ready());
      return factor_matrices(solver.factors()).equation;
    };
    EXPECT_NE(equation("cholesky", magnetic_laplacian(4, 0.3)).find("= L L^H"), std::string::npos);
    EXPECT_NE(equation("ldlt", magnetic_laplacian(4, 0.3)).find("= L D L^H"), std::string::npos);
    EXPECT_NE(equation("sparse-ldlt", damped_helmholtz(4, 1.0, 0.3)).find("= L D L^T"), std::string::npos);
    EXPECT_NE(equation("lu", random_entries(5, 5, 641)).find("= L U"), std::string::npos);
  }
}

TYPED_TEST(ComplexFactors, AnySolver_TakesComplexNumbers) {
  if constexpr (std::is_same_v<TypeParam, std::complex<double>>) {
    using T = TypeParam;
    const Entries entries = random_entries(9, 9, 651);
    const Dense<T> A = dense<T>(entries);
    AnySolver any("lu", Device(), Scalar::complex128);
    ASSERT_TRUE(any.setup(MatrixRef<T>(A.view())).ready());
    EXPECT_EQ(any.scalar(), Scalar::complex128);
    EXPECT_EQ(any.factors().index(), 2U);
    EXPECT_NEAR(any.determinant().log_abs(), eliminated_determinant(entries).logarithm, 1e-12);
    const Dense<double> real(Device(), 9, 9);
    EXPECT_THROW(static_cast<void>(any.setup(MatrixRef<double>(real.view()))), Error);
  }
}

TYPED_TEST(ComplexFactors, TransposeAndAdjoint_AreToldApart) {
  using T = TypeParam;
  for (const auto& [method, has_factors, systems] : cases()) {
    for (const Entries& entries : systems) {
      for (const bool as_sparse : {true, false}) {
        const Csr<T> csr = sparse<T>(entries);
        const Dense<T> full = dense<T>(entries);
        Solver<T> solver = this->make(method, Device());
        ASSERT_TRUE(solver.setup(as_sparse ? MatrixRef<T>(csr) : MatrixRef<T>(full.view())).ready());
        for (const Operation operation : {Operation::none, Operation::transpose, Operation::adjoint}) {
          SCOPED_TRACE(std::string(method) + ", order " + std::to_string(entries.rows));
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

}  // namespace
}  // namespace echelon::test
