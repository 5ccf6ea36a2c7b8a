// SPDX-License-Identifier: BSD-3-Clause
// How fast are the inverse, the reduced form and a solve, compared with LAPACK's LU and the textbook's loop?
//   bench_gauss_jordan [THREADS]... [--up-to N] [--runs N]
// Uniform random matrices in double; the median of several runs in turn. The competitors are OpenBLAS's getrf
// with getri (the inverse) and with getrs (a solve), with the same number of threads; and, on one thread at n
// = 2000, the loop of the thesis that gauss-jordan-striped is taken from: down and up, one row at a time, a
// quotient and a comparison with zero for every element.
#include "support/arguments.hpp"
#include "support/measure.hpp"
#include "support/published_loops.hpp"

#include <echelon/echelon.hpp>

#include <lapacke.h>
#include <omp.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace ec = echelon;

namespace {

ec::Dense<double> uniform(std::int64_t rows, std::int64_t columns, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  ec::Dense<double> a(ec::Device(), rows, columns);
  for (std::int64_t e = 0; e < rows * columns; ++e) a[e] = value(random);
  return a;
}

/// Processor time of the thread if there is one, which other programs disturb little; otherwise wall time.
class Stopwatch {
 public:
  [[nodiscard]] double seconds() const { return now() - start_; }

 private:
  static double now() {
    using ec::bench::Clock;
    return ec::bench::seconds(omp_get_max_threads() == 1 ? Clock::thread : Clock::wall);
  }
  double start_ = now();
};

void insist(bool good) {
  if (good) return;
  std::puts("a computation failed");
  std::exit(1);
}

/// LAPACK's factorisation of a, and its inverse or the solution for one right-hand side.
double lapack_seconds(ec::Dense<double> a, bool inverse) {
  const auto n = static_cast<int>(a.rows());
  std::vector<int> pivots(static_cast<std::size_t>(n));
  std::vector<double> work(static_cast<std::size_t>(n) * 64, 1.0);
  const Stopwatch stopwatch;
  insist(LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, n, n, a.data(), n, pivots.data()) == 0);
  if (inverse) {
    insist(LAPACKE_dgetri_work(LAPACK_COL_MAJOR, n, a.data(), n, pivots.data(), work.data(),
                               static_cast<int>(work.size())) == 0);
  } else {
    insist(LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', n, 1, a.data(), n, pivots.data(), work.data(), n) == 0);
  }
  return stopwatch.seconds();
}

double inverse_seconds(const ec::Device& device, ec::Dense<double> a) {
  const Stopwatch stopwatch;
  insist(ec::RowReduction<double>(device).invert(a).solved());
  return stopwatch.seconds();
}

double reduce_seconds(const ec::Device& device, ec::Dense<double> a, std::int64_t rank) {
  const Stopwatch stopwatch;
  insist(ec::RowReduction<double>(device).reduce(std::move(a)).facts.rank == rank);
  return stopwatch.seconds();
}

double solve_seconds(const ec::Device& device, const ec::Dense<double>& a, ec::Precision factor_precision) {
  const ec::Dense<double> b = uniform(a.rows(), 1, 2);
  ec::Dense<double> x(ec::Device(), a.rows(), 1);
  const Stopwatch stopwatch;
  ec::GaussJordan<double> solver(device, {.factor_precision = factor_precision});
  solver.setup(a);
  const ec::Report report = solver.solve(b, x, {.measure_error = false});
  insist(report.solved() && (!report.factor_precision || report.factor_precision->used == factor_precision));
  return stopwatch.seconds();
}

double striped_seconds(const ec::Device& device, const ec::Dense<double>& a) {
  const Stopwatch stopwatch;
  ec::GaussJordanStriped<double> solver(device);
  insist(solver.setup(a).ready());
  return stopwatch.seconds();
}

double textbook_seconds(const ec::Dense<double>& a) {
  std::vector<double> matrix(a.data(), a.data() + a.rows() * a.rows());
  const Stopwatch stopwatch;
  ec::bench::eliminate_as_published(matrix, a.rows());
  return stopwatch.seconds();
}

/// Medians of alternating runs, which other programs on the machine disturb equally.
template <class... Work>
std::vector<double> medians(int runs, const Work&... work) {
  std::vector<std::vector<double>> seconds(sizeof...(work));
  for (int run = 0; run < runs; ++run) {
    std::size_t which = 0;
    (seconds[which++].push_back(work()), ...);
  }
  std::vector<double> result;
  for (const auto& one : seconds) result.push_back(ec::bench::median(one));
  return result;
}

void measure(int threads, std::int64_t n, int runs) {
  omp_set_num_threads(threads);
  const ec::Device device = ec::Device::openmp(threads);
  const ec::Dense<double> a = uniform(n, n, 1);
  ec::Dense<double> half(ec::Device(), n, n);
  ec::multiply<double>(1.0, uniform(n, n / 2, 3).view(), uniform(n / 2, n, 4).view(), 0.0, half.view());
  const std::vector<double> s = medians(
      runs, [&] { return inverse_seconds(device, a); }, [&] { return lapack_seconds(a, true); },
      [&] { return reduce_seconds(device, half, n / 2); },
      [&] { return solve_seconds(device, a, ec::Precision::working); },
      [&] { return lapack_seconds(a, false); },
      [&] { return solve_seconds(device, a, ec::Precision::single); });
  const double work = 2e-9 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  std::printf("| %d | %lld | %.4f | %.1f | %.4f | %.2f | %.4f | %.2f | %.4f | %.4f | %.2f | %.4f | %.2f |\n",
              threads, static_cast<long long>(n), s[0], work / s[0], s[1], s[1] / s[0], s[2], s[2] / s[0],
              s[3], s[4], s[3] / s[4], s[5], s[3] / s[5]);
  std::fflush(stdout);
}

void compare_with_loops() {
  constexpr std::int64_t n = 2000;
  const ec::Device device = ec::Device::serial();
  omp_set_num_threads(1);
  const ec::Dense<double> a = uniform(n, n, 1);
  const double loop = textbook_seconds(a);
  const double striped = striped_seconds(device, a);
  const double inverse = inverse_seconds(device, a);
  const double reduce = reduce_seconds(device, a, n);
  std::printf(
      "\nn = %lld on one core: the textbook's loop %.2f s, gauss-jordan-striped %.2f s, reduced form %.3f s "
      "(%.0f times faster than the loop), inverse %.3f s (%.0f times)\n",
      static_cast<long long>(n), loop, striped, reduce, loop / reduce, inverse, loop / inverse);
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[THREADS]... [--up-to N] [--runs N]");
  const auto largest = arguments.option("--up-to", std::int64_t{4000});
  const int runs = arguments.option("--runs", 5);
  std::vector<int> threads = arguments.positionals<int>("THREADS");
  if (threads.empty()) threads = {1, ec::Device().threads()};
  std::puts(
      "| threads | n | inverse s | Gflop/s | getrf + getri s | ratio | RREF of rank n/2 s | to inverse | "
      "solve s | getrf + getrs s | to LU | solve, single inside s | gain "
      "|\n|---|---|---|---|---|---|---|---|---|---|---|---|---|");
  for (const int count : threads) {
    for (const std::int64_t n : {100, 250, 500, 1000, 2000, 4000}) {
      if (n <= largest) measure(count, n, runs);
    }
  }
  compare_with_loops();
}
