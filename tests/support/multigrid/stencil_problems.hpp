// SPDX-License-Identifier: BSD-3-Clause
/// Matrices on boxes whose elements tests know, assembled point by point.
#pragma once

#include <echelon/matrix/coo.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/stencil.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <vector>

namespace echelon::test {

/// A box of points, x numbered fastest.
struct Box {
  std::int64_t nx, ny, nz;
  [[nodiscard]] std::int64_t size() const { return nx * ny * nz; }
};

/// Axes whose last point and first one are neighbours.
using Periodic = std::array<bool, 3>;

/// Coordinate of the neighbour of a point along an axis; -1 if there is none.
inline std::int64_t neighbour_along(std::int64_t at, int distance, std::int64_t points, bool periodic) {
  const std::int64_t next = at + distance;
  if (next >= 0 && next < points) return next;
  return periodic && points > 1 ? (next + points) % points : -1;
}

/// Calls f(i, j, dx, dy, dz) for every point i and each of its neighbours j around it.
template <class F>
void for_each_connection(const Box& box, F f, const Periodic& periodic = {}) {
  for (std::int64_t z = 0; z < box.nz; ++z) {
    for (std::int64_t y = 0; y < box.ny; ++y) {
      for (std::int64_t x = 0; x < box.nx; ++x) {
        for (int dz = -1; dz <= 1; ++dz) {
          for (int dy = -1; dy <= 1; ++dy) {
            for (int dx = -1; dx <= 1; ++dx) {
              const std::int64_t at_x = neighbour_along(x, dx, box.nx, periodic[0]);
              const std::int64_t at_y = neighbour_along(y, dy, box.ny, periodic[1]);
              const std::int64_t at_z = neighbour_along(z, dz, box.nz, periodic[2]);
              const bool inside = at_x >= 0 && at_y >= 0 && at_z >= 0;
              if (!inside || (dx == 0 && dy == 0 && dz == 0)) continue;
              f(x + box.nx * (y + box.ny * z), at_x + box.nx * (at_y + box.ny * at_z), dx, dy, dz);
            }
          }
        }
      }
    }
  }
}

/// Number of axes along which a neighbour lies apart.
inline int axes_apart(int dx, int dy, int dz) {
  return std::abs(dx) + std::abs(dy) + std::abs(dz);
}

/// Random elements for the neighbours up to `apart` axes apart: stencils of 5 or 7 (1), 9 or 19 (2), and 27
/// points (3); diagonal elements that dominate.
template <class T>
Csr<T> random_stencil(const Box& box, int apart, unsigned seed, const Periodic& periodic = {}) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0.1, 1);
  std::vector<Triplet<T>> elements;
  std::vector<double> sums(static_cast<std::size_t>(box.size()), 0.1);
  for_each_connection(
      box,
      [&](std::int64_t i, std::int64_t j, int dx, int dy, int dz) {
        if (axes_apart(dx, dy, dz) > apart) return;
        const double value = uniform(random);
        sums[static_cast<std::size_t>(i)] += value;
        elements.push_back(
            {static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), static_cast<T>(-value)});
      },
      periodic);
  for (std::int64_t i = 0; i < box.size(); ++i) {
    elements.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(i),
                        static_cast<T>(sums[static_cast<std::size_t>(i)])});
  }
  return Csr<T>::from_triplets(box.size(), box.size(), elements);
}

enum class Boundary { dirichlet, neumann, periodic };

/// Boundaries of a box along each axis.
struct Boundaries {
  std::array<Boundary, 3> along;
  Boundaries(Boundary all) : along{all, all, all} {}  // NOLINT(google-explicit-constructor)
  Boundaries(Boundary x, Boundary y, Boundary z) : along{x, y, z} {}
  [[nodiscard]] Periodic periodic() const {
    return {along[0] == Boundary::periodic, along[1] == Boundary::periodic, along[2] == Boundary::periodic};
  }
};

