// SPDX-License-Identifier: BSD-3-Clause
/// Systems that are not square, by every method that minimises the residual, against LAPACK's gelsd.
#include "support/solver/euclidean.hpp"

#include <echelon/echelon.hpp>
#include <echelon/methods/dense/qr.hpp>
#include <echelon/methods/least_squares/augmented.hpp>
#include <echelon/methods/least_squares/lsmr.hpp>

#include <gtest/gtest.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace echelon::test {
namespace {

namespace rectangular {

using namespace euclidean;

const std::vector<std::string> minimizers = {"auto", "qr", "sparse-qr", "augmented", "lsqr", "lsmr", "cgls"};

Dense<double> random_matrix(std::int64_t m, std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Dense<double> A(Device(), m, n);
  for (std::int64_t k = 0; k < m * n; ++k) A.data()[k] = normal(random);
  return A;
}

/// A product of random factors, of rank r.
Dense<double> random_of_rank(std::int64_t m, std::int64_t n, std::int64_t r, unsigned seed) {
  const Dense<double> B = random_matrix(m, r, seed);
  const Dense<double> C = random_matrix(r, n, seed + 1);
  Dense<double> A(Device(), m, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < m; ++i) {
      A(i, j) = 0;
      for (std::int64_t k = 0; k < r; ++k) A(i, j) += B(i, k) * C(k, j);
    }
  }
  return A;
}

std::vector<double> random_vector(std::int64_t n, unsigned seed) {
  return random_matrix(n, 1, seed).to_vector();
}

/// The x of least residual and least norm by a singular value decomposition.
std::vector<double> by_gelsd(const Dense<double>& A, const std::vector<double>& b, double tolerance = 1e-12) {
  const auto m = static_cast<int>(A.rows());
  const auto n = static_cast<int>(A.columns());
  std::vector<double> a = A.to_vector();
  std::vector<double> x(static_cast<std::size_t>(std::max(m, n)), 0.0);
  std::copy(b.begin(), b.end(), x.begin());
  std::vector<double> values(static_cast<std::size_t>(std::min(m, n)));
  lapack_int rank = 0;
  EXPECT_EQ(LAPACKE_dgelsd(LAPACK_COL_MAJOR, m, n, 1, a.data(), m, x.data(), std::max(m, n), values.data(),
                           tolerance, &rank),
            0);
  x.resize(static_cast<std::size_t>(n));
  return x;
}

std::vector<double> residual(const Dense<double>& A, const std::vector<double>& b,
                             const std::vector<double>& x) {
  std::vector<double> r = b;
  for (std::int64_t j = 0; j < A.columns(); ++j) {
    for (std::int64_t i = 0; i < A.rows(); ++i)
      r[static_cast<std::size_t>(i)] -= A(i, j) * x[static_cast<std::size_t>(j)];
  }
  return r;
}

long double norm_of(const std::vector<long double>& x) {
  long double squares = 0;
  for (const long double element : x) squares += element * element;
  return std::sqrt(squares);
}

/// A row of ones above mu I: the matrix of Laeuchli, whose condition is about sqrt(n) / mu.
template <class T>
Dense<T> laeuchli(std::int64_t n, T mu) {
  Dense<T> A(Device(), n + 1, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 1; i <= n; ++i) A(i, j) = i == j + 1 ? mu : T{0};
    A(0, j) = 1;
  }
  return A;
}

/// Residual b - A x of laeuchli() in long double.
template <class T>
std::vector<long double> laeuchli_residual(T mu, const std::vector<T>& b, const std::vector<T>& x) {
  std::vector<long double> r(b.begin(), b.end());
  for (std::size_t j = 0; j < x.size(); ++j) {
    r[0] -= static_cast<long double>(x[j]);
    r[j + 1] -= static_cast<long double>(mu) * static_cast<long double>(x[j]);
  }
  return r;
}

/// Norm of the least residual: that of the part of b along (mu, -1, ..., -1), which A^T maps to zero.
template <class T>
long double least_residual(T mu, const std::vector<T>& b) {
  long double product = static_cast<long double>(mu) * static_cast<long double>(b[0]);
  for (std::size_t i = 1; i < b.size(); ++i) product -= static_cast<long double>(b[i]);
  const auto n = static_cast<long double>(b.size() - 1);
  return std::abs(product) / std::sqrt(n + static_cast<long double>(mu) * static_cast<long double>(mu));
}

