// SPDX-License-Identifier: BSD-3-Clause
/// Solves with a matrix that is known by its product only, and a preconditioner of its own: 05_operator
///
/// The operator is -u'' + u on a grid of points, which needs no memory at all.
#include <echelon/echelon.hpp>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <vector>
namespace ec = echelon;

namespace {

int run() {
  constexpr std::int64_t n = 10000;
  const auto apply = [](const double* x, double* y) {  // y = A x
    for (std::int64_t i = 0; i < n; ++i) {
      const double left = i > 0 ? x[i - 1] : 0;
      const double right = i + 1 < n ? x[i + 1] : 0;
      y[i] = 3 * x[i] - left - right;
    }
  };
  const ec::LinearOperator<double> A(n, n, apply);
  const ec::Preconditioner<double> M([](const double* r, double* z) {  // z = M^-1 r
    for (std::int64_t i = 0; i < n; ++i) z[i] = r[i] / 3;
  });

  const std::vector<double> b(static_cast<std::size_t>(n), 1.0);
  std::vector<double> x(b.size());
  ec::Cg<double> cg(ec::Device(), {.stop = {.rtol = 1e-10}});
  cg.set_preconditioner(M);
  cg.setup(A);
  const ec::Report report = cg.solve(b, x);
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
