// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "support/first_exception.hpp"

#include <algorithm>
#include <cstdint>

namespace echelon::sparse_direct {

inline constexpr std::int64_t chunk = 1024;  ///< vertices or rows of one parallel piece of work

/// Number of chunks of n vertices.
[[nodiscard]] inline std::int64_t chunks_of(std::int64_t n) {
  return (n + chunk - 1) / chunk;
}

/// Calls f(chunk, first, end) for the chunks of 0, ..., n - 1, in parallel if there are enough of them.
/// Rethrows an exception of f.
template <class F>
void for_each_chunk(std::int64_t n, int threads, const F& f) {
  FirstException exception;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) if (threads > 1 && n > 4 * chunk)
  for (std::int64_t c = 0; c < chunks_of(n); ++c) {
    exception.catch_from([&] { f(c, c * chunk, std::min(n, (c + 1) * chunk)); });
  }
  exception.rethrow();
}

/// Calls f(k) for k = 0, ..., n - 1, which are pieces of work of different sizes, in parallel. Rethrows an
/// exception of f.
template <class F>
void for_each_task(std::int64_t n, int threads, const F& f) {
  FirstException exception;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) if (threads > 1 && n > 1)
  for (std::int64_t k = 0; k < n; ++k) {
    exception.catch_from([&] { f(k); });
  }
  exception.rethrow();
}

}  // namespace echelon::sparse_direct