/// Whether A^T r is at most `share` of ||A|| ||r||.
template <class T>
bool is_orthogonal(T mu, const std::vector<long double>& r, long double share) {
  std::vector<long double> normal;
  for (std::size_t i = 1; i < r.size(); ++i) normal.push_back(r[0] + static_cast<long double>(mu) * r[i]);
  const auto n = static_cast<long double>(normal.size());
  return norm_of(normal) <= share * std::sqrt(n) * norm_of(r);
}

/// No x that has not the least residual is called so without a word on rounding errors, whatever the
/// condition, and none whose residual is larger than that of x = 0.
template <class T>
void expect_true_claims_of_laeuchli(int decades) {
  const T mu = static_cast<T>(std::pow(10.0, -decades));
  const long double tolerance = std::is_same_v<T, double> ? 1e-8L : 1e-4L;
  for (const std::int64_t n : {2, 7, 50}) {
    const std::vector<double> numbers = random_vector(n + 1, static_cast<unsigned>(n));
    const std::vector<T> b(numbers.begin(), numbers.end());
    const long double least = least_residual(mu, b);
    for (const std::string& method : minimizers) {
      SCOPED_TRACE(method + ", " + std::to_string(n) + " columns, mu = 1e-" + std::to_string(decades));
      const auto [x, report] = solve<T>(laeuchli(n, mu), b, {.method = method, .device = Device::serial()});
      if (report.status != Status::least_squares) continue;
      const std::vector<long double> r = laeuchli_residual(mu, b, x.to_vector());
      const bool warns = std::any_of(report.warnings.begin(), report.warnings.end(), [](const auto& text) {
        return text.find("rounding errors of x") != std::string::npos;
      });
      EXPECT_TRUE(is_orthogonal(mu, r, tolerance) || norm_of(r) <= (1 + tolerance) * least || warns)
          << report;
      EXPECT_LE(norm_of(r), (1 + tolerance) * norm_of({b.begin(), b.end()})) << report;
    }
  }
}

}  // namespace rectangular

TEST(Rectangular, Overdetermined_AllMethodsFindTheLeastSquaresSolution) {
  using namespace rectangular;
  for (const auto& [m, n] : {std::pair(2, 1), {5, 3}, {33, 7}, {120, 40}, {41, 40}}) {
    const Dense<double> A = random_matrix(m, n, 1);
    const Csr<double> stored_sparse = to_csr(MatrixRef<double>(A));
    const std::vector<double> b = random_vector(m, 2);
    const std::vector<double> expected = by_gelsd(A, b);
    for (const std::string& method : minimizers) {
      for (const MatrixRef<double>& matrix : {MatrixRef<double>(A), MatrixRef<double>(stored_sparse)}) {
        SCOPED_TRACE(method + " " + std::to_string(m) + "x" + std::to_string(n));
        const auto [x, report] = solve(matrix, b, {.method = method, .rtol = 1e-12});
        ASSERT_EQ(report.status, Status::least_squares) << report;
        EXPECT_LE(difference(x.to_vector(), expected), 1e-8 * norm(expected)) << report;
        ASSERT_TRUE(report.normal_residual.has_value());
        EXPECT_LE(*report.normal_residual, 1e-8);
        EXPECT_NEAR(report.residual_norm, norm(residual(A, b, expected)), 1e-8 * norm(b));
        EXPECT_TRUE(report.error_estimate.has_value()) << report;
      }
    }
  }
}

TEST(Rectangular, ConsistentTallSystem_IsSolvedAsUsual) {
  using namespace rectangular;
  const Dense<double> A = random_matrix(60, 20, 3);
  const std::vector<double> exact = random_vector(20, 4);
  std::vector<double> b = residual(A, std::vector<double>(60, 0.0), exact);
  for (double& element : b) element = -element;
  for (const std::string& method : minimizers) {
    SCOPED_TRACE(method);
    const auto [x, report] = solve(A, b, {.method = method, .rtol = 1e-12});
    EXPECT_TRUE(report.status == Status::direct || report.status == Status::converged) << report;
    EXPECT_LE(difference(x.to_vector(), exact), 1e-9 * norm(exact));
  }
}

