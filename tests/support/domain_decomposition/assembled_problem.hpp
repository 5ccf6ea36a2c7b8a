// SPDX-License-Identifier: BSD-3-Clause
/// Problems of finite elements with their assembled matrices, for tests of bddc on every device.
#pragma once

#include <echelon/domain_decomposition/bddc.hpp>
#include <echelon/domain_decomposition/cube_elements.hpp>
#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace echelon::test {

/// A problem with its assembled matrix and its subdomains.
struct AssembledProblem {
  CubeProblem problem;
  Csr<double> A;
  std::vector<SubdomainMatrix> subdomains;
  explicit AssembledProblem(CubeProblem given)
      : problem(std::move(given)),
        A(assemble(problem.matrices)),
        subdomains(subdomain_matrices(problem.matrices, problem.subdomain_of_element)) {}
};

/// Coefficients 1 and `jump` in the pattern of a checkerboard of side^3 cubes.
inline std::vector<double> checkerboard(std::int64_t side, double jump) {
  std::vector<double> coefficients;
  for (std::int64_t z = 0; z < side; ++z) {
    for (std::int64_t y = 0; y < side; ++y) {
      for (std::int64_t x = 0; x < side; ++x) coefficients.push_back((x + y + z) % 2 == 0 ? 1 : jump);
    }
  }
  return coefficients;
}

}  // namespace echelon::test
