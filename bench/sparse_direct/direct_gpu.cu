// SPDX-License-Identifier: BSD-3-Clause
// Times the sparse direct methods on a GPU, as a user calls them: the set-up of a new solver (matching,
// scaling and ordering, on the host, and the factorisation), a factorisation of new values with the same
// pattern, and a solve with its residual check and refinement. Each is the wall time until the GPU has
// finished, minima of 2, 5 and 5. The analysis, a part of the set-up, is measured alone where the method has
// it. The factorisations of new values are measured after 40 others. Condition numbers are not estimated in
// these; the last column is a factorisation of new values with default options, whose condition follows from
// the pivots.
//
//   bench_direct_gpu [--device NAME] [--ordering NAME] METHOD:FILE.mtx[.gz]...
//
// prints a table in Markdown. METHOD: sparse-cholesky, sparse-ldlt, sparse-lu or banded-lu.
#include "backend/cuda/check.cuh"
#include "support/arguments.hpp"

#include <echelon/echelon.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using namespace echelon;

template <class F>
double milliseconds(F f) {
  check(cudaDeviceSynchronize());
  const auto start = std::chrono::steady_clock::now();
  f();
  check(cudaDeviceSynchronize());
  return 1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The shortest of five factorisations of new values, after as many that a better order has been looked for.
double milliseconds_of_update(Solver<double>& solver, const Csr<double>& A) {
  for (int k = 0; k < 40; ++k) solver.update_values(A);
  double shortest = 1e30;
  for (int k = 0; k < 5; ++k) shortest = std::min(shortest, milliseconds([&] { solver.update_values(A); }));
  return shortest;
}

void measure(const std::string& method, const std::string& file, const Device& device,
             const std::string& ordering) {
  const auto host = read_matrix_market<double>(file);
  const Csr<double> A = host.to(device);
  Dense<double> ones(Device(), A.rows(), 1);
  for (std::int64_t i = 0; i < A.rows(); ++i) ones[i] = 1;
  Dense<double> b(Device(), A.rows(), 1);
  multiply<double>(1, host, ones, 0, b);
  const Dense<double> rhs = b.to(device);
  Dense<double> x(device, A.rows(), 1);
  const auto make_with = [&](Options options) {
    if (!ordering.empty()) options.set("ordering", ordering);
    return make_solver<double>(method, device, options);
  };
  const auto make = [&] { return make_with({{"condition", "false"}}); };
  Solver<double> solver = make();
  double analysis = 1e30;
  double setup = 1e30;
  for (int k = 0; k < 2; ++k) {
    solver = make();
    analysis = std::min(analysis, milliseconds([&] { solver.analyze(A); }));
    solver = make();
    setup = std::min(setup, milliseconds([&] { solver.setup(A); }));
  }
  const double again = milliseconds_of_update(solver, A);
  Report report;
  double solve = 1e30;
  for (int k = 0; k < 5; ++k)
    solve = std::min(solve, milliseconds([&] { report = solver.solve(rhs, x, {.measure_error = false}); }));
  const Statistic* const levels = report.find_statistic("levels");
  Solver<double> with_condition = make_with({});
  with_condition.setup(A);
  const double updated = milliseconds_of_update(with_condition, A);
  std::printf("| %s | %s | %lld | %lld | %s | %.1f | %.2f | %.2f | %.2f | %.1e | %s | %.2f |\n",
              std::filesystem::path(file).stem().string().c_str(), method.c_str(),
              static_cast<long long>(A.rows()), static_cast<long long>(A.nonzeros()),
              levels == nullptr ? "" : to_string(*levels).c_str(), analysis, setup, again, solve,
              report.backward_error, to_string(report.status).data(), updated);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv, "[--device NAME] [--ordering NAME] METHOD:FILE.mtx[.gz]...");
  const Device device = Device::parse(arguments.option("--device", std::string("cuda")));
  const std::string ordering = arguments.option("--ordering", std::string());
  std::printf(
      "| matrix | method | n | nonzeros | levels | analysis ms | set-up ms | again ms | solve ms | "
      "backward error | status | again, default ms |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const std::string& word : arguments.positionals("METHOD:FILE")) {
    const std::size_t colon = word.find(':');
    if (colon == std::string::npos) arguments.refuse("'" + word + "' is not METHOD:FILE");
    try {
      measure(word.substr(0, colon), word.substr(colon + 1), device, ordering);
    } catch (const std::exception& error) {
      std::printf("| %s | %s |\n", word.c_str(), error.what());
    }
  }
}