TEST(Rectangular, Underdetermined_AllMethodsFindTheSolutionOfLeastNorm) {
  using namespace rectangular;
  for (const auto& [m, n] : {std::pair(1, 2), {3, 5}, {7, 33}, {40, 120}}) {
    const Dense<double> A = random_matrix(m, n, 5);
    const Csr<double> stored_sparse = to_csr(MatrixRef<double>(A));
    const std::vector<double> b = random_vector(m, 6);
    const std::vector<double> expected = by_gelsd(A, b);
    std::vector<std::string> methods = minimizers;
    methods.emplace_back("craig");
    for (const std::string& method : methods) {
      for (const MatrixRef<double>& matrix : {MatrixRef<double>(A), MatrixRef<double>(stored_sparse)}) {
        SCOPED_TRACE(method + " " + std::to_string(m) + "x" + std::to_string(n));
        const auto [x, report] = solve(matrix, b, {.method = method, .rtol = 1e-12});
        ASSERT_EQ(report.status, Status::underdetermined) << report;
        EXPECT_LE(difference(x.to_vector(), expected), 1e-8 * norm(expected)) << report;
      }
    }
  }
}

TEST(Rectangular, RankDeficient_HasItsRankAndTheLeastNorm) {
  using namespace rectangular;
  for (const auto& [m, n, rank] : {std::tuple(30, 10, 4), {10, 30, 4}, {50, 20, 19}, {20, 50, 1}}) {
    const Dense<double> A = random_of_rank(m, n, rank, 7);
    const Csr<double> stored_sparse = to_csr(MatrixRef<double>(A));
    const std::vector<double> b = random_vector(m, 9);
    const std::vector<double> expected = by_gelsd(A, b);
    for (const std::string method : {"auto", "qr", "sparse-qr", "augmented"}) {
      SCOPED_TRACE(method + " " + std::to_string(m) + "x" + std::to_string(n));
      const auto [x, report] = solve(stored_sparse, b, {.method = method});
      ASSERT_EQ(report.status, Status::least_squares) << report;
      EXPECT_EQ(report.rank, rank) << report;
      EXPECT_LE(difference(x.to_vector(), expected), 1e-7 * norm(expected)) << report;
    }
    const auto [x, report] = solve(A, b, {.method = "qr", .parameters = {{"solution", "basic"}}});
    ASSERT_EQ(report.status, Status::least_squares) << report;
    const std::vector<double> basic = x.to_vector();
    EXPECT_LE(n - std::count(basic.begin(), basic.end(), 0.0), rank);
    EXPECT_NEAR(report.residual_norm, norm(residual(A, b, expected)), 1e-9 * norm(b));
  }
}

TEST(Rectangular, GapsOfPivots_SayHowCertainTheRankIs) {
  using namespace rectangular;
  const std::int64_t m = 40;
  const std::int64_t n = 8;
  // Orthogonal columns of cosines, five of them large, times a reflection.
  const auto with_values = [&](double small) {
    Dense<double> A(Device(), m, n);
    for (std::int64_t j = 0; j < n; ++j) {
      const double value = j < 5 ? 1.0 / static_cast<double>(1 + j) : small / static_cast<double>(j);
      for (std::int64_t i = 0; i < m; ++i)
        A(i, j) = value * std::cos(M_PI * (static_cast<double>(i) + 0.5) * static_cast<double>(j + 1) /
                                   static_cast<double>(m));
    }
    for (std::int64_t i = 0; i < m; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < n; ++j) sum += A(i, j);
      for (std::int64_t j = 0; j < n; ++j) A(i, j) -= 2 * sum / static_cast<double>(n);
    }
    return A;
  };
  const std::vector<double> b = random_vector(m, 10);
  struct Gap {
    double small, tolerance;
    std::int64_t rank;
    bool doubtful;
  };
  for (const Gap& gap : {Gap{1e-8, 1e-5, 5, false}, {1e-4, 1e-3, 5, false}, {0.3, 0.1, 6, true}}) {
    const auto [x, report] =
        solve(with_values(gap.small), b, {.method = "qr", .parameters = {{"tolerance", gap.tolerance}}});
    EXPECT_TRUE(report.solved()) << report;
    EXPECT_EQ(report.rank, gap.rank) << report;
    EXPECT_EQ(report.find_statistic("doubtful") != nullptr, gap.doubtful) << report;
  }
}

