// SPDX-License-Identifier: BSD-3-Clause
/// Static partition of the rows of a sparse matrix among threads, and prefetching, for products on the host.
#pragma once

#include <echelon/matrix/csr.hpp>

#include <cstdint>

namespace echelon {

/// Products of fewer elements run on the calling thread: waking a team costs 10 to 50 us, as long as they
/// take.
inline constexpr std::int64_t parallel_threshold = 100'000;

/// Elements and rows below which products between other parallel loops, as in a cycle, run on the calling
/// thread: the threads still spin, and a parallel region costs 3 to 4 us on 16 of them.
inline constexpr std::int64_t spinning_threshold = 8'000;

/// Prefetch distance in nonzeros, 2 KiB of doubles. Hardware prefetchers stop at page boundaries and are
/// too late in a loop over rows; with software prefetches a product takes nearly half the time.
inline constexpr std::int64_t prefetch_distance = 256;

/// Prefetches the values and columns `prefetch_distance` after [begin, end).
template <class T>
void prefetch_ahead(const T* values, const std::int32_t* column_indices, std::int64_t begin,
                    std::int64_t end) {
  constexpr std::int64_t line = 64 / sizeof(T);
  for (std::int64_t k = begin; k < end; k += line) {
    __builtin_prefetch(values + k + prefetch_distance);
    __builtin_prefetch(column_indices + k + prefetch_distance);
  }
}

/// First row of part `part` of `parts` with about equally many nonzeros plus rows; found by bisection.
template <class T>
std::int64_t part_begin(const Csr<T>& A, int part, int parts) {
  if (part == 0) return 0;
  if (part == parts) return A.rows();
  const std::int64_t* offsets = A.row_offsets().data();
  const std::int64_t work = A.nonzeros() + A.rows();
  const std::int64_t target = static_cast<std::int64_t>(static_cast<double>(work) * part / parts);
  std::int64_t low = 0;
  std::int64_t high = A.rows();
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (offsets[middle] + middle < target) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace echelon
