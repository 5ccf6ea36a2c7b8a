// SPDX-License-Identifier: BSD-3-Clause
/// Complex matrices.
#include "generate/assemble.hpp"
#include "generate/functions.hpp"
#include "generate/random.hpp"
#include "generate/table.hpp"

#include <echelon/generate.hpp>

#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

namespace echelon::generate {

namespace {

using Complex = std::complex<double>;

/// Streams of random numbers.
enum : std::uint32_t { phases = 40, lines = 41, loads = 42 };

/// A generator of complex matrices, which calls `make(arguments)`.
template <class Make>
Generator complex_row(std::string name, std::string summary, const std::vector<Parameter>& parameters,
                      std::vector<std::string> size, int dimensions, Make make) {
  Generator generator;
  generator.name = std::move(name);
  generator.family = "complex";
  generator.summary = std::move(summary);
  generator.sparse = true;
  generator.size = std::move(size);
  generator.dimensions = dimensions;
  generator.options = described(parameters);
  generator.make_complex = [=, name = generator.name](const Options& options) -> Matrix<Complex> {
    return make(parse_parameters(name, parameters, options));
  };
  return generator;
}

/// Points along the axes, of which x is numbered fastest; nz = 1 in two dimensions.
struct Points {
  std::int64_t nx;
  std::int64_t ny;
  std::int64_t nz = 1;
  [[nodiscard]] int dimensions() const { return nz == 1 ? 2 : 3; }
};

/// Calls use(j, edge) for the neighbours j of point i, in ascending order; `edge` is a number of the edge,
/// the same from both ends.
template <class Use>
void for_neighbours(const Points& points, std::int64_t i, const Use& use) {
  const std::int64_t layer = points.nx * points.ny;
  const std::int64_t x = i % points.nx;
  const std::int64_t y = i / points.nx % points.ny;
  const std::int64_t z = i / layer;
  const int edges = points.dimensions();  // of each point, to the next one along each axis
  if (z > 0) use(i - layer, edges * (i - layer) + 2);
  if (y > 0) use(i - points.nx, edges * (i - points.nx) + 1);
  if (x > 0) use(i - 1, edges * (i - 1));
  if (x + 1 < points.nx) use(i + 1, edges * i);
  if (y + 1 < points.ny) use(i + points.nx, edges * i + 1);
  if (z + 1 < points.nz) use(i + layer, edges * i + 2);
}

/// A symmetric matrix on a grid with the elements off_diagonal(edge) and diagonal(i, sum of those of the row,
/// number of neighbours).
template <class OffDiagonal, class Diagonal>
Csr<Complex> on_grid(const char* name, const Points& points, const OffDiagonal& off_diagonal,
                     const Diagonal& diagonal) {
  const std::int64_t n = checked_size(name, {points.nx, points.ny, points.nz});
  std::vector<Triplet<Complex>> elements;
  elements.reserve(static_cast<std::size_t>((2 * points.dimensions() + 1) * n));
  for (std::int64_t i = 0; i < n; ++i) {
    Complex sum = 0;
    int neighbours = 0;
    for_neighbours(points, i, [&](std::int64_t j, std::int64_t edge) {
      const Complex value = off_diagonal(edge);
      elements.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), value});
      sum += value;
      ++neighbours;
    });
    elements.push_back(
        {static_cast<std::int32_t>(i), static_cast<std::int32_t>(i), diagonal(i, sum, neighbours)});
  }
  return Csr<Complex>::from_triplets(n, n, elements);
}

/// (k h)^2 (1 + i damping) for k h = 2 pi / points, with `points` points of a wave.
Complex squared_wave_number(double points, double damping) {
  const double kh = 2 * std::numbers::pi / points;
  return kh * kh * Complex(1, damping);
}

/// -Laplace u - (1 + i damping) k^2 u, times h^2, and du/dn = i k u on the boundary: a point outside has
/// (1 + i k h) times the value of the one beside it.
Csr<Complex> helmholtz(const char* name, const Points& grid, double points, double damping) {
  const Complex shift = squared_wave_number(points, damping);
  const double kh = 2 * std::numbers::pi / points;
  const int most = 2 * grid.dimensions();
  return on_grid(
      name, grid, [](std::int64_t) { return Complex(-1); },
      [=](std::int64_t, Complex, int neighbours) {
        const double outside = most - neighbours;
        return Complex(most - shift.real() - outside, -shift.imag() - outside * kh);
      });
}

