// SPDX-License-Identifier: BSD-3-Clause
/// Preconditioners of lsmr, lsqr and cgls, against LAPACK's gelsd.
#include "support/solver/euclidean.hpp"

#include <echelon/echelon.hpp>
#include <echelon/matrix/transform.hpp>

#include <gtest/gtest.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

namespace preconditioned {

using namespace euclidean;

constexpr const char* methods[] = {"lsmr", "lsqr", "cgls"};

/// Sparse, with four elements a row. Columns come in pairs that differ by 10^-decades, so that the condition
/// is about 10^decades, whatever the norms of the columns. The last one is alone if n is odd.
Csr<double> ill_conditioned(std::int64_t m, std::int64_t n, double decades, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  const double gap = std::pow(10.0, -decades);
  std::vector<Triplet<double>> elements;
  const auto add_pair = [&](std::int64_t i, std::int64_t j, double size) {
    const auto row = static_cast<std::int32_t>(i);
    const auto left = static_cast<std::int32_t>(j - j % 2);
    elements.push_back({row, left, size});
    if (left + 1 < n) elements.push_back({row, left + 1, size + gap * normal(random)});
  };
  for (std::int64_t i = 0; i < m; ++i) {
    add_pair(i, i % n, normal(random));
    add_pair(i, (i + 2) % n, 0.1 * normal(random));
  }
  return Csr<double>::from_triplets(m, n, elements);
}

/// The x of least residual and, for a rank below n, of least norm.
std::vector<double> by_gelsd(const Csr<double>& A, std::vector<double> b, double damping = 0) {
  const auto m = static_cast<int>(A.rows());
  const auto n = static_cast<int>(A.columns());
  const int rows = damping > 0 ? m + n : m;
  Dense<double> a(Device(), rows, n);
  std::fill(a.data(), a.data() + a.rows() * n, 0.0);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
      a(i, A.column_indices()[k]) = A.values()[k];
  }
  for (int j = 0; j < n && damping > 0; ++j) a(m + j, j) = damping;
  b.resize(static_cast<std::size_t>(rows), 0.0);
  std::vector<double> values(static_cast<std::size_t>(n));
  lapack_int rank = 0;
  EXPECT_EQ(LAPACKE_dgelsd(LAPACK_COL_MAJOR, rows, n, 1, a.data(), rows, b.data(), rows, values.data(), 1e-13,
                           &rank),
            0);
  b.resize(static_cast<std::size_t>(n));
  return b;
}

double relative_difference(const double* x, const std::vector<double>& y) {
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    difference = std::max(difference, std::fabs(x[i] - y[i]));
    size = std::max(size, std::fabs(y[i]));
  }
  return difference / size;
}

/// A b that is close to the range of A, so that x is well determined.
std::vector<double> nearly_consistent(const Csr<double>& A, unsigned seed) {
  std::vector<double> b = normal_vector(A.rows(), seed);
  const std::vector<double> x = normal_vector(A.columns(), seed + 1);
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    double& element = b[static_cast<std::size_t>(i)];
    element *= 1e-3;
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
      element += A.values()[k] * x[static_cast<std::size_t>(A.column_indices()[k])];
  }
  return b;
}

std::string failure(const Csr<double>& A, const char* preconditioner) {
  Solver<double> solver = make_solver<double>("lsmr", Device(), {{"preconditioner", preconditioner}});
  const Report report = solver.setup(A);
  EXPECT_FALSE(report.ready());
  return report.message;
}

}  // namespace preconditioned

TEST(LeastSquaresPreconditioners, IllConditionedTallMatrices_NeedFewIterations) {
  using namespace preconditioned;
  for (const double decades : {2.0, 5.0}) {
    const Csr<double> A = ill_conditioned(2000, 40, decades, 1);
    const std::vector<double> b = nearly_consistent(A, 2);
    const std::vector<double> expected = by_gelsd(A, b);
    for (const char* method : methods) {
      for (const Device& device : {Device::serial(), Device::openmp(2)}) {
        SCOPED_TRACE(std::string(method) + " on " + device.name());
        SolveOptions options{.method = method, .device = device, .rtol = 1e-10};
        options.parameters = {{"preconditioner", "sketch"}};
        const auto [x, report] = solve<double>(A, b, options);
        ASSERT_EQ(report.status, Status::least_squares) << report;
        EXPECT_LT(relative_difference(x.data(), expected), 1e-7) << report;
        EXPECT_LT(report.iterations, 60);  // with 4 n rows the condition is about 3
        EXPECT_LT(report.preconditioned_condition.value_or(1e9), 6);
        EXPECT_GT(1 / report.reciprocal_condition.value_or(1), 0.1 * std::pow(10.0, decades)) << report;
        EXPECT_LT(1 / report.reciprocal_condition.value_or(0), 100 * std::pow(10.0, decades)) << report;
        options.parameters = {{"preconditioner", "ic0"}};
        const auto [y, incomplete] = solve<double>(A, b, options);
        ASSERT_EQ(incomplete.status, Status::least_squares) << incomplete;
        EXPECT_LT(relative_difference(y.data(), expected), 1e-5) << incomplete;
        options.parameters = {};
        EXPECT_LT(incomplete.iterations, solve<double>(A, b, options).report.iterations);
      }
    }
  }
}

