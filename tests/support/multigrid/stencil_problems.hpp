// SPDX-License-Identifier: BSD-3-Clause
/// Matrices on boxes whose elements tests know, assembled point by point.
#pragma once

#include <echelon/matrix/coo.hpp>
#include <echelon/matrix/csr.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

namespace echelon::test {

/// A box of points, x numbered fastest.
struct Box {
  std::int64_t nx, ny, nz;
  [[nodiscard]] std::int64_t size() const { return nx * ny * nz; }
};

/// Calls f(i, j, dx, dy, dz) for every point i and each of its neighbours j around it.
template <class F>
void for_each_connection(const Box& box, F f) {
  for (std::int64_t z = 0; z < box.nz; ++z) {
    for (std::int64_t y = 0; y < box.ny; ++y) {
      for (std::int64_t x = 0; x < box.nx; ++x) {
        for (int dz = -1; dz <= 1; ++dz) {
          for (int dy = -1; dy <= 1; ++dy) {
            for (int dx = -1; dx <= 1; ++dx) {
              const bool inside = x + dx >= 0 && x + dx < box.nx && y + dy >= 0 && y + dy < box.ny &&
                                  z + dz >= 0 && z + dz < box.nz;
              if (!inside || (dx == 0 && dy == 0 && dz == 0)) continue;
              const std::int64_t i = x + box.nx * (y + box.ny * z);
              f(i, i + dx + box.nx * (dy + box.ny * dz), dx, dy, dz);
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
Csr<T> random_stencil(const Box& box, int apart, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0.1, 1);
  std::vector<Triplet<T>> elements;
  std::vector<double> sums(static_cast<std::size_t>(box.size()), 0.1);
  for_each_connection(box, [&](std::int64_t i, std::int64_t j, int dx, int dy, int dz) {
    if (axes_apart(dx, dy, dz) > apart) return;
    const double value = uniform(random);
    sums[static_cast<std::size_t>(i)] += value;
    elements.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), static_cast<T>(-value)});
  });
  for (std::int64_t i = 0; i < box.size(); ++i) {
    elements.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(i),
                        static_cast<T>(sums[static_cast<std::size_t>(i)])});
  }
  return Csr<T>::from_triplets(box.size(), box.size(), elements);
}

enum class Boundary { dirichlet, neumann };

/// -div(k grad u) by finite volumes: the conductivity between neighbours is the harmonic mean of k(point),
/// times the factor of the axis; `shift` is added to the diagonal.
template <class T>
Csr<T> diffusion(const Box& box, const std::function<double(std::int64_t)>& k, Boundary boundary,
                 std::array<double, 3> factors = {1, 1, 1}, double shift = 0) {
  std::vector<Triplet<T>> elements;
  std::vector<double> diagonal(static_cast<std::size_t>(box.size()), shift);
  const auto axis_of = [](int dx, int dy) {
    return dx != 0 ? std::size_t{0} : dy != 0 ? std::size_t{1} : std::size_t{2};
  };
  for_each_connection(box, [&](std::int64_t i, std::int64_t j, int dx, int dy, int dz) {
    if (axes_apart(dx, dy, dz) > 1) return;
    const double value = factors.at(axis_of(dx, dy)) * 2 / (1 / k(i) + 1 / k(j));
    diagonal[static_cast<std::size_t>(i)] += value;
    elements.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), static_cast<T>(-value)});
  });
  for (std::int64_t i = 0; i < box.size(); ++i) {
    const std::array<std::int64_t, 3> at = {i % box.nx, i / box.nx % box.ny, i / box.nx / box.ny};
    const std::array<std::int64_t, 3> points = {box.nx, box.ny, box.nz};
    for (std::size_t a = 0; a < 3 && boundary == Boundary::dirichlet; ++a) {
      if (points.at(a) == 1) continue;
      const int ends = (at.at(a) == 0 ? 1 : 0) + (at.at(a) + 1 == points.at(a) ? 1 : 0);
      diagonal[static_cast<std::size_t>(i)] += ends * factors.at(a) * k(i);
    }
    elements.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(i),
                        static_cast<T>(diagonal[static_cast<std::size_t>(i)])});
  }
  return Csr<T>::from_triplets(box.size(), box.size(), elements);
}

/// Conductivities 1 and `jump`, at random, in blocks of 4 points along each axis.
inline std::function<double(std::int64_t)> blocks_of(const Box& box, double jump) {
  return [box, jump](std::int64_t i) {
    const std::int64_t block =
        i % box.nx / 4 + 17 * (i / box.nx % box.ny / 4) + 289 * (i / box.nx / box.ny / 4);
    std::mt19937 random(static_cast<unsigned>(block));
    return random() % 2 == 0 ? 1.0 : jump;
  };
}

}  // namespace echelon::test
