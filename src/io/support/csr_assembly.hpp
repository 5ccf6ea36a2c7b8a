// SPDX-License-Identifier: BSD-3-Clause
/// Assembly of a Csr in two passes over the entries: the first counts the entries of each row, the second
/// stores them.
#pragma once

#include "support/first_exception.hpp"
#include "support/scalar.hpp"

#include <echelon/matrix/csr.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace echelon::io {

/// Sorts the elements of one row by column; elements of the same column keep their order. In place, with 8
/// bytes of scratch memory per element.
template <class T>
void sort_row(std::span<std::int32_t> columns, std::span<T> values, std::vector<std::size_t>& from) {
  from.resize(columns.size());
  std::iota(from.begin(), from.end(), std::size_t{0});
  std::sort(from.begin(), from.end(), [columns](std::size_t a, std::size_t b) {
    return columns[a] != columns[b] ? columns[a] < columns[b] : a < b;
  });
  // Element from[k] belongs at k: each cycle of that permutation is rotated once.
  for (std::size_t start = 0; start < from.size(); ++start) {
    const std::int32_t column = columns[start];
    const T value = values[start];
    std::size_t k = start;
    while (from[k] != start) {
      const std::size_t source = from[k];
      columns[k] = columns[source];
      values[k] = values[source];
      from[k] = k;
      k = source;
    }
    columns[k] = column;
    values[k] = value;
    from[k] = k;
  }
}

/// Usage: count() every entry, allocate(), place() every entry in the same order, sort_and_sum() or
/// sort_rows(), finish(). The peak is the Csr with each duplicate as an element of its own.
template <class T>
class CsrAssembly {
 public:
  CsrAssembly(std::int64_t rows, std::int64_t columns)
      : rows_(rows), columns_(columns), offsets_(Device(), rows + 1) {
    std::fill_n(offsets_.data(), rows + 1, 0);
  }
  /// Starts from entries that are counted and placed; the elements of a row may be in any order.
  CsrAssembly(std::int64_t columns, Array<std::int64_t> offsets, Array<std::int32_t> indices, Array<T> values)
      : rows_(offsets.size() - 1),
        columns_(columns),
        offsets_(std::move(offsets)),
        indices_(std::move(indices)),
        values_(std::move(values)) {}

  void count(std::int32_t row) { ++offsets_[row + 1]; }

  void allocate() {
    std::int64_t total = 0;
    for (std::int64_t& offset : offsets_.span().subspan(1)) total += std::exchange(offset, total);
    indices_ = Array<std::int32_t>(Device(), total);
    values_ = Array<T>(Device(), total);
  }

  /// Returns false if more entries come than were counted.
  bool place(std::int32_t row, std::int32_t column, T value) {
    const std::int64_t k = offsets_[row + 1]++;  // first the row's begin, and its end after its last entry
    if (k >= values_.size()) return false;
    indices_[k] = column;
    values_[k] = value;
    return true;
  }

  struct Duplicates {
    std::int64_t off_diagonal = 0;
    std::int64_t on_diagonal = 0;
    /// Row and column of a sum that overflows T.
    std::optional<std::pair<std::int64_t, std::int64_t>> overflow;
  };

  Duplicates sort_and_sum(int threads) {
    Duplicates duplicates;
    if (sort_rows(threads)) duplicates = sum_duplicates();
    return duplicates;
  }

  /// Returns whether any row has two elements in the same column.
  bool sort_rows(int threads) {
    bool repeated = false;
    FirstException exception;
#pragma omp parallel num_threads(threads) reduction(|| : repeated)
    {
      std::vector<std::size_t> scratch;
#pragma omp for schedule(dynamic, 1024)
      for (std::int64_t row = 0; row < rows_; ++row) {
        const auto columns = row_columns(row);
        exception.catch_from([&] {
          if (!std::is_sorted(columns.begin(), columns.end())) sort_row(columns, row_values(row), scratch);
        });
        repeated = repeated || std::adjacent_find(columns.begin(), columns.end()) != columns.end();
      }
    }
    exception.rethrow();
    return repeated;
  }

  /// The matrix. Requires sorted rows without duplicates, and columns in range.
  Csr<T> finish() && {
    return Csr<T>::unchecked(rows_, columns_, std::move(offsets_), std::move(indices_), std::move(values_));
  }

 private:
  std::span<std::int32_t> row_columns(std::int64_t row) {
    return indices_.span().subspan(static_cast<std::size_t>(offsets_[row]), row_length(row));
  }
  std::span<T> row_values(std::int64_t row) {
    return values_.span().subspan(static_cast<std::size_t>(offsets_[row]), row_length(row));
  }
  [[nodiscard]] std::size_t row_length(std::int64_t row) const {
    return static_cast<std::size_t>(offsets_[row + 1] - offsets_[row]);
  }

  Duplicates sum_duplicates() {
    Duplicates duplicates;
    std::int64_t kept = 0;
    std::int64_t begin = 0;
    for (std::int64_t row = 0; row < rows_; ++row) {
      const std::int64_t end = offsets_[row + 1];
      const std::int64_t row_begin = kept;
      for (std::int64_t k = begin; k < end; ++k) {
        if (kept > row_begin && indices_[kept - 1] == indices_[k]) {
          values_[kept - 1] += values_[k];
          ++(row == indices_[k] ? duplicates.on_diagonal : duplicates.off_diagonal);
          if (!is_finite(values_[kept - 1])) duplicates.overflow = {row, indices_[k]};
        } else {
          indices_[kept] = indices_[k];
          values_[kept++] = values_[k];
        }
      }
      offsets_[row + 1] = kept;
      begin = end;
    }
    indices_.shrink(kept);
    values_.shrink(kept);
    return duplicates;
  }

  std::int64_t rows_;
  std::int64_t columns_;
  Array<std::int64_t> offsets_;
  Array<std::int32_t> indices_;
  Array<T> values_;
};

}  // namespace echelon::io
