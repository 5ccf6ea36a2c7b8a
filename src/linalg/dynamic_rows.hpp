// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace echelon {

/// Calls f(thread, begin, end) for blocks of rows, scheduled dynamically because rows differ in work. `work`
/// is the total in units of merging one element, about 2 ns. Waking a team takes about 2^13 units, so that
/// two threads break even at 2^14; taking a block costs up to 0.1 us under contention, hence the smallest
/// block of 2^10 units. f must not throw.
template <class F>
void for_dynamic_rows(int threads, std::int64_t rows, std::int64_t work, F f) {
  constexpr std::int64_t parallel_work = 1 << 14;
  constexpr std::int64_t min_block_work = 1 << 10;
  const std::int64_t balanced = rows / (64 * std::int64_t{threads});
  const std::int64_t least =
      min_block_work / std::max<std::int64_t>(work / std::max<std::int64_t>(rows, 1), 1);
  const std::int64_t size = std::max<std::int64_t>({balanced, least, 1});
  const std::int64_t blocks = (rows + size - 1) / size;
#pragma omp parallel for num_threads(threads) schedule(dynamic) if (work > parallel_work)
  for (std::int64_t block = 0; block < blocks; ++block) {
    f(omp_get_thread_num(), block * size, std::min((block + 1) * size, rows));
  }
}

}  // namespace echelon
