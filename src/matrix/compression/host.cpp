// SPDX-License-Identifier: BSD-3-Clause
#include "backend/host/host.hpp"

#include "matrix/compression/compress.hpp"
#include "support/first_exception.hpp"

#include <echelon/matrix/scalar.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace echelon {

namespace {

/// Stores an entry in two arrays.
template <class T>
struct PutEntry {
  std::int32_t* columns;
  T* values;
  void operator()(std::int64_t place, std::int32_t column, T value) const {
    columns[place] = column;
    values[place] = value;
  }
};

/// Column and value of an entry whose row is known.
template <class T>
struct InRow {
  std::int32_t column;
  T value;
};

/// Rows up to this length are sorted by counting smaller columns, which has no branches to mispredict.
constexpr std::size_t short_row = 48;

template <class T>
void sort_short_row(InRow<T>* row, std::size_t length) {
  constexpr std::size_t at_once = 8;  // the number of comparisons is a multiple of this: vectors of columns
  std::array<InRow<T>, short_row> entries;
  std::array<std::int32_t, short_row> columns;
  std::array<std::uint8_t, short_row> equal_before = {};
  const std::size_t padded = (length + at_once - 1) / at_once * at_once;
  for (std::size_t k = 0; k < length; ++k) {
    entries[k] = row[k];
    columns[k] = row[k].column;
  }
  for (std::size_t k = length; k < padded; ++k) columns[k] = std::numeric_limits<std::int32_t>::max();
  for (std::size_t k = 0; k < length; ++k) {
    std::uint32_t smaller = 0;
    for (std::size_t other = 0; other < padded; ++other) smaller += columns[other] < columns[k] ? 1U : 0U;
    row[smaller + equal_before[smaller]++] = entries[k];
  }
}

/// Sorts one row by column, stably.
template <class T>
void sort_row(InRow<T>* row, InRow<T>* row_end) {
  const auto ascends = [](const InRow<T>& a, const InRow<T>& b) { return a.column < b.column; };
  if (std::is_sorted(row, row_end, ascends)) return;
  const auto length = static_cast<std::size_t>(row_end - row);
  if (length <= short_row) return sort_short_row(row, length);
  std::stable_sort(row, row_end, ascends);
}

/// A strict weak order of values: by magnitude, then sign; NaNs are equivalent and come last. Complex values
/// are ordered by their real parts, and then by their imaginary ones.
template <class T>
bool goes_before(T a, T b) {
  if constexpr (is_complex<T>) {
    if (goes_before(a.real(), b.real())) return true;
    return !goes_before(b.real(), a.real()) && goes_before(a.imag(), b.imag());
  } else {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a);
    if (std::abs(a) != std::abs(b)) return std::abs(a) < std::abs(b);
    return std::signbit(a) && !std::signbit(b);
  }
}

/// Sorts the values of repeated entries in a sorted row.
template <class T>
void order_repeated(InRow<T>* row, InRow<T>* row_end) {
  while (row != row_end) {
    InRow<T>* next = row + 1;
    while (next != row_end && next->column == row->column) ++next;
    std::sort(row, next, [](const InRow<T>& a, const InRow<T>& b) { return goes_before(a.value, b.value); });
    row = next;
  }
}

/// Copies a sorted row to `target`, at or before the row itself, and sums repeated entries in their order.
/// Returns the end of the copy.
template <class T>
InRow<T>* sum_repeated(const InRow<T>* row, const InRow<T>* row_end, InRow<T>* target) {
  if (row == row_end) return target;
  *target = *row;
  while (++row != row_end) {
    if (row->column == target->column) {
      target->value += row->value;
    } else {
      *++target = *row;
    }
  }
  return target + 1;
}

/// Replaces the length of row i in offsets[i + 1] by the row's begin; the first row begins at `begin`.
void to_begins(std::int64_t rows, std::int64_t begin, std::int64_t* offsets) {
  for (std::int64_t i = 0; i < rows; ++i) begin += std::exchange(offsets[i + 1], begin);
}

