// SPDX-License-Identifier: BSD-3-Clause
// ILU(0) and IC(0) on the GPU, compared with cuSPARSE's csrilu02, csric02 and SpSV.
//   bench_incomplete_gpu [--only] [--large] [MATRIX.mtx[.gz] ...]
// prints a Markdown table, in double, for grids (larger ones with --large, none with --only) and the given
// matrices. Analyses and factorisations are medians of 5 wall-clock times that include waiting for the GPU;
// the first analysis is not counted. An application is both triangular solves: median of 15 measurements,
// each the mean of enough calls to last a millisecond. "Same bits" compares with one core of the host.
#include "cusparse_factors.cuh"
#include "solver/implementation.hpp"
#include "support/measure.cuh"

#include <echelon/echelon.hpp>

#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace ec = echelon;

namespace {

/// Milliseconds of f and the GPU's work for it: median of 5 after one warm-up.
template <class F>
double milliseconds(F f) {
  f();
  std::vector<double> times;
  for (int run = 0; run < 5; ++run) {
    ec::check(cudaStreamSynchronize(ec::stream()));
    const auto start = std::chrono::steady_clock::now();
    f();
    ec::check(cudaStreamSynchronize(ec::stream()));
    times.push_back(1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return ec::bench::median(std::move(times));
}

struct Times {
  double analysis = 0;
  double factorization = 0;
  double application = 0;
  bool same_bits = false;
  std::string outcome;
};

ec::Dense<double> right_hand_side(std::int64_t rows) {
  ec::Dense<double> b(ec::Device(), rows, 1);
  for (std::int64_t i = 0; i < rows; ++i) b[i] = static_cast<double>(1 + i % 17) / 17;
  return b;
}

ec::Dense<double> apply_once(ec::SolverImplementation<double>& method, const ec::Dense<double>& b) {
  const ec::Dense<double> r = b.to(method.device());
  ec::Dense<double> z(method.device(), b.rows(), 1);
  method.apply(*method.make_workspace(), {r.data(), r.rows()}, {z.data(), z.rows()});
  return z.to(ec::Device());
}

Times measure(const char* name, const ec::Csr<double>& host, const ec::Csr<double>& A) {
  const auto on_host = ec::make_solver<double>(name, ec::Device::serial());
  const auto on_gpu = ec::make_solver<double>(name, ec::Device::cuda());
  auto& host_method = ec::SolverAccess<double>::implementation(on_host);
  auto& method = ec::SolverAccess<double>::implementation(on_gpu);
  Times times;
  const ec::Outcome expected = host_method.setup(host);
  const ec::Outcome outcome = method.setup(A);
  times.same_bits = outcome.message == expected.message;
  times.outcome = outcome.ok() ? "" : outcome.message;
  if (!outcome.ok()) return times;
  for (const ec::Statistic& statistic : outcome.statistics) times.outcome += to_string(statistic) + " ";
  const ec::Dense<double> b = right_hand_side(host.rows());
  const ec::Dense<double> z = apply_once(host_method, b);
  times.same_bits =
      std::memcmp(apply_once(method, b).data(), z.data(), static_cast<std::size_t>(b.rows()) * 8) == 0;
  times.analysis = milliseconds([&] { method.analyze(A); });
  times.factorization = milliseconds([&] { method.update_values(A); });
  const ec::Dense<double> r = b.to(A.device());
  ec::Dense<double> result(A.device(), b.rows(), 1);
  const auto workspace = method.make_workspace();
  times.application = 1e3 * ec::bench::gpu_seconds([&] {
                        method.apply(*workspace, {r.data(), r.rows()}, {result.data(), result.rows()});
                      });
  return times;
}

struct PeerTimes {
  Times lu;
  Times cholesky;
  double solve_analysis = 0;
};

PeerTimes measure_cusparse(const ec::Csr<double>& host, const ec::Csr<double>& A) {
  ec::bench::CusparseFactors factors(host, A);
  PeerTimes times;
  times.cholesky.analysis = milliseconds([&] { factors.analyze_cholesky(); });
  times.cholesky.factorization = milliseconds([&] { factors.factor_cholesky(); });
  times.lu.analysis = milliseconds([&] { factors.analyze_lu(); });
  times.lu.factorization = milliseconds([&] { factors.factor_lu(); });
  ec::Dense<double> b = right_hand_side(host.rows()).to(A.device());
  ec::Dense<double> x(A.device(), host.rows(), 1);
  ec::bench::CusparseTriangle lower(factors, CUSPARSE_FILL_MODE_LOWER, CUSPARSE_DIAG_TYPE_UNIT, b.data(),
                                    x.data());
  ec::bench::CusparseTriangle upper(factors, CUSPARSE_FILL_MODE_UPPER, CUSPARSE_DIAG_TYPE_NON_UNIT, x.data(),
                                    b.data());
  times.solve_analysis = milliseconds([&] {
    lower.analyze();
    upper.analyze();
  });
  times.lu.application = 1e3 * ec::bench::gpu_seconds([&] {
                           lower.solve();
                           upper.solve();
                         });
  return times;
}

void run(const std::string& name, const ec::Csr<double>& host) {
  const ec::Csr<double> A = host.to(ec::Device::cuda());
  const std::int64_t levels = ec::analyze_dependencies<double>(host).forward.levels;
  const Times lu = measure("ilu0", host, A);
  const Times cholesky = measure("ic0", host, A);
  const PeerTimes peer = measure_cusparse(host, A);
  std::printf(
      "| %s | %lld | %lld | %lld | %.2f | %.2f | %.3f | %.2f | %.2f | %.3f | %.2f | %.2f | %.2f | %.2f | "
      "%.2f | %.3f | %.2f | %.2f | %s | %s%s |\n",
      name.c_str(), static_cast<long long>(host.rows()), static_cast<long long>(host.nonzeros()),
      static_cast<long long>(levels), lu.analysis, lu.factorization, lu.application, cholesky.analysis,
      cholesky.factorization, cholesky.application, peer.lu.analysis, peer.lu.factorization,
      peer.cholesky.analysis, peer.cholesky.factorization, peer.solve_analysis, peer.lu.application,
      peer.lu.factorization / lu.factorization, peer.lu.application / lu.application,
      lu.same_bits && cholesky.same_bits ? "yes" : "NO", lu.outcome.c_str(), cholesky.outcome.c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  bool grids = true;
  bool large = false;
  std::vector<std::string> files;
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    if (word == "--only") {
      grids = false;
    } else if (word == "--large") {
      large = true;
    } else {
      files.push_back(word);
    }
  }
  std::printf("%s\n\n", hardware(ec::Device::cuda()).c_str());
  std::printf(
      "| matrix | rows | nonzeros | levels | ilu0 analysis ms | ilu0 factor ms | ilu0 apply ms | ic0 "
      "analysis "
      "ms | ic0 factor ms | ic0 apply ms | csrilu02 analysis ms | csrilu02 factor ms | csric02 analysis ms | "
      "csric02 factor ms | SpSV analyses ms | SpSV apply ms | csrilu02 / ilu0 | SpSV / apply | same bits | "
      "outcome |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  if (grids) {
    const std::int64_t plane = large ? 2048 : 512;
    const std::int64_t cube = large ? 200 : 64;
    const std::int64_t dense_cube = large ? 96 : 40;
    run("5-point " + std::to_string(plane) + "^2", ec::generate::poisson_2d<double>(plane, plane));
    run("7-point " + std::to_string(cube) + "^3", ec::generate::poisson_3d<double>(cube, cube, cube));
    run("27-point " + std::to_string(dense_cube) + "^3",
        ec::generate::poisson_3d<double>(dense_cube, dense_cube, dense_cube, 27));
  }
  for (const std::string& file : files) {
    const auto A = ec::read_matrix_market<double>(file);
    if (A.rows() == A.columns() && A.rows() > 0) run(std::filesystem::path(file).stem().string(), A);
  }
}
