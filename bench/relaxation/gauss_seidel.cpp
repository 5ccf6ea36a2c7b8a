// SPDX-License-Identifier: BSD-3-Clause
// Exact Gauss-Seidel sweeps on the host.
//   bench_gauss_seidel [--rows N] [--side2 N] [--side3 N] [--side27 N] [--runs N] [--single]
// prints Markdown tables for a matrix with the published statistics (N rows) and 5-point, 7-point and
// 27-point Laplacians: the textbook loop (in place, dividing in each row), the published one (with the
// diagonal in a separate vector), Eigen's triangular solve (a part of a sweep: the lower triangle alone),
// hypre's sweep in one process (in double, if hypre is installed), the published relaunch scheme, and
// Echelon's sweeps on one core and on all. --rows 51813503 is the published size and takes 3 GB; --single
// computes in float. All are compiled with the same flags. Times on one core are processor time, those on
// several wall-clock time; medians. The floor is a sweep's bytes at the bandwidth of STREAM's triad on as
// many cores. The last column is the largest error, which must be 0.
#include <echelon/echelon.hpp>

#include <omp.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#ifdef ECHELON_BENCH_WITH_EIGEN
#include <Eigen/SparseCore>
#endif

#ifdef ECHELON_BENCH_WITH_HYPRE
#include "hypre_sweep.hpp"
#endif

#include "backend/host/host.hpp"
#include "plain_sweep.hpp"
#include "studies/gauss_seidel_relaunch/relaunch.hpp"
#include "support/arguments.hpp"
#include "support/measure.hpp"
#include "support/published_loops.hpp"

namespace ec = echelon;

namespace {

struct Sizes {
  std::int64_t rows = 4'000'000;
  std::int64_t side2 = 1024;
  std::int64_t side3 = 128;
  std::int64_t side27 = 80;
  int runs = 9;
  bool single = false;
};

using ec::bench::Clock;

/// Processor time of this thread for f in seconds, which excludes other programs.
template <class F>
double median_processor_seconds(int runs, F f) {
  f();
  std::vector<double> seconds;
  for (int run = 0; run < runs; ++run) {
    const double start = ec::bench::seconds(Clock::thread);
    f();
    seconds.push_back(ec::bench::seconds(Clock::thread) - start);
  }
  return ec::bench::median(std::move(seconds));
}

template <class T>
double largest_difference(const std::vector<T>& x, const std::vector<T>& y) {
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::memcmp(&x[i], &y[i], sizeof(T)) == 0) continue;
    worst = std::max(worst, std::abs(double(x[i]) - double(y[i])) / std::abs(double(y[i])));
  }
  return worst;
}

#ifdef ECHELON_BENCH_WITH_EIGEN
template <class T>
double eigen_seconds(const ec::Csr<T>& A, const std::vector<T>& b, int runs) {
  using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
  std::vector<int> offsets(A.row_offsets().span().begin(), A.row_offsets().span().end());
  const Eigen::Map<const Eigen::SparseMatrix<T, Eigen::RowMajor, int>> matrix(
      A.rows(), A.columns(), A.nonzeros(), offsets.data(), A.column_indices().data(), A.values().data());
  const Eigen::Map<const Vector> right(b.data(), A.rows());
  Vector x(A.rows());
  return median_processor_seconds(runs, [&] {
    x = right;
    matrix.template triangularView<Eigen::Lower>().solveInPlace(x);
  });
}
#endif

/// Measures hypre's sweep; NaN without hypre, and in float, which hypre lacks.
template <class T>
double hypre_seconds([[maybe_unused]] const ec::Csr<T>& A, [[maybe_unused]] const std::vector<T>& b,
                     [[maybe_unused]] const std::vector<T>& expected, [[maybe_unused]] int runs) {
#ifdef ECHELON_BENCH_WITH_HYPRE
  if constexpr (std::is_same_v<T, double>) {
    ec::bench::HypreSweep hypre(A, b);
    if (const double error = largest_difference(hypre.after_one_sweep(), expected); error > 1e-9)
      std::fprintf(stderr, "hypre's sweep differs by %g\n", error);
    return median_processor_seconds(runs, [&] { hypre.forward(); });
  }
#endif
  return std::numeric_limits<double>::quiet_NaN();
}

template <class T>
double sweep_bytes(const ec::Csr<T>& A) {
  constexpr double element = sizeof(T);
  return static_cast<double>(A.nonzeros()) * (4 + element) +
         static_cast<double>(A.rows()) * (8 + 3 * element);
}

/// Returns x after one sweep that starts with all elements 1, and measures many sweeps.
template <class T>
std::vector<T> our_sweeps(const ec::Device& device, const ec::Csr<T>& A, const std::vector<T>& b,
                          ec::SweepKind kind, int runs, double& seconds) {
  ec::GaussSeidelSweep<T> sweeper(device);
  std::vector<T> x(b.size(), T{1});
  const auto sweep = [&] { sweeper.sweep(A, b, x, {.kind = kind}); };
  seconds = device.kind() == ec::DeviceKind::serial ? median_processor_seconds(runs, sweep)
                                                    : ec::bench::median_seconds(runs, sweep);
  std::fill(x.begin(), x.end(), T{1});
  sweep();
  return x;
}

