// SPDX-License-Identifier: BSD-3-Clause
/// Smoothing by lines: solves with the couplings within lines, and Fourier analysis.
#include "multigrid/structured/line_smoother.hpp"

#include "backend/host/host.hpp"
#include "matrix/stencil/find_grid.hpp"
#include "multigrid/structured/hierarchy.hpp"
#include "support/multigrid/stencil_problems.hpp"

#include <echelon/matrix/matrix.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

StencilMatrix<double> by_points(Host& backend, const Csr<double>& A) {
  std::string reason;
  StencilMatrix<double> found =
      *find_stencil(backend, A, *find_grid(backend, "", MatrixRef<double>(A)), reason);
  return found.constant ? multigrid::expanded(backend, found) : std::move(found);
}

/// T^-1 r along an axis, times omega, for the rows of A divided by the diagonal elements.
std::vector<float> solved_by_lines(Host& backend, const StencilMatrix<double>& A, int axis, float omega,
                                   std::vector<float> r) {
  const multigrid::StencilLevel level = multigrid::scaled_level(backend, A, 1, 2);
  const multigrid::LineFactors factors = multigrid::factor_lines(backend, A, axis);
  std::vector<float> x(r.size(), NAN);
  with_layout(level.A, [&]<class Layout, bool constant>() {
    multigrid::solve_lines<Layout, false>(backend, level.A, factors, omega, r.data(), x.data());
  });
  return x;
}

/// Largest element of T x - r, T having the elements of A, divided by the diagonal ones, whose points differ
/// along the axis only.
double error_of_lines(const Csr<double>& A, const Grid& grid, int axis, const std::vector<float>& x,
                      const std::vector<float>& r) {
  const GridNumbering numbering(grid);
  double error = 0;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    double sum = 0;
    double diagonal = 1;
    const GridPoint p = numbering.point(i);
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const GridPoint q = numbering.point(A.column_indices()[k]);
      bool in_line = true;
      for (int a = 0; a < 3; ++a) in_line = in_line && (a == axis || p.at[a] == q.at[a]);
      if (q.index == p.index) diagonal = A.values()[k];
      if (in_line) sum += A.values()[k] * static_cast<double>(x[static_cast<std::size_t>(q.index)]);
    }
    error = std::max(error, std::fabs(sum / diagonal - static_cast<double>(r[static_cast<std::size_t>(i)])));
  }
  return error;
}

TEST(LineSmoother, Solves_EqualThoseOfTheMatrix) {
  Host backend{Device::serial()};
  unsigned seed = 0;
  for (const Box& box : {Box{7, 5, 4}, Box{40, 33, 1}, Box{3, 18, 6}, Box{2, 3, 35}, Box{17, 16, 2}}) {
    for (const Periodic& periodic : {Periodic{}, Periodic{true, true, true}, Periodic{false, true, false}}) {
      for (const int apart : {1, 3}) {
        const Csr<double> A = random_stencil<double>(box, apart, ++seed, periodic);
        const StencilMatrix<double> stencil = by_points(backend, A);
        std::vector<float> r(static_cast<std::size_t>(A.rows()));
        for (std::size_t i = 0; i < r.size(); ++i) r[i] = std::sin(static_cast<float>(7 * i + 1));
        for (int axis = 0; axis < stencil.axes; ++axis) {
          const std::vector<float> x = solved_by_lines(backend, stencil, axis, 1, r);
          EXPECT_LE(error_of_lines(A, stencil.grid, axis, x, r), 2e-6) << seed << " " << axis;
        }
      }
    }
  }
}

/// On a periodic grid waves are eigenvectors of I - omega T^-1 A: the factor is 1 - omega a / t with the
/// symbols a of A, and t of its couplings along the axis.
TEST(LineSmoother, Factors_AgreeWithFourierAnalysis) {
  Host backend{Device::serial()};
  constexpr float omega = 2.0F / 3;
  const Box box{24, 18, 1};
  for (const double ratio : {1.0, 30.0, 1e3}) {
    const Csr<double> A = diffusion<double>(
        box, [](std::int64_t) { return 1.0; }, Boundary::periodic, {1, ratio, 1}, 1e-2);
    const StencilMatrix<double> stencil = by_points(backend, A);
    for (const auto& [p, q] : {std::pair{12, 9}, {5, 0}, {0, 7}, {11, 2}, {3, 8}}) {
      const double s = 2 * std::numbers::pi * p / static_cast<double>(box.nx);
      const double t = 2 * std::numbers::pi * q / static_cast<double>(box.ny);
      const double along_x = 2 - 2 * std::cos(s);
      const double along_y = ratio * (2 - 2 * std::cos(t));
      const double symbol = along_x + along_y + 1e-2;
      for (const int axis : {0, 1}) {
        const double of_lines = axis == 0 ? along_x + 2 * ratio + 1e-2 : along_y + 2 + 1e-2;
        std::vector<float> wave(static_cast<std::size_t>(A.rows()));
        std::vector<float> residual = wave;
        const double diagonal = 2 + 2 * ratio + 1e-2;
        for (std::size_t i = 0; i < wave.size(); ++i) {
          const auto k = static_cast<std::int64_t>(i);
          wave[i] = static_cast<float>(
              std::cos(s * static_cast<double>(k % box.nx) + t * static_cast<double>(k / box.nx)));
          residual[i] = static_cast<float>(symbol / diagonal) * wave[i];
        }
        const std::vector<float> step = solved_by_lines(backend, stencil, axis, omega, residual);
        const double factor = 1 - static_cast<double>(omega) * symbol / of_lines;
        for (std::size_t i = 0; i < wave.size(); ++i) {
          ASSERT_NEAR(wave[i] - step[i], factor * static_cast<double>(wave[i]), 1e-4)
              << ratio << " " << p << " " << q << " " << axis;
        }
      }
    }
  }
}

/// Lines without a connection to others, whose matrix is singular.
TEST(LineSmoother, SingularLines_HaveFiniteSolutions) {
  Host backend{Device::serial()};
  for (const Boundary boundary : {Boundary::neumann, Boundary::periodic}) {
    const Csr<double> A =
        diffusion<double>({20, 9, 1}, [](std::int64_t) { return 1.0; }, boundary, {1, 1e-12, 1});
    const StencilMatrix<double> stencil = by_points(backend, A);
    const std::vector<float> x =
        solved_by_lines(backend, stencil, 0, 1, std::vector<float>(static_cast<std::size_t>(A.rows()), 1.0F));
    for (const float value : x) {
      EXPECT_TRUE(std::isfinite(value));
      EXPECT_GT(value, 0);
    }
  }
}

}  // namespace
}  // namespace echelon::test
