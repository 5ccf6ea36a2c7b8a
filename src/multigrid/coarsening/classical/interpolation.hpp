// SPDX-License-Identifier: BSD-3-Clause
/// Prolongations from a splitting: rows of weights, computed in parallel and collected in a sparse matrix.
#pragma once

#include "backend/store.hpp"
#include "multigrid/coarsening/classical/interpolate_point.hpp"
#include "multigrid/coarsening/classical/row_map.hpp"
#include "multigrid/coarsening/classical/two_paths.hpp"
#include "multigrid/coarsening/classical/weights.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#ifdef __CUDACC__
#include "multigrid/coarsening/classical/warp_rows.cuh"
#endif

namespace echelon::multigrid::classical {

/// Rows of a prolongation while it is made.
template <class T>
struct PaddedRows {
  std::int64_t width = 0;
  Array<std::int64_t> counts;
  Array<std::int32_t> columns;
  Array<T> values;

  PaddedRows(const Device& device, std::int64_t rows, std::int64_t width_)
      : width(width_),
        counts(device, rows + 1),
        columns(device, rows * width_),
        values(device, rows * width_) {}
  [[nodiscard]] PaddedView<T> view() { return {width, counts.data(), columns.data(), values.data()}; }
};

/// Computes the rows of a list of fine points.
template <class T, class Row, class C>
struct InterpolateListed {
  Row row;
  SplitMatrix<T> matrix;
  RowMap map;
  PaddedView<T> rows;
  const std::int32_t* list;
  std::uint8_t* is_long;
  ECHELON_ANYWHERE void operator()(std::int64_t place) const {
    const std::int64_t r = list[place];
    C candidates;
    is_long[place] = interpolate_row(row, matrix, map[r], candidates, rows, r) ? 0 : 1;
  }
};

/// Sizes of the hash tables of long rows.
template <class Row>
struct TableSize {
  Row row;
  RowMap map;
  const std::int32_t* list;
  std::int64_t coarse;
  std::int64_t* sizes;
  ECHELON_ANYWHERE void operator()(std::int64_t place) const {
    const std::int64_t bound = row.bound(map[list[place]]);
    const std::int64_t needed = 2 * (bound < coarse ? bound : coarse);
    std::int64_t size = 64;
    while (size < needed) size *= 2;
    sizes[place] = size;
  }
};

/// Computes a row with many candidates, in a hash table.
template <class T, class Row>
struct InterpolateLong {
  Row row;
  SplitMatrix<T> matrix;
  RowMap map;
  PaddedView<T> rows;
  const std::int32_t* list;
  const std::int64_t* offsets;  ///< first element of each table
  std::int64_t first;           ///< offset of the first table
  std::int32_t* columns;
  double* sums;
  ECHELON_ANYWHERE void operator()(std::int64_t place) const {
    const std::int64_t r = list[place];
    const std::int64_t table = offsets[place] - first;
    TableCandidates candidates(offsets[place + 1] - offsets[place], columns + table, sums + table);
    interpolate_row(row, matrix, map[r], candidates, rows, r);
  }
};

/// Computes the `count` rows of a list with hash tables in memory, some rows at a time.
template <class B, class T, class Row>
void interpolate_long_rows(B& backend, const Row& row, const SplitMatrix<T>& matrix, RowMap map,
                           std::int64_t coarse, const PaddedView<T>& rows, const std::int32_t* list,
                           std::int64_t count) {
  constexpr std::int64_t slots_at_a_time = 1 << 24;
  const Device& device = backend.device();
  Array<std::int64_t> offsets(device, count + 1);
  backend.for_each(count, TableSize<Row>{row, map, list, coarse, offsets.data()});
  const std::int64_t slots = backend.exclusive_scan(count, offsets.data(), offsets.data());
  const std::int64_t parts = std::min(count, (slots + slots_at_a_time - 1) / slots_at_a_time);
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t begin = count * part / parts;
    const std::int64_t end = count * (part + 1) / parts;
    const std::int64_t first = backend.read(offsets.data() + begin);
    const std::int64_t size = backend.read(offsets.data() + end) - first;
    Array<std::int32_t> columns(device, size);
    Array<double> sums(device, size);
    backend.fill(size, TableCandidates::no_column, columns.data());
    backend.for_each(end - begin,
                     InterpolateLong<T, Row>{row, matrix, map, rows, list + begin, offsets.data() + begin,
                                             first, columns.data(), sums.data()});
  }
}

