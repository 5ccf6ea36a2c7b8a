// SPDX-License-Identifier: BSD-3-Clause
/// Discretised partial differential equations on rectangular meshes.
#include "generate/assemble.hpp"
#include "generate/functions.hpp"
#include "generate/random.hpp"
#include "generate/table.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace echelon::generate {

namespace {

struct Point {
  std::int64_t x;
  std::int64_t y;
  std::int64_t z;
};

/// Grid of points or cells, numbered with x fastest.
struct StructuredGrid {
  std::int64_t nx;
  std::int64_t ny;
  std::int64_t nz;
  std::int64_t size;

  StructuredGrid(const std::string& name, std::int64_t nx_, std::int64_t ny_, std::int64_t nz_ = 1)
      : nx(nx_), ny(ny_), nz(nz_), size(checked_size(name, {nx_, ny_, nz_})) {}
  [[nodiscard]] Point point(std::int64_t i) const { return {i % nx, i / nx % ny, i / (nx * ny)}; }
  [[nodiscard]] std::int64_t index(Point p) const { return p.x + nx * (p.y + ny * p.z); }
  [[nodiscard]] bool contains(Point p) const {
    return 0 <= p.x && p.x < nx && 0 <= p.y && p.y < ny && 0 <= p.z && p.z < nz;
  }
};

/// Offset of a neighbour, and its weight. Stencils list neighbours in ascending order of columns.
struct Leg {
  int dx;
  int dy;
  int dz;
  double value;
};

/// Matrix with one stencil for all points; neighbours outside the grid are on the boundary, where u = 0.
template <class T>
Csr<T> constant_stencil(const StructuredGrid& grid, std::vector<Leg> legs) {
  std::erase_if(legs, [](const Leg& leg) { return leg.value == 0; });
  return assemble<T>(grid.size, grid.size, [&](std::int64_t i, auto put) {
    const Point p = grid.point(i);
    for (const Leg& leg : legs) {
      const Point q{p.x + leg.dx, p.y + leg.dy, p.z + leg.dz};
      if (grid.contains(q)) put(i + leg.dx + grid.nx * (leg.dy + grid.ny * leg.dz), leg.value);
    }
  });
}

/// Weights of the two neighbours, lower and upper, along each axis.
struct Axes {
  std::array<double, 2> x;
  std::array<double, 2> y;
  std::array<double, 2> z = {0, 0};
};

std::vector<Leg> star_stencil(const Axes& axes, double centre) {
  return {{0, 0, -1, axes.z[0]}, {0, -1, 0, axes.y[0]}, {-1, 0, 0, axes.x[0]}, {0, 0, 0, centre},
          {1, 0, 0, axes.x[1]},  {0, 1, 0, axes.y[1]},  {0, 0, 1, axes.z[1]}};
}

/// Stencil of a box of neighbours, each with weight(number of axes along which it is displaced).
template <class Weight>
std::vector<Leg> box_stencil(int depth, const Weight& weight) {
  std::vector<Leg> legs;
  for (int dz = -depth; dz <= depth; ++dz) {
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dx = -1; dx <= 1; ++dx) {
        legs.push_back({dx, dy, dz, weight(dx * dx + dy * dy + dz * dz)});
      }
    }
  }
  return legs;
}

/// Weights of the lower and upper neighbour in the differences for -u'' + wind u', times h^2.
std::array<double, 2> convection(double wind, double h, bool upwind) {
  if (upwind) return {-1 - std::max(wind, 0.0) * h, -1 + std::min(wind, 0.0) * h};
  return {-1 - wind * h / 2, -1 + wind * h / 2};
}

template <class T>
Csr<T> convection_diffusion(const StructuredGrid& grid, const std::vector<double>& wind, bool upwind) {
  const double h = 1 / static_cast<double>(grid.nx + 1);
  Axes axes{convection(wind[0], h, upwind), convection(wind[1], h, upwind)};
  if (wind.size() == 3) axes.z = convection(wind[2], h, upwind);
  const double sum = (axes.x[0] + axes.x[1]) + (axes.y[0] + axes.y[1]) + (axes.z[0] + axes.z[1]);
  return constant_stencil<T>(grid, star_stencil(axes, -sum));
}

