// SPDX-License-Identifier: BSD-3-Clause
// Dense least squares on a GPU, compared with the host's results, and with residuals and normal residuals in
// long double.
#include "gpu/gpu_fixture.hpp"
#include "scalars/complex_systems.hpp"

#include <echelon/methods/dense/qr.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

template <class T>
T element_of(Exact value) {
  if constexpr (is_complex<T>) {
    return rounded<T>(value);
  } else {
    return static_cast<T>(value.real());
  }
}

template <class T>
Dense<T> dense_of(const Entries& A) {
  Dense<T> result(Device(), A.rows, A.columns);
  for (std::int64_t j = 0; j < A.columns; ++j) {
    for (std::int64_t i = 0; i < A.rows; ++i) result(i, j) = element_of<T>(A(i, j));
  }
  return result;
}

/// |a^H r| / (||a|| ||b||), the largest of all columns a, for r = b - A x.
template <class T>
double normal_residual_of(const Dense<T>& A, const std::vector<T>& b, const std::vector<T>& x) {
  Vector r(b.size());
  long double length = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    r[i] = b[i];
    length = std::hypot(length, std::abs(Exact(b[i])));
    for (std::size_t j = 0; j < x.size(); ++j)
      r[i] -= Exact(A(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j))) * Exact(x[j]);
  }
  long double largest = 0;
  for (std::int64_t j = 0; j < A.columns(); ++j) {
    Exact product = 0;
    long double size = 0;
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      product += std::conj(Exact(A(i, j))) * r[static_cast<std::size_t>(i)];
      size = std::hypot(size, std::abs(Exact(A(i, j))));
    }
    if (size > 0) largest = std::max(largest, std::abs(product) / size);
  }
  return static_cast<double>(length > 0 ? largest / length : largest);
}

template <class T>
std::vector<T> right_hand_side(std::int64_t m) {
  std::vector<T> b;
  for (const Exact value : Random(17).vector(m)) b.push_back(element_of<T>(value));
  return b;
}

class GpuQr : public GpuTest {
 protected:
  /// Solves on both devices and compares statuses, ranks, doubts and x, whose error may be `digits` times the
  /// machine epsilon times the condition number.
  template <class T>
  void expect_as_host(const Dense<T>& A, const std::string& solution = "minimum-norm") {
    const std::vector<T> b = right_hand_side<T>(A.rows());
    Solver<T> host = make_solver<T>("qr", Device(), {{"solution", solution}});
    Solver<T> device = make_solver<T>("qr", gpu, {{"solution", solution}});
    const Report host_setup = host.setup(A);
    const Dense<T> there = A.to(gpu);
    const Report setup = device.setup(there);
    ASSERT_EQ(setup.status, host_setup.status) << setup.message;
    EXPECT_EQ(setup.rank, host_setup.rank);
    EXPECT_EQ(setup.warnings.size(), host_setup.warnings.size());
    if (!setup.ready()) return;
    ASSERT_TRUE(setup.reciprocal_condition && host_setup.reciprocal_condition);
    const double condition = 1 / *host_setup.reciprocal_condition;
    EXPECT_LT(std::abs(std::log10(*setup.reciprocal_condition * condition)), 1.5);

    std::vector<T> expected(static_cast<std::size_t>(A.columns()));
    const Report host_report = host.solve(b, expected);
    Dense<T> x(gpu, A.columns(), 1);
    const Report report = device.solve(Dense<T>(std::span<const T>(b)).to(gpu), x);
    EXPECT_EQ(report.status, host_report.status) << report.message;
    EXPECT_EQ(report.device, gpu);
    const std::vector<T> found = x.to_vector();
    const double epsilon = std::numeric_limits<Real<T>>::epsilon();
    if (A.rows() > A.columns()) {
      const double reached = normal_residual_of(A, b, expected);
      EXPECT_LE(normal_residual_of(A, b, found), std::max(100 * epsilon, 10 * reached));
    }
    if (solution == "basic") {  // rounding errors decide which of equal columns it uses
      const auto used =
          std::count_if(found.begin(), found.end(), [](const T& value) { return value != T{0}; });
      EXPECT_LE(used, setup.rank.value_or(A.columns()));
      return;
    }
    double largest = 0;
    double difference = 0;
    for (std::size_t j = 0; j < found.size(); ++j) {
      largest = std::max(largest, static_cast<double>(std::abs(expected[j])));
      difference = std::max(difference, static_cast<double>(std::abs(found[j] - expected[j])));
    }
    EXPECT_LE(difference, std::min(1.0, 1000 * epsilon * condition * std::min(condition, 1e4)) * largest);
  }

