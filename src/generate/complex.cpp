// SPDX-License-Identifier: BSD-3-Clause
/// Complex matrices.
#include "generate/assemble.hpp"
#include "generate/functions.hpp"
#include "generate/random.hpp"
#include "generate/table.hpp"

#include <echelon/generate.hpp>

#include <algorithm>
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

/// Calls use(j, edge) for the neighbours j of point i of a grid with x fastest, in ascending order; `edge` is
/// a number of the edge, the same from both ends.
template <class Use>
void for_neighbours(std::int64_t nx, std::int64_t ny, std::int64_t i, const Use& use) {
  const std::int64_t x = i % nx;
  const std::int64_t y = i / nx;
  if (y > 0) use(i - nx, 2 * (i - nx) + 1);
  if (x > 0) use(i - 1, 2 * (i - 1));
  if (x + 1 < nx) use(i + 1, 2 * i);
  if (y + 1 < ny) use(i + nx, 2 * i + 1);
}

/// A symmetric matrix on a grid with the elements off_diagonal(edge) and diagonal(i, sum of those of the row,
/// number of neighbours).
template <class OffDiagonal, class Diagonal>
Csr<Complex> on_grid(const char* name, std::int64_t nx, std::int64_t ny, const OffDiagonal& off_diagonal,
                     const Diagonal& diagonal) {
  const std::int64_t n = checked_size(name, {nx, ny});
  std::vector<Triplet<Complex>> elements;
  elements.reserve(static_cast<std::size_t>(5 * n));
  for (std::int64_t i = 0; i < n; ++i) {
    Complex sum = 0;
    int neighbours = 0;
    for_neighbours(nx, ny, i, [&](std::int64_t j, std::int64_t edge) {
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

/// -Laplace u - (1 + i damping) k^2 u, times h^2, with k h = 2 pi / points, and du/dn = i k u on the
/// boundary: a point outside has (1 + i k h) times the value of the one beside it.
Csr<Complex> helmholtz_2d(std::int64_t nx, std::int64_t ny, double points, double damping) {
  const double kh = 2 * std::numbers::pi / points;
  return on_grid(
      "helmholtz-2d", nx, ny, [](std::int64_t) { return Complex(-1); },
      [=](std::int64_t, Complex, int neighbours) {
        const double outside = 4 - neighbours;
        return Complex(4 - kh * kh - outside, -damping * kh * kh - outside * kh);
      });
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
      "ac-network", nx, ny, [=](std::int64_t edge) { return -admittance(seed, edge); },
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
  return {
      complex_row(
          "helmholtz-2d", "Helmholtz equation on a rectangle, waves leave at the boundary; complex symmetric",
          {nx, ny, real("points", 12, "points of a wave's length", {2, 1e6}),
           real("damping", 0, "the medium's: k^2 times 1 + i damping", {0, 1e6})},
          {"nx", "ny"}, 2,
          [](const ParameterValues& a) {
            return helmholtz_2d(a.integer("nx"), a.integer("ny"), a.real("points"), a.real("damping"));
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
