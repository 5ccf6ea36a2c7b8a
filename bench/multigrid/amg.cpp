// SPDX-License-Identifier: BSD-3-Clause
// Conjugate gradients, or another method, preconditioned by amg.
//   bench_amg [--device NAME] [--method NAME] [--runs N] [--columns N] [--options A=B,C=D/E=F...]
//   PROBLEM:ROWS[:KEY=VALUE]...
// PROBLEM is a generator's name or poisson-27, the 27-point stencil. Sets of options of amg are separated by
// slashes. Prints a Markdown table: for each problem and set the milliseconds of set-up, solve and
// update_values, medians of N runs (3), to a relative residual of 1e-8 for a random solution, or for N of
// them at once (--columns); iterations, levels, operator complexity, and megabytes after set-up and after an
// update; and the megabytes that a set-up and an iteration move at least, see setup_bytes() and
// iteration_bytes(). Milliseconds are processor time on serial, where other work on the machine is not
// counted, and time elapsed elsewhere.
#include "matrix/row_blocks.hpp"
#include "support/arguments.hpp"
#include "support/measure.hpp"

#include <echelon/echelon.hpp>

#include <cstdio>
#include <random>
#include <string>
#include <variant>
#include <vector>

namespace ec = echelon;

namespace {

using ec::bench::Clock;
using ec::bench::milliseconds;
using ec::bench::split;

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

/// Bytes of a vector in double and in float, and of a nonzero with its column.
constexpr double wide = 8;
constexpr double narrow = 4;
constexpr double wide_nonzero = 12;
constexpr double narrow_nonzero = 8;

/// Bytes that a set-up with cycles in float moves if nothing is read twice by one step, without the product
/// A P and other temporary memory. On each level A is read for the connections, for the weights of P and for
/// the product; P is written and read for P^T and for two products, P^T written and read, the coarse A
/// written; and all are rounded to float.
double setup_bytes(const ec::HierarchyDescription& hierarchy) {
  double bytes = 0;
  for (std::size_t l = 0; l < hierarchy.levels.size(); ++l) {
    const ec::LevelDescription& level = hierarchy.levels[l];
    const auto matrix =
        wide_nonzero * static_cast<double>(level.nonzeros) + wide * static_cast<double>(level.rows);
    const auto transfer = wide_nonzero * static_cast<double>(level.prolongation_nonzeros) +
                          wide * static_cast<double>(level.rows);
    const double rounding =
        (wide + narrow) * static_cast<double>(level.nonzeros + 2 * level.prolongation_nonzeros);
    const bool is_coarsest = l + 1 == hierarchy.levels.size();
    bytes += (l > 0 ? matrix : 0) + (is_coarsest ? 0 : 3 * matrix + 5 * transfer) + rounding;
  }
  return bytes;
}

/// Bytes of a level's matrix that a product reads, with values of `value` bytes. Of a matrix with stencils it
/// reads no columns, and 4 bytes a row in place of the offsets.
double product_bytes(const ec::LevelDescription& level, double value, bool has_stencils) {
  const auto rows = static_cast<double>(level.rows);
  const auto nonzeros = static_cast<double>(level.nonzeros);
  return has_stencils ? value * nonzeros + 4 * rows : (value + 4) * nonzeros + 8 * rows;
}

/// Bytes that an iteration of CG with a V-cycle in float moves if all vectors come from memory: the product
/// with A and the vectors of CG in double (14 vectors read or written, and the residual and the result of the
/// cycle three times in float); on each level a pass over A for each product of the smoother, two with one
/// Jacobi sweep before and one after, four with Chebyshev of degree 2; P and P^T once. `has_stencils` is that
/// of the finest matrix; the coarse ones of amg are irregular.
double iteration_bytes(const ec::HierarchyDescription& hierarchy, bool has_stencils) {
  if (hierarchy.levels.empty()) return 0;
  const ec::LevelDescription& finest = hierarchy.levels.front();
  double bytes =
      product_bytes(finest, wide, has_stencils) + (14 * wide + 3 * narrow) * static_cast<double>(finest.rows);
  for (std::size_t l = 0; l + 1 < hierarchy.levels.size(); ++l) {
    const ec::LevelDescription& level = hierarchy.levels[l];
    const auto rows = static_cast<double>(level.rows);
    const double passes = level.method == "chebyshev" ? 4 : 2;
    bytes += passes * (product_bytes(level, narrow, l == 0 && has_stencils) + 4 * narrow * rows);
    bytes +=
        2 * narrow_nonzero * static_cast<double>(level.prolongation_nonzeros) + (wide + 3 * narrow) * rows;
  }
  return bytes;
}

struct Measurement {
  std::vector<double> setups;  // milliseconds
  std::vector<double> solves;
  std::vector<double> updates;
  ec::Report setup;
  ec::Report solution;
  double setup_megabytes = 0;
  double update_megabytes = 0;
  ec::HierarchyDescription hierarchy;
  bool has_stencils = false;  ///< of A on a GPU, where products do not read its columns
};

/// Sets up, solves for random solutions and updates, several times each; ends after a set-up that fails.
Measurement measure(const Settings& settings, const ec::Csr<double>& A, ec::Solver<double>& solver) {
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
  const Clock clock = settings.device == ec::Device::serial() ? Clock::thread : Clock::wall;
  Measurement m;
  for (std::int64_t run = 0; run < settings.runs; ++run) {
    double start = milliseconds(clock);
    m.setup = solver.setup(matrix);
    m.setups.push_back(milliseconds(clock) - start);
    if (!m.setup.ready()) return m;
    start = milliseconds(clock);
    m.solution = solver.solve(b, x);
    m.solves.push_back(milliseconds(clock) - start);
  }
  m.setup_megabytes = static_cast<double>(solver.bytes()) / 1e6;
  for (std::int64_t run = 0; run < settings.runs && m.setup.ready(); ++run) {
    const double start = milliseconds(clock);
    m.setup = solver.update_values(matrix);
    m.updates.push_back(milliseconds(clock) - start);
  }
  m.update_megabytes = static_cast<double>(solver.bytes()) / 1e6;
  if (m.setup.ready()) m.hierarchy = ec::describe_hierarchy<double>(solver);
  m.has_stencils = !matrix.device().on_host() && ec::CsrAccess::stencils(matrix) != nullptr;
  return m;
}

void print_row(const Settings& settings, const std::string& problem, const ec::Csr<double>& A,
               const std::string& set) {
  const bool alone = settings.method == "amg";
  const std::string prefix = alone ? "" : "preconditioner.";
  ec::Options options;
  if (!alone) options.set("preconditioner", "amg");
  set_options(options, prefix, split(set, ','));
  ec::Solver<double> solver = ec::make_solver<double>(settings.method, settings.device, options);
  const Measurement m = measure(settings, A, solver);
  const auto median = [](const std::vector<double>& times) {
    return times.empty() ? 0 : ec::bench::median(times);
  };
  const std::string outcome = m.solution.status == ec::Status::converged
                                  ? std::to_string(m.solution.iterations)
                                  : std::string(to_string(m.solution.status));
  std::printf(
      "| %s | %s | %lld | %lld | %.1f | %.1f | %s | %.1f | %s | %s | %.0f | %.0f | %.0f | %.1f | %s |\n",
      problem.c_str(), set.c_str(), static_cast<long long>(A.rows()), static_cast<long long>(A.nonzeros()),
      median(m.setups), median(m.solves), outcome.c_str(), median(m.updates),
      value_of(m.setup, (prefix + "levels").c_str()).c_str(),
      value_of(m.setup, (prefix + "operator_complexity").c_str()).c_str(), m.setup_megabytes,
      m.update_megabytes, setup_bytes(m.hierarchy) / 1e6, iteration_bytes(m.hierarchy, m.has_stencils) / 1e6,
      value_of(m.setup, (prefix + "level_rows").c_str()).c_str());
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
      "operator complexity | MB | MB with update | set-up moves MB | iteration moves MB | level rows "
      "|\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|\n");
  for (const std::string& problem : problems) {
    const ec::Csr<double> A = make_problem(problem);
    for (const std::string& set : sets) print_row(settings, problem, A, set);
  }
}
