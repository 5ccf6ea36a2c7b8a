// SPDX-License-Identifier: BSD-3-Clause
/// Two-grid factors with Gauss-Seidel smoothing against Fourier analysis in complex numbers, and cycles as
/// operators: symmetric and definite for random matrices, blocks and near-null-space vectors.
#include "backend/targets.hpp"
#include "multigrid/coarsening/aggregation/aggregation.hpp"
#include "multigrid/coarsening/classical/classical.hpp"
#include "multigrid/hierarchy.hpp"
#include "solver/implementation.hpp"
#include "support/multigrid_cases.hpp"

#include <echelon/linalg.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/methods/amg.hpp>
#include <echelon/methods/multigrid/hierarchy.hpp>
#include <echelon/methods/multigrid/near_null_space.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

using Complex = std::complex<double>;

enum class Coarse { rediscretised, galerkin };

/// Fourier analysis of two grids for the 5-point Laplacian, bilinear interpolation and full weighting: the
/// largest spectral radius of its symbols, 4 by 4. pre(s, t) and post(s, t) are the factors of the mode
/// exp(i (s x + t y)) in smoothing.
template <class Pre, class Post>
double fourier_factor(Coarse coarse, const Pre& pre, const Post& post) {
  constexpr int frequencies = 48;
  constexpr int steps = 80;
  const double pi = std::acos(-1.0);
  double worst = 0;
  for (int p = 0; p < frequencies; ++p) {
    for (int q = 0; q < frequencies; ++q) {
      const double s = pi * ((p + 0.5) / frequencies - 0.5);
      const double t = pi * ((q + 0.5) / frequencies - 0.5);
      std::array<double, 4> fine{};
      std::array<double, 4> interpolation{};
      std::array<Complex, 4> before{};
      std::array<Complex, 4> after{};
      double galerkin = 0;
      for (std::size_t h = 0; h < 4; ++h) {
        const double sh = s + (h % 2 == 0 ? 0 : pi);
        const double th = t + (h / 2 == 0 ? 0 : pi);
        fine.at(h) = 4 - 2 * std::cos(sh) - 2 * std::cos(th);
        interpolation.at(h) = (1 + std::cos(sh)) * (1 + std::cos(th)) / 4;
        before.at(h) = pre(sh, th);
        after.at(h) = post(sh, th);
        galerkin += interpolation.at(h) * fine.at(h) * interpolation.at(h);
      }
      const double rediscretised = 1 - (std::cos(2 * s) + std::cos(2 * t)) / 2;
      const double operator_of = coarse == Coarse::galerkin ? galerkin : rediscretised;
      std::array<Complex, 4> error = {0.3, Complex(0.9, 0.1), -0.7, Complex(0.5, -0.4)};
      double growth = 0;  // logarithm, over the second half of the steps
      for (int k = 0; k < steps; ++k) {
        Complex residual = 0;
        for (std::size_t h = 0; h < 4; ++h) {
          error.at(h) *= before.at(h);
          residual += interpolation.at(h) * fine.at(h) * error.at(h);
        }
        double norm = 0;
        for (std::size_t h = 0; h < 4; ++h) {
          error.at(h) = after.at(h) * (error.at(h) - interpolation.at(h) * residual / operator_of);
          norm += std::norm(error.at(h));
        }
        norm = std::sqrt(norm);
        if (k >= steps / 2) growth += std::log(norm) / (steps - steps / 2);
        for (Complex& value : error) value /= norm;
      }
      worst = std::max(worst, std::exp(growth));
    }
  }
  return worst;
}

Complex none(double /*s*/, double /*t*/) {
  return 1;
}
Complex forward_sweep(double s, double t) {
  return (std::polar(1.0, s) + std::polar(1.0, t)) / (4.0 - std::polar(1.0, -s) - std::polar(1.0, -t));
}
Complex backward_sweep(double s, double t) {
  return std::conj(forward_sweep(s, t));
}
auto jacobi(double weight) {
  return [weight](double s, double t) { return Complex(1 - weight * (1 - (std::cos(s) + std::cos(t)) / 2)); };
}

std::vector<double> applied(const Solver<double>& solver, const std::vector<double>& r) {
  const SolverImplementation<double>& implementation = SolverAccess<double>::implementation(solver);
  const auto workspace = implementation.make_workspace();
  std::vector<double> z(r.size());
  const auto n = static_cast<std::int64_t>(r.size());
  implementation.apply(*workspace, {r.data(), n}, {z.data(), n});
  return z;
}

