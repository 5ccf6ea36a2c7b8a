// SPDX-License-Identifier: BSD-3-Clause
/// Discretised differential equations against the difference formulas, pair of points by pair of points.
#include <echelon/generate.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/matrix/structure.hpp>

#include <gtest/gtest.h>
#ifdef ECHELON_TEST_WITH_EIGEN
#include <Eigen/Cholesky>
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

namespace gen = echelon::generate;

Csr<double> sparse(const std::string& name, const Options& options) {
  return std::get<Csr<double>>(make_matrix<double>(name, options));
}

/// Coordinates of point i of the grid.
struct Place {
  std::int64_t x;
  std::int64_t y;
  std::int64_t z;
  Place(std::int64_t i, std::int64_t nx, std::int64_t ny) : x(i % nx), y(i / nx % ny), z(i / nx / ny) {}
};

/// Every element is `weight(dx, dy, dz)`, and none of these zeros is stored.
template <class Weight>
void expect_stencil(const Csr<double>& a, std::int64_t nx, std::int64_t ny, std::int64_t nz,
                    const Weight& weight) {
  ASSERT_EQ(a.rows(), nx * ny * nz);
  const Dense<double> full = to_dense<double>(a);
  std::int64_t nonzeros = 0;
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    const Place p(i, nx, ny);
    for (std::int64_t j = 0; j < a.rows(); ++j) {
      const Place q(j, nx, ny);
      const double expected = weight(q.x - p.x, q.y - p.y, q.z - p.z);
      ASSERT_NEAR(full(i, j), expected, 1e-13 * std::abs(expected)) << i << ' ' << j;
      nonzeros += expected != 0 ? 1 : 0;
    }
  }
  EXPECT_EQ(a.nonzeros(), nonzeros);
}

std::int64_t taxicab(std::int64_t dx, std::int64_t dy, std::int64_t dz) {
  return std::abs(dx) + std::abs(dy) + std::abs(dz);
}
std::int64_t chessboard(std::int64_t dx, std::int64_t dy, std::int64_t dz) {
  return std::max({std::abs(dx), std::abs(dy), std::abs(dz)});
}

constexpr std::array<std::array<std::int64_t, 3>, 6> shapes = {
    {{1, 1, 1}, {2, 1, 3}, {1, 7, 1}, {5, 3, 2}, {3, 4, 5}, {9, 1, 4}}};

TEST(GenerateGrids, Poisson) {
  for (const auto& [nx, ny, nz] : shapes) {
    expect_stencil(gen::poisson_2d<double>(nx, ny), nx, ny, 1, [](auto dx, auto dy, auto dz) {
      const auto d = taxicab(dx, dy, dz);
      return d == 0 ? 4.0 : (d == 1 ? -1.0 : 0.0);
    });
    expect_stencil(gen::poisson_2d<double>(nx, ny, 9), nx, ny, 1, [](auto dx, auto dy, auto dz) {
      if (chessboard(dx, dy, dz) > 1) return 0.0;
      const auto d = taxicab(dx, dy, dz);
      return d == 0 ? 20.0 : (d == 1 ? -4.0 : -1.0);
    });
    expect_stencil(gen::poisson_3d<double>(nx, ny, nz), nx, ny, nz, [](auto dx, auto dy, auto dz) {
      const auto d = taxicab(dx, dy, dz);
      return d == 0 ? 6.0 : (d == 1 ? -1.0 : 0.0);
    });
    expect_stencil(gen::poisson_3d<double>(nx, ny, nz, 27), nx, ny, nz, [](auto dx, auto dy, auto dz) {
      const auto d = chessboard(dx, dy, dz);
      return d == 0 ? 26.0 : (d == 1 ? -1.0 : 0.0);
    });
  }
  EXPECT_EQ(gen::poisson_2d<double>(0, 5).rows(), 0);
}

