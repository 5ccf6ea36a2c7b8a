// SPDX-License-Identifier: BSD-3-Clause
/// The method structured-multigrid: iterations, factors of convergence against Fourier analysis, hard cases.
#include "support/multigrid/stencil_problems.hpp"
#include "support/problems.hpp"
#include "support/several_columns.hpp"

#include <echelon/generate.hpp>
#include <echelon/methods.hpp>
#include <echelon/preconditioner.hpp>
#include <echelon/solver/preconditioner_application.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

double one(std::int64_t) {
  return 1;
}

struct StructuredSolve {
  Report setup;
  Report report;
  std::vector<double> x;
};

StructuredSolve solve_structured(const Csr<double>& A, const std::vector<double>& b,
                                 const Device& device = {},
                                 const std::string& method = "structured-multigrid",
                                 const Options& options = {}) {
  Solver<double> solver = make_solver<double>(method, device, options);
  StructuredSolve solved;
  solved.setup = solver.setup(A);
  EXPECT_TRUE(solved.setup.ready()) << solved.setup.message;
  solved.x.assign(b.size(), 0.0);
  solved.report = solver.solve(b, solved.x);
  return solved;
}

std::string structure_of(const Report& report) {
  const Statistic* found = report.find_statistic("structure");
  return found == nullptr ? "" : std::get<std::string>(found->value);
}

/// Solves for a random right-hand side, and returns the iterations; the residual is computed here.
std::int64_t iterations(const Csr<double>& A) {
  const std::vector<double> b = MultigridCases::random_vector(A.rows(), 4);
  const StructuredSolve solved = solve_structured(A, b);
  EXPECT_EQ(solved.report.status, Status::converged) << solved.report.message;
  EXPECT_NE(structure_of(solved.setup), "");
  double residual = 0;
  double norm = 0;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    double sum = b[static_cast<std::size_t>(i)];
    norm += sum * sum;
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      sum -= A.values()[k] * solved.x[static_cast<std::size_t>(A.column_indices()[k])];
    }
    residual += sum * sum;
  }
  EXPECT_LE(std::sqrt(residual), 1.01e-8 * std::sqrt(norm));
  return solved.report.iterations;
}

TEST(StructuredMultigrid, Poisson_IterationsDoNotGrow) {
  for (const std::int64_t side : {15, 16, 33, 64, 100, 255}) {
    EXPECT_LE(iterations(generate::poisson_2d<double>(side, side)), 9) << side;
    EXPECT_LE(iterations(generate::poisson_2d<double>(side, side / 2, 9)), 9) << side;
  }
  for (const std::int64_t side : {7, 16, 31, 48}) {
    EXPECT_LE(iterations(generate::poisson_3d<double>(side, side, side)), 10) << side;
    EXPECT_LE(iterations(generate::poisson_3d<double>(side, side, side, 27)), 10) << side;
  }
}

TEST(StructuredMultigrid, Boxes_OfAnyShape) {
  for (const Box& box : {Box{64, 3, 3}, Box{3, 64, 20}, Box{2, 40, 40}, Box{1, 60, 61}, Box{50, 1, 51},
                         Box{40, 41, 2}, Box{500, 1, 1}, Box{2, 2, 300}, Box{97, 89, 1}}) {
    EXPECT_LE(iterations(diffusion<double>(box, one, Boundary::dirichlet)), 10)
        << box.nx << " " << box.ny << " " << box.nz;
  }
}

