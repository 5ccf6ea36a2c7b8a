// SPDX-License-Identifier: BSD-3-Clause
// Multigrid on the GPU against the host: levels, iterations, answers.
#include "gpu/gpu_fixture.hpp"
#include "support/multigrid_cases.hpp"
#include "support/problems.hpp"
#include "support/several_columns.hpp"

#include <echelon/generate.hpp>
#include <echelon/methods/amg.hpp>
#include <echelon/methods/multigrid/hierarchy.hpp>
#include <echelon/methods/multigrid/near_null_space.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
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

/// Aggregates and coarse points depend on integer keys: the patterns of all levels are the same.
TEST_F(GpuMultigrid, LevelPatterns_AreThoseOfTheHost) {
  const Csr<double> A = generate::poisson_3d<double>(20, 21, 22);
  for (const AmgCoarsening coarsening :
       {AmgCoarsening::smoothed_aggregation, AmgCoarsening::aggregation, AmgCoarsening::classical}) {
    SCOPED_TRACE(to_string(coarsening));
    const AmgOptions options = {
        .coarsening = coarsening, .coarse_size = 50, .precision = HierarchyPrecision::working};
    Amg<double> host(Device(), options);
    Amg<double> cuda(gpu, options);
    const Csr<double> moved = A.to(gpu);
    ASSERT_TRUE(host.setup(A).ready());
    ASSERT_TRUE(cuda.setup(moved).ready());
    const std::size_t levels = describe_hierarchy<double>(host).levels.size();
    ASSERT_EQ(describe_hierarchy<double>(cuda).levels.size(), levels);
    for (std::size_t l = 0; l < levels; ++l) {
      const Csr<double> expected = level_matrix<double>(host, l);
      const Csr<double> got = level_matrix<double>(cuda, l).to(Device());
      EXPECT_EQ(got.row_offsets().to_vector(), expected.row_offsets().to_vector()) << l;
      EXPECT_EQ(got.column_indices().to_vector(), expected.column_indices().to_vector()) << l;
      for (std::int64_t k = 0; k < expected.nonzeros(); ++k) {
        ASSERT_NEAR(got.values()[k], expected.values()[k], 1e-11) << l;
      }
    }
  }
}

/// cg with amg; x comes back to the host.
struct CgSolved {
  Report report;
  std::vector<double> x;
};
CgSolved solve_cg(const Device& device, const Options& options, const Csr<double>& A,
                  const std::vector<double>& b, const Dense<double>& vectors = {}) {
  const Csr<double> moved = A.to(device);
  Solver<double> cg = make_solver<double>("cg", device, options);
  if (vectors.columns() > 0) set_near_null_space(cg, vectors);
  CgSolved solved{cg.setup(moved), {}};
  if (!solved.report.ready()) return solved;
  const Dense<double> rhs(device, b);
  Dense<double> x(device, A.rows(), 1);
  solved.report = cg.solve(rhs, x);
  solved.x = x.to_vector();
  return solved;
}

TEST_F(GpuMultigrid, HardCases_SolvedOnTheGpu) {
  for (const MultigridCase& problem : MultigridCases::solvable()) {
    for (const char* coarsening : {"smoothed-aggregation", "aggregation", "classical"}) {
      const Options options = {{"preconditioner", "amg"},
                               {"preconditioner.coarse_size", 20},
                               {"preconditioner.coarsening", coarsening},
                               {"max_iterations", 400}};
      const CgSolved solved = solve_cg(gpu, options, problem.A, problem.b);
      EXPECT_EQ(solved.report.status, Status::converged)
          << problem.name << ", " << coarsening << ": " << solved.report.message;
    }
  }
}

TEST_F(GpuMultigrid, IndefiniteAndNonFinite_AreNamed) {
  const Csr<double> A = MultigridCases::shifted(generate::poisson_2d<double>(40, 40), 3.3);
  const std::vector<double> b = MultigridCases::random_vector(A.rows(), 1);
  const Options options = {{"preconditioner", "amg"},
                           {"preconditioner.coarsening", "smoothed-aggregation"},
                           {"max_iterations", 300}};
  EXPECT_EQ(solve_cg(gpu, options, A, b).report.status, Status::not_spd);
  Csr<double> broken = A;
  broken.values()[77] = std::nan("");
  EXPECT_EQ(solve_cg(gpu, options, broken, b).report.status, Status::not_a_number);
}

TEST_F(GpuMultigrid, SingularSystems_ProjectedOrNamed) {
  const Csr<double> A = MultigridCases::neumann(40);
  std::vector<double> b = MultigridCases::product(A, MultigridCases::random_vector(A.rows(), 7));
  for (const char* precision : {"working", "single"}) {
    const Options options = {{"preconditioner", "amg"},
                             {"preconditioner.coarse_size", 60},
                             {"preconditioner.precision", precision}};
    const CgSolved solved = solve_cg(gpu, options, A, b);
    EXPECT_EQ(solved.report.status, Status::converged) << solved.report.message;
    double sum = 0;
    for (const double value : solved.x) sum += value;
    EXPECT_NEAR(sum, 0, 1e-8);
    std::vector<double> inconsistent = b;
    inconsistent[0] += 1;
    EXPECT_EQ(solve_cg(gpu, options, A, inconsistent).report.status, Status::inconsistent);
  }
}

