// SPDX-License-Identifier: BSD-3-Clause
// The experiments of S. Kumar's report on multigrid, and the size from which a GPU is quicker.
//   bench_multigrid_study [--plot FILE.svg] [--rows N] [--sweeps N]
//   bench_multigrid_study --sizes [--runs N] [--largest N]
// The first prints, and draws, the residual after each cycle for symmetric positive definite matrices of N
// (2000) rows, dense and with a density of 0.05, in float as in the report and in double, compared with
// Jacobi sweeps without a coarse level: 20 sweeps count as a cycle. The second prints milliseconds of set-up
// and solve on the host and, where there is one, on the GPU, medians of N (3) runs, and from which size on
// the GPU is quicker; for the matrices of the report in float, compared with its serial cycle.
#include "multigrid/published_cycle.hpp"
#include "support/arguments.hpp"
#include "support/log_plot.hpp"
#include "support/measure.hpp"
#include "support/stopwatch.hpp"

#include <echelon/echelon.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

namespace ec = echelon;

namespace {

constexpr std::int64_t sweeps_of_the_report = 10;  // before, and after, each coarse correction

/// A random matrix, positive definite by dominance.
template <class T>
ec::Matrix<T> random_matrix(bool dense, std::int64_t rows) {
  const ec::Csr<T> A = ec::generate::random_spd<T>(rows, dense ? 1.0 : 0.05);
  if (dense) return ec::to_dense(ec::MatrixRef<T>(A));
  return A;
}

/// Relative residuals after 0, 1, ... cycles.
template <class T>
std::vector<double> history(const std::string& method, const ec::Options& options, const ec::Matrix<T>& A) {
  const ec::MatrixRef<T> matrix(A);
  const std::vector<T> ones(static_cast<std::size_t>(matrix.rows()), T{1});
  ec::Dense<T> b(ec::Device(), matrix.rows(), 1);
  ec::Dense<T> x(ec::Device(), matrix.rows(), 1);
  ec::multiply<T>(1, matrix, ec::DenseView<const T>(ones), 0, b);
  ec::Solver<T> solver = ec::make_solver<T>(method, ec::Device::serial(), options);
  if (!solver.setup(matrix).ready()) return {};
  return solver.solve(b, x).history;
}

/// Every 2 `sweeps` iterations of Jacobi's method as one.
std::vector<double> thinned(const std::vector<double>& residuals, std::int64_t sweeps) {
  std::vector<double> result;
  for (std::size_t k = 0; k < residuals.size(); k += static_cast<std::size_t>(2 * sweeps))
    result.push_back(residuals[k]);
  return result;
}

template <class T>
void add_curves(bool dense, std::int64_t rows, std::int64_t sweeps, const std::string& precision,
                ec::bench::Panel& panel) {
  const ec::Matrix<T> A = random_matrix<T>(dense, rows);
  const double rtol = sizeof(T) == 4 ? 1e-6 : 1e-13;
  const std::string method = dense ? "multigrid-dense" : "multigrid";
  panel.curves.push_back(
      {"multigrid, " + precision, history<T>(method, {{"sweeps", sweeps}, {"rtol", rtol}}, A)});
  panel.curves.push_back(
      {"Jacobi alone, " + precision,
       thinned(history<T>("jacobi", {{"weight", 2.0 / 3}, {"rtol", rtol}, {"max_iterations", 400}}, A),
               sweeps)});
}

void print_panel(const ec::bench::Panel& panel) {
  std::printf("\n%s\n\n| cycle |", panel.title.c_str());
  for (const auto& curve : panel.curves) std::printf(" %s |", curve.name.c_str());
  std::printf("\n| ---: |");
  for (std::size_t c = 0; c < panel.curves.size(); ++c) std::printf(" ---: |");
  for (std::size_t k = 0; k < panel.x.size(); ++k) {
    std::printf("\n| %.0f |", panel.x[k]);
    for (const auto& curve : panel.curves) {
      std::isfinite(curve.values[k]) ? std::printf(" %.1e |", curve.values[k]) : std::printf(" |");
    }
  }
  std::printf("\n");
}

void run_residuals(std::int64_t rows, std::int64_t sweeps, const std::string& plot) {
  ec::bench::LogPlot picture("Residual after each multigrid cycle", "cycle", "relative residual");
  for (const bool dense : {true, false}) {
    ec::bench::Panel panel{
        fmt::format("{} matrix of {} rows", dense ? "dense" : "sparse (density 0.05)", rows), {}, {}};
    add_curves<float>(dense, rows, sweeps, "float", panel);
    add_curves<double>(dense, rows, sweeps, "double", panel);
    std::size_t longest = 0;
    for (const auto& curve : panel.curves) longest = std::max(longest, curve.values.size());
    for (auto& curve : panel.curves) {
      curve.values.resize(longest, std::numeric_limits<double>::quiet_NaN());
      curve.values.erase(curve.values.begin());  // before the first cycle
    }
    for (std::size_t k = 1; k < longest; ++k) panel.x.push_back(static_cast<double>(k));
    print_panel(panel);
    picture.add(std::move(panel));
  }
  if (!plot.empty()) std::ofstream(plot) << picture.svg();
}

struct Time {
  double setup = 0;
  double solve = 0;
  std::int64_t iterations = 0;
};

/// Median milliseconds, and whether the solve converged.
template <class T>
Time measure(const std::string& method, const ec::Options& options, const ec::Matrix<T>& A,
             const ec::Device& device, std::int64_t runs) {
  const ec::Matrix<T> moved =
      std::visit([&](const auto& matrix) -> ec::Matrix<T> { return matrix.to(device); }, A);
  const ec::MatrixRef<T> matrix(moved);
  const std::vector<T> ones(static_cast<std::size_t>(matrix.rows()), T{1});
  const ec::Dense<T> b(device, ones);
  ec::Dense<T> x(device, matrix.rows(), 1);
  ec::Solver<T> solver = ec::make_solver<T>(method, device, options);
  std::vector<double> setups;
  std::vector<double> solves;
  Time time;
  for (std::int64_t run = 0; run <= runs; ++run) {  // the first warms up
    const ec::Stopwatch of_setup;
    if (!solver.setup(matrix).ready()) return time;
    const double setup = 1e3 * of_setup.seconds();
    const ec::Stopwatch of_solve;
    const ec::Report report = solver.solve(b, x);
    if (!report.solved()) return time;
    time.iterations = report.iterations;
    if (run == 0) continue;
    setups.push_back(setup);
    solves.push_back(1e3 * of_solve.seconds());
  }
  time.setup = ec::bench::median(setups);
  time.solve = ec::bench::median(solves);
  return time;
}

/// Milliseconds of `cycles` cycles as published, on one core.
template <class T>
double published_milliseconds(const ec::Matrix<T>& A, std::int64_t cycles) {
  const ec::MatrixRef<T> matrix(A);
  const std::int64_t n = matrix.rows();
  const std::vector<T> b(static_cast<std::size_t>(n), T{1});
  std::vector<T> x(b.size());
  const auto run = [&](const auto& given) {
    const ec::Stopwatch stopwatch;
    for (std::int64_t cycle = 0; cycle < cycles; ++cycle)
      ec::bench::multigrid_as_published(given, b, x, static_cast<int>(sweeps_of_the_report));
    return 1e3 * stopwatch.seconds();
  };
  if (matrix.is_sparse()) return run(*matrix.csr());
  ec::bench::RowMajorMatrix<T> dense{n, {}};
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) dense.elements.push_back(matrix.dense()(i, j));
  }
  return run(dense);
}

