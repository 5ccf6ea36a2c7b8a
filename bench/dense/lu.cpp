// SPDX-License-Identifier: BSD-3-Clause
// How long does the factorisation of `lu` take on the host, compared with OpenBLAS's getrf and with that of
// another library, and how long do set-up and solve take, compared with `lapack-lu`?
//   bench_lu [--threads N] [--runs N] [--float] [--peer LIBRARY] [N]...
// Uniform random matrices; each the least of several runs in turn. LIBRARY: a shared library with LAPACK's
// interface, such as MKL's libmkl_rt.so, which takes its number of threads from the environment.
#include "backend/host/host.hpp"
#include "dense/lu/factorization.hpp"
#include "support/arguments.hpp"

#include <echelon/echelon.hpp>

#include <dlfcn.h>
#include <fmt/format.h>
#include <lapacke.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace ec = echelon;

namespace {

template <class T>
using Getrf = void (*)(const int* m, const int* n, T* a, const int* leading, int* pivots, int* info);

template <class T>
Getrf<T> getrf_of(void* library) {
  if (library == nullptr) return nullptr;
  return reinterpret_cast<Getrf<T>>(dlsym(library, std::is_same_v<T, double> ? "dgetrf_" : "sgetrf_"));
}

template <class T>
ec::Dense<T> uniform(std::int64_t n) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> value(-1, 1);
  ec::Dense<T> A(ec::Device(), n, n);
  for (std::int64_t e = 0; e < n * n; ++e) A[e] = static_cast<T>(value(random));
  return A;
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Least seconds of each factorisation of A, in turn.
template <class T>
std::vector<double> factorization_seconds(const ec::Dense<T>& A, const ec::Device& device, void* peer,
                                          int runs) {
  const int n = static_cast<int>(A.rows());
  ec::Dense<T> work = A;
  std::vector<int> pivots(static_cast<std::size_t>(n));
  std::vector<std::int64_t> wide_pivots(static_cast<std::size_t>(n));
  ec::Host backend(device);
  ec::lu::FactorWorkspace<ec::Host, T> workspace(device);
  int info = 0;
  std::vector<std::function<void()>> forms = {
      [&] {
        if constexpr (std::is_same_v<T, double>) {
          LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, n, n, work.data(), n, pivots.data());
        } else {
          LAPACKE_sgetrf_work(LAPACK_COL_MAJOR, n, n, work.data(), n, pivots.data());
        }
      },
      [&] { ec::lu::factor<T>(backend, workspace, work.view(), wide_pivots.data(), {}); }};
  if (const Getrf<T> getrf = getrf_of<T>(peer); getrf != nullptr) {
    forms.emplace_back([&, getrf] { getrf(&n, &n, work.data(), &n, pivots.data(), &info); });
  }
  std::vector<double> least(forms.size(), std::numeric_limits<double>::infinity());
  for (int run = 0; run <= runs; ++run) {  // the first warms up
    for (std::size_t f = 0; f < forms.size(); ++f) {
      std::copy_n(A.data(), A.rows() * A.columns(), work.data());
      const double seconds = seconds_of(forms[f]);
      if (run > 0) least[f] = std::min(least[f], seconds);
    }
  }
  return least;
}

struct MethodSeconds {
  double setup = std::numeric_limits<double>::infinity();
  double solve = std::numeric_limits<double>::infinity();
};

template <class T>
std::vector<MethodSeconds> method_seconds(const ec::Dense<T>& A, const ec::Device& device, int runs) {
  const ec::Dense<T> b = uniform<T>(A.rows());
  const ec::DenseView<const T> right(b.data(), A.rows(), 1, A.rows());
  ec::Dense<T> x(ec::Device(), A.rows(), 1);
  std::vector<MethodSeconds> least(2);
  for (int run = 0; run <= runs; ++run) {
    for (std::size_t m = 0; m < 2; ++m) {
      auto solver = ec::make_solver<T>(m == 0 ? "lapack-lu" : "lu", device);
      const ec::Report setup = solver.setup(A);
      const ec::Report report = solver.solve(right, x, {.measure_error = false});
      if (run == 0) continue;
      least[m].setup = std::min(least[m].setup, setup.setup_seconds);
      least[m].solve = std::min(least[m].solve, report.solve_seconds);
    }
  }
  return least;
}

template <class T>
void measure(std::int64_t n, const ec::Device& device, void* peer, int runs) {
  const ec::Dense<T> A = uniform<T>(n);
  const std::vector<double> factor = factorization_seconds(A, device, peer, runs);
  const std::vector<MethodSeconds> methods = method_seconds(A, device, runs);
  const auto size = static_cast<double>(n);
  fmt::print(
      "| {} | {:.3g} | {:.2f} | {} | {:.0f} | {:.3g} | {:.2f} | {:.3g} | {:.2f} |\n", n, 1e3 * factor[0],
      factor[1] / factor[0], factor.size() > 2 ? fmt::format("{:.2f}", factor[2] / factor[0]) : "",
      2e-9 / 3 * size * size * size / factor[1], 1e3 * methods[0].setup, methods[1].setup / methods[0].setup,
      1e3 * methods[0].solve, methods[1].solve / methods[0].solve);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[--threads N] [--runs N] [--float] [--peer LIBRARY] [N]...");
  const int threads = arguments.option("--threads", 1);
  const int runs = arguments.option("--runs", 7);
  const bool in_float = arguments.flag("--float");
  const auto library = arguments.option<std::string>("--peer", "");
  std::vector<int> sizes = arguments.positionals<int>("N");
  arguments.finish();
  if (sizes.empty()) sizes = {500, 1000, 2000, 4000};
  void* const peer = library.empty() ? nullptr : dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library.empty() && peer == nullptr) fmt::print(stderr, "{}\n", dlerror());
  omp_set_num_threads(threads);
  fmt::print(
      "| n | OpenBLAS ms | `lu` | peer | `lu` Gflop/s | `lapack-lu` set-up ms | `lu` | solve ms | `lu` |\n"
      "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  for (const int n : sizes) {
    if (in_float) {
      measure<float>(n, ec::Device::openmp(threads), peer, runs);
    } else {
      measure<double>(n, ec::Device::openmp(threads), peer, runs);
    }
  }
  return 0;
}