/// Stable counting sort of entries into consecutive rows, the first of which begins at `begin`: calls
/// put(position, column, value) and writes offsets[1, rows], the ends of the rows. Rows are numbered from
/// `first_row` on.
template <class Entries, class Put>
void place_entries(const Entries& entries, std::int64_t first_row, std::int64_t rows, std::int64_t begin,
                   std::int64_t* offsets, Put put) {
  using T = typename Entries::Value;
  std::fill_n(offsets + 1, rows, 0);
  std::int64_t* ends = offsets + 1 - first_row;
  entries.for_range(0, entries.count, [=](std::int64_t row, std::int32_t, T) { ++ends[row]; });
  to_begins(rows, begin, offsets);
  entries.for_range(0, entries.count,
                    [=](std::int64_t row, std::int32_t column, T value) { put(ends[row]++, column, value); });
}

/// Sorts contiguous rows from `entries` on and sums their repeated entries. Returns the number of remaining
/// entries. offsets[1, rows] are the ends of the rows, relative to `entries`, before and after.
template <bool in_any_order, class T>
std::int64_t sum_rows(std::int64_t rows, std::int64_t* offsets, InRow<T>* entries) {
  InRow<T>* row = entries;
  InRow<T>* end = entries;
  for (std::int64_t i = 1; i <= rows; ++i) {
    InRow<T>* const row_end = entries + offsets[i];
    sort_row(row, row_end);
    if (in_any_order) order_repeated(row, row_end);
    end = sum_repeated(row, row_end, end);
    offsets[i] = end - entries;
    row = row_end;
  }
  return end - entries;
}

/// Stores an entry in an array of entries.
template <class T>
struct PutInRow {
  InRow<T>* entries;
  void operator()(std::int64_t place, std::int32_t column, T value) const {
    entries[place] = {column, value};
  }
};

template <class T>
void split(std::int64_t count, const InRow<T>* entries, std::int32_t* columns, T* values) {
  for (std::int64_t k = 0; k < count; ++k) {
    columns[k] = entries[k].column;
    values[k] = entries[k].value;
  }
}

template <class Entries>
CompressedRows<typename Entries::Value> compress_serially(const Device& device, const Entries& entries,
                                                          std::int64_t rows) {
  using T = typename Entries::Value;
  if constexpr (Entries::columns_ascend) {
    auto result = uninitialised_rows<T>(device, rows, entries.count);
    result.offsets[0] = 0;
    place_entries(entries, 0, rows, 0, result.offsets.data(),
                  PutEntry<T>{result.columns.data(), result.values.data()});
    return result;
  } else {
    Array<std::int64_t> offsets(device, rows + 1);
    Array<InRow<T>> sorted(device, entries.count);
    offsets[0] = 0;
    place_entries(entries, 0, rows, 0, offsets.data(), PutInRow<T>{sorted.data()});
    const std::int64_t count = sum_rows<Entries::in_any_order>(rows, offsets.data(), sorted.data());
    CompressedRows<T> result{std::move(offsets), Array<std::int32_t>(device, count), Array<T>(device, count)};
    split(count, sorted.data(), result.columns.data(), result.values.data());
    return result;
  }
}

/// First of `count` elements that thread `part` of `parts` processes.
std::int64_t part_begin(std::int64_t count, int part, int parts) {
  return std::min((count + parts - 1) / parts * part, count);
}

/// Buckets of 2^shift consecutive rows each. They are few enough that the write streams of the scatter fit
/// into the TLB and the caches, small enough (about 2^16 entries) that a bucket is sorted in the caches, and
/// numerous enough to balance the load of many threads.
struct BucketPlan {
  static constexpr std::int64_t entries_wanted = 1 << 16;
  static constexpr std::int64_t fewest_buckets = 1 << 6;
  static constexpr std::int64_t most_buckets = 1 << 12;
  int shift = 0;
  std::int64_t buckets = 0;

