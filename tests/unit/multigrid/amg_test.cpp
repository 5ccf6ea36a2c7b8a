// SPDX-License-Identifier: BSD-3-Clause
/// The method amg: its iterations, cycles, precisions and updates, and the coarsening that it chooses.
#include "support/multigrid/solves.hpp"
#include "support/multigrid_cases.hpp"

#include <echelon/error.hpp>
#include <echelon/generate.hpp>
#include <echelon/methods/amg.hpp>
#include <echelon/methods/multigrid/hierarchy.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace echelon::test {
namespace {

TEST(Amg, FinerMesh_FewMoreIterations) {
  for (const char* coarsening : {"smoothed-aggregation", "classical"}) {
    std::int64_t first = 0;
    for (const std::int64_t side : {16, 32, 48}) {
      const Csr<double> A = generate::poisson_3d<double>(side, side, side);
      const SolvedSystem solved = solve_cg(A, MultigridCases::random_vector(A.rows(), 5),
                                           {{"preconditioner.coarsening", coarsening}});
      EXPECT_EQ(solved.report.status, Status::converged);
      if (side == 16) first = solved.report.iterations;
      EXPECT_LE(solved.report.iterations, first + 2) << coarsening;
      EXPECT_LE(solved.report.iterations, 20) << coarsening;
    }
  }
}

TEST(Amg, AnyNumberOfThreads_SameBits) {
  const Csr<double> A = generate::poisson_3d<double>(34, 33, 35);
  const std::vector<double> b = MultigridCases::random_vector(A.rows(), 6);
  const SolvedSystem serial = solve_cg(A, b, {}, Device::serial());
  ASSERT_TRUE(serial.report.solved());
  for (const int threads : {1, 2, 4}) {
    const SolvedSystem other = solve_cg(A, b, {}, Device::openmp(threads));
    EXPECT_EQ(other.x, serial.x);
    EXPECT_EQ(other.report.iterations, serial.report.iterations);
  }
}

TEST(Amg, EveryCycle_Solves) {
  const Csr<double> A = generate::anisotropic_2d<double>(60, 50, 0.01);
  const std::vector<double> b = MultigridCases::random_vector(A.rows(), 7);
  for (const CycleKind cycle : {CycleKind::v, CycleKind::w, CycleKind::f, CycleKind::k}) {
    for (const AmgCoarsening coarsening :
         {AmgCoarsening::smoothed_aggregation, AmgCoarsening::aggregation, AmgCoarsening::classical}) {
      Amg<double> amg(Device(), {.coarsening = coarsening, .cycle = cycle, .coarse_size = 50});
      EXPECT_EQ(solve_with(amg, A, b).report.status, Status::converged)
          << to_string(cycle) << " " << to_string(coarsening);
    }
  }
}

TEST(Amg, UnsmoothedAggregation_KCycleSavesIterations) {
  const Csr<double> A = generate::poisson_2d<double>(100, 100);
  const std::vector<double> b = MultigridCases::random_vector(A.rows(), 8);
  const auto iterations = [&](CycleKind cycle) {
    Amg<double> amg(Device(), {.coarsening = AmgCoarsening::aggregation, .cycle = cycle, .coarse_size = 30});
    return solve_with(amg, A, b).report.iterations;
  };
  EXPECT_LT(iterations(CycleKind::k), iterations(CycleKind::v) * 2 / 3);
}

TEST(Amg, SinglePrecisionHierarchy_FewMoreIterations) {
  for (const double scale : {1.0, 1e-200, 1e200}) {
    Csr<double> A = generate::poisson_3d<double>(20, 20, 20);
    for (double& value : A.values().span()) value *= scale;
    const std::vector<double> b = MultigridCases::random_vector(A.rows(), 9);
    Amg<double> working;
    Amg<double> single(Device(), {.precision = HierarchyPrecision::single});
    const SolvedSystem expected = solve_with(working, A, b);
    const SolvedSystem got = solve_with(single, A, b);
    EXPECT_EQ(got.report.status, Status::converged);
    EXPECT_LE(got.report.iterations, expected.report.iterations + 1);
  }
}

TEST(Amg, UpdateValues_AsNewSetup) {
  const Csr<double> A = generate::poisson_2d<double>(70, 60);
  const std::vector<double> r = MultigridCases::random_vector(A.rows(), 10);
  Amg<double> updated(Device(), {.coarse_size = 30});
  ASSERT_TRUE(updated.setup(A).ready());
  const std::vector<double> before = applied(updated, r);
  Csr<double> changed = A;
  for (double& value : changed.values().span()) value *= 4;
  for (int repetition = 0; repetition < 2; ++repetition) {
    ASSERT_TRUE(updated.update_values(changed).ready());
    const std::vector<double> got = applied(updated, r);
    for (std::size_t i = 0; i < r.size(); ++i)
      EXPECT_EQ(4 * got[i], before[i]) << "a power of two rounds nothing";
  }
  // D A D with a slowly varying D.
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const auto d = [](std::int64_t row) { return 1 + 0.2 * std::sin(0.01 * static_cast<double>(row)); };
      changed.values()[k] = A.values()[k] * d(i) * d(A.column_indices()[k]);
    }
  }
  ASSERT_TRUE(updated.update_values(changed).ready());
  std::vector<double> x(r.size());
  const Report report = updated.solve(r, x);
  Amg<double> fresh(Device(), {.coarse_size = 30});
  const SolvedSystem expected = solve_with(fresh, changed, r);
  EXPECT_EQ(report.status, Status::converged);
  EXPECT_LE(report.iterations, expected.report.iterations * 11 / 10);
}

