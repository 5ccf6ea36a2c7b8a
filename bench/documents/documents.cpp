// SPDX-License-Identifier: BSD-3-Clause
/// Experiments of the five documents whose methods the library has, as tables, for scripts/reproduce. Others
/// are programs of their own: bench_linalg, bench_multigrid_study, bench_crout_study, bench_bddc.
#include "support/arguments.hpp"
#include "support/document_matrices.hpp"
#include "support/measure.hpp"
#include "support/published_loops.hpp"
#include "support/stopwatch.hpp"

#include <echelon/echelon.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace {

namespace ec = echelon;
namespace generate = ec::generate;

struct Settings {
  ec::Device device;
  double limit = 1;  ///< seconds beyond which a plain loop is left out, as predicted from the size before
  std::int64_t largest = 0;
  int runs = 3;
};

void print_row(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + cell + " |";
  std::puts(line.c_str());
  std::fflush(stdout);
}

void print_heading(const std::vector<std::string>& names) {
  print_row(names);
  print_row(std::vector<std::string>(names.size(), "---"));
}

std::string seconds_text(double seconds) {
  return fmt::format("{:.4g}", seconds);
}

/// Plain loops by size: the time of f, or "-" where the cube (or another power) of the size predicts more
/// than the limit.
class PlainLoop {
 public:
  PlainLoop(double limit, double power) : limit_(limit), power_(power) {}
  template <class F>
  std::string seconds(std::int64_t n, const F& f) {
    if (size_ > 0) {
      const double growth = std::pow(static_cast<double>(n) / static_cast<double>(size_), power_);
      if (seconds_ * growth > limit_) return "-";
    }
    const ec::Stopwatch stopwatch;
    f();
    seconds_ = stopwatch.seconds();
    size_ = n;
    return seconds_text(seconds_);
  }

 private:
  double limit_;
  double power_;
  std::int64_t size_ = 0;
  double seconds_ = 0;
};

/// Uniform from 1 to 1000, as published; with `dominance` times n on the diagonal.
template <class T>
ec::Dense<T> uniform_matrix(std::int64_t n, double dominance) {
  const ec::Dense<T> random = generate::random_dense<T>(n, n);
  ec::Dense<T> A(ec::Device(), n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i)
      A(i, j) = static_cast<T>(500.5 + 499.5 * random(i, j)) +
                static_cast<T>(i == j ? dominance * static_cast<double>(n) : 0);
  }
  return A;
}

/// The elements row by row, as the document stores them.
template <class T>
std::vector<T> row_major(const ec::Dense<T>& A) {
  std::vector<T> elements;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t j = 0; j < A.columns(); ++j) elements.push_back(A(i, j));
  }
  return elements;
}

/// Seconds of a set-up and a solve by a method for an n by n matrix stored by rows, with the conversion of
/// the order where the method has the other one, and the outcome if A x = b is not solved.
template <class T>
std::string solve_seconds(const std::string& method, const Settings& settings, const std::vector<T>& elements,
                          std::int64_t n, const ec::Options& options = {}) {
  ec::Dense<T> b(ec::Device(), n, 1);
  std::fill_n(b.data(), n, T{1});
  const ec::Array<T> on_device(settings.device, std::span<const T>(elements));
  const ec::DenseView<const T> placed(on_device.data(), n, n, n, settings.device, ec::Layout::row_major);
  const ec::Dense<T> right = b.to(settings.device);
  ec::Dense<T> x(settings.device, n, 1);
  ec::Solver<T> solver = ec::make_solver<T>(method, settings.device, options);
  std::string outcome;
  const double seconds = ec::bench::median_seconds(settings.runs, [&] {
    const ec::Report ready = solver.setup(placed);
    if (!ready.ready()) {
      outcome = to_string(ready.status);
      return;
    }
    const ec::Report report = solver.solve(right.view(), x.view(), {.measure_error = false});
    outcome = report.solved() ? "" : to_string(report.status);
  });
  return seconds_text(seconds) + (outcome.empty() ? "" : " (" + outcome + ")");
}

/// Seconds of the vendor's LU: LAPACK on the host, cuSOLVER on a GPU; OpenCL has none.
template <class T>
std::string vendor_seconds(const Settings& settings, const std::vector<T>& elements, std::int64_t n) {
  if (settings.device.kind() == ec::DeviceKind::opencl) return "-";
  return solve_seconds(settings.device.on_host() ? "lapack-lu" : "cusolver-lu", settings, elements, n);
}

template <class T>
void print_elimination(const Settings& settings, const std::string& precision, bool dominant) {
  PlainLoop loop(settings.limit, 3);
  for (const std::int64_t n : {100, 250, 500, 1000, 2000, 4000}) {
    if (n > settings.largest) break;
    const std::vector<T> elements = row_major(uniform_matrix<T>(n, dominant ? 1000 : 0));
    std::vector<T> eliminated = elements;
    print_row({fmt::format("{}", n), precision,
               loop.seconds(n, [&] { ec::bench::eliminate_as_published(eliminated, n); }),
               solve_seconds("gauss-jordan-striped", settings, elements, n, {{"second_pass", "published"}}),
               solve_seconds("gauss-jordan-striped", settings, elements, n),
               solve_seconds("gauss-jordan", settings, elements, n), vendor_seconds(settings, elements, n)});
  }
}

