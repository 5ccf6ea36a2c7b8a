// SPDX-License-Identifier: BSD-3-Clause
// structured-multigrid and cg with amg, or other --methods: bicgstab with amg, for an unsymmetric matrix;
// `stencil` is structured-multigrid for A that is given as a stencil in place of CSR.
//   bench_structured_multigrid [--device NAME] [--runs N] [--methods A,B] PROBLEM:ROWS[:KEY=VALUE]...
// PROBLEM is a generator's name or poisson-27, the 27-point stencil. Prints a Markdown table: for each
// problem and method the milliseconds of set-up, of the detection within it, of update_values and of a solve
// to a relative residual of 1e-8 for a random solution, medians of N runs (3); iterations; megabytes that the
// solver holds, and those of A; and for structured-multigrid the megabytes that an iteration moves at least,
// see iteration_bytes(), and their share of the speed of a copy in the same run. Milliseconds are processor
// time on serial, where other work on the machine is not counted, and time elapsed elsewhere.
#include "support/arguments.hpp"
#include "support/measure.hpp"

#include <echelon/echelon.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <variant>
#include <vector>

namespace ec = echelon;

namespace {

using ec::bench::Clock;
using ec::bench::median;
using ec::bench::milliseconds;
using ec::bench::split;

/// A matrix, and the grid on which its generator has made it.
struct Problem {
  ec::Csr<double> A;
  ec::StencilGrid grid;
};

/// A problem by its name, rows and options.
Problem make_problem(const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  const bool full_stencil = parts[0] == "poisson-27";
  const ec::Generator& generator = ec::find_generator(full_stencil ? "poisson-3d" : parts[0]);
  ec::Options options = generator.for_rows(std::stoll(parts.at(1)));
  for (std::size_t k = 2; k < parts.size(); ++k) {
    const std::size_t equal = parts[k].find('=');
    if (equal != std::string::npos) options.set(parts[k].substr(0, equal), parts[k].substr(equal + 1));
  }
  if (full_stencil) options.set("points", 27);
  Problem problem{std::get<ec::Csr<double>>(ec::make_matrix<double>(generator.name, options)), {}};
  for (const auto& [name, value] : options.entries()) {
    if (name != "nx" && name != "ny" && name != "nz") continue;
    const auto* const points = std::get_if<std::int64_t>(&value.get());
    problem.grid.points.push_back(points != nullptr ? *points
                                                    : std::stoll(std::get<std::string>(value.get())));
  }
  return problem;
}

/// The coefficients of A on its grid, whose axes are not periodic.
ec::Stencil<double> stencil_of(const Problem& problem) {
  const ec::Csr<double>& A = problem.A;
  const std::vector<std::int64_t>& points = problem.grid.points;
  std::map<ec::StencilOffset, std::vector<double>> coefficients;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      ec::StencilOffset offset{};
      std::int64_t row = i;
      std::int64_t column = A.column_indices()[k];
      for (std::size_t a = 0; a < points.size(); ++a) {
        offset.at(a) = static_cast<int>(column % points[a] - row % points[a]);
        row /= points[a];
        column /= points[a];
      }
      std::vector<double>& values = coefficients[offset];
      values.resize(static_cast<std::size_t>(A.rows()));
      values[static_cast<std::size_t>(i)] = A.values()[k];
    }
  }
  std::vector<ec::StencilArray<double>> arrays;
  for (const auto& [offset, values] : coefficients) arrays.push_back({offset, values});
  return ec::Stencil<double>::variable(problem.grid, arrays);
}

double statistic(const ec::Report& report, const char* name) {
  const ec::Statistic* found = report.find_statistic(name);
  const double* const value = found == nullptr ? nullptr : std::get_if<double>(&found->value);
  return value == nullptr ? 0 : *value;
}

/// Bytes that an iteration moves if each array comes from memory once in every loop. In double per row: the
/// recurrence 13 vectors, the product 2 and the coefficients; in float the residual and result of the cycle 3
/// times, and on each level 16 vectors, the transfers' weights twice, and the coefficients in four loops.
double iteration_bytes(const ec::HierarchyDescription& hierarchy, bool constant) {
  const ec::LevelDescription& finest = hierarchy.levels.front();
  const auto rows = static_cast<double>(finest.rows);
  double bytes = (15 * 8 + 3 * 4) * rows;
  if (!constant) bytes += 8 * static_cast<double>(finest.nonzeros);
  for (std::size_t l = 0; l + 1 < hierarchy.levels.size(); ++l) {
    const ec::LevelDescription& level = hierarchy.levels[l];
    bytes += 16 * 4 * static_cast<double>(level.rows);
    if (!constant)
      bytes += 4 * 4 * static_cast<double>(level.nonzeros) + 2 * 3.5 * static_cast<double>(level.rows);
  }
  return bytes;
}

