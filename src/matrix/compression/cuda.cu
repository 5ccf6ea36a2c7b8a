// SPDX-License-Identifier: BSD-3-Clause
#include "backend/backend.hpp"
#include "backend/cuda/cuda.cuh"
#include "backend/cuda/grid.cuh"
#include "backend/cuda/shared_memory.cuh"
#include "backend/lower_bound.hpp"
#include "backend/store.hpp"
#include "matrix/compression/bucket_sort.cuh"
#include "matrix/compression/radix.hpp"
#include "matrix/compression/symmetric_transpose.cuh"

#include <echelon/matrix/scalar.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <optional>

namespace echelon {

namespace {

/// Grid size: the number of resident blocks of a kernel, at most `most`.
template <class Kernel>
unsigned blocks_for(Kernel kernel, std::int64_t most, unsigned threads, std::size_t shared_bytes) {
  const std::int64_t resident = resident_blocks(kernel, threads, shared_bytes);
  return static_cast<unsigned>(std::clamp<std::int64_t>(most, 1, resident));
}

std::int64_t tiles_of(std::int64_t entries) {
  return (entries + bucket_sort::tile_size - 1) / bucket_sort::tile_size;
}

/// The row in which each tile of entries begins; empty unless entries are transposed.
template <class T>
Array<std::int32_t> rows_of_tiles(Cuda&, const CooEntries<T>&, std::int64_t) {
  return {};
}
template <class T>
Array<std::int32_t> rows_of_tiles(Cuda& backend, const TransposedEntries<T>& entries, std::int64_t tiles) {
  Array<std::int32_t> result(backend.device(), tiles + 1);
  backend.for_each(tiles + 1, bucket_sort::FindTileRow<T>{entries, result.data()});
  return result;
}

struct Most {
  std::int64_t value = 0;
  friend ECHELON_ANYWHERE Most combine(Most a, Most b) { return a.value > b.value ? a : b; }
};

struct CountOf {
  const std::int64_t* counts;
  ECHELON_ANYWHERE Most operator()(std::int64_t i) const { return {counts[i]}; }
};

struct ToUnsigned {
  const std::int64_t* from;
  unsigned* to;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { to[i] = static_cast<unsigned>(from[i]); }
};

/// The two passes of bucket_sort.cuh.
template <class Entries>
class BucketSort {
 public:
  using T = typename Entries::Value;

  BucketSort(Cuda& backend, const Entries& entries, std::int64_t rows, const bucket_sort::Plan& plan)
      : backend_(backend),
        entries_(entries),
        rows_(rows),
        plan_(plan),
        begins_(backend.device(), plan.buckets + 1),
        packed_(backend.device(), entries.count) {}

  /// Compresses; returns no value if a bucket is too large for this method. Synchronises after counting, to
  /// learn that.
  std::optional<CompressedRows<T>> operator()() {
    const CurrentDevice current(backend_.device().id());
    const std::int64_t largest = count_buckets();
    if (largest > bucket_sort::Plan::most_capacity) return std::nullopt;
    plan_.capacity = static_cast<int>(largest);
    fill_buckets();
    auto result = uninitialised_rows<T>(backend_.device(), rows_, entries_.count);
    backend_.write(entries_.count, result.offsets.data() + rows_);
    Array<std::int64_t> sizes(backend_.device(), plan_.buckets + 1);
    sort_buckets(result, sizes);
    if (!Entries::columns_ascend) close_gaps(result, sizes);
    return result;
  }

 private:
  [[nodiscard]] std::int64_t tiles() const { return tiles_of(entries_.count); }
  [[nodiscard]] std::size_t counter_bytes() const { return static_cast<std::size_t>(plan_.buckets) * 4; }

  /// Returns the largest count.
  std::int64_t count_buckets() {
    backend_.fill(plan_.buckets, std::int64_t{0}, begins_.data());
    launch(bucket_sort::count_buckets, tiles(), bucket_sort::scatter_block, counter_bytes(), entries_.count,
           entries_.rows, plan_.row_bits, static_cast<int>(plan_.buckets),
           reinterpret_cast<unsigned long long*>(begins_.data()));
    Array<Most> largest(backend_.device(), 1);
    backend_.reduce(plan_.buckets, CountOf{begins_.data()}, Store<Most>{largest.data()});
    backend_.scan(plan_.buckets, begins_.data(), begins_.data());
    return backend_.read(largest.data()).value;
  }

