// SPDX-License-Identifier: BSD-3-Clause
/// Least squares and solutions of least norm with complex matrices of any shape.
#include "scalars/complex_systems.hpp"

namespace echelon::test {
namespace {

template <class T>
class ComplexLeastSquares : public ComplexSystems<T> {
 protected:
  static constexpr double tolerance = std::is_same_v<Real<T>, double> ? 1e-8 : 2e-3;
};
TYPED_TEST_SUITE(ComplexLeastSquares, ComplexTypes);

/// The x of least ||b - A x||^2 + d^2 ||x||^2, or of least norm for a wide A of full rank, by the normal
/// equations in long double.
Vector least_squares(const Entries& A, const Vector& b, long double damping = 0) {
  const Entries adjoint = operate(Operation::adjoint, A);
  const bool wide = A.rows < A.columns && damping == 0;
  Entries normal = wide ? product(A, adjoint) : product(adjoint, A);
  for (std::int64_t i = 0; i < normal.rows; ++i) normal(i, i) += damping * damping;
  return wide ? product(adjoint, solution(normal, b)) : solution(normal, product(adjoint, b));
}

constexpr const char* iterative_methods[] = {"cgls", "lsmr", "lsqr"};

TYPED_TEST(ComplexLeastSquares, AnyShape_LeastResidualOrNorm) {
  using T = TypeParam;
  for (const auto& [m, n] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 1}, {1, 9}, {9, 1}, {33, 12}, {12, 33}, {120, 40}, {40, 120}}) {
    const Entries entries = random_entries(m, n, static_cast<unsigned>(400 + m + n));
    const Vector b = Random(8).vector(m);
    const Vector expected = least_squares(entries, b);
    const Csr<T> csr = sparse<T>(entries);
    const Dense<T> full = dense<T>(entries);
    for (const Device& device : this->devices) {
      for (const char* method : {"cgls", "lsmr", "lsqr", "craig"}) {
        if (m > n && method == std::string("craig")) continue;  // for consistent systems
        for (const bool as_sparse : {true, false}) {
          SCOPED_TRACE(std::string(method) + ", " + std::to_string(m) + " by " + std::to_string(n));
          Solver<T> solver = this->make(method, device);
          ASSERT_TRUE(solver.setup(as_sparse ? MatrixRef<T>(csr) : MatrixRef<T>(full.view())).ready());
          Dense<T> x(Device(), n, 1);
          const Report report = this->solve(solver, b, x);
          EXPECT_TRUE(report.solved()) << report.message;
          EXPECT_LT(relative_error(x, expected), this->tolerance);
        }
      }
    }
  }
}

/// A^H and A^T have other null spaces: with v = (1, i), A^T r = 0 would end the iteration at once.
TYPED_TEST(ComplexLeastSquares, IsotropicColumn_IsSolved) {
  using T = TypeParam;
  Entries entries(2, 1);
  entries(0, 0) = 1;
  entries(1, 0) = Exact(0, 1);
  const Dense<T> A = dense<T>(entries);
  const Vector b = {Exact(2, 1), Exact(0, 3)};
  for (const char* method : iterative_methods) {
    Solver<T> solver = this->make(method, Device());
    ASSERT_TRUE(solver.setup(A.view()).ready());
    Dense<T> x(Device(), 1, 1);
    EXPECT_TRUE(this->solve(solver, b, x).solved()) << method;
    EXPECT_LT(relative_error(x, least_squares(entries, b)), 10 * epsilon<T>) << method;
  }
}

TYPED_TEST(ComplexLeastSquares, Damping_AddsItsSquare) {
  using T = TypeParam;
  for (const auto& [m, n] : std::vector<std::pair<std::int64_t, std::int64_t>>{{30, 14}, {14, 30}}) {
    const Entries entries = random_entries(m, n, static_cast<unsigned>(430 + m));
    const Dense<T> A = dense<T>(entries);
    const Vector b = Random(9).vector(m);
    for (const char* method : iterative_methods) {
      for (const char* scaled : {"true", "false"}) {
        Solver<T> solver = this->make(method, Device(), {{"damping", 0.75}, {"scale_columns", scaled}});
        ASSERT_TRUE(solver.setup(A.view()).ready());
        Dense<T> x(Device(), n, 1);
        EXPECT_TRUE(this->solve(solver, b, x).solved()) << method;
        EXPECT_LT(relative_error(x, least_squares(entries, b, 0.75L)), this->tolerance) << method;
      }
    }
  }
}

