// SPDX-License-Identifier: BSD-3-Clause
/// Flows of least cost by an interior-point method: 16_interior_point [NODES]
///
/// Each iteration factors an indefinite matrix, in the pattern of the one before, and solves with it twice.
#include "model.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>

namespace ec = echelon;

namespace {

int run(std::int32_t nodes) {
  InteriorPoint model(make_network_flow(nodes, 4 * nodes));
  ec::SparseLdlt<double> solver;
  ec::Dense<double> step(ec::Device(), model.matrix().rows(), 1);
  const std::span<const double> solution(step.data(), static_cast<std::size_t>(step.rows()));
  std::cout << step.rows() << " unknowns, " << model.matrix().nonzeros() << " nonzeros\n"
            << "iteration  gap  infeasibility  factor ms  solves ms\n";
  for (int k = 0; k < 60; ++k) {
    model.prepare();
    std::cout << k << "  " << model.gap() << "  " << model.infeasibility();
    if (model.gap() < 1e-9 && model.infeasibility() < 1e-9) {
      std::cout << "  solved, cost " << model.objective() << '\n';
      return EXIT_SUCCESS;
    }
    const ec::Report factored = k == 0 ? solver.setup(model.matrix()) : solver.update_values(model.matrix());
    const ec::Report predictor = solver.solve(model.right_hand_side(), step, {.measure_error = false});
    model.correct(solution);
    const ec::Report corrector = solver.solve(model.right_hand_side(), step, {.measure_error = false});
    std::cout << "  " << 1e3 * factored.setup_seconds << "  "
              << 1e3 * (predictor.solve_seconds + corrector.solve_seconds) << '\n';
    if (!predictor.solved() || !corrector.solved()) {
      std::cout << (predictor.solved() ? corrector : predictor) << '\n';
      return EXIT_FAILURE;
    }
    model.advance(solution);
  }
  std::cout << "no convergence in 60 iterations\n";
  return EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::int32_t nodes = argc > 1 ? std::atoi(argv[1]) : 0;
    return run(nodes >= 50 ? nodes : 1000);
  } catch (const ec::Error& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