  void fill_buckets() {
    Array<unsigned> next(backend_.device(), plan_.buckets);
    backend_.for_each(plan_.buckets, ToUnsigned{begins_.data(), next.data()});
    const Array<std::int32_t> tile_rows = rows_of_tiles(backend_, entries_, tiles());
    launch(bucket_sort::fill_buckets<Entries>, tiles(), bucket_sort::scatter_block, counter_bytes(), entries_,
           tile_rows.data(), plan_, next.data(), packed_.data());
  }

  void sort_buckets(CompressedRows<T>& rows, Array<std::int64_t>& sizes) {
    namespace bs = bucket_sort;
    const bs::Sorted<T> result{rows_, rows.offsets.data(), rows.columns.data(), rows.values.data(),
                               sizes.data()};
    const std::size_t bytes = bs::BucketMemory::bytes(plan_);
    allow_shared_memory(bs::sort_buckets<T>);
    bs::sort_buckets<T><<<static_cast<unsigned>(plan_.buckets), bs::sort_block, bytes, stream()>>>(
        packed_.data(), begins_.data(), plan_, result);
    check(cudaGetLastError());
  }

  /// Moves buckets together if repeated entries were summed. Synchronises.
  void close_gaps(CompressedRows<T>& rows, Array<std::int64_t>& sizes) {
    namespace bs = bucket_sort;
    const std::int64_t total = backend_.exclusive_scan(plan_.buckets, sizes.data(), sizes.data());
    if (total == entries_.count) return;
    const bs::Sorted<T> from{rows_, rows.offsets.data(), rows.columns.data(), rows.values.data(), nullptr};
    Array<std::int32_t> columns(backend_.device(), total);
    Array<T> values(backend_.device(), total);
    bs::close_gaps<T><<<static_cast<unsigned>(plan_.buckets), bs::sort_block, 0, stream()>>>(
        begins_.data(), sizes.data(), plan_.row_bits, from, columns.data(), values.data());
    check(cudaGetLastError());
    backend_.write(total, rows.offsets.data() + rows_);
    rows.columns.swap(columns);
    rows.values.swap(values);
  }

  /// Launches as many blocks as are resident, at most `most`.
  template <class Kernel, class... Arguments>
  void launch(Kernel kernel, std::int64_t most, int block, std::size_t shared_bytes,
              const Arguments&... arguments) {
    allow_shared_memory(kernel);
    const auto threads = static_cast<unsigned>(block);
    kernel<<<blocks_for(kernel, most, threads, shared_bytes), threads, shared_bytes, stream()>>>(
        arguments...);
    check(cudaGetLastError());
  }

