// SPDX-License-Identifier: BSD-3-Clause
/// Inverses and pseudo-inverses of coarsest matrices, against dense algebra.
#include "multigrid/coarse_solvers/dense_inverse.hpp"

#include "support/multigrid_cases.hpp"

#include <echelon/generate.hpp>
#include <echelon/linalg.hpp>
#include <echelon/matrix/matrix.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <vector>

namespace echelon::test {
namespace {

TEST(DenseInverse, InvertsAndPseudoInverts) {
  const auto check = [](const Csr<double>& A, bool symmetric, std::int64_t null_space) {
    const auto result = multigrid::dense_inverse<double>(A, 1, symmetric);
    const std::int64_t n = A.rows();
    ASSERT_EQ(result.transpose.rows(), n);
    EXPECT_EQ(result.null_space, null_space);
    Dense<double> X(Device(), n, n);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) X(i, j) = result.transpose(j, i);
    }
    const auto scaled = multigrid::dense_inverse<float>(A, 4, symmetric);
    EXPECT_EQ(scaled.null_space, null_space);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) EXPECT_EQ(scaled.transpose(j, i), static_cast<float>(X(i, j) / 4));
    }
    const Dense<double> dense = to_dense(MatrixRef<double>(A));
    Dense<double> AX(Device(), n, n);
    gemm<double>(1, dense, X, 0, AX);
    Dense<double> AXA(Device(), n, n);
    gemm<double>(1, AX, dense, 0, AXA);
    Dense<double> XAX(Device(), n, n);
    gemm<double>(1, X, AX, 0, XAX);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        EXPECT_NEAR(AXA(i, j), dense(i, j), 1e-9);
        EXPECT_NEAR(XAX(i, j), X(i, j), 1e-9);
        if (symmetric) {
          EXPECT_EQ(X(i, j), X(j, i));
        }
      }
    }
  };
  check(generate::poisson_2d<double>(9, 7), true, 0);
  check(MultigridCases::diagonal({4}), true, 0);
  check(generate::convection_diffusion_2d<double>(8, 9, 30, 10), false, 0);
  check(MultigridCases::neumann(8), true, 1);
  check(MultigridCases::repeated(MultigridCases::neumann(3), 5), true, 5);
  check(MultigridCases::diagonal({2, 0, -3, 0}), true, 0);  // rows without elements are left out
  const Csr<double> one_sided =
      Csr<double>::from_triplets(3, 3, {{0, 0, 1}, {1, 0, 2}, {2, 2, 5}, {2, 1, 1}});
  check(one_sided, false, 1);
}

/// Laplacian of a ring of n nodes with chords, with random weights of some orders of magnitude.
Csr<double> weighted_ring(std::int32_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < n; ++i) {
    for (const std::int32_t step : {1, 7, 31}) {
      const std::int32_t j = (i + step) % n;
      const double weight = std::pow(10.0, std::uniform_real_distribution<double>(-4, 3)(random));
      triplets.push_back({i, i, weight});
      triplets.push_back({j, j, weight});
      triplets.push_back({i, j, -weight});
      triplets.push_back({j, i, -weight});
    }
  }
  return Csr<double>::from_triplets(n, n, triplets);
}

TEST(DenseInverse, ConstantsAreTheNullSpace_AndOtherVectorsBesideThem) {
  constexpr std::int32_t n = 40;
  const auto path = [](std::int32_t first, std::int32_t last, std::vector<Triplet<double>>& triplets) {
    for (std::int32_t i = first; i < last; ++i) {
      triplets.insert(triplets.end(), {{i, i, 1}, {i + 1, i + 1, 1}, {i, i + 1, -1}, {i + 1, i, -1}});
    }
  };
  std::vector<Triplet<double>> whole;
  path(0, n - 1, whole);
  std::vector<Triplet<double>> parts;
  path(0, n / 2 - 1, parts);
  path(n / 2, n - 1, parts);
  const auto connected = Csr<double>::from_triplets(n, n, whole);
  const auto disconnected = Csr<double>::from_triplets(n, n, parts);
  EXPECT_EQ(multigrid::dense_inverse<double>(connected, 1, true).null_space, 1);
  EXPECT_EQ(multigrid::dense_inverse<double>(disconnected, 1, true).null_space, 2);
  EXPECT_EQ(multigrid::semidefinite_inverse(disconnected).null_space.columns(), 2);
  const Dense<double> basis = multigrid::semidefinite_inverse(connected).null_space;
  ASSERT_EQ(basis.columns(), 1);
  for (std::int32_t i = 0; i < n; ++i) EXPECT_NEAR(std::fabs(basis.data()[i]), 1 / std::sqrt(n), 1e-14) << i;
  // The Green's function of a path: (A+)_ij has zero row sums, and A A+ = I - 1/n.
  const auto inverse = multigrid::dense_inverse<double>(connected, 1, true);
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = 0; j < n; ++j) {
      double product = 0;
      for (std::int64_t k = connected.row_offsets()[i]; k < connected.row_offsets()[i + 1]; ++k) {
        product += connected.values()[k] * inverse.transpose.data()[connected.column_indices()[k] + j * n];
      }
      EXPECT_NEAR(product, (i == j ? 1.0 : 0.0) - 1.0 / n, 1e-11) << i << ' ' << j;
    }
  }
}

