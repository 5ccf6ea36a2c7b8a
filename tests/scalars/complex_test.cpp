// SPDX-License-Identifier: BSD-3-Clause
/// Products, vector operations and methods for complex matrices, compared with sums and eliminations in long
/// double.
#include <echelon/echelon.hpp>

#include <gtest/gtest.h>
#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace echelon::test {
namespace {

using Exact = std::complex<long double>;
using Vector = std::vector<Exact>;

/// A matrix in long double, row by row.
struct Entries {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  Vector values;

  Entries(std::int64_t m, std::int64_t n) : rows(m), columns(n), values(static_cast<std::size_t>(m * n)) {}
  Exact& operator()(std::int64_t i, std::int64_t j) {
    return values[static_cast<std::size_t>(i * columns + j)];
  }
  Exact operator()(std::int64_t i, std::int64_t j) const {
    return values[static_cast<std::size_t>(i * columns + j)];
  }
};

Entries operate(Operation operation, const Entries& A) {
  if (operation == Operation::none) return A;
  Entries result(A.columns, A.rows);
  for (std::int64_t i = 0; i < A.rows; ++i) {
    for (std::int64_t j = 0; j < A.columns; ++j)
      result(j, i) = operation == Operation::adjoint ? std::conj(A(i, j)) : A(i, j);
  }
  return result;
}

Vector product(const Entries& A, const Vector& x) {
  Vector y(static_cast<std::size_t>(A.rows));
  for (std::int64_t i = 0; i < A.rows; ++i) {
    for (std::int64_t j = 0; j < A.columns; ++j)
      y[static_cast<std::size_t>(i)] += A(i, j) * x[static_cast<std::size_t>(j)];
  }
  return y;
}

/// A^-1 b by elimination with partial pivoting.
Vector solution(Entries A, Vector b) {
  const std::int64_t n = A.rows;
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k; i < n; ++i) pivot = std::abs(A(i, k)) > std::abs(A(pivot, k)) ? i : pivot;
    for (std::int64_t j = 0; j < n; ++j) std::swap(A(k, j), A(pivot, j));
    std::swap(b[static_cast<std::size_t>(k)], b[static_cast<std::size_t>(pivot)]);
    for (std::int64_t i = k + 1; i < n; ++i) {
      const Exact factor = A(i, k) / A(k, k);
      for (std::int64_t j = k; j < n; ++j) A(i, j) -= factor * A(k, j);
      b[static_cast<std::size_t>(i)] -= factor * b[static_cast<std::size_t>(k)];
    }
  }
  for (std::int64_t i = n; i-- > 0;) {
    Exact& x = b[static_cast<std::size_t>(i)];
    for (std::int64_t j = i + 1; j < n; ++j) x -= A(i, j) * b[static_cast<std::size_t>(j)];
    x /= A(i, i);
  }
  return b;
}

/// Numbers that double and float represent.
class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  Exact operator()() { return {part(), part()}; }
  Vector vector(std::int64_t n) {
    Vector x(static_cast<std::size_t>(n));
    for (Exact& element : x) element = (*this)();
    return x;
  }

 private:
  long double part() { return static_cast<float>(std::uniform_real_distribution<float>(-1, 1)(engine_)); }
  std::mt19937 engine_;
};

Entries random_entries(std::int64_t m, std::int64_t n, unsigned seed) {
  Random random(seed);
  Entries A(m, n);
  for (Exact& value : A.values) value = random();
  return A;
}

/// Hermitian, diagonally dominant, with about `per_row` elements a row off the diagonal.
Entries random_hermitian(std::int64_t n, std::int64_t per_row, unsigned seed) {
  Random random(seed);
  std::mt19937 engine(seed);
  Entries A(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t k = 0; k < per_row / 2; ++k) {
      const auto j = static_cast<std::int64_t>(engine() % static_cast<unsigned>(n));
      if (i == j) continue;
      A(i, j) = random();
      A(j, i) = std::conj(A(i, j));
    }
  }
  for (std::int64_t i = 0; i < n; ++i) {
    long double sum = 0;
    for (std::int64_t j = 0; j < n; ++j) sum += i == j ? 0 : std::abs(A(i, j));
    A(i, i) = std::ceil(sum) + 1;
  }
  return A;
}