/// Conductivities of a point along the axes.
using Conductivity = std::function<std::array<double, 3>(std::int64_t)>;

/// -div(k grad u) by finite volumes: the conductivity between neighbours is the harmonic mean of k(point)
/// along the axis; `shift` is added to the diagonal.
template <class T>
Csr<T> diffusion(const Box& box, const Conductivity& k, const Boundaries& boundaries, double shift = 0) {
  std::vector<Triplet<T>> elements;
  std::vector<double> diagonal(static_cast<std::size_t>(box.size()), shift);
  const auto axis_of = [](int dx, int dy) {
    return dx != 0 ? std::size_t{0} : dy != 0 ? std::size_t{1} : std::size_t{2};
  };
  for_each_connection(
      box,
      [&](std::int64_t i, std::int64_t j, int dx, int dy, int dz) {
        if (axes_apart(dx, dy, dz) > 1) return;
        const std::size_t axis = axis_of(dx, dy);
        const double value = 2 / (1 / k(i).at(axis) + 1 / k(j).at(axis));
        diagonal[static_cast<std::size_t>(i)] += value;
        elements.push_back(
            {static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), static_cast<T>(-value)});
      },
      boundaries.periodic());
  for (std::int64_t i = 0; i < box.size(); ++i) {
    const std::array<std::int64_t, 3> at = {i % box.nx, i / box.nx % box.ny, i / box.nx / box.ny};
    const std::array<std::int64_t, 3> points = {box.nx, box.ny, box.nz};
    for (std::size_t a = 0; a < 3; ++a) {
      if (points.at(a) == 1 || boundaries.along.at(a) != Boundary::dirichlet) continue;
      const int ends = (at.at(a) == 0 ? 1 : 0) + (at.at(a) + 1 == points.at(a) ? 1 : 0);
      diagonal[static_cast<std::size_t>(i)] += ends * k(i).at(a);
    }
    elements.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(i),
                        static_cast<T>(diagonal[static_cast<std::size_t>(i)])});
  }
  return Csr<T>::from_triplets(box.size(), box.size(), elements);
}

/// Diffusion whose conductivity along each axis is k(point) times the factor of the axis.
template <class T>
Csr<T> diffusion(const Box& box, const std::function<double(std::int64_t)>& k, const Boundaries& boundaries,
                 std::array<double, 3> factors = {1, 1, 1}, double shift = 0) {
  const auto along = [&](std::int64_t i) -> std::array<double, 3> {
    const double value = k(i);
    return {value * factors[0], value * factors[1], value * factors[2]};
  };
  return diffusion<T>(box, Conductivity(along), boundaries, shift);
}

/// Cell Peclet numbers of the wind along the axes at a point whose coordinates are between -1 and 1.
using Wind = std::function<std::array<double, 3>(double, double, double)>;

/// Convection and diffusion of unit conductivity with Dirichlet boundaries: upwind differences, or central
/// ones.
template <class T>
Csr<T> convection(const Box& box, const Wind& wind, bool central = false,
                  const Boundaries& boundaries = Boundary::dirichlet) {
  std::vector<Triplet<T>> elements;
  std::vector<double> diagonal(static_cast<std::size_t>(box.size()));
  const std::array<std::int64_t, 3> points = {box.nx, box.ny, box.nz};
  const auto place_of = [&](std::int64_t i) -> std::array<std::int64_t, 3> {
    return {i % box.nx, i / box.nx % box.ny, i / box.nx / box.ny};
  };
  const auto connection = [&](std::int64_t i, std::size_t axis, int side) {
    std::array<double, 3> at{};
    for (std::size_t a = 0; a < 3; ++a) {
      at.at(a) = 2 * static_cast<double>(place_of(i).at(a)) / static_cast<double>(points.at(a)) - 1;
    }
    const double outward = side * wind(at[0], at[1], at[2]).at(axis);
    return central ? 1 - outward / 2 : 1 + std::max(-outward, 0.0);
  };
  for_each_connection(
      box,
      [&](std::int64_t i, std::int64_t j, int dx, int dy, int dz) {
        if (axes_apart(dx, dy, dz) > 1) return;
        const std::size_t axis = dx != 0 ? 0 : dy != 0 ? 1 : 2;
        const double value = connection(i, axis, dx + dy + dz);
        diagonal[static_cast<std::size_t>(i)] += value;
        elements.push_back(
            {static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), static_cast<T>(-value)});
      },
      boundaries.periodic());
  for (std::int64_t i = 0; i < box.size(); ++i) {
    double& own = diagonal[static_cast<std::size_t>(i)];
    for (std::size_t a = 0; a < 3; ++a) {
      if (points.at(a) == 1 || boundaries.along.at(a) == Boundary::periodic) continue;
      if (place_of(i).at(a) == 0) own += connection(i, a, -1);
      if (place_of(i).at(a) + 1 == points.at(a)) own += connection(i, a, 1);
    }
    elements.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(i), static_cast<T>(own)});
  }
  return Csr<T>::from_triplets(box.size(), box.size(), elements);
}