  BucketPlan(std::int64_t rows, std::int64_t entries) {
    const std::int64_t wanted = std::clamp(entries / entries_wanted, fewest_buckets, most_buckets);
    while ((rows + (std::int64_t{1} << shift) - 1) >> shift > wanted) ++shift;
    buckets = (rows + (std::int64_t{1} << shift) - 1) >> shift;
  }
};

/// Scatters entries to their buckets, stably. Returns the begin of each bucket.
template <class Entries, class T>
std::vector<std::int64_t> fill_buckets(int threads, const Entries& entries, const BucketPlan& plan,
                                       std::int32_t* rows, PutEntry<T> put) {
  const auto buckets = static_cast<std::size_t>(plan.buckets);
  const int shift = plan.shift;
  std::vector<std::vector<std::int64_t>> places(static_cast<std::size_t>(threads),
                                                std::vector<std::int64_t>(buckets, 0));
  std::vector<std::int64_t> starts(buckets + 1, 0);
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static, 1)
    for (int t = 0; t < threads; ++t) {
      std::vector<std::int64_t>& counts = places[static_cast<std::size_t>(t)];
      const std::int64_t end = part_begin(entries.count, t + 1, threads);
      for (std::int64_t k = part_begin(entries.count, t, threads); k < end; ++k) {
        ++counts[static_cast<std::size_t>(entries.row(k) >> shift)];
      }
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
      entries.for_range(part_begin(entries.count, t, threads), part_begin(entries.count, t + 1, threads),
                        [=](std::int32_t row, std::int32_t column, T value) {
                          const std::int64_t place = next[row >> shift]++;
                          rows[place] = row;
                          put(place, column, value);
                        });
    }
  }
  return starts;
}

/// Assigns contiguous ranges of an array to items whose sizes become known out of order: an item waits until
/// the sizes of all items before it are known.
class RangeSequencer {
 public:
  /// Begin of the range of item `position`, of `size` elements. Waits for all items before it. Called once
  /// for each item.
  std::int64_t assign(std::int64_t position, std::int64_t size) {
    for (std::int64_t next = next_; next != position; next = next_) next_.wait(next);
    const std::int64_t begin = end_;
    end_ += size;
    next_ = position + 1;
    next_.notify_all();
    return begin;
  }
  [[nodiscard]] std::int64_t end() const { return end_; }

 private:
  std::atomic<std::int64_t> next_ = 0;  // item whose range is assigned next
  std::int64_t end_ = 0;
};

/// Entries in buckets, or already in rows, stored in the arrays of the result.
template <class T>
struct InBuckets {
  BucketPlan plan;
  std::vector<std::int64_t> starts;  ///< of the buckets
  Array<std::int32_t> rows;          ///< of each entry; empty if the entries are in rows
  CompressedRows<T> arrays;          ///< its offsets are valid if the entries are in rows
};

/// The entries of one bucket.
template <class T>
struct Bucket {
  using Value = T;
  const std::int32_t* rows;
  const std::int32_t* columns;
  const T* values;
  std::int64_t count;
  template <class F>
  void for_range(std::int64_t begin, std::int64_t end, F f) const {
    for (std::int64_t k = begin; k < end; ++k) f(rows[k], columns[k], values[k]);
  }
};

/// Sorts each bucket by rows and columns and sums its repeated entries, in the caches. The result of a bucket
/// is written after that of the previous bucket, in the same arrays: to the place of this bucket's entries or
/// of earlier ones, which have been read by then. Memory movement: the entries are read once, the result is
/// written once.
template <class Entries>
class BucketCompression {
 public:
  using T = typename Entries::Value;

  BucketCompression(const Device& device, std::int64_t rows, InBuckets<T> entries)
      : device_(device), rows_(rows), entries_(std::move(entries)) {}

