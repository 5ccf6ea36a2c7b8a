// SPDX-License-Identifier: BSD-3-Clause
/// Gauss-Jordan elimination of complex matrices: reduced forms, ranks, inverses, and systems of any shape.
#include "scalars/complex_systems.hpp"

namespace echelon::test {
namespace {

template <class T>
class ComplexElimination : public ComplexSystems<T> {};
TYPED_TEST_SUITE(ComplexElimination, ComplexTypes);

TYPED_TEST(ComplexElimination, ReducedForm_AnyShapeAndRank) {
  using T = TypeParam;
  unsigned seed = 200;
  for (const auto& [m, n, rank] : shapes_of_ranks) {
    SCOPED_TRACE(std::to_string(m) + " by " + std::to_string(n) + " of rank " + std::to_string(rank));
    const Entries entries = of_rank(m, n, rank, seed += 2);
    std::vector<T> first;
    for (const Device& device : this->devices) {
      const EchelonForm<T> form = RowReduction<T>(device).reduce(dense<T>(entries));
      ASSERT_TRUE(form.report.solved()) << form.report.message;
      EXPECT_EQ(form.facts.rank, rank);
      EXPECT_EQ(std::ssize(form.pivot_columns), rank);
      EXPECT_FALSE(form.facts.proven);  // exact ranks are those of real matrices
      EXPECT_EQ(form.determinant.has_value(), m == n);
      expect_reduced(entries, form, 1e4 * epsilon<T>);
      const Dense<T> kernel = null_space(form);
      EXPECT_EQ(kernel.columns(), n - rank);
      EXPECT_LT(largest_of_product(entries, kernel), 1e5 * epsilon<T>);
      const std::vector<T> elements(form.R.data(), form.R.data() + m * n);
      if (first.empty()) first = elements;
      EXPECT_EQ(first, elements) << "on another number of threads";
    }
  }
}

TYPED_TEST(ComplexElimination, Inverse_TimesMatrix_IsIdentity) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 5, 33, 150}) {
    const Entries entries = random_entries(n, n, static_cast<unsigned>(220 + n));
    for (const Device& device : this->devices) {
      Dense<T> X = dense<T>(entries);
      const Report report = RowReduction<T>(device).invert(X);
      ASSERT_EQ(report.status, Status::direct) << report.message;
      EXPECT_LT(report.backward_error, 1e3 * epsilon<T>);
      for (std::int64_t j = 0; j < n; j += 1 + n / 4) {
        Vector unit(static_cast<std::size_t>(n));
        unit[static_cast<std::size_t>(j)] = 1;
        EXPECT_LT(relative_error(X.view().column(j), solution(entries, unit)), this->largest_error) << n;
      }
    }
  }
  Dense<T> none(Device(), 0, 0);
  EXPECT_EQ(RowReduction<T>().invert(none).status, Status::direct);
  Dense<T> rectangle(Device(), 2, 3);
  EXPECT_THROW(static_cast<void>(RowReduction<T>().invert(rectangle)), DimensionMismatch);
}

TYPED_TEST(ComplexElimination, Inverse_Singular_NamesColumn) {
  using T = TypeParam;
  Entries entries = random_entries(20, 20, 231);
  for (std::int64_t i = 0; i < 20; ++i) entries(i, 12) = Exact(0, 1) * entries(i, 5);
  Dense<T> X = dense<T>(entries);
  const Report report = RowReduction<T>().invert(X);
  EXPECT_EQ(report.status, Status::singular) << report.message;
  EXPECT_EQ(report.column, 12);
}

/// v^T v = 0 for v = (1, i): products without conjugates would call these matrices zero.
TYPED_TEST(ComplexElimination, IsotropicVectors_HaveRankOne) {
  using T = TypeParam;
  Entries row(1, 2), column(2, 1), square(2, 2);
  row(0, 0) = column(0, 0) = square(0, 0) = 1;
  row(0, 1) = column(1, 0) = square(0, 1) = square(1, 0) = Exact(0, 1);
  square(1, 1) = -1;
  for (const Entries& entries : {row, column, square}) {
    const EchelonForm<T> form = RowReduction<T>().reduce(dense<T>(entries));
    EXPECT_EQ(form.facts.rank, 1);
    EXPECT_LT(largest_of_product(entries, null_space(form)), 10 * epsilon<T>);
  }
  EXPECT_EQ(RowReduction<T>().reduce(dense<T>(square)).determinant->sign, 0);
}

TYPED_TEST(ComplexElimination, SymmetricNotHermitian_InverseIsSymmetric) {
  using T = TypeParam;
  const Entries entries = damped_helmholtz(6, 1.3, 0.4);
  Dense<T> X = dense<T>(entries);
  ASSERT_TRUE(RowReduction<T>().invert(X).solved());
  for (std::int64_t i = 0; i < 36; ++i) {
    for (std::int64_t j = 0; j < i; ++j) EXPECT_LT(std::abs(X(i, j) - X(j, i)), 1e3 * epsilon<T>);
  }
}

