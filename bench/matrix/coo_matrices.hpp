// SPDX-License-Identifier: BSD-3-Clause
/// Lists of entries for the benchmarks of conversions.
#pragma once

#include <echelon/matrix/coo.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>

namespace echelon::bench {

/// Uniformly random entries, ten per row.
template <class T>
Coo<T> scattered(std::int64_t entries) {
  const std::int64_t rows = std::max<std::int64_t>(entries / 10, 1);
  Array<std::int32_t> row_indices(Device(), entries);
  Array<std::int32_t> column_indices(Device(), entries);
  Array<T> values(Device(), entries);
  std::mt19937 random(1);
  std::uniform_int_distribution<std::int32_t> index(0, static_cast<std::int32_t>(rows - 1));
  for (std::int64_t k = 0; k < entries; ++k) {
    row_indices[k] = index(random);
    column_indices[k] = index(random);
    values[k] = static_cast<T>(k % 17);
  }
  return {rows, rows, std::move(row_indices), std::move(column_indices), std::move(values)};
}

/// Contributions of bilinear finite elements on a square: 16 entries per element, most of them repeated two
/// or four times.
template <class T>
Coo<T> elements(std::int64_t entries) {
  const auto side = static_cast<std::int64_t>(std::round(std::sqrt(static_cast<double>(entries) / 16)));
  const std::int64_t count = 16 * side * side;
  Array<std::int32_t> row_indices(Device(), count);
  Array<std::int32_t> column_indices(Device(), count);
  Array<T> values(Device(), count);
  for (std::int64_t e = 0; e < side * side; ++e) {
    const std::int64_t corner = e / side * (side + 1) + e % side;
    const std::int64_t nodes[] = {corner, corner + 1, corner + side + 1, corner + side + 2};
    for (std::int64_t k = 0; k < 16; ++k) {
      row_indices[16 * e + k] = static_cast<std::int32_t>(nodes[k / 4]);
      column_indices[16 * e + k] = static_cast<std::int32_t>(nodes[k % 4]);
      values[16 * e + k] = static_cast<T>(k % 17);
    }
  }
  const std::int64_t n = (side + 1) * (side + 1);
  return {n, n, std::move(row_indices), std::move(column_indices), std::move(values)};
}

/// Bytes of `entries` and of the arrays of a Csr.
template <class T>
double coo_bytes(std::int64_t entries) {
  return static_cast<double>(entries) * (8.0 + sizeof(T));
}
template <class T>
double csr_bytes(std::int64_t rows, std::int64_t nonzeros) {
  return static_cast<double>(nonzeros) * (4.0 + sizeof(T)) + 8.0 * static_cast<double>(rows + 1);
}

}  // namespace echelon::bench
