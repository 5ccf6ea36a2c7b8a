// SPDX-License-Identifier: BSD-3-Clause
/// Sparse L D L^T: rank and inertia, and solutions of singular systems.
#include "support/sparse_direct/indefinite_systems.hpp"
#include "support/sparse_systems.hpp"
#include "support/spectra.hpp"
#include "support/test_data.hpp"

#include <echelon/io/matrix_market.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace echelon {
namespace {

using test::add_symmetric;
using test::csr_of;
using test::Elements;
using test::indefinite_systems;
using test::laplacian;
using test::random_vector;
using test::RealMatrices;
using test::scaled_residual;
using test::SparseSystem;
using test::statistic;

std::int64_t count_positive(const std::vector<double>& values) {
  return std::count_if(values.begin(), values.end(), [](double value) { return value > 0; });
}

std::int64_t count_negative(const std::vector<double>& values) {
  return std::count_if(values.begin(), values.end(), [](double value) { return value < 0; });
}

TEST(SparseLdlt, Inertia_IsThatOfTheEigenvalues) {
  for (const SparseSystem& system : indefinite_systems()) {
    if (system.n > 600) continue;
    SCOPED_TRACE(system.name + " " + std::to_string(system.n));
    const Csr<double> A = csr_of<double>(system.n, system.elements);
    const std::vector<double> values = test::symmetric_eigenvalues(to_dense<double>(A));
    const double largest = std::max(-values.front(), values.back());
    for (const double value : values) ASSERT_GT(std::abs(value), 1e-12 * largest);
    for (const Ordering ordering : {Ordering::amd, Ordering::natural}) {
      SparseLdlt<double> solver(Device::serial(), {.ordering = ordering});
      const Report report = solver.factor(A);
      EXPECT_EQ(statistic(report, "positive_eigenvalues"), count_positive(values));
      EXPECT_EQ(statistic(report, "negative_eigenvalues"), count_negative(values));
      EXPECT_EQ(statistic(report, "zero_eigenvalues"), 0);
    }
  }
}

/// B D B^T, computed exactly, with random integers in B, n by the order of the diagonal matrix D: the signs
/// of its eigenvalues other than 0 are those of D.
Elements random_singular(std::int32_t n, const std::vector<double>& d) {
  std::mt19937 random(3);
  const auto rank = static_cast<std::int32_t>(d.size());
  Dense<double> B(Device(), n, rank);
  for (std::int64_t k = 0; k < std::int64_t{n} * rank; ++k) B[k] = static_cast<double>(random() % 19) - 9;
  Elements elements;
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (std::int32_t k = 0; k < rank; ++k) sum += B(i, k) * d[static_cast<std::size_t>(k)] * B(j, k);
      add_symmetric(elements, i, j, sum);
    }
  }
  return elements;
}

TEST(SparseLdlt, InertiaOfASingularMatrix_IsThatOfTheEigenvalues) {
  for (const std::int32_t n : {5, 40, 150}) {
    for (const std::int32_t rank : {1, n / 3, n - 2}) {
      SCOPED_TRACE(std::to_string(rank) + " of " + std::to_string(n));
      std::vector<double> d;
      for (std::int32_t k = 0; k < rank; ++k) d.push_back((k % 3 == 0 ? -1 : 1) * (1 + k % 7));
      const Csr<double> A = csr_of<double>(n, random_singular(n, d));
      SparseLdlt<double> solver(Device::serial());
      const Report report = solver.factor(A);
      EXPECT_EQ(report.status, Status::singular);
      EXPECT_EQ(report.rank, rank);
      EXPECT_EQ(statistic(report, "positive_eigenvalues"), count_positive(d));
      EXPECT_EQ(statistic(report, "negative_eigenvalues"), count_negative(d));
      EXPECT_EQ(statistic(report, "zero_eigenvalues"), n - rank);
    }
  }
}

template <class T>
class SparseLdltRankTest : public testing::Test {};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(SparseLdltRankTest, Precisions);

TYPED_TEST(SparseLdltRankTest, SingularLaplacian_ConsistentAndNot) {
  using T = TypeParam;
  for (const std::int32_t side : {3, 10, 60}) {
    SCOPED_TRACE(side);
    const SparseSystem system = laplacian(side);
    const Csr<T> A = csr_of<T>(system.n, system.elements);
    SparseLdlt<T> solver(Device::serial());
    const Report factored = solver.factor(A);
    EXPECT_EQ(factored.status, Status::singular);
    EXPECT_EQ(factored.rank, system.n - 1);
    EXPECT_EQ(statistic(factored, "positive_eigenvalues"), system.n - 1);
    EXPECT_EQ(statistic(factored, "zero_eigenvalues"), 1);
    std::vector<T> b = test::product(A, random_vector<T>(system.n, 5));
    std::vector<T> x(b.size());
    const Report consistent = solver.solve(b, x);
    EXPECT_EQ(consistent.status, Status::underdetermined) << consistent.message;
    EXPECT_LT(scaled_residual(A, x.data(), b.data()), 30);
    b[b.size() / 2] += 1;
    const Report inconsistent = solver.solve(b, x);
    EXPECT_EQ(inconsistent.status, Status::inconsistent);
    EXPECT_EQ(inconsistent.certainty, Certainty::proven);
  }
}

