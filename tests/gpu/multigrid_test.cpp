// SPDX-License-Identifier: BSD-3-Clause
// Multigrid on the GPU against the host: levels, iterations, answers.
#include "gpu/gpu_fixture.hpp"
#include "support/problems.hpp"

#include <echelon/generate.hpp>
#include <echelon/methods/amg.hpp>
#include <echelon/methods/multigrid/hierarchy.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

namespace echelon::test {
namespace {

class GpuMultigrid : public GpuTest {
 protected:
  struct Solved {
    HierarchyDescription hierarchy;
    Report report;
    Dense<double> x;
  };

  static Solved solve(const Csr<double>& host, const Device& device, const AmgOptions& options) {
    const Csr<double> A = host.to(device);
    const Dense<double> b = random_dense<double>(A.rows(), 1, 3).to(device);
    Amg<double> amg(device, options);
    Solved solved;
    solved.report = amg.setup(A);
    EXPECT_TRUE(solved.report.ready()) << solved.report.message;
    if (!solved.report.ready()) return solved;
    solved.hierarchy = describe_hierarchy<double>(amg);
    Dense<double> x(device, A.rows(), 1);
    solved.report = amg.solve(b, x);
    // A second solve, after an update with the same values, has the same bits.
    Dense<double> again(device, A.rows(), 1);
    EXPECT_TRUE(amg.update_values(A).ready());
    EXPECT_TRUE(amg.solve(b, again).solved());
    solved.x = x.to(Device());
    const Dense<double> repeated = again.to(Device());
    for (std::int64_t i = 0; i < A.rows(); ++i) EXPECT_EQ(solved.x(i, 0), repeated(i, 0));
    return solved;
  }

  void compare(const Csr<double>& A, const AmgOptions& options) {
    const Solved host = solve(A, Device(), options);
    const Solved cuda = solve(A, gpu, options);
    EXPECT_EQ(cuda.report.status, Status::converged) << cuda.report.message;
    EXPECT_EQ(cuda.report.status, host.report.status);
    EXPECT_LE(cuda.report.iterations, host.report.iterations + 1);
    EXPECT_GE(cuda.report.iterations, host.report.iterations - 1);
    ASSERT_EQ(cuda.hierarchy.levels.size(), host.hierarchy.levels.size());
    for (std::size_t l = 0; l < host.hierarchy.levels.size(); ++l) {
      EXPECT_EQ(cuda.hierarchy.levels[l].rows, host.hierarchy.levels[l].rows) << l;
      EXPECT_EQ(cuda.hierarchy.levels[l].nonzeros, host.hierarchy.levels[l].nonzeros) << l;
    }
  }
};

TEST_F(GpuMultigrid, Coarsenings_AgreeWithHost) {
  const Csr<double> A = generate::poisson_3d<double>(20, 21, 22);
  for (const AmgCoarsening coarsening :
       {AmgCoarsening::smoothed_aggregation, AmgCoarsening::aggregation, AmgCoarsening::classical}) {
    SCOPED_TRACE(to_string(coarsening));
    compare(A, {.coarsening = coarsening, .coarse_size = 50});
  }
}

TEST_F(GpuMultigrid, Smoothers_AgreeWithHost) {
  const Csr<double> A = generate::poisson_3d<double>(14, 13, 12);
  for (const SmootherKind smoother :
       {SmootherKind::jacobi, SmootherKind::l1_jacobi, SmootherKind::chebyshev, SmootherKind::gauss_seidel,
        SmootherKind::symmetric_gauss_seidel, SmootherKind::ilu0, SmootherKind::ic0}) {
    SCOPED_TRACE(to_string(smoother));
    compare(A, {.smoother = smoother, .coarse_size = 50});
  }
}

TEST_F(GpuMultigrid, CyclesAndPrecisions_AgreeWithHost) {
  const Csr<double> A = generate::anisotropic_2d<double>(60, 50, 0.01);
  for (const CycleKind cycle : {CycleKind::v, CycleKind::w, CycleKind::f, CycleKind::k}) {
    SCOPED_TRACE(to_string(cycle));
    compare(A, {.cycle = cycle, .coarse_size = 50, .precision = HierarchyPrecision::working});
    compare(A, {.cycle = cycle, .coarse_size = 50, .precision = HierarchyPrecision::single});
  }
}

TEST_F(GpuMultigrid, RecordedCycles_SameBits) {
  const Csr<double> A = generate::poisson_3d<double>(20, 21, 22).to(gpu);
  const Dense<double> b = random_dense<double>(A.rows(), 1, 3).to(gpu);
  for (const HierarchyPrecision precision : {HierarchyPrecision::working, HierarchyPrecision::single}) {
    for (const SmootherKind smoother : {SmootherKind::jacobi, SmootherKind::chebyshev}) {
      Amg<double> amg(gpu, {.smoother = smoother, .coarse_size = 50, .precision = precision});
      ASSERT_TRUE(amg.setup(A).ready());
      // The first cycle of the first solve is not recorded.
      Dense<double> x(gpu, A.rows(), 1);
      ASSERT_TRUE(amg.solve(b, x).solved());
      const std::vector<double> first = x.to_vector();
      Dense<double> again(gpu, A.rows(), 1);
      ASSERT_TRUE(amg.solve(b, again).solved());
      EXPECT_EQ(again.to_vector(), first);
    }
  }
}

TEST_F(GpuMultigrid, SystemsAndHardCases_AgreeWithHost) {
  const Options rows = find_generator("elasticity-2d").for_rows(5000);
  compare(std::get<Csr<double>>(make_matrix<double>("elasticity-2d", rows)), {.coarse_size = 100});
  compare(Csr<double>::from_triplets(1, 1, {{0, 0, 2}}), {});
  compare(Csr<double>::from_triplets(3, 3, {{0, 0, 2}, {1, 1, 1}, {2, 2, 5}}), {.coarse_size = 1});
}

}  // namespace
}  // namespace echelon::test
