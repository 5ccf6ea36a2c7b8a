// SPDX-License-Identifier: BSD-3-Clause
/// How products on the host share out the rows of a sparse matrix.
#pragma once

#include <echelon/csr.hpp>

#include <cstdint>

namespace echelon {

/// Products of fewer elements stay on the calling thread: waking a team can cost more than they do.
inline constexpr std::int64_t worth_sharing = 100'000;

/// How far ahead of their use values and columns are asked for, in nonzeros. Hardware prefetchers stop at
/// the end of a page and fall behind a row loop; asking about 2 KiB ahead nearly halves the time of a
/// product.
inline constexpr std::int64_t prefetch_distance = 256;

/// Asks for the values and columns that come `prefetch_distance` behind those in [begin, end).
template <class T>
void prefetch_ahead(const T* values, const std::int32_t* column_indices, std::int64_t begin,
                    std::int64_t end) {
  constexpr std::int64_t line = 64 / sizeof(T);
  for (std::int64_t k = begin; k < end; k += line) {
    __builtin_prefetch(values + k + prefetch_distance);
    __builtin_prefetch(column_indices + k + prefetch_distance);
  }
}

/// The first row of share `part` of `parts`, when nonzeros and rows are shared out evenly.
template <class T>
std::int64_t share_begin(const Csr<T>& A, int part, int parts) {
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
  return part == parts ? A.rows() : low;
}

}  // namespace echelon
