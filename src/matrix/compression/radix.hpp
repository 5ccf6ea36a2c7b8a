// SPDX-License-Identifier: BSD-3-Clause
/// Compression in the operations of any backend: for entries that its native algorithm does not suit, and for
/// backends without one.
#pragma once

#include "backend/backend.hpp"
#include "backend/lower_bound.hpp"
#include "backend/store.hpp"
#include "matrix/compression/compress.hpp"

#include <echelon/annotate.hpp>
#include <echelon/array.hpp>

#include <bit>
#include <cstdint>

namespace echelon {

namespace radix_compression {

/// Number of bits of the numbers 0, ..., n - 1.
inline int bits_below(std::int64_t n) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n > 0 ? n - 1 : 0)));
}

/// keys[k] = row and column of entry k in the result, as one number that sorts by row first.
template <class T>
struct KeyOfEntry {
  CooEntries<T> entries;
  int column_bits;
  std::uint64_t* keys;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    keys[k] = static_cast<std::uint64_t>(entries.rows[k]) << column_bits |
              static_cast<std::uint64_t>(entries.columns[k]);
  }
};

/// The last i < n with offsets[i] <= k.
ECHELON_ANYWHERE inline std::int64_t row_of(std::int64_t k, std::int64_t n, const std::int64_t* offsets) {
  return lower_bound(offsets, 0, n, k + 1) - 1;
}

template <class T>
struct KeyOfTransposed {
  TransposedEntries<T> entries;
  int column_bits;
  std::uint64_t* keys;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    keys[k] = static_cast<std::uint64_t>(entries.rows[k]) << column_bits |
              static_cast<std::uint64_t>(row_of(k, entries.offset_count, entries.offsets));
  }
};

template <class T>
KeyOfEntry<T> key_maker(const CooEntries<T>& entries, int column_bits, std::uint64_t* keys) {
  return {entries, column_bits, keys};
}
template <class T>
KeyOfTransposed<T> key_maker(const TransposedEntries<T>& entries, int column_bits, std::uint64_t* keys) {
  return {entries, column_bits, keys};
}

/// offsets[i] = the number of keys whose rows are less than i.
struct FindOffset {
  std::int64_t count;
  const std::uint64_t* keys;
  int column_bits;
  std::int64_t* offsets;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    offsets[i] = lower_bound(keys, 0, count, static_cast<std::uint64_t>(i) << column_bits);
  }
};

struct ColumnOfKey {
  const std::uint64_t* keys;
  std::uint64_t mask;
  std::int32_t* columns;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    columns[k] = static_cast<std::int32_t>(keys[k] & mask);
  }
};

struct Repetition {
  const std::uint64_t* keys;
  ECHELON_ANYWHERE FirstIndex operator()(std::int64_t k) const {
    return keys[k] == keys[k + 1] ? FirstIndex{k} : FirstIndex{};
  }
};

template <class B>
bool any_repeated(B& backend, std::int64_t count, const std::uint64_t* keys) {
  Array<FirstIndex> first(backend.device(), 1);
  backend.reduce(count - 1, Repetition{keys}, Store<FirstIndex>{first.data()});
  return backend.read(first.data()).value != FirstIndex::none;
}

/// Sorts values with their keys; those of more than 8 bytes by their places.
template <class B, class V>
void sort_values(B& backend, std::int64_t count, int first_bit, int last_bit, const std::uint64_t* keys,
                 std::uint64_t* sorted, const V* values, V* sorted_values) {
  if constexpr (sizeof(V) <= 8) {
    backend.sort_by_key(count, first_bit, last_bit, keys, sorted, values, sorted_values);
  } else {
    Array<std::int64_t> places(backend.device(), count);
    Array<std::int64_t> sorted_places(backend.device(), count);
    backend.for_each(count, Iota{places.data()});
    backend.sort_by_key(count, first_bit, last_bit, keys, sorted, places.data(), sorted_places.data());
    backend.for_each(count, GatherElement{sorted_places.data(), values, sorted_values});
  }
}

}  // namespace radix_compression

/// Compresses by a radix sort over all bits of row and column. Repeated entries remain to be summed. Waits to
/// find out whether there are any. Temporary memory: twice that of the entries.
template <class B, class Entries>
CompressedRows<typename Entries::Value> compress_by_radix(B& backend, const Entries& entries,
                                                          std::int64_t rows, std::int64_t columns) {
  using namespace radix_compression;
  const Device& device = backend.device();
  const int column_bits = bits_below(columns);
  const int row_bits = bits_below(rows);
  Array<std::uint64_t> keys(device, entries.count);
  Array<std::uint64_t> sorted(device, entries.count);
  auto result = uninitialised_rows<typename Entries::Value>(device, rows, entries.count);
  backend.for_each(entries.count, key_maker(entries, column_bits, keys.data()));
  sort_values(backend, entries.count, Entries::columns_ascend ? column_bits : 0, column_bits + row_bits,
              keys.data(), sorted.data(), entries.values, result.values.data());
  backend.for_each(rows + 1, FindOffset{entries.count, sorted.data(), column_bits, result.offsets.data()});
  backend.for_each(entries.count,
                   ColumnOfKey{sorted.data(), (std::uint64_t{1} << column_bits) - 1, result.columns.data()});
  if (!Entries::columns_ascend && entries.count > 1) {
    result.repeated = any_repeated(backend, entries.count, sorted.data());
  }
  return result;
}

}  // namespace echelon
