// SPDX-License-Identifier: BSD-3-Clause
#include "backend/openmp/openmp.hpp"
#include "backend/serial/serial.hpp"
#include "matrix/compress.hpp"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace echelon {

namespace {

template <class T>
CompressedRows<T> uninitialised(const Device& device, std::int64_t rows, std::int64_t entries) {
  return {Array<std::int64_t>(device, rows + 1), Array<std::int32_t>(device, entries),
          Array<T>(device, entries)};
}

/// Sorts one row by column, keeping the order of equal ones. Most rows are short.
template <class T>
void sort_row(std::int32_t* columns, T* values, std::int64_t length,
              std::vector<std::pair<std::int32_t, T>>& scratch) {
  constexpr std::int64_t worth_merging = 48;
  if (length <= worth_merging) {
    for (std::int64_t k = 1; k < length; ++k) {
      const std::int32_t column = columns[k];
      const T value = values[k];
      std::int64_t place = k;
      for (; place > 0 && columns[place - 1] > column; --place) {
        columns[place] = columns[place - 1];
        values[place] = values[place - 1];
      }
      columns[place] = column;
      values[place] = value;
    }
    return;
  }
  if (std::is_sorted(columns, columns + length)) return;
  scratch.resize(static_cast<std::size_t>(length));
  for (std::size_t k = 0; k < scratch.size(); ++k) scratch[k] = {columns[k], values[k]};
  std::stable_sort(scratch.begin(), scratch.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t k = 0; k < scratch.size(); ++k) std::tie(columns[k], values[k]) = scratch[k];
}

/// From counts[i + 1] of row i to where the row begins; returns where the last one ends.
std::int64_t to_begins(std::int64_t rows, std::int64_t begin, std::int64_t* offsets) {
  for (std::int64_t i = 0; i < rows; ++i) begin += std::exchange(offsets[i + 1], begin);
  return begin;
}

/// Puts entries into consecutive rows, the first of which begins at `begin`, stably: a counting sort. The
/// offsets [1, rows] are written, each the end of its row. Rows are numbered from `first_row` on.
template <class Entries, class T>
void place_entries(const Entries& entries, std::int64_t first_row, std::int64_t rows, std::int64_t begin,
                   std::int64_t* offsets, std::int32_t* columns, T* values) {
  std::fill_n(offsets + 1, rows, 0);
  std::int64_t* ends = offsets + 1 - first_row;
  entries.for_range(0, entries.count, [=](std::int64_t row, std::int32_t, T) { ++ends[row]; });
  to_begins(rows, begin, offsets);
  entries.for_range(0, entries.count, [=](std::int64_t row, std::int32_t column, T value) {
    const std::int64_t place = ends[row]++;
    columns[place] = column;
    values[place] = value;
  });
}

/// Sorts the rows that lie between begin and offsets[rows]; whether a column occurs twice in one of them.
template <class T>
bool sort_rows(std::int64_t rows, std::int64_t begin, const std::int64_t* offsets, std::int32_t* columns,
               T* values, std::vector<std::pair<std::int32_t, T>>& scratch) {
  bool repeated = false;
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t length = offsets[i + 1] - begin;
    sort_row(columns + begin, values + begin, length, scratch);
    repeated =
        repeated || std::adjacent_find(columns + begin, columns + begin + length) != columns + begin + length;
    begin += length;
  }
  return repeated;
}

template <class Entries>
CompressedRows<typename Entries::Value> compress_serially(const Device& device, const Entries& entries,
                                                          std::int64_t rows) {
  using T = typename Entries::Value;
  auto result = uninitialised<T>(device, rows, entries.count);
  result.offsets[0] = 0;
  place_entries(entries, 0, rows, 0, result.offsets.data(), result.columns.data(), result.values.data());
  if (Entries::columns_ascend) return result;
  std::vector<std::pair<std::int32_t, T>> scratch;
  result.repeated =
      sort_rows(rows, 0, result.offsets.data(), result.columns.data(), result.values.data(), scratch);
  return result;
}

/// The part of `count` things that thread `part` of `parts` takes begins here.
std::int64_t share_begin(std::int64_t count, int part, int parts) {
  return std::min((count + parts - 1) / parts * part, count);
}

template <class T>
struct Entry {
  std::int32_t row;
  std::int32_t column;
  T value;
};

/// Entries of one bucket.
template <class T>
struct EntryRange {
  using Value = T;
  const Entry<T>* entries;
  std::int64_t count;
  template <class F>
  void for_range(std::int64_t begin, std::int64_t end, F f) const {
    for (std::int64_t k = begin; k < end; ++k) f(entries[k].row, entries[k].column, entries[k].value);
  }
};

/// Buckets of 2^shift consecutive rows each: few enough that writing to all of them in turn is cheap, small
/// enough, at about 2^14 entries, that one is sorted in a core's own cache.
struct BucketPlan {
  static constexpr std::int64_t entries_wanted = 1 << 14;
  static constexpr std::int64_t most_buckets = 1 << 12;
  int shift = 0;
  std::int64_t buckets = 0;