/// lambda = 4 - 2 cos(i pi / (nx + 1)) - 2 cos(j pi / (ny + 1)), eigenvectors are products of sines.
TEST(GenerateGrids, Poisson_Eigenvectors) {
  constexpr std::int64_t nx = 33;
  constexpr std::int64_t ny = 31;
  const Csr<double> a = gen::poisson_2d<double>(nx, ny);
  const auto mode = [](std::int64_t k, std::int64_t x, std::int64_t n) {
    return std::sin(M_PI * static_cast<double>(k * (x + 1)) / static_cast<double>(n + 1));
  };
  const double lambda = 4 - 2 * std::cos(3 * M_PI / (nx + 1)) - 2 * std::cos(7 * M_PI / (ny + 1));
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    double sum = 0;
    for (std::int64_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
      const Place p(a.column_indices()[k], nx, ny);
      sum += a.values()[k] * mode(3, p.x, nx) * mode(7, p.y, ny);
    }
    const Place p(i, nx, ny);
    ASSERT_NEAR(sum, lambda * mode(3, p.x, nx) * mode(7, p.y, ny), 1e-13);
  }
}

TEST(GenerateGrids, Anisotropy_AlongAxes) {
  expect_stencil(gen::anisotropic_2d<double>(4, 3, 0.01), 4, 3, 1, [](auto dx, auto dy, auto) {
    if (dx == 0 && dy == 0) return 2.02;
    if (dy == 0 && std::abs(dx) == 1) return -1.0;
    return dx == 0 && std::abs(dy) == 1 ? -0.01 : 0.0;
  });
  expect_stencil(gen::anisotropic_2d<double>(4, 3, 0.01, 90), 4, 3, 1, [](auto dx, auto dy, auto) {
    if (dx == 0 && dy == 0) return 2.02;
    if (dy == 0 && std::abs(dx) == 1) return -0.01;
    return dx == 0 && std::abs(dy) == 1 ? -1.0 : 0.0;
  });
  const Csr<double> a =
      sparse("anisotropic-3d", {{"nx", 3}, {"ny", 2}, {"nz", 4}, {"a", 2}, {"b", 3}, {"c", 5}});
  expect_stencil(a, 3, 2, 4, [](auto dx, auto dy, auto dz) {
    if (taxicab(dx, dy, dz) == 0) return 20.0;
    if (taxicab(dx, dy, dz) > 1) return 0.0;
    return dx != 0 ? -2.0 : (dy != 0 ? -3.0 : -5.0);
  });
}

/// (A u) at the middle point of a 3-by-3 grid, for u(x, y).
template <class U>
double at_the_middle(const Csr<double>& a, const U& u) {
  double sum = 0;
  for (std::int64_t k = a.row_offsets()[4]; k < a.row_offsets()[5]; ++k) {
    const std::int64_t j = a.column_indices()[k];
    sum += a.values()[k] * u(static_cast<double>(j % 3 - 1), static_cast<double>(j / 3 - 1));
  }
  return sum;
}

TEST(GenerateGrids, RotatedAnisotropy_QuadraticsExact) {
  for (const double degrees : {0.0, 17.0, 30.0, 45.0, 120.0, -75.0}) {
    constexpr double epsilon = 0.1;
    const Csr<double> a = gen::anisotropic_2d<double>(3, 3, epsilon, degrees);
    const double c = std::cos(degrees * M_PI / 180);
    const double s = std::sin(degrees * M_PI / 180);
    EXPECT_NEAR(at_the_middle(a, [](double, double) { return 1.0; }), 0, 1e-14);
    EXPECT_NEAR(at_the_middle(a, [](double x, double y) { return 3 * x - 2 * y; }), 0, 1e-14);
    // u = s^2 and u = t^2 in the turned coordinates.
    EXPECT_NEAR(at_the_middle(a, [=](double x, double y) { return std::pow(c * x + s * y, 2); }), -2, 1e-13);
    EXPECT_NEAR(at_the_middle(a, [=](double x, double y) { return std::pow(c * y - s * x, 2); }),
                -2 * epsilon, 1e-13);
    EXPECT_TRUE(analyze_structure<double>(a).symmetric_values);
  }
}

TEST(GenerateGrids, ConvectionDiffusion_QuadraticsExact) {
  constexpr double h = 0.25;  // 1 / (3 + 1)
  for (const bool upwind : {true, false}) {
    const Csr<double> a = gen::convection_diffusion_2d<double>(3, 3, 20, -7, upwind);
    EXPECT_NEAR(at_the_middle(a, [](double, double) { return 1.0; }), 0, 1e-14);
    EXPECT_NEAR(at_the_middle(a, [=](double x, double) { return x * h; }), h * h * 20, 1e-14);
    EXPECT_NEAR(at_the_middle(a, [=](double, double y) { return y * h; }), -h * h * 7, 1e-14);
    if (!upwind) {  // second order: exact for x^2, whose derivative vanishes here
      EXPECT_NEAR(at_the_middle(a, [=](double x, double) { return x * x * h * h; }), -2 * h * h, 1e-14);
    }
  }
}