void print_head() {
  std::printf(
      "| matrix | type | rows | nonzeros | levels | floor ms | plain ms | published ms | Eigen ms | hypre ms "
      "| "
      "serial "
      "ms | "
      "backward ms | plain / serial | hypre / serial | openmp ms | serial / openmp | openmp / floor | "
      "relaunch ms | launches "
      "| "
      "largest error |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
}

template <class T>
void compare(const char* name, const ec::Csr<T>& A, int runs, double bandwidth) {
  const auto n = static_cast<std::size_t>(A.rows());
  std::vector<T> b(n);
  std::vector<T> diagonal(n);
  for (std::size_t i = 0; i < n; ++i) b[i] = static_cast<T>(1 + i % 17) / T{17};
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      if (A.column_indices()[k] == i) diagonal[static_cast<std::size_t>(i)] = A.values()[k];
    }
  }
  std::vector<T> x(n, T{1});
  const double plain = median_processor_seconds(runs, [&] { ec::bench::plain_sweep(A, b.data(), x.data()); });
  const double published = median_processor_seconds(
      runs, [&] { ec::bench::sweep_as_published(A, diagonal.data(), b.data(), x.data()); });
  double serial = 0;
  double backward = 0;
  double openmp = 0;
  const auto expected = our_sweeps(ec::Device::serial(), A, b, ec::SweepKind::forward, runs, serial);
  our_sweeps(ec::Device::serial(), A, b, ec::SweepKind::backward, runs, backward);
  const auto got = our_sweeps(ec::Device::openmp(), A, b, ec::SweepKind::forward, runs, openmp);
  double error = largest_difference(got, expected);

  ec::Host backend(ec::Device::openmp());
  ec::gauss_seidel::RelaunchWorkspace<T> scratch(backend.device(), A.rows());
  std::fill(x.begin(), x.end(), T{1});
  const auto start = std::chrono::steady_clock::now();
  const std::int64_t launches = relaunch_sweep(backend, A, nullptr, b.data(), x.data(), scratch);
  const double relaunch = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  error = std::max(error, largest_difference(x, expected));

  const double floor = sweep_bytes(A) / bandwidth;
  std::printf("| %s | %s | %lld | %lld | %lld | %.1f | %.1f | %.1f |", name,
              sizeof(T) == 8 ? "double" : "float", static_cast<long long>(A.rows()),
              static_cast<long long>(A.nonzeros()),
              static_cast<long long>(ec::analyze_dependencies<T>(A).forward.levels), 1e3 * floor, 1e3 * plain,
              1e3 * published);
#ifdef ECHELON_BENCH_WITH_EIGEN
  std::printf(" %.1f |", 1e3 * eigen_seconds(A, b, runs));
#else
  std::printf(" - |");
#endif
  const double hypre = hypre_seconds(A, b, expected, runs);
  std::printf(" %.1f | %.1f | %.1f | %.2f | %.2f | %.1f | %.2f | %.2f | %.1f | %lld | %g |\n", 1e3 * hypre,
              1e3 * serial, 1e3 * backward, plain / serial, hypre / serial, 1e3 * openmp, serial / openmp,
              openmp / floor, 1e3 * relaunch, static_cast<long long>(launches), error);
  std::fflush(stdout);
}

template <class T>
void compare_all(const Sizes& sizes, double bandwidth) {
  namespace generate = ec::generate;
  print_head();
  compare("published", generate::published_triangle<T>(sizes.rows), sizes.runs, bandwidth);
  compare("5-point", generate::poisson_2d<T>(sizes.side2, sizes.side2), sizes.runs, bandwidth);
  compare("7-point", ec::bench::poisson_3d<T>(sizes.side3), sizes.runs, bandwidth);
  compare("27-point", generate::poisson_3d<T>(sizes.side27, sizes.side27, sizes.side27, 27), sizes.runs,
          bandwidth);
}

Sizes parse(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv,
                                 "[--rows N] [--side2 N] [--side3 N] [--side27 N] [--runs N] [--single]");
  Sizes sizes;
  sizes.rows = arguments.option("--rows", sizes.rows);
  sizes.side2 = arguments.option("--side2", sizes.side2);
  sizes.side3 = arguments.option("--side3", sizes.side3);
  sizes.side27 = arguments.option("--side27", sizes.side27);
  sizes.runs = arguments.option("--runs", sizes.runs);
  sizes.single = arguments.flag("--single");
  arguments.finish();
  return sizes;
}

}  // namespace

int main(int argc, char** argv) {
  const Sizes sizes = parse(argc, argv);
  const int threads = omp_get_max_threads();
  const double bandwidth = ec::bench::triad_bandwidth(threads);
  std::printf("triad %.1f GB/s with one core, %.1f GB/s with %d\n\n", ec::bench::triad_bandwidth(1) / 1e9,
              bandwidth / 1e9, threads);
  if (sizes.single) {
    compare_all<float>(sizes, bandwidth);
  } else {
    compare_all<double>(sizes, bandwidth);
  }
}
