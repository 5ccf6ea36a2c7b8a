// SPDX-License-Identifier: BSD-3-Clause
#include "backend/openmp/openmp.hpp"
#include "backend/serial/serial.hpp"
#include "matrix/compress.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
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

/// Rows up to this length are sorted by counting smaller columns, which has no branches to mispredict.
constexpr std::int64_t short_row = 48;

template <class T>
using RowScratch = std::vector<std::pair<std::int32_t, T>>;

template <class T>
void sort_short_row(std::int32_t* columns, T* values, std::int64_t length, RowScratch<T>& scratch) {
  std::array<std::int32_t, short_row> column;
  std::copy_n(columns, length, column.begin());
  for (std::size_t k = 0; k < scratch.size(); ++k) scratch[k].second = values[k];
  for (std::int64_t k = 0; k < length; ++k) {
    const std::int32_t own = column[k];
    std::int32_t place = 0;
    for (std::int64_t other = 0; other < k; ++other) place += column[other] <= own ? 1 : 0;
    for (std::int64_t other = k + 1; other < length; ++other) place += column[other] < own ? 1 : 0;
    columns[place] = own;
    values[place] = scratch[static_cast<std::size_t>(k)].second;
  }
}

/// Sorts one row by column, keeping the order of equal ones.
template <class T>
void sort_row(std::int32_t* columns, T* values, std::int64_t length, RowScratch<T>& scratch) {
  if (std::is_sorted(columns, columns + length)) return;
  scratch.resize(static_cast<std::size_t>(length));
  if (length <= short_row) return sort_short_row(columns, values, length, scratch);
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
               T* values, RowScratch<T>& scratch) {
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
  RowScratch<T> scratch;
  result.repeated =
      sort_rows(rows, 0, result.offsets.data(), result.columns.data(), result.values.data(), scratch);
  return result;
}

/// The part of `count` things that thread `part` of `parts` takes begins here.
std::int64_t share_begin(std::int64_t count, int part, int parts) {
  return std::min((count + parts - 1) / parts * part, count);
}

/// Whether any of f(0, scratch), ..., f(n - 1, scratch) is true; all are called, by several threads.
template <class T, class F>
bool any_of(int threads, std::int64_t n, F f) {
  bool any = false;
  std::exception_ptr failure;  // no memory for a long row's scratch
#pragma omp parallel num_threads(threads) reduction(|| : any)
  {
    RowScratch<T> scratch;
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t i = 0; i < n; ++i) {
      try {
        any = f(i, scratch) || any;
      } catch (...) {
#pragma omp critical(echelon_compress)
        failure = std::current_exception();
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
  return any;
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
  result.repeated = any_of<T>(threads, plan.buckets, [&](std::int64_t b, RowScratch<T>& scratch) {
    const std::int64_t begin = starts[static_cast<std::size_t>(b)];
    const std::int64_t count = starts[static_cast<std::size_t>(b) + 1] - begin;
    const std::int64_t first_row = b << plan.shift;
    const std::int64_t row_count = std::min(rows - first_row, std::int64_t{1} << plan.shift);
    std::int64_t* offsets = result.offsets.data() + first_row;
    place_entries(EntryRange<T>{sorted.data() + begin, count}, first_row, row_count, begin, offsets,
                  result.columns.data(), result.values.data());
    return !Entries::columns_ascend &&
           sort_rows(row_count, begin, offsets, result.columns.data(), result.values.data(), scratch);
  });
  return result;
}

/// Whether most entries go near to where one of those shortly before went, so that putting them there one
/// after the other stays in the cache. Looks at a sample.
template <class Entries>
bool is_local(const Entries& entries) {
  constexpr std::int64_t samples = 512;
  constexpr std::int64_t window = 64;  // entries before
  constexpr std::int64_t near = 16;    // rows: what a cache line of indices holds
  const std::int64_t step = (entries.count - window) / samples;
  std::int64_t found = 0;
  for (std::int64_t s = 0; s < samples; ++s) {
    const std::int64_t k = window + s * step;
    bool is_near = false;
    for (std::int64_t before = k - window; before < k && !is_near; ++before) {
      is_near = std::abs(std::int64_t{entries.row(k)} - entries.row(before)) <= near;
    }
    found += is_near ? 1 : 0;
  }
  return 4 * found >= 3 * samples;
}

/// What a thread's share holds of each row of the result, for the rows from `first` on.
struct ShareCounts {
  std::int32_t first = 0;
  std::vector<std::int64_t> counts;
};

/// A counting sort in which every thread has counters of its own, for the rows between the smallest and the
/// largest that it meets: few for a matrix with a band. Bytes: the matrix once and its indices once more for
/// counting, the result once, and some 40 for each counter.
template <class Entries>
CompressedRows<typename Entries::Value> compress_directly(OpenMp& backend, const Entries& entries,
                                                          std::int64_t rows) {
  using T = typename Entries::Value;
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
    std::int32_t first = entries.row(begin);
    std::int32_t last = first;
    for (std::int64_t k = begin; k < end; ++k) {
      first = std::min(first, entries.row(k));
      last = std::max(last, entries.row(k));
    }
    ShareCounts& share = shares[static_cast<std::size_t>(t)];
    share.first = first;
    share.counts.assign(static_cast<std::size_t>(last - first) + 1, 0);
    std::int64_t* counts = share.counts.data() - share.first;
    for (std::int64_t k = begin; k < end; ++k) ++counts[entries.row(k)];
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
  if (Entries::columns_ascend) return result;
  constexpr std::int64_t block = 1024;
  result.repeated =
      any_of<T>(threads, (rows + block - 1) / block, [&](std::int64_t b, RowScratch<T>& scratch) {
        const std::int64_t* offsets = result.offsets.data() + b * block;
        return sort_rows(std::min(block, rows - b * block), offsets[0], offsets, result.columns.data(),
                         result.values.data(), scratch);
      });
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
      const bool few_counters = rows <= entries.count;
      if (few_counters && is_local(entries)) return compress_directly(backend, entries, rows);
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
