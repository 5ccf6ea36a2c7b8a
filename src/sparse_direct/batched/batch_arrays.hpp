// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace echelon::sparse_direct {

/// The program, A's pattern, and the interleaved elements of the systems of a part. All in the device's
/// memory.
template <class T, int width>
struct BatchArrays {
  std::int64_t n, entries, nonzeros;
  const std::int32_t* row_of;
  const std::int32_t* column_of;
  const std::int64_t* offsets;
  const std::int64_t* diagonal;
  const std::int32_t* indices;
  const std::int32_t* targets;
  const std::int64_t* target_offsets;
  const std::int64_t* places;
  const std::int32_t* followers;
  const std::int64_t* a_offsets;
  const std::int32_t* a_indices;

  T* factor;    ///< `entries` for each system; reciprocals of the pivots on the diagonal
  T* a;         ///< `nonzeros` for each system
  T* b;         ///< n, in the order of A's rows
  T* residual;  ///< likewise
  T* x;         ///< n, in the order of A's columns
  T* work;      ///< n, in the order of the pivots; of A's rows for measures
};

}  // namespace echelon::sparse_direct