TEST(Amg, Coarsening_ChosenByMatrix) {
  const auto coarsening = [](const Csr<double>& A) {
    Amg<double> amg;
    (void)amg.setup(A);
    const HierarchyDescription description = describe_hierarchy(amg);
    return description.coarsening + ": " + description.coarsening_reason;
  };
  const std::string share = " % of the off-diagonal magnitude has the sign of the diagonal";
  EXPECT_EQ(coarsening(generate::poisson_2d<double>(40, 40)),
            "classical: A is close to an M-matrix: 0.0" + share);
  EXPECT_EQ(
      coarsening(generate::random_spd<double>(900, 0.01, 1.1, 4)).find("smoothed-aggregation: A is symm"), 0);
  const auto elastic = std::get<Csr<double>>(
      make_matrix<double>("elasticity-2d", find_generator("elasticity-2d").for_rows(5000)));
  EXPECT_EQ(coarsening(elastic), "smoothed-aggregation: A has dense blocks of 2 unknowns");
  Amg<double> named(Device(), {.coarsening = AmgCoarsening::classical});
  (void)named.setup(elastic);
  EXPECT_EQ(describe_hierarchy(named).coarsening_reason, "") << "it was asked for";
}

/// Matrices of a cycle in float are copies; those in double are computed anew by every update.
TEST(Amg, LevelMatrices_InFloat_AreTheRoundedOnes) {
  const Csr<double> A = generate::poisson_3d<double>(14, 15, 16);
  Csr<double> changed = A;
  for (double& value : changed.values().span()) value *= 3;
  for (const AmgCoarsening coarsening :
       {AmgCoarsening::classical, AmgCoarsening::smoothed_aggregation, AmgCoarsening::aggregation}) {
    SCOPED_TRACE(to_string(coarsening));
    AmgOptions options = {.coarsening = coarsening, .coarse_size = 20};
    options.precision = HierarchyPrecision::working;
    Amg<double> working(Device(), options);
    options.precision = HierarchyPrecision::single;
    Amg<double> single(Device(), options);
    ASSERT_TRUE(working.setup(A).ready());
    ASSERT_TRUE(single.setup(A).ready());
    const auto copy_of_A = sizeof(float) * static_cast<std::size_t>(A.nonzeros());
    EXPECT_LT(single.bytes(), working.bytes() + copy_of_A);
    for (int update = 0; update < 3; ++update) {
      const std::size_t levels = describe_hierarchy(working).levels.size();
      ASSERT_GT(levels, 2U);
      ASSERT_EQ(describe_hierarchy(single).levels.size(), levels);
      for (std::size_t l = 0; l < levels; ++l) {
        const Csr<double> expected = level_matrix<double>(working, l);
        const Csr<double> got = level_matrix<double>(single, l);
        EXPECT_EQ(got.row_offsets().to_vector(), expected.row_offsets().to_vector());
        EXPECT_EQ(got.column_indices().to_vector(), expected.column_indices().to_vector());
        EXPECT_EQ(describe_hierarchy(single).levels[l].nonzeros, expected.nonzeros());
        for (std::int64_t k = 0; k < expected.nonzeros(); ++k) {
          ASSERT_NEAR(got.values()[k], expected.values()[k], 6e-8 * std::abs(expected.values()[k]) + 1e-30);
        }
      }
      ASSERT_TRUE(working.update_values(changed).ready());
      ASSERT_TRUE(single.update_values(changed).ready());
    }
  }
}

TEST(Amg, BlockSize_DividesRows) {
  const Csr<double> A = generate::poisson_2d<double>(7, 7);
  Amg<double> amg(Device(), {.block_size = 2});
  EXPECT_THROW((void)amg.setup(A), BadOption);
}

TEST(Amg, Elasticity_BlocksAreFound) {
  const auto A = std::get<Csr<double>>(
      make_matrix<double>("elasticity-2d", find_generator("elasticity-2d").for_rows(5000)));
  const std::vector<double> b = MultigridCases::random_vector(A.rows(), 12);
  const SolvedSystem blocks = solve_cg(A, b);
  ASSERT_NE(blocks.report.find_statistic("preconditioner.block_size"), nullptr);
  EXPECT_EQ(std::get<std::int64_t>(blocks.report.find_statistic("preconditioner.block_size")->value), 2);
  EXPECT_EQ(blocks.report.status, Status::converged);
  EXPECT_LE(blocks.report.iterations, 30);
}

TEST(Amg, NonsymmetricMatricesConverge) {
  const Csr<double> A = generate::convection_diffusion_2d<double>(50, 50, 40, -20);
  const std::vector<double> b = MultigridCases::random_vector(A.rows(), 19);
  Solver<double> gmres = make_solver<double>("gmres", Device(), {{"preconditioner", "amg"}});
  const SolvedSystem solved = solve_with(gmres, A, b);
  EXPECT_EQ(solved.report.status, Status::converged);
  EXPECT_LE(solved.report.iterations, 40);
}

}  // namespace
}  // namespace echelon::test
