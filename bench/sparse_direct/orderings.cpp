// SPDX-License-Identifier: BSD-3-Clause
// Time and predicted factor of the orderings that reduce fill.
//   bench_orderings [--threads N] [--runs N] [SIDE^2|SIDE^3|FILE]...
// prints a table in Markdown for 5-point Laplacians on SIDE^2 points, 7-point Laplacians on SIDE^3 points,
// and square matrices in files (default: 400^2 40^3). Columns: the entries of L for METIS, times of AMD,
// METIS, and the library's dissection on one thread and on N (default: 2), and the flops of a Cholesky
// factorisation by AMD and by dissection, divided by those by METIS. Times are medians of RUNS (default: 3).
#include "sparse_direct/ordering/ordering.hpp"
#include "sparse_direct/pattern/pattern.hpp"
#include "sparse_direct/symbolic/elimination_tree.hpp"
#include "support/arguments.hpp"
#include "support/measure.hpp"

#include <echelon/generate.hpp>
#include <echelon/io/files.hpp>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace ec = echelon;

namespace {

ec::Csr<double> matrix_of(const std::string& name) {
  if (name.ends_with("^2")) return ec::generate::poisson_2d<double>(std::stoi(name), std::stoi(name));
  if (name.ends_with("^3")) {
    const int side = std::stoi(name);
    return ec::generate::poisson_3d<double>(side, side, side);
  }
  return ec::to_csr<double>(ec::read_matrix<double>(name));
}

struct Measured {
  double seconds;
  double flops;
  std::int64_t entries;
};

Measured measured(const ec::sparse_direct::Pattern& a, ec::Ordering ordering, int threads, int runs) {
  std::vector<std::int32_t> order;
  const double seconds = ec::bench::median_seconds(
      runs, [&] { order = ec::sparse_direct::order(a, {.ordering = ordering, .threads = threads}); });
  const auto forest = ec::sparse_direct::elimination_forest(a, order);
  return {seconds, forest.flops, forest.factor_entries};
}

void print_row(const std::string& name, int threads, int runs) {
  const ec::sparse_direct::PatternStorage pattern = ec::sparse_direct::symmetrized_pattern(matrix_of(name));
  const ec::sparse_direct::Pattern a = pattern.view();
  const Measured amd = measured(a, ec::Ordering::amd, 1, runs);
  const Measured metis = measured(a, ec::Ordering::metis, 1, runs);
  const Measured one = measured(a, ec::Ordering::dissection, 1, runs);
  const Measured all = measured(a, ec::Ordering::dissection, threads, runs);
  std::printf("| %s | %.3g | %.2f | %.2g | %.3f | %.3f | %.3f | %.3f | %.2f | %.2f |\n",
              std::filesystem::path(name).filename().c_str(), static_cast<double>(a.n),
              static_cast<double>(metis.entries) / 1e6, metis.flops, amd.seconds, metis.seconds, one.seconds,
              all.seconds, amd.flops / metis.flops, one.flops / metis.flops);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[--threads N] [--runs N] [SIDE^2|SIDE^3|FILE]...");
  const int threads = arguments.option("--threads", 2);
  const int runs = arguments.option("--runs", 3);
  std::vector<std::string> names = arguments.positionals("matrix");
  arguments.finish();
  if (names.empty()) names = {"400^2", "40^3"};
  std::printf(
      "| matrix | n | entries of L, METIS, millions | flops, METIS | AMD s | METIS s | dissection s, 1 "
      "thread | "
      "%d threads | flops, AMD / METIS | flops, dissection / METIS |\n|%s\n",
      threads, " --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
  for (const std::string& name : names) print_row(name, threads, runs);
}