TYPED_TEST(ComplexElimination, NotANumber_InOnePart_IsFound) {
  using T = TypeParam;
  const Real<T> nan = std::numeric_limits<Real<T>>::quiet_NaN();
  const Real<T> infinity = std::numeric_limits<Real<T>>::infinity();
  for (const T bad : {T{1, nan}, T{nan, 1}, T{0, infinity}, T{-infinity, 0}}) {
    Dense<T> A = dense<T>(random_entries(6, 6, 241));
    A(4, 2) = bad;
    const EchelonForm<T> form = RowReduction<T>().reduce(A);
    EXPECT_EQ(form.report.status, Status::not_a_number);
    EXPECT_EQ(form.report.column, 2);
    Dense<T> X = A;
    const Report inverse = RowReduction<T>().invert(X);
    EXPECT_EQ(inverse.status, Status::not_a_number);
    EXPECT_EQ(inverse.row, 4);
    EXPECT_EQ(inverse.column, 2);
    Dense<T> b(Device(), 6, 1);
    for (std::int64_t i = 0; i < 6; ++i) b[i] = T{1};
    EXPECT_EQ(RowReduction<T>().solve(MatrixRef<T>(A.view()), b).report.status, Status::not_a_number);
    b[3] = bad;
    const Dense<T> finite = dense<T>(random_entries(6, 6, 242));
    EXPECT_EQ(RowReduction<T>().solve(MatrixRef<T>(finite.view()), b).report.status, Status::not_a_number);
  }
}

TYPED_TEST(ComplexElimination, ZeroLines_LowerTheRank) {
  using T = TypeParam;
  Entries entries = random_entries(12, 9, 251);
  for (std::int64_t j = 0; j < 9; ++j) entries(3, j) = 0;
  for (std::int64_t i = 0; i < 12; ++i) entries(i, 0) = entries(i, 7) = 0;
  const EchelonForm<T> form = RowReduction<T>().reduce(dense<T>(entries));
  EXPECT_EQ(form.facts.rank, 7);
  EXPECT_EQ(form.pivot_columns.front(), 1);
  EXPECT_EQ(RowReduction<T>().reduce(dense<T>(Entries(4, 6))).facts.rank, 0);
}

/// Rows and columns over 10^+-150, and a matrix whose elements are all tiny or all huge.
TYPED_TEST(ComplexElimination, BadlyScaledMatrices_HaveFullRank) {
  if constexpr (std::is_same_v<TypeParam, std::complex<double>>) {
    using T = TypeParam;
    const auto scaled = [](Entries A, int rows, int columns) {
      for (std::int64_t i = 0; i < A.rows; ++i) {
        for (std::int64_t j = 0; j < A.columns; ++j) {
          const auto exponent = static_cast<int>((i % 5 - 2) * rows / 2 + (j % 3 - 1) * columns);
          A(i, j) = {std::ldexp(A(i, j).real(), exponent), std::ldexp(A(i, j).imag(), exponent)};
        }
      }
      return A;
    };
    for (const Entries& entries :
         {scaled(random_entries(30, 30, 261), 498, 0), scaled(random_entries(30, 30, 262), 0, 498),
          scaled(random_entries(30, 30, 263), 300, -400)}) {
      const Dense<T> A = dense<T>(entries);
      EXPECT_EQ(RowReduction<T>().reduce(A).facts.rank, 30);
      const Vector b = product(entries, Vector(30, Exact(1, -1)));
      for (const char* method : {"gauss-jordan", "lu"}) {
        Solver<T> solver = this->make(method, Device::serial());
        ASSERT_TRUE(solver.setup(A.view()).ready()) << method;
        Dense<T> x(Device(), 30, 1);
        const Report report = solver.solve(column<T>(b), x);
        EXPECT_TRUE(report.solved()) << report.message;
        EXPECT_LT(report.backward_error, 100 * epsilon<T>) << method;
      }
    }
    for (const int exponent : {-990, 990}) {
      Entries entries = random_entries(8, 8, 264);
      for (Exact& value : entries.values)
        value = {std::ldexp(value.real(), exponent), std::ldexp(value.imag(), exponent)};
      Dense<T> X = dense<T>(entries);
      const EchelonForm<T> form = RowReduction<T>().reduce(X);
      EXPECT_EQ(form.facts.rank, 8) << exponent;
      EXPECT_EQ(RowReduction<T>().invert(X).status, Status::direct) << exponent;
    }
  }
}

TYPED_TEST(ComplexElimination, TinyImaginaryParts_DecideTheRank) {
  if constexpr (std::is_same_v<TypeParam, std::complex<double>>) {
    using T = TypeParam;
    Dense<T> A(Device(), 2, 2);
    A(0, 0) = A(1, 1) = T{0, 1e-300};
    A(0, 1) = A(1, 0) = T{0};
    EXPECT_EQ(RowReduction<T>().reduce(A).facts.rank, 2);
    Dense<T> X = A;
    ASSERT_EQ(RowReduction<T>().invert(X).status, Status::direct);
    EXPECT_LT(std::abs(X(0, 0) * 1e-300 - T{0, -1}), 1e-15);
    A(0, 0) = A(0, 1) = A(1, 0) = T{1};
    A(1, 1) = T{1, 1e-300};  // of rank 2 in exact arithmetic, and 1 to working precision
    EXPECT_EQ(RowReduction<T>().reduce(A).facts.rank, 1);
  }
}

