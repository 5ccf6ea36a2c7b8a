// SPDX-License-Identifier: BSD-3-Clause
/// Hierarchies, cycles and the method amg, against dense algebra, Fourier analysis and hard cases.
#include "backend/targets.hpp"
#include "multigrid/coarse_solvers/dense_inverse.hpp"
#include "multigrid/coarsening/aggregation/aggregation.hpp"
#include "multigrid/hierarchy.hpp"
#include "multigrid/smoothers/chebyshev.hpp"
#include "solver/implementation.hpp"

#include <echelon/error.hpp>
#include <echelon/generate.hpp>
#include <echelon/linalg.hpp>
#include <echelon/linalg/sparse_sum.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/methods/amg.hpp>
#include <echelon/methods/cg.hpp>
#include <echelon/methods/gmres.hpp>
#include <echelon/methods/minres.hpp>
#include <echelon/methods/multigrid/hierarchy.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

std::vector<double> random_vector(std::int64_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<double> x(static_cast<std::size_t>(n));
  for (double& value : x) value = std::uniform_real_distribution<double>(-1, 1)(random);
  return x;
}

double dot_product(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

std::vector<double> product(const Csr<double>& A, const std::vector<double>& x) {
  std::vector<double> y(static_cast<std::size_t>(A.rows()));
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      y[static_cast<std::size_t>(i)] += A.values()[k] * x[static_cast<std::size_t>(A.column_indices()[k])];
    }
  }
  return y;
}

/// z = M r of a solver that is set up.
std::vector<double> applied(const Solver<double>& solver, const std::vector<double>& r) {
  const SolverImplementation<double>& implementation = SolverAccess<double>::implementation(solver);
  const auto workspace = implementation.make_workspace();
  std::vector<double> z(r.size());
  implementation.apply(*workspace, r.data(), z.data());
  return z;
}

Csr<double> diagonal_matrix(const std::vector<double>& elements) {
  std::vector<Triplet<double>> triplets;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    triplets.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(i), elements[i]});
  }
  const auto n = static_cast<std::int64_t>(elements.size());
  return Csr<double>::from_triplets(n, n, triplets);
}

/// Copies of A along the diagonal, each `times` times.
Csr<double> repeated(const Csr<double>& A, std::int64_t times) {
  std::vector<Triplet<double>> triplets;
  for (std::int64_t copy = 0; copy < times; ++copy) {
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
        triplets.push_back({static_cast<std::int32_t>(copy * A.rows() + i),
                            static_cast<std::int32_t>(copy * A.rows() + A.column_indices()[k]),
                            A.values()[k]});
      }
    }
  }
  return Csr<double>::from_triplets(times * A.rows(), times * A.rows(), triplets);
}

/// The Laplacian of a grid with no boundary condition: row sums are zero.
Csr<double> neumann(std::int64_t side) {
  std::vector<Triplet<double>> triplets;
  const auto connect = [&](std::int64_t i, std::int64_t j) {
    const auto a = static_cast<std::int32_t>(i);
    const auto b = static_cast<std::int32_t>(j);
    triplets.insert(triplets.end(), {{a, a, 1}, {b, b, 1}, {a, b, -1}, {b, a, -1}});
  };
  for (std::int64_t y = 0; y < side; ++y) {
    for (std::int64_t x = 0; x < side; ++x) {
      if (x + 1 < side) connect(y * side + x, y * side + x + 1);
      if (y + 1 < side) connect(y * side + x, (y + 1) * side + x);
    }
  }
  return Csr<double>::from_triplets(side * side, side * side, triplets);
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
  std::vector<double> error = random_vector(A.rows(), 11);
  double factor = 0;
  for (int k = 0; k < 40; ++k) {
    const double before = std::sqrt(dot_product(error, error));
    for (double& e : error) e /= before;
    const std::vector<double> correction = applied(cycle, product(A, error));
    for (std::size_t i = 0; i < error.size(); ++i) error[i] -= correction[i];
    factor = std::sqrt(dot_product(error, error));
  }
  return factor;
}

