// SPDX-License-Identifier: BSD-3-Clause
/// Rigid-body modes and other near-null-space vectors: their making, and what they do for elasticity.
#include <echelon/error.hpp>
#include <echelon/generate.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/methods/amg.hpp>
#include <echelon/methods/multigrid/hierarchy.hpp>
#include <echelon/methods/multigrid/near_null_space.hpp>
#include <echelon/solve.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace echelon::test {
namespace {

struct Plate {
  Csr<double> A;
  Dense<double> coordinates;
};

Plate plate(std::int64_t nx, std::int64_t ny) {
  const Generator& generator = find_generator("elasticity-2d");
  const Options size = {{"nx", nx}, {"ny", ny}};
  return {std::get<Csr<double>>(generator.make_double(size)), generator.make_coordinates(size)};
}

std::vector<double> random_vector(std::int64_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<double> x(static_cast<std::size_t>(n));
  for (double& value : x) value = std::uniform_real_distribution<double>(-1, 1)(random);
  return x;
}

Dense<double> points(std::int64_t nodes, std::int64_t dimensions) {
  Dense<double> coordinates(Device(), nodes, dimensions);
  for (std::int64_t i = 0; i < nodes; ++i) {
    for (std::int64_t d = 0; d < dimensions; ++d) {
      coordinates(i, d) = std::sin(static_cast<double>(7 * i + 3 * d)) + 100;
    }
  }
  return coordinates;
}

/// The rows of a matrix but for those of some nodes.
Csr<double> without_rows(const Csr<double>& A, const std::vector<std::int64_t>& kept) {
  std::vector<std::int64_t> place(static_cast<std::size_t>(A.rows()), -1);
  for (std::size_t k = 0; k < kept.size(); ++k) {
    place[static_cast<std::size_t>(kept[k])] = static_cast<std::int64_t>(k);
  }
  std::vector<Triplet<double>> triplets;
  for (std::size_t k = 0; k < kept.size(); ++k) {
    for (std::int64_t e = A.row_offsets()[kept[k]]; e < A.row_offsets()[kept[k] + 1]; ++e) {
      const std::int64_t column = place[static_cast<std::size_t>(A.column_indices()[e])];
      if (column < 0) continue;
      triplets.push_back({static_cast<std::int32_t>(k), static_cast<std::int32_t>(column), A.values()[e]});
    }
  }
  const auto n = static_cast<std::int64_t>(kept.size());
  return Csr<double>::from_triplets(n, n, triplets);
}

Report solve_plate(const Plate& problem, const SolveOptions& options) {
  const std::vector<double> b = random_vector(problem.A.rows(), 4);
  return solve(problem.A, b, options).report;
}

SolveOptions cg_with_amg(const Dense<double>& vectors, Options amg = {}) {
  amg.set("preconditioner", "amg");
  SolveOptions options;
  options.method = "cg";
  options.parameters = amg;
  options.near_null_space = vectors;
  return options;
}

TEST(RigidBodyModes, SmallDisplacements_KeepDistances) {
  for (const std::int64_t dimensions : {1, 2, 3}) {
    const std::int64_t nodes = 12;
    const Dense<double> x = points(nodes, dimensions);
    const Dense<double> modes = rigid_body_modes(x);
    ASSERT_EQ(modes.rows(), dimensions * nodes);
    ASSERT_EQ(modes.columns(), dimensions * (dimensions + 1) / 2);
    // The distance of two nodes is stationary: (u_i - u_j) is orthogonal to (x_i - x_j).
    for (std::int64_t c = 0; c < modes.columns(); ++c) {
      for (std::int64_t i = 0; i < nodes; ++i) {
        for (std::int64_t j = 0; j < i; ++j) {
          double product = 0;
          for (std::int64_t d = 0; d < dimensions; ++d) {
            product += (modes(dimensions * i + d, c) - modes(dimensions * j + d, c)) * (x(i, d) - x(j, d));
          }
          EXPECT_NEAR(product, 0, 1e-12);
        }
      }
    }
    // Rotations are about the centre, and so orthogonal to translations.
    for (std::int64_t c = dimensions; c < modes.columns(); ++c) {
      double length = 0;
      for (std::int64_t d = 0; d < dimensions; ++d) {
        double sum = 0;
        for (std::int64_t i = 0; i < nodes; ++i) {
          sum += modes(dimensions * i + d, c);
          length += std::pow(modes(dimensions * i + d, c), 2);
        }
        EXPECT_NEAR(sum, 0, 1e-11);
      }
      EXPECT_GT(length, 0.1) << "as long as translations";
    }
  }
}

TEST(RigidBodyModes, EliminatedUnknowns_LeaveRowsOut) {
  const Dense<double> x = points(9, 2);
  const std::vector<std::int64_t> unknowns = {1, 4, 5, 16};
  const Dense<double> all = rigid_body_modes(x);
  const Dense<double> some = rigid_body_modes(x, unknowns);
  ASSERT_EQ(some.rows(), 4);
  for (std::int64_t i = 0; i < some.rows(); ++i) {
    for (std::int64_t c = 0; c < 3; ++c) {
      EXPECT_EQ(some(i, c), all(unknowns[static_cast<std::size_t>(i)], c));
    }
  }
}

TEST(RigidBodyModes, BadCoordinates_AreNamed) {
  EXPECT_THROW((void)rigid_body_modes(points(5, 4)), DimensionMismatch);
  EXPECT_THROW((void)rigid_body_modes(Dense<double>(Device(), 5, 0)), DimensionMismatch);
  Dense<double> x = points(5, 3);
  const std::vector<std::int64_t> outside = {15};
  EXPECT_THROW((void)rigid_body_modes(x, outside), Error);
  x(3, 1) = std::nan("");
  EXPECT_THROW((void)rigid_body_modes(x), Error);
}

TEST(NearNullSpace, FreePlate_ModesAreItsNullSpace) {
  // Rows of nodes away from the clamped side are those of a free plate.
  const Plate problem = plate(8, 6);
  const Dense<double> modes = rigid_body_modes(problem.coordinates);
  for (std::int64_t node = 0; node < problem.coordinates.rows(); ++node) {
    if (problem.coordinates(node, 0) < 2) continue;
    for (std::int64_t row = 2 * node; row < 2 * node + 2; ++row) {
      for (std::int64_t c = 0; c < 3; ++c) {
        double sum = 0;
        for (std::int64_t k = problem.A.row_offsets()[row]; k < problem.A.row_offsets()[row + 1]; ++k) {
          sum += problem.A.values()[k] * modes(problem.A.column_indices()[k], c);
        }
        EXPECT_NEAR(sum, 0, 1e-12);
      }
    }
  }
}

TEST(NearNullSpace, Elasticity_FewIterations) {
  std::int64_t first = 0;
  for (const std::int64_t side : {20, 60, 120}) {
    const Plate problem = plate(side, side);
    const Report report = solve_plate(problem, cg_with_amg(rigid_body_modes(problem.coordinates)));
    EXPECT_EQ(report.status, Status::converged) << report.message;
    EXPECT_LE(report.iterations, 30);
    if (side == 20) first = report.iterations;
    EXPECT_LE(report.iterations, first + 6);
    const Statistic* vectors = report.find_statistic("preconditioner.near_null_space");
    ASSERT_NE(vectors, nullptr);
    EXPECT_EQ(std::get<std::int64_t>(vectors->value), 3);
  }
  // A long plate bends: rotations are what constants cannot represent.
  const Plate beam = plate(400, 10);
  const Report with = solve_plate(beam, cg_with_amg(rigid_body_modes(beam.coordinates)));
  const Report without = solve_plate(beam, cg_with_amg({}));
  EXPECT_EQ(with.status, Status::converged);
  EXPECT_LT(with.iterations, without.iterations);
}

TEST(NearNullSpace, EveryCoarseningAndSmoother_Solves) {
  const Plate problem = plate(30, 20);
  const Dense<double> modes = rigid_body_modes(problem.coordinates);
  for (const char* coarsening : {"smoothed-aggregation", "aggregation"}) {
    for (const char* smoother :
         {"jacobi", "l1-jacobi", "chebyshev", "gauss-seidel", "symmetric-gauss-seidel"}) {
      const Report report =
          solve_plate(problem, cg_with_amg(modes, {{"preconditioner.coarsening", coarsening},
                                                   {"preconditioner.smoother", smoother},
                                                   {"preconditioner.coarse_size", 30}}));
      EXPECT_EQ(report.status, Status::converged) << coarsening << " " << smoother << " " << report.message;
    }
  }
}

TEST(NearNullSpace, EliminatedUnknowns_StillSolve) {
  const Plate whole = plate(24, 20);
  std::vector<std::int64_t> kept;
  for (std::int64_t i = 0; i < whole.A.rows(); ++i) {
    if (i % 41 != 0 && i % 97 != 3) kept.push_back(i);
  }
  const Plate problem = {without_rows(whole.A, kept), whole.coordinates};
  const Report report = solve_plate(
      problem, cg_with_amg(rigid_body_modes(whole.coordinates, kept), {{"preconditioner.coarse_size", 40}}));
  EXPECT_EQ(report.status, Status::converged) << report.message;
}

TEST(NearNullSpace, DependentVectors_AreDropped) {
  // The third vector is a combination of the others; a fourth is zero.
  const Csr<double> A = generate::poisson_2d<double>(40, 40);
  Dense<double> vectors(Device(), A.rows(), 4);
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    vectors(i, 0) = 1;
    vectors(i, 1) = static_cast<double>(i % 40);
    vectors(i, 2) = 2 - 3 * static_cast<double>(i % 40);
    vectors(i, 3) = 0;
  }
  const std::vector<double> b = random_vector(A.rows(), 5);
  for (const char* smoother : {"jacobi", "chebyshev", "gauss-seidel"}) {
    const Report report =
        solve(
            A, b,
            cg_with_amg(vectors, {{"preconditioner.smoother", smoother}, {"preconditioner.coarse_size", 10}}))
            .report;
    EXPECT_EQ(report.status, Status::converged) << smoother << ": " << report.message;
    EXPECT_LE(report.iterations, 30) << smoother;
  }
}