  BucketPlan(std::int64_t rows, std::int64_t entries) {
    const std::int64_t wanted = std::clamp(entries / entries_wanted, std::int64_t{1}, most_buckets);
    while ((rows + (std::int64_t{1} << shift) - 1) >> shift > wanted) ++shift;
    buckets = (rows + (std::int64_t{1} << shift) - 1) >> shift;
  }
};

/// Moves the entries to their buckets, keeping their order there; returns where each bucket begins.
template <class Entries, class T>
std::vector<std::int64_t> fill_buckets(int threads, const Entries& entries, const BucketPlan& plan,
                                       Entry<T>* target) {
  const auto buckets = static_cast<std::size_t>(plan.buckets);
  const int shift = plan.shift;
  std::vector<std::vector<std::int64_t>> places(static_cast<std::size_t>(threads));
  std::vector<std::int64_t> starts(buckets + 1, 0);
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static, 1)
    for (int t = 0; t < threads; ++t) {
      std::vector<std::int64_t> counts(buckets, 0);
      entries.for_range(
          share_begin(entries.count, t, threads), share_begin(entries.count, t + 1, threads),
          [&](std::int32_t row, std::int32_t, T) { ++counts[static_cast<std::size_t>(row >> shift)]; });
      places[static_cast<std::size_t>(t)] = std::move(counts);
    }
#pragma omp single
    {
      std::int64_t sum = 0;
      for (std::size_t b = 0; b < buckets; ++b) {
        starts[b] = sum;
        for (auto& counts : places) sum += std::exchange(counts[b], sum);
      }
      starts[buckets] = sum;
    }
#pragma omp for schedule(static, 1)
    for (int t = 0; t < threads; ++t) {
      std::int64_t* next = places[static_cast<std::size_t>(t)].data();
      entries.for_range(share_begin(entries.count, t, threads), share_begin(entries.count, t + 1, threads),
                        [=](std::int32_t row, std::int32_t column, T value) {
                          target[next[row >> shift]++] = {row, column, value};
                        });
    }
  }
  return starts;
}

