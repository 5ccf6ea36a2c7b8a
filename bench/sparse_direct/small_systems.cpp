// SPDX-License-Identifier: BSD-3-Clause
// How long does a call take for a small system, of which arithmetic is the smaller part?
// One-call solve with auto, and set-up, update and solve of a kept solver, for Poisson's equation on a cube.
//
//   OMP_NUM_THREADS=1 bench_small_systems [--side 3] [--runs 2000]
#include "support/arguments.hpp"

#include <echelon/echelon.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <vector>

namespace {

namespace ec = echelon;

/// Shortest time of a call in microseconds, each measured over ten of them.
double microseconds(int runs, const std::function<void()>& call) {
  constexpr int calls = 10;
  double shortest = std::numeric_limits<double>::infinity();
  for (int run = 0; run < runs / calls; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    for (int k = 0; k < calls; ++k) call();
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    shortest = std::min(shortest, time.count() / calls);
  }
  return shortest;
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[--side N] [--runs N]");
  const int side = arguments.option("--side", 3);
  const int runs = arguments.option("--runs", 2000);
  arguments.finish();
  const ec::Csr<double> A = ec::generate::poisson_3d<double>(side, side, side);
  const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
  std::vector<double> x(b.size());
  std::puts(fmt::format("{} rows, microseconds\n\n| method | set-up | update | solve |\n|---|---:|---:|---:|",
                        A.rows())
                .c_str());
  std::puts(
      fmt::format("| auto, one call | | | {:.1f} |",
                  microseconds(
                      runs, [&] { static_cast<void>(ec::solve<double>(A, ec::DenseView<const double>(b))); }))
          .c_str());
  const ec::Control quick{.measure_error = false};
  for (const char* method : {"auto", "cholesky", "lu", "sparse-lu", "sparse-cholesky"}) {
    ec::Solver<double> solver = ec::make_solver<double>(method, ec::Device::serial());
    const double setup = microseconds(runs, [&] { solver.setup(A); });
    const double update = microseconds(runs, [&] { solver.update_values(A); });
    const double solve = microseconds(runs, [&] { static_cast<void>(solver.solve(b, x, quick)); });
    std::puts(fmt::format("| {} | {:.1f} | {:.1f} | {:.2f} |", method, setup, update, solve).c_str());
  }
}