  CompressedRows<T> operator()(int threads) {
    CompressedRows<T>& result = entries_.arrays;
    result.offsets[0] = 0;
#pragma omp parallel num_threads(threads)
    sort_buckets();
    exception_.rethrow();
    result.columns.shrink(ranges_.end());
    result.values.shrink(ranges_.end());
    return std::move(result);
  }

 private:
  /// Called by all threads of a team. Buckets are taken in ascending order, so that a thread that waits for
  /// its range waits for a bucket that another thread is sorting: no deadlock.
  void sort_buckets() {
    Array<InRow<T>> sorted;
    for (std::int64_t b = next_++; b < entries_.plan.buckets; b = next_++) {
      std::int64_t count = 0;
      exception_.catch_from([&] { count = sort_bucket(b, sorted); });
      put_bucket(b, sorted.data(), count);
    }
  }

  std::int64_t sort_bucket(std::int64_t b, Array<InRow<T>>& sorted) {
    const std::int64_t begin = entries_.starts[static_cast<std::size_t>(b)];
    const std::int64_t count = entries_.starts[static_cast<std::size_t>(b) + 1] - begin;
    if (sorted.size() < count) {
      sorted = Array<InRow<T>>();  // frees the old array before the new one is allocated
      sorted = Array<InRow<T>>(device_, count);
    }
    const std::int32_t* columns = entries_.arrays.columns.data() + begin;
    const T* values = entries_.arrays.values.data() + begin;
    if (entries_.rows.size() > 0) {
      const Bucket<T> bucket{entries_.rows.data() + begin, columns, values, count};
      place_entries(bucket, first_row(b), rows(b), 0, offsets(b), PutInRow<T>{sorted.data()});
    } else {
      for (std::int64_t k = 0; k < count; ++k) sorted[k] = {columns[k], values[k]};
      for (std::int64_t i = 1; i <= rows(b); ++i) offsets(b)[i] -= begin;
    }
    if (Entries::columns_ascend) return count;
    return sum_rows<Entries::in_any_order>(rows(b), offsets(b), sorted.data());
  }

  void put_bucket(std::int64_t b, const InRow<T>* sorted, std::int64_t count) {
    const std::int64_t begin = ranges_.assign(b, count);
    split(count, sorted, entries_.arrays.columns.data() + begin, entries_.arrays.values.data() + begin);
    for (std::int64_t i = 1; i <= rows(b); ++i) offsets(b)[i] += begin;
  }

  [[nodiscard]] std::int64_t first_row(std::int64_t b) const {
    return b << entries_.plan.shift;
  }
  [[nodiscard]] std::int64_t rows(std::int64_t b) const {
    return std::min(rows_ - first_row(b), std::int64_t{1} << entries_.plan.shift);
  }
  /// Offsets from the bucket's first row on.
  [[nodiscard]] std::int64_t* offsets(std::int64_t b) {
    return entries_.arrays.offsets.data() + first_row(b);
  }

  const Device& device_;
  std::int64_t rows_;
  InBuckets<T> entries_;
  std::atomic<std::int64_t> next_ = 0;
  RangeSequencer ranges_;
  FirstException exception_;
};

/// Compresses in two passes: the first scatters the entries to buckets of rows, the second sorts each bucket.
/// Memory movement: the rows once for counting, the entries read and written twice. Allocates the entries'
/// rows in addition to the result.
template <class Entries>
CompressedRows<typename Entries::Value> compress_by_buckets(const Device& device, int threads,
                                                            const Entries& entries, std::int64_t rows) {
  using T = typename Entries::Value;
  InBuckets<T> buckets{BucketPlan(rows, entries.count),
                       {},
                       Array<std::int32_t>(device, entries.count),
                       uninitialised_rows<T>(device, rows, entries.count)};
  buckets.starts = fill_buckets(threads, entries, buckets.plan, buckets.rows.data(),
                                PutEntry<T>{buckets.arrays.columns.data(), buckets.arrays.values.data()});
  return BucketCompression<Entries>(device, rows, std::move(buckets))(threads);
}