TEST(Rectangular, EmptyAndTrivialShapes) {
  using namespace rectangular;
  for (const std::string method : {"qr", "sparse-qr", "lsmr", "lsqr", "cgls", "augmented"}) {
    SCOPED_TRACE(method);
    const auto [x, report] = solve(Dense<double>(Device(), 0, 3), std::vector<double>(), {.method = method});
    EXPECT_TRUE(report.solved()) << report;
    EXPECT_EQ(x.to_vector(), (std::vector<double>{0, 0, 0}));
    const auto [none, of_none] =
        solve(Dense<double>(Device(), 3, 0), std::vector<double>{1, 2, 2}, {.method = method});
    EXPECT_EQ(of_none.status, Status::least_squares) << of_none;
    EXPECT_EQ(none.rows(), 0);
    EXPECT_NEAR(of_none.residual_norm, 3, 1e-15);
    Dense<double> zeros(Device(), 4, 2);
    std::fill_n(zeros.data(), 8, 0.0);
    const auto [zero, of_zero] = solve(zeros, std::vector<double>{1, 2, 3, 4}, {.method = method});
    EXPECT_EQ(of_zero.status, Status::least_squares) << of_zero;
    EXPECT_EQ(zero.to_vector(), (std::vector<double>{0, 0}));
    const auto [of_b_zero, solved] =
        solve(random_matrix(5, 3, 11), std::vector<double>(5, 0.0), {.method = method});
    EXPECT_TRUE(solved.solved()) << solved;
    EXPECT_EQ(norm(of_b_zero.to_vector()), 0);
  }
}

TEST(Rectangular, ZeroAndRepeatedColumns_AreShared) {
  using namespace rectangular;
  Dense<double> A = random_matrix(20, 6, 12);
  for (std::int64_t i = 0; i < 20; ++i) {
    A(i, 2) = 0;
    A(i, 4) = A(i, 1);
  }
  for (std::int64_t j = 0; j < 6; ++j) A(3, j) = A(7, j) = 0;
  const std::vector<double> b = random_vector(20, 13);
  const std::vector<double> expected = by_gelsd(A, b);
  const Csr<double> stored_sparse = to_csr(MatrixRef<double>(A));
  for (const std::string& method : minimizers) {
    SCOPED_TRACE(method);
    const auto [x, report] = solve(stored_sparse, b, {.method = method, .rtol = 1e-12});
    ASSERT_EQ(report.status, Status::least_squares) << report;
    if (report.rank) {
      EXPECT_EQ(report.rank, 4) << report;
    }
    EXPECT_LE(difference(x.to_vector(), expected), 1e-7 * norm(expected)) << report;
  }
}

TEST(Rectangular, ColumnsOfVeryDifferentSize_AreSolvedAccurately) {
  using namespace rectangular;
  const Dense<double> A = random_matrix(30, 5, 14);
  const std::vector<double> b = random_vector(30, 15);
  const std::vector<double> expected = by_gelsd(A, b);
  Dense<double> scaled = A.to(Device());
  for (std::int64_t j = 0; j < 5; ++j) {
    const double scale = j == 1 ? 1e150 : j == 3 ? 1e-150 : 1;
    for (std::int64_t i = 0; i < 30; ++i) scaled(i, j) *= scale;
  }
  const Csr<double> stored_sparse = to_csr(MatrixRef<double>(scaled));
  for (const std::string& method : minimizers) {
    SCOPED_TRACE(method);
    const auto [x, report] = solve(stored_sparse, b, {.method = method, .rtol = 1e-12});
    ASSERT_EQ(report.status, Status::least_squares) << report;
    for (std::int64_t j = 0; j < 5; ++j) {
      const double scale = j == 1 ? 1e150 : j == 3 ? 1e-150 : 1;
      const double value = expected[static_cast<std::size_t>(j)];
      EXPECT_NEAR(x.data()[j] * scale, value, 1e-8 * norm(expected)) << j;
    }
  }
}