TEST(LeastSquaresPreconditioners, Seed_DecidesTheBits) {
  using namespace preconditioned;
  const Csr<double> A = ill_conditioned(3000, 30, 3, 3);
  const std::vector<double> b = normal_vector(3000, 4);
  const auto solution = [&](std::int64_t seed, const Device& device) {
    SolveOptions options{.method = "lsqr", .device = device};
    options.parameters = {{"preconditioner", "sketch"}, {"seed", seed}};
    return solve<double>(A, b, options).x.to_vector();
  };
  EXPECT_EQ(solution(7, Device::serial()), solution(7, Device::serial()));
  EXPECT_NE(solution(7, Device::serial()), solution(8, Device::serial()));
}

TEST(LeastSquaresPreconditioners, DampingDenseAndUnscaledMatrices) {
  using namespace preconditioned;
  const Csr<double> A = ill_conditioned(400, 25, 3, 5);
  const Dense<double> full = to_dense(MatrixRef<double>(A));
  const std::vector<double> b = normal_vector(400, 6);
  for (const double damping : {0.0, 0.3}) {
    const std::vector<double> expected = by_gelsd(A, b, damping);
    for (const char* method : methods) {
      for (const char* scaled : {"true", "false"}) {
        for (const char* preconditioner : {"sketch", "ic0"}) {
          for (const bool dense : {false, true}) {
            if (dense && preconditioner == std::string("ic0")) continue;
            SCOPED_TRACE(std::string(method) + ", " + preconditioner + ", scaled: " + scaled);
            SolveOptions options{.method = method, .rtol = 1e-12};
            options.parameters = {
                {"preconditioner", preconditioner}, {"scale_columns", scaled}, {"damping", damping}};
            const auto [x, report] =
                solve<double>(dense ? MatrixRef<double>(full.view()) : MatrixRef<double>(A), b, options);
            ASSERT_EQ(report.status, Status::least_squares) << report;
            EXPECT_LT(relative_difference(x.data(), expected), 1e-8) << report;
          }
        }
      }
    }
  }
}

/// Dependent columns of equal norm, so that scaled unknowns have the same x of least norm.
TEST(LeastSquaresPreconditioners, Sketch_RankDeficient_LeastNorm) {
  using namespace preconditioned;
  std::mt19937 random(9);
  std::normal_distribution<double> normal;
  Dense<double> A(Device(), 600, 12);
  for (std::int64_t i = 0; i < 600; ++i) {
    for (std::int64_t j = 0; j < 6; ++j) A(i, j) = A(i, 11 - j) = normal(random);
  }
  const std::vector<double> b = normal_vector(600, 10);
  const std::vector<double> expected = by_gelsd(to_csr(MatrixRef<double>(A)), b);
  for (const char* method : methods) {
    SolveOptions options{.method = method, .rtol = 1e-12};
    options.parameters = {{"preconditioner", "sketch"}};
    const auto [x, report] = solve<double>(A, b, options);
    ASSERT_EQ(report.status, Status::least_squares) << report;
    EXPECT_EQ(report.rank, 6) << report;
    EXPECT_LT(relative_difference(x.data(), expected), 1e-9) << report;
  }
}

