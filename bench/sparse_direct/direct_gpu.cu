// SPDX-License-Identifier: BSD-3-Clause
// Times the sparse direct methods on a GPU, as a user calls them: analysis (matching, scaling and ordering,
// on the host), factorisation, factorisation of new values with the same pattern, and a solve with its
// residual check and refinement. Each is the wall time until the GPU has finished, the last two minima of 3
// and of 4.
//
//   bench_direct_gpu [--device NAME] METHOD:FILE.mtx[.gz]...
//
// prints a table in Markdown. METHOD: sparse-cholesky, sparse-ldlt, sparse-lu or banded-lu.
#include "backend/cuda/check.cuh"
#include "solver/implementation.hpp"
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

void measure(const std::string& method, const std::string& file, const Device& device) {
  const auto host = read_matrix_market<double>(file);
  const Csr<double> A = host.to(device);
  Dense<double> ones(Device(), A.rows(), 1);
  for (std::int64_t i = 0; i < A.rows(); ++i) ones[i] = 1;
  Dense<double> b(Device(), A.rows(), 1);
  multiply<double>(1, host, ones, 0, b);
  const Dense<double> rhs = b.to(device);
  Dense<double> x(device, A.rows(), 1);
  auto solver = make_solver<double>(method, device, {{"condition", "false"}});
  auto& implementation = SolverAccess<double>::implementation(solver);
  const double analysis = milliseconds([&] { implementation.analyze(A); });
  Outcome outcome;
  const double factor = milliseconds([&] { outcome = implementation.update_values(A); });
  double again = factor;
  for (int k = 0; k < 3; ++k)
    again = std::min(again, milliseconds([&] { outcome = implementation.update_values(A); }));
  solver.setup(A);
  Report report;
  double solve = 1e30;
  for (int k = 0; k < 4; ++k) solve = std::min(solve, milliseconds([&] { report = solver.solve(rhs, x); }));
  std::printf("| %s | %s | %lld | %lld | %.1f | %.2f | %.2f | %.2f | %.1e | %s |\n",
              std::filesystem::path(file).stem().string().c_str(), method.c_str(),
              static_cast<long long>(A.rows()), static_cast<long long>(A.nonzeros()), analysis, factor, again,
              solve, report.backward_error, to_string(report.status).data());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv, "[--device NAME] METHOD:FILE.mtx[.gz]...");
  const Device device = Device::parse(arguments.option("--device", std::string("cuda")));
  std::printf(
      "| matrix | method | n | nonzeros | analysis ms | factor ms | again ms | solve ms | backward error | "
      "status |\n|---|---|---|---|---|---|---|---|---|---|\n");
  for (const std::string& word : arguments.positionals("METHOD:FILE")) {
    const std::size_t colon = word.find(':');
    if (colon == std::string::npos) arguments.refuse("'" + word + "' is not METHOD:FILE");
    try {
      measure(word.substr(0, colon), word.substr(colon + 1), device);
    } catch (const std::exception& error) {
      std::printf("| %s | %s |\n", word.c_str(), error.what());
    }
  }
}