  /// U diag(s) V for random orthonormal U and V, approximately: products of random reflections.
  static Entries with_singular_values(std::int64_t m, const std::vector<long double>& s, unsigned seed) {
    const auto n = static_cast<std::int64_t>(s.size());
    Entries A(m, n);
    for (std::int64_t j = 0; j < n; ++j) A(j, j) = s[static_cast<std::size_t>(j)];
    for (int side = 0; side < 2; ++side) {
      const std::int64_t length = side == 0 ? m : n;
      Vector v = Random(seed + static_cast<unsigned>(side)).vector(length);
      long double square = 0;
      for (Exact& value : v) {
        value = value.real();
        square += std::norm(value);
      }
      for (std::int64_t k = 0; k < (side == 0 ? n : m); ++k) {
        Exact product = 0;
        const auto at = [&](std::int64_t i) -> Exact& { return side == 0 ? A(i, k) : A(k, i); };
        for (std::int64_t i = 0; i < length; ++i) product += v[static_cast<std::size_t>(i)] * at(i);
        for (std::int64_t i = 0; i < length; ++i)
          at(i) -= Exact(2) * product / square * v[static_cast<std::size_t>(i)];
      }
    }
    return A;
  }

  template <class T>
  void expect_shapes() {
    struct Shape {
      std::int64_t m, n;
    };
    for (const Shape shape : {Shape{1, 5},
                              {5, 1},
                              {33, 31},
                              {31, 33},
                              {1025, 33},
                              {33, 1025},
                              {3000, 200},
                              {200, 3000},
                              {640, 600}}) {
      SCOPED_TRACE(std::to_string(shape.m) + " x " + std::to_string(shape.n));
      expect_as_host<T>(dense_of<T>(random_entries(shape.m, shape.n, 3)));
    }
  }

  template <class T>
  void expect_rank_gaps() {
    for (const long double gap : {1e-12L, 1e-8L, 1e-4L, 1.0L}) {
      std::vector<long double> s(24);
      for (std::size_t j = 0; j < s.size(); ++j) s[j] = j < 12 ? 1 : gap;
      SCOPED_TRACE(static_cast<double>(gap));
      expect_as_host<T>(dense_of<T>(with_singular_values(300, s, 5)));
      s.back() = 0;
      expect_as_host<T>(dense_of<T>(with_singular_values(300, s, 6)));
    }
  }
};

TEST_F(GpuQr, Shapes_AsOnTheHost) {
  expect_shapes<double>();
  expect_shapes<float>();
  expect_shapes<std::complex<double>>();
}

TEST_F(GpuQr, RankGaps_AsOnTheHost) {
  expect_rank_gaps<double>();
  expect_rank_gaps<std::complex<double>>();
}

TEST_F(GpuQr, Vandermonde) {
  Dense<double> A(Device(), 200, 30);
  for (std::int64_t i = 0; i < 200; ++i) {
    for (std::int64_t j = 0; j < 30; ++j)
      A(i, j) = std::pow(static_cast<double>(i) / 199, static_cast<double>(j));
  }
  expect_as_host<double>(A);
}

TEST_F(GpuQr, ZeroAndEqualColumns_LeastNorm) {
  Entries entries = random_entries(500, 12, 8);
  for (std::int64_t i = 0; i < 500; ++i) {
    entries(i, 3) = 0;
    entries(i, 7) = entries(i, 2);
    entries(i, 11) = entries(i, 0) + entries(i, 1);
  }
  for (const char* const solution : {"minimum-norm", "basic"}) {
    expect_as_host<double>(dense_of<double>(entries), solution);
    expect_as_host<std::complex<double>>(dense_of<std::complex<double>>(entries), solution);
  }
  for (std::int64_t i = 0; i < 500; ++i) {
    for (std::int64_t j = 0; j < 12; ++j) entries(i, j) = 0;
  }
  expect_as_host<double>(dense_of<double>(entries));
}

TEST_F(GpuQr, ScaledColumns) {
  Dense<double> A = dense_of<double>(random_entries(300, 9, 12));
  for (std::int64_t i = 0; i < 300; ++i) {
    A(i, 2) *= 1e150;
    A(i, 5) *= 1e-150;
    A(i, 6) *= 1e-5;
  }
  expect_as_host<double>(A);
  Dense<double> large = dense_of<double>(random_entries(300, 9, 12));
  for (std::int64_t i = 0; i < 300 * 9; ++i) large[i] *= 1e300;
  expect_as_host<double>(large);
}

