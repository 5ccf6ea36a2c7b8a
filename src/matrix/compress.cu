// SPDX-License-Identifier: BSD-3-Clause
#include "backend/backend.hpp"
#include "backend/cuda/cuda.cuh"
#include "backend/store.hpp"
#include "matrix/compress.hpp"

#include <bit>

namespace echelon {

namespace {

/// The row, in the result, of entry k and its column, as one number that sorts by row first.
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
  std::int64_t low = 0;
  std::int64_t high = n;
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (offsets[middle] <= k) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low - 1;
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
    std::int64_t low = 0;
    std::int64_t high = count;
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (static_cast<std::int64_t>(keys[middle] >> column_bits) < i) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    offsets[i] = low;
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

bool any_repeated(Cuda& backend, std::int64_t count, const std::uint64_t* keys) {
  Array<FirstIndex> first(backend.device(), 1);
  backend.reduce(count - 1, Repetition{keys}, Store<FirstIndex>{first.data()});
  return backend.read(first.data()).value != FirstIndex::none;
}

/// Bits of the numbers from 0 to n - 1.
int bits_below(std::int64_t n) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n > 0 ? n - 1 : 0)));
}

}  // namespace

template <class Backend, class Entries>
CompressedRows<typename Entries::Value> compress(Backend& backend, const Entries& entries, std::int64_t rows,
                                                 std::int64_t columns) {
  using T = typename Entries::Value;
  const Device& device = backend.device();
  const int column_bits = bits_below(columns);
  const int row_bits = bits_below(rows);
  Array<std::uint64_t> keys(device, entries.count);
  Array<std::uint64_t> sorted(device, entries.count);
  CompressedRows<T> result{Array<std::int64_t>(device, rows + 1), Array<std::int32_t>(device, entries.count),
                           Array<T>(device, entries.count)};
  backend.for_each(entries.count, key_maker(entries, column_bits, keys.data()));
  backend.sort_by_key(entries.count, Entries::columns_ascend ? column_bits : 0, column_bits + row_bits,
                      keys.data(), sorted.data(), entries.values, result.values.data());
  backend.for_each(rows + 1, FindOffset{entries.count, sorted.data(), column_bits, result.offsets.data()});
  backend.for_each(entries.count,
                   ColumnOfKey{sorted.data(), (std::uint64_t{1} << column_bits) - 1, result.columns.data()});
  if (!Entries::columns_ascend && entries.count > 1) {
    result.repeated = any_repeated(backend, entries.count, sorted.data());
  }
  return result;
}

template CompressedRows<float> compress(Cuda&, const CooEntries<float>&, std::int64_t, std::int64_t);
template CompressedRows<double> compress(Cuda&, const CooEntries<double>&, std::int64_t, std::int64_t);
template CompressedRows<float> compress(Cuda&, const TransposedEntries<float>&, std::int64_t, std::int64_t);
template CompressedRows<double> compress(Cuda&, const TransposedEntries<double>&, std::int64_t, std::int64_t);

}  // namespace echelon