TEST(NearNullSpace, SecondVector_RepresentsItsErrors) {
  // D A D with a rough D: its smooth errors are D^-1 times a constant.
  const std::int64_t side = 60;
  const Csr<double> A = generate::poisson_2d<double>(side, side);
  Csr<double> scaled = A;
  Dense<double> vector(Device(), A.rows(), 1);
  const auto d = [](std::int64_t i) { return i % 3 == 0 ? 1.0 : i % 3 == 1 ? 5.0 : -0.3; };
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    vector(i, 0) = 1 / d(i);
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      scaled.values()[k] = A.values()[k] * d(i) * d(A.column_indices()[k]);
    }
  }
  const std::vector<double> b = random_vector(A.rows(), 6);
  const Options coarsening = {{"preconditioner.coarsening", "smoothed-aggregation"},
                              {"preconditioner.coarse_size", 30},
                              {"preconditioner.strength", 0.0}};
  const Report with = solve(scaled, b, cg_with_amg(vector, coarsening)).report;
  const Report without = solve(scaled, b, cg_with_amg({}, coarsening)).report;
  EXPECT_EQ(with.status, Status::converged);
  EXPECT_LE(with.iterations, 25);
  EXPECT_GT(without.iterations, 2 * with.iterations);
}

TEST(NearNullSpace, Misuse_IsNamed) {
  const Csr<double> A = generate::poisson_2d<double>(12, 12);
  const std::vector<double> b = random_vector(A.rows(), 7);
  const Dense<double> ones(A.rows(), 1, Array<double>(Device(), std::vector<double>(144, 1.0)));
  SolveOptions options;
  options.near_null_space = ones;
  EXPECT_THROW((void)solve(A, b, cg_with_amg(ones, {{"preconditioner.coarsening", "classical"}})), BadOption);
  EXPECT_THROW((void)solve(A, b, cg_with_amg(rigid_body_modes(points(4, 2)))), DimensionMismatch);
  EXPECT_THROW((void)solve(A, b, cg_with_amg(Dense<double>(Device(), A.rows(), 17))), DimensionMismatch);
  Dense<double> unusable(A.rows(), 2, Array<double>(Device(), std::vector<double>(288)));
  EXPECT_THROW((void)solve(A, b, cg_with_amg(unusable)), Error) << "zero";
  unusable(3, 1) = std::nan("");
  EXPECT_THROW((void)solve(A, b, cg_with_amg(unusable)), Error);
  options.method = "auto";
  EXPECT_TRUE(solve(A, b, options).report.solved());
  Amg<double> amg(Device(), {.block_size = 5});
  set_near_null_space(amg, ones);
  EXPECT_THROW((void)amg.setup(A), BadOption) << "5 does not divide 144";
}

TEST(NearNullSpace, Elasticity_UpdateKeepsVectors) {
  Plate problem = plate(40, 30);
  Solver<double> cg = make_solver<double>("cg", Device(), {{"preconditioner", "amg"}});
  set_near_null_space(cg, rigid_body_modes(problem.coordinates));
  ASSERT_TRUE(cg.setup(problem.A).ready());
  EXPECT_EQ(describe_hierarchy(cg).near_null_space, 3);
  const std::vector<double> b = random_vector(problem.A.rows(), 8);
  std::vector<double> x(b.size());
  const std::int64_t before = cg.solve(b, x).iterations;
  for (double& value : problem.A.values().span()) value *= 3;
  ASSERT_TRUE(cg.update_values(problem.A).ready());
  const Report report = cg.solve(b, x);
  EXPECT_EQ(report.status, Status::converged);
  EXPECT_NEAR(static_cast<double>(report.iterations), static_cast<double>(before), 1);
}

}  // namespace
}  // namespace echelon::test
