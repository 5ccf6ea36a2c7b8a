// SPDX-License-Identifier: BSD-3-Clause
/// Solutions of least residual of singular systems, on request, by every method.
#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

using LongVector = std::vector<long double>;

/// Orthonormal basis of the span of linearly independent vectors, by Gram-Schmidt in extended precision.
class Span {
 public:
  explicit Span(const std::vector<LongVector>& vectors) {
    for (LongVector v : vectors) {
      remove(v);
      remove(v);
      const long double length = norm(v);
      for (long double& element : v) element /= length;
      basis_.push_back(v);
    }
  }
  /// Norm of the part of v that is orthogonal to the span.
  [[nodiscard]] long double distance(LongVector v) const {
    remove(v);
    remove(v);
    return norm(v);
  }
  static long double norm(const LongVector& v) {
    long double sum = 0;
    for (const long double element : v) sum += element * element;
    return std::sqrt(sum);
  }

 private:
  void remove(LongVector& v) const {
    for (const LongVector& q : basis_) {
      long double share = 0;
      for (std::size_t i = 0; i < v.size(); ++i) share += q[i] * v[i];
      for (std::size_t i = 0; i < v.size(); ++i) v[i] -= share * q[i];
    }
  }
  std::vector<LongVector> basis_;
};

/// A = B C of small integers, n by n of rank r, and a b of integers outside its range.
template <class T>
struct DeficientSystem {
  DeficientSystem(std::size_t n, std::size_t r, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> integers(-3, 3);
    std::vector<LongVector> columns(r, LongVector(n));
    std::vector<LongVector> rows(r, LongVector(n));
    for (auto* vectors : {&columns, &rows}) {
      for (LongVector& v : *vectors) {
        for (long double& element : v) element = integers(random);
      }
    }
    A = Dense<T>(Device(), static_cast<std::int64_t>(n), static_cast<std::int64_t>(n));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        long double sum = 0;
        for (std::size_t k = 0; k < r; ++k) sum += columns[k][i] * rows[k][j];
        A.data()[i + j * n] = static_cast<T>(sum);
      }
      b.push_back(static_cast<T>(integers(random)));
    }
    least_residual = static_cast<double>(Span(columns).distance({b.begin(), b.end()}));
    row_space = rows;
  }
  /// Norm of the part of x in the null space.
  [[nodiscard]] double null_part(const T* x) const {
    return static_cast<double>(Span(row_space).distance({x, x + b.size()}));
  }

  Dense<T> A;
  std::vector<T> b;
  double least_residual;
  std::vector<LongVector> row_space;
};

std::vector<std::string> methods_for_any_square_matrix() {
  std::vector<std::string> names = {"auto"};
  for (const Method& method : methods()) {
    const bool any = method.needs == MethodNeeds::any_shape || method.needs == MethodNeeds::square;
    if (method.kind == MethodKind::direct && any && method.runs_on(Device())) names.push_back(method.name);
  }
  return names;
}

template <class T>
double norm_of(const T* x, std::size_t n) {
  return static_cast<double>(Span::norm({x, x + n}));
}

template <class T>
class LeastSquares : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(LeastSquares, Reals);

TYPED_TEST(LeastSquares, SingularSquareMatrix_AllMethodsFindTheLeastResidualAndNorm) {
  using T = TypeParam;
  struct Shape {
    std::size_t n, rank;
  };
  constexpr double epsilon = std::numeric_limits<T>::epsilon();
  for (const auto& [n, rank] : {Shape{2, 1}, {5, 4}, {12, 3}, {33, 32}, {40, 25}}) {
    const DeficientSystem<T> system(n, rank, static_cast<unsigned>(n) + 1);
    const Csr<T> stored_sparse = to_csr(MatrixRef<T>(system.A));
    for (const std::string& method : methods_for_any_square_matrix()) {
      SCOPED_TRACE(method + " " + std::to_string(n));
      const Solution<T> refused = solve(stored_sparse, system.b, {.method = method});
      EXPECT_FALSE(refused.report.solved()) << refused.report;
      for (const MatrixRef<T>& A : {MatrixRef<T>(system.A), MatrixRef<T>(stored_sparse)}) {
        const Solution<T> found = solve(A, system.b, {.method = method, .least_squares = true});
        ASSERT_EQ(found.report.status, Status::least_squares) << found.report;
        EXPECT_NEAR(found.report.residual_norm, system.least_residual,
                    1000 * epsilon * norm_of(system.b.data(), n));
        EXPECT_EQ(found.report.rank, rank);
        EXPECT_LE(system.null_part(found.x.data()), 1e4 * epsilon * norm_of(found.x.data(), n));
        EXPECT_FALSE(found.report.error_estimate.has_value());
        EXPECT_FALSE(found.report.warnings.empty());
      }
    }
  }
}

