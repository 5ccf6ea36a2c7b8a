// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/row_blocks.hpp"

#include <echelon/csr.hpp>
#include <echelon/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace echelon {

namespace {

/// Triplets bucketed by row, each row sorted by column, equal places in the order given.
template <class T>
std::vector<Triplet<T>> sorted_by_row(std::int64_t rows, const std::vector<Triplet<T>>& triplets) {
  Array<std::int64_t> start(Device(), rows + 1);
  std::fill_n(start.data(), rows + 1, 0);
  for (const auto& t : triplets) ++start[t.row + std::int64_t{1}];
  for (std::int64_t i = 0; i < rows; ++i) start[i + 1] += start[i];
  Array<std::int64_t> next = start;
  std::vector<Triplet<T>> sorted(triplets.size());
  for (const auto& t : triplets) sorted[static_cast<std::size_t>(next[t.row]++)] = t;
  for (std::int64_t i = 0; i < rows; ++i) {
    std::stable_sort(sorted.begin() + start[i], sorted.begin() + start[i + 1],
                     [](const auto& a, const auto& b) { return a.column < b.column; });
  }
  return sorted;
}

void check_shape(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t most_columns = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t most_rows = std::numeric_limits<std::int64_t>::max() / 16;
  if (rows < 0 || columns < 0) throw InvalidMatrix(fmt::format("a matrix of {} by {}", rows, columns));
  if (rows > most_rows) throw InvalidMatrix(fmt::format("{} rows are more than can be addressed", rows));
  if (columns > most_columns) {
    throw InvalidMatrix(fmt::format("{} columns: a 32-bit column index counts to {}", columns, most_columns));
  }
}

}  // namespace

template <class T>
Csr<T>::Csr() : row_offsets_({0}) {}

template <class T>
Csr<T>::Csr(std::int64_t rows, std::int64_t columns, Array<std::int64_t> row_offsets,
            Array<std::int32_t> column_indices, Array<T> values)
    : rows_(rows),
      columns_(columns),
      row_offsets_(std::move(row_offsets)),
      column_indices_(std::move(column_indices)),
      values_(std::move(values)) {
  check_shape(rows, columns);
  const auto at = [this](const auto& array) { return same_memory(array.device(), device()); };
  if (!at(row_offsets_) || (!at(column_indices_) && nonzeros() > 0)) {
    throw DeviceMismatch(fmt::format("a sparse matrix with offsets on {}, columns on {} and values on {}",
                                     row_offsets_.device().name(), column_indices_.device().name(),
                                     device().name()));
  }
  if (row_offsets_.size() != rows + 1) {
    throw InvalidMatrix(
        fmt::format("{} rows need {} row offsets, not {}", rows, rows + 1, row_offsets_.size()));
  }
  if (column_indices_.size() != values_.size()) {
    throw InvalidMatrix(
        fmt::format("{} column indices for {} values", column_indices_.size(), values_.size()));
  }
  if (device().on_host()) {
    check();
  } else {
    row_blocks_ = make_row_blocks(rows, nonzeros(), row_offsets_);
  }
}

template <class T>
Csr<T> Csr<T>::unchecked(std::int64_t rows, std::int64_t columns, Array<std::int64_t> row_offsets,
                         Array<std::int32_t> column_indices, Array<T> values) {
  Csr result;
  result.rows_ = rows;
  result.columns_ = columns;
  result.row_offsets_ = std::move(row_offsets);
  result.column_indices_ = std::move(column_indices);
  result.values_ = std::move(values);
  if (!result.device().on_host()) {
    result.row_blocks_ = make_row_blocks(rows, result.nonzeros(), result.row_offsets_);
  }
  return result;
}

template <class T>
void Csr<T>::check() const {
  const auto offsets = row_offsets_.span();
  const auto indices = column_indices_.span();
  if (offsets.front() != 0 || offsets.back() != nonzeros()) {
    throw InvalidMatrix(fmt::format("row offsets run from {} to {}, not from 0 to the {} nonzeros",
                                    offsets.front(), offsets.back(), nonzeros()));
  }
  for (std::int64_t i = 0; i < rows_; ++i) {
    const std::int64_t begin = row_offsets_[i];
    const std::int64_t end = row_offsets_[i + 1];
    if (begin > end || end > nonzeros()) {
      throw InvalidMatrix(fmt::format("row {}: its offsets are {} and {}", i, begin, end));
    }
    std::int64_t previous = -1;
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int32_t column = indices[static_cast<std::size_t>(k)];
      if (column < 0 || column >= columns_) {
        throw InvalidMatrix(
            fmt::format("row {}: column {} of a matrix with {} columns", i, column, columns_));
      }
      if (column <= previous) {
        throw InvalidMatrix(
            fmt::format("row {}: column {} follows column {}; columns must ascend", i, column, previous));
      }
      previous = column;
    }
  }
}

template <class T>
Csr<T> Csr<T>::from_triplets(std::int64_t rows, std::int64_t columns,
                             const std::vector<Triplet<T>>& triplets) {
  check_shape(rows, columns);
  for (const auto& t : triplets) {
    if (t.row < 0 || t.row >= rows || t.column < 0 || t.column >= columns) {
      throw InvalidMatrix(
          fmt::format("element ({}, {}) of a matrix of {} by {}", t.row, t.column, rows, columns));
    }
  }
  std::vector<Triplet<T>> sorted = sorted_by_row(rows, triplets);
  std::size_t count = 0;
  for (const auto& t : sorted) {
    if (count > 0 && sorted[count - 1].row == t.row && sorted[count - 1].column == t.column) {
      sorted[count - 1].value += t.value;
    } else {
      sorted[count++] = t;
    }
  }
  const Device host;
  Array<std::int64_t> row_offsets(host, rows + 1);
  std::fill_n(row_offsets.data(), rows + 1, 0);
  Array<std::int32_t> column_indices(host, static_cast<std::int64_t>(count));
  Array<T> values(host, static_cast<std::int64_t>(count));
  for (std::size_t k = 0; k < count; ++k) {
    ++row_offsets[sorted[k].row + std::int64_t{1}];
    column_indices[static_cast<std::int64_t>(k)] = sorted[k].column;
    values[static_cast<std::int64_t>(k)] = sorted[k].value;
  }
  for (std::int64_t i = 0; i < rows; ++i) row_offsets[i + 1] += row_offsets[i];
  return {rows, columns, std::move(row_offsets), std::move(column_indices), std::move(values)};
}

template <class T>
Csr<T> Csr<T>::to(const Device& device) const {
  Csr result;
  result.rows_ = rows_;
  result.columns_ = columns_;
  result.row_offsets_ = row_offsets_.to(device);
  result.column_indices_ = column_indices_.to(device);
  result.values_ = values_.to(device);
  if (!device.on_host()) result.row_blocks_ = make_row_blocks(rows_, nonzeros(), result.row_offsets_);
  return result;
}

template class Csr<float>;
template class Csr<double>;

}  // namespace echelon
