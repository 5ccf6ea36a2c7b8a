// SPDX-License-Identifier: BSD-3-Clause
/// A circuit in time by backward Euler steps, with Newton's method in each: 15_transient_circuit [SIDE
/// [STEPS]]
///
/// Hundreds of systems with one pattern: the first one is analysed and factored, the others take new values.
#include "model.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>

namespace ec = echelon;

namespace {

/// Time of the factorisations and solves of a run.
struct Costs {
  double first = 0, updates = 0, solves = 0;
  int systems = 0;
};

/// Solves a step in time. Returns false where Newton's method does not converge.
bool solve_step(Circuit& model, ec::SparseLu<double>& solver, ec::Dense<double>& correction, Costs& costs) {
  model.begin_step();
  for (int iteration = 0; iteration < 50; ++iteration) {
    if (model.largest_residual() < 1e-12) return true;
    const bool first = costs.systems++ == 0;
    const ec::Report factored = first ? solver.setup(model.matrix()) : solver.update_values(model.matrix());
    (first ? costs.first : costs.updates) += factored.setup_seconds;
    const ec::Report report = solver.solve(model.residual(), correction, {.measure_error = false});
    costs.solves += report.solve_seconds;
    if (!report.solved()) {
      std::cout << report << '\n';
      return false;
    }
    model.advance({correction.data(), static_cast<std::size_t>(correction.rows())});
  }
  return false;
}

int run(std::int32_t side, int steps) {
  Circuit model(side);
  ec::SparseLu<double> solver;
  ec::Dense<double> correction(ec::Device(), model.matrix().rows(), 1);
  std::cout << correction.rows() << " unknowns, " << model.matrix().nonzeros() << " nonzeros\n"
            << "time us  output V  systems\n";
  Costs costs;
  for (int k = 1; k <= steps; ++k) {
    if (!solve_step(model, solver, correction, costs)) {
      std::cout << "no convergence at " << 1e6 * model.time() << " us\n";
      return EXIT_FAILURE;
    }
    if (k % 10 == 0)
      std::cout << 1e6 * model.time() << "  " << model.output() << "  " << costs.systems << '\n';
  }
  const double later = std::max(1, costs.systems - 1);
  std::cout << "first factorisation " << 1e3 * costs.first << " ms, later ones "
            << 1e3 * costs.updates / later << " ms, solves " << 1e3 * costs.solves / costs.systems
            << " ms each\n";
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::int32_t side = argc > 1 ? std::atoi(argv[1]) : 0;
    const int steps = argc > 2 ? std::atoi(argv[2]) : 0;
    return run(side >= 10 ? side : 60, steps > 0 ? steps : 50);
  } catch (const ec::Error& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