TEST(LeastSquaresPreconditioners, SmallShapesAndZeroColumns) {
  using namespace preconditioned;
  for (const char* preconditioner : {"sketch", "ic0"}) {
    const Options options = {{"preconditioner", preconditioner}};
    for (const std::int64_t n : {0, 1, 2, 31}) {
      const Csr<double> A = n == 0 ? Csr<double>::from_triplets(5, 0, {}) : ill_conditioned(n * 9, n, 1, 11);
      const std::vector<double> b = normal_vector(A.rows(), 12);
      SolveOptions given{.method = "lsmr", .rtol = 1e-12};
      given.parameters = options;
      const auto [x, report] = solve<double>(A, b, given);
      EXPECT_EQ(report.status, Status::least_squares) << report;
      if (n > 0) {
        EXPECT_LT(relative_difference(x.data(), by_gelsd(A, b)), 1e-9) << report;
      }
    }
  }
  const Csr<double> A = Csr<double>::from_triplets(8, 2, {{0, 0, 1.0}, {3, 0, 2.0}});
  const std::vector<double> b = normal_vector(8, 13);
  SolveOptions options{.method = "lsmr"};
  options.parameters = {{"preconditioner", "sketch"}};
  const auto [x, report] = solve<double>(A, b, options);
  EXPECT_EQ(report.status, Status::least_squares) << report;
  EXPECT_EQ(report.rank, 1);
  EXPECT_EQ(x.data()[1], 0);
  EXPECT_NEAR(x.data()[0], (b[0] + 2 * b[3]) / 5, 1e-14);
}

TEST(LeastSquaresPreconditioners, ColumnsOfVeryDifferentSize_AreSketchedScaled) {
  using namespace preconditioned;
  Csr<double> A = ill_conditioned(900, 20, 2, 14);
  const std::vector<double> b = normal_vector(900, 15);
  const std::vector<double> expected = by_gelsd(A, b);
  const auto scale = [](std::int32_t j) { return std::pow(10.0, (j % 3 - 1) * 150); };
  for (std::int64_t k = 0; k < A.nonzeros(); ++k) A.values()[k] *= scale(A.column_indices()[k]);
  SolveOptions options{.method = "lsmr", .rtol = 1e-12};
  options.parameters = {{"preconditioner", "sketch"}};
  auto [x, report] = solve<double>(A, b, options);
  ASSERT_EQ(report.status, Status::least_squares) << report;
  for (std::int32_t j = 0; j < 20; ++j) x.data()[j] *= scale(j);
  EXPECT_LT(relative_difference(x.data(), expected), 1e-9);
}

TEST(LeastSquaresPreconditioners, UnsuitableMatrices_AreRefusedWithTheReason) {
  using namespace preconditioned;
  EXPECT_NE(failure(ill_conditioned(30, 20, 1, 1), "sketch").find("at least twice as many rows as columns"),
            std::string::npos);
  EXPECT_NE(failure(transpose(ill_conditioned(30, 20, 1, 1)), "ic0").find("A is 20 by 30"),
            std::string::npos);
  const Csr<double> gap = Csr<double>::from_triplets(8, 2, {{0, 0, 1.0}});
  EXPECT_NE(failure(gap, "ic0").find("element (1, 1)"), std::string::npos);
  const LinearOperator<double> op(
      6, 2, [](const double*, double* y) { std::fill_n(y, 6, 0.0); },
      [](const double*, double* y) { std::fill_n(y, 2, 0.0); });
  Solver<double> solver = make_solver<double>("lsqr", Device(), {{"preconditioner", "sketch"}});
  EXPECT_NE(solver.setup(MatrixRef<double>(op)).message.find("known by its products alone"),
            std::string::npos);
}

TEST(LeastSquaresPreconditioners, NewValuesAndSeveralColumns) {
  using namespace preconditioned;
  Csr<double> A = ill_conditioned(700, 15, 3, 20);
  for (const char* preconditioner : {"sketch", "ic0"}) {
    Solver<double> solver = make_solver<double>("lsmr", Device(), {{"preconditioner", preconditioner}});
    ASSERT_TRUE(solver.setup(A).ready());
    for (std::int64_t k = 0; k < A.nonzeros(); ++k) A.values()[k] *= 1 + 0.1 * static_cast<double>(k % 7);
    ASSERT_TRUE(solver.update_values(A).ready());
    const std::vector<double> first = normal_vector(700, 21);
    const std::vector<double> second = normal_vector(700, 22);
    std::vector<double> both = first;
    both.insert(both.end(), second.begin(), second.end());
    const Dense<double> B(700, 2, Array<double>(Device(), both));
    Dense<double> X(Device(), 15, 2);
    ASSERT_TRUE(solver.solve(B.view(), X.view(), {.rtol = 1e-12}).solved());
    EXPECT_LT(relative_difference(X.data(), by_gelsd(A, first)), 1e-9);
    EXPECT_LT(relative_difference(X.data() + 15, by_gelsd(A, second)), 1e-9);
  }
}

}  // namespace
}  // namespace echelon::test