/// Bytes per second of a copy of half a gigabyte.
double copy_speed(const ec::Device& device) {
  constexpr std::int64_t n = std::int64_t{1} << 26;
  const ec::Array<double> from(device, n);
  const double seconds =
      ec::bench::median_seconds(5, [&] { const ec::Array<double> copy = from.to(device); });
  return 16.0 * static_cast<double>(n) / seconds;
}

struct Settings {
  ec::Device device;
  std::int64_t runs = 3;
};

/// The row of a method for A, a matrix or a stencil.
template <class M>
void print_row(const Settings& settings, const std::string& problem, const M& A, const std::string& method,
               double speed) {
  const Clock clock = settings.device == ec::Device::serial() ? Clock::thread : Clock::wall;
  const bool is_given = method == "stencil";
  const bool is_structured = is_given || method == "structured-multigrid";
  ec::Options options;
  if (!is_structured) options.set("preconditioner", "amg");
  ec::Solver<double> solver =
      ec::make_solver<double>(is_given ? "structured-multigrid" : method, settings.device, options);
  ec::Dense<double> exact(ec::Device(), A.rows(), 1);
  std::mt19937_64 random(1);
  for (std::int64_t k = 0; k < A.rows(); ++k) {
    exact.data()[k] = std::uniform_real_distribution<double>(-1, 1)(random);
  }
  const M matrix = A.to(settings.device);
  ec::Dense<double> b(settings.device, A.rows(), 1);
  ec::Dense<double> x(settings.device, A.rows(), 1);
  ec::multiply<double>(1, matrix, exact.to(settings.device), 0, b);
  std::vector<double> setups, updates, solves, detections;
  ec::Report setup;
  ec::Report solution;
  for (std::int64_t run = 0; run <= settings.runs; ++run) {
    double start = milliseconds(clock);
    setup = solver.setup(matrix);
    const double of_setup = milliseconds(clock) - start;
    start = milliseconds(clock);
    static_cast<void>(solver.update_values(matrix));
    const double of_update = milliseconds(clock) - start;
    start = milliseconds(clock);
    solution = solver.solve(b, x);
    if (run == 0) continue;  // to warm up
    setups.push_back(of_setup);
    updates.push_back(of_update);
    solves.push_back(milliseconds(clock) - start);
    detections.push_back(1e3 * statistic(setup, "detection_seconds"));
  }
  const std::string outcome = solution.status == ec::Status::converged
                                  ? std::to_string(solution.iterations)
                                  : std::string(to_string(solution.status));
  const ec::HierarchyDescription hierarchy = ec::describe_hierarchy<double>(solver);
  const bool constant = hierarchy.coarsening.find("constant") != std::string::npos;
  const double bytes = is_structured ? iteration_bytes(hierarchy, constant) : 0;
  const double floor_seconds = bytes * static_cast<double>(solution.iterations) / speed;
  const std::string name = is_given ? "structured-multigrid, stencil given" : method;
  std::printf("| %s | %s | %lld | %.2f | %.2f | %.2f | %.2f | %s | %.0f | %.0f | %.0f | %.2f | %s |\n",
              problem.c_str(), (name + (is_structured ? "" : ", amg")).c_str(),
              static_cast<long long>(A.rows()), median(setups), median(detections), median(updates),
              median(solves), outcome.c_str(), static_cast<double>(solver.bytes()) / 1e6,
              static_cast<double>(A.bytes()) / 1e6, bytes / 1e6, 1e3 * floor_seconds / median(solves),
              hierarchy.coarsening.c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv,
                                 "[--device NAME] [--runs N] [--methods A,B] PROBLEM:ROWS[:KEY=VALUE]...");
  Settings settings;
  settings.device = ec::Device::parse(arguments.option<std::string>("--device", "serial"));
  settings.runs = arguments.option<std::int64_t>("--runs", 3);
  const std::vector<std::string> methods =
      split(arguments.option<std::string>("--methods", "structured-multigrid,stencil,cg"), ',');
  const std::vector<std::string> problems = arguments.positionals("problem");
  arguments.finish();
  const double speed = copy_speed(settings.device);
  std::printf("Copy: %.0f GB/s\n\n", speed / 1e9);
  std::printf(
      "| problem | method | rows | set-up ms | detection ms | update ms | solve ms | iterations | MB | "
      "A MB | iteration moves MB | share of copy speed | coarsening |\n"
      "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|\n");
  for (const std::string& problem : problems) {
    const Problem made = make_problem(problem);
    for (const std::string& method : methods) {
      if (method == "stencil") {
        print_row(settings, problem, stencil_of(made), method, speed);
      } else {
        print_row(settings, problem, made.A, method, speed);
      }
    }
  }
}