TEST(DenseInverse, SemidefiniteMatrices_SameInverseAndNullVectors) {
  for (const Csr<double>& A :
       {MultigridCases::neumann(8), MultigridCases::repeated(MultigridCases::neumann(3), 5),
        MultigridCases::diagonal({2, 0, -3, 0}), generate::poisson_2d<double>(9, 7)}) {
    const multigrid::HostInverse expected = multigrid::host_inverse(A, true);
    const multigrid::HostInverse found = multigrid::semidefinite_inverse(A);
    const std::int64_t n = A.rows();
    ASSERT_EQ(found.transpose.rows(), n);
    for (std::int64_t k = 0; k < n * n; ++k) EXPECT_NEAR(found.transpose[k], expected.transpose[k], 1e-12);
    const Dense<double>& basis = found.null_space;
    ASSERT_EQ(basis.columns(), expected.null_space.columns());
    for (std::int64_t k = 0; k < basis.columns(); ++k) {
      const std::vector<double> v(basis.data() + k * n, basis.data() + (k + 1) * n);
      EXPECT_NEAR(std::inner_product(v.begin(), v.end(), v.begin(), 0.0), 1, 1e-13);
      for (const double element : MultigridCases::product(A, v)) EXPECT_NEAR(element, 0, 1e-13);
    }
  }
}

/// Weights of a graph whose Laplacian is rounded to float: its row sums are not zero.
TEST(DenseInverse, RoundedToFloat_NullSpaceByPrecisionOfElements) {
  const Csr<double> exact = weighted_ring(100, 4);
  const std::vector<double> values = exact.values().to_vector();
  const std::vector<float> rounded(values.begin(), values.end());
  const auto A =
      Csr<float>::unchecked(exact.rows(), exact.columns(), exact.row_offsets(), exact.column_indices(),
                            Array<float>(Device(), std::span<const float>(rounded)));
  const multigrid::HostInverse found = multigrid::semidefinite_inverse(A);
  ASSERT_EQ(found.null_space.columns(), 1);
  for (std::int64_t i = 0; i < A.rows(); ++i) EXPECT_NEAR(std::fabs(found.null_space[i]), 0.1, 1e-3);
}

TEST(DenseInverse, Growth_IsThatOfTheDiagonal) {
  const Csr<double> A = Csr<double>::from_triplets(2, 2, {{0, 0, 2}, {0, 1, -1}, {1, 0, -1}, {1, 1, 1}});
  // Its inverse is (1, 1; 1, 2).
  EXPECT_NEAR(multigrid::host_inverse(A, true).growth, 2, 1e-14);
  EXPECT_NEAR(multigrid::host_inverse(A, false).growth, 2, 1e-14);
}

TEST(DenseInverse, NotFinite_Empty) {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const Csr<double> A = MultigridCases::diagonal({1, bad});
    EXPECT_EQ(multigrid::host_inverse(A, true).transpose.rows(), 0);
    EXPECT_EQ(multigrid::host_inverse(A, false).transpose.rows(), 0);
    EXPECT_EQ(multigrid::semidefinite_inverse(A).transpose.rows(), 0);
  }
}

TEST(DenseInverse, ManyMagnitudes_NullSpaceIsFound) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    EXPECT_EQ(multigrid::dense_inverse<double>(weighted_ring(200, seed), 1, true).null_space, 1) << seed;
  }
}

}  // namespace
}  // namespace echelon::test