TEST(DenseInverse, InvertsAndPseudoInverts) {
  const auto check = [](const Csr<double>& A, bool symmetric, std::int64_t null_space) {
    const auto result = multigrid::dense_inverse<double>(A, 1, symmetric);
    const std::int64_t n = A.rows();
    ASSERT_EQ(result.transpose.rows(), n);
    EXPECT_EQ(result.null_space, null_space);
    Dense<double> X(Device(), n, n);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) X(i, j) = result.transpose(j, i);
    }
    const auto scaled = multigrid::dense_inverse<float>(A, 4, symmetric);
    EXPECT_EQ(scaled.null_space, null_space);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) EXPECT_EQ(scaled.transpose(j, i), static_cast<float>(X(i, j) / 4));
    }
    const Dense<double> dense = to_dense(MatrixRef<double>(A));
    Dense<double> AX(Device(), n, n);
    gemm<double>(1, dense, X, 0, AX);
    Dense<double> AXA(Device(), n, n);
    gemm<double>(1, AX, dense, 0, AXA);
    Dense<double> XAX(Device(), n, n);
    gemm<double>(1, X, AX, 0, XAX);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        EXPECT_NEAR(AXA(i, j), dense(i, j), 1e-9);
        EXPECT_NEAR(XAX(i, j), X(i, j), 1e-9);
        if (symmetric) {
          EXPECT_EQ(X(i, j), X(j, i));
        }
      }
    }
  };
  check(generate::poisson_2d<double>(9, 7), true, 0);
  check(diagonal_matrix({4}), true, 0);
  check(generate::convection_diffusion_2d<double>(8, 9, 30, 10), false, 0);
  check(neumann(8), true, 1);
  check(repeated(neumann(3), 5), true, 5);
  check(diagonal_matrix({2, 0, -3, 0}), true, 0);  // rows without elements are left out
  const Csr<double> one_sided =
      Csr<double>::from_triplets(3, 3, {{0, 0, 1}, {1, 0, 2}, {2, 2, 5}, {2, 1, 1}});
  check(one_sided, false, 1);
}

/// Laplacian of a ring of n nodes with chords, with random weights of some orders of magnitude.
Csr<double> weighted_ring(std::int32_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < n; ++i) {
    for (const std::int32_t step : {1, 7, 31}) {
      const std::int32_t j = (i + step) % n;
      const double weight = std::pow(10.0, std::uniform_real_distribution<double>(-4, 3)(random));
      triplets.push_back({i, i, weight});
      triplets.push_back({j, j, weight});
      triplets.push_back({i, j, -weight});
      triplets.push_back({j, i, -weight});
    }
  }
  return Csr<double>::from_triplets(n, n, triplets);
}

