// SPDX-License-Identifier: BSD-3-Clause
/// Multigrid cycles: their convergence against Fourier analysis, their symmetry, and what is said of them.
#include "multigrid/smoothers/chebyshev.hpp"
#include "support/multigrid/solves.hpp"
#include "support/multigrid_cases.hpp"

#include <echelon/error.hpp>
#include <echelon/generate.hpp>
#include <echelon/methods/amg.hpp>
#include <echelon/methods/cg.hpp>
#include <echelon/methods/multigrid/hierarchy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace echelon::test {
namespace {

double dot_product(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

/// Bilinear interpolation from the points (2 X + 1, 2 Y + 1) of a grid of `side` = 2 m + 1 points squared.
Csr<double> bilinear(std::int64_t side) {
  const std::int64_t coarse = (side - 1) / 2;
  std::vector<Triplet<double>> triplets;
  for (std::int64_t Y = 0; Y < coarse; ++Y) {
    for (std::int64_t X = 0; X < coarse; ++X) {
      for (std::int64_t dy = -1; dy <= 1; ++dy) {
        for (std::int64_t dx = -1; dx <= 1; ++dx) {
          const std::int64_t row = (2 * Y + 1 + dy) * side + 2 * X + 1 + dx;
          triplets.push_back({static_cast<std::int32_t>(row), static_cast<std::int32_t>(Y * coarse + X),
                              (dx == 0 ? 1 : 0.5) * (dy == 0 ? 1 : 0.5)});
        }
      }
    }
  }
  return Csr<double>::from_triplets(side * side, coarse * coarse, triplets);
}

/// Fourier analysis of the two-grid cycle for the 5-point Laplacian, bilinear interpolation, Galerkin's
/// coarse matrix, and the smoother's polynomial once before and once after: the largest spectral radius of
/// its 4 by 4 symbols. smooth(lambda) is the factor of an error with the eigenvalue lambda of D^-1 A.
template <class Smooth>
double fourier_factor(const Smooth& smooth) {
  constexpr int frequencies = 64;
  double worst = 0;
  for (int p = 0; p < frequencies; ++p) {
    for (int q = 0; q < frequencies; ++q) {
      const double pi = std::acos(-1.0);
      const double s = pi * ((p + 0.5) / frequencies - 0.5);
      const double t = pi * ((q + 0.5) / frequencies - 0.5);
      std::array<double, 4> factor{};
      std::array<double, 4> interpolation{};
      std::array<double, 4> eigenvalue{};
      double energy = 0;
      for (std::size_t h = 0; h < 4; ++h) {
        const double cs = std::cos(s + (h % 2 == 0 ? 0 : pi));
        const double ct = std::cos(t + (h / 2 == 0 ? 0 : pi));
        eigenvalue[h] = 1 - (cs + ct) / 2;
        interpolation[h] = (1 + cs) * (1 + ct) / 4;
        factor[h] = smooth(eigenvalue[h]);
        energy += interpolation[h] * eigenvalue[h] * interpolation[h];
      }
      std::array<double, 4> e = {0.3, 0.9, -0.7, 0.5};
      double radius = 0;
      for (int k = 0; k < 60; ++k) {  // power method
        double coarse = 0;
        for (std::size_t h = 0; h < 4; ++h) {
          e[h] *= factor[h];
          coarse += interpolation[h] * eigenvalue[h] * e[h];
        }
        double norm = 0;
        for (std::size_t h = 0; h < 4; ++h) {
          e[h] = factor[h] * (e[h] - interpolation[h] * coarse / energy);
          norm += e[h] * e[h];
        }
        radius = std::sqrt(norm);
        if (radius == 0) break;
        for (double& value : e) value /= radius;
      }
      worst = std::max(worst, radius);
    }
  }
  return worst;
}

/// Factor of the Chebyshev smoother of the fourth kind for one eigenvalue of D^-1 A, of which 2 is the
/// largest.
double chebyshev_factor(double lambda, const std::vector<double>& beta) {
  double error = 1;
  double residual = lambda;  // of the polynomial with all beta = 1
  double step = 4.0 / 6 * residual;
  for (std::size_t k = 1; k <= beta.size(); ++k) {
    const auto degree = static_cast<double>(k);
    error -= beta[k - 1] * step;
    residual -= lambda * step;
    step = (2 * degree - 1) / (2 * degree + 3) * step + (8 * degree + 4) / (2 * degree + 3) / 2 * residual;
  }
  return error;
}

/// Reduction of the error's norm per cycle, after many.
double convergence_factor(const Solver<double>& cycle, const Csr<double>& A) {
  std::vector<double> error = MultigridCases::random_vector(A.rows(), 11);
  double factor = 0;
  for (int k = 0; k < 40; ++k) {
    const double before = std::sqrt(dot_product(error, error));
    for (double& e : error) e /= before;
    const std::vector<double> correction = applied(cycle, MultigridCases::product(A, error));
    for (std::size_t i = 0; i < error.size(); ++i) error[i] -= correction[i];
    factor = std::sqrt(dot_product(error, error));
  }
  return factor;
}

TEST(Multigrid, TwoGridFactors_AgreeWithFourierAnalysis) {
  const std::int64_t side = 63;
  const Csr<double> A = generate::poisson_2d<double>(side, side);
  // Poisson's equation, bilinear interpolation, weighted Jacobi once before and once after: the Fourier
  // analysis of Trottenberg, Oosterlee and Schueller's Multigrid.
  const auto factor = [&](AmgOptions options) {
    Solver<double> solver = make_multigrid<double>(Device(), {bilinear(side)}, options);
    EXPECT_TRUE(solver.setup(A).ready());
    return convergence_factor(solver, A);
  };
  const auto jacobi = [](double weight) {
    return fourier_factor([weight](double lambda) { return 1 - weight * lambda; });
  };
  EXPECT_NEAR(jacobi(0.8), 0.360, 0.002) << "the analysis itself, by the book";
  EXPECT_NEAR(jacobi(2.0 / 3), 0.444, 0.002);
  constexpr double tolerance = 0.012;  // the grid is finite
  EXPECT_NEAR(factor({.weight = 0.8}), 0.360, tolerance);
  EXPECT_NEAR(factor({.weight = 2.0 / 3}), 0.444, tolerance);
  EXPECT_NEAR(factor({.smoother = SmootherKind::jacobi}), jacobi(0.75), tolerance) << "3 / (2 lambda)";
  EXPECT_LT(jacobi(0.75), jacobi(2.0 / 3));
  for (const std::int64_t degree : {1, 2, 3, 4, 5}) {
    const double expected = fourier_factor(
        [&](double lambda) { return chebyshev_factor(lambda, multigrid::optimal_beta(degree)); });
    EXPECT_NEAR(factor({.smoother = SmootherKind::chebyshev, .degree = degree}), expected, tolerance)
        << degree;
  }
  EXPECT_LT(factor({.smoother = SmootherKind::gauss_seidel}), 0.21) << "forward before, backward after";
}

TEST(Multigrid, CyclesAreSymmetricAndDefinite) {
  const Csr<double> A = generate::poisson_3d<double>(14, 13, 12);
  for (const SmootherKind smoother :
       {SmootherKind::jacobi, SmootherKind::l1_jacobi, SmootherKind::chebyshev, SmootherKind::gauss_seidel,
        SmootherKind::symmetric_gauss_seidel, SmootherKind::ilu0, SmootherKind::ic0}) {
    for (const CycleKind cycle : {CycleKind::v, CycleKind::w}) {
      for (const std::int64_t sweeps : {1, 2}) {
        Amg<double> amg(Device(), {.cycle = cycle,
                                   .smoother = smoother,
                                   .sweeps = sweeps,
                                   .coarse_size = 20,
                                   .precision = HierarchyPrecision::working});
        ASSERT_TRUE(amg.setup(A).ready());
        const std::vector<double> u = MultigridCases::random_vector(A.rows(), 1);
        const std::vector<double> v = MultigridCases::random_vector(A.rows(), 2);
        const std::vector<double> Mu = applied(amg, u);
        const std::vector<double> Mv = applied(amg, v);
        const double scale = std::sqrt(dot_product(Mu, Mu) * dot_product(v, v));
        EXPECT_NEAR(dot_product(v, Mu), dot_product(u, Mv), 1e-12 * scale) << to_string(smoother);
        EXPECT_GT(dot_product(u, Mu), 0);
        EXPECT_GT(dot_product(v, Mv), 0);
        EXPECT_LT(convergence_factor(amg, A), 0.9) << to_string(smoother);
      }
    }
  }
}

TEST(Multigrid, DescriptionAndShapes) {
  const std::int64_t side = 31;
  const Csr<double> A = generate::poisson_2d<double>(side, side);
  Solver<double> solver = make_multigrid<double>(Device(), {bilinear(31), bilinear(15), bilinear(7)});
  ASSERT_TRUE(solver.setup(A).ready());
  const HierarchyDescription description = describe_hierarchy(solver);
  ASSERT_EQ(description.levels.size(), 4U);
  EXPECT_EQ(description.levels[1].rows, 225);
  EXPECT_EQ(description.levels[3].rows, 9);
  EXPECT_EQ(description.levels[3].method, "inverse");
  EXPECT_GT(description.operator_complexity, 1.2);
  EXPECT_EQ(solve_with(solver, A, MultigridCases::random_vector(A.rows(), 21)).report.status,
            Status::converged);
  EXPECT_THROW((void)make_multigrid<double>(Device(), {bilinear(31), bilinear(9)}), DimensionMismatch);
  Solver<double> other = make_multigrid<double>(Device(), {bilinear(15)});
  EXPECT_THROW((void)other.setup(A), DimensionMismatch);
  Cg<double> cg;
  EXPECT_THROW((void)describe_hierarchy<double>(cg), Error);
}

}  // namespace
}  // namespace echelon::test