/// Discretises -div (k grad u) by finite volumes: two-point fluxes with the harmonic mean of the cells'
/// coefficients, times `faces`, the area of a cell's face divided by its width in each direction. A boundary
/// where u = 0 is half a cell away; a direction of a single cell and a closed box have no such boundary.
template <class T>
Csr<T> finite_volumes(const StructuredGrid& grid, const std::vector<double>& k, std::array<double, 3> faces,
                      bool closed) {
  const std::array<std::int64_t, 3> extent = {grid.nx, grid.ny, grid.nz};
  const std::array<std::int64_t, 3> step = {1, grid.nx, grid.nx * grid.ny};
  return assemble<T>(grid.size, grid.size, [&, extent, step](std::int64_t i, auto put) {
    const Point p = grid.point(i);
    const std::array<std::int64_t, 3> at = {p.x, p.y, p.z};
    const double own = k[static_cast<std::size_t>(i)];
    const auto flux = [&](std::size_t axis, std::int64_t neighbour) {
      const double other = k[static_cast<std::size_t>(neighbour)];
      return faces[axis] * (2 * own * other / (own + other));
    };
    double diagonal = 0;
    std::array<double, 3> above{};
    for (std::size_t axis = 3; axis-- > 0;) {
      const double boundary = closed || extent[axis] == 1 ? 0 : faces[axis] * 2 * own;
      above[axis] = at[axis] + 1 < extent[axis] ? flux(axis, i + step[axis]) : 0;
      diagonal += at[axis] + 1 < extent[axis] ? above[axis] : boundary;
      const double below = at[axis] > 0 ? flux(axis, i - step[axis]) : 0;
      diagonal += at[axis] > 0 ? below : boundary;
      if (at[axis] > 0) put(i - step[axis], -below);
    }
    put(i, diagonal);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      if (at[axis] + 1 < extent[axis]) put(i + step[axis], -above[axis]);
    }
  });
}

/// Blocks of cells with coefficients from 1 to `contrast`.
template <class T>
Csr<T> jumps(const StructuredGrid& grid, const ParameterValues& a) {
  const std::int64_t block = a.integer("block");
  const double contrast = a.real("contrast");
  const bool checkerboard = a.text("pattern") == "checkerboard";
  std::vector<double> k(static_cast<std::size_t>(grid.size));
#pragma omp parallel for num_threads(Device().threads()) schedule(static) if (grid.size > few_rows)
  for (std::int64_t i = 0; i < grid.size; ++i) {
    const Point p = grid.point(i);
    const Point b{p.x / block, p.y / block, p.z / block};
    const bool odd = (b.x + b.y + b.z) % 2 == 1;
    const auto number = static_cast<std::uint64_t>(grid.index(b));
    k[static_cast<std::size_t>(i)] =
        checkerboard ? (odd ? contrast : 1) : power(contrast, Random(a.seed(), 0, number).uniform());
  }
  return finite_volumes<T>(grid, k, {1, 1, 1}, false);
}

/// Log-normal permeabilities, correlated over 1, 4 and 16 cells, cut off at three standard deviations.
template <class T>
Csr<T> spe10(const StructuredGrid& grid, const ParameterValues& a) {
  const double decades = a.real("decades");
  const bool closed = a.text("boundary") == "closed";
  std::vector<double> k(static_cast<std::size_t>(grid.size));
#pragma omp parallel for num_threads(Device().threads()) schedule(static) if (grid.size > few_rows)
  for (std::int64_t i = 0; i < grid.size; ++i) {
    const Point p = grid.point(i);
    double sum = 0;
    for (std::uint32_t level = 0; level < 3; ++level) {
      const int shift = 2 * static_cast<int>(level);
      const auto number = static_cast<std::uint64_t>(grid.index({p.x >> shift, p.y >> shift, p.z >> shift}));
      sum += Random(a.seed(), level, number).normal();
    }
    const double deviations = std::clamp(sum / std::sqrt(3.0), -3.0, 3.0);
    k[static_cast<std::size_t>(i)] = power(10.0, decades / 6 * deviations);
  }
  return finite_volumes<T>(grid, k, {1, 4, 100}, closed);
}

/// The 8-by-8 stiffness of a square bilinear element in plane stress, Young's modulus 1 and thickness 1;
/// corners counterclockwise from the lower left, x before y. Integrated exactly.
std::array<std::array<double, 8>, 8> square_stiffness(double poisson) {
  const double v = poisson;
  const std::array<double, 8> k = {
      1.0 / 2 - v / 6,  1.0 / 8 + v / 8, -1.0 / 4 - v / 12,  3 * v / 8 - 1.0 / 8, v / 12 - 1.0 / 4,
      -1.0 / 8 - v / 8, v / 6,           1.0 / 8 - 3 * v / 8};
  constexpr std::array<std::array<std::size_t, 8>, 8> pattern = {{{0, 1, 2, 3, 4, 5, 6, 7},
                                                                  {1, 0, 7, 6, 5, 4, 3, 2},
                                                                  {2, 7, 0, 5, 6, 3, 4, 1},
                                                                  {3, 6, 5, 0, 7, 2, 1, 4},
                                                                  {4, 5, 6, 7, 0, 1, 2, 3},
                                                                  {5, 4, 3, 2, 1, 0, 7, 6},
                                                                  {6, 3, 4, 1, 2, 7, 0, 5},
                                                                  {7, 2, 1, 4, 3, 6, 5, 0}}};
  std::array<std::array<double, 8>, 8> stiffness{};
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 8; ++j) stiffness[i][j] = k[pattern[i][j]] / (1 - v * v);
  }
  return stiffness;
}