/// True if the destinations of most entries are near those of recent entries, so that writing them in the
/// order given stays in the cache. Decided by a sample.
template <class Entries>
bool is_local(const Entries& entries) {
  constexpr std::int64_t samples = 512;
  constexpr std::int64_t window = 64;  // entries before
  constexpr std::int64_t near = 16;    // rows: the indices of a cache line
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

/// Number of entries in each row, among those of one thread, for the rows from `first` on.
struct RowCounts {
  std::int32_t first = 0;
  std::vector<std::int64_t> counts;
};

/// Compresses by a counting sort with counters per thread, for the rows between the smallest and the largest
/// of the thread's entries: few if the matrix has a narrow band. Then sorts rows whose columns do not ascend
/// and sums repeated entries. Memory movement: the entries once and their indices once more for counting, the
/// result once (three times if rows are sorted), and about 40 bytes per counter.
template <class Entries>
CompressedRows<typename Entries::Value> compress_directly(Host& backend, const Entries& entries,
                                                          std::int64_t rows) {
  using T = typename Entries::Value;
  const int threads = backend.threads();
  auto result = uninitialised_rows<T>(backend.device(), rows, entries.count);
  std::vector<RowCounts> parts(static_cast<std::size_t>(threads));
  const auto range = [&](int t) {
    return std::pair(part_begin(entries.count, t, threads), part_begin(entries.count, t + 1, threads));
  };
  const auto count_rows = [&](int t) {
    const auto [begin, end] = range(t);
    if (begin == end) return;
    std::int32_t first = entries.row(begin);
    std::int32_t last = first;
    for (std::int64_t k = begin; k < end; ++k) {
      first = std::min(first, entries.row(k));
      last = std::max(last, entries.row(k));
    }
    RowCounts& part = parts[static_cast<std::size_t>(t)];
    part.first = first;
    part.counts.assign(static_cast<std::size_t>(last - first) + 1, 0);
    std::int64_t* counts = part.counts.data() - part.first;
    for (std::int64_t k = begin; k < end; ++k) ++counts[entries.row(k)];
  };
  FirstException exception;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) exception.catch_from([&] { count_rows(t); });
  exception.rethrow();
  backend.for_each(rows, [&parts, offsets = result.offsets.data()](std::int64_t row) {
    std::int64_t sum = 0;
    for (RowCounts& part : parts) {
      const auto place = static_cast<std::size_t>(row - part.first);
      if (row >= part.first && place < part.counts.size()) sum += std::exchange(part.counts[place], sum);
    }
    offsets[row] = sum;
  });
  backend.scan(rows, result.offsets.data(), result.offsets.data());
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    RowCounts& part = parts[static_cast<std::size_t>(t)];
    const std::int64_t* offsets = result.offsets.data() + part.first;
    for (std::size_t i = 0; i < part.counts.size(); ++i) part.counts[i] += offsets[i];
    std::int64_t* next = part.counts.data() - part.first;
    const auto [begin, end] = range(t);
    const PutEntry<T> put{result.columns.data(), result.values.data()};
    entries.for_range(begin, end, [put, next](std::int32_t row, std::int32_t column, T value) {
      put(next[row]++, column, value);
    });
  }
  if (Entries::columns_ascend) return result;
  InBuckets<T> buckets{BucketPlan(rows, entries.count), {}, {}, std::move(result)};
  for (std::int64_t b = 0; b <= buckets.plan.buckets; ++b) {
    buckets.starts.push_back(buckets.arrays.offsets[std::min(b << buckets.plan.shift, rows)]);
  }
  return BucketCompression<Entries>(backend.device(), rows, std::move(buckets))(threads);
}

