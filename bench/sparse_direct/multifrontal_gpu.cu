// SPDX-License-Identifier: BSD-3-Clause
// Times the multifrontal factorisation and its solves on a GPU: model problems that any sparse direct solver
// is measured with. Columns: analysis on the host, first and repeated factorisation, solve of one right-hand
// side, and the normwise backward error without refinement.
//
//   bench_multifrontal_gpu [--ordering auto|amd|dissection|metis] [--threads N] [PROBLEM...]
//
// A problem is grid2:N, grid3:N, convection2:N or convection3:N.
#include "backend/cuda/cuda.cuh"
#include "sparse_direct/multifrontal/device_factorization.hpp"
#include "sparse_direct/pattern/pattern.hpp"
#include "support/arguments.hpp"

#include <echelon/matrix/csr.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace echelon;
using namespace echelon::sparse_direct;

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct HostCsr {
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::int32_t> columns;
  std::vector<double> values;
  [[nodiscard]] std::int64_t rows() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
};

/// 5-point or 7-point operator on a grid, with first-order upwind convection of the given strength.
HostCsr grid_operator(int nx, int ny, int nz, double wind) {
  HostCsr a;
  const int n = nx * ny * nz;
  for (int i = 0; i < n; ++i) {
    const int x = i % nx;
    const int y = i / nx % ny;
    const int z = i / nx / ny;
    const auto put = [&](int j, double value) {
      a.columns.push_back(j);
      a.values.push_back(value);
    };
    if (z > 0) put(i - nx * ny, -1 - wind);
    if (y > 0) put(i - nx, -1 - wind);
    if (x > 0) put(i - 1, -1 - wind);
    put(i, (nz > 1 ? 6 : 4) + 3 * wind);
    if (x < nx - 1) put(i + 1, -1);
    if (y < ny - 1) put(i + nx, -1);
    if (z < nz - 1) put(i + nx * ny, -1);
    a.offsets.push_back(static_cast<std::int64_t>(a.columns.size()));
  }
  return a;
}

double backward_error(const HostCsr& a, const std::vector<double>& b, const std::vector<double>& x) {
  double residual = 0;
  double norm_a = 0;
  double norm_b = 0;
  double norm_x = 0;
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    const auto row = static_cast<std::size_t>(i);
    double r = b[row];
    double sum = 0;
    for (std::int64_t e = a.offsets[row]; e < a.offsets[row + 1]; ++e) {
      const auto k = static_cast<std::size_t>(e);
      r -= a.values[k] * x[static_cast<std::size_t>(a.columns[k])];
      sum += std::abs(a.values[k]);
    }
    if (!(std::abs(r) <= residual)) residual = std::abs(r);
    norm_a = std::max(norm_a, sum);
    norm_b = std::max(norm_b, std::abs(b[row]));
    norm_x = std::max(norm_x, std::abs(x[row]));
  }
  return residual / (norm_a * norm_x + norm_b);
}

void measure(const std::string& name, const HostCsr& a, bool symmetric,
             const OrderingOptions& ordering_options) {
  const Device device = Device::cuda();
  const std::int64_t n = a.rows();
  double start = seconds();
  const SymbolicFactor symbolic =
      analyze_symmetric(Pattern{n, a.offsets, a.columns}, {.ordering = ordering_options});
  const double ordering = seconds() - start;
  start = seconds();
  DeviceFactorization<double> factorization(device, symmetric ? FactorKind::cholesky : FactorKind::lu,
                                            symbolic);
  const auto levels = static_cast<std::size_t>(factorization.levels());
  factorization.allocate(a.offsets, a.columns);
  const Array<std::int64_t> offsets(device, a.offsets);
  const Array<std::int32_t> columns(device, a.columns);
  const Array<double> values(device, a.values);
  check(cudaDeviceSynchronize());
  const double planning = seconds() - start;

  start = seconds();
  const DeviceElements<double> elements{offsets.data(), columns.data(), values.data()};
  FactorResult result = factorization.factor(elements);
  const double first = seconds() - start;
  double again = 1e30;
  for (int k = 0; k < 3; ++k) {
    start = seconds();
    result = factorization.factor(elements);
    check(cudaDeviceSynchronize());
    again = std::min(again, seconds() - start);
  }
  std::vector<double> b(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) b[static_cast<std::size_t>(i)] = 1 + static_cast<double>(i % 7);
  const Array<double> right(device, b);
  Array<double> x(device, n);
  Array<double> workspace(device, factorization.workspace_size(1));
  double solve = 1e30;
  for (int k = 0; k < 4; ++k) {
    check(cudaDeviceSynchronize());
    start = seconds();
    factorization.solve(false, 1, right.data(), n, x.data(), n, workspace.data());
    check(cudaDeviceSynchronize());
    solve = std::min(solve, seconds() - start);
  }
  std::printf("| %-16s | %8ld | %6.0f | %5zu | %7.0f | %6.0f | %8.2f | %8.2f | %7.2f | %.1e | %.0f | %s |\n",
              name.c_str(), static_cast<long>(n), static_cast<double>(symbolic.stored_entries) / 1e6, levels,
              ordering * 1e3, planning * 1e3, first * 1e3, again * 1e3, solve * 1e3,
              backward_error(a, b, x.to_vector()), factorization.facts().largest_multiplier,
              result.end == FactorEnd::no_pivot ? "FAILED PIVOT" : "");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  bench::Arguments arguments(argc, argv, "[--ordering auto|amd|dissection|metis] [--threads N] [PROBLEM]...");
  const auto asked = arguments.option("--ordering", std::string("auto"));
  std::optional<Ordering> ordering;
  for (const Ordering candidate :
       {Ordering::automatic, Ordering::amd, Ordering::dissection, Ordering::metis}) {
    if (to_string(candidate) == asked) ordering = candidate;
  }
  if (!ordering) arguments.refuse("no ordering '" + asked + "'");
  const int threads = arguments.option("--threads", Device::openmp().threads());
  std::vector<std::string> problems = arguments.positionals("PROBLEM");
  if (problems.empty()) problems = {"grid2:1000", "grid3:64", "convection3:64"};
  std::printf(
      "| problem | n | L M | levels | ordering ms | plan ms | first ms | again ms | solve ms | backward "
      "error | "
      "largest multiplier | |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const std::string& problem : problems) {
    const std::size_t colon = problem.find(':');
    const int size = colon == std::string::npos ? 0 : std::atoi(problem.c_str() + colon + 1);
    const std::string kind = problem.substr(0, colon);
    if (size < 1 || (kind != "grid2" && kind != "grid3" && kind != "convection2" && kind != "convection3")) {
      arguments.refuse("no problem '" + problem + "'");
    }
    const bool symmetric = kind.starts_with("grid");
    measure(problem, grid_operator(size, size, kind.ends_with("3") ? size : 1, symmetric ? 0 : 0.5),
            symmetric, {.ordering = *ordering, .threads = threads, .for_gpu = true});
  }
}