TEST(DenseInverse, ConstantsAreTheNullSpace_AndOtherVectorsBesideThem) {
  constexpr std::int32_t n = 40;
  const auto path = [](std::int32_t first, std::int32_t last, std::vector<Triplet<double>>& triplets) {
    for (std::int32_t i = first; i < last; ++i) {
      triplets.insert(triplets.end(), {{i, i, 1}, {i + 1, i + 1, 1}, {i, i + 1, -1}, {i + 1, i, -1}});
    }
  };
  std::vector<Triplet<double>> whole;
  path(0, n - 1, whole);
  std::vector<Triplet<double>> parts;
  path(0, n / 2 - 1, parts);
  path(n / 2, n - 1, parts);
  const auto connected = Csr<double>::from_triplets(n, n, whole);
  const auto disconnected = Csr<double>::from_triplets(n, n, parts);
  EXPECT_EQ(multigrid::dense_inverse<double>(connected, 1, true).null_space, 1);
  EXPECT_EQ(multigrid::dense_inverse<double>(disconnected, 1, true).null_space, 2);
  EXPECT_EQ(multigrid::semidefinite_inverse(disconnected).null_space.columns(), 2);
  const Dense<double> basis = multigrid::semidefinite_inverse(connected).null_space;
  ASSERT_EQ(basis.columns(), 1);
  for (std::int32_t i = 0; i < n; ++i) EXPECT_NEAR(std::fabs(basis.data()[i]), 1 / std::sqrt(n), 1e-14) << i;
  // The Green's function of a path: (A+)_ij has zero row sums, and A A+ = I - 1/n.
  const auto inverse = multigrid::dense_inverse<double>(connected, 1, true);
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = 0; j < n; ++j) {
      double product = 0;
      for (std::int64_t k = connected.row_offsets()[i]; k < connected.row_offsets()[i + 1]; ++k) {
        product += connected.values()[k] * inverse.transpose.data()[connected.column_indices()[k] + j * n];
      }
      EXPECT_NEAR(product, (i == j ? 1.0 : 0.0) - 1.0 / n, 1e-11) << i << ' ' << j;
    }
  }
}

TEST(DenseInverse, SemidefiniteMatrices_SameInverseAndNullVectors) {
  for (const Csr<double>& A : {neumann(8), repeated(neumann(3), 5), diagonal_matrix({2, 0, -3, 0}),
                               generate::poisson_2d<double>(9, 7)}) {
    const multigrid::HostInverse expected = multigrid::host_inverse(A, true);
    const multigrid::HostInverse found = multigrid::semidefinite_inverse(A);
    const std::int64_t n = A.rows();
    ASSERT_EQ(found.transpose.rows(), n);
    for (std::int64_t k = 0; k < n * n; ++k) EXPECT_NEAR(found.transpose[k], expected.transpose[k], 1e-12);
    const Dense<double>& basis = found.null_space;
    ASSERT_EQ(basis.columns(), expected.null_space.columns());
    for (std::int64_t k = 0; k < basis.columns(); ++k) {
      const std::vector<double> v(basis.data() + k * n, basis.data() + (k + 1) * n);
      EXPECT_NEAR(dot_product(v, v), 1, 1e-13);
      for (const double element : product(A, v)) EXPECT_NEAR(element, 0, 1e-13);
    }
  }
}

/// Weights of a graph whose Laplacian is rounded to float: its row sums are not zero.
TEST(DenseInverse, RoundedToFloat_NullSpaceByPrecisionOfElements) {
  const Csr<double> exact = weighted_ring(100, 4);
  const std::vector<double> values = exact.values().to_vector();
  const std::vector<float> rounded(values.begin(), values.end());
  const auto A =
      Csr<float>::unchecked(exact.rows(), exact.columns(), exact.row_offsets(), exact.column_indices(),
                            Array<float>(Device(), std::span<const float>(rounded)));
  const multigrid::HostInverse found = multigrid::semidefinite_inverse(A);
  ASSERT_EQ(found.null_space.columns(), 1);
  for (std::int64_t i = 0; i < A.rows(); ++i) EXPECT_NEAR(std::fabs(found.null_space[i]), 0.1, 1e-3);
}

TEST(DenseInverse, NotFinite_Empty) {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const Csr<double> A = diagonal_matrix({1, bad});
    EXPECT_EQ(multigrid::host_inverse(A, true).transpose.rows(), 0);
    EXPECT_EQ(multigrid::host_inverse(A, false).transpose.rows(), 0);
    EXPECT_EQ(multigrid::semidefinite_inverse(A).transpose.rows(), 0);
  }
}

TEST(DenseInverse, ManyMagnitudes_NullSpaceIsFound) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    EXPECT_EQ(multigrid::dense_inverse<double>(weighted_ring(200, seed), 1, true).null_space, 1) << seed;
  }
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
        const std::vector<double> u = random_vector(A.rows(), 1);
        const std::vector<double> v = random_vector(A.rows(), 2);
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