/// One pass through memory that sorts the entries into buckets of rows, and one in which each bucket is
/// sorted within the cache. Bytes: entries twice (16 each in double), read for counting (4) and copied to the
/// buckets and out of them (2 x 32 less 4).
template <class Entries>
CompressedRows<typename Entries::Value> compress_by_buckets(const Device& device, int threads,
                                                            const Entries& entries, std::int64_t rows) {
  using T = typename Entries::Value;
  const BucketPlan plan(rows, entries.count);
  Array<Entry<T>> sorted(device, entries.count);
  const std::vector<std::int64_t> starts = fill_buckets(threads, entries, plan, sorted.data());
  auto result = uninitialised<T>(device, rows, entries.count);
  result.offsets[0] = 0;
  bool repeated = false;
  std::exception_ptr failure;
#pragma omp parallel num_threads(threads) reduction(|| : repeated)
  {
    std::vector<std::pair<std::int32_t, T>> scratch;
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t b = 0; b < plan.buckets; ++b) {
      const std::int64_t begin = starts[static_cast<std::size_t>(b)];
      const std::int64_t count = starts[static_cast<std::size_t>(b) + 1] - begin;
      const std::int64_t first_row = b << plan.shift;
      const std::int64_t row_count = std::min(rows - first_row, std::int64_t{1} << plan.shift);
      std::int64_t* offsets = result.offsets.data() + first_row;
      place_entries(EntryRange<T>{sorted.data() + begin, count}, first_row, row_count, begin, offsets,
                    result.columns.data(), result.values.data());
      if (Entries::columns_ascend) continue;
      try {
        if (sort_rows(row_count, begin, offsets, result.columns.data(), result.values.data(), scratch)) {
          repeated = true;
        }
      } catch (...) {  // no memory for a long row's scratch
#pragma omp critical(echelon_compress)
        failure = std::current_exception();
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
  result.repeated = repeated;
  return result;
}

/// Whether most elements have one near by in the next row, so that writing them to their columns' places one
/// after the other stays in the cache. Looks at some hundred rows.
template <class T>
bool is_local(const TransposedEntries<T>& a) {
  constexpr std::int64_t samples = 256;
  constexpr std::int32_t near = 16;  // elements that a cache line of indices holds
  std::int64_t seen = 0;
  std::int64_t found = 0;
  for (std::int64_t s = 0; s < std::min(samples, a.offset_count - 1); ++s) {
    const std::int64_t row = (a.offset_count - 1) / std::min(samples, a.offset_count - 1) * s;
    const std::int32_t* candidate = a.rows + a.offsets[row];
    const std::int32_t* end = a.rows + a.offsets[row + 1];
    for (std::int64_t k = a.offsets[row + 1]; k < a.offsets[row + 2]; ++k, ++seen) {
      while (candidate < end && *candidate < a.rows[k] - near) ++candidate;
      if (candidate < end && *candidate <= a.rows[k] + near) ++found;
    }
  }
  return 4 * found >= 3 * seen;
}

/// What a thread's share holds of each row of the result, for the rows from `first` on.
struct ShareCounts {
  std::int32_t first = 0;
  std::vector<std::int64_t> counts;
};

/// A counting sort in which every thread has counters of its own, for the rows between the smallest and the
/// largest that it meets: few for a matrix with a band. Bytes: the matrix once and its indices once more for
/// counting, the result once, and some 40 for each counter.
template <class T>
CompressedRows<T> compress_directly(OpenMp& backend, const TransposedEntries<T>& entries, std::int64_t rows) {
  const int threads = backend.threads();
  auto result = uninitialised<T>(backend.device(), rows, entries.count);
  std::vector<ShareCounts> shares(static_cast<std::size_t>(threads));
  const auto range = [&](int t) {
    return std::pair(share_begin(entries.count, t, threads), share_begin(entries.count, t + 1, threads));
  };
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    const auto [begin, end] = range(t);
    if (begin == end) continue;
    const auto [first, last] = std::minmax_element(entries.rows + begin, entries.rows + end);
    ShareCounts share{*first, std::vector<std::int64_t>(static_cast<std::size_t>(*last - *first) + 1, 0)};
    std::int64_t* counts = share.counts.data() - share.first;
    for (std::int64_t k = begin; k < end; ++k) ++counts[entries.rows[k]];
    shares[static_cast<std::size_t>(t)] = std::move(share);
  }
  backend.for_each(rows, [&shares, offsets = result.offsets.data()](std::int64_t row) {
    std::int64_t sum = 0;
    for (ShareCounts& share : shares) {
      const auto place = static_cast<std::size_t>(row - share.first);
      if (row >= share.first && place < share.counts.size()) sum += std::exchange(share.counts[place], sum);
    }
    offsets[row] = sum;
  });
  backend.scan(rows, result.offsets.data(), result.offsets.data());
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    ShareCounts& share = shares[static_cast<std::size_t>(t)];
    const std::int64_t* offsets = result.offsets.data() + share.first;
    for (std::size_t i = 0; i < share.counts.size(); ++i) share.counts[i] += offsets[i];
    std::int64_t* next = share.counts.data() - share.first;
    const auto [begin, end] = range(t);
    entries.for_range(begin, end, [&result, next](std::int32_t row, std::int32_t column, T value) {
      const std::int64_t place = next[row]++;
      result.columns[place] = column;
      result.values[place] = value;
    });
  }
  return result;
}

/// Below this many entries one thread is done before others are awake.
constexpr std::int64_t worth_sharing = 1 << 15;

}  // namespace

template <class Backend, class Entries>
CompressedRows<typename Entries::Value> compress(Backend& backend, const Entries& entries, std::int64_t rows,
                                                 std::int64_t /*columns*/) {
  if constexpr (std::is_same_v<Backend, OpenMp>) {
    if (entries.count > worth_sharing) {
      if constexpr (Entries::columns_ascend) {
        if (is_local(entries)) return compress_directly(backend, entries, rows);
      }
      return compress_by_buckets(backend.device(), backend.threads(), entries, rows);
    }
  }
  return compress_serially(backend.device(), entries, rows);
}

template CompressedRows<float> compress(Serial&, const CooEntries<float>&, std::int64_t, std::int64_t);
template CompressedRows<double> compress(Serial&, const CooEntries<double>&, std::int64_t, std::int64_t);
template CompressedRows<float> compress(Serial&, const TransposedEntries<float>&, std::int64_t, std::int64_t);
template CompressedRows<double> compress(Serial&, const TransposedEntries<double>&, std::int64_t,
                                         std::int64_t);
template CompressedRows<float> compress(Serial&, const TripletEntries<float>&, std::int64_t, std::int64_t);
template CompressedRows<double> compress(Serial&, const TripletEntries<double>&, std::int64_t, std::int64_t);
template CompressedRows<float> compress(OpenMp&, const CooEntries<float>&, std::int64_t, std::int64_t);
template CompressedRows<double> compress(OpenMp&, const CooEntries<double>&, std::int64_t, std::int64_t);
template CompressedRows<float> compress(OpenMp&, const TransposedEntries<float>&, std::int64_t, std::int64_t);
template CompressedRows<double> compress(OpenMp&, const TransposedEntries<double>&, std::int64_t,
                                         std::int64_t);
template CompressedRows<float> compress(OpenMp&, const TripletEntries<float>&, std::int64_t, std::int64_t);
template CompressedRows<double> compress(OpenMp&, const TripletEntries<double>&, std::int64_t, std::int64_t);

}  // namespace echelon
