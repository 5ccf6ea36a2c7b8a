// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace echelon {

/// Calls f(thread, begin, end) for blocks of rows that the threads take as they become free: rows may differ
/// in the work that they make. `work` counts in what merging one element costs, some two nanoseconds. Waking
/// a team takes about as long as 2^13 of that, so that two threads are even at twice as much, and taking a
/// block costs up to a tenth of a microsecond when many do. f must not throw.
template <class F>
void share_rows(int threads, std::int64_t rows, std::int64_t work, F f) {
  constexpr std::int64_t worth_waking_threads = 1 << 14;
  constexpr std::int64_t worth_taking = 1 << 10;
  const std::int64_t even = rows / (64 * std::int64_t{threads});
  const std::int64_t enough =
      worth_taking / std::max<std::int64_t>(work / std::max<std::int64_t>(rows, 1), 1);
  const std::int64_t size = std::max<std::int64_t>({even, enough, 1});
  const std::int64_t blocks = (rows + size - 1) / size;
#pragma omp parallel for num_threads(threads) schedule(dynamic) if (work > worth_waking_threads)
  for (std::int64_t block = 0; block < blocks; ++block) {
    f(omp_get_thread_num(), block * size, std::min((block + 1) * size, rows));
  }
}

}  // namespace echelon
