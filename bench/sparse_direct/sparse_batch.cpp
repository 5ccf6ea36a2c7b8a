// SPDX-License-Identifier: BSD-3-Clause
// Many sparse systems with one pattern: SparseBatchSolver and a loop over update_values and solve of
// sparse-lu.
//   bench_sparse_batch [--device DEVICE] [--runs N] [--singly N] [SYSTEMS:MATRIX]...
// MATRIX is a file, or ROWSxNONZEROS for a random matrix with a dominant diagonal
// (default: 100000:100x500). The elements of each system are those of the matrix times random factors in
// [0.9, 1.1]. Prints a table in Markdown: milliseconds of the first and of a repeated call, systems that were
// solved singly, the largest componentwise backward error, bytes for a system, and for the loop milliseconds
// for all systems, scaled from N systems (default: 100) on the host. Medians of RUNS (default: 5).
#include "support/arguments.hpp"
#include "support/measure.hpp"

#include <echelon/io/files.hpp>
#include <echelon/methods/sparse_batch.hpp>
#include <echelon/solver.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace ec = echelon;

namespace {

ec::Csr<double> random_matrix(std::int64_t n, std::int64_t nonzeros) {
  std::mt19937_64 random(1);
  std::vector<ec::Triplet<double>> entries;
  for (std::int64_t i = 0; i < n; ++i) entries.push_back({static_cast<int>(i), static_cast<int>(i), 8.0});
  for (std::int64_t k = n; k < nonzeros; ++k) {
    const auto place = [&] { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); };
    entries.push_back({place(), place(), std::uniform_real_distribution<double>(-1, 1)(random)});
  }
  return ec::Csr<double>::from_triplets(n, n, entries);
}

ec::Csr<double> matrix_of(const std::string& name) {
  const std::size_t cross = name.find('x');
  if (!std::filesystem::exists(name) && cross != std::string::npos) {
    return random_matrix(std::stol(name), std::stol(name.substr(cross + 1)));
  }
  return ec::to_csr<double>(ec::read_matrix<double>(name));
}

struct Batch {
  ec::Csr<double> pattern;
  std::int64_t count;
  ec::Array<double> values, b, x;

  [[nodiscard]] ec::SparseBatchReport solve(ec::SparseBatchSolver<double>& solver) {
    const std::int64_t n = pattern.rows();
    const ec::Device& device = values.device();
    return solver.solve({values.data(), pattern.nonzeros(), count, pattern.nonzeros(), device},
                        {b.data(), n, 1, count, device}, {x.data(), n, 1, count, device});
  }
};

Batch make_batch(const ec::Csr<double>& A, std::int64_t count, const ec::Device& device) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> factor(0.9, 1.1);
  std::vector<double> values(static_cast<std::size_t>(A.nonzeros() * count));
  for (std::int64_t k = 0; k < static_cast<std::int64_t>(values.size()); ++k) {
    values[static_cast<std::size_t>(k)] = A.values()[k % A.nonzeros()] * factor(random);
  }
  const std::vector<double> b(static_cast<std::size_t>(A.rows() * count), 1.0);
  return {A.to(device), count, {device, values}, {device, b}, {device, A.rows() * count}};
}

/// Seconds for a system by update_values and solve on the host.
double seconds_singly(const ec::Csr<double>& A, std::int64_t systems) {
  const Batch batch = make_batch(A, systems, ec::Device());
  auto solver = ec::make_solver<double>("sparse-lu", ec::Device::serial());
  solver.setup(A);
  std::vector<double> x(static_cast<std::size_t>(A.rows()));
  const std::span<const double> values(batch.values.data(), static_cast<std::size_t>(batch.values.size()));
  const std::span<const double> b(batch.b.data(), x.size());
  const double seconds = ec::bench::median_seconds(3, [&] {
    for (std::int64_t s = 0; s < systems; ++s) {
      solver.update_values(
          values.subspan(static_cast<std::size_t>(s * A.nonzeros()), static_cast<std::size_t>(A.nonzeros())));
      static_cast<void>(solver.solve(b, ec::DenseView<double>(std::span<double>(x))));
    }
  });
  return seconds / static_cast<double>(systems);
}

void print_row(const std::string& argument, const ec::Device& device, int runs, std::int64_t singly) {
  const std::size_t colon = argument.find(':');
  const std::int64_t count = std::stol(argument);
  const std::string name = argument.substr(colon + 1);
  const ec::Csr<double> A = matrix_of(name);
  Batch batch = make_batch(A, count, device);
  ec::SparseBatchSolver<double> solver(batch.pattern);
  ec::SparseBatchReport report;
  const double first = ec::bench::median_seconds(1, [&] {
    solver = ec::SparseBatchSolver<double>(batch.pattern);
    report = batch.solve(solver);
  });
  const double again = ec::bench::median_seconds(runs, [&] { report = batch.solve(solver); });
  const double largest = *std::max_element(report.backward_errors.begin(), report.backward_errors.end());
  std::printf("| %s | %ld | %ld | %ld | %.2f | %.2f | %ld | %ld | %.1e | %zu | %.1f |\n",
              std::filesystem::path(name).filename().c_str(), static_cast<long>(count),
              static_cast<long>(A.rows()), static_cast<long>(A.nonzeros()), 1e3 * first, 1e3 * again,
              static_cast<long>(report.parts), static_cast<long>(report.solved_singly), largest,
              solver.bytes_per_system(),
              1e3 * seconds_singly(A, std::min(singly, count)) * static_cast<double>(count));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[--device DEVICE] [--runs N] [--singly N] [SYSTEMS:MATRIX]...");
  const ec::Device device = ec::Device::parse(arguments.option<std::string>("--device", "openmp"));
  const int runs = arguments.option("--runs", 5);
  const std::int64_t singly = arguments.option("--singly", 100);
  std::vector<std::string> batches = arguments.positionals("SYSTEMS:MATRIX");
  if (batches.empty()) batches = {"100000:100x500"};
  std::printf(
      "| matrix | systems | rows | nonzeros | first ms | again ms | parts | singly | backward error | "
      "bytes | sparse-lu one by one ms |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (const std::string& batch : batches) print_row(batch, device, runs, singly);
}