/// Blocks of 4 points along each axis. In two dimensions those of large conductivity form clusters of any
/// shape, which coarse grids represent badly: the iterations grow with the jump.
TEST(StructuredMultigrid, Jumps_OfTheCoefficients) {
  const Box plane{120, 113, 1};
  EXPECT_LE(iterations(diffusion<double>(plane, blocks_of(plane, 100), Boundary::dirichlet)), 20);
  const Box box{33, 30, 29};
  EXPECT_LE(iterations(diffusion<double>(box, blocks_of(box, 100), Boundary::dirichlet)), 12);
  EXPECT_LE(iterations(diffusion<double>(box, blocks_of(box, 1e4), Boundary::dirichlet)), 14);
  EXPECT_LE(iterations(diffusion<double>(box, blocks_of(box, 1e8), Boundary::dirichlet)), 20);
  const auto checkerboard = [](std::int64_t i) { return (i % 120 / 3 + i / 120 / 3) % 2 == 0 ? 1.0 : 1e4; };
  EXPECT_LE(iterations(diffusion<double>(plane, checkerboard, Boundary::dirichlet)), 12);
  const auto halves = [](double jump) { return [jump](std::int64_t i) { return i % 90 < 41 ? 1.0 : jump; }; };
  for (const double jump : {1e4, 1e8, 1e-8}) {
    EXPECT_LE(iterations(diffusion<double>({90, 80, 1}, halves(jump), Boundary::dirichlet)), 10) << jump;
  }
}

TEST(StructuredMultigrid, Anisotropy_AlongTheAxes) {
  for (const double small : {0.1, 1e-3, 1e-6}) {
    EXPECT_LE(iterations(diffusion<double>({100, 90, 1}, one, Boundary::dirichlet, {1, small, 1})), 10)
        << small;
    EXPECT_LE(iterations(diffusion<double>({30, 31, 32}, one, Boundary::dirichlet, {small, 1, 1})), 12)
        << small;
    EXPECT_LE(iterations(diffusion<double>({30, 31, 32}, one, Boundary::dirichlet, {small, 1, 0.03})), 12)
        << small;
  }
}

Conductivity along_axes(const Box& box, const std::function<std::array<double, 3>(double, double)>& k) {
  return [box, k](std::int64_t i) {
    return k(static_cast<double>(i % box.nx) / static_cast<double>(box.nx),
             static_cast<double>(i / box.nx % box.ny) / static_cast<double>(box.ny));
  };
}

/// Lines along both axes smooth where the strong axis changes from place to place.
TEST(StructuredMultigrid, Anisotropy_AlongAxesThatChange) {
  using Axes = std::array<double, 3>;
  for (const std::int64_t side : {63, 128, 255}) {
    const Box box{side, side - 2, 1};
    for (const double small : {1e-2, 1e-3, 1e-5}) {
      if (side > 200 && small != 1e-3) continue;
      const auto halves = [small](double x, double) {
        return x < 0.5 ? Axes{1, small, 1} : Axes{small, 1, 1};
      };
      const auto part = [small](double x, double y) {
        return x < 0.5 && y < 0.5 ? Axes{1, 1 / small, 1} : Axes{1, 1, 1};
      };
      const auto stretched = [small](double x, double y) {
        const double hx = std::pow(small, -x);
        const double hy = std::pow(small, -y);
        return Axes{hy / hx, hx / hy, 1};
      };
      const auto smooth = [small](double x, double y) {
        return Axes{std::pow(small, x), std::pow(small, y), 1};
      };
      const auto solve_with = [&box](const std::function<Axes(double, double)>& k) {
        return iterations(diffusion<double>(box, along_axes(box, k), Boundary::dirichlet));
      };
      EXPECT_LE(solve_with(halves), 14) << side << " " << small;
      EXPECT_LE(solve_with(part), 9) << side << " " << small;
      EXPECT_LE(solve_with(stretched), 9) << side << " " << small;
      EXPECT_LE(solve_with(smooth), 9) << side << " " << small;
    }
  }
  const Box box{33, 30, 29};
  const auto halves = [](double x, double) { return x < 0.5 ? Axes{1, 1e-3, 1e-3} : Axes{1e-3, 1, 1e-3}; };
  EXPECT_LE(iterations(diffusion<double>(box, along_axes(box, halves), Boundary::dirichlet)), 9);
  EXPECT_LE(iterations(diffusion<double>(box, along_axes(box, halves),
                                         {Boundary::periodic, Boundary::dirichlet, Boundary::neumann})),
            24);  // lines of the first half have no end with a boundary
}