/// 000: figures 8 to 11. Seconds of the published loop on one core, of the striped scheme, of the blocked
/// elimination with pivoting, and of the vendor's LU.
void eliminate(const Settings& settings) {
  const std::vector<std::string> names = {
      "n",         "precision", "published loop s", "striped as published s",
      "striped s", "blocked s", "vendor's LU s"};
  print_heading(names);
  print_elimination<double>(settings, "double", true);
  print_elimination<float>(settings, "float", true);
  std::puts("\nThe published data, uniform from 1 to 1000, which needs pivoting:\n");
  print_heading(names);
  Settings few = settings;
  few.largest = std::min<std::int64_t>(settings.largest, 500);
  print_elimination<double>(few, "double", false);
  print_elimination<float>(few, "float", false);
}

/// Largest relative difference of x in float from x in double.
double largest_error(const std::vector<float>& x, const std::vector<double>& exact) {
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(x[i]) - exact[i]) / std::abs(exact[i]));
  return largest;
}

/// One sweep of the published loop from x = 1.
template <class T>
std::vector<T> published_sweep(const ec::Csr<T>& A, int runs, double& seconds) {
  std::vector<T> diagonal;
  for (std::int64_t i = 0; i < A.rows(); ++i) diagonal.push_back(A.values()[A.row_offsets()[i + 1] - 1]);
  std::vector<T> x;
  seconds = ec::bench::median_seconds(runs, [&] {
    x.assign(diagonal.size(), T{1});
    ec::bench::sweep_as_published(A, diagonal.data(), x.data(), x.data());
  });
  return x;
}

/// Seconds of one sweep of a method, and the statistic "launches" over all sweeps.
double sweep_seconds(const std::string& method, ec::Options options, const Settings& settings,
                     const ec::Csr<float>& A, double& launches) {
  constexpr int sweeps = 8;
  const ec::Csr<float> placed = A.to(settings.device);
  options.set("max_iterations", sweeps);
  options.set("residual_every", sweeps + 1);
  options.set("rtol", 0.0);
  ec::Solver<float> solver = ec::make_solver<float>(method, settings.device, options);
  if (!solver.setup(placed).ready()) return std::nan("");
  ec::Dense<float> ones(ec::Device(), A.rows(), 1);
  std::fill_n(ones.data(), ones.rows(), 1.0F);
  const ec::Dense<float> b = ones.to(settings.device);
  ec::Dense<float> x(settings.device, A.rows(), 1);
  const double seconds = ec::bench::median_seconds(settings.runs, [&] {
    const ec::Report report = solver.solve(b.view(), x.view());
    const ec::Statistic* const all = report.find_statistic("launches");
    const ec::Statistic* const of = report.find_statistic("sweeps");
    if (all != nullptr && of != nullptr)
      launches = static_cast<double>(std::get<std::int64_t>(all->value)) /
                 static_cast<double>(std::get<std::int64_t>(of->value));
  });
  return seconds / sweeps;
}

/// 001: the matrix, figures 1 and 2.
void sweep(const Settings& settings) {
  const std::int64_t rows = settings.largest;
  const ec::Csr<float> A = generate::published_triangle<float>(rows);
  const ec::Dependencies found = ec::analyze_dependencies<float>(A).forward;
  double loop = 0;
  double in_double = 0;
  const std::vector<float> x = published_sweep(A, settings.runs, loop);
  const std::vector<double> exact = published_sweep(generate::published_triangle<double>(rows), 1, in_double);
  double launches = std::nan("");
  double none = 0;
  const double relaunch = sweep_seconds("gauss-seidel-relaunch", {}, settings, A, launches);
  const double one_pass = sweep_seconds("gauss-seidel-relaunch", {{"row_passes", 1}}, settings, A, none);
  const double ours = sweep_seconds("gauss-seidel", {}, settings, A, none);
  const auto row = [](const std::string& name, const std::string& document, const std::string& here) {
    print_row({name, document, here});
  };
  print_heading({"quantity", "document", "here"});
  row("rows", "51813503", fmt::format("{}", A.rows()));
  row("nonzeros a row", "1.9988",
      fmt::format("{:.4f}", static_cast<double>(A.nonzeros()) / static_cast<double>(A.rows())));
  row("levels", "91", fmt::format("{}", found.levels));
  row("dependencies of a row (most)", "36", fmt::format("{}", found.most));
  row("share of the rows in the largest level", "0.3453",
      fmt::format("{:.4f}", static_cast<double>(found.largest_level) / static_cast<double>(A.rows())));
  row("rows in the smallest level", "1", fmt::format("{}", found.smallest_level));
  row("launches of a forward sweep (most)", "91", fmt::format("{}", found.launches));
  row("launches of a forward sweep (mean)", "64.11",
      std::isnan(launches) ? "-" : fmt::format("{:.2f}", launches));
  row("serial loop on one core s", "1.678473", seconds_text(loop));
  row("relaunched sweep, one pass over a row s", "0.021549", seconds_text(one_pass));
  row("loop over relaunched sweep", "77.89", seconds_text(loop / one_pass));
  row("relaunched sweep, flags before the sum s", "", seconds_text(relaunch));
  row("gauss-seidel in one launch s", "never ended", seconds_text(ours));
  row("memory of A, b and x GB", "at most 4 (the card's)",
      fmt::format("{:.3g}", 1e-9 * static_cast<double>(A.bytes() + 2 * x.size() * sizeof(float))));
  row("largest relative error in float", "0.001491", fmt::format("{:.3g}", largest_error(x, exact)));
}