TEST_F(GpuQr, ExceptionalValues_AreNamed) {
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), HUGE_VAL}) {
    Dense<double> A = dense_of<double>(random_entries(50, 4, 1));
    A(7, 2) = value;
    Solver<double> solver = make_solver<double>("qr", gpu);
    const Dense<double> there = A.to(gpu);
    const Report report = solver.setup(there);
    EXPECT_EQ(report.status, Status::not_a_number);
    EXPECT_EQ(report.row, 7);
    EXPECT_EQ(report.column, 2);
  }
}

/// Zero, several and transposed right-hand sides, and new values.
TEST_F(GpuQr, SolvesAfterOneSetup) {
  const Dense<double> A = dense_of<double>(random_entries(400, 15, 21));
  const Dense<double> there = A.to(gpu);
  Solver<double> solver = make_solver<double>("qr", gpu);
  ASSERT_TRUE(solver.setup(there).ready());
  Dense<double> B(Device(), 400, 3);
  for (std::int64_t i = 0; i < 400; ++i) {
    B(i, 0) = 0;
    B(i, 1) = std::sin(static_cast<double>(i));
    B(i, 2) = A(i, 4);
  }
  Dense<double> X(gpu, 15, 3);
  const Report report = solver.solve(B.to(gpu), X);
  ASSERT_EQ(report.columns.size(), 3U);
  const Dense<double> found = X.to(Device());
  for (std::int64_t j = 0; j < 15; ++j) {
    EXPECT_EQ(found(j, 0), 0);
    EXPECT_NEAR(found(j, 2), j == 4 ? 1 : 0, 1e-13);
  }
  std::vector<double> b(400);
  std::vector<double> x(15);
  for (std::int64_t i = 0; i < 400; ++i) b[static_cast<std::size_t>(i)] = B(i, 1);
  for (std::int64_t j = 0; j < 15; ++j) x[static_cast<std::size_t>(j)] = found(j, 1);
  EXPECT_LT(normal_residual_of(A, b, x), 1e-14);

  // A^T y = c has many solutions: that of least norm is orthogonal to the null space of A^T.
  const std::vector<double> c(15, 1);
  Dense<double> y(gpu, 400, 1);
  const Report transposed =
      solver.solve(Dense<double>(std::span<const double>(c)).to(gpu), y, {.operation = Operation::transpose});
  EXPECT_TRUE(transposed.solved()) << transposed;
  Solver<double> host = make_solver<double>("qr", Device());
  ASSERT_TRUE(host.setup(A).ready());
  std::vector<double> expected(400);
  ASSERT_TRUE(host.solve(c, expected, {.operation = Operation::transpose}).solved());
  const std::vector<double> y_found = y.to_vector();
  for (std::size_t i = 0; i < 400; ++i) EXPECT_NEAR(y_found[i], expected[i], 1e-13);

  Dense<double> twice = A;
  for (std::int64_t i = 0; i < 400 * 15; ++i) twice[i] *= 2;
  const Dense<double> twice_there = twice.to(gpu);
  ASSERT_TRUE(solver.update_values(twice_there).ready());
  EXPECT_EQ(solver.solve(B.to(gpu), X).columns.size(), 3U);
  for (std::int64_t j = 0; j < 15; ++j) EXPECT_NEAR(X.to(Device())(j, 2), j == 4 ? 0.5 : 0, 1e-13);
}

/// Square matrices, by their QR factors if they are real and by the decomposition if they are complex.
TEST_F(GpuQr, SquareMatrices) {
  for (const std::int64_t n : {1, 33, 500}) {
    expect_as_host<double>(dense_of<double>(random_entries(n, n, 30)));
    expect_as_host<std::complex<double>>(dense_of<std::complex<double>>(random_entries(n, n, 31)));
  }
}

TEST_F(GpuQr, SparseMatrix_IsDensified) {
  std::vector<Triplet<double>> elements;
  for (std::int32_t i = 0; i < 90; ++i) {
    elements.push_back({i, i % 30, 1.0 + i});
    elements.push_back({i, (i + 7) % 30, -2.0});
  }
  const Csr<double> A = Csr<double>::from_triplets(90, 30, elements);
  const Csr<double> there = A.to(gpu);
  Solver<double> solver = make_solver<double>("qr", gpu);
  ASSERT_TRUE(solver.setup(there).ready());
  const std::vector<double> b = right_hand_side<double>(90);
  Dense<double> x(gpu, 30, 1);
  EXPECT_EQ(solver.solve(Dense<double>(std::span<const double>(b)).to(gpu), x).status, Status::least_squares);
  EXPECT_LT(normal_residual_of(to_dense(MatrixRef<double>(A)), b, x.to_vector()), 1e-14);
}

}  // namespace
}  // namespace echelon::test
