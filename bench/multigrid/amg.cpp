// SPDX-License-Identifier: BSD-3-Clause
// Conjugate gradients, or another method, preconditioned by amg.
//   bench_amg [--device NAME] [--method NAME] [--runs N] [--columns N] [--options A=B,C=D/E=F...]
//   PROBLEM:ROWS[:KEY=VALUE]...
// PROBLEM is a generator's name or poisson-27, the 27-point stencil. Sets of options of amg are separated by
// slashes. Prints a Markdown table: for each problem and set the milliseconds of set-up, solve and
// update_values, medians of N runs (3), to a relative residual of 1e-8 for a random solution, or for so many
// of them at once; iterations, levels, operator complexity, and megabytes after set-up and after an update.
// Milliseconds are processor time on serial, where other work on the machine is not counted, and time elapsed
// elsewhere.
#include "support/arguments.hpp"
#include "support/measure.hpp"

#include <echelon/echelon.hpp>

#include <cstdio>
#include <ctime>
#include <random>
#include <string>
#include <variant>
#include <vector>

namespace ec = echelon;

namespace {

using ec::bench::split;

double milliseconds(bool processor) {
  std::timespec time{};
  clock_gettime(processor ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

void set_options(ec::Options& options, const std::string& prefix, const std::vector<std::string>& pairs) {
  for (const std::string& pair : pairs) {
    const std::size_t equal = pair.find('=');
    if (equal != std::string::npos) options.set(prefix + pair.substr(0, equal), pair.substr(equal + 1));
  }
}

/// A problem by its name, rows and options.
ec::Csr<double> make_problem(const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  const bool full_stencil = parts[0] == "poisson-27";
  const ec::Generator& generator = ec::find_generator(full_stencil ? "poisson-3d" : parts[0]);
  ec::Options options = generator.for_rows(std::stoll(parts.at(1)));
  set_options(options, "", {parts.begin() + 2, parts.end()});
  if (full_stencil) options.set("points", 27);
  return std::get<ec::Csr<double>>(ec::make_matrix<double>(generator.name, options));
}

struct Settings {
  ec::Device device;
  std::string method;
  std::int64_t runs = 3;
  std::int64_t columns = 1;
};

std::string value_of(const ec::Report& report, const char* name) {
  const ec::Statistic* statistic = report.find_statistic(name);
  if (statistic == nullptr) return "";
  const std::string text = to_string(*statistic);
  return text.substr(text.find(' ') + 1);
}

void print_row(const Settings& settings, const std::string& problem, const ec::Csr<double>& A,
               const std::string& set) {
  ec::Options options{{"preconditioner", "amg"}};
  set_options(options, "preconditioner.", split(set, ','));
  const bool alone = settings.method == "amg";
  if (alone) {
    options = {};
    set_options(options, "", split(set, ','));
  }
  ec::Solver<double> solver = ec::make_solver<double>(settings.method, settings.device, options);
  ec::Dense<double> exact(ec::Device(), A.rows(), settings.columns);
  std::mt19937_64 random(1);
  for (std::int64_t k = 0; k < A.rows() * settings.columns; ++k) {
    exact.data()[k] = std::uniform_real_distribution<double>(-1, 1)(random);
  }
  const ec::Csr<double> matrix = A.to(settings.device);
  const ec::Dense<double> solution = exact.to(settings.device);
  ec::Dense<double> b(settings.device, A.rows(), settings.columns);
  ec::Dense<double> x(settings.device, A.rows(), settings.columns);
  ec::multiply<double>(1, matrix, solution, 0, b);
  const bool processor = settings.device == ec::Device::serial();
  std::vector<double> setups;
  std::vector<double> solves;
  std::vector<double> updates;
  ec::Report setup;
  ec::Report report;
  for (std::int64_t run = 0; run < settings.runs; ++run) {
    double start = milliseconds(processor);
    setup = solver.setup(matrix);
    setups.push_back(milliseconds(processor) - start);
    if (!setup.ready()) break;
    start = milliseconds(processor);
    report = solver.solve(b, x);
    solves.push_back(milliseconds(processor) - start);
  }
  const double setup_megabytes = static_cast<double>(solver.bytes()) / 1e6;
  for (std::int64_t run = 0; run < settings.runs && setup.ready(); ++run) {
    const double start = milliseconds(processor);
    setup = solver.update_values(matrix);
    updates.push_back(milliseconds(processor) - start);
  }
  const std::string prefix = alone ? "" : "preconditioner.";
  const std::string outcome = report.status == ec::Status::converged ? std::to_string(report.iterations)
                                                                     : std::string(to_string(report.status));
  std::printf(
      "| %s | %s | %lld | %lld | %.1f | %.1f | %s | %.1f | %s | %s | %.0f | %.0f | %s |\n", problem.c_str(),
      set.c_str(), static_cast<long long>(A.rows()), static_cast<long long>(A.nonzeros()),
      ec::bench::median(setups), solves.empty() ? 0 : ec::bench::median(solves), outcome.c_str(),
      updates.empty() ? 0 : ec::bench::median(updates), value_of(setup, (prefix + "levels").c_str()).c_str(),
      value_of(setup, (prefix + "operator_complexity").c_str()).c_str(), setup_megabytes,
      static_cast<double>(solver.bytes()) / 1e6, value_of(setup, (prefix + "level_rows").c_str()).c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv,
                                 "[--device NAME] [--method NAME] [--runs N] [--columns N] [--options SETS] "
                                 "PROBLEM:ROWS[:KEY=VALUE]...");
  Settings settings;
  settings.device = ec::Device::parse(arguments.option<std::string>("--device", "serial"));
  settings.method = arguments.option<std::string>("--method", "cg");
  settings.runs = arguments.option<std::int64_t>("--runs", 3);
  settings.columns = arguments.option<std::int64_t>("--columns", 1);
  const std::vector<std::string> sets = split(arguments.option<std::string>("--options", ""), '/');
  const std::vector<std::string> problems = arguments.positionals("problem");
  arguments.finish();
  std::printf(
      "| problem | options | rows | nonzeros | set-up ms | solve ms | iterations | update ms | levels | "
      "operator complexity | MB | MB with update | level rows "
      "|\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|\n");
  for (const std::string& problem : problems) {
    const ec::Csr<double> A = make_problem(problem);
    for (const std::string& set : sets) print_row(settings, problem, A, set);
  }
}
