// SPDX-License-Identifier: BSD-3-Clause
/// Pressure of an incompressible flow in a closed box, without a matrix: 17_stencil
///
/// The Laplacian with Neumann conditions is given as a stencil. The pressure p with -Laplace p = -div u makes
/// the velocity u - grad p free of divergence.
#include <echelon/echelon.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <vector>
namespace ec = echelon;

namespace {

constexpr std::int64_t nx = 300;
constexpr std::int64_t ny = 200;
constexpr std::int64_t cells = nx * ny;

/// Velocities through the upper faces of the cells along x and y; none through the walls.
struct Velocity {
  std::vector<double> u = std::vector<double>(cells);
  std::vector<double> v = std::vector<double>(cells);
};

bool has_face_along_x(std::size_t i) {
  return (i + 1) % nx != 0;
}
bool has_face_along_y(std::size_t i) {
  return i + nx < cells;
}

/// Outflow of each cell.
std::vector<double> divergence(const Velocity& velocity) {
  std::vector<double> outflow(cells);
  for (std::size_t i = 0; i < cells; ++i) {
    outflow[i] += velocity.u[i] + velocity.v[i];
    if (has_face_along_x(i)) outflow[i + 1] -= velocity.u[i];
    if (has_face_along_y(i)) outflow[i + nx] -= velocity.v[i];
  }
  return outflow;
}

double largest(const std::vector<double>& values) {
  double found = 0;
  for (const double value : values) found = std::max(found, std::fabs(value));
  return found;
}

int run() {
  Velocity velocity;
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (std::size_t i = 0; i < cells; ++i) {
    if (has_face_along_x(i)) velocity.u[i] = uniform(random);
    if (has_face_along_y(i)) velocity.v[i] = uniform(random);
  }

  const auto A = ec::Stencil<double>::laplacian({{nx, ny}, {ec::BoundaryCondition::neumann}});
  std::cout << "A: " << A.describe() << ", " << A.bytes() << " bytes\n";
  ec::StructuredMultigrid<double> solver(ec::Device(), {.stop = {.rtol = 1e-10}});
  solver.setup(A);

  std::vector<double> b = divergence(velocity);
  std::cout << "largest divergence before: " << largest(b) << '\n';
  for (double& value : b) value = -value;
  std::vector<double> p(cells);
  const ec::Report report = solver.solve(b, p);
  for (std::size_t i = 0; i < cells; ++i) {
    if (has_face_along_x(i)) velocity.u[i] -= p[i + 1] - p[i];
    if (has_face_along_y(i)) velocity.v[i] -= p[i + nx] - p[i];
  }
  const double after = largest(divergence(velocity));
  std::cout << "largest divergence after:  " << after << '\n' << report;
  return report.solved() && after < 1e-6 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const ec::Error& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