struct Solved {
  Report report;
  std::vector<double> x;
};

Solved solve_with(Solver<double>& solver, const Csr<double>& A, const std::vector<double>& b) {
  Solved solved{solver.setup(A), std::vector<double>(b.size())};
  if (solved.report.ready()) solved.report = solver.solve(b, solved.x);
  return solved;
}

Solved solve_cg(const Csr<double>& A, const std::vector<double>& b, Options amg = {},
                const Device& device = Device()) {
  amg.set("preconditioner", "amg");
  Solver<double> solver = make_solver<double>("cg", device, amg);
  return solve_with(solver, A, b);
}

TEST(Amg, FinerMesh_FewMoreIterations) {
  for (const char* coarsening : {"smoothed-aggregation", "classical"}) {
    std::int64_t first = 0;
    for (const std::int64_t side : {16, 32, 48}) {
      const Csr<double> A = generate::poisson_3d<double>(side, side, side);
      const Solved solved =
          solve_cg(A, random_vector(A.rows(), 5), {{"preconditioner.coarsening", coarsening}});
      EXPECT_EQ(solved.report.status, Status::converged);
      if (side == 16) first = solved.report.iterations;
      EXPECT_LE(solved.report.iterations, first + 2) << coarsening;
      EXPECT_LE(solved.report.iterations, 20) << coarsening;
    }
  }
}

TEST(Amg, AnyNumberOfThreads_SameBits) {
  const Csr<double> A = generate::poisson_3d<double>(34, 33, 35);
  const std::vector<double> b = random_vector(A.rows(), 6);
  const Solved serial = solve_cg(A, b, {}, Device::serial());
  ASSERT_TRUE(serial.report.solved());
  for (const int threads : {1, 2, 4}) {
    const Solved other = solve_cg(A, b, {}, Device::openmp(threads));
    EXPECT_EQ(other.x, serial.x);
    EXPECT_EQ(other.report.iterations, serial.report.iterations);
  }
}

TEST(Amg, EveryCycle_Solves) {
  const Csr<double> A = generate::anisotropic_2d<double>(60, 50, 0.01);
  const std::vector<double> b = random_vector(A.rows(), 7);
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
  const std::vector<double> b = random_vector(A.rows(), 8);
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
    const std::vector<double> b = random_vector(A.rows(), 9);
    Amg<double> working;
    Amg<double> single(Device(), {.precision = HierarchyPrecision::single});
    const Solved expected = solve_with(working, A, b);
    const Solved got = solve_with(single, A, b);
    EXPECT_EQ(got.report.status, Status::converged);
    EXPECT_LE(got.report.iterations, expected.report.iterations + 1);
  }
}

TEST(Amg, UpdateValues_AsNewSetup) {
  const Csr<double> A = generate::poisson_2d<double>(70, 60);
  const std::vector<double> r = random_vector(A.rows(), 10);
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
  const Solved expected = solve_with(fresh, changed, r);
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
  const std::vector<double> b = random_vector(A.rows(), 12);
  const Solved blocks = solve_cg(A, b);
  ASSERT_NE(blocks.report.find_statistic("preconditioner.block_size"), nullptr);
  EXPECT_EQ(std::get<std::int64_t>(blocks.report.find_statistic("preconditioner.block_size")->value), 2);
  EXPECT_EQ(blocks.report.status, Status::converged);
  EXPECT_LE(blocks.report.iterations, 30);
}

void expect_empty_solved(const std::string& method, const Options& options, const Device& device) {
  SCOPED_TRACE(method + " " + device.name());
  const auto A = Csr<double>::from_triplets(0, 0, std::vector<Triplet<double>>{}).to(device);
  Solver<double> solver = make_solver<double>(method, device, options);
  EXPECT_EQ(solver.setup(A).status, Status::ready);
  std::vector<double> none;
  EXPECT_EQ(solver.solve(none, none).status, Status::converged);
  EXPECT_EQ(solver.update_values(A).status, Status::ready);
  EXPECT_EQ(solver.solve(none, none).status, Status::converged);
}

