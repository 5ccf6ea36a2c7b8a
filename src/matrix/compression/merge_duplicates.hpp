// SPDX-License-Identifier: BSD-3-Clause
/// Sums repeated entries, those of one row and column.
#pragma once

#include "matrix/compression/compress.hpp"

#include <echelon/annotate.hpp>

#include <cstdint>
#include <utility>

namespace echelon {

/// counts[i] = the number of different columns of row i, whose columns ascend.
struct CountDistinct {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  std::int64_t* counts;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    std::int64_t count = 0;
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      if (k == offsets[i] || columns[k] != columns[k - 1]) ++count;
    }
    counts[i] = count;
  }
};

/// Sums adjacent entries of one column in the order given.
template <class T>
struct SumRepeated {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const T* values;
  const std::int64_t* target_offsets;
  std::int32_t* target_columns;
  T* target_values;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    std::int64_t target = target_offsets[i] - 1;
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      if (k == offsets[i] || columns[k] != columns[k - 1]) {
        target_columns[++target] = columns[k];
        target_values[target] = values[k];
      } else {
        target_values[target] += values[k];
      }
    }
  }
};

/// The Csr of compressed rows. Synchronises if entries are repeated, to allocate the result.
template <class T, class Backend>
Csr<T> merge_repeated(Backend& backend, std::int64_t columns, CompressedRows<T> rows) {
  const std::int64_t n = rows.offsets.size() - 1;
  if (!rows.repeated) {
    return Csr<T>::unchecked(n, columns, std::move(rows.offsets), std::move(rows.columns),
                             std::move(rows.values));
  }
  const Device& device = backend.device();
  Array<std::int64_t> offsets(device, n + 1);
  backend.for_each(n, CountDistinct{rows.offsets.data(), rows.columns.data(), offsets.data()});
  const std::int64_t distinct = backend.exclusive_scan(n, offsets.data(), offsets.data());
  Array<std::int32_t> target_columns(device, distinct);
  Array<T> values(device, distinct);
  backend.for_each(n, SumRepeated<T>{rows.offsets.data(), rows.columns.data(), rows.values.data(),
                                     offsets.data(), target_columns.data(), values.data()});
  return Csr<T>::unchecked(n, columns, std::move(offsets), std::move(target_columns), std::move(values));
}

}  // namespace echelon