TEST(Rectangular, Vandermonde200x30_HasTheResidualOfTheDecomposition) {
  using namespace rectangular;
  Dense<double> A(Device(), 200, 30);
  std::vector<double> b(200);
  for (std::int64_t i = 0; i < 200; ++i) {
    const double t = static_cast<double>(i) / 199;
    b[static_cast<std::size_t>(i)] = std::exp(t) + (i % 2 == 0 ? 0.01 : -0.01);
    for (std::int64_t j = 0; j < 30; ++j) A(i, j) = std::pow(t, static_cast<double>(j));
  }
  const double tolerance = 200 * std::numeric_limits<double>::epsilon();
  const double least = norm(residual(A, b, by_gelsd(A, b, tolerance)));
  for (const std::string method : {"auto", "sparse-qr"}) {
    const auto [x, report] = solve(A, b, {.method = method});
    EXPECT_EQ(report.status, Status::least_squares) << report;
    EXPECT_NEAR(report.residual_norm, least, 1e-6 * least) << report;
    EXPECT_LT(report.expected_digits().value_or(0), 8) << report;
  }
}

TEST(Rectangular, LeastResidualOfAnyCondition_IsClaimedWhereItIs) {
  using namespace rectangular;
  for (int decades = 1; decades <= 14; ++decades) {
    expect_true_claims_of_laeuchli<double>(decades);
    expect_true_claims_of_laeuchli<float>(decades);
  }
  // Where the condition is harmless, it is found.
  for (const std::string& method : minimizers) {
    const std::vector<double> b = random_vector(8, 1);
    EXPECT_EQ(solve<double>(laeuchli(7, 1e-3), b, {.method = method}).report.status, Status::least_squares)
        << method;
  }
}

TEST(Rectangular, Damping_SolvesTheExtendedSystem) {
  using namespace rectangular;
  for (const auto& [m, n] : {std::pair(40, 15), {15, 40}, {20, 20}}) {
    const Dense<double> A = random_matrix(m, n, 16);
    const std::vector<double> b = random_vector(m, 17);
    const double damping = 0.7;
    Dense<double> extended(Device(), m + n, n);
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < m; ++i) extended(i, j) = A(i, j);
      for (std::int64_t i = 0; i < n; ++i) extended(m + i, j) = i == j ? damping : 0;
    }
    std::vector<double> longer = b;
    longer.resize(static_cast<std::size_t>(m + n), 0.0);
    const std::vector<double> expected = by_gelsd(extended, longer);
    for (const std::string method : {"lsqr", "lsmr", "cgls", "augmented", "sparse-qr"}) {
      SCOPED_TRACE(method + " " + std::to_string(m) + "x" + std::to_string(n));
      const auto [x, report] =
          solve(A, b, {.method = method, .rtol = 1e-12, .parameters = {{"damping", damping}}});
      ASSERT_EQ(report.status, Status::least_squares) << report;
      EXPECT_LE(difference(x.to_vector(), expected), 1e-8 * norm(expected)) << report;
    }
  }
}

/// The R of a tall A with dense rows is full, and the factor of the augmented matrix is not.
TEST(Rectangular, AutoForSparseMatrices_ComparesFactorisations) {
  using namespace rectangular;
  constexpr std::int32_t n = 1200;
  std::vector<Triplet<double>> elements;
  for (std::int32_t j = 0; j < n; ++j) {
    elements.push_back({j, j, 1.0 + j % 7});
    elements.push_back({n + j, j, -1.0});
    elements.push_back({n + j, (j + 1) % n, 2.0});
  }
  const Csr<double> A = Csr<double>::from_triplets(2 * n + 1, n, elements);
  const std::vector<double> b = random_vector(A.rows(), 28);
  const auto [x, report] = solve(A, b);
  EXPECT_EQ(report.status, Status::least_squares) << report;
  EXPECT_EQ(report.method, "sparse-qr") << report;
  for (std::int32_t j = 0; j < n; ++j) elements.push_back({2 * n, j, 1.0});
  const Csr<double> with_dense_row = Csr<double>::from_triplets(2 * n + 1, n, elements);
  const auto [y, other] = solve(with_dense_row, b);
  EXPECT_EQ(other.status, Status::least_squares) << other;
  EXPECT_EQ(other.method, "augmented") << other;
  const auto [z, of_qr] = solve(with_dense_row, b, {.method = "sparse-qr"});
  EXPECT_LE(difference(y.to_vector(), z.to_vector()), 1e-10 * norm(z.to_vector())) << of_qr;
}

