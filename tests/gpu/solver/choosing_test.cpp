// SPDX-License-Identifier: BSD-3-Clause
/// The choice of methods for a GPU, and what sparse-lu leaves to the host.
#include "gpu/gpu_fixture.hpp"
#include "support/problems.hpp"

#include <echelon/generate.hpp>
#include <echelon/methods.hpp>
#include <echelon/solve.hpp>

#include <cstdint>
#include <random>
#include <utility>
#include <variant>
#include <vector>

namespace echelon::test {
namespace {

using GpuChoosing = GpuTest;

Candidate first(const Csr<double>& A, const Device& gpu) {
  return choose<double>(A, gpu).front();
}

/// A tree of unsymmetric couplings: its factors have few elements, and a deep assembly tree.
Csr<double> unsymmetric_tree(std::int32_t n) {
  std::mt19937 random(3);
  std::vector<Triplet<double>> elements;
  for (std::int32_t i = 0; i < n; ++i) {
    elements.push_back({i, i, 4});
    if (i == 0) continue;
    const std::int32_t parent = std::uniform_int_distribution<std::int32_t>(0, i - 1)(random);
    elements.push_back({i, parent, -1});
    elements.push_back({parent, i, -0.01});
  }
  return Csr<double>::from_triplets(n, n, elements);
}

TEST_F(GpuChoosing, Tridiagonal_BandedLuOnTheGpu) {
  std::vector<Triplet<double>> elements;
  for (std::int32_t i = 0; i < 100'000; ++i) {
    elements.push_back({i, i, 2});
    if (i > 0) elements.push_back({i, i - 1, -1});
  }
  const Candidate candidate = first(Csr<double>::from_triplets(100'000, 100'000, elements), gpu);
  EXPECT_EQ(candidate.method, "banded-lu");
  EXPECT_FALSE(candidate.device.on_host());
}

/// The optimality conditions of a chain: [[I, B^T], [B, 0]] with differences of neighbours in B.
TEST_F(GpuChoosing, HiddenBand_RenumberedAndSolvedOnTheGpu) {
  constexpr std::int32_t n = 20'000;
  std::vector<Triplet<double>> elements;
  for (std::int32_t i = 0; i < n; ++i) {
    elements.push_back({i, i, 1});
    if (i + 1 == n) continue;
    const std::int32_t constraint = n + i;
    for (const auto& [column, value] : {std::pair{i, -1.0}, std::pair{i + 1, 2.0}}) {
      elements.push_back({constraint, column, value});
      elements.push_back({column, constraint, value});
    }
  }
  const Csr<double> A = Csr<double>::from_triplets(2 * n - 1, 2 * n - 1, elements);
  const Candidate candidate = first(A, gpu);
  EXPECT_EQ(candidate.method, "banded-lu");
  EXPECT_FALSE(candidate.device.on_host());
  SolveOptions options;
  options.device = gpu;
  const Solution<double> solution = solve<double>(A, std::vector<double>(2 * n - 1, 1.0), options);
  EXPECT_EQ(solution.report.method, "banded-lu (ordering=rcm)");
  EXPECT_EQ(solution.report.status, Status::direct) << solution.report.message;
  EXPECT_LT(solution.report.backward_error, 1e-15);
}

TEST_F(GpuChoosing, Grid_SparseLuOnTheGpu) {
  // Convection is strong enough that rows are not dominant.
  const Candidate candidate = first(convection_diffusion(400, 1.5).csr<double>(), gpu);
  EXPECT_EQ(candidate.method, "sparse-lu");
  EXPECT_FALSE(candidate.device.on_host());
}

TEST_F(GpuChoosing, Stencil_MultigridOnArraysOnTheGpu) {
  const auto A = std::get<Csr<double>>(make_matrix<double>("grid-2d", {{"nx", 200}, {"ny", 200}}));
  const Candidate candidate = first(A, gpu);
  EXPECT_EQ(candidate.method, "structured-multigrid");
  EXPECT_FALSE(candidate.device.on_host());
}

TEST_F(GpuChoosing, Laplacian_LamgOnTheGpu) {
  const auto A = std::get<Csr<double>>(make_matrix<double>("grid-2d", {{"nx", 190}, {"ny", 190}}));
  const Candidate candidate = first(A, gpu);
  EXPECT_EQ(candidate.method, "lamg");
  EXPECT_FALSE(candidate.device.on_host());
}

TEST_F(GpuChoosing, FewFlops_SparseLuOnTheHost) {
  const Candidate candidate = first(unsymmetric_tree(20'000), gpu);
  EXPECT_EQ(candidate.method, "sparse-lu");
  EXPECT_TRUE(candidate.device.on_host());
}

TEST_F(GpuChoosing, SparseLuAskedFor_FewFlops_FactoredOnTheHost) {
  const Csr<double> A = unsymmetric_tree(20'000).to(gpu);
  SparseLu<double> lu(gpu);
  const Report factored = lu.factor(A);
  ASSERT_TRUE(factored.ready()) << factored.message;
  ASSERT_FALSE(factored.warnings.empty());
  EXPECT_NE(factored.warnings.front().find("factored on the host"), std::string::npos);
  const std::vector<double> ones(20'000, 1.0);
  const Dense<double> b(gpu, ones);
  Dense<double> x(gpu, 20'000, 1);
  EXPECT_LT(lu.solve(b, x).backward_error, 1e-15);
}

}  // namespace
}  // namespace echelon::test