/// Computes the `count` rows of a list, first with local containers of candidates and then, where these are
/// full, with hash tables. `flags` has `count` elements of scratch. Waits for the number of long rows.
template <class B, class T, class Row>
void interpolate_listed(B& backend, const Row& row, const SplitMatrix<T>& matrix, RowMap map,
                        std::int64_t coarse, const PaddedView<T>& rows, const Array<std::int32_t>& list,
                        std::int64_t count, std::uint8_t* flags) {
  if (count == 0) return;
  backend.for_each(count,
                   InterpolateListed<T, Row, LocalCandidates>{row, matrix, map, rows, list.data(), flags});
  Array<std::int32_t> long_rows(backend.device(), count);
  const std::int64_t long_count = backend.select(count, flags, list.data(), long_rows.data());
  if (long_count == 0) return;
  interpolate_long_rows(backend, row, matrix, map, coarse, rows, long_rows.data(), long_count);
}

/// True if most rows of a matrix have few candidates and a separate loop for these rows pays on the backend.
template <class B>
bool starts_with_few(const B& backend, std::int64_t rows, std::int64_t elements) {
  return !backend.device().on_host() && elements < FewCandidates::capacity * rows;
}

/// Computes the rows of `count` points, one after the other in each thread.
template <class B, class T, class Row>
void interpolate_points(B& backend, std::int64_t count,
                        const InterpolatePoint<T, Row, LocalCandidates>& interpolate) {
  backend.for_each(count, interpolate);
}

/// Computes `count` rows. `coarse` is the number of coarse points; `has_few` says that most rows have few
/// candidates.
template <class B, class T, class Row>
void interpolate_rows(B& backend, const Row& row, const SplitMatrix<T>& matrix, RowMap map,
                      std::int64_t count, std::int64_t coarse, const PaddedView<T>& rows, bool has_few) {
  const Device& device = backend.device();
  Array<std::uint8_t> is_long(device, count);
  Array<std::int32_t> numbers(device, count);
  Array<std::int32_t> list(device, count);
  if (has_few) {
    backend.for_each(count, InterpolatePoint<T, Row, FewCandidates>{row, matrix, map, rows, is_long.data()});
  } else {
    interpolate_points(backend, count,
                       InterpolatePoint<T, Row, LocalCandidates>{row, matrix, map, rows, is_long.data()});
  }
  backend.for_each(count, Iota{numbers.data()});
  const std::int64_t left = backend.select(count, is_long.data(), numbers.data(), list.data());
  if (has_few) {
    interpolate_listed(backend, row, matrix, map, coarse, rows, list, left, is_long.data());
  } else if (left > 0) {
    interpolate_long_rows(backend, row, matrix, map, coarse, rows, list.data(), left);
  }
}

/// Computes beta_k + m_k, m_k, and the number of strong coarse neighbours, for each fine point k.
template <class T>
struct SumStrong {
  SplitMatrix<T> matrix;
  Extension extension;
  T* sums;
  T* pivots;
  T* shares;
  std::int64_t* counts;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    std::int64_t coarse = 0;
    std::int64_t fine = 0;
    double coarse_sum = 0;
    double fine_sum = 0;
    const bool is_row_fine = matrix.coarse_index[i] == fine_index;
    for (std::int64_t k = matrix.a.begin(i); is_row_fine && k < matrix.a.end(i); ++k) {
      if (matrix.strong[k] == 0) continue;
      const std::int32_t index = matrix.coarse_index[matrix.a.column(k)];
      if (index >= 0) {
        coarse_sum += static_cast<double>(matrix.a.values[k]);
        ++coarse;
      } else if (index == fine_index) {
        fine_sum += static_cast<double>(matrix.a.values[k]);
        ++fine;
      }
    }
    const double share = extension == Extension::mean && fine > 0 ? fine_sum / static_cast<double>(fine) : 0;
    sums[i] = static_cast<T>(coarse_sum);
    pivots[i] = static_cast<T>(coarse_sum + share);
    shares[i] = static_cast<T>(share);
    counts[i] = coarse;
  }
};

template <class T>
struct CopyStrongCoarse {
  SplitMatrix<T> matrix;
  const std::int64_t* offsets;
  std::int32_t* columns;
  T* values;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    std::int64_t place = offsets[i];
    if (place == offsets[i + 1]) return;
    for (std::int64_t k = matrix.a.begin(i); k < matrix.a.end(i); ++k) {
      const std::int32_t index = matrix.coarse_index[matrix.a.column(k)];
      if (matrix.strong[k] == 0 || index < 0) continue;
      columns[place] = index;
      values[place] = matrix.a.values[k];
      ++place;
    }
  }
};