TEST(GenerateGrids, Upwind_MMatrix) {
  for (const double wind : {-1e4, -3.0, 0.0, 5.0, 1e6}) {
    const Csr<double> a =
        sparse("convection-diffusion-3d", {{"nx", 4}, {"ny", 3}, {"nz", 5}, {"wind_z", wind}});
    for (std::int64_t i = 0; i < a.rows(); ++i) {
      double diagonal = 0;
      double others = 0;
      for (std::int64_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
        if (a.column_indices()[k] == i) {
          diagonal = a.values()[k];
        } else {
          ASSERT_LT(a.values()[k], 0);
          others -= a.values()[k];
        }
      }
      ASSERT_GE(diagonal, others * (1 - 1e-15));
    }
  }
  // Without wind it is Poisson's.
  const Csr<double> still =
      sparse("convection-diffusion-3d",
             {{"nx", 4}, {"ny", 3}, {"nz", 1}, {"wind_x", 0}, {"wind_y", 0}, {"wind_z", 0}});
  EXPECT_EQ(still.values().to_vector(), gen::poisson_3d<double>(4, 3, 1).values().to_vector());
}

TEST(GenerateGrids, Jumps_ByHand) {
  // Coefficients 1 and 9: the flux between the cells is 2 * 9 / 10, to the boundaries 2 k.
  const Csr<double> a = sparse("jumps-2d", {{"nx", 2}, {"ny", 1}, {"block", 1}, {"contrast", 9}});
  const Dense<double> full = to_dense<double>(a);
  EXPECT_DOUBLE_EQ(full(0, 1), -1.8);
  EXPECT_DOUBLE_EQ(full(1, 0), -1.8);
  EXPECT_DOUBLE_EQ(full(0, 0), 1.8 + 2);
  EXPECT_DOUBLE_EQ(full(1, 1), 1.8 + 18);
  // Along y there is a single cell, and no boundary.
  const Dense<double> square =
      to_dense<double>(sparse("jumps-2d", {{"nx", 2}, {"ny", 2}, {"block", 2}, {"contrast", 5}}));
  EXPECT_DOUBLE_EQ(square(0, 0), 1 + 1 + 2 + 2);
  EXPECT_DOUBLE_EQ(square(0, 3), 0);
}

#ifdef ECHELON_TEST_WITH_EIGEN
using Full = Eigen::MatrixXd;

Full to_eigen(const Csr<double>& a) {
  Full full = Full::Zero(a.rows(), a.columns());
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (std::int64_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
      full(i, a.column_indices()[k]) = a.values()[k];
    }
  }
  return full;
}

TEST(GenerateGrids, SymmetricPositiveDefinite) {
  for (const Csr<double>& a :
       {sparse("jumps-2d", {{"nx", 9}, {"ny", 7}, {"block", 2}}),
        sparse("jumps-2d", {{"nx", 9}, {"ny", 7}, {"block", 2}, {"pattern", "random"}}),
        sparse("jumps-3d", {{"nx", 5}, {"ny", 4}, {"nz", 3}, {"block", 2}, {"pattern", "random"}}),
        sparse("spe10-like", {{"nx", 5}, {"ny", 4}, {"nz", 3}, {"boundary", "open"}}),
        sparse("elasticity-2d", {{"nx", 6}, {"ny", 4}}),
        sparse("anisotropic-2d", {{"nx", 6}, {"ny", 4}, {"angle", 30}})}) {
    EXPECT_TRUE(analyze_structure<double>(a).symmetric_values);
    EXPECT_EQ(to_eigen(a).llt().info(), Eigen::Success);
  }
}

