// SPDX-License-Identifier: BSD-3-Clause
// Time of the multifrontal factorisations on the host.
//   bench_multifrontal [--method NAME] [--threads N] [--runs N] [SIDE^2|SIDE^3|FILE]...
// prints a table in Markdown for 5-point Laplacians on SIDE^2 points, 7-point Laplacians on SIDE^3 points,
// and matrices in files (default: 300^2 30^3). NAME: sparse-lu (default), sparse-ldlt or sparse-cholesky.
// N: default 1. Without condition estimates; times are the shortest of RUNS (default: 3), the entries and
// flops those of a factorisation without delayed pivots.
#include "support/arguments.hpp"
#include "support/measure.hpp"

#include <echelon/io/files.hpp>
#include <echelon/solver.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace ec = echelon;

namespace {

ec::Csr<double> matrix_of(const std::string& name) {
  if (name.ends_with("^2")) return ec::generate::poisson_2d<double>(std::stoi(name), std::stoi(name));
  if (name.ends_with("^3")) return ec::bench::poisson_3d<double>(std::stoi(name));
  return ec::to_csr<double>(ec::read_matrix<double>(name));
}

template <class F>
double seconds_of(const F& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Measured {
  double analysis = 1e99;
  double factor = 1e99;
  double solve = 1e99;
  ec::Report factored;
  ec::Report solved;
};

Measured measured(const std::string& method, const ec::Csr<double>& A, int threads, int runs) {
  const ec::Device device = threads > 1 ? ec::Device::openmp(threads) : ec::Device::serial();
  const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1);
  std::vector<double> x(b.size());
  Measured best;
  for (int run = 0; run < runs; ++run) {
    auto solver = ec::make_solver<double>(method, device, {{"condition", "false"}});
    best.analysis = std::min(best.analysis, seconds_of([&] { (void)solver.analyze(A); }));
    best.factor = std::min(best.factor, seconds_of([&] { best.factored = solver.factor(A); }));
    best.solve = std::min(best.solve, seconds_of([&] { best.solved = solver.solve(b, x); }));
  }
  return best;
}

double number(const ec::Report& report, const char* name) {
  const ec::Statistic* found = report.find_statistic(name);
  if (found == nullptr) return 0;
  if (const auto* count = std::get_if<std::int64_t>(&found->value)) return static_cast<double>(*count);
  const auto* value = std::get_if<double>(&found->value);
  return value == nullptr ? 0 : *value;
}

void print_row(const std::string& method, const std::string& name, int threads, int runs) {
  const ec::Csr<double> A = matrix_of(name);
  const Measured best = measured(method, A, threads, runs);
  std::printf("| %s | %lld | %.2f | %.2f | %.3f | %.3f | %.4f | %.0e |\n",
              std::filesystem::path(name).filename().c_str(), static_cast<long long>(A.rows()),
              number(best.factored, "factor_entries") / 1e6, number(best.factored, "factor_flops") / 1e9,
              best.analysis, best.factor, best.solve, best.solved.backward_error);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv,
                                 "[--method NAME] [--threads N] [--runs N] [SIDE^2|SIDE^3|FILE]...");
  const std::string method = arguments.option<std::string>("--method", "sparse-lu");
  const int threads = arguments.option("--threads", 1);
  const int runs = arguments.option("--runs", 3);
  std::vector<std::string> names = arguments.positionals("matrix");
  arguments.finish();
  if (names.empty()) names = {"300^2", "30^3"};
  std::printf(
      "| matrix | n | factor entries, millions | Gflop | analysis s | factor s | solve s | backward error |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (const std::string& name : names) print_row(method, name, threads, runs);
}
