// SPDX-License-Identifier: BSD-3-Clause
// Times LU of band matrices with equal half-bandwidths, factorisation and solution of one right-hand side, in
// double, measured in turn: LAPACK's dgbtrf + dgbtrs, for tridiagonal matrices also dgttrf + dgttrs, and
// BandFactorization on one thread; then BandFactorization on one and on two threads.
//
//   OPENBLAS_NUM_THREADS=1 OMP_WAIT_POLICY=passive bench_banded [--rows N] [--runs N] [HALF-BANDWIDTH]...
//
// prints two tables in Markdown. Times are those of the calling thread on the processor, which other
// processes disturb less than wall time, in ns an unknown: medians over the runs. A speed-up is the median
// over the runs of the ratio of two measurements that follow each other.
#include "support/arguments.hpp"
#include "support/measure.hpp"

#include <echelon/banded.hpp>

#include <fmt/format.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

namespace ec = echelon;

namespace {

using ec::bench::Clock;
using ec::bench::seconds;

/// Uniformly distributed elements: most columns exchange rows.
struct Band {
  Band(std::int64_t n_, std::int64_t k_) : n(n_), k(k_), leading(3 * k + 1) {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> value(-1, 1);
    elements.resize(static_cast<std::size_t>(leading * n));
    b.resize(static_cast<std::size_t>(n));
    for (double& element : elements) element = value(random);
    for (double& element : b) element = value(random);
  }
  std::int64_t n, k, leading;
  std::vector<double> elements;  // in LAPACK's layout, with k rows for fill
  std::vector<double> b;
};

/// Times of each run, in seconds.
struct Times {
  std::vector<double> factor = {}, solve = {}, sum = {}, wall = {};
};

/// `prepare` is not timed.
template <class Method>
void run(Method& method, Times& times) {
  method.prepare();
  const double wall_start = seconds(Clock::wall);
  const double start = seconds(Clock::thread);
  method.factor();
  const double factored = seconds(Clock::thread);
  method.solve();
  const double solved = seconds(Clock::thread);
  times.wall.push_back(seconds(Clock::wall) - wall_start);
  times.factor.push_back(factored - start);
  times.solve.push_back(solved - factored);
  times.sum.push_back(solved - start);
}

double median_ratio(const std::vector<double>& of, const std::vector<double>& to) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < of.size(); ++i) ratios.push_back(of[i] / to[i]);
  return ec::bench::median(ratios);
}

class Gbtrf {
 public:
  explicit Gbtrf(const Band& band) : band_(band), pivots_(static_cast<std::size_t>(band.n)) {}
  void prepare() { ab_ = band_.elements, x_ = band_.b; }
  void factor() {
    LAPACKE_dgbtrf_work(LAPACK_COL_MAJOR, rows(), rows(), k(), k(), ab_.data(), 3 * k() + 1, pivots_.data());
  }
  void solve() {
    LAPACKE_dgbtrs_work(LAPACK_COL_MAJOR, 'N', rows(), k(), k(), 1, ab_.data(), 3 * k() + 1, pivots_.data(),
                        x_.data(), rows());
  }
  [[nodiscard]] const std::vector<double>& x() const { return x_; }

 private:
  [[nodiscard]] int rows() const { return static_cast<int>(band_.n); }
  [[nodiscard]] int k() const { return static_cast<int>(band_.k); }
  const Band& band_;
  std::vector<double> ab_, x_;
  std::vector<int> pivots_;
};

class Gttrf {
 public:
  explicit Gttrf(const Band& band)
      : band_(band), second_(static_cast<std::size_t>(band.n)), pivots_(static_cast<std::size_t>(band.n)) {}
  void prepare() {
    const auto n = static_cast<std::size_t>(band_.n);
    lower_.resize(n), diagonal_.resize(n), upper_.resize(n);
    for (std::size_t j = 0; j < n; ++j) {
      diagonal_[j] = band_.elements[4 * j + 2];
      lower_[j] = band_.elements[4 * j + 3];
      if (j > 0) upper_[j - 1] = band_.elements[4 * j + 1];
    }
    x_ = band_.b;
  }
  void factor() {
    LAPACKE_dgttrf_work(static_cast<int>(band_.n), lower_.data(), diagonal_.data(), upper_.data(),
                        second_.data(), pivots_.data());
  }
  void solve() {
    LAPACKE_dgttrs_work(LAPACK_COL_MAJOR, 'N', static_cast<int>(band_.n), 1, lower_.data(), diagonal_.data(),
                        upper_.data(), second_.data(), pivots_.data(), x_.data(), static_cast<int>(band_.n));
  }
  [[nodiscard]] const std::vector<double>& x() const { return x_; }

 private:
  const Band& band_;
  std::vector<double> lower_, diagonal_, upper_, second_, x_;
  std::vector<int> pivots_;
};