  Cuda& backend_;
  const Entries& entries_;
  std::int64_t rows_;
  bucket_sort::Plan plan_;
  Array<std::int64_t> begins_;
  Array<bucket_sort::PackedEntry<T>> packed_;
};

/// The transpose of a matrix with a symmetric pattern; nothing if the pattern is not symmetric. Synchronises.
template <class T>
std::optional<CompressedRows<T>> compress_by_mirror(Cuda& backend, const TransposedEntries<T>& entries) {
  const CurrentDevice current(backend.device().id());
  auto result = uninitialised_rows<T>(backend.device(), entries.offset_count, entries.count);
  const std::int64_t tiles = tiles_of(entries.count);
  const Array<std::int32_t> tile_rows = rows_of_tiles(backend, entries, tiles);
  Array<unsigned> missing(backend.device(), 1);
  backend.fill(1, 0u, missing.data());
  const auto kernel = mirror::reflect<T>;
  constexpr int block = bucket_sort::scatter_block;
  kernel<<<blocks_for(kernel, tiles, block, 0), block, 0, stream()>>>(
      entries, tile_rows.data(), result.columns.data(), result.values.data(), missing.data());
  check(cudaGetLastError());
  if (backend.read(missing.data()) > 0) return std::nullopt;
  backend.copy(entries.offset_count + 1, entries.offsets, result.offsets.data());
  return result;
}

/// Properties that adjacent entries of a list violate, as a set of bits.
struct Disorder {
  static constexpr unsigned by_rows = 1;     ///< rows, and columns within rows, do not descend
  static constexpr unsigned by_columns = 2;  ///< columns, and rows within columns, do not descend
  static constexpr unsigned distinct = 4;    ///< no entry is repeated at once
  unsigned bits = 0;
  friend ECHELON_ANYWHERE Disorder combine(Disorder a, Disorder b) { return {a.bits | b.bits}; }
};

struct DisorderOf {
  const std::int32_t* rows;
  const std::int32_t* columns;
  ECHELON_ANYWHERE Disorder operator()(std::int64_t k) const {
    const std::int32_t row = rows[k];
    const std::int32_t next_row = rows[k + 1];
    const std::int32_t column = columns[k];
    const std::int32_t next_column = columns[k + 1];
    unsigned bits = 0;
    if (next_row < row || (next_row == row && next_column < column)) bits |= Disorder::by_rows;
    if (next_column < column || (next_column == column && next_row < row)) bits |= Disorder::by_columns;
    if (next_row == row && next_column == column) bits |= Disorder::distinct;
    return {bits};
  }
};

/// Disorder of a list of entries. Inspects the first entries only if they are in neither order. Synchronises.
template <class T>
unsigned disorder_of(Cuda& backend, const CooEntries<T>& entries) {
  constexpr std::int64_t first = 1 << 14;
  constexpr unsigned both = Disorder::by_rows | Disorder::by_columns;
  Array<Disorder> found(backend.device(), 1);
  const std::int64_t pairs = entries.count - 1;
  for (const std::int64_t n : {std::min(first, pairs), pairs}) {
    backend.reduce(n, DisorderOf{entries.rows, entries.columns}, Store<Disorder>{found.data()});
    const unsigned bits = backend.read(found.data()).bits;
    if (n == pairs || (bits & both) == both) return bits;
  }
  return both;
}

/// offsets[i] = the first of `count` ascending numbers that is not less than i.
struct FindFirst {
  std::int64_t count;
  const std::int32_t* numbers;
  std::int64_t* offsets;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { offsets[i] = lower_bound(numbers, 0, count, i); }
};

Array<std::int64_t> offsets_of(Cuda& backend, std::int64_t n, std::int64_t count,
                               const std::int32_t* numbers) {
  Array<std::int64_t> offsets(backend.device(), n + 1);
  backend.for_each(n + 1, FindFirst{count, numbers, offsets.data()});
  return offsets;
}

template <class T>
CompressedRows<T> compress_ordered(Cuda& backend, const CooEntries<T>& entries, std::int64_t rows,
                                   bool repeated) {
  CompressedRows<T> result{offsets_of(backend, rows, entries.count, entries.rows),
                           Array<std::int32_t>(backend.device(), entries.count),
                           Array<T>(backend.device(), entries.count), repeated};
  backend.copy(entries.count, entries.columns, result.columns.data());
  backend.copy(entries.count, entries.values, result.values.data());
  return result;
}

template <class Entries>
CompressedRows<typename Entries::Value> compress_disordered(Cuda& backend, const Entries& entries,
                                                            std::int64_t rows, std::int64_t columns) {
  const bucket_sort::Plan plan(rows, columns, entries.count, !Entries::columns_ascend);
  if (entries.count > 0 && plan.works(entries.count)) {
    if (auto result = BucketSort<Entries>(backend, entries, rows, plan)()) return std::move(*result);
  }
  return compress_by_radix(backend, entries, rows, columns);
}

}  // namespace

template <class Backend, class Entries>
CompressedRows<typename Entries::Value> compress(Backend& backend, const Entries& entries, std::int64_t rows,
                                                 std::int64_t columns) {
  using T = typename Entries::Value;
  if constexpr (is_complex<T>) return compress_by_radix(backend, entries, rows, columns);
  if (entries.count == 0) return compress_disordered(backend, entries, rows, columns);
  if constexpr (Entries::columns_ascend) {
    if (rows == columns) {
      if (auto result = compress_by_mirror(backend, entries)) return std::move(*result);
    }
  } else {
    const unsigned disorder = disorder_of(backend, entries);
    if ((disorder & Disorder::by_rows) == 0) {
      return compress_ordered(backend, entries, rows, (disorder & Disorder::distinct) != 0);
    }
    if ((disorder & (Disorder::by_columns | Disorder::distinct)) == 0) {
      const Array<std::int64_t> offsets = offsets_of(backend, columns, entries.count, entries.columns);
      return compress(
          backend, TransposedEntries<T>(columns, offsets.data(), entries.rows, entries.values, entries.count),
          rows, columns);
    }
  }
  return compress_disordered(backend, entries, rows, columns);
}

#define ECHELON_INSTANTIATE(T)                                                                  \
  template CompressedRows<T> compress(Cuda&, const CooEntries<T>&, std::int64_t, std::int64_t); \
  template CompressedRows<T> compress(Cuda&, const TransposedEntries<T>&, std::int64_t, std::int64_t);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
