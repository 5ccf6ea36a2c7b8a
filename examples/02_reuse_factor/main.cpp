// SPDX-License-Identifier: BSD-3-Clause
/// Factors A once and solves for many right-hand sides, some at a time: 02_reuse_factor A.mtx
///
/// A factorisation costs 2/3 n^3 operations and a solve 2 n^2, so each further right-hand side is cheap.
#include <echelon/echelon.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
namespace ec = echelon;

namespace {

/// Column k is the unit vector of `first + k`: solving for it gives that column of the inverse of A.
ec::Dense<double> unit_vectors(std::int64_t rows, std::int64_t first, std::int64_t count) {
  ec::Dense<double> B(ec::Device(), rows, count);
  for (std::int64_t k = 0; k < count; ++k) {
    for (std::int64_t i = 0; i < rows; ++i) {
      B(i, k) = i == first + k ? 1 : 0;
    }
  }
  return B;
}

int run(const char* path) {
  const auto A = ec::read_matrix_market<double>(path);

  ec::Lu<double> lu(ec::Device(), {.refine = 1});
  const ec::Report factored = lu.factor(A);
  std::cout << lu.describe() << ": " << to_string(factored.status) << " in " << factored.setup_seconds
            << " s, " << static_cast<double>(lu.bytes()) / 1e6 << " MB\n";
  if (!factored.ready()) {
    std::cout << factored.message << '\n';
    return EXIT_FAILURE;
  }

  const std::int64_t batch = 8;
  for (std::int64_t first = 0; first + batch <= std::min<std::int64_t>(A.rows(), 32); first += batch) {
    const auto B = unit_vectors(A.rows(), first, batch);
    ec::Dense<double> X(ec::Device(), A.rows(), batch);
    const ec::Report report = lu.solve(B, X);
    std::cout << "columns " << first << " to " << first + batch - 1
              << " of the inverse: " << to_string(report.status) << " in " << report.solve_seconds
              << " s, backward error " << report.backward_error << '\n';
    if (!report.solved()) {
      return EXIT_FAILURE;
    }
  }
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "data/bcsstk10.mtx.gz");
  } catch (const ec::Error& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