class Ours {
 public:
  Ours(const Band& band, const ec::Device& device) : band_(band), device_(device), factorization_(device) {}
  void prepare() { x_ = band_.b; }
  void factor() {
    (void)factorization_.factor(
        {band_.elements.data() + band_.k, band_.n, band_.k, band_.k, band_.leading, device_});
  }
  void solve() { factorization_.solve({x_.data(), band_.n, 1, 1, device_}); }
  [[nodiscard]] const std::vector<double>& x() const { return x_; }
  [[nodiscard]] std::size_t bytes() const { return factorization_.bytes(); }

 private:
  const Band& band_;
  ec::Device device_;
  ec::BandFactorization<double> factorization_;
  std::vector<double> x_;
};

/// max |b - A x| / (max |A| |x| + |b|) of the rows: the normwise backward error.
double backward_error(const Band& band, const std::vector<double>& x) {
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  std::vector<double> residual = band.b;
  std::vector<double> row_sums(band.b.size());
  for (std::int64_t j = 0; j < band.n; ++j) {
    for (std::int64_t i = std::max<std::int64_t>(0, j - band.k); i <= std::min(band.n - 1, j + band.k); ++i) {
      const double element = band.elements[at(2 * band.k + i - j + j * band.leading)];
      residual[at(i)] -= element * x[at(j)];
      row_sums[at(i)] += std::abs(element);
    }
  }
  const auto largest = [](const std::vector<double>& v) {
    double most = 0;
    for (const double value : v) most = !(std::abs(value) <= most) ? std::abs(value) : most;
    return most;
  };
  return largest(residual) / (largest(row_sums) * largest(x) + largest(band.b));
}

/// Rows of the first table and of the second.
struct Rows {
  std::string methods, threads;
};

Rows measure(std::int64_t n, std::int64_t k, int runs) {
  const Band band(n, k);
  Gbtrf gbtrf(band);
  Gttrf gttrf(band);
  Ours one(band, ec::Device::serial());
  Ours two(band, ec::Device::openmp(2));
  Times lapack;
  Times tridiagonal;
  Times serial;
  Times threads;
  for (int i = 0; i <= runs; ++i) {
    if (i == 1) lapack = tridiagonal = serial = threads = {};  // the first run warms up
    run(gbtrf, lapack);
    if (k == 1) run(gttrf, tridiagonal);
    run(one, serial);
    run(two, threads);
  }
  const auto ns = [n](const std::vector<double>& seconds) {
    return 1e9 / static_cast<double>(n) * ec::bench::median(seconds);
  };
  const auto row = [&](const char* name, const Times& times, double bytes, const std::string& error) {
    return fmt::format("| {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.2f} | {:.0f} | {} |\n", k, name,
                       ns(times.factor), ns(times.solve), ns(times.sum), median_ratio(lapack.sum, times.sum),
                       bytes, error);
  };
  const auto bytes = static_cast<double>(one.bytes()) / static_cast<double>(n);
  const auto error = [&](const std::vector<double>& x) {
    return fmt::format("{:.0e}", backward_error(band, x));
  };
  Rows rows;
  rows.methods = row("dgbtrf + dgbtrs", lapack, static_cast<double>(8 * band.leading + 4), error(gbtrf.x()));
  if (k == 1) rows.methods += row("dgttrf + dgttrs", tridiagonal, 36, error(gttrf.x()));
  rows.methods += row("BandFactorization", serial, bytes, error(one.x()));
  rows.threads =
      fmt::format("| {} | {:.1f} | {:.1f} | {:.2f} | {:.1f} | {:.1f} | {:.2f} | {} |\n", k, ns(serial.sum),
                  ns(threads.sum), median_ratio(serial.sum, threads.sum), ns(serial.wall), ns(threads.wall),
                  median_ratio(serial.wall, threads.wall), one.x() == two.x() ? "yes" : "no");
  return rows;
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[--rows N] [--runs N] [HALF-BANDWIDTH]...");
  const auto rows = arguments.option("--rows", std::int64_t{1'000'000});
  const int runs = arguments.option("--runs", 11);
  std::vector<std::int64_t> widths = arguments.positionals<std::int64_t>("HALF-BANDWIDTH");
  if (widths.empty()) widths = {1, 2, 8, 32};
  std::string methods =
      "| half-bandwidth | | factor | solve | sum | speed-up over dgbtrf + dgbtrs | bytes an unknown | "
      "backward "
      "error |\n|---|---|---|---|---|---|---|---|\n";
  std::string threads =
      "| half-bandwidth | 1 thread, processor | 2 threads, processor of one | ratio | 1 thread, wall | 2 "
      "threads, wall | ratio | same bits |\n|---|---|---|---|---|---|---|---|\n";
  for (const std::int64_t k : widths) {
    const Rows measured = measure(rows, k, runs);
    methods += measured.methods;
    threads += measured.threads;
  }
  std::printf("%s\n%s", methods.c_str(), threads.c_str());
}