TYPED_TEST(ComplexLeastSquares, Operator_GivesTheTransposedProduct) {
  using T = TypeParam;
  const Entries entries = random_entries(25, 10, 441);
  const Dense<T> A = dense<T>(entries);
  const auto multiply = [&](const Entries& of, const T* x, T* y) {
    Vector v;
    for (std::int64_t j = 0; j < of.columns; ++j) v.emplace_back(x[j].real(), x[j].imag());
    const Vector result = product(of, v);
    for (std::size_t i = 0; i < result.size(); ++i) y[i] = rounded<T>(result[i]);
  };
  const Entries transpose = operate(Operation::transpose, entries);
  const LinearOperator<T> op(
      25, 10, [&](const T* x, T* y) { multiply(entries, x, y); },
      [&](const T* x, T* y) { multiply(transpose, x, y); });
  const Vector b = Random(3).vector(25);
  for (const char* method : iterative_methods) {
    Solver<T> solver = this->make(method, Device());
    ASSERT_TRUE(solver.setup(MatrixRef<T>(op)).ready());
    Dense<T> x(Device(), 10, 1);
    const Report report = this->solve(solver, b, x);
    EXPECT_TRUE(report.solved()) << method << ": " << report.message;
    EXPECT_LT(relative_error(x, least_squares(entries, b)), this->tolerance) << method;
  }
}

TYPED_TEST(ComplexLeastSquares, ZeroLinesAndDependentColumns_LeastResidual) {
  using T = TypeParam;
  Entries entries = random_entries(30, 8, 451);
  for (std::int64_t i = 0; i < 30; ++i) {
    entries(i, 6) = Exact(0, 1) * entries(i, 2);  // dependent, with a complex factor
    entries(i, 7) = 0;
  }
  for (std::int64_t j = 0; j < 8; ++j) entries(11, j) = 0;
  Entries independent(30, 6);
  for (std::int64_t i = 0; i < 30; ++i) {
    for (std::int64_t j = 0; j < 6; ++j) independent(i, j) = entries(i, j);
  }
  const Vector b = Random(4).vector(30);
  Vector least = b;
  const Vector Ay = product(independent, least_squares(independent, b));
  for (std::size_t i = 0; i < b.size(); ++i) least[i] -= Ay[i];
  const Csr<T> A = sparse<T>(entries);
  for (const char* method : iterative_methods) {
    Solver<T> solver = this->make(method, Device());
    ASSERT_TRUE(solver.setup(A).ready());
    Dense<T> x(Device(), 8, 1);
    const Report report = this->solve(solver, b, x);
    EXPECT_TRUE(report.solved()) << method << ": " << report.message;
    EXPECT_NEAR(report.residual_norm, static_cast<double>(norm(least)), this->tolerance) << method;
    EXPECT_EQ(x[7], T{0}) << method;
  }
}

TYPED_TEST(ComplexLeastSquares, EmptyAndZeroSystems) {
  using T = TypeParam;
  const Dense<T> A = dense<T>(random_entries(7, 4, 461));
  for (const char* method : {"cgls", "lsmr", "lsqr", "craig"}) {
    Solver<T> solver = this->make(method, Device());
    ASSERT_TRUE(solver.setup(A.view()).ready());
    Dense<T> x = column<T>(Random(1).vector(4));
    const Report report = this->solve(solver, Vector(7), x);
    EXPECT_TRUE(report.solved()) << method;
    EXPECT_EQ(norm2<T>(x), 0) << method;
    for (const auto& [m, n] : std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 3}, {3, 0}, {0, 0}}) {
      const Dense<T> empty(Device(), m, n);
      ASSERT_TRUE(solver.setup(empty.view()).ready()) << method;
      Dense<T> none(Device(), n, 1);
      EXPECT_TRUE(this->solve(solver, Vector(static_cast<std::size_t>(m)), none).solved()) << method;
    }
  }
}

