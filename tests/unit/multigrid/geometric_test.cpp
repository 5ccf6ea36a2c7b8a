// SPDX-License-Identifier: BSD-3-Clause
/// The methods geometric-multigrid, and multigrid on a line.
#include "backend/targets.hpp"
#include "multigrid/geometric/interpolation.hpp"
#include "support/problems.hpp"

#include <echelon/methods.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

namespace echelon::test {
namespace {

TEST(Grid, FirstRow_TellsThePoints) {
  using Row = std::vector<std::int32_t>;
  using Grids = std::vector<Grid>;
  EXPECT_EQ(recognise_grids(7, Row({0, 1})), (Grids{{{7, 1, 1}}}));
  EXPECT_EQ(recognise_grids(12, Row({0, 1, 4})), (Grids{{{4, 3, 1}}}));
  EXPECT_EQ(recognise_grids(12, Row({0, 1, 4, 5})), (Grids{{{4, 3, 1}}}));
  EXPECT_EQ(recognise_grids(60, Row({0, 1, 5, 20})), (Grids{{{5, 4, 3}}}));
  EXPECT_EQ(recognise_grids(60, Row({0, 1, 5, 6, 20, 21, 25, 26})), (Grids{{{5, 4, 3}}}));
  for (const Row& row :
       {Row({}), Row({0}), Row({1, 2}), Row({0, 2}), Row({0, 1, 5}), Row({0, 1, 4, 7}), Row({0, 1, 4, 10})}) {
    EXPECT_EQ(recognise_grids(12, row).size(), 0U) << row.size();
  }
}

TEST(Grid, FirstRow_TellsPeriodicAxes) {
  using Row = std::vector<std::int32_t>;
  using Grids = std::vector<Grid>;
  EXPECT_EQ(recognise_grids(7, Row({0, 1, 6})), (Grids{{{7, 1, 1}, {true, false, false}}}));
  EXPECT_EQ(recognise_grids(20, Row({0, 1, 4, 5})),
            (Grids{{{4, 5, 1}}, {{5, 4, 1}, {true, false, false}}}));  // 9 points, or 5
  EXPECT_EQ(recognise_grids(20, Row({0, 1, 4, 5, 15})), (Grids{{{5, 4, 1}, {true, true, false}}}));
  EXPECT_EQ(recognise_grids(60, Row({0, 1, 5, 15, 20, 40})), (Grids{{{5, 4, 3}, {false, true, true}}}));
}

TEST(Grid, Text_IsRead) {
  EXPECT_EQ(parse_grid("100"), (Grid{{100, 1, 1}}));
  EXPECT_EQ(parse_grid("10x8"), (Grid{{10, 8, 1}}));
  EXPECT_EQ(parse_grid("10x1x3"), (Grid{{10, 1, 3}}));
  for (const char* text : {"", "x", "10x", "10x8x6x4", "0x3", "-2", "10 8", "3.5", "9999999999"}) {
    EXPECT_FALSE(parse_grid(text)) << text;
  }
  for (const char* text : {"7", "7x5", "7x5x3", "7x1x3"}) EXPECT_EQ(to_string(*parse_grid(text)), text);
}

/// Linear functions of the position are interpolated exactly, away from the boundary, beyond which it is
/// zero.
TEST(Grid, Interpolation_IsExactForLinearFunctions) {
  for (const Grid& grid :
       {Grid{{9, 1, 1}}, Grid{{8, 1, 1}}, Grid{{7, 10, 1}}, Grid{{5, 6, 7}}, Grid{{2, 3, 1}}}) {
    const Csr<double> P = multigrid::interpolation<HostTarget, double>(Device(), grid);
    const Grid coarse = grid.coarse();
    ASSERT_EQ(P.rows(), grid.size());
    ASSERT_EQ(P.columns(), coarse.size());
    const auto position = [](const Grid& g, std::int64_t i, std::size_t d) {
      return d == 0   ? i % g.points[0]
             : d == 1 ? i / g.points[0] % g.points[1]
                      : i / g.points[0] / g.points[1];
    };
    const auto linear = [&](const Grid& g, std::int64_t i, bool is_coarse) {
      double value = 3;
      for (std::size_t d = 0; d < 3; ++d) {
        const std::int64_t x = position(g, i, d);
        const std::int64_t fine = is_coarse && grid.points[d] > 1 ? 2 * x + 1 : x;
        value += static_cast<double>((d + 2) * fine);
      }
      return value;
    };
    for (std::int64_t i = 0; i < P.rows(); ++i) {
      bool interior = true;
      for (std::size_t d = 0; d < 3; ++d) {
        const std::int64_t x = position(grid, i, d);
        const bool at_end = x == 0 || x / 2 == coarse.points[d];
        interior = interior && (grid.points[d] == 1 || x % 2 == 1 || !at_end);
      }
      double weight = 0;
      double value = 0;
      for (std::int64_t k = P.row_offsets()[i]; k < P.row_offsets()[i + 1]; ++k) {
        weight += P.values()[k];
        value += P.values()[k] * linear(coarse, P.column_indices()[k], true);
        EXPECT_TRUE(k == P.row_offsets()[i] || P.column_indices()[k - 1] < P.column_indices()[k]);
      }
      if (interior) {
        EXPECT_DOUBLE_EQ(weight, 1);
        EXPECT_DOUBLE_EQ(value, linear(grid, i, false)) << to_string(grid) << " at " << i;
      } else {
        EXPECT_LT(weight, 1);
      }
    }
  }
}

template <class Options>
Report solve_with(const Csr<double>& A, const Options& options, std::vector<double>& x,
                  const std::vector<double>& b, const Device& device = {}) {
  Solver<double> solver = make_solver<double>(device, options);
  const Report setup = solver.setup(A);
  EXPECT_EQ(setup.status, Status::ready) << setup.message;
  x.assign(b.size(), 0.0);
  return solver.solve(b, x);
}

std::vector<double> random_vector(std::int64_t n) {
  std::mt19937 random(3);
  std::vector<double> b(static_cast<std::size_t>(n));
  for (double& element : b) element = std::normal_distribution<double>()(random);
  return b;
}

TEST(GeometricMultigrid, Poisson_CyclesDoNotGrowWithN) {
  std::vector<double> x;
  std::int64_t small = 0;
  for (const std::int32_t side : {15, 31, 63, 100}) {
    const Csr<double> A = poisson(side);
    const Report report =
        solve_with(A, GeometricMultigridOptions{.coarse_size = 20}, x, random_vector(A.rows()));
    EXPECT_EQ(report.status, Status::converged);
    if (small == 0) small = report.iterations;
    EXPECT_LE(report.iterations, small + 2) << side;
  }
  EXPECT_LE(small, 20);
}

TEST(GeometricMultigrid, PreconditionsCg_InEveryKindOfDevice) {
  const Csr<double> A = poisson(40);
  for (const Device& device : {Device::serial(), Device::openmp(2)}) {
    Cg<double> cg(device,
                  {.preconditioner = "geometric-multigrid", .preconditioner_options = {{"coarse_size", 20}}});
    cg.setup(A);
    std::vector<double> x(static_cast<std::size_t>(A.rows()));
    const Report report = cg.solve(random_vector(A.rows()), x);
    EXPECT_EQ(report.status, Status::converged);
    EXPECT_LE(report.iterations, 12);
  }
}

/// One F-cycle from zero has an error of the size of the discretisation error (Brandt's full multigrid).
TEST(GeometricMultigrid, FullMultigridPass_ReachesDiscretisationAccuracy) {
  const std::int32_t side = 63;
  const Csr<double> A = poisson(side);
  const double h = 1.0 / (side + 1);
  std::vector<double> b(static_cast<std::size_t>(A.rows()));
  std::vector<double> u = b;
  const double pi = std::numbers::pi;
  for (std::int32_t j = 0; j < side; ++j) {
    for (std::int32_t i = 0; i < side; ++i) {
      u[i + j * side] = std::sin(pi * (i + 1) * h) * std::sin(2 * pi * (j + 1) * h);
      b[i + j * side] = h * h * 5 * pi * pi * u[i + j * side];
    }
  }
  const auto error = [&](const std::vector<double>& x) {
    double largest = 0;
    for (std::size_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::abs(x[i] - u[i]));
    return largest;
  };
  std::vector<double> exact;
  solve_with(A, SparseCholeskyOptions{}, exact, b);
  std::vector<double> x;
  const GeometricMultigridOptions options{.stop = {.rtol = 1e-12, .max_iterations = 1},
                                          .cycle = CycleKind::f,
                                          .smoother = SmootherKind::gauss_seidel,
                                          .sweeps = 2,
                                          .coarse_size = 20};
  solve_with(A, options, x, b);
  EXPECT_LT(error(x), 3 * error(exact));
  EXPECT_GT(error(exact), 1e-5);
}

TEST(GeometricMultigrid, Grid_IsCheckedOrTakenAsALine) {
  const Csr<double> A = poisson(12);
  GeometricMultigrid<double> wrong(Device(), {.grid = "12x13"});
  EXPECT_THROW(wrong.setup(A), BadOption);
  GeometricMultigrid<double> text(Device(), {.grid = "12by12"});
  EXPECT_THROW(text.setup(A), BadOption);
  const Csr<double> unknown = random_dominant(700, 5, true, 3).csr<double>();
  GeometricMultigrid<double> line;
  const Report report = line.setup(unknown);
  EXPECT_EQ(report.status, Status::ready);
  ASSERT_FALSE(report.warnings.empty());
  EXPECT_NE(report.warnings.front().find("grid"), std::string::npos);
  GeometricMultigrid<double> given(Device(), {.grid = "12x12", .coarse_size = 10});
  EXPECT_TRUE(given.setup(A).warnings.empty());
  EXPECT_EQ(describe_hierarchy<double>(given).coarsening, "grid 12x12");
  EXPECT_EQ(describe_hierarchy<double>(given).levels.size(), 3U);
  EXPECT_EQ(describe_hierarchy<double>(given).end, "the level is small");
  GeometricMultigrid<double> limited(Device(), {.coarse_size = 10, .max_levels = 2});
  EXPECT_TRUE(limited.setup(A).ready());
  EXPECT_EQ(describe_hierarchy<double>(limited).end, "the number of levels is limited");
}

/// A random graph of degree 10 fills up where its unknowns are interpolated along their numbering.
TEST(Multigrid, CoarseMatrixTooDense_IsSaid) {
  const Csr<double> A = generate::random_spd<double>(20000, 10.0 / 20000, 1.01, 5);
  Multigrid<double> line;
  const Report report = line.setup(A);
  ASSERT_TRUE(report.ready());
  ASSERT_EQ(report.warnings.size(), 1U);
  EXPECT_EQ(report.warnings[0].find("the hierarchy ends at 20000 rows: the next level would be denser"), 0U)
      << report.warnings[0];
  EXPECT_EQ(describe_hierarchy<double>(line).end.find("the next level would be denser"), 0U);
}

TEST(Multigrid, LineLaplacian_CyclesDoNotGrowWithN) {
  std::vector<double> x;
  for (const std::int32_t n : {1, 2, 31, 32, 33, 1025}) {
    std::vector<Triplet<double>> elements;
    for (std::int32_t i = 0; i < n; ++i) {
      elements.push_back({i, i, 2});
      if (i > 0) elements.push_back({i, i - 1, -1});
      if (i + 1 < n) elements.push_back({i, i + 1, -1});
    }
    const auto A = Csr<double>::from_triplets(n, n, elements);
    const Report report = solve_with(A, MultigridOptions{.coarse_size = 4}, x, random_vector(n));
    EXPECT_EQ(report.status, Status::converged) << n;
    EXPECT_LE(report.iterations, 12) << n;
  }
}

TEST(Multigrid, UpdatedValues_AnswerLikeASetup) {
  const Csr<double> A = poisson(30);
  Csr<double> B = A;
  for (std::int64_t k = 0; k < B.nonzeros(); ++k) B.values()[k] *= 3;
  const MultigridOptions options{.coarse_size = 50};
  Solver<double> updated = make_solver<double>(Device(), options);
  updated.setup(A);
  ASSERT_EQ(updated.update_values(B).status, Status::ready);
  const std::vector<double> b = random_vector(A.rows());
  std::vector<double> x(b.size());
  ASSERT_EQ(updated.solve(b, x).status, Status::converged);
  std::vector<double> expected;
  solve_with(B, options, expected, b);
  EXPECT_EQ(x, expected);
}

}  // namespace
}  // namespace echelon::test
