// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/gpu_fixture.hpp"
#include "support/domain_decomposition/schur_cases.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace echelon {
namespace {

using test::check_schur_of;
using test::csr_of;
using test::GpuTest;
using test::grid_system;
using test::Interface;
using test::random_system;
using test::SparseSystem;

template <class T>
class GpuSchurComplement : public GpuTest {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuSchurComplement, Types);

TYPED_TEST(GpuSchurComplement, DefiniteSystems_MatchBlockElimination) {
  for (SparseSystem system : test::definite_systems()) {
    if (system.n <= 200) check_schur_of<TypeParam>(this->gpu, system, SchurFactorization::cholesky);
  }
  check_schur_of<TypeParam>(this->gpu, grid_system(8, 7, 6), SchurFactorization::automatic);
}

TYPED_TEST(GpuSchurComplement, IndefiniteSystems_MatchBlockElimination) {
  for (const SchurFactorization factorization : {SchurFactorization::ldlt, SchurFactorization::lu}) {
    check_schur_of<TypeParam>(this->gpu, random_system(97, 4, true, -0.4, 2), factorization, 2);
    check_schur_of<TypeParam>(this->gpu, grid_system(14, 11, 1), factorization);
    check_schur_of<TypeParam>(this->gpu, grid_system(9, 8, 3, -2.3), factorization);
  }
}

TYPED_TEST(GpuSchurComplement, UnsymmetricSystems_MatchBlockElimination) {
  check_schur_of<TypeParam>(this->gpu, random_system(100, 3, false, 0.7, 4), SchurFactorization::lu, 4);
  check_schur_of<TypeParam>(this->gpu, random_system(31, 12, false, 0.01, 5), SchurFactorization::lu, 5);
  check_schur_of<TypeParam>(this->gpu, grid_system(13, 14, 1, 0, 0.6), SchurFactorization::automatic);
}

/// Largest difference of the elements of two matrices, relative to the largest element of the second.
double difference(const Dense<double>& on_gpu, const Dense<double>& on_host) {
  const std::vector<double> x = on_gpu.to_vector();
  const std::vector<double> y = on_host.to_vector();
  EXPECT_EQ(x.size(), y.size());
  double largest = 0;
  double worst = 0;
  for (std::size_t e = 0; e < y.size(); ++e) {
    largest = std::max(largest, std::abs(y[e]));
    if (!(std::abs(x[e] - y[e]) <= worst)) worst = std::abs(x[e] - y[e]);  // a NaN stays
  }
  return worst / largest;
}

/// A plane of a grid as interface: its fronts are large, and the upper ones hold many of its unknowns.
class GpuSchurPlane : public GpuTest {
 protected:
  static constexpr std::int32_t side = 24;
  static constexpr std::int64_t columns = 11;

  static SparseSystem system_for(SchurFactorization factorization) {
    return grid_system(side, side, side, factorization == SchurFactorization::ldlt ? -0.9 : 0,
                       factorization == SchurFactorization::lu ? 0.3 : 0);
  }
  static Interface plane() {
    Interface interface(std::size_t{side} * side);
    std::iota(interface.begin(), interface.end(), 11 * side * side);
    return interface;
  }

  void compare_with_host(SchurFactorization factorization) {
    const SparseSystem system = system_for(factorization);
    const Csr<double> A = csr_of<double>(system.n, system.elements);
    const SchurOptions options{.factorization = factorization};
    const SchurComplement<double> host = schur_complement(A, plane(), options);
    const Csr<double> on_gpu = A.to(gpu);
    const SchurComplement<double> device = schur_complement(on_gpu, plane(), options);
    ASSERT_TRUE(host.ready() && device.ready()) << device.report().message;
    EXPECT_TRUE(device.report().warnings.empty()) << device.report().warnings.front();
    EXPECT_LT(difference(device.matrix(), host.matrix()), 1e-12);
    if (factorization != SchurFactorization::lu) {
      EXPECT_EQ(device.interior_inertia()->negative, host.interior_inertia()->negative);
    }
    compare_solutions(host, device);
  }