TYPED_TEST(ComplexElimination, Systems_AnyShape_GetTheirStatus) {
  using T = TypeParam;
  for (const auto& [m, n, rank] : std::vector<Shape>{{1, 1, 1},
                                                     {1, 6, 1},
                                                     {6, 1, 1},
                                                     {25, 25, 25},
                                                     {25, 25, 11},
                                                     {40, 18, 18},
                                                     {18, 40, 18},
                                                     {40, 30, 9}}) {
    SCOPED_TRACE(std::to_string(m) + " by " + std::to_string(n) + " of rank " + std::to_string(rank));
    const Entries entries = of_rank(m, n, rank, static_cast<unsigned>(300 + m + n));
    const Dense<T> A = dense<T>(entries);
    const Vector b = product(entries, Random(5).vector(n));
    for (const Device& device : this->devices) {
      const GeneralSolution<T> solution = RowReduction<T>(device).solve(MatrixRef<T>(A.view()), column<T>(b));
      const Report& report = solution.report;
      EXPECT_EQ(report.status, rank == n ? Status::direct : Status::underdetermined) << report.message;
      EXPECT_EQ(solution.facts.rank, rank);
      Vector r = b;
      Vector x;
      for (std::int64_t j = 0; j < n; ++j) x.emplace_back(solution.X[j].real(), solution.X[j].imag());
      const Vector Ax = product(entries, x);
      for (std::size_t i = 0; i < r.size(); ++i) r[i] -= Ax[i];
      EXPECT_LT(static_cast<double>(norm(r) / norm(b)), 1e5 * epsilon<T>);
      EXPECT_EQ(solution.null_space.columns(), n - rank);
      if (rank == m) continue;
      const Vector other = Random(6).vector(m);
      const Report contradiction =
          RowReduction<T>(device).solve(MatrixRef<T>(A.view()), column<T>(other)).report;
      EXPECT_EQ(contradiction.status, Status::inconsistent) << contradiction.message;
      EXPECT_TRUE(contradiction.row.has_value());
    }
    const Dense<T> zero = column<T>(Vector(static_cast<std::size_t>(m)));
    const GeneralSolution<T> trivial = RowReduction<T>().solve(MatrixRef<T>(A.view()), zero);
    EXPECT_TRUE(trivial.report.solved());
    EXPECT_EQ(norm2<T>(trivial.X), 0);
  }
}

/// Columns whose dependence is open do not prove that equations contradict each other.
TYPED_TEST(ComplexElimination, DoubtfulRank_DoesNotMakeSystemsInconsistent) {
  using T = TypeParam;
  Entries hilbert(14, 14);
  for (std::int64_t i = 0; i < 14; ++i) {
    for (std::int64_t j = 0; j < 14; ++j) hilbert(i, j) = Exact(0, 1) / static_cast<long double>(i + j + 1);
  }
  const Dense<T> A = dense<T>(hilbert);
  const GeneralSolution<T> found =
      RowReduction<T>().solve(MatrixRef<T>(A.view()), column<T>(Random(9).vector(14)));
  EXPECT_TRUE(found.facts.doubtful);
  EXPECT_NE(found.report.status, Status::inconsistent) << found.report.message;
  EXPECT_FALSE(found.report.solved()) << found.report.message;
}

TYPED_TEST(ComplexElimination, GaussJordan_TransposeAndAdjoint_Differ) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 32, 90}) {
    const Entries entries = random_entries(n, n, static_cast<unsigned>(310 + n));
    for (const Operation operation : {Operation::none, Operation::transpose, Operation::adjoint}) {
      Solver<T> solver = this->make("gauss-jordan", Device::openmp(2));
      const Dense<T> A = dense<T>(entries);
      ASSERT_TRUE(solver.setup(A.view()).ready());
      const Vector b = Random(7).vector(n);
      Dense<T> x(Device(), n, 1);
      ASSERT_TRUE(solver.solve(column<T>(b), x, {.operation = operation}).solved());
      EXPECT_LT(relative_error(x, solution(operate(operation, entries), b)), this->largest_error);
    }
  }
}

TYPED_TEST(ComplexElimination, OtherPrecisionsAndDevices_AreRefused) {
  using T = TypeParam;
  EXPECT_THROW(RowReduction<T>(Device(), {.factor_precision = Precision::single}), BadOption);
  EXPECT_THROW(static_cast<void>(this->make("gauss-jordan", Device(), {{"factor_precision", "single"}})),
               BadOption);
  EXPECT_THROW(RowReduction<T>(Device::cuda()), Error);
}

}  // namespace
}  // namespace echelon::test