TYPED_TEST(ComplexLeastSquares, BadlyScaledColumns_AreSolved) {
  if constexpr (std::is_same_v<TypeParam, std::complex<double>>) {
    using T = TypeParam;
    Entries entries = random_entries(40, 10, 471);
    for (std::int64_t j = 0; j < 10; ++j) {
      const auto exponent = static_cast<int>((j % 5 - 2) * 249);  // 10^+-150
      for (std::int64_t i = 0; i < 40; ++i)
        entries(i, j) = {std::ldexp(entries(i, j).real(), exponent),
                         std::ldexp(entries(i, j).imag(), exponent)};
    }
    const Dense<T> A = dense<T>(entries);
    const Vector b = Random(2).vector(40);
    const Vector expected = least_squares(entries, b);
    for (const char* method : iterative_methods) {
      Solver<T> solver = this->make(method, Device());
      ASSERT_TRUE(solver.setup(A.view()).ready());
      Dense<T> x(Device(), 10, 1);
      EXPECT_TRUE(this->solve(solver, b, x).solved()) << method;
      for (std::int64_t j = 0; j < 10; ++j) {
        const Exact exact = expected[static_cast<std::size_t>(j)];
        EXPECT_LT(static_cast<double>(std::abs(Exact(x[j].real(), x[j].imag()) - exact) / std::abs(exact)),
                  1e-8)
            << method << ", column " << j;
      }
    }
  }
}

/// Factors of the augmented matrix in double, for every shape and both forms.
TYPED_TEST(ComplexLeastSquares, Augmented_LeastResidualOrNorm) {
  using T = TypeParam;
  for (const auto& [m, n] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 1}, {1, 9}, {9, 1}, {12, 12}, {33, 12}, {12, 33}, {120, 40}, {40, 120}}) {
    const Entries entries = random_entries(m, n, static_cast<unsigned>(480 + m + n));
    const Vector b = Random(8).vector(m);
    const Csr<T> csr = sparse<T>(entries);
    const Dense<T> full = dense<T>(entries);
    for (const Device& device : this->devices) {
      for (const bool as_sparse : {true, false}) {
        SCOPED_TRACE(std::to_string(m) + " by " + std::to_string(n));
        Solver<T> solver = this->make("augmented", device);
        const Report setup = solver.setup(as_sparse ? MatrixRef<T>(csr) : MatrixRef<T>(full.view()));
        ASSERT_TRUE(setup.ready()) << setup.message;
        Dense<T> x(Device(), n, 1);
        const Report report = this->solve(solver, b, x);
        EXPECT_TRUE(report.solved()) << report.message;
        EXPECT_EQ(report.rank.value_or(std::min(m, n)), std::min(m, n));
        EXPECT_LT(relative_error(x, least_squares(entries, b)), 1000 * epsilon<T>);
      }
    }
  }
}

TYPED_TEST(ComplexLeastSquares, Augmented_DampingAndRank) {
  using T = TypeParam;
  const Vector b = Random(5).vector(30);
  Entries entries = random_entries(30, 8, 491);
  const Csr<T> full_rank = sparse<T>(entries);
  Dense<T> x(Device(), 8, 1);
  for (const char* const method : {"augmented", "sparse-qr"}) {
    Solver<T> damped = this->make(method, Device(), {{"damping", 0.75}});
    ASSERT_TRUE(damped.setup(full_rank).ready());
    EXPECT_TRUE(this->solve(damped, b, x).solved());
    EXPECT_LT(relative_error(x, least_squares(entries, b, 0.75L)), 1000 * epsilon<T>);
  }

  // Two columns that differ by a factor of i: of all x of least residual, that of least norm.
  for (std::int64_t i = 0; i < 30; ++i) entries(i, 7) = Exact(0, 1) * entries(i, 2);
  Entries independent(30, 7);
  for (std::int64_t i = 0; i < 30; ++i) {
    for (std::int64_t j = 0; j < 7; ++j) independent(i, j) = entries(i, j);
  }
  Vector expected = least_squares(independent, b);
  expected.push_back(expected[2] * Exact(0, -0.5L));
  expected[2] *= 0.5L;
  Solver<T> solver = this->make("augmented", Device());
  const Csr<T> deficient = sparse<T>(entries);
  ASSERT_TRUE(solver.setup(deficient).ready());
  const Report report = this->solve(solver, b, x);
  EXPECT_EQ(report.status, Status::least_squares) << report.message;
  EXPECT_EQ(report.rank, 7);
  const double largest = std::is_same_v<Real<T>, double> ? 1e-7 : 1e-3;
  EXPECT_LT(relative_error(x, expected), largest);
}