  void compare_solutions(const SchurComplement<double>& host, const SchurComplement<double>& device) {
    const std::int64_t n = std::int64_t{side} * side * side;
    const std::int64_t border = std::int64_t{side} * side;
    const Dense<double> B = test::random_columns<double>(n, columns, 3);
    const Dense<double> x_B = test::random_columns<double>(border, columns, 4);
    for (const bool transposed : {false, true}) {
      Dense<double> g(Device(), border, columns);
      Dense<double> x(Device(), n, columns);
      Dense<double> g_gpu(gpu, border, columns);
      Dense<double> x_gpu(gpu, n, columns);
      if (transposed) {
        host.reduce_transposed(B, g);
        host.expand_transposed(x_B, B, x);
        device.reduce_transposed(B.to(gpu), g_gpu);
        device.expand_transposed(x_B.to(gpu), B.to(gpu), x_gpu);
      } else {
        host.reduce(B, g);
        host.expand(x_B, B, x);
        device.reduce(B.to(gpu), g_gpu);
        device.expand(x_B.to(gpu), B.to(gpu), x_gpu);
      }
      EXPECT_LT(difference(g_gpu, g), 1e-11) << "reduced, transposed: " << transposed;
      EXPECT_LT(difference(x_gpu, x), 1e-11) << "expanded, transposed: " << transposed;
    }
  }
};

TEST_F(GpuSchurPlane, CholeskyInLargeFronts_MatchesTheHost) {
  compare_with_host(SchurFactorization::cholesky);
}

TEST_F(GpuSchurPlane, LdltInLargeFronts_MatchesTheHost) {
  compare_with_host(SchurFactorization::ldlt);
}

TEST_F(GpuSchurPlane, LuInLargeFronts_MatchesTheHost) {
  compare_with_host(SchurFactorization::lu);
}

TEST_F(GpuSchurPlane, SeveralRoots_AddUpInTheInterface) {
  // Chains that only share the interface: each is a tree of its own.
  std::vector<Triplet<double>> elements;
  constexpr std::int32_t block = 9;
  constexpr std::int32_t blocks = 12;
  const std::int32_t n = block * blocks + blocks;
  for (std::int32_t b = 0; b < blocks; ++b) {
    const std::int32_t first = b * block;
    const std::int32_t shared = block * blocks + b;
    for (std::int32_t i = 0; i < block; ++i) {
      elements.push_back({first + i, first + i, 4.0 + b});
      if (i > 0) elements.push_back({first + i, first + i - 1, -1});
      if (i > 0) elements.push_back({first + i - 1, first + i, -1});
    }
    elements.push_back({shared, shared, 3});
    for (const std::int32_t other : {shared, block * blocks + (b + 1) % blocks}) {
      elements.push_back({first, other, -0.5});
      elements.push_back({other, first, -0.5});
    }
  }
  const Csr<double> A = csr_of<double>(n, elements);
  Interface interface(blocks);
  std::iota(interface.begin(), interface.end(), block * blocks);
  for (const SchurFactorization factorization :
       {SchurFactorization::cholesky, SchurFactorization::ldlt, SchurFactorization::lu})
    test::check_schur<double>(gpu, A, A, interface, {.factorization = factorization}, "forest");
}

TEST_F(GpuSchurPlane, EmptyAndWholeInterfaces_Work) {
  const SparseSystem system = grid_system(6, 5, 1);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  test::check_schur<double>(gpu, A, A, {}, {}, "empty interface");
  test::check_schur_solve<double>(gpu, A, A, {}, {}, "empty interface");
  const Interface all = test::random_interface(system.n, system.n, 2);
  test::check_schur<double>(gpu, A, A, all, {}, "whole interface");
  test::check_schur_solve<double>(gpu, A, A, all, {}, "whole interface");
}

TEST_F(GpuSchurPlane, SingularInterior_IsDecidedByTheHost) {
  SparseSystem system = test::laplacian(5);
  for (std::int32_t i = 25; i < 29; ++i) system.elements.push_back({i, i, 2});
  const Csr<double> A = csr_of<double>(29, system.elements).to(gpu);
  for (const SchurFactorization factorization : {SchurFactorization::ldlt, SchurFactorization::lu}) {
    const Report report = schur_complement(A, Interface{27}, {.factorization = factorization}).report();
    EXPECT_EQ(report.status, Status::singular);
    EXPECT_EQ(report.rank, 27);
  }
}

}  // namespace
}  // namespace echelon