/// Conductivities 1 and `jump`, at random, in blocks of 4 points along each axis.
inline std::function<double(std::int64_t)> blocks_of(const Box& box, double jump) {
  return [box, jump, values = std::map<std::int64_t, double>()](std::int64_t i) mutable {
    const std::int64_t block =
        i % box.nx / 4 + 17 * (i / box.nx % box.ny / 4) + 289 * (i / box.nx / box.ny / 4);
    const auto [place, is_new] = values.try_emplace(block, 1.0);
    if (is_new && std::mt19937(static_cast<unsigned>(block))() % 2 != 0) place->second = jump;
    return place->second;
  };
}

/// The coefficients of A at each offset, by points: zero where A has no element. The axes are periodic if
/// they have three points or more.
template <class T>
std::map<StencilOffset, std::vector<T>> coefficients_of(const Csr<T>& A, const Box& box,
                                                        const Periodic& periodic = {}) {
  std::map<StencilOffset, std::vector<T>> values;
  const auto put = [&](std::int64_t i, std::int64_t j, const StencilOffset& offset) {
    const std::int32_t* const columns = A.column_indices().data();
    const std::int32_t* const end = columns + A.row_offsets()[i + 1];
    const std::int32_t* const found = std::lower_bound(columns + A.row_offsets()[i], end, j);
    if (found == end || *found != j) return;
    std::vector<T>& array = values[offset];
    array.resize(static_cast<std::size_t>(A.rows()));
    array[static_cast<std::size_t>(i)] = A.values()[found - columns];
  };
  for (std::int64_t i = 0; i < A.rows(); ++i) put(i, i, {0, 0, 0});
  for_each_connection(box,
                      [&](std::int64_t i, std::int64_t j, int dx, int dy, int dz) {
                        put(i, j, {dx, dy, dz});
                      },
                      {periodic[0] && box.nx > 2, periodic[1] && box.ny > 2, periodic[2] && box.nz > 2});
  return values;
}

/// A as a stencil with coefficients by points, in the memory of `device`.
template <class T>
Stencil<T> stencil_of(const Csr<T>& A, const Box& box, const Periodic& periodic = {},
                      const Device& device = {}) {
  StencilGrid grid{{box.nx, box.ny, box.nz}, {}};
  for (std::size_t a = 0; a < 3; ++a) {
    grid.boundaries.push_back(periodic.at(a) && grid.points[a] > 2 ? BoundaryCondition::periodic
                                                                   : BoundaryCondition::dirichlet);
  }
  const std::map<StencilOffset, std::vector<T>> values = coefficients_of(A, box, periodic);
  std::vector<StencilArray<T>> arrays;
  for (const auto& [offset, array] : values) arrays.push_back({offset, array});
  return Stencil<T>::variable(grid, arrays).to(device);
}

}  // namespace echelon::test