TEST(SparseLdlt, StructurallySingular_NamesRows) {
  // Rows 1, 2 and 3 have entries in columns 0 and 4 only.
  Elements elements;
  for (const std::int32_t i : {1, 2, 3}) {
    add_symmetric(elements, i, 0, i);
    add_symmetric(elements, i, 4, 4 - i);
  }
  const Csr<double> A = csr_of<double>(5, elements);
  SparseLdlt<double> solver(Device::serial());
  const Report factored = solver.factor(A);
  EXPECT_EQ(factored.status, Status::singular);
  EXPECT_EQ(factored.rank, 4);
  EXPECT_EQ(statistic(factored, "positive_eigenvalues"), 2);
  EXPECT_EQ(statistic(factored, "negative_eigenvalues"), 2);
  EXPECT_NE(factored.message.find("whatever its nonzeros"), std::string::npos) << factored.message;
  std::vector<double> b = test::product(A, std::vector<double>{1, 2, 3, 4, 5}), x(5);
  EXPECT_EQ(solver.solve(b, x).status, Status::underdetermined);
  EXPECT_LT(scaled_residual(A, x.data(), b.data()), 30);
  b[3] += 1;
  EXPECT_EQ(solver.solve(b, x).status, Status::inconsistent);
}

TEST(SparseLdlt, ZeroMatrix_HasRankZero) {
  const Csr<double> A = csr_of<double>(3, {});
  SparseLdlt<double> solver(Device::serial());
  EXPECT_EQ(solver.factor(A).rank, 0);
  std::vector<double> b(3, 0), x(3, 5);
  EXPECT_EQ(solver.solve(b, x).status, Status::underdetermined);
  EXPECT_EQ(x, b);
  b[1] = 1;
  const Report report = solver.solve(b, x);
  EXPECT_EQ(report.status, Status::inconsistent);
  EXPECT_EQ(report.row, 1);
}

/// Adjacency matrix of a binary tree: bipartite, so that its spectrum is symmetric; its rank is twice the
/// size of a maximum matching, which covers every second level from the leaves' parents up.
TEST(SparseLdlt, SingularGraph_RankInertiaAndSolution) {
  SparseSystem system{"tree", 2047, {}};
  for (std::int32_t i = 1; i < 2047; ++i) add_symmetric(system.elements, i, (i - 1) / 2, 1);
  std::int64_t matching = 0;
  for (std::int64_t level = 9; level >= 0; level -= 2) matching += std::int64_t{1} << level;
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseLdlt<double> solver(Device::serial());
  const Report factored = solver.factor(A);
  EXPECT_EQ(factored.rank, 2 * matching);
  EXPECT_EQ(statistic(factored, "positive_eigenvalues"), matching);
  EXPECT_EQ(statistic(factored, "negative_eigenvalues"), matching);
  std::vector<double> b = test::product(A, random_vector<double>(system.n, 2)), x(b.size());
  EXPECT_EQ(solver.solve(b, x).status, Status::underdetermined);
  EXPECT_LT(scaled_residual(A, x.data(), b.data()), 30);
}

/// The Hilbert matrix of order 60 has about 19 singular values above rounding errors, and no gap between
/// pivots: the exact rank decides.
TEST(SparseLdlt, HilbertMatrix_RankIsTheExactOne) {
  Elements elements;
  for (std::int32_t i = 0; i < 60; ++i) {
    for (std::int32_t j = 0; j < 60; ++j) elements.push_back({i, j, 1.0 / (i + j + 1)});
  }
  SparseLdlt<double> solver(Device::serial());
  const Csr<double> A = csr_of<double>(60, elements);
  const Report report = solver.factor(A);
  EXPECT_EQ(report.status, Status::singular);
  EXPECT_EQ(report.rank, 60);
}

TEST(SparseLdlt, OneByOne_IsDividedOrSingular) {
  for (const double a : {3.0, -3.0, 1e-300, -1e300}) {
    const Csr<double> A = csr_of<double>(1, {{0, 0, a}});
    SparseLdlt<double> solver(Device::serial());
    const Report factored = solver.factor(A);
    ASSERT_TRUE(factored.ready());
    EXPECT_EQ(statistic(factored, a > 0 ? "positive_eigenvalues" : "negative_eigenvalues"), 1);
    std::vector<double> b = {6 * a}, x(1);
    EXPECT_TRUE(solver.solve(b, x).solved());
    EXPECT_DOUBLE_EQ(x[0], 6);
  }
  SparseLdlt<double> solver(Device::serial());
  const Csr<double> zero = csr_of<double>(1, {{0, 0, 0}});
  EXPECT_EQ(solver.factor(zero).rank, 0);
}