/// Storage of A^s_FC and of the sums beta and m that extended interpolation needs.
template <class T>
struct StrongCoarse {
  Array<std::int64_t> offsets;
  Array<std::int32_t> columns;
  Array<T> values;
  Array<T> sums;
  Array<T> pivots;
  Array<T> shares;
  [[nodiscard]] StrongCoarseView<T> view() const {
    return {offsets.data(), columns.data(), values.data(), sums.data(), pivots.data(), shares.data()};
  }
};

template <class B, class T>
StrongCoarse<T> extract_strong_coarse(B& backend, const SplitMatrix<T>& matrix, std::int64_t n,
                                      Extension extension) {
  const Device& device = backend.device();
  StrongCoarse<T> result{Array<std::int64_t>(device, n + 1),
                         {},
                         {},
                         Array<T>(device, n),
                         Array<T>(device, n),
                         Array<T>(device, n)};
  backend.for_each(n, SumStrong<T>{matrix, extension, result.sums.data(), result.pivots.data(),
                                   result.shares.data(), result.offsets.data()});
  const std::int64_t elements = backend.exclusive_scan(n, result.offsets.data(), result.offsets.data());
  result.columns = Array<std::int32_t>(device, elements);
  result.values = Array<T>(device, elements);
  backend.for_each(
      n, CopyStrongCoarse<T>{matrix, result.offsets.data(), result.columns.data(), result.values.data()});
  return result;
}

/// Computes `count` rows by extended interpolation, for a matrix with n rows.
template <class B, class T>
void interpolate_extended(B& backend, const SplitMatrix<T>& matrix, std::int64_t n, Extension extension,
                          RowMap map, std::int64_t count, std::int64_t coarse, const PaddedView<T>& rows,
                          bool has_few) {
  const StrongCoarse<T> strong_coarse = extract_strong_coarse(backend, matrix, n, extension);
  interpolate_rows(backend, ExtendedRow<T>{matrix, strong_coarse.view(), extension}, matrix, map, count,
                   coarse, rows, has_few);
}

/// Sets pass 0 for coarse points, and marks the fine points of the first pass, which depend on a coarse one:
/// a GPU computes their rows in full warps.
template <class T>
struct BeginPasses {
  SplitMatrix<T> matrix;
  PaddedView<T> rows;
  std::int32_t* passes;
  std::uint8_t* is_first;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::int32_t coarse = matrix.coarse_index[i];
    rows.counts[i] = coarse >= 0 ? 1 : 0;
    if (coarse >= 0) {
      rows.columns[i * rows.width] = coarse;
      rows.values[i * rows.width] = 1;
    }
    passes[i] = coarse >= 0 ? 0 : PassRow<T>::not_interpolated;
    is_first[i] = coarse == fine_index && depends_on_coarse(i) ? 1 : 0;
  }

 private:
  [[nodiscard]] ECHELON_ANYWHERE bool depends_on_coarse(std::int64_t i) const {
    bool found = false;
    for (std::int64_t k = matrix.a.begin(i); k < matrix.a.end(i); ++k) {
      const bool is_coarse = matrix.coarse_index[matrix.a.column(k)] >= 0;  // in any case: loads then overlap
      found = found || (matrix.strong[k] != 0 && is_coarse);
    }
    return found;
  }
};

/// Marks the fine points without a pass.
struct MarkLeft {
  const std::int32_t* coarse_index;
  const std::int32_t* passes;
  std::int32_t not_interpolated;
  std::uint8_t* is_left;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    is_left[i] = coarse_index[i] == fine_index && passes[i] == not_interpolated ? 1 : 0;
  }
};

/// Records the pass in which points were interpolated.
template <class T>
struct EndPass {
  PaddedView<T> rows;
  const std::int32_t* list;
  std::int32_t pass;
  std::int32_t* passes;
  std::uint8_t* is_left;
  ECHELON_ANYWHERE void operator()(std::int64_t place) const {
    const std::int32_t i = list[place];
    is_left[place] = rows.counts[i] == 0 ? 1 : 0;
    if (rows.counts[i] > 0) passes[i] = pass;
  }
};