TYPED_TEST(ComplexLeastSquares, Preconditioners_LeastResidual) {
  using T = TypeParam;
  Entries entries = random_entries(200, 12, 501);
  for (std::int64_t i = 0; i < 200; ++i) {  // nearly dependent columns
    for (std::int64_t j = 1; j < 12; ++j)
      entries(i, j) = Exact(rounded<T>(entries(i, j - 1) + Exact(0, 0.125L) * entries(i, j)));
  }
  const Csr<T> A = sparse<T>(entries);
  Vector b = product(entries, Random(6).vector(12));
  const Vector noise = Random(7).vector(200);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] += 1e-2L * noise[i];
  for (const char* method : iterative_methods) {
    for (const char* preconditioner : {"sketch", "ic0"}) {
      for (const double damping : {0.0, 0.125}) {
        SCOPED_TRACE(std::string(method) + ", " + preconditioner);
        Solver<T> solver =
            this->make(method, Device(), {{"preconditioner", preconditioner}, {"damping", damping}});
        const Report setup = solver.setup(A);
        ASSERT_TRUE(setup.ready()) << setup.message;
        Dense<T> x(Device(), 12, 1);
        const Report report = this->solve(solver, b, x);
        EXPECT_TRUE(report.solved()) << report.message;
        EXPECT_LT(report.iterations, 80);
        EXPECT_LT(relative_error(x, least_squares(entries, b, damping)), 10 * this->tolerance);
      }
    }
  }
}

/// The multipliers, too, by the equations of the minimum in long double.
TYPED_TEST(ComplexLeastSquares, WeightsAndConstraints) {
  using T = TypeParam;
  const std::int64_t m = 40;
  const std::int64_t n = 12;
  const std::int64_t p = 3;
  const Entries A = random_entries(m, n, 511);
  const Entries C = random_entries(p, n, 512);
  const Vector b = Random(1).vector(m);
  const Vector d = Random(2).vector(p);
  std::vector<double> weights;
  for (std::int64_t i = 0; i < m; ++i) weights.push_back(i % 5 == 0 ? 0 : std::pow(4.0, i % 4 - 2));
  Entries weighted = A;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) weighted(i, j) *= weights[static_cast<std::size_t>(i)];
  }
  const Entries normal = product(operate(Operation::adjoint, A), weighted);
  Entries K(n + p, n + p);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) K(i, j) = normal(i, j);
    for (std::int64_t j = 0; j < p; ++j) {
      K(i, n + j) = std::conj(C(j, i));
      K(n + j, i) = C(j, i);
    }
  }
  Vector rhs = product(operate(Operation::adjoint, weighted), b);
  rhs.insert(rhs.end(), d.begin(), d.end());
  const Vector expected = solution(K, rhs);

  const Csr<T> sparse_A = sparse<T>(A);
  const Dense<T> dense_C = dense<T>(C);
  const std::vector<T> b_rounded = column<T>(b).to_vector();
  const std::vector<T> d_rounded = column<T>(d).to_vector();
  const auto found = constrained_least_squares<T>(
      {.A = sparse_A, .b = b_rounded, .C = dense_C.view(), .d = d_rounded, .weights = weights});
  ASSERT_TRUE(found.report.solved()) << found.report.message;
  ASSERT_EQ(std::ssize(found.multipliers), p);
  const double largest = 1e4 * epsilon<T>;
  for (std::int64_t j = 0; j < n + p; ++j) {
    const T value =
        j < n ? found.x[static_cast<std::size_t>(j)] : found.multipliers[static_cast<std::size_t>(j - n)];
    const Exact error = Exact(value) - expected[static_cast<std::size_t>(j)];
    EXPECT_LT(static_cast<double>(std::abs(error)), largest) << j;
  }
  EXPECT_LT(found.constraint_error, 10 * epsilon<T>);
  EXPECT_LT(found.gradient_error, 1000 * epsilon<T>);
}

}  // namespace
}  // namespace echelon::test
