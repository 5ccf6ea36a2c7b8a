// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "backend/backend.hpp"
#include "backend/check_same_memory.hpp"
#include "backend/host/host.hpp"
#include "matrix/compression/compress.hpp"
#include "matrix/compression/merge_duplicates.hpp"
#include "matrix/row_blocks.hpp"
#include "matrix/shape.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/csr.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <memory>
#include <utility>

namespace echelon {

namespace {

template <class T>
void check_triplets(std::int64_t rows, std::int64_t columns, const std::vector<Triplet<T>>& triplets) {
  FirstIndex bad;
  Host(Device()).reduce(
      static_cast<std::int64_t>(triplets.size()),
      [&](std::int64_t k) {
        const Triplet<T>& t = triplets[static_cast<std::size_t>(k)];
        const bool good = t.row >= 0 && t.row < rows && t.column >= 0 && t.column < columns;
        return good ? FirstIndex{} : FirstIndex{k};
      },
      [&](FirstIndex first) { bad = first; });
  if (bad.value == FirstIndex::none) return;
  const Triplet<T>& t = triplets[static_cast<std::size_t>(bad.value)];
  throw InvalidMatrix(
      fmt::format("element ({}, {}) of a matrix of {} by {}", t.row, t.column, rows, columns));
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
  check_same_memory(row_offsets_.device(), "the array of row offsets", device(), "that of values");
  if (nonzeros() > 0) {
    check_same_memory(column_indices_.device(), "the array of column indices", device(), "that of values");
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
    prepare_row_blocks();
  }
}

template <class T>
Csr<T> Csr<T>::unchecked(std::int64_t rows, std::int64_t columns, Array<std::int64_t> row_offsets,
                         Array<std::int32_t> column_indices, Array<T> values) {
  Csr result;
  result.rows_ = rows;
  result.columns_ = columns;
  result.row_offsets_.swap(row_offsets);
  result.column_indices_.swap(column_indices);
  result.values_.swap(values);
  result.prepare_row_blocks();
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
  return at_api_boundary([&] {
    check_triplets(rows, columns, triplets);
    Host backend{Device()};
    return merge_repeated(backend, columns, compress(backend, TripletEntries<T>(triplets), rows, columns));
  });
}

template <class T>
Csr<T> Csr<T>::to(const Device& device) const {
  Csr result;
  result.rows_ = rows_;
  result.columns_ = columns_;
  result.row_offsets_ = row_offsets_.to(device);
  result.column_indices_ = column_indices_.to(device);
  result.values_ = values_.to(device);
  if (same_memory(device, this->device())) {
    result.row_blocks_ = row_blocks_;
  } else {
    result.prepare_row_blocks();
  }
  return result;
}

template <class T>
void Csr<T>::prepare_row_blocks() {
  if (device().kind() == DeviceKind::cuda) row_blocks_ = std::make_shared<LazyRowBlocks>();
}

#define ECHELON_INSTANTIATE(T) template class Csr<T>;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