/// A path of hubs with leaves, of which all but one for each hub can have no pivot: most of the factor are
/// fronts that pass these on, and the prediction counts them.
TEST(SparseLdlt, StructurallySingular_MemoryIsPredictedWithDelays) {
  SparseSystem system{"hubs", 30 * 41, {}};
  for (std::int32_t h = 0; h < 30; ++h) {
    if (h > 0) system.elements.push_back({h, h - 1, 1}), system.elements.push_back({h - 1, h, 1});
    for (std::int32_t leaf = 30 + 40 * h; leaf < 70 + 40 * h; ++leaf)
      system.elements.push_back({h, leaf, 1}), system.elements.push_back({leaf, h, 1});
  }
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  SparseLdlt<double> solver(Device::serial());
  const Report report = solver.factor(A);
  EXPECT_EQ(report.rank, 60);
  EXPECT_GT(statistic(report, "delayed_pivots"), 0);
  EXPECT_NEAR(statistic(report, "predicted_bytes") / statistic(report, "factor_bytes"), 1, 0.1);
}

/// Optimality and saddle-point systems. The negative eigenvalues were counted by LAPACK's dsyevd for the
/// first four and are as many as there are constraints for the others, whose leading block is definite.
struct RealSystem {
  const char* file;
  std::int64_t negative;
};

TEST_F(RealMatrices, SparseLdlt_SolvesAndCountsEigenvalues) {
  for (const RealSystem& real :
       {RealSystem{"indefinite/hangGlider_2", 733}, RealSystem{"indefinite/Si2", 1},
        RealSystem{"indefinite/ACTIVSg200_AC_01", 1876}, RealSystem{"indefinite/ACTIVSg200_AC_02", 1876},
        RealSystem{"indefinite_kkt/kkt_CONT-300", 180895}, RealSystem{"indefinite_kkt/kkt_CVXQP3_L", 17500},
        RealSystem{"indefinite_kkt/kkt_LISWET1", 20002}, RealSystem{"indefinite_kkt/kkt_POWELL20", 20000},
        RealSystem{"indefinite_kkt/kkt_QSHIP12L", 6578}, RealSystem{"indefinite_kkt/kkt_YAO", 4002}}) {
    SCOPED_TRACE(real.file);
    const auto A =
        read_matrix_market<double>((test::real_matrices() / (std::string(real.file) + ".mtx.gz")).string());
    SparseLdlt<double> solver(Device::serial());
    const Report factored = solver.factor(A);
    EXPECT_EQ(statistic(factored, "negative_eigenvalues"), real.negative) << factored.message;
    EXPECT_EQ(statistic(factored, "positive_eigenvalues"), A.rows() - real.negative);
    const std::vector<double> b = test::product(A, random_vector<double>(A.rows(), 3));
    std::vector<double> x(b.size());
    const Report report = solver.solve(b, x);
    EXPECT_LT(scaled_residual(A, x.data(), b.data()), 3) << report.message;
  }
}

TEST_F(RealMatrices, SparseLdlt_RankOfSingularMatrices) {
  struct Singular {
    const char* file;
    std::int64_t negative, zero;
  };
  for (const Singular& real :
       {Singular{"indefinite_kkt/saddle_DTOC3", 10000, 0}, Singular{"singular/bcsstm13", 0, 762},
        Singular{"singular/ligmg_986_lap", 0, 1}, Singular{"indefinite/zenios", 171, 2608}}) {
    SCOPED_TRACE(real.file);
    const auto A =
        read_matrix_market<double>((test::real_matrices() / (std::string(real.file) + ".mtx.gz")).string());
    SparseLdlt<double> solver(Device::serial());
    const Report factored = solver.factor(A);
    EXPECT_EQ(statistic(factored, "negative_eigenvalues"), real.negative) << factored.message;
    EXPECT_EQ(statistic(factored, "zero_eigenvalues"), real.zero);
    const std::vector<double> b = test::product(A, random_vector<double>(A.rows(), 3));
    std::vector<double> x(b.size());
    const Report report = solver.solve(b, x);
    EXPECT_EQ(report.status, real.zero > 0 ? Status::underdetermined : Status::direct) << report.message;
    EXPECT_LT(scaled_residual(A, x.data(), b.data()), 30);
  }
}

}  // namespace
}  // namespace echelon