/// A null vector of a part, and zero rows, together with a regular part.
TEST_F(GpuMultigrid, SingularPartAndZeroRows_Named) {
  const Csr<double> parts =
      MultigridCases::block_diagonal(generate::poisson_2d<double>(30, 30), MultigridCases::neumann(12));
  const Csr<double> A =
      MultigridCases::block_diagonal(parts, Csr<double>::from_triplets(20, 20, {{3, 7, 0.0}}));
  const std::vector<double> b = MultigridCases::product(A, MultigridCases::random_vector(A.rows(), 8));
  std::vector<double> inconsistent = b;
  for (std::size_t i = 900; i < 1044; ++i) inconsistent[i] += 0.5;
  inconsistent[1044] = inconsistent[1063] = 2;
  const Options options = {{"preconditioner", "amg"}, {"preconditioner.coarse_size", 60}};
  EXPECT_EQ(solve_cg(gpu, options, A, b).report.status, Status::converged);
  const CgSolved solved = solve_cg(gpu, options, A, inconsistent);
  EXPECT_EQ(solved.report.status, Status::inconsistent) << solved.report.message;
  const std::vector<double> Ax = MultigridCases::product(A, solved.x);
  for (std::size_t i = 0; i < Ax.size(); ++i) EXPECT_NEAR(Ax[i], b[i], 1e-6);
}

TEST_F(GpuMultigrid, UpdateOfAnotherPattern_AsNewSetup) {
  const Csr<double> A = generate::poisson_2d<double>(40, 40);
  const Csr<double> first = A.to(gpu);
  const Csr<double> second = MultigridCases::renumbered(A).to(gpu);
  ASSERT_EQ(first.nonzeros(), second.nonzeros());
  const Dense<double> b = random_dense<double>(A.rows(), 1, 9).to(gpu);
  Amg<double> updated(gpu);
  ASSERT_TRUE(updated.setup(first).ready());
  ASSERT_TRUE(updated.update_values(second).ready());
  Amg<double> fresh(gpu);
  ASSERT_TRUE(fresh.setup(second).ready());
  Dense<double> x(gpu, A.rows(), 1);
  Dense<double> expected(gpu, A.rows(), 1);
  EXPECT_EQ(updated.solve(b, x).status, Status::converged);
  EXPECT_EQ(fresh.solve(b, expected).status, Status::converged);
  EXPECT_EQ(x.to_vector(), expected.to_vector());
}

TEST_F(GpuMultigrid, NearNullSpaceAndFlexibleCg_AgreeWithHost) {
  const Generator& generator = find_generator("elasticity-2d");
  const Options size = {{"nx", 100}, {"ny", 20}};
  const auto A = std::get<Csr<double>>(generator.make_double(size));
  const Dense<double> modes = rigid_body_modes(generator.make_coordinates(size));
  const std::vector<double> b = MultigridCases::random_vector(A.rows(), 8);
  for (const char* cycle : {"v", "f", "k"}) {
    const Options options = {
        {"preconditioner", "amg"}, {"preconditioner.cycle", cycle}, {"preconditioner.coarse_size", 60}};
    const CgSolved host = solve_cg(Device(), options, A, b, modes);
    const CgSolved cuda = solve_cg(gpu, options, A, b, modes);
    EXPECT_EQ(cuda.report.status, Status::converged) << cycle << ": " << cuda.report.message;
    EXPECT_LE(cuda.report.iterations, 30) << cycle;
    EXPECT_NEAR(static_cast<double>(cuda.report.iterations), static_cast<double>(host.report.iterations), 1);
  }
}

TEST_F(GpuMultigrid, SeveralColumns_AsAlone) {
  const Csr<double> A = generate::poisson_3d<double>(20, 21, 22);
  const std::vector<double> b = SeveralColumns::right_hand_sides(A.rows());
  for (const char* precision : {"working", "single"}) {
    for (const char* smoother : {"jacobi", "chebyshev", "gauss-seidel"}) {
      for (const char* cycle : {"v", "k"}) {
        SCOPED_TRACE(std::string(precision) + " " + smoother + " " + cycle);
        const Options amg{{"precision", precision}, {"smoother", smoother}, {"cycle", cycle}};
        SeveralColumns::expect_as_alone("amg", gpu, amg, A, b);
        const Options cg{{"preconditioner", "amg"},
                         {"preconditioner.precision", precision},
                         {"preconditioner.smoother", smoother},
                         {"preconditioner.cycle", cycle}};
        SeveralColumns::expect_as_alone("cg", gpu, cg, A, b);
      }
    }
  }
}

/// Rows of every length, pieces of long ones among them.
TEST_F(GpuMultigrid, SeveralColumnsOfHardCases_AsAlone) {
  for (const MultigridCase& problem : MultigridCases::solvable()) {
    SCOPED_TRACE(problem.name);
    std::vector<double> b;
    for (int column = 1; column <= 3; ++column) {
      for (const double value : problem.b) b.push_back(column * value);
    }
    SeveralColumns::expect_as_alone("cg", gpu, {{"preconditioner", "amg"}, {"max_iterations", 400}},
                                    problem.A, b);
  }
}

}  // namespace
}  // namespace echelon::test
