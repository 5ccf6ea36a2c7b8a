// SPDX-License-Identifier: BSD-3-Clause
/// Solves A x = b in one call: 01_solve A.mtx
// README begins
#include <echelon/echelon.hpp>

#include <cstdlib>
#include <iostream>
#include <vector>
namespace ec = echelon;

int main(int argc, char** argv) try {
  const auto A = ec::read_matrix_market<double>(argc > 1 ? argv[1] : "data/orsirr_1.mtx.gz");
  const std::vector<double> b(A.rows(), 1.0);
  const auto [x, report] = ec::solve(A, b);  // the method is chosen by looking at A
  std::cout << report;                       // method, device, reason, residuals, times
  return report.solved() ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const ec::Error& error) {
  std::cerr << error.what() << '\n';
  return EXIT_FAILURE;
}
// README ends