/// Points of a box that are not unknowns: unit rows, whose columns are zero in other rows, too.
Csr<double> masked(const Csr<double>& A, const std::function<bool(std::int64_t)>& is_masked) {
  std::vector<Triplet<double>> elements;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    if (is_masked(i)) elements.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(i), 1.0});
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const std::int32_t j = A.column_indices()[k];
      if (is_masked(i) || is_masked(j)) continue;
      elements.push_back({static_cast<std::int32_t>(i), j, A.values()[k]});
    }
  }
  return Csr<double>::from_triplets(A.rows(), A.rows(), elements);
}

TEST(StructuredMultigrid, MaskedPoints_AsUnitRows) {
  const Box box{100, 90, 1};
  const auto corner = [](std::int64_t i) { return i % 100 < 50 && i / 100 > 40; };
  const auto disc = [](std::int64_t i) { return std::hypot(i % 100 - 47, i / 100 - 40) < 20; };
  const auto pillars = [](std::int64_t i) { return i % 100 % 10 < 4 && i / 100 % 10 > 5; };
  const Csr<double> A = diffusion<double>(box, one, Boundary::dirichlet);
  EXPECT_LE(iterations(masked(A, corner)), 12);
  EXPECT_LE(iterations(masked(A, disc)), 12);
  EXPECT_LE(iterations(masked(A, pillars)), 20);
  const Box solid{21, 20, 19};
  const auto ball = [](std::int64_t i) { return std::hypot(i % 21 - 9, i / 21 % 20 - 10, i / 420 - 8) < 6; };
  EXPECT_LE(iterations(masked(diffusion<double>(solid, one, Boundary::dirichlet), ball)), 14);
}

/// A with several unknowns a point, each coupled with the others there.
Csr<double> repeated(const Csr<double>& A, std::int32_t unknowns) {
  std::vector<Triplet<double>> elements;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    const auto first = static_cast<std::int32_t>(unknowns * i);
    for (std::int32_t c = 0; c < unknowns; ++c) {
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
        elements.push_back({first + c, unknowns * A.column_indices()[k] + c, A.values()[k]});
      }
      for (std::int32_t d = 0; d < unknowns; ++d) {
        elements.push_back({first + c, first + d, c == d ? 0.5 * (unknowns - 1) : -0.5});
      }
    }
  }
  return Csr<double>::from_triplets(unknowns * A.rows(), unknowns * A.rows(), elements);
}

/// Without the rows of masked points, or with several unknowns a point, A is no stencil on a box, and the
/// method says so. Two or three unknowns are points of a third axis.
TEST(StructuredMultigrid, OtherUnknowns_AreSolvedToo) {
  const Csr<double> A = diffusion<double>({30, 29, 1}, one, Boundary::dirichlet);
  std::vector<std::int32_t> numbers;
  std::int32_t count = 0;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    numbers.push_back(std::hypot(i % 30 - 15, i / 30 - 14) < 8 ? -1 : count++);
  }
  std::vector<Triplet<double>> without;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const std::int32_t row = numbers[static_cast<std::size_t>(i)];
      const std::int32_t column = numbers[static_cast<std::size_t>(A.column_indices()[k])];
      if (row >= 0 && column >= 0) without.push_back({row, column, A.values()[k]});
    }
  }
  for (const Csr<double>& other : {Csr<double>::from_triplets(count, count, without), repeated(A, 4)}) {
    const StructuredSolve solved = solve_structured(other, MultigridCases::random_vector(other.rows(), 4));
    EXPECT_EQ(solved.report.status, Status::converged) << solved.report.message;
    ASSERT_FALSE(solved.setup.warnings.empty());
    EXPECT_NE(solved.setup.warnings.front().find("amg instead"), std::string::npos);
    EXPECT_EQ(structure_of(solved.setup), "");
  }
  for (const std::int32_t unknowns : {2, 3}) EXPECT_LE(iterations(repeated(A, unknowns)), 10) << unknowns;
}

std::string recurrence_of(const Report& report) {
  const Statistic* found = report.find_statistic("recurrence");
  return found == nullptr ? "" : std::get<std::string>(found->value);
}

