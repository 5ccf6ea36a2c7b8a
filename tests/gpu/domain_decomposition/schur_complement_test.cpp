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

/// Relative difference of the complements of the host and the GPU for a plane of a grid.
double plane_difference(const Device& gpu, SchurFactorization factorization) {
  const std::int32_t side = 24;
  const SparseSystem system =
      grid_system(side, side, side, 0, factorization == SchurFactorization::lu ? 0.3 : 0);
  const Csr<double> A = csr_of<double>(system.n, system.elements);
  Interface interface(std::size_t{side} * side);
  std::iota(interface.begin(), interface.end(), 11 * side * side);
  const SchurOptions options{.factorization = factorization};
  const SchurComplement<double> host = schur_complement(A, interface, options);
  const Csr<double> on_gpu = A.to(gpu);
  const SchurComplement<double> device = schur_complement(on_gpu, interface, options);
  EXPECT_TRUE(host.ready() && device.ready()) << device.report().message;
  if (!device.ready()) return 1;
  EXPECT_EQ(device.report().warnings.size(), 1U);  // of the host, which factors
  const std::vector<double> x = host.matrix().to_vector();
  const std::vector<double> y = device.matrix().to_vector();
  double largest = 0;
  for (std::size_t e = 0; e < x.size(); ++e) largest = std::max(largest, std::abs(x[e] - y[e]));
  return largest / 6;
}

class GpuSchurPlane : public GpuTest {};

TEST_F(GpuSchurPlane, LargeFronts_MatchTheHost) {
  for (const SchurFactorization factorization :
       {SchurFactorization::cholesky, SchurFactorization::ldlt, SchurFactorization::lu})
    EXPECT_LT(plane_difference(gpu, factorization), 1e-12) << to_string(factorization);
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