TEST(Amg, Empty_Solved) {
  for (const Device& device : {Device::serial(), Device::openmp(2)}) {
    for (const char* method : {"amg", "geometric-multigrid", "multigrid", "multigrid-dense", "lamg"}) {
      expect_empty_solved(method, {}, device);
      expect_empty_solved("cg", {{"preconditioner", method}}, device);
    }
    for (const char* smoother : {"jacobi", "l1-jacobi", "chebyshev", "gauss-seidel", "ilu0", "ic0"}) {
      expect_empty_solved("amg", {{"smoother", smoother}, {"cycle", "k"}}, device);
    }
    for (const char* coarsening : {"classical", "aggregation", "smoothed-aggregation"}) {
      expect_empty_solved("amg", {{"coarsening", coarsening}}, device);
    }
  }
}

/// Matrices that can break a set-up have to end with a status, without a crash or a wrong solution.
TEST(Amg, HardCases_SolvedOrNamed) {
  const Csr<double> grid = generate::poisson_2d<double>(30, 30);
  const auto expect_solved = [](const Csr<double>& A, const std::vector<double>& b, const char* what) {
    const Solved solved = solve_cg(A, b, {{"preconditioner.coarse_size", 20}});
    EXPECT_EQ(solved.report.status, Status::converged) << what << ": " << solved.report.message;
  };
  // Zero rows, with zeros in b.
  std::vector<Triplet<double>> triplets;
  for (std::int64_t i = 0; i < grid.rows(); ++i) {
    for (std::int64_t k = grid.row_offsets()[i]; k < grid.row_offsets()[i + 1]; ++k) {
      triplets.push_back({static_cast<std::int32_t>(2 * i), 2 * grid.column_indices()[k], grid.values()[k]});
    }
  }
  std::vector<double> b = random_vector(2 * grid.rows(), 13);
  for (std::size_t i = 1; i < b.size(); i += 2) b[i] = 0;
  expect_solved(Csr<double>::from_triplets(2 * grid.rows(), 2 * grid.rows(), triplets), b, "zero rows");
  // Isolated unknowns and an identity block.
  for (std::int64_t i = 0; i < grid.rows(); ++i) {
    const auto odd = static_cast<std::int32_t>(2 * i + 1);
    triplets.push_back({odd, odd, i % 2 == 0 ? 1.0 : 1e6});
  }
  const Csr<double> isolated = Csr<double>::from_triplets(2 * grid.rows(), 2 * grid.rows(), triplets);
  expect_solved(isolated, random_vector(isolated.rows(), 14), "isolated unknowns");
  expect_solved(diagonal_matrix(std::vector<double>(1000, 3.0)), random_vector(1000, 15), "diagonal");
  const Csr<double> parts = repeated(generate::poisson_2d<double>(3, 2), 1500);
  expect_solved(parts, random_vector(parts.rows(), 16), "many parts");
  expect_solved(diagonal_matrix({5}), {2}, "one row");
  expect_solved(Csr<double>::from_triplets(2, 2, {{0, 0, 2}, {0, 1, -1}, {1, 0, -1}, {1, 1, 2}}), {1, 2},
                "two");
}