TEST(StructuredMultigrid, Convection_IsSolvedByBicgstab) {
  const auto wind = [](double x, double y, double z) {
    return Wind([=](double, double, double) -> std::array<double, 3> { return {x, y, z}; });
  };
  const Wind vortex = [](double x, double y, double z) -> std::array<double, 3> {
    return {100 * y * (1 - x * x), -100 * x * (1 - y * y), 20 * z};
  };
  for (const std::int64_t side : {63, 128}) {
    const Box box{side, side - 1, 1};
    for (const double peclet : {0.1, 1.0, 100.0, 1e4}) {
      for (const double along_y : {0.0, 0.7, -0.3}) {
        const Csr<double> A = convection<double>(box, wind(-peclet, peclet * along_y, 0));
        EXPECT_LE(iterations(A), 11) << side << " " << peclet << " " << along_y;
      }
    }
    EXPECT_LE(iterations(convection<double>(box, vortex)), 14) << side;
    EXPECT_LE(iterations(convection<double>(box, wind(1, 0.5, 0), true)), 7) << side;
  }
  EXPECT_LE(iterations(convection<double>({30, 31, 29}, wind(100, -70, 30))), 12);
  EXPECT_LE(iterations(convection<double>({30, 31, 29}, vortex)), 25);
  const Csr<double> A = convection<double>({30, 31, 1}, wind(100, 70, 0));
  const std::vector<double> b = MultigridCases::random_vector(A.rows(), 4);
  EXPECT_EQ(recurrence_of(solve_structured(A, b).setup), "bicgstab");
  EXPECT_EQ(
      recurrence_of(solve_structured(generate::poisson_2d<double>(9, 9), std::vector<double>(81, 1.0)).setup),
      "cg");
}

/// Cases that are left to amg, with the reason: what it cannot solve is not called solved.
TEST(StructuredMultigrid, ConvectionOutOfReach_IsNamed) {
  const Wind wind = [](double, double, double) -> std::array<double, 3> { return {100, 70, 0}; };
  const Box box{60, 61, 1};
  const Csr<double> central = convection<double>(box, wind, true);
  const std::vector<double> b = MultigridCases::random_vector(central.rows(), 4);
  const StructuredSolve solved =
      solve_structured(central, b, {}, "structured-multigrid", {{"max_iterations", 30}});
  EXPECT_FALSE(solved.report.solved());
  ASSERT_FALSE(solved.setup.warnings.empty());
  EXPECT_NE(solved.setup.warnings.front().find("M-matrix"), std::string::npos);
  const Csr<double> around =
      convection<double>(box, wind, false, {Boundary::periodic, Boundary::dirichlet, Boundary::dirichlet});
  const StructuredSolve periodic = solve_structured(around, b);
  EXPECT_EQ(periodic.report.status, Status::converged) << periodic.report.message;
  ASSERT_FALSE(periodic.setup.warnings.empty());
  EXPECT_NE(periodic.setup.warnings.front().find("periodic"), std::string::npos);
}

/// Spectral radius of two grids by Fourier analysis for the 5-point Laplacian: bilinear interpolation,
/// Galerkin's coarse operator, and a polynomial in D^-1 A before and after.
double two_grid_factor() {
  const auto smoothed = [](double mu) { return (1.2 - 1.2 * mu) * (1 - 2.0 / 3 * mu) - 0.2; };
  constexpr int frequencies = 40;
  const double pi = std::acos(-1.0);
  double worst = 0;
  for (int p = 0; p < frequencies * frequencies; ++p) {
    const double s = pi * ((p % frequencies + 0.5) / frequencies - 0.5);
    const double t = pi * ((p / frequencies + 0.5) / frequencies - 0.5);
    std::array<double, 4> fine{};
    std::array<double, 4> interpolation{};
    double coarse = 0;
    for (std::size_t h = 0; h < 4; ++h) {
      const double cs = std::cos(s + (h % 2 == 0 ? 0 : pi));
      const double ct = std::cos(t + (h / 2 == 0 ? 0 : pi));
      fine.at(h) = 4 - 2 * cs - 2 * ct;
      interpolation.at(h) = (1 + cs) * (1 + ct);
      coarse += interpolation.at(h) * fine.at(h) * interpolation.at(h);
    }
    std::array<double, 4> error = {0.3, 0.9, -0.7, 0.5};
    double factor = 0;
    for (int step = 0; step < 60; ++step) {
      double residual = 0;
      double norm = 0;
      for (std::size_t h = 0; h < 4; ++h) {
        error.at(h) *= smoothed(fine.at(h) / 4);
        residual += interpolation.at(h) * fine.at(h) * error.at(h);
      }
      for (std::size_t h = 0; h < 4; ++h) {
        error.at(h) = smoothed(fine.at(h) / 4) * (error.at(h) - interpolation.at(h) * residual / coarse);
        norm += error.at(h) * error.at(h);
      }
      factor = std::sqrt(norm);
      for (double& value : error) value /= factor;
    }
    worst = std::max(worst, factor);
  }
  return worst;
}