struct Series {
  std::string name;
  std::string method;
  ec::Options options;
  std::string generator;  ///< empty for a dense random matrix
  std::vector<std::int64_t> sizes;
};

template <class T>
ec::Matrix<T> matrix_of(const Series& series, std::int64_t rows) {
  if (series.generator.empty()) return random_matrix<T>(true, rows);
  if (series.generator == "random-spd") return random_matrix<T>(false, rows);
  return ec::make_matrix<T>(series.generator, ec::find_generator(series.generator).for_rows(rows));
}

/// Rows of the table. `published`: with the serial cycle of the report.
template <class T>
void print_series(const Series& series, std::int64_t largest, std::int64_t runs, bool gpu, bool published) {
  std::int64_t wins = 0;
  for (const std::int64_t size : series.sizes) {
    if (size > largest) break;
    const ec::Matrix<T> A = matrix_of<T>(series, size);
    const auto rows = static_cast<long long>(ec::MatrixRef<T>(A).rows());
    const Time host = measure(series.method, series.options, A, ec::Device::openmp(), runs);
    std::printf("| %s | %lld | %lld |", series.name.c_str(), rows, static_cast<long long>(host.iterations));
    if (published) {
      std::printf(" %.2f |", published_milliseconds(A, host.iterations));
    } else {
      std::printf(" |");
    }
    std::printf(" %.2f | %.2f |", host.setup, host.solve);
    if (!gpu) {
      std::printf(" | | |\n");
      continue;
    }
    const Time cuda = measure(series.method, series.options, A, ec::Device::cuda(), runs);
    const double ratio = (host.setup + host.solve) / (cuda.setup + cuda.solve);
    if (ratio < 1) wins = 0;
    if (ratio >= 1 && wins == 0) wins = rows;
    std::printf(" %.2f | %.2f | %.2f |\n", cuda.setup, cuda.solve, ratio);
    std::fflush(stdout);
  }
  if (gpu && wins > 0)
    std::printf("| %s | the GPU is quicker from %lld rows on | | | | | | | |\n", series.name.c_str(),
                static_cast<long long>(wins));
}