/// Plane-stress plate of nx by ny square elements, clamped at its left side: two unknowns (x, y) for each
/// node that is not clamped.
template <class T>
Csr<T> elasticity_2d(std::int64_t nx, std::int64_t ny, double poisson) {
  const std::int64_t unknowns = checked_size("elasticity-2d", {2, nx, ny + 1});
  const auto stiffness = square_stiffness(poisson);
  const auto corner = [](std::int64_t x, std::int64_t y) { return y == 0 ? x : 3 - x; };
  // The sum over the elements that hold both the node at (x, y), x counted from the clamped side, and the one
  // at (x + dx, y + dy).
  const auto coupling = [&, nx, ny](std::int64_t x, std::int64_t y, std::int64_t dx, std::int64_t dy,
                                    std::int64_t c, std::int64_t d) {
    double sum = 0;
    for (std::int64_t ey = std::max(y - 1, y + dy - 1); ey <= std::min(y, y + dy); ++ey) {
      for (std::int64_t ex = std::max(x - 1, x + dx - 1); ex <= std::min(x, x + dx); ++ex) {
        if (ex < 0 || ex >= nx || ey < 0 || ey >= ny) continue;
        sum += stiffness[static_cast<std::size_t>(2 * corner(x - ex, y - ey) + c)]
                        [static_cast<std::size_t>(2 * corner(x + dx - ex, y + dy - ey) + d)];
      }
    }
    return sum;
  };
  return assemble<T>(unknowns, unknowns, [&, nx, ny](std::int64_t i, auto put) {
    const std::int64_t x = 1 + i / 2 % nx;
    const std::int64_t y = i / 2 / nx;
    for (std::int64_t dy = -1; dy <= 1; ++dy) {
      for (std::int64_t dx = -1; dx <= 1; ++dx) {
        if (x + dx < 1 || x + dx > nx || y + dy < 0 || y + dy > ny) continue;
        for (std::int64_t d = 0; d < 2; ++d) {
          put(2 * (x + dx - 1 + nx * (y + dy)) + d, coupling(x, y, dx, dy, i % 2, d));
        }
      }
    }
  });
}

/// Coordinates of the nodes that have unknowns, in units of an element's side.
Dense<double> elasticity_coordinates(std::int64_t nx, std::int64_t ny) {
  checked_size("elasticity-2d", {2, nx, ny + 1});
  Dense<double> coordinates(Device(), nx * (ny + 1), 2);
  for (std::int64_t i = 0; i < coordinates.rows(); ++i) {
    const std::int64_t row = i / nx;
    coordinates(i, 0) = static_cast<double>(1 + i % nx);
    coordinates(i, 1) = static_cast<double>(row);
  }
  return coordinates;
}

void check_points(int points, int few, int many) {
  if (points == few || points == many) return;
  throw BadOption("points", fmt::format("a stencil has {} or {} points, not {}", few, many, points));
}

}  // namespace

template <class T>
Csr<T> poisson_2d(std::int64_t nx, std::int64_t ny, int points) {
  const StructuredGrid grid("poisson-2d", nx, ny);
  check_points(points, 5, 9);
  if (points == 5) return constant_stencil<T>(grid, star_stencil({{-1, -1}, {-1, -1}}, 4));
  return constant_stencil<T>(grid, box_stencil(0, [](int distance) {
                               return distance == 0 ? 20.0 : (distance == 1 ? -4.0 : -1.0);
                             }));
}

template <class T>
Csr<T> poisson_3d(std::int64_t nx, std::int64_t ny, std::int64_t nz, int points) {
  const StructuredGrid grid("poisson-3d", nx, ny, nz);
  check_points(points, 7, 27);
  if (points == 7) return constant_stencil<T>(grid, star_stencil({{-1, -1}, {-1, -1}, {-1, -1}}, 6));
  return constant_stencil<T>(grid, box_stencil(1, [](int distance) { return distance == 0 ? 26.0 : -1.0; }));
}