/// The factor by which two grids reduce the error of A x = 0 after many cycles.
double measured_factor(std::int64_t side) {
  const Csr<double> A = generate::poisson_2d<double>(side, side);
  Solver<double> solver = make_solver<double>("structured-multigrid", Device(), {{"coarse_size", 1000}});
  EXPECT_TRUE(solver.setup(A).ready());
  PreconditionerApplication<double> application(solver, A.rows());
  Dense<double> x(Device(), A.rows(), 1);
  Dense<double> r = x;
  Dense<double> z = x;
  const std::vector<double> start = MultigridCases::random_vector(A.rows(), 9);
  std::copy(start.begin(), start.end(), x.data());
  double factor = 0;
  for (int cycle = 0; cycle < 25; ++cycle) {
    double norm = 0;
    multiply<double>(1, A, x, 0, r);
    application(r.data(), z.data());
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      x(i, 0) -= z(i, 0);
      norm += x(i, 0) * x(i, 0);
    }
    factor = std::sqrt(norm);
    for (std::int64_t i = 0; i < A.rows(); ++i) x(i, 0) /= factor;
  }
  return factor;
}

TEST(StructuredMultigrid, TwoGridFactor_AgreesWithFourierAnalysis) {
  const double expected = two_grid_factor();
  EXPECT_GT(expected, 0.05);
  EXPECT_LT(expected, 0.15);
  EXPECT_NEAR(measured_factor(63), expected, 0.1 * expected);
}

/// Expects a matrix whose null vectors are the constants to be solved for a b with the sum 0, within some
/// iterations, and refused as `amg` refuses it for another b.
void expect_solved_up_to_constants(const Csr<double>& A, std::int64_t most_iterations,
                                   const std::string& structure) {
  std::vector<double> b = MultigridCases::random_vector(A.rows(), 4);
  double mean = 0;
  for (const double value : b) mean += value / static_cast<double>(A.rows());
  for (double& value : b) value -= mean;
  const StructuredSolve solved = solve_structured(A, b);
  EXPECT_TRUE(solved.report.solved()) << solved.report.message;
  EXPECT_LE(solved.report.iterations, most_iterations);
  EXPECT_NE(structure_of(solved.setup).find(structure), std::string::npos);
  b[0] += 1;
  const StructuredSolve inconsistent = solve_structured(A, b);
  EXPECT_EQ(inconsistent.report.status, solve_structured(A, b, {}, "amg").report.status);
  EXPECT_FALSE(inconsistent.report.solved());
}

TEST(StructuredMultigrid, Neumann_IsSolvedUpToConstants) {
  for (const Box& box : {Box{40, 39, 1}, Box{20, 21, 22}}) {
    for (const double jump : {1.0, 100.0}) {
      expect_solved_up_to_constants(diffusion<double>(box, blocks_of(box, jump), Boundary::neumann), 25,
                                    "-point");
    }
  }
}

