// SPDX-License-Identifier: BSD-3-Clause
/// What the benchmark programs share: medians, and the matrix that they all use.
#pragma once

#include <echelon/csr.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

namespace echelon::bench {

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Seconds that f takes: median of `runs` after one to warm up.
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

/// Bytes a second that STREAM's triad a = b + 3 c moves with `threads` cores, counted as STREAM does: 24 an
/// element. The arrays are larger than caches.
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

/// The 7-point Laplacian on a cube of side^3 points. Its arrays are first written by the threads that will
/// use them.
template <class T>
Csr<T> poisson_3d(std::int64_t side) {
  const std::int64_t n = side * side * side;
  const Device host;
  Array<std::int64_t> offsets(host, n + 1);
  offsets[0] = 0;
  const auto inside = [side](std::int64_t coordinate) {
    return std::int64_t{coordinate > 0} + std::int64_t{coordinate < side - 1};
  };
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < n; ++i) {
    offsets[i + 1] = 1 + inside(i % side) + inside(i / side % side) + inside(i / (side * side));
  }
  for (std::int64_t i = 0; i < n; ++i) offsets[i + 1] += offsets[i];
  Array<std::int32_t> columns(host, offsets[n]);
  Array<T> values(host, offsets[n]);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t k = offsets[i];
    const auto put = [&](bool is_inside, std::int64_t column, T value) {
      if (!is_inside) return;
      columns[k] = static_cast<std::int32_t>(column);
      values[k++] = value;
    };
    const std::int64_t x = i % side;
    const std::int64_t y = i / side % side;
    const std::int64_t z = i / (side * side);
    put(z > 0, i - side * side, T{-1});
    put(y > 0, i - side, T{-1});
    put(x > 0, i - 1, T{-1});
    put(true, i, T{6});
    put(x < side - 1, i + 1, T{-1});
    put(y < side - 1, i + side, T{-1});
    put(z < side - 1, i + side * side, T{-1});
  }
  return {n, n, std::move(offsets), std::move(columns), std::move(values)};
}

/// Bytes that y = A x has to move.
template <class T>
double product_bytes(const Csr<T>& A) {
  constexpr double element = sizeof(T);
  return static_cast<double>(A.nonzeros()) * (4 + element) + static_cast<double>(A.rows()) * (8 + element) +
         static_cast<double>(A.columns()) * element;
}

}  // namespace echelon::bench
