// SPDX-License-Identifier: BSD-3-Clause
/// Makes a solver by its name, watches it, and stops it when a time limit is reached:
/// 03_preconditioned_cg A.mtx
#include <echelon/echelon.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <stop_token>
#include <vector>
namespace ec = echelon;

namespace {

int run(const char* path) {
  const auto A = ec::read_matrix_market<double>(path);
  const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
  std::vector<double> x(b.size());

  auto cg =
      ec::make_solver<double>("cg", ec::Device::openmp(), {{"rtol", 1e-8}, {"preconditioner", "jacobi"}});
  cg.setup(A);

  std::stop_source stop;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  const auto watch = [&](const ec::Progress& progress) {
    if (progress.iteration % 100 == 0) {
      std::cout << "iteration " << progress.iteration << ": residual " << progress.relative_residual << '\n';
    }
    if (std::chrono::steady_clock::now() > deadline) {
      stop.request_stop();
    }
  };
  const ec::Report report = cg.solve(b, x, {.on_progress = watch, .cancel = stop.get_token()});

  std::cout << report;
  return report.solved() ? EXIT_SUCCESS : EXIT_FAILURE;
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
