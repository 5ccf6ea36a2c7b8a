// SPDX-License-Identifier: BSD-3-Clause
/// Power flow by Newton's method: 14_power_flow [BUSES]
///
/// Each step solves a system with the Jacobian matrix, whose pattern is that of the grid. The first step
/// analyses and factors it; later ones factor new values in the order and with the pivots of the first.
#include "model.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>

namespace ec = echelon;

namespace {

int run(std::int32_t buses) {
  PowerFlow model(make_grid(buses));
  ec::SparseLu<double> solver;
  ec::Dense<double> step(ec::Device(), model.jacobian().rows(), 1);
  std::cout << buses << " buses, " << step.rows() << " unknowns, " << model.jacobian().nonzeros()
            << " nonzeros\n"
            << "step  mismatch     factor ms  solve ms  backward error\n";
  for (int k = 0; k < 20; ++k) {
    model.evaluate();
    const double mismatch = model.largest_mismatch();
    if (mismatch < 1e-10) {
      std::cout << k << "     " << mismatch << "  solved, smallest voltage " << model.smallest_voltage()
                << '\n';
      return EXIT_SUCCESS;
    }
    const ec::Report factored =
        k == 0 ? solver.setup(model.jacobian()) : solver.update_values(model.jacobian());
    const ec::Report report = solver.solve(model.mismatch(), step, {.measure_error = false});
    std::cout << k << "     " << mismatch << "  " << 1e3 * factored.setup_seconds << "  "
              << 1e3 * report.solve_seconds << "  " << report.backward_error << '\n';
    if (!report.solved()) {
      std::cout << report << '\n';
      return EXIT_FAILURE;
    }
    model.advance({step.data(), static_cast<std::size_t>(step.rows())});
  }
  std::cout << "no convergence in 20 steps\n";
  return EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::int32_t buses = argc > 1 ? std::atoi(argv[1]) : 0;
    return run(buses >= 200 ? buses : 2000);
  } catch (const ec::Error& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