/// The stiffness of the plate by Gauss's quadrature, element by element, clamped nodes left out.
Full elasticity_by_quadrature(int nx, int ny, double nu) {
  Eigen::Matrix3d law;
  law << 1, nu, 0, nu, 1, 0, 0, 0, (1 - nu) / 2;
  law /= 1 - nu * nu;
  Eigen::Matrix<double, 8, 8> element = Eigen::Matrix<double, 8, 8>::Zero();
  const std::array<double, 4> corner_x = {-1, 1, 1, -1};
  const std::array<double, 4> corner_y = {-1, -1, 1, 1};
  for (const double xi : {-std::sqrt(1.0 / 3), std::sqrt(1.0 / 3)}) {
    for (const double eta : {-std::sqrt(1.0 / 3), std::sqrt(1.0 / 3)}) {
      Eigen::Matrix<double, 3, 8> strain = Eigen::Matrix<double, 3, 8>::Zero();
      for (int c = 0; c < 4; ++c) {
        // The element has width 1: d/dx is twice d/dxi, and the area element a quarter.
        const double dx =
            2 * corner_x[static_cast<std::size_t>(c)] * (1 + corner_y[static_cast<std::size_t>(c)] * eta) / 4;
        const double dy =
            2 * corner_y[static_cast<std::size_t>(c)] * (1 + corner_x[static_cast<std::size_t>(c)] * xi) / 4;
        strain(0, 2 * c) = dx;
        strain(1, 2 * c + 1) = dy;
        strain(2, 2 * c) = dy;
        strain(2, 2 * c + 1) = dx;
      }
      element += strain.transpose() * law * strain / 4;
    }
  }
  const int nodes = (nx + 1) * (ny + 1);
  Full whole = Full::Zero(2 * nodes, 2 * nodes);
  for (int ey = 0; ey < ny; ++ey) {
    for (int ex = 0; ex < nx; ++ex) {
      const int low = ex + (nx + 1) * ey;
      const std::array<int, 4> node = {low, low + 1, low + nx + 2, low + nx + 1};
      for (int r = 0; r < 8; ++r) {
        for (int c = 0; c < 8; ++c) {
          whole(2 * node[static_cast<std::size_t>(r / 2)] + r % 2,
                2 * node[static_cast<std::size_t>(c / 2)] + c % 2) += element(r, c);
        }
      }
    }
  }
  std::vector<int> free;
  for (int i = 0; i < 2 * nodes; ++i) {
    if (i / 2 % (nx + 1) != 0) free.push_back(i);
  }
  return whole(free, free);
}

TEST(GenerateGrids, Elasticity_Integral) {
  for (const auto& [nx, ny] : {std::pair{1, 1}, {3, 2}, {2, 5}, {1, 4}}) {
    for (const double nu : {0.0, 0.3, 0.49}) {
      const Csr<double> a = sparse("elasticity-2d", {{"nx", nx}, {"ny", ny}, {"poisson", nu}});
      const Full expected = elasticity_by_quadrature(nx, ny, nu);
      ASSERT_EQ(a.rows(), expected.rows());
      EXPECT_LT((to_eigen(a) - expected).cwiseAbs().maxCoeff(), 1e-14);
    }
  }
}
#endif

TEST(GenerateGrids, ClosedBoundary_MassConserved) {
  const Csr<double> a = sparse("spe10-like", {{"nx", 12}, {"ny", 22}, {"nz", 9}});
  EXPECT_TRUE(analyze_structure<double>(a).symmetric_values);
  double smallest = 1e300;
  double largest = 0;
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    double sum = 0;
    double diagonal = 0;
    for (std::int64_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
      sum += a.values()[k];
      if (a.column_indices()[k] == i) diagonal = a.values()[k];
      if (a.column_indices()[k] != i + 1) continue;  // along x, where the faces' factor is 1
      smallest = std::min(smallest, -a.values()[k]);
      largest = std::max(largest, -a.values()[k]);
    }
    ASSERT_LT(std::abs(sum), 1e-13 * diagonal);
  }
  EXPECT_LT(largest / smallest, 1.001e7);
  EXPECT_GT(largest / smallest, 1e4);
  const Csr<double> mild = sparse("spe10-like", {{"nx", 3}, {"ny", 1}, {"nz", 1}, {"decades", 0}});
  EXPECT_EQ(mild.values().to_vector(), (std::vector<double>{1, -1, -1, 2, -1, -1, 1}));
}

}  // namespace
}  // namespace echelon::test