/// -Laplace u - (1 + i damping) k^2 u, times h^2, with u = 0 on the boundary: the preconditioner of Helmholtz
/// equations.
Csr<Complex> shifted_laplacian(const Points& grid, double points, double damping) {
  const Complex shift = squared_wave_number(points, damping);
  const double most = 2 * grid.dimensions();
  return on_grid(
      "shifted-laplacian", grid, [](std::int64_t) { return Complex(-1); },
      [=](std::int64_t, Complex, int) { return most - shift; });
}

/// Edges of a grid of nx by ny by nz cells inside a perfect conductor, on whose boundary tangential fields
/// vanish: numbers of those along each axis, or -1 on the boundary.
class InnerEdges {
 public:
  using Position = std::array<std::int64_t, 3>;

  InnerEdges(const char* name, const Position& cells) : cells_(cells) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      first_[axis] = count_;
      const Position inner = inner_of(axis);
      count_ += checked_size(name, {inner[0], inner[1], inner[2]});
    }
    checked_size(name, {count_});
  }
  [[nodiscard]] std::int64_t count() const { return count_; }
  /// The edge from this point along the axis.
  [[nodiscard]] std::int64_t number(std::size_t axis, const Position& point) const {
    const Position inner = inner_of(axis);
    Position at = point;
    for (std::size_t d = 0; d < 3; ++d) {
      if (d != axis) --at[d];  // tangential ones begin at the first point inside
      if (at[d] < 0 || at[d] >= inner[d]) return -1;
    }
    return first_[axis] + at[0] + inner[0] * (at[1] + inner[1] * at[2]);
  }

 private:
  [[nodiscard]] Position inner_of(std::size_t axis) const {
    Position inner = cells_;
    for (std::size_t d = 0; d < 3; ++d) inner[d] = std::max<std::int64_t>(inner[d] - (d == axis ? 0 : 1), 0);
    return inner;
  }

  Position cells_;
  std::array<std::int64_t, 3> first_{};
  std::int64_t count_ = 0;
};

/// Passes the elements of c c^T to add(i, j, value), for the curl c around the face at p across an axis.
template <class Add>
void add_face(const InnerEdges& edges, const InnerEdges::Position& p, std::size_t axis, const Add& add) {
  const std::size_t first = (axis + 1) % 3;
  const std::size_t second = (axis + 2) % 3;
  InnerEdges::Position beyond_first = p;
  InnerEdges::Position beyond_second = p;
  ++beyond_first[first];
  ++beyond_second[second];
  const std::array<std::pair<std::int64_t, double>, 4> around = {{{edges.number(first, p), 1},
                                                                  {edges.number(second, beyond_first), 1},
                                                                  {edges.number(first, beyond_second), -1},
                                                                  {edges.number(second, p), -1}}};
  for (const auto& row : around) {
    for (const auto& column : around) {
      if (row.first >= 0 && column.first >= 0) add(row.first, column.first, row.second * column.second);
    }
  }
}

/// curl curl E - (1 + i damping) k^2 E, times h^2, on the edges of cells (Yee 1966): C^T C - k^2 h^2 with the
/// incidence C of faces and edges.
Csr<Complex> curl_curl(const InnerEdges::Position& cells, double points, double damping) {
  const InnerEdges edges("curl-curl", cells);
  std::vector<Triplet<Complex>> elements;
  const auto add = [&](std::int64_t i, std::int64_t j, Complex value) {
    elements.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), value});
  };
  for (std::int64_t i = 0; i < edges.count(); ++i) add(i, i, -squared_wave_number(points, damping));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    InnerEdges::Position end = cells;  // faces across an axis are on its points, the last one included
    ++end[axis];
    InnerEdges::Position p{};
    for (p[2] = 0; p[2] < end[2]; ++p[2]) {
      for (p[1] = 0; p[1] < end[1]; ++p[1]) {
        for (p[0] = 0; p[0] < end[0]; ++p[0]) add_face(edges, p, axis, add);
      }
    }
  }
  return Csr<Complex>::from_triplets(edges.count(), edges.count(), elements);
}

/// A random admittance of a line: 1 / (r + i x).
Complex admittance(std::uint64_t seed, std::int64_t edge) {
  Random random(seed, lines, static_cast<std::uint64_t>(edge));
  const double x = random.uniform(0.05, 0.5);
  const double r = x * random.uniform(0.05, 0.5);
  return {r / (r * r + x * x), -x / (r * r + x * x)};
}

/// Nodal admittances of a network of lines along a grid, with a load to ground at each bus.
Csr<Complex> ac_network(std::int64_t nx, std::int64_t ny, std::uint64_t seed) {
  return on_grid(
      "ac-network", Points{nx, ny}, [=](std::int64_t edge) { return -admittance(seed, edge); },
      [=](std::int64_t i, Complex sum, int) {
        Random random(seed, loads, static_cast<std::uint64_t>(i));
        const double power = random.uniform(0, 0.1);
        return Complex(power - sum.real(), -0.3 * power - sum.imag());
      });
}

