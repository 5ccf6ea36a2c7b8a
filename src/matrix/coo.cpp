// SPDX-License-Identifier: BSD-3-Clause
#include "backend/check_same_memory.hpp"
#include "backend/dispatch.hpp"
#include "matrix/convert.hpp"
#include "matrix/shape.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/coo.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <utility>

namespace echelon {

namespace {

template <class T>
void check_entries(const Coo<T>& a) {
  const std::int64_t bad =
      on_target<targets_of<T>>(a.device(), [&]<class Target>() { return first_bad_entry_on<Target>(a); });
  if (bad < 0) return;
  std::int32_t row = 0;
  std::int32_t column = 0;
  memory_detail::copy(Device(), &row, a.device(), a.row_indices().data() + bad, sizeof row);
  memory_detail::copy(Device(), &column, a.device(), a.column_indices().data() + bad, sizeof column);
  throw InvalidMatrix(fmt::format("entry {}: element ({}, {}) of a matrix of {} by {}", bad, row, column,
                                  a.rows(), a.columns()));
}

}  // namespace

template <class T>
Coo<T>::Coo(std::int64_t rows, std::int64_t columns, Array<std::int32_t> row_indices,
            Array<std::int32_t> column_indices, Array<T> values)
    : rows_(rows),
      columns_(columns),
      row_indices_(std::move(row_indices)),
      column_indices_(std::move(column_indices)),
      values_(std::move(values)) {
  check_shape(rows, columns);
  check_row_indices(rows);
  if (row_indices_.size() != entries() || column_indices_.size() != entries()) {
    throw InvalidMatrix(fmt::format("{} row indices and {} column indices for {} values", row_indices_.size(),
                                    column_indices_.size(), entries()));
  }
  if (entries() == 0) return;
  check_same_memory(row_indices_.device(), "the array of row indices", device(), "that of values");
  check_same_memory(column_indices_.device(), "the array of column indices", device(), "that of values");
  check_entries(*this);
}

template <class T>
Coo<T> Coo<T>::unchecked(std::int64_t rows, std::int64_t columns, Array<std::int32_t> row_indices,
                         Array<std::int32_t> column_indices, Array<T> values) {
  Coo result;
  result.rows_ = rows;
  result.columns_ = columns;
  result.row_indices_.swap(row_indices);
  result.column_indices_.swap(column_indices);
  result.values_.swap(values);
  return result;
}

template <class T>
Coo<T> Coo<T>::to(const Device& device) const {
  return unchecked(rows_, columns_, row_indices_.to(device), column_indices_.to(device), values_.to(device));
}

#define ECHELON_INSTANTIATE(T) template class Coo<T>;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