TEST(Amg, SingularSystems_ConsistentOnesAreSolved) {
  for (const Csr<double>& A : {neumann(40), repeated(neumann(4), 100), repeated(neumann(12), 7)}) {
    const std::vector<double> b = product(A, random_vector(A.rows(), 17));
    const Solved solved = solve_cg(A, b, {{"preconditioner.coarse_size", 60}});
    EXPECT_EQ(solved.report.status, Status::converged) << solved.report.message;
    Amg<double> amg(Device(), {.coarse_size = 60});
    EXPECT_EQ(solve_with(amg, A, b).report.status, Status::converged);
  }
  const Csr<double> A = neumann(40);
  for (const HierarchyPrecision precision : {HierarchyPrecision::single, HierarchyPrecision::working}) {
    Amg<double> amg(Device(), {.coarse_size = 60, .precision = precision});
    const Report report = amg.setup(A);
    ASSERT_NE(report.find_statistic("null_space"), nullptr);
    EXPECT_EQ(std::get<std::int64_t>(report.find_statistic("null_space")->value), 1);
  }
}

TEST(Amg, SingularSystems_InconsistentOnesAreNotCalledSolved) {
  const Csr<double> A = neumann(40);
  const std::vector<double> ones(static_cast<std::size_t>(A.rows()), 1.0);
  const Solved solved = solve_cg(A, ones, {{"max_iterations", 200}});
  EXPECT_FALSE(solved.report.solved()) << to_string(solved.report.status);
}

TEST(Amg, IndefiniteMatrices_AreNotCalledSolvedWithoutBeingSo) {
  Csr<double> A = generate::poisson_2d<double>(40, 40);
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      if (A.column_indices()[k] == i) A.values()[k] -= 3.3;
    }
  }
  const std::vector<double> b = random_vector(A.rows(), 18);
  const Solved solved = solve_cg(A, b, {{"max_iterations", 300}});
  if (solved.report.solved()) {
    const std::vector<double> Ax = product(A, solved.x);
    for (std::size_t i = 0; i < b.size(); ++i) EXPECT_NEAR(Ax[i], b[i], 1e-5);
  }
}

TEST(Amg, NaNInMatrix_IsNamed) {
  Csr<double> A = generate::poisson_2d<double>(40, 40);
  A.values()[77] = std::nan("");
  Amg<double> amg;
  EXPECT_EQ(amg.setup(A).status, Status::not_a_number);
}

TEST(Amg, NonsymmetricMatricesConverge) {
  const Csr<double> A = generate::convection_diffusion_2d<double>(50, 50, 40, -20);
  const std::vector<double> b = random_vector(A.rows(), 19);
  Solver<double> gmres = make_solver<double>("gmres", Device(), {{"preconditioner", "amg"}});
  const Solved solved = solve_with(gmres, A, b);
  EXPECT_EQ(solved.report.status, Status::converged);
  EXPECT_LE(solved.report.iterations, 40);
}

TEST(Amg, Stalls_AreReported) {
  // Every unknown is connected with every other: one aggregate, and nothing is left to coarsen.
  const std::int64_t n = 40;
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = 0; j < n; ++j) triplets.push_back({i, j, i == j ? 41.0 : -1.0});
  }
  const Csr<double> A = Csr<double>::from_triplets(n, n, triplets);
  Amg<double> amg(Device(), {.coarse_size = 1});
  EXPECT_EQ(solve_with(amg, A, random_vector(n, 20)).report.status, Status::converged);
  const Csr<double> D = diagonal_matrix(std::vector<double>(2000, 2.0));
  const Report report = amg.setup(D);
  EXPECT_TRUE(report.ready());
  ASSERT_EQ(report.warnings.size(), 1U);
  EXPECT_NE(report.warnings[0].find("ends at 2000 rows"), std::string::npos);
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
  EXPECT_EQ(solve_with(solver, A, random_vector(A.rows(), 21)).report.status, Status::converged);
  EXPECT_THROW((void)make_multigrid<double>(Device(), {bilinear(31), bilinear(9)}), DimensionMismatch);
  Solver<double> other = make_multigrid<double>(Device(), {bilinear(15)});
  EXPECT_THROW((void)other.setup(A), DimensionMismatch);
  Cg<double> cg;
  EXPECT_THROW((void)describe_hierarchy<double>(cg), Error);
}

}  // namespace
}  // namespace echelon::test