/// The Laplacian of a grid of side by side vertices in a magnetic field: an edge has a phase, which its
/// reverse has conjugated. `hermitian`: false for equal phases in both directions.
Entries magnetic_laplacian(std::int64_t side, double flux, bool hermitian = true) {
  Entries A(side * side, side * side);
  const auto connect = [&](std::int64_t i, std::int64_t j, double angle) {
    const std::complex<float> phase = std::polar(1.0F, static_cast<float>(angle));
    A(i, j) = -Exact(phase.real(), phase.imag());
    A(j, i) = hermitian ? std::conj(A(i, j)) : A(i, j);
  };
  for (std::int64_t y = 0; y < side; ++y) {
    for (std::int64_t x = 0; x < side; ++x) {
      const std::int64_t i = x + side * y;
      A(i, i) = 4;
      if (x + 1 < side) connect(i, i + 1, flux * static_cast<double>(y));
      if (y + 1 < side) connect(i, i + side, hermitian ? 0 : flux);
    }
  }
  return A;
}

template <class T>
T rounded(Exact value) {
  return {static_cast<Real<T>>(value.real()), static_cast<Real<T>>(value.imag())};
}

template <class T>
Csr<T> sparse(const Entries& A) {
  std::vector<Triplet<T>> triplets;
  for (std::int64_t i = 0; i < A.rows; ++i) {
    for (std::int64_t j = 0; j < A.columns; ++j) {
      if (A(i, j) == Exact(0)) continue;
      triplets.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), rounded<T>(A(i, j))});
    }
  }
  return Csr<T>::from_triplets(A.rows, A.columns, triplets);
}

template <class T>
Dense<T> dense(const Entries& A) {
  return to_dense<T>(sparse<T>(A));
}

template <class T>
Dense<T> column(const Vector& x) {
  Dense<T> result(Device(), std::ssize(x), 1);
  for (std::size_t i = 0; i < x.size(); ++i) result[static_cast<std::int64_t>(i)] = rounded<T>(x[i]);
  return result;
}

long double norm(const Vector& x) {
  long double square = 0;
  for (const Exact& element : x) square += std::norm(element);
  return std::sqrt(square);
}

/// ||x - expected||_2 / ||expected||_2, or ||x||_2 for expected = 0.
template <class T>
double relative_error(const T* x, const Vector& expected) {
  Vector difference = expected;
  for (std::size_t i = 0; i < expected.size(); ++i) difference[i] -= Exact(x[i].real(), x[i].imag());
  const long double size = norm(expected);
  return static_cast<double>(size > 0 ? norm(difference) / size : norm(difference));
}
template <class T>
double relative_error(const Dense<T>& x, const Vector& expected) {
  return relative_error(x.data(), expected);
}

template <class T>
constexpr double epsilon = static_cast<double>(std::numeric_limits<Real<T>>::epsilon());

template <class T>
class ComplexScalars : public testing::Test {
 protected:
  static constexpr double rtol = std::is_same_v<Real<T>, double> ? 1e-13 : 1e-6;
  static constexpr double largest_error = std::is_same_v<Real<T>, double> ? 1e-11 : 1e-4;
  const std::vector<Device> devices = {Device::serial(), Device::openmp(2)};

  static Solver<T> make(const std::string& method, const Device& device, Options options = {}) {
    return make_solver<T>(method, device, options);
  }
  static Report solve(Solver<T>& solver, const Vector& b, Dense<T>& x, Control control = {}) {
    control.rtol = rtol;
    return solver.solve(column<T>(b), x, control);
  }
  /// Solves and compares with the solution in long double.
  static void expect_solves(Solver<T>& solver, MatrixRef<T> A, const Entries& entries,
                            Operation operation = Operation::none) {
    ASSERT_TRUE(solver.setup(A).ready());
    const Vector b = Random(7).vector(entries.rows);
    Dense<T> x(Device(), entries.rows, 1);
    const Report report = solve(solver, b, x, {.operation = operation});
    EXPECT_EQ(report.status, Status::converged) << report.message;
    EXPECT_LT(relative_error(x, solution(operate(operation, entries), b)), largest_error);
  }
};
#ifdef ECHELON_COMPLEX_FLOAT
using ComplexTypes = testing::Types<std::complex<double>, std::complex<float>>;
#else
using ComplexTypes = testing::Types<std::complex<double>>;
#endif
TYPED_TEST_SUITE(ComplexScalars, ComplexTypes);