TEST(StructuredMultigrid, PeriodicAxes_IterationsDoNotGrow) {
  using enum Boundary;
  for (const std::int64_t side : {15, 16, 33, 63, 101, 128}) {
    const Box plane{side, side + 1, 1};
    EXPECT_LE(iterations(diffusion<double>(plane, one, {periodic, dirichlet, dirichlet})), 9) << side;
    EXPECT_LE(iterations(diffusion<double>(plane, one, {dirichlet, periodic, dirichlet})), 9) << side;
    EXPECT_LE(iterations(diffusion<double>(plane, one, periodic, {1, 1, 1}, 1e-3)), 9) << side;
    EXPECT_LE(iterations(diffusion<double>(plane, blocks_of(plane, 30), {neumann, periodic, dirichlet},
                                           {1, 1, 1}, 1e-2)),
              18)
        << side;
    EXPECT_LE(iterations(diffusion<double>(plane, one, {periodic, dirichlet, dirichlet}, {1, 1e-3, 1})), 11)
        << side;
  }
  for (const Box& box : {Box{21, 20, 19}, Box{33, 17, 40}, Box{3, 50, 2}, Box{2, 3, 51}, Box{4, 40, 5}}) {
    EXPECT_LE(iterations(diffusion<double>(box, one, {periodic, dirichlet, neumann})), 11) << box.nx;
    EXPECT_LE(iterations(diffusion<double>(box, one, {dirichlet, periodic, periodic})), 11) << box.nx;
    EXPECT_LE(iterations(diffusion<double>(box, one, periodic, {1, 2, 0.1}, 1e-2)), 11) << box.nx;
  }
}

TEST(StructuredMultigrid, PeriodicOrNeumann_IsSolvedUpToConstants) {
  using enum Boundary;
  for (const Box& box : {Box{40, 39, 1}, Box{21, 20, 22}, Box{3, 60, 2}}) {
    for (const Boundaries& boundaries : {Boundaries(periodic), Boundaries(periodic, neumann, periodic)})
      expect_solved_up_to_constants(diffusion<double>(box, one, boundaries), 10, "periodic in x");
  }
}

TEST(StructuredMultigrid, NearlySingular_IsSolvedAsByAmg) {
  for (const double shift : {1e-4, 1e-8, 1e-11}) {
    const Csr<double> A = diffusion<double>({41, 40, 1}, one, Boundary::neumann, {1, 1, 1}, shift);
    const std::vector<double> b = MultigridCases::random_vector(A.rows(), 4);
    const Report report = solve_structured(A, b).report;
    EXPECT_EQ(report.status, solve_structured(A, b, {}, "cg", {{"preconditioner", "amg"}}).report.status)
        << shift;
    EXPECT_LE(report.iterations, shift > 1e-9 ? 8 : 100) << shift;
  }
}

TEST(StructuredMultigrid, NoStencil_IsAmgWithTheReason) {
  const std::vector<Csr<double>> matrices = {
      random_dominant(300, 5, true, 1).csr<double>(),
      Csr<double>::from_triplets(
          4, 4, {{0, 0, 2.0}, {0, 2, -1.0}, {2, 0, -1.0}, {1, 1, 2.0}, {2, 2, 1.0}, {3, 3, 3.0}})};
  for (const Csr<double>& A : matrices) {
    const StructuredSolve solved = solve_structured(A, MultigridCases::random_vector(A.rows(), 4));
    EXPECT_TRUE(solved.report.solved()) << solved.report.message;
    ASSERT_FALSE(solved.setup.warnings.empty());
    EXPECT_NE(solved.setup.warnings.front().find("amg instead"), std::string::npos);
  }
}

TEST(StructuredMultigrid, NewValues_KeepTheGrid) {
  const Box box{30, 31, 1};
  const Csr<double> constant = diffusion<double>(box, one, Boundary::dirichlet);
  Solver<double> solver = make_solver<double>("structured-multigrid", Device());
  ASSERT_TRUE(solver.setup(constant).ready());
  const Csr<double> A = diffusion<double>(box, blocks_of(box, 100), Boundary::dirichlet);
  const Report update = solver.update_values(A);
  ASSERT_TRUE(update.ready()) << update.message;
  EXPECT_EQ(structure_of(update), "5-point, 30 x 31, variable coefficients");
  const std::vector<double> b = MultigridCases::random_vector(A.rows(), 4);
  std::vector<double> x(b.size());
  EXPECT_TRUE(solver.solve(b, x).solved());
  EXPECT_TRUE(x == solve_structured(A, b).x);
}