/// The first of the ascending columns [columns, end) that is not less than `column`.
inline const std::int32_t* find_place(const std::int32_t* columns, const std::int32_t* end,
                                      std::int32_t column) {
  constexpr std::ptrdiff_t few = 16;  // linear search: its branches are predicted well in similar rows
  if (end - columns > few) return std::lower_bound(columns, end, column);
  while (columns != end && *columns < column) ++columns;
  return columns;
}

/// Rows [begin, end) of the transpose of a square matrix with a symmetric pattern: the columns stay, and
/// entry (i, j) takes the value of entry (j, i). False if an entry has no mirror image.
template <class T>
bool reflect_rows(const TransposedEntries<T>& entries, std::int64_t begin, std::int64_t end,
                  CompressedRows<T>& result) {
  const std::int32_t* columns = entries.rows;
  for (std::int64_t row = begin; row < end; ++row) {
    result.offsets[row] = entries.offsets[row];
    for (std::int64_t k = entries.offsets[row]; k < entries.offsets[row + 1]; ++k) {
      const std::int32_t column = columns[k];
      const std::int32_t* other_end = columns + entries.offsets[column + 1];
      const std::int32_t* image =
          find_place(columns + entries.offsets[column], other_end, static_cast<std::int32_t>(row));
      if (image == other_end || *image != row) return false;
      result.columns[k] = column;
      result.values[k] = entries.values[image - columns];
    }
  }
  return true;
}

/// The transpose of a matrix with a symmetric pattern; nothing if the pattern is not symmetric, which most
/// unsymmetric matrices show after a few rows. The pattern is symmetric if every entry has a mirror image,
/// since different entries have different images. For entries that are local (see is_local). Memory movement:
/// the matrix once and its columns once more, the result once.
template <class T>
std::optional<CompressedRows<T>> compress_by_mirror(Host& backend, const TransposedEntries<T>& entries) {
  constexpr std::int64_t block = 1024;
  const std::int64_t rows = entries.offset_count;
  const std::int64_t blocks = (rows + block - 1) / block;
  auto result = uninitialised_rows<T>(backend.device(), rows, entries.count);
  std::atomic<bool> missing = false;
#pragma omp parallel for num_threads(backend.threads()) schedule(dynamic)
  for (std::int64_t b = 0; b < blocks; ++b) {
    if (missing.load(std::memory_order_relaxed)) continue;
    if (!reflect_rows(entries, b * block, std::min((b + 1) * block, rows), result)) missing = true;
  }
  if (missing) return std::nullopt;
  result.offsets[rows] = entries.count;
  return result;
}

/// Number of entries below which one thread is faster than waking the others.
constexpr std::int64_t worth_threads = 1 << 15;

}  // namespace

template <class Backend, class Entries>
CompressedRows<typename Entries::Value> compress(Backend& backend, const Entries& entries, std::int64_t rows,
                                                 [[maybe_unused]] std::int64_t columns) {
  if (backend.threads() == 1 || entries.count <= worth_threads) {
    return compress_serially(backend.device(), entries, rows);
  }
  const bool few_counters = rows <= entries.count;
  if (!few_counters || !is_local(entries)) {
    return compress_by_buckets(backend.device(), backend.threads(), entries, rows);
  }
  if constexpr (std::is_same_v<Entries, TransposedEntries<typename Entries::Value>>) {
    if (rows == columns) {
      if (auto result = compress_by_mirror(backend, entries)) return std::move(*result);
    }
  }
  return compress_directly(backend, entries, rows);
}

#define ECHELON_INSTANTIATE(T)                                                                         \
  template CompressedRows<T> compress(Host&, const CooEntries<T>&, std::int64_t, std::int64_t);        \
  template CompressedRows<T> compress(Host&, const TransposedEntries<T>&, std::int64_t, std::int64_t); \
  template CompressedRows<T> compress(Host&, const TripletEntries<T>&, std::int64_t, std::int64_t);    \
  template CompressedRows<T> compress(Host&, const UnorderedTriplets<T>&, std::int64_t, std::int64_t);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