double dot_product(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
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

/// The numbers of Trottenberg, Oosterlee and Schueller's Multigrid.
TEST(TwoGrid, FourierAnalysis_AgreesWithTheBook) {
  constexpr double tolerance = 0.003;
  EXPECT_NEAR(fourier_factor(Coarse::rediscretised, jacobi(0.8), none), 0.600, tolerance);
  EXPECT_NEAR(fourier_factor(Coarse::rediscretised, jacobi(0.8), jacobi(0.8)), 0.360, tolerance);
  EXPECT_NEAR(fourier_factor(Coarse::rediscretised, jacobi(2.0 / 3), jacobi(2.0 / 3)), 0.444, tolerance);
  EXPECT_NEAR(fourier_factor(Coarse::rediscretised, forward_sweep, none), 0.400, tolerance);
  EXPECT_NEAR(fourier_factor(Coarse::rediscretised, forward_sweep, forward_sweep), 0.193, tolerance);
  EXPECT_NEAR(fourier_factor(Coarse::galerkin, forward_sweep, forward_sweep), 0.144, tolerance);
}

TEST(TwoGrid, GaussSeidel_AgreesWithFourierAnalysis) {
  const std::int64_t side = 127;
  const Csr<double> A = generate::poisson_2d<double>(side, side);
  const auto measured = [&](SmootherKind smoother, std::int64_t sweeps) {
    Solver<double> cycle = make_solver<double>("geometric-multigrid", Device(),
                                               {{"smoother", std::string(to_string(smoother))},
                                                {"sweeps", sweeps},
                                                {"max_levels", 2},
                                                {"coarse_size", 1}});
    EXPECT_TRUE(cycle.setup(A).ready());
    EXPECT_EQ(describe_hierarchy(cycle).levels.size(), 2U);
    return convergence_factor(cycle, A);
  };
  // Forward before and backward after the coarse correction; twice each; and both, each time.
  const double once = fourier_factor(Coarse::galerkin, forward_sweep, backward_sweep);
  const auto twice = [](const auto& sweep) {
    return [&sweep](double s, double t) { return sweep(s, t) * sweep(s, t); };
  };
  const double two = fourier_factor(Coarse::galerkin, twice(forward_sweep), twice(backward_sweep));
  const auto both = [](double s, double t) { return forward_sweep(s, t) * backward_sweep(s, t); };
  const double symmetric = fourier_factor(Coarse::galerkin, both, both);
  constexpr double tolerance = 0.015;  // the grid is finite
  EXPECT_NEAR(measured(SmootherKind::gauss_seidel, 1), once, tolerance);
  EXPECT_NEAR(measured(SmootherKind::gauss_seidel, 2), two, tolerance);
  EXPECT_NEAR(measured(SmootherKind::symmetric_gauss_seidel, 1), symmetric, tolerance);
}

/// M as a dense matrix, column by column.
Dense<double> matrix_of(const Solver<double>& solver, std::int64_t n) {
  Dense<double> M(Device(), n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    std::vector<double> unit(static_cast<std::size_t>(n));
    unit[static_cast<std::size_t>(j)] = 1;
    const std::vector<double> column = applied(solver, unit);
    for (std::int64_t i = 0; i < n; ++i) M(i, j) = column[static_cast<std::size_t>(i)];
  }
  return M;
}

void expect_symmetric_definite(Dense<double> M, const std::string& what) {
  double largest = 0;
  double asymmetry = 0;
  for (std::int64_t j = 0; j < M.columns(); ++j) {
    for (std::int64_t i = 0; i < j; ++i) {
      largest = std::max({largest, std::fabs(M(i, j)), std::fabs(M(j, j))});
      asymmetry = std::max(asymmetry, std::fabs(M(i, j) - M(j, i)));
      M(j, i) = M(i, j);
    }
  }
  EXPECT_LE(asymmetry, 1e-12 * largest) << what;
  Solver<double> cholesky = make_solver<double>("cholesky", Device());
  EXPECT_TRUE(cholesky.setup(M).ready()) << what << " is not positive definite";
}

TEST(CycleOperator, RandomMatrices_SymmetricAndDefinite) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Csr<double> A = generate::random_spd<double>(230, 0.03, 1.02, seed);
    for (const char* coarsening : {"smoothed-aggregation", "aggregation", "classical"}) {
      for (const char* smoother :
           {"jacobi", "l1-jacobi", "chebyshev", "gauss-seidel", "symmetric-gauss-seidel", "ic0"}) {
        for (const char* cycle : {"v", "w"}) {
          Solver<double> amg = make_solver<double>("amg", Device(),
                                                   {{"coarsening", coarsening},
                                                    {"smoother", smoother},
                                                    {"cycle", cycle},
                                                    {"coarse_size", 15},
                                                    {"precision", "working"}});
          ASSERT_TRUE(amg.setup(A).ready());
          expect_symmetric_definite(matrix_of(amg, A.rows()),
                                    std::string(coarsening) + " " + smoother + " " + cycle);
        }
      }
    }
  }
}