TYPED_TEST(ComplexScalars, CgSolvesHermitianSystems) {
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

TYPED_TEST(ComplexScalars, JacobiSolvesDominantSystems) {
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

TYPED_TEST(ComplexScalars, Cg_TransposeAndAdjoint_AreSolved) {
  using T = TypeParam;
  const Entries entries = magnetic_laplacian(9, 0.7);
  const Csr<T> A = sparse<T>(entries);
  for (const Operation operation : {Operation::transpose, Operation::adjoint}) {
    Solver<T> cg = this->make("cg", Device::openmp(2));
    this->expect_solves(cg, A, entries, operation);
  }
}

TYPED_TEST(ComplexScalars, SeveralColumnsAndGuessesConverge) {
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

TYPED_TEST(ComplexScalars, OperatorsAndUserPreconditionersWork) {
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

TYPED_TEST(ComplexScalars, SystemsFarFromOne_Converge) {
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

TYPED_TEST(ComplexScalars, ProductsOfEachOperation) {
  using T = TypeParam;
  const T alpha = {2, -1};
  const T beta = {-1, 3};
  const Exact exact_alpha(2, -1);
  const Exact exact_beta(-1, 3);
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {7, 12}, {300, 290}}) {
    const Entries entries = random_entries(m, n, 5);
    const Csr<T> A = sparse<T>(entries);
    const Dense<T> D = dense<T>(entries);
    const DenseView<const T> by_row = transposed(DenseView<const T>(D));  // of the transpose
    for (const Operation operation : {Operation::none, Operation::transpose, Operation::adjoint}) {
      const Entries op = operate(operation, entries);
      for (const std::int64_t columns : {1, 3}) {
        std::vector<Vector> x;
        std::vector<Vector> y;
        Dense<T> X(Device(), op.columns, columns);
        Dense<T> Y(Device(), op.rows, columns);
        Random random(9);
        for (std::int64_t c = 0; c < columns; ++c) {
          x.push_back(random.vector(op.columns));
          y.push_back(random.vector(op.rows));
          for (std::int64_t j = 0; j < op.columns; ++j)
            X(j, c) = rounded<T>(x.back()[static_cast<std::size_t>(j)]);
          for (std::int64_t i = 0; i < op.rows; ++i)
            Y(i, c) = rounded<T>(y.back()[static_cast<std::size_t>(i)]);
        }
        Dense<T> of_sparse = Y;
        Dense<T> of_dense = Y;
        Dense<T> of_rows = Y;
        multiply<T>(operation, alpha, A, X, beta, of_sparse);
        multiply<T>(operation, alpha, MatrixRef<T>(D.view()), X, beta, of_dense);
        if (operation == Operation::none) multiply<T>(Operation::transpose, alpha, by_row, X, beta, of_rows);
        if (operation == Operation::transpose) multiply<T>(Operation::none, alpha, by_row, X, beta, of_rows);
        for (std::int64_t c = 0; c < columns; ++c) {
          Vector expected = product(op, x[static_cast<std::size_t>(c)]);
          for (std::size_t i = 0; i < expected.size(); ++i)
            expected[i] = exact_alpha * expected[i] + exact_beta * y[static_cast<std::size_t>(c)][i];
          const double limit = 20 * epsilon<T>;
          EXPECT_LT(relative_error(of_sparse.view().column(c), expected), limit);
          EXPECT_LT(relative_error(of_dense.view().column(c), expected), limit);
          if (operation == Operation::adjoint) continue;
          EXPECT_LT(relative_error(of_rows.view().column(c), expected), limit);
        }
      }
    }
  }
}

TYPED_TEST(ComplexScalars, DotConjugatesItsFirstArgument) {
  using T = TypeParam;
  for (const std::int64_t n : {0, 1, 31, 5000}) {
    const Vector x = Random(1).vector(n);
    const Vector y = Random(2).vector(n);
    Exact expected = 0;
    Exact total = 0;
    long double one = 0;
    long double largest = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      expected += std::conj(x[i]) * y[i];
      total += x[i];
      one += std::abs(x[i]);
      largest = std::max(largest, std::abs(x[i]));
    }
    const Dense<T> X = column<T>(x);
    const Dense<T> Y = column<T>(y);
    const std::complex<double> found = dot<T>(X, Y);
    EXPECT_LT(std::abs(Exact(found.real(), found.imag()) - expected), 1e-12 * (norm(x) * norm(y) + 1));
    EXPECT_EQ(found, std::conj(dot<T>(Y, X)));
    const std::complex<double> summed = sum<T>(X);
    EXPECT_LT(std::abs(Exact(summed.real(), summed.imag()) - total), 1e-12 * (one + 1));
    EXPECT_NEAR(norm2<T>(X), static_cast<double>(norm(x)), 1e-12 * static_cast<double>(norm(x)));
    EXPECT_NEAR(norm1<T>(X), static_cast<double>(one), 1e-12 * static_cast<double>(one));
    Context context{Device()};
    EXPECT_NEAR(norm_inf<T>(context, X), static_cast<double>(largest), 1e-15);
    Dense<T> Z = Y;
    axpy<T>(T{0, 2}, X, Z);
    Vector moved = y;
    for (std::size_t i = 0; i < x.size(); ++i) moved[i] += Exact(0, 2) * x[i];
    EXPECT_LT(relative_error(Z, moved), 4 * epsilon<T>);
  }
}

TYPED_TEST(ComplexScalars, MatricesConvertAndSumDuplicates) {
  using T = TypeParam;
  const Csr<T> A = Csr<T>::from_triplets(2, 3, {{0, 1, T{1, 2}}, {1, 2, T{0, -1}}, {0, 1, T{3, 4}}});
  const Dense<T> D = to_dense<T>(A);
  EXPECT_EQ(D(0, 1), (T{4, 6}));
  EXPECT_EQ(to_dense<T>(transpose(A))(2, 1), (T{0, -1}));
  EXPECT_EQ(to_csr<T>(MatrixRef<T>(D.view())).nonzeros(), 2);
  EXPECT_EQ(to_csr<T>(to_coo<T>(A)).values()[0], (T{4, 6}));
}

TYPED_TEST(ComplexScalars, Cg_NotHermitian_Refused) {
  using T = TypeParam;
  Entries imaginary_diagonal = magnetic_laplacian(6, 0.2);
  imaginary_diagonal(8, 8) += Exact(0, 0.5L);
  const Entries symmetric = magnetic_laplacian(6, 0.4, false);
  for (const char* method : {"cg", "minres"}) {
    Solver<T> solver = this->make(method, Device::serial());
    const Csr<T> A = sparse<T>(imaginary_diagonal);
    const Report report = solver.setup(A);
    EXPECT_EQ(report.status, method == std::string("cg") ? Status::not_spd : Status::breakdown);
    EXPECT_EQ(report.row, 8);
    EXPECT_NE(report.message.find("not Hermitian"), std::string::npos) << report.message;
    const Dense<T> S = dense<T>(symmetric);
    EXPECT_NE(solver.setup(S.view()).message.find("cocg"), std::string::npos);
  }
}

TYPED_TEST(ComplexScalars, Cg_OperatorThatIsNotHermitian_IsNotSolved) {
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

TYPED_TEST(ComplexScalars, EmptyAndZeroSystems) {
  using T = TypeParam;
  for (const char* method :
       {"auto", "bicgstab", "cg", "cocg", "gmres", "jacobi", "lu", "minres", "sparse-lu"}) {
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

TYPED_TEST(ComplexScalars, NotANumber_InAnImaginaryPart_IsFound) {
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

TYPED_TEST(ComplexScalars, Jacobi_WithoutADiagonal_BreaksDown) {
  using T = TypeParam;
  const Csr<T> A = Csr<T>::from_triplets(2, 2, {{0, 0, T{0, 1}}, {1, 0, T{1, 0}}});
  Solver<T> jacobi = this->make("jacobi", Device::serial());
  const Report report = jacobi.setup(A);
  EXPECT_EQ(report.status, Status::breakdown);
  EXPECT_EQ(report.row, 1);
}

TYPED_TEST(ComplexScalars, RealMethods_NameThoseForComplexMatrices) {
  using T = TypeParam;
  std::vector<std::string> names;
  for (const Method& method : methods()) {
    EXPECT_EQ(method.complex, static_cast<bool>(method.template maker<T>())) << method.name;
    if (method.complex) names.push_back(method.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"auto", "bicgstab", "cg", "cocg", "cocr", "cr", "gmres", "jacobi",
                                             "lu", "minres", "sparse-ldlt", "sparse-lu"}));
  const auto message_of = [](const std::string& method, const Options& options) {
    try {
      static_cast<void>(make_solver<T>(method, Device::serial(), options));
    } catch (const NotBuilt& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string names_both = "those for complex ones are auto, bicgstab, cg, cocg";
  EXPECT_NE(message_of("cholesky", {}).find("'cholesky' is for real matrices; " + names_both),
            std::string::npos);
  EXPECT_NE(message_of("cg", {{"preconditioner", "ic0"}}).find("'ic0' is for real matrices; " + names_both),
            std::string::npos);
  EXPECT_THROW(static_cast<void>(make_solver<T>("gc", Device::serial())), BadOption);
}

/// Complex symmetric: -Laplace u - k^2 (1 + i damping) u on a grid of side by side points.
Entries damped_helmholtz(std::int64_t side, double k_squared, double damping) {
  Entries A = magnetic_laplacian(side, 0);
  for (std::int64_t i = 0; i < A.rows; ++i)
    A(i, i) -= Exact(static_cast<float>(k_squared), static_cast<float>(k_squared * damping));
  return A;
}

/// Random, without symmetry or dominance, with about `per_row` elements a row.
Entries random_sparse(std::int64_t n, std::int64_t per_row, unsigned seed) {
  Random random(seed);
  std::mt19937 engine(seed);
  Entries A(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    A(i, (7 * i + 3) % n) = random() * 3.0L;  // so that the structural rank is full
    for (std::int64_t k = 1; k < per_row; ++k)
      A(i, static_cast<std::int64_t>(engine() % static_cast<unsigned>(n))) = random();
  }
  return A;
}

TYPED_TEST(ComplexScalars, DirectMethods_AnyRegularMatrix_Solve) {
  using T = TypeParam;
  const std::vector<Entries> systems = {random_entries(1, 1, 1),     random_entries(31, 31, 2),
                                        random_entries(70, 70, 3),   random_sparse(150, 4, 4),
                                        magnetic_laplacian(12, 0.3), damped_helmholtz(11, 2.5, 0.1),
                                        random_hermitian(200, 6, 5)};
  for (const Device& device : this->devices) {
    for (const char* method : {"lu", "sparse-lu", "auto"}) {
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

TYPED_TEST(ComplexScalars, DirectMethodsSolveSeveralColumns) {
  using T = TypeParam;
  const Entries entries = random_sparse(120, 5, 8);
  const Csr<T> A = sparse<T>(entries);
  for (const char* method : {"lu", "sparse-lu"}) {
    Solver<T> solver = this->make(method, Device::openmp(2));
    ASSERT_TRUE(solver.setup(A).ready());
    constexpr std::int64_t columns = 19;
    Dense<T> B(Device(), 120, columns);
    Dense<T> X(Device(), 120, columns);
    std::vector<Vector> b;
    for (std::int64_t c = 0; c < columns; ++c) {
      b.push_back(Random(static_cast<unsigned>(c)).vector(120));
      for (std::int64_t i = 0; i < 120; ++i) B(i, c) = rounded<T>(b.back()[static_cast<std::size_t>(i)]);
    }
    ASSERT_TRUE(solver.solve(B, X).solved());
    for (std::int64_t c = 0; c < columns; ++c) {
      const Vector exact = solution(entries, b[static_cast<std::size_t>(c)]);
      EXPECT_LT(relative_error(X.view().column(c), exact), this->largest_error) << method << " " << c;
    }
  }
}

TYPED_TEST(ComplexScalars, SparseLu_LargeFront_Solves) {
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

TYPED_TEST(ComplexScalars, SparseLdlt_SymmetricMatrix_Solves) {
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
        SCOPED_TRACE(device.name() + ", order " + std::to_string(entries.rows));
        Solver<T> solver = this->make("sparse-ldlt", device);
        const Csr<T> A = sparse<T>(entries);
        ASSERT_TRUE(solver.setup(A).ready());
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

TYPED_TEST(ComplexScalars, SparseLdlt_NotSymmetric_Refused) {
  using T = TypeParam;
  const Csr<T> A = sparse<T>(random_hermitian(20, 6, 91));
  Solver<T> solver = this->make("sparse-ldlt", Device::serial());
  const Report report = solver.setup(A);
  EXPECT_EQ(report.status, Status::breakdown);
  EXPECT_NE(report.message.find("not symmetric"), std::string::npos) << report.message;
  EXPECT_NE(report.message.find("sparse-lu"), std::string::npos) << report.message;
}

TYPED_TEST(ComplexScalars, SparseLdlt_Singular_TellsTheRank) {
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

TYPED_TEST(ComplexScalars, ConditionNumbersAreEstimated) {
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

TYPED_TEST(ComplexScalars, SingularMatrices_AreNamed) {
  using T = TypeParam;
  Entries dependent = random_entries(30, 30, 31);
  for (std::int64_t j = 0; j < 30; ++j) dependent(17, j) = Exact(0, 2) * dependent(4, j);
  Entries empty_row = random_sparse(30, 4, 32);
  for (std::int64_t j = 0; j < 30; ++j) empty_row(9, j) = 0;
  for (const Entries& entries : {dependent, empty_row}) {
    const Csr<T> A = sparse<T>(entries);
    for (const char* method : {"lu", "sparse-lu"}) {
      Solver<T> solver = this->make(method, Device::serial());
      const Report report = solver.setup(A);
      EXPECT_EQ(report.status, Status::singular) << method << ": " << report.message;
      if (method == std::string("sparse-lu")) {
        EXPECT_EQ(report.rank, 29);
      }
    }
  }
}

TYPED_TEST(ComplexScalars, BadlyScaledSystems_AreSolved) {
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
  for (const char* method : {"lu", "sparse-lu"}) {
    Solver<T> solver = this->make(method, Device::serial());
    ASSERT_TRUE(solver.setup(A).ready()) << method;
    Dense<T> x(Device(), 50, 1);
    const Report report = solver.solve(column<T>(b), x);
    EXPECT_TRUE(report.solved()) << report.message;
    EXPECT_LT(report.backward_error, 100 * epsilon<T>) << method;
  }
}

TYPED_TEST(ComplexScalars, TinyImaginaryParts_AreKept) {
  if constexpr (std::is_same_v<TypeParam, std::complex<double>>) {
    using T = TypeParam;
    const Csr<T> A = Csr<T>::from_triplets(
        2, 2, {{0, 0, T{1, 0}}, {0, 1, T{0, 1e-300}}, {1, 0, T{0, 1e-300}}, {1, 1, T{0, 1e-300}}});
    for (const char* method : {"lu", "sparse-lu"}) {
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

TYPED_TEST(ComplexScalars, KrylovMethodsSolveTheirSystems) {
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
                        {"cocg", symmetric, true}};
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

TYPED_TEST(ComplexScalars, Gmres_Restarted_Converges) {
  using T = TypeParam;
  const Entries entries = damped_helmholtz(10, 0.5, 0.3);
  const Csr<T> A = sparse<T>(entries);
  for (const char* flexible : {"false", "true"}) {
    Solver<T> gmres = this->make("gmres", Device::openmp(2),
                                 {{"restart", 12}, {"preconditioner", "jacobi"}, {"flexible", flexible}});
    this->expect_solves(gmres, A, entries);
  }
}

TYPED_TEST(ComplexScalars, SparseLu_AsPreconditioner_NeedsOneStep) {
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

TYPED_TEST(ComplexScalars, Cocg_WhereTheProductVanishes_BreaksDown) {
  using T = TypeParam;
  const Csr<T> A = Csr<T>::from_triplets(2, 2, {{0, 0, T{1, 0}}, {1, 1, T{2, 0}}});
  Solver<T> cocg = this->make("cocg", Device::serial());
  ASSERT_TRUE(cocg.setup(A).ready());
  Dense<T> x(Device(), 2, 1);
  const Report report = this->solve(cocg, {Exact(1, 0), Exact(0, 1)}, x);  // r^T r = 1 + i^2
  EXPECT_EQ(report.status, Status::breakdown) << report.message;
}

TYPED_TEST(ComplexScalars, NewValuesInAPattern_AreFactored) {
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

TYPED_TEST(ComplexScalars, StructureTellsHermitianFromSymmetric) {
  using T = TypeParam;
  const Csr<T> hermitian = sparse<T>(random_hermitian(30, 6, 61));
  const Structure of_hermitian = analyze_structure<T>(hermitian);
  EXPECT_TRUE(of_hermitian.hermitian_values);
  EXPECT_FALSE(of_hermitian.symmetric_values);
  EXPECT_EQ(of_hermitian.definiteness, Definiteness::positive_definite);
  const Csr<T> symmetric = sparse<T>(damped_helmholtz(5, 1.0, 0.5));
  const Structure of_symmetric = analyze_structure<T>(symmetric);
  EXPECT_TRUE(of_symmetric.symmetric_values);
  EXPECT_FALSE(of_symmetric.hermitian_values);
  EXPECT_EQ(of_symmetric.definiteness, Definiteness::unknown);
  EXPECT_EQ(structural_rank<T>(symmetric), 25);
  const Structure of_dense = analyze_structure<T>(MatrixRef<T>(dense<T>(random_entries(6, 6, 62)).view()));
  EXPECT_FALSE(of_dense.hermitian_values || of_dense.symmetric_values);
}

TYPED_TEST(ComplexScalars, Cg_WithASymmetricMatrix_IsRefusedByAuto) {
  using T = TypeParam;
  const Csr<T> symmetric = sparse<T>(damped_helmholtz(13, 1.0, 0.5));
  for (const Candidate& candidate : choose<T>(symmetric)) {
    EXPECT_NE(candidate.method, "cg");
    EXPECT_NE(candidate.method, "minres");
    EXPECT_NE(candidate.reason.find("complex symmetric"), std::string::npos) << candidate.reason;
  }
  const Dense<T> rectangle(Device(), 3, 2);
  EXPECT_THROW(static_cast<void>(choose<T>(MatrixRef<T>(rectangle.view()))), DimensionMismatch);
}

template <class T>
std::vector<T> elements(const Dense<T>& A) {
  return {A.data(), A.data() + A.rows() * A.columns()};
}

TYPED_TEST(ComplexScalars, FilesHoldComplexMatrices) {
  using T = TypeParam;
  const Csr<T> A = sparse<T>(random_sparse(12, 3, 71));
  const Dense<T> D = dense<T>(random_entries(5, 3, 72));
  for (const char* ending : {"mtx", "npz", "npy", "mtx.gz"}) {
    const std::string path = testing::TempDir() + "complex_test." + ending;
    write_matrix<T>(path, A);
    const MatrixFile<T> back = read_matrix_file<T>(path);
    EXPECT_EQ(back.info.field, "complex") << ending;
    EXPECT_EQ(elements(to_dense(MatrixRef<T>(back.matrix))), elements(to_dense<T>(A))) << ending;
    write_matrix<T>(path, MatrixRef<T>(D.view()));
    const Matrix<T> again = read_matrix<T>(path);
    EXPECT_EQ(elements(to_dense(MatrixRef<T>(again))), elements(D)) << ending;
    EXPECT_THROW(static_cast<void>(read_matrix<double>(path)), ParseError) << ending;
    EXPECT_EQ(read_any_matrix_file(path).index(), 1U) << ending;
  }
  EXPECT_THROW(write_matrix<T>(testing::TempDir() + "complex_test.txt", A), InvalidMatrix);
}

}  // namespace
}  // namespace echelon::test
