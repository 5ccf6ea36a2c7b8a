// SPDX-License-Identifier: BSD-3-Clause
/// Measurements and the matrix of the benchmark programs.
#pragma once

#include <echelon/generate.hpp>
#include <echelon/matrix/csr.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <utility>
#include <vector>

namespace echelon::bench {

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Clocks: the one on the wall, and the processor time of the calling thread, on which other programs have
/// little effect.
enum class Clock { wall, thread };

/// Seconds since a fixed point of time.
inline double seconds(Clock clock) {
  std::timespec time{};
  clock_gettime(clock == Clock::thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}
inline double milliseconds(Clock clock) {
  return 1e3 * seconds(clock);
}

/// Seconds of f: median of `runs` calls after one to warm up.
template <class F>
double median_seconds(int runs, F f) {
  f();
  std::vector<double> seconds;
  for (int run = 0; run < runs; ++run) {
    const auto start = std::chrono::steady_clock::now();
    f();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return median(std::move(seconds));
}

/// Bandwidth of STREAM's triad a = b + 3 c on `threads` cores in bytes per second, counted as STREAM does: 24
/// bytes per element. The arrays are larger than the caches.
inline double triad_bandwidth(int threads) {
  constexpr std::int64_t n = std::int64_t{1} << 27;
  const Device host;
  Array<double> a(host, n);
  Array<double> b(host, n);
  Array<double> c(host, n);
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::int64_t i = 0; i < n; ++i) {
    a[i] = 0;
    b[i] = 1;
    c[i] = static_cast<double>(i);
  }
  const double seconds = median_seconds(7, [&] {
#pragma omp parallel for simd schedule(static) num_threads(threads)
    for (std::int64_t i = 0; i < n; ++i) a[i] = b[i] + 3 * c[i];
  });
  return 24.0 * static_cast<double>(n) / seconds;
}

/// The 7-point Laplacian on a cube of side^3 points.
template <class T>
Csr<T> poisson_3d(std::int64_t side) {
  return generate::poisson_3d<T>(side, side, side);
}

/// Memory traffic of y = A x in bytes.
template <class T>
double product_bytes(const Csr<T>& A) {
  constexpr double element = sizeof(T);
  return static_cast<double>(A.nonzeros()) * (4 + element) + static_cast<double>(A.rows()) * (8 + element) +
         static_cast<double>(A.columns()) * element;
}

}  // namespace echelon::bench
