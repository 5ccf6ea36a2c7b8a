// SPDX-License-Identifier: BSD-3-Clause
// Time of the multifrontal factorisations on the host.
//   bench_multifrontal [--method NAME] [--threads N] [--runs N] [--condition] [SIDE^2|SIDE^3|FILE]...
// prints a table in Markdown for 5-point Laplacians on SIDE^2 points, 7-point Laplacians on SIDE^3 points,
// and matrices in files (default: 300^2 30^3). NAME: sparse-lu (default), sparse-ldlt or sparse-cholesky.
// N: default 1. Condition estimates are left out unless asked for. Times are the shortest of RUNS (default:
// 3), as many of which are made as take ten seconds together; entries and flops are those of a factorisation
// without delayed pivots.
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

struct Settings {
  std::string method;
  int threads = 1;
  int runs = 1;
  bool condition = false;
};

Measured measured(const Settings& settings, const ec::Csr<double>& A) {
  constexpr double enough = 10;  // seconds
  const ec::Device device =
      settings.threads > 1 ? ec::Device::openmp(settings.threads) : ec::Device::serial();
  const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1);
  std::vector<double> x(b.size());
  Measured best;
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  for (int run = 0; run < settings.runs && (run == 0 || elapsed() < enough); ++run) {
    auto solver = ec::make_solver<double>(settings.method, device,
                                          {{"condition", settings.condition ? "true" : "false"}});
    best.analysis = std::min(best.analysis, seconds_of([&] { (void)solver.analyze(A); }));
    best.factor = std::min(best.factor, seconds_of([&] { best.factored = solver.factor(A); }));
    best.solve =
        std::min(best.solve, seconds_of([&] { best.solved = solver.solve(b, x, {.measure_error = false}); }));
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

void print_row(const Settings& settings, const std::string& name) {
  const ec::Csr<double> A = matrix_of(name);
  const Measured best = measured(settings, A);
  std::printf("| %s | %lld | %.2f | %.3f | %.3f | %.3f | %.3f | %.0e | %s |\n",
              std::filesystem::path(name).filename().c_str(), static_cast<long long>(A.rows()),
              number(best.factored, "factor_entries") / 1e6, number(best.factored, "factor_flops") / 1e9,
              1e3 * best.analysis, 1e3 * best.factor, 1e3 * best.solve, best.solved.backward_error,
              std::string(ec::to_string(best.solved.status)).c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(
      argc, argv, "[--method NAME] [--threads N] [--runs N] [--condition] [SIDE^2|SIDE^3|FILE]...");
  Settings settings;
  settings.method = arguments.option<std::string>("--method", "sparse-lu");
  settings.threads = arguments.option("--threads", 1);
  settings.runs = arguments.option("--runs", 3);
  settings.condition = arguments.flag("--condition");
  std::vector<std::string> names = arguments.positionals("matrix");
  arguments.finish();
  if (names.empty()) names = {"300^2", "30^3"};
  std::printf(
      "| matrix | n | factor entries, millions | Gflop | analysis ms | factor ms | solve ms | backward error "
      "| "
      "status |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n");
  for (const std::string& name : names) print_row(settings, name);
}