TEST(StructuredMultigrid, SeveralColumns_HaveTheBitsOfOne) {
  const Box box{17, 16, 9};
  for (const double jump : {1.0, 30.0}) {
    const Csr<double> A = diffusion<double>(box, blocks_of(box, jump), Boundary::dirichlet);
    SeveralColumns::expect_as_alone("structured-multigrid", Device::serial(), {}, A,
                                    SeveralColumns::right_hand_sides(A.rows()));
  }
  const Csr<double> A = convection<double>(box, [](double x, double y, double) {
    return std::array<double, 3>{30 * y, -20 * x, 10};
  });
  SeveralColumns::expect_as_alone("structured-multigrid", Device::serial(), {}, A,
                                  SeveralColumns::right_hand_sides(A.rows()));
}

TEST(StructuredMultigrid, Threads_GiveTheSameBits) {
  const Box box{40, 41, 35};
  const Wind wind = [](double, double, double) -> std::array<double, 3> { return {30, -20, 10}; };
  for (const Csr<double>& A :
       {diffusion<double>(box, blocks_of(box, 50), Boundary::dirichlet),
        diffusion<double>(box, one, Boundary::periodic, {1, 2, 3}, 0.1), convection<double>(box, wind)}) {
    const std::vector<double> b = MultigridCases::random_vector(A.rows(), 4);
    const StructuredSolve serial = solve_structured(A, b, Device::serial());
    for (const int threads : {2, 3}) {
      const StructuredSolve several = solve_structured(A, b, Device::openmp(threads));
      EXPECT_EQ(several.report.iterations, serial.report.iterations);
      EXPECT_TRUE(several.x == serial.x);
    }
  }
}

TEST(StructuredMultigrid, PreconditionsOtherMethods) {
  const Csr<double> unsymmetric = generate::convection_diffusion_2d<double>(60, 61, 20, 10);
  const std::vector<double> b = MultigridCases::random_vector(unsymmetric.rows(), 4);
  for (const char* const method : {"bicgstab", "gmres"}) {
    const StructuredSolve solved =
        solve_structured(unsymmetric, b, {}, method, {{"preconditioner", "structured-multigrid"}});
    EXPECT_EQ(solved.report.status, Status::converged) << method;
    EXPECT_LE(solved.report.iterations, 12) << method;
  }
  const Csr<double> symmetric = generate::poisson_2d<double>(60, 61);
  for (const char* const method : {"cg", "minres"}) {
    const StructuredSolve solved =
        solve_structured(symmetric, MultigridCases::random_vector(symmetric.rows(), 4), {}, method,
                         {{"preconditioner", "structured-multigrid"}});
    EXPECT_EQ(solved.report.status, Status::converged) << method;
    EXPECT_LE(solved.report.iterations, 10) << method;
  }
}

TEST(StructuredMultigrid, ExtremeScales_ConvergeAlike) {
  const Csr<double> A = generate::poisson_2d<double>(33, 30);
  const std::int64_t usual = iterations(A);
  for (const double factor : {1e-290, 1e-100, 1e100, 1e290}) {
    Csr<double> scaled = A;
    for (std::int64_t k = 0; k < A.nonzeros(); ++k) scaled.values()[k] *= factor;
    std::vector<double> b = MultigridCases::random_vector(A.rows(), 4);
    const StructuredSolve solved = solve_structured(scaled, b);
    EXPECT_EQ(solved.report.status, Status::converged) << factor << ": " << solved.report.message;
    EXPECT_LE(std::abs(solved.report.iterations - usual), 1) << factor;
  }
}

TEST(StructuredMultigrid, WrongGrid_IsBadOption) {
  Solver<double> solver = make_solver<double>("structured-multigrid", Device(), {{"grid", "5x5"}});
  const Csr<double> A = generate::poisson_2d<double>(5, 6);
  EXPECT_THROW(static_cast<void>(solver.setup(A)), BadOption);
}

}  // namespace
}  // namespace echelon::test
