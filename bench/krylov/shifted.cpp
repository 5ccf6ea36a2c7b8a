// SPDX-License-Identifier: BSD-3-Clause
// Many shifted systems by one Krylov basis, compared with one solve for each shift.
//   bench_shifted [--runs N] [--shifts N] [SIDE^2|SIDE^3]...
// prints a table in Markdown: for Laplacians, the milliseconds of solve_shifted() for N (50) shifts from
// 0.001 to 10, of cg with Jacobi for the smallest shift, and of the set-up and solve of sparse-cholesky for
// one; and the ratio of the first to three solves of the faster one. Shortest of RUNS (3), on all cores;
// relative residuals of 1e-8.
#include "support/arguments.hpp"
#include "support/measure.hpp"

#include <echelon/problems/shifted_systems.hpp>
#include <echelon/solver.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace ec = echelon;

namespace {

template <class F>
double shortest(int runs, const F& f) {
  double best = 1e99;
  for (int run = 0; run < runs; ++run) {
    const double start = ec::bench::milliseconds(ec::bench::Clock::wall);
    f();
    best = std::min(best, ec::bench::milliseconds(ec::bench::Clock::wall) - start);
  }
  return best;
}

ec::Csr<double> laplacian(const std::string& name) {
  const std::int64_t side = std::stoi(name);
  return name.ends_with("^2") ? ec::generate::poisson_2d<double>(side, side)
                              : ec::bench::poisson_3d<double>(side);
}

ec::Csr<double> shifted(const ec::Csr<double>& A, double shift) {
  ec::Csr<double> result = A;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      if (A.column_indices()[k] == i) result.values()[k] += shift;
    }
  }
  return result;
}

double solve_one(const char* method, const ec::Options& options, const ec::Csr<double>& A, int runs) {
  const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1);
  std::vector<double> x(b.size());
  return shortest(runs, [&] {
    auto solver = ec::make_solver<double>(method, ec::Device(), options);
    (void)solver.setup(A);
    (void)solver.solve(b, x, {.measure_error = false});
  });
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[--runs N] [--shifts N] [SIDE^2|SIDE^3]...");
  const int runs = arguments.option("--runs", 3);
  const int count = arguments.option("--shifts", 50);
  std::vector<std::string> names = arguments.positionals("matrix");
  arguments.finish();
  if (names.empty()) names = {"100^2", "300^2", "40^3"};
  std::vector<double> shifts;
  for (int k = 0; k < count; ++k) shifts.push_back(std::pow(10, -3 + 4.0 * k / std::max(count - 1, 1)));
  std::printf(
      "| matrix | n | products | all shifts ms | cg, one ms | sparse-cholesky, one ms | ratio to three | "
      "residual |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (const std::string& name : names) {
    const ec::Csr<double> A = laplacian(name);
    const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1);
    ec::ShiftedSolution<double> found;
    const double all = shortest(runs, [&] { found = ec::solve_shifted<double>(A, b, shifts); });
    const ec::Csr<double> hardest = shifted(A, shifts.front());
    const double cg = solve_one("cg", {{"preconditioner", "jacobi"}}, hardest, runs);
    const double cholesky = solve_one("sparse-cholesky", {}, hardest, runs);
    std::printf("| %s | %lld | %lld | %.1f | %.1f | %.1f | %.2f | %.0e |\n", name.c_str(),
                static_cast<long long>(A.rows()), static_cast<long long>(found.products), all, cg, cholesky,
                all / (3 * std::min(cg, cholesky)),
                *std::max_element(found.relative_residuals.begin(), found.relative_residuals.end()));
    std::fflush(stdout);
  }
}
