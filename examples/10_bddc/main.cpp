// SPDX-License-Identifier: BSD-3-Clause
/// Solves an unassembled problem of finite elements by domain decomposition: 10_bddc
///
/// The element matrices tell what an assembled matrix does not: the problem of each subdomain alone. Here
/// they are bilinear squares for heat conduction in a plate whose left side is kept at zero.
#include <echelon/domain_decomposition/bddc.hpp>
#include <echelon/echelon.hpp>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <vector>
namespace ec = echelon;

namespace {

/// Squares of a side x side grid. Nodes on the left side have no unknown.
ec::ElementMatrices plate(std::int32_t side) {
  constexpr double conduction[4][4] = {{4, -1, -1, -2}, {-1, 4, -2, -1}, {-1, -2, 4, -1}, {-2, -1, -1, 4}};
  ec::ElementMatrices elements;
  elements.unknowns = std::int64_t{side} * (side + 1);
  for (std::int32_t y = 0; y < side; ++y) {
    for (std::int32_t x = 0; x < side; ++x) {
      const int first = x == 0 ? 1 : 0;  // of the two nodes in a row
      for (int j = 0; j < 4; ++j) {
        if (j % 2 < first) continue;
        elements.indices.push_back(x + j % 2 - 1 + side * (y + j / 2));
        for (int i = 0; i < 4; ++i) {
          if (i % 2 >= first) elements.values.push_back(conduction[j][i] / 6);
        }
      }
      elements.begin.push_back(static_cast<std::int64_t>(elements.indices.size()));
    }
  }
  return elements;
}

int run() {
  const ec::ElementMatrices elements = plate(200);
  const ec::Csr<double> A = ec::assemble(elements);
  const std::vector<std::int32_t> subdomain = ec::partition_elements(elements, 24);

  ec::Bddc<double> solver(ec::Device(), {.stop = {.rtol = 1e-8}});
  ec::set_subdomain_matrices(solver, ec::subdomain_matrices(elements, subdomain));
  const ec::Report setup = solver.setup(A);
  if (!setup.ready()) {
    std::cout << setup.message << '\n';
    return EXIT_FAILURE;
  }
  const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
  std::vector<double> x(b.size());
  const ec::Report report = solver.solve(b, x);
  std::cout << report;
  return report.solved() ? EXIT_SUCCESS : EXIT_FAILURE;
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