/// The magnitudes of random_spd with random phases.
Csr<Complex> random_hermitian(std::int64_t n, double density, double dominance, std::uint64_t seed) {
  const Csr<double> magnitudes = random_spd<double>(n, density, dominance, seed);
  Array<Complex> values(Device(), magnitudes.nonzeros());
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t k = magnitudes.row_offsets()[i]; k < magnitudes.row_offsets()[i + 1]; ++k) {
      const std::int64_t j = magnitudes.column_indices()[k];
      const double size = magnitudes.values()[k];
      const std::int64_t first = std::min(i, j);
      const std::int64_t second = std::max(i, j);
      Random random(seed, phases,
                    static_cast<std::uint64_t>(first) << 32 | static_cast<std::uint64_t>(second));
      const double phase = i == j ? 0 : random.uniform();
      values[k] = {size * cos_pi(phase), (i < j ? size : -size) * sin_pi(phase)};
    }
  }
  return Csr<Complex>(n, n, magnitudes.row_offsets(), magnitudes.column_indices(), std::move(values));
}

}  // namespace

std::vector<Generator> complex_rows() {
  const Parameter nx = size("nx", 100, "points along x");
  const Parameter ny = size("ny", 100, "points along y");
  const auto side = [](const char* name, const char* what) { return size(name, 20, what); };
  const Parameter points = real("points", 12, "points of a wave's length", {2, 1e6});
  const auto damping = [](double value) {
    return real("damping", value, "the medium's: k^2 times 1 + i damping", {0, 1e6});
  };
  const std::vector<std::string> three = {"nx", "ny", "nz"};
  return {
      complex_row("helmholtz-2d",
                  "Helmholtz equation on a rectangle, waves leave at the boundary; complex symmetric",
                  {nx, ny, points, damping(0)}, {"nx", "ny"}, 2,
                  [](const ParameterValues& a) {
                    return helmholtz("helmholtz-2d", {a.integer("nx"), a.integer("ny")}, a.real("points"),
                                     a.real("damping"));
                  }),
      complex_row("helmholtz-3d",
                  "Helmholtz equation on a box, waves leave at the boundary; complex symmetric",
                  {side("nx", "points along x"), side("ny", "points along y"), side("nz", "points along z"),
                   points, damping(0)},
                  three, 3,
                  [](const ParameterValues& a) {
                    return helmholtz("helmholtz-3d", {a.integer("nx"), a.integer("ny"), a.integer("nz")},
                                     a.real("points"), a.real("damping"));
                  }),
      complex_row("shifted-laplacian",
                  "damped Helmholtz equation on a box, zero at the boundary; complex symmetric",
                  {side("nx", "points along x"), side("ny", "points along y"),
                   side("nz", "points along z; 1: a rectangle"), points, damping(0.5)},
                  three, 3,
                  [](const ParameterValues& a) {
                    return shifted_laplacian({a.integer("nx"), a.integer("ny"), a.integer("nz")},
                                             a.real("points"), a.real("damping"));
                  }),
      complex_row("curl-curl", "Maxwell's equations on the edges of cells in a conductor; complex symmetric",
                  {size("nx", 10, "cells along x"), size("ny", 10, "cells along y"),
                   size("nz", 10, "cells along z"), points, damping(0.1)},
                  three, 3,
                  [](const ParameterValues& a) {
                    return curl_curl({a.integer("nx"), a.integer("ny"), a.integer("nz")}, a.real("points"),
                                     a.real("damping"));
                  }),
      complex_row(
          "ac-network", "admittances of a network of lines with random impedances; complex symmetric",
          {nx, ny, seed()}, {"nx", "ny"}, 2,
          [](const ParameterValues& a) { return ac_network(a.integer("nx"), a.integer("ny"), a.seed()); }),
      complex_row("random-hermitian", "random Hermitian pattern, positive definite by diagonal dominance",
                  {dimension(1000), real("density", 0.01, "probability that an element is stored", {0, 1}),
                   real("dominance", 1.1, "ratio of the diagonal to the sum of the row's other magnitudes",
                        {1, 1e300, true}),
                   seed()},
                  {"n"}, 1,
                  [](const ParameterValues& a) {
                    return random_hermitian(a.integer("n"), a.real("density"), a.real("dominance"), a.seed());
                  }),
  };
}

}  // namespace echelon::generate