TEST(Rectangular, Operators_NeedTheTranspose) {
  using namespace rectangular;
  const Dense<double> A = random_matrix(30, 10, 18);
  const std::vector<double> b = random_vector(30, 19);
  const auto apply = [&](const double* x, double* y) {
    for (std::int64_t i = 0; i < 30; ++i) {
      y[i] = 0;
      for (std::int64_t j = 0; j < 10; ++j) y[i] += A(i, j) * x[j];
    }
  };
  const auto apply_transposed = [&](const double* x, double* y) {
    for (std::int64_t j = 0; j < 10; ++j) {
      y[j] = 0;
      for (std::int64_t i = 0; i < 30; ++i) y[j] += A(i, j) * x[i];
    }
  };
  const LinearOperator<double> both(30, 10, apply, apply_transposed);
  const LinearOperator<double> one(30, 10, apply);
  const auto [x, report] = solve(both, b, {.rtol = 1e-11});
  EXPECT_EQ(report.status, Status::least_squares) << report;
  EXPECT_LE(difference(x.to_vector(), by_gelsd(A, b)), 1e-8);
  EXPECT_THROW(static_cast<void>(solve(one, b)), Error);
}

TEST(Rectangular, SeveralColumnsUpdatesAndTransposes) {
  using namespace rectangular;
  const Dense<double> A = random_matrix(25, 9, 20);
  const Csr<double> stored_sparse = to_csr(MatrixRef<double>(A));
  for (const std::string method : {"auto", "qr", "sparse-qr", "augmented", "lsmr"}) {
    SCOPED_TRACE(method);
    Solver<double> solver = make_solver<double>(method, Device());
    ASSERT_TRUE(solver.setup(stored_sparse).ready());
    const Dense<double> B = random_matrix(25, 3, 21);
    Dense<double> X(Device(), 9, 3);
    ASSERT_EQ(solver.solve(B, X, {.rtol = std::nullopt}).status, Status::least_squares);
    for (std::int64_t j = 0; j < 3; ++j) {
      const std::vector<double> b(B.view().column(j), B.view().column(j) + 25);
      const std::vector<double> x(X.view().column(j), X.view().column(j) + 9);
      EXPECT_LE(difference(x, by_gelsd(A, b)), 1e-6);
    }
    const std::vector<double> c = random_vector(9, 22);
    std::vector<double> y(25);
    const Report report = solver.solve(c, y, {.operation = Operation::transpose});
    EXPECT_EQ(report.status, Status::underdetermined) << report;
    const Csr<double> transposed = transpose(stored_sparse);
    EXPECT_LE(difference(y, by_gelsd(to_dense(MatrixRef<double>(transposed)), c)), 1e-6);
    Csr<double> twice = stored_sparse.to(Device());
    for (std::int64_t k = 0; k < twice.nonzeros(); ++k) twice.values().data()[k] *= 2;
    ASSERT_TRUE(solver.update_values(twice).ready());
    std::vector<double> x(9);
    const std::vector<double> b = random_vector(25, 23);
    ASSERT_EQ(solver.solve(b, x).status, Status::least_squares);
    std::vector<double> half = by_gelsd(A, b);
    for (double& element : half) element /= 2;
    EXPECT_LE(difference(x, half), 1e-6);
  }
}

TEST(Rectangular, WeightedRows_AreSolvedAccurately) {
  using namespace rectangular;
  Dense<double> A = random_matrix(40, 6, 24);
  std::vector<double> b = random_vector(40, 25);
  for (std::int64_t i = 0; i < 40; ++i) {
    const double weight = i < 4 ? 1e6 : 1;
    for (std::int64_t j = 0; j < 6; ++j) A(i, j) *= weight;
    b[static_cast<std::size_t>(i)] *= weight;
  }
  const std::vector<double> expected = by_gelsd(A, b, 1e-15);
  for (const std::string method : {"qr", "sparse-qr", "augmented"}) {
    const auto [x, report] = solve(A, b, {.method = method});
    EXPECT_TRUE(report.solved()) << report;
    EXPECT_LE(difference(x.to_vector(), expected), 1e-7 * norm(expected)) << report;
  }
}