std::string count_text(const ec::Report& report, const char* name) {
  const ec::Statistic* const found = report.find_statistic(name);
  return found == nullptr ? "-" : ec::to_string(*found).substr(std::string(name).size() + 1);
}

/// 003: rounds and reductions of bands, blocks and dense matrices, in natural order and in slices.
void map_rows(const Settings& settings) {
  print_heading({"matrix", "order", "rounds", "reductions", "levels", "local slices", "set-up s"});
  for (const auto& [name, A] : ec::bench::document_matrices(settings.largest)) {
    const ec::Csr<double> placed = A.to(settings.device);
    for (const char* order : {"natural", "slices"}) {
      ec::Solver<double> solver =
          ec::make_solver<double>("mapped-echelon", settings.device, {{"order", order}});
      ec::Report report;
      const double seconds = ec::bench::median_seconds(settings.runs, [&] { report = solver.setup(placed); });
      print_row({name, order, count_text(report, "rounds"), count_text(report, "reductions"),
                 count_text(report, "levels"), count_text(report, "local_slices"), seconds_text(seconds)});
    }
  }
}

/// 004, figure 5.1: Gaussian elimination without pivoting in float.
void gauss(const Settings& settings) {
  PlainLoop loop(settings.limit, 3);
  print_heading({"n", "plain loop s", "striped s", "lu s"});
  for (const std::int64_t n : {500, 1000, 1500, 2000, 2500, 3000, 3500, 4000}) {
    if (n > settings.largest) break;
    const std::vector<float> elements = row_major(uniform_matrix<float>(n, 1000));
    std::vector<float> eliminated = elements;
    std::vector<float> b(static_cast<std::size_t>(n), 1.0F);
    print_row({fmt::format("{}", n), loop.seconds(n, [&] { ec::bench::solve_by_elimination(eliminated, b); }),
               solve_seconds("gauss-jordan-striped", settings, elements, n),
               solve_seconds("lu", settings, elements, n)});
  }
}

/// 004, figure 6.1: Jacobi's iteration in float, 10 sweeps.
void jacobi(const Settings& settings) {
  constexpr int sweeps = 10;
  PlainLoop loop(settings.limit, 2);
  print_heading({"n", "plain loop s", "jacobi s"});
  for (const std::int64_t n : {1000, 2000, 3000, 4000, 5000}) {
    if (n > settings.largest) break;
    const ec::Dense<float> A = uniform_matrix<float>(n, 1000);
    const std::vector<float> elements = row_major(A);
    const std::vector<float> b(static_cast<std::size_t>(n), 1.0F);
    std::vector<float> x(b.size());
    const ec::Dense<float> placed = A.to(settings.device);
    ec::Dense<float> ones(ec::Device(), n, 1);
    std::fill_n(ones.data(), n, 1.0F);
    const ec::Dense<float> right = ones.to(settings.device);
    ec::Dense<float> result(settings.device, n, 1);
    ec::Solver<float> solver =
        ec::make_solver<float>("jacobi", settings.device, {{"max_iterations", sweeps}, {"rtol", 0.0}});
    solver.setup(placed);
    const double ours = ec::bench::median_seconds(
        settings.runs, [&] { static_cast<void>(solver.solve(right.view(), result.view())); });
    print_row({fmt::format("{}", n),
               loop.seconds(n, [&] { ec::bench::jacobi_as_published(elements, b, x, sweeps); }),
               seconds_text(ours)});
  }
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(
      argc, argv,
      "eliminate|sweep|map|gauss|jacobi [--device DEVICE] [--largest N] [--limit SECONDS] [--runs N]");
  Settings settings;
  settings.device = ec::Device::parse(arguments.option<std::string>("--device", "openmp"));
  settings.limit = arguments.option("--limit", settings.limit);
  settings.largest = arguments.option("--largest", std::int64_t{1000});
  settings.runs = arguments.option("--runs", settings.runs);
  const std::map<std::string, void (*)(const Settings&)> experiments = {
      {"eliminate", eliminate}, {"sweep", sweep}, {"map", map_rows}, {"gauss", gauss}, {"jacobi", jacobi}};
  const auto found = experiments.find(arguments.positional("EXPERIMENT", std::string()));
  arguments.finish();
  if (found == experiments.end()) {
    std::fputs("bench_documents: name an experiment, see --help\n", stderr);
    return 2;
  }
  found->second(settings);
}