TYPED_TEST(LeastSquares, SeveralRightHandSides_EachHasItsOwnStatus) {
  using T = TypeParam;
  constexpr std::size_t n = 20;
  const DeficientSystem<T> system(n, 15, 7);
  // b, A 1, 2 b.
  Dense<T> B(Device(), n, 3);
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < n; ++j) sum += static_cast<double>(system.A.data()[i + j * n]);
    B.data()[i] = system.b[i];
    B.data()[n + i] = static_cast<T>(sum);
    B.data()[2 * n + i] = 2 * system.b[i];
  }
  for (const std::string& method : methods_for_any_square_matrix()) {
    SCOPED_TRACE(method);
    const Solution<T> found = solve(system.A, B, {.method = method, .least_squares = true});
    ASSERT_EQ(found.report.columns.size(), 3U);
    EXPECT_EQ(found.report.columns[0].status, Status::least_squares) << found.report;
    EXPECT_TRUE(solved(found.report.columns[1].status)) << found.report;
    EXPECT_LE(found.report.columns[1].relative_residual, 1e-4);
    EXPECT_EQ(found.report.columns[2].status, Status::least_squares) << found.report;
    for (std::size_t i = 0; i < n; ++i)
      EXPECT_NEAR(found.x.data()[2 * n + i], 2 * found.x.data()[i], 1e-3) << i;
  }
}

/// A row of zeros, and rows that are equal: elimination meets a pivot that is exactly zero.
TEST(LeastSquaresOfSquare, ZeroRowAndEqualRows_AreTheMean) {
  // x_0 = 1 and x_0 = 3; 2 x_1 = 5; 0 = 4.
  const std::vector<Triplet<double>> triplets = {{0, 0, 1}, {1, 0, 1}, {2, 1, 2}};
  const auto A = Csr<double>::from_triplets(4, 4, triplets);
  const std::vector<double> b = {1, 3, 5, 4};
  for (const std::string& method : methods_for_any_square_matrix()) {
    const Solution<double> found = solve(A, b, {.method = method, .least_squares = true});
    ASSERT_EQ(found.report.status, Status::least_squares) << method << ": " << found.report;
    EXPECT_NEAR(found.x.data()[0], 2, 1e-14) << method;
    EXPECT_NEAR(found.x.data()[1], 2.5, 1e-14) << method;
    EXPECT_NEAR(found.x.data()[2], 0, 1e-14) << method;
    EXPECT_NEAR(found.x.data()[3], 0, 1e-14) << method;
    EXPECT_NEAR(found.report.residual_norm, std::sqrt(1 + 1 + 16.0), 1e-13) << method;
  }
}

/// Scales of columns do not decide which equations can be satisfied.
TEST(LeastSquaresOfSquare, ColumnsOfAllSizes_AllCount) {
  for (const int exponent : {-900, -400, -60, 60, 400, 900}) {
    const double scale = std::ldexp(1.0, exponent);
    const std::vector<Triplet<double>> triplets = {{0, 0, scale}, {1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {2, 2, 1}};
    const auto A = Csr<double>::from_triplets(3, 3, triplets);
    const std::vector<double> b = {1, 1, 2};
    for (const std::string& method : methods_for_any_square_matrix()) {
      const Solution<double> found = solve(A, b, {.method = method, .least_squares = true});
      ASSERT_EQ(found.report.status, Status::least_squares) << method << ": " << found.report;
      EXPECT_NEAR(found.x.data()[0] * scale, 1, 1e-14) << method;
      EXPECT_NEAR(found.x.data()[1] + found.x.data()[2], 1.5, 1e-14) << method;
      EXPECT_NEAR(found.report.residual_norm, std::sqrt(0.5), 1e-14) << method;
    }
  }
}

/// The x of an iteration that ends above its tolerance on a consistent system is not replaced.
TEST(LeastSquaresOfSquare, IterationThatEndsEarly_IsNotReplaced) {
  const Csr<double> A = generate::poisson_2d<double>(20, 20);
  const std::vector<double> b(400, 1.0);
  const Report report = solve(A, b, {.method = "cg", .max_iterations = 3, .least_squares = true}).report;
  EXPECT_EQ(report.status, Status::max_iterations) << report;
}

TEST(LeastSquaresOfSquare, IterationOnInconsistentSystem_IsReplaced) {
  const DeficientSystem<double> system(15, 12, 3);
  for (const std::string method : {"gmres", "bicgstab"}) {
    const Solution<double> found = solve(system.A, system.b, {.method = method, .least_squares = true});
    EXPECT_EQ(found.report.status, Status::least_squares) << method << ": " << found.report;
    EXPECT_NEAR(found.report.residual_norm, system.least_residual, 1e-7) << method;
  }
}

/// Above the bound nothing is decomposed, and the message says what is.
TEST(LeastSquaresOfSquare, LargeUnsymmetric_SaysWhatIsComputed) {
  const std::int32_t n = 5000;
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < n; ++i) triplets.push_back({i, std::min(i, n - 2), 1.0});
  const auto A = Csr<double>::from_triplets(n, n, triplets);
  std::vector<double> b(static_cast<std::size_t>(n), 1.0);
  b.back() = 3;
  const Report report = solve(A, b, {.method = "mapped-echelon", .least_squares = true}).report;
  EXPECT_EQ(report.status, Status::inconsistent);
  EXPECT_NE(report.message.find("of order at most 1500"), std::string::npos) << report.message;
}

TEST(LeastSquaresOfSquare, ModuloAPrime_IsRefused) {
  const DeficientSystem<double> system(5, 4, 2);
  const SolveOptions options = {
      .method = "mapped-echelon", .parameters = {{"field", "mod:2147483647"}}, .least_squares = true};
  EXPECT_THROW((void)solve(to_csr(MatrixRef<double>(system.A)), system.b, options), BadOption);
}

}  // namespace
}  // namespace echelon::test
