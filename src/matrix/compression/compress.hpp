// SPDX-License-Identifier: BSD-3-Clause
/// Compression: entries in any order are sorted into rows. Converts a Coo to a Csr, and transposes a Csr.
///
/// Each backend has its own algorithm, and all have the same result: the entries of a row in ascending
/// columns, repeated entries (of one row and column) adjacent and in the order given, or already summed in
/// that order.
#pragma once

#include "backend/targets.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/coo.hpp>
#include <echelon/matrix/csr.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace echelon {

class Host;
class Cuda;

/// Entries of a coordinate list: entry k is in row rows[k] and column columns[k].
template <class T>
struct CooEntries {
  using Value = T;
  static constexpr bool columns_ascend = false;  ///< within each row
  static constexpr bool in_any_order = false;    ///< depends on timing: duplicates are summed by value
  const std::int32_t* rows;
  const std::int32_t* columns;
  const T* values;
  std::int64_t count;

  CooEntries(const std::int32_t* rows_, const std::int32_t* columns_, const T* values_, std::int64_t count_)
      : rows(rows_), columns(columns_), values(values_), count(count_) {}
  explicit CooEntries(const Coo<T>& a)
      : CooEntries(a.row_indices().data(), a.column_indices().data(), a.values().data(), a.entries()) {}
  [[nodiscard]] std::int32_t row(std::int64_t k) const { return rows[k]; }
  /// Calls f(row, column, value) for the entries [begin, end), in order.
  template <class F>
  void for_range(std::int64_t begin, std::int64_t end, F f) const {
    for (std::int64_t k = begin; k < end; ++k) f(rows[k], columns[k], values[k]);
  }
};

/// The entries of a Csr's transpose, in the order of the Csr.
template <class T>
struct TransposedEntries {
  using Value = T;
  static constexpr bool columns_ascend = true;
  static constexpr bool in_any_order = false;
  std::int64_t offset_count;  ///< of the Csr's rows
  const std::int64_t* offsets;
  const std::int32_t* rows;  ///< the Csr's columns
  const T* values;
  std::int64_t count;

  TransposedEntries(std::int64_t offset_count_, const std::int64_t* offsets_, const std::int32_t* rows_,
                    const T* values_, std::int64_t count_)
      : offset_count(offset_count_), offsets(offsets_), rows(rows_), values(values_), count(count_) {}
  explicit TransposedEntries(const Csr<T>& a)
      : TransposedEntries(a.rows(), a.row_offsets().data(), a.column_indices().data(), a.values().data(),
                          a.nonzeros()) {}
  [[nodiscard]] std::int32_t row(std::int64_t k) const { return rows[k]; }
  template <class F>
  void for_range(std::int64_t begin, std::int64_t end, F f) const {
    if (begin >= end) return;
    const std::int64_t* next = std::upper_bound(offsets, offsets + offset_count, begin);
    for (std::int64_t k = begin; k < end; ++k) {
      while (*next <= k) ++next;
      f(rows[k], static_cast<std::int32_t>(next - offsets - 1), values[k]);
    }
  }
};

/// Entries of a list of triplets. Host only.
template <class T>
struct TripletEntries {
  using Value = T;
  static constexpr bool columns_ascend = false;
  static constexpr bool in_any_order = false;
  const Triplet<T>* triplets;
  std::int64_t count;

  explicit TripletEntries(const std::vector<Triplet<T>>& list)
      : triplets(list.data()), count(static_cast<std::int64_t>(list.size())) {}
  [[nodiscard]] std::int32_t row(std::int64_t k) const { return triplets[k].row; }
  template <class F>
  void for_range(std::int64_t begin, std::int64_t end, F f) const {
    for (std::int64_t k = begin; k < end; ++k) f(triplets[k].row, triplets[k].column, triplets[k].value);
  }
};

/// Triplets in an order that depends on timing: repeated ones are summed in the order of their values, so
/// that the result does not. Host only.
template <class T>
struct UnorderedTriplets : TripletEntries<T> {
  using TripletEntries<T>::TripletEntries;
  static constexpr bool in_any_order = true;
};

/// The arrays of a Csr.
template <class T>
struct CompressedRows {
  Array<std::int64_t> offsets;
  Array<std::int32_t> columns;
  Array<T> values;
  bool repeated = false;  ///< some entries are repeated and remain to be summed
};
template <class T>
CompressedRows<T> uninitialised_rows(const Device& device, std::int64_t rows, std::int64_t entries) {
  return {Array<std::int64_t>(device, rows + 1), Array<std::int32_t>(device, entries),
          Array<T>(device, entries)};
}

/// Sorts entries into a matrix of `rows` by `columns`; they must lie within. Defined in host.cpp for Host,
/// which sums repeated entries, and in cuda.cu for Cuda, which synchronises to find out whether the entries
/// are sorted already and whether any are repeated. Other backends have compress_by_radix (radix.hpp).
template <class Backend, class Entries>
CompressedRows<typename Entries::Value> compress(Backend& backend, const Entries& entries, std::int64_t rows,
                                                 std::int64_t columns);

}  // namespace echelon