void run_sizes(std::int64_t largest, std::int64_t runs) {
  const bool gpu = ec::cuda_built() && ec::cuda_device_count() > 0;
  const ec::Options with_sweeps = {{"sweeps", sweeps_of_the_report}, {"rtol", 1e-6}};
  std::printf(
      "| problem | rows | iterations | published serial cycles ms | host set-up ms | host solve ms | GPU "
      "set-up "
      "ms | GPU solve ms | host / GPU |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  const std::vector<std::int64_t> few = {250, 500, 1000, 2000, 4000, 8000};
  const std::vector<std::int64_t> many = {1000, 4000, 16000, 64000, 250000, 1000000};
  for (const Series& series :
       {Series{"multigrid-dense, float", "multigrid-dense", with_sweeps, "", few},
        Series{"multigrid, float, density 0.05", "multigrid", with_sweeps, "random-spd", few}})
    print_series<float>(series, largest, runs, gpu, true);
  for (const Series& series :
       {Series{"geometric-multigrid, poisson-2d", "geometric-multigrid", {}, "poisson-2d", many},
        Series{"cg with amg, poisson-3d", "cg", {{"preconditioner", "amg"}}, "poisson-3d", many}})
    print_series<double>(series, largest, runs, gpu, false);
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(
      argc, argv, "[--plot FILE.svg] [--rows N] [--sweeps N] | --sizes [--runs N] [--largest N]");
  const bool sizes = arguments.flag("--sizes");
  const auto plot = arguments.option<std::string>("--plot", "");
  const auto rows = arguments.option<std::int64_t>("--rows", 2000);
  const auto sweeps = arguments.option<std::int64_t>("--sweeps", sweeps_of_the_report);
  const auto runs = arguments.option<std::int64_t>("--runs", 3);
  const auto largest = arguments.option<std::int64_t>("--largest", 1'000'000);
  arguments.finish();
  if (sizes) {
    run_sizes(largest, runs);
  } else {
    run_residuals(rows, sweeps, plot);
  }
}