TEST(CycleOperator, BlocksAndVectors_SymmetricAndDefinite) {
  const Generator& generator = find_generator("elasticity-2d");
  const Options size = {{"nx", 14}, {"ny", 9}};
  const auto A = std::get<Csr<double>>(generator.make_double(size));
  for (const bool modes : {false, true}) {
    for (const char* coarsening : {"smoothed-aggregation", "aggregation"}) {
      for (const char* smoother : {"jacobi", "chebyshev", "gauss-seidel"}) {
        Solver<double> amg = make_solver<double>("amg", Device(),
                                                 {{"coarsening", coarsening},
                                                  {"smoother", smoother},
                                                  {"coarse_size", 15},
                                                  {"precision", "working"}});
        if (modes) set_near_null_space(amg, rigid_body_modes(generator.make_coordinates(size)));
        ASSERT_TRUE(amg.setup(A).ready());
        EXPECT_GE(describe_hierarchy(amg).levels.size(), 2U);
        expect_symmetric_definite(matrix_of(amg, A.rows()), std::string(coarsening) + " " + smoother);
      }
    }
  }
}

/// Galerkin's matrices of every coarsening, with blocks and given vectors, against products of dense
/// matrices.
TEST(CycleOperator, CoarseMatrices_AreDenseTripleProducts) {
  const Generator& generator = find_generator("elasticity-2d");
  const Options size = {{"nx", 16}, {"ny", 8}};
  const auto plate = std::get<Csr<double>>(generator.make_double(size));
  const Dense<double> modes = rigid_body_modes(generator.make_coordinates(size));
  const auto check = [](const Csr<double>& A, Coarsening<double>& coarsening, double tolerance = 1e-11) {
    const multigrid::Hierarchy<double> hierarchy(A, coarsening, {.coarse_size = 12}, {});
    ASSERT_GE(hierarchy.levels().size(), 2U);
    for (std::size_t l = 0; l + 1 < hierarchy.levels().size(); ++l) {
      const auto& level = hierarchy.levels()[l];
      const Dense<double> fine = to_dense(MatrixRef<double>(*level.A));
      const Dense<double> P = to_dense(MatrixRef<double>(level.P));
      const Dense<double> coarse = to_dense(MatrixRef<double>(*hierarchy.levels()[l + 1].A));
      Dense<double> AP(Device(), P.rows(), P.columns());
      gemm<double>(1, fine, P, 0, AP);
      Dense<double> expected(Device(), P.columns(), P.columns());
      gemm<double>(1, transposed(DenseView<const double>(P)), AP, 0, expected);
      for (std::int64_t i = 0; i < coarse.rows(); ++i) {
        for (std::int64_t j = 0; j < coarse.columns(); ++j)
          EXPECT_NEAR(coarse(i, j), expected(i, j), tolerance);
      }
    }
  };
  for (const bool smoothed : {false, true}) {
    check(plate, *multigrid::make_aggregation<HostTarget, double>(Device(),
                                                                  {.smoothed = smoothed, .block = 2}, modes));
    check(plate, *multigrid::make_aggregation<HostTarget, double>(
                     Device(), {.smoothed = smoothed, .block = 2}, Dense<double>(Device(), 0, 0)));
  }
  check(generate::random_spd<double>(700, 0.01, 1.1, 3),
        *multigrid::make_aggregation<HostTarget, double>(Device(), {}, Dense<double>(Device(), 0, 0)), 1e-12);
  const Csr<double> A = generate::random_spd<double>(500, 0.01, 1.1, 3);
  check(A, *multigrid::classical::make_coarsening<HostTarget, double>(Device(), {}));
}

}  // namespace
}  // namespace echelon::test