TEST(Rectangular, NaNAndWrongShapes_AreNamed) {
  using namespace rectangular;
  Dense<double> A = random_matrix(6, 3, 26);
  const std::vector<double> b = random_vector(6, 27);
  EXPECT_THROW(static_cast<void>(solve(A, b, {.method = "lu"})), DimensionMismatch);
  EXPECT_THROW(static_cast<void>(solve(A, std::vector<double>(3, 1.0))), DimensionMismatch);
  A(4, 1) = std::numeric_limits<double>::quiet_NaN();
  for (const std::string& method : minimizers) {
    const Report report = solve(A, b, {.method = method}).report;
    EXPECT_EQ(report.status, Status::not_a_number) << report;
    EXPECT_EQ(report.row, 4);
  }
}

TEST(Rectangular, GaussJordanAndSquareSystems_RemainInconsistent) {
  using namespace rectangular;
  Dense<double> A(Device(), 3, 2);
  const std::vector<double> elements = {1, 0, 1, 0, 1, 1};
  std::copy(elements.begin(), elements.end(), A.data());
  const std::vector<double> b = {1, 1, 0};
  EXPECT_EQ(solve(A, b, {.method = "gauss-jordan"}).report.status, Status::inconsistent);
  const auto [x, report] = solve(A, b);
  EXPECT_EQ(report.status, Status::least_squares);
  EXPECT_NEAR(x.data()[0], 1.0 / 3, 1e-15);
  EXPECT_NEAR(x.data()[1], 1.0 / 3, 1e-15);
  Dense<double> square(Device(), 2, 2);
  for (std::int64_t k = 0; k < 4; ++k) square.data()[k] = 1;
  for (const std::string method : {"lsqr", "lsmr", "cgls"}) {
    const std::vector<double> c = {1, 2};
    EXPECT_EQ(solve(square, c, {.method = method}).report.status, Status::inconsistent) << method;
    EXPECT_EQ(solve(square, c, {.method = method, .least_squares = true}).report.status,
              Status::least_squares)
        << method;
  }
}

/// An iteration that ends before A^T r is small has no x of least residual, however small r is beside b.
TEST(Rectangular, EndedIterations_AreJudgedByTheirResidual) {
  using namespace rectangular;
  constexpr std::int64_t m = 200;
  constexpr std::int64_t n = 60;
  int refused = 0;
  for (const double noise : {1e-2, 1e-4, 1e-6}) {
    Dense<double> A = random_matrix(m, n, 3);
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < m; ++i) A(i, j) *= std::pow(10.0, -static_cast<double>(i % 3));
    }
    std::vector<double> b = random_vector(m, 5);
    for (double& element : b) element *= noise;
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < m; ++i) b[static_cast<std::size_t>(i)] += A(i, j);
    }
    for (const std::string method : {"lsqr", "lsmr", "cgls"}) {
      for (const std::int64_t most : {3, 6, 12, 24, 48, 1000}) {
        SCOPED_TRACE(method + ", noise " + std::to_string(noise) + ", " + std::to_string(most) +
                     " iterations");
        const auto [x, report] = solve(A, b, {.method = method, .max_iterations = most});
        std::vector<double> r = b;
        double square = 0;
        for (std::int64_t j = 0; j < n; ++j) {
          for (std::int64_t i = 0; i < m; ++i) r[static_cast<std::size_t>(i)] -= A(i, j) * x.data()[j];
        }
        for (const double element : r) square += element * element;
        double largest = 0;
        for (std::int64_t j = 0; j < n; ++j) {
          double product = 0;
          double length = 0;
          for (std::int64_t i = 0; i < m; ++i) {
            product += A(i, j) * r[static_cast<std::size_t>(i)];
            length += A(i, j) * A(i, j);
          }
          largest = std::max(largest, std::abs(product) / std::sqrt(length * square));
        }
        EXPECT_EQ(report.status == Status::least_squares, largest <= 1e-8) << largest << ", " << report;
        EXPECT_TRUE(most < 1000 || report.status == Status::least_squares) << report;
        refused += report.solved() ? 0 : 1;
      }
    }
  }
  EXPECT_GE(refused, 9);
}

}  // namespace
}  // namespace echelon::test