/// Multipass interpolation of all n rows, until a pass reaches no further point. Points that no path of
/// strong dependences connects to a coarse point have empty rows.
template <class B, class T>
void interpolate_in_passes(B& backend, const SplitMatrix<T>& matrix, std::int64_t n, std::int64_t coarse,
                           const PaddedView<T>& rows, bool has_few) {
  const Device& device = backend.device();
  Array<std::int32_t> passes(device, n);
  Array<std::int32_t> list(device, n);
  Array<std::int32_t> spare(device, n);
  Array<std::uint8_t> flags(device, n);
  const RowMap all{nullptr};
  // Lists the marked points.
  const auto list_marked = [&] {
    backend.for_each(n, Iota{spare.data()});
    return backend.select(n, flags.data(), spare.data(), list.data());
  };
  // Makes one pass over the first `count` points of `list`; marks those that remain.
  const auto interpolate_pass = [&](std::int32_t pass, std::int64_t count) {
    if (count == 0) return;
    const PassRow<T> row{matrix, rows, pass, passes.data()};
    if (has_few) {
      backend.for_each(count, InterpolateListed<T, PassRow<T>, FewCandidates>{row, matrix, all, rows,
                                                                              list.data(), flags.data()});
      const std::int64_t others = backend.select(count, flags.data(), list.data(), spare.data());
      interpolate_listed(backend, row, matrix, all, coarse, rows, spare, others, flags.data());
    } else {
      interpolate_listed(backend, row, matrix, all, coarse, rows, list, count, flags.data());
    }
    backend.for_each(count, EndPass<T>{rows, list.data(), pass, passes.data(), flags.data()});
  };
  backend.for_each(n, BeginPasses<T>{matrix, rows, passes.data(), flags.data()});
  interpolate_pass(1, list_marked());
  backend.for_each(n,
                   MarkLeft{matrix.coarse_index, passes.data(), PassRow<T>::not_interpolated, flags.data()});
  std::int64_t left = list_marked();
  std::int64_t before = n + 1;
  for (std::int32_t pass = 2; left > 0 && left < before; ++pass) {
    interpolate_pass(pass, left);
    list.swap(spare);
    before = left;
    left = backend.select(left, flags.data(), spare.data(), list.data());
  }
}

template <class T>
struct CopyRow {
  PaddedView<T> rows;
  const std::int64_t* offsets;
  std::int32_t* columns;
  T* values;
  ECHELON_ANYWHERE void operator()(std::int64_t r) const {
    const std::int64_t first = offsets[r];
    for (std::int64_t e = 0; e < offsets[r + 1] - first; ++e) {
      columns[first + e] = rows.columns[r * rows.width + e];
      values[first + e] = rows.values[r * rows.width + e];
    }
  }
};

/// Writes the values of a row into a known pattern. Weights of other columns are dropped, and the rest is
/// rescaled so that the sum of the row is unchanged.
template <class T>
struct WriteKnown {
  PaddedView<T> rows;
  const std::int64_t* offsets;
  const std::int32_t* columns;
  T* values;
  ECHELON_ANYWHERE void operator()(std::int64_t r) const {
    const std::int64_t end = r * rows.width + rows.counts[r];
    std::int64_t e = r * rows.width;
    std::int64_t found = 0;
    double all = 0;
    double kept = 0;
    for (std::int64_t k = offsets[r]; k < offsets[r + 1]; ++k) {
      for (; e < end && rows.columns[e] < columns[k]; ++e) all += static_cast<double>(rows.values[e]);
      const bool is_known = e < end && rows.columns[e] == columns[k];
      values[k] = is_known ? rows.values[e++] : T{0};
      all += static_cast<double>(values[k]);
      kept += static_cast<double>(values[k]);
      found += is_known ? 1 : 0;
    }
    for (; e < end; ++e) all += static_cast<double>(rows.values[e]);
    if (found == rows.counts[r] || kept == 0) return;
    const double restore = all / kept;
    for (std::int64_t k = offsets[r]; k < offsets[r + 1]; ++k) {
      values[k] = static_cast<T>(rounded_product(static_cast<double>(values[k]), restore));
    }
  }
};

/// Collects the rows in a sparse matrix. Overwrites their counts.
template <class B, class T>
Csr<T> collect_rows(B& backend, PaddedRows<T> rows, std::int64_t columns) {
  const Device& device = backend.device();
  const std::int64_t n = rows.counts.size() - 1;
  const std::int64_t elements = backend.exclusive_scan(n, rows.counts.data(), rows.counts.data());
  Array<std::int32_t> column_indices(device, elements);
  Array<T> values(device, elements);
  backend.for_each(n, CopyRow<T>{rows.view(), rows.counts.data(), column_indices.data(), values.data()});
  return Csr<T>::unchecked(n, columns, std::move(rows.counts), std::move(column_indices), std::move(values));
}

}  // namespace echelon::multigrid::classical
