// SPDX-License-Identifier: BSD-3-Clause
/// Inverses of the coarsest matrices of lamg's parallel algorithm, run on the host.
#include "graph_laplacian/affinity_multigrid/reduced_system.hpp"
#include "support/graph_laplacian/lamg_graphs.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace echelon::affinity_multigrid {
namespace {

using test::make_graph;
using test::small_graphs;

TEST(LamgParallelInverse, PositiveDefiniteMatrices_TimesInverseIsUnit) {
  Host backend(Device::serial());
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (const std::int64_t n : {1, 2, 7, 8, 9, 31, 33, 100}) {
    const auto at = [n](const auto& matrix, std::int64_t i, std::int64_t j) {
      return matrix[static_cast<std::size_t>(i * n + j)];
    };
    std::vector<double> matrix(static_cast<std::size_t>(n * n));
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) {
        const double element = i == j ? static_cast<double>(n) : uniform(random);
        matrix[static_cast<std::size_t>(i * n + j)] = matrix[static_cast<std::size_t>(j * n + i)] = element;
      }
    }
    Array<double> inverted(backend.device(), std::span<const double>(matrix));
    invert_in_place(backend, n, inverted);
    const std::vector<double> inverse = inverted.to_vector();
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < n; ++k) sum += at(matrix, i, k) * at(inverse, k, j);
        EXPECT_NEAR(sum, i == j ? 1 : 0, 1e-13) << n;
      }
    }
  }
}

TEST(LamgParallelInverse, Graphs_AsLapack) {
  Host backend(Device::serial());
  std::vector<Csr<double>> graphs = small_graphs();
  graphs.push_back(make_graph("path", {{"n", 300}}));
  graphs.push_back(Csr<double>::from_triplets(
      5, 5, {{0, 0, 2}, {0, 1, -2}, {1, 0, -2}, {1, 1, 2}, {3, 3, 1}, {3, 4, -1}, {4, 3, -1}, {4, 4, 1}}));
  for (const Csr<double>& A : graphs) {
    const Dense<double> expected = regularised_inverse(A).transpose;
    const Dense<double> found = parallel_inverse(backend, A).transpose;
    ASSERT_EQ(found.rows(), A.rows());
    for (std::int64_t j = 0; j < A.rows(); ++j) {
      for (std::int64_t i = 0; i < A.rows(); ++i) {
        EXPECT_NEAR(found(i, j), expected(i, j), 1e-9 * (1 + std::fabs(expected(j, j))));
        EXPECT_EQ(found(i, j), found(j, i));
      }
    }
  }
}

TEST(LamgParallelInverse, ComponentsAndIsolatedVertices_Shifts) {
  const ComponentShifts shifts = component_shifts(Csr<double>::from_triplets(
      5, 5, {{0, 0, 2}, {0, 1, -2}, {1, 0, -2}, {1, 1, 2}, {3, 3, 1}, {3, 4, -1}, {4, 3, -1}, {4, 4, 1}}));
  EXPECT_EQ(shifts.component, (std::vector<std::int32_t>{0, 0, 1, 2, 2}));
  EXPECT_EQ(shifts.shift, (std::vector<double>{1, 1, 0.5}));
}

}  // namespace
}  // namespace echelon::affinity_multigrid