template <class T>
Csr<T> anisotropic_2d(std::int64_t nx, std::int64_t ny, double epsilon, double degrees) {
  const double c = cos_pi(degrees / 180);
  const double s = sin_pi(degrees / 180);
  const double xx = c * c + epsilon * (s * s);
  const double yy = epsilon * (c * c) + s * s;
  const double xy = (1 - epsilon) * (c * s);  // of -2 xy u_xy: central differences over the four corners
  return constant_stencil<T>(StructuredGrid("anisotropic-2d", nx, ny), {{-1, -1, 0, -xy / 2},
                                                                        {0, -1, 0, -yy},
                                                                        {1, -1, 0, xy / 2},
                                                                        {-1, 0, 0, -xx},
                                                                        {0, 0, 0, 2 * (xx + yy)},
                                                                        {1, 0, 0, -xx},
                                                                        {-1, 1, 0, xy / 2},
                                                                        {0, 1, 0, -yy},
                                                                        {1, 1, 0, -xy / 2}});
}

template <class T>
Csr<T> convection_diffusion_2d(std::int64_t nx, std::int64_t ny, double wind_x, double wind_y, bool upwind) {
  return convection_diffusion<T>(StructuredGrid("convection-diffusion-2d", nx, ny), {wind_x, wind_y}, upwind);
}

namespace {

Parameter points_along(const std::string& axis, std::int64_t fallback) {
  return size("n" + axis, fallback, "points along " + axis);
}
std::vector<Parameter> plane(std::vector<Parameter> more, std::int64_t side = 100) {
  more.insert(more.begin(), {points_along("x", side), points_along("y", side)});
  return more;
}
std::vector<Parameter> space(std::vector<Parameter> more, std::int64_t side = 30) {
  more.insert(more.begin(), {points_along("x", side), points_along("y", side), points_along("z", side)});
  return more;
}
std::vector<Parameter> elasticity_parameters() {
  return {size("nx", 60, "square elements along x"), size("ny", 60, "square elements along y"),
          real("poisson", 0.3, "Poisson's ratio", {-1, 0.5, true, false})};
}
std::vector<Parameter> jump_parameters() {
  return {
      choice("pattern", "checkerboard",
             "checkerboard: blocks alternate between 1 and contrast; random: contrast^U, U uniform in [0, 1)",
             {"checkerboard", "random"}),
      real("contrast", 1e6, "ratio of the largest to the smallest coefficient", {0, 1e150, true}),
      size("block", 8, "cells along the side of a block", 1), seed()};
}
Parameter scheme() {
  return choice("scheme", "upwind", "discretisation of the first derivatives", {"upwind", "central"});
}

const std::vector<std::string> in_plane = {"nx", "ny"};
const std::vector<std::string> in_space = {"nx", "ny", "nz"};

}  // namespace

