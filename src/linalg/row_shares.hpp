// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace echelon {

/// Calls f(thread, begin, end) for blocks of rows that the threads take as they become free: rows may differ
/// in the work that they make. Little work (`elements`) stays on the calling thread. f must not throw.
template <class F>
void share_rows(int threads, std::int64_t rows, std::int64_t elements, F f) {
  constexpr std::int64_t worth_waking_threads = 8192;
  const std::int64_t size = std::max<std::int64_t>(rows / (64 * std::int64_t{threads}), 1);
  const std::int64_t blocks = (rows + size - 1) / size;
#pragma omp parallel for num_threads(threads) schedule(dynamic) if (elements > worth_waking_threads)
  for (std::int64_t block = 0; block < blocks; ++block) {
    f(omp_get_thread_num(), block * size, std::min((block + 1) * size, rows));
  }
}

}  // namespace echelon