std::vector<Generator> grid_rows() {
  std::vector<Generator> rows = {
      row("poisson-2d", "grids", "Poisson equation on a rectangle, u = 0 on the boundary; SPD",
          plane({choice("points", "5", "points of the stencil", {"5", "9"})}), in_plane,
          [](const ParameterValues& a, auto zero) {
            return poisson_2d<decltype(zero)>(a.integer("nx"), a.integer("ny"),
                                              a.text("points") == "5" ? 5 : 9);
          }),
      row("poisson-3d", "grids", "Poisson equation in a box, u = 0 on the boundary; SPD",
          space({choice("points", "7", "points of the stencil", {"7", "27"})}), in_space,
          [](const ParameterValues& a, auto zero) {
            return poisson_3d<decltype(zero)>(a.integer("nx"), a.integer("ny"), a.integer("nz"),
                                              a.text("points") == "7" ? 7 : 27);
          }),
      row("anisotropic-2d", "grids", "-u_ss - epsilon u_tt, direction s at an angle to x; SPD",
          plane({real("epsilon", 1e-3, "coefficient of the weaker direction t", {0, 1e300, true}),
                 real("angle", 0, "angle from x to s in degrees", {-360, 360})}),
          in_plane,
          [](const ParameterValues& a, auto zero) {
            return anisotropic_2d<decltype(zero)>(a.integer("nx"), a.integer("ny"), a.real("epsilon"),
                                                  a.real("angle"));
          }),
      row("anisotropic-3d", "grids", "-a u_xx - b u_yy - c u_zz; SPD",
          space({real("a", 1, "coefficient of u_xx", {0, 1e300, true}),
                 real("b", 1e-2, "coefficient of u_yy", {0, 1e300, true}),
                 real("c", 1e-4, "coefficient of u_zz", {0, 1e300, true})}),
          in_space,
          [](const ParameterValues& a, auto zero) {
            const StructuredGrid grid("anisotropic-3d", a.integer("nx"), a.integer("ny"), a.integer("nz"));
            const double x = a.real("a");
            const double y = a.real("b");
            const double z = a.real("c");
            return constant_stencil<decltype(zero)>(
                grid, star_stencil({{-x, -x}, {-y, -y}, {-z, -z}}, 2 * (x + y + z)));
          }),
      row("jumps-2d", "grids", "-div(k grad u), k discontinuous between blocks of cells; SPD",
          plane(jump_parameters()), in_plane,
          [](const ParameterValues& a, auto zero) {
            return jumps<decltype(zero)>(StructuredGrid("jumps-2d", a.integer("nx"), a.integer("ny")), a);
          }),
      row("jumps-3d", "grids", "-div(k grad u), k discontinuous between blocks of cells; SPD",
          space(jump_parameters()), in_space,
          [](const ParameterValues& a, auto zero) {
            return jumps<decltype(zero)>(StructuredGrid("jumps-3d", a.integer("nx"), a.integer("ny"), a.integer("nz")),
                                         a);
          }),
      row("convection-diffusion-2d", "grids", "-Laplace u + wind . grad u on a rectangle; unsymmetric",
          plane({real("wind_x", 10, "x component of the wind", {-1e300, 1e300}),
                 real("wind_y", 20, "y component of the wind", {-1e300, 1e300}), scheme()}),
          in_plane,
          [](const ParameterValues& a, auto zero) {
            return convection_diffusion_2d<decltype(zero)>(a.integer("nx"), a.integer("ny"), a.real("wind_x"),
                                                           a.real("wind_y"), a.text("scheme") == "upwind");
          }),
      row("convection-diffusion-3d", "grids", "-Laplace u + wind . grad u in a box; unsymmetric",
          space({real("wind_x", 10, "x component of the wind", {-1e300, 1e300}),
                 real("wind_y", 20, "y component of the wind", {-1e300, 1e300}),
                 real("wind_z", 30, "z component of the wind", {-1e300, 1e300}), scheme()}),
          in_space,
          [](const ParameterValues& a, auto zero) {
            const StructuredGrid grid("convection-diffusion-3d", a.integer("nx"), a.integer("ny"), a.integer("nz"));
            return convection_diffusion<decltype(zero)>(
                grid, {a.real("wind_x"), a.real("wind_y"), a.real("wind_z")}, a.text("scheme") == "upwind");
          }),
      row("elasticity-2d", "grids", "plate in plane stress, bilinear elements, clamped at its left side; SPD",
          elasticity_parameters(), in_plane,
          [](const ParameterValues& a, auto zero) {
            return elasticity_2d<decltype(zero)>(a.integer("nx"), a.integer("ny"), a.real("poisson"));
          }),
      row("spe10-like", "grids", "flow through layered rock of log-normal permeability; SPD, singular if closed",
          {size("nx", 60, "cells along x"), size("ny", 220, "cells along y"), size("nz", 85, "cells along z"),
           real("decades", 7, "powers of ten that the permeability spans at most", {0, 100}),
           choice("boundary", "closed", "closed: no flow, rows sum to zero; open: u = 0 on the boundary",
                  {"closed", "open"}),
           seed()},
          in_space,
          [](const ParameterValues& a, auto zero) {
            return spe10<decltype(zero)>(
                StructuredGrid("spe10-like", a.integer("nx"), a.integer("ny"), a.integer("nz")), a);
          }),
  };
  for (Generator& generator : rows) {
    generator.dimensions = static_cast<int>(generator.size.size());
    if (generator.name != "elasticity-2d") continue;
    generator.unknowns_per_point = 2;
    generator.make_coordinates = [](const Options& options) {
      const ParameterValues a = parse_parameters("elasticity-2d", elasticity_parameters(), options);
      return elasticity_coordinates(a.integer("nx"), a.integer("ny"));
    };
  }
  return rows;
}

template Csr<float> poisson_2d(std::int64_t, std::int64_t, int);
template Csr<double> poisson_2d(std::int64_t, std::int64_t, int);
template Csr<float> poisson_3d(std::int64_t, std::int64_t, std::int64_t, int);
template Csr<double> poisson_3d(std::int64_t, std::int64_t, std::int64_t, int);
template Csr<float> anisotropic_2d(std::int64_t, std::int64_t, double, double);
template Csr<double> anisotropic_2d(std::int64_t, std::int64_t, double, double);
template Csr<float> convection_diffusion_2d(std::int64_t, std::int64_t, double, double, bool);
template Csr<double> convection_diffusion_2d(std::int64_t, std::int64_t, double, double, bool);

}  // namespace echelon::generate
