// SPDX-License-Identifier: BSD-3-Clause
#include <echelon/error.hpp>
#include <echelon/matrix/dense.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <limits>
#include <utility>

namespace echelon {

template <class T>
std::int64_t Dense<T>::checked_count(std::int64_t rows, std::int64_t columns) {
  if (rows < 0 || columns < 0) {
    throw InvalidMatrix(fmt::format("a dense matrix of {} by {} elements", rows, columns));
  }
  if (columns > 0 && rows > std::numeric_limits<std::int64_t>::max() / 16 / columns) {
    throw InvalidMatrix(
        fmt::format("a dense matrix of {} by {} elements is more than can be addressed", rows, columns));
  }
  return rows * columns;
}

template <class T>
Dense<T>::Dense(std::int64_t rows, std::int64_t columns, Array<T> values)
    : rows_(rows), columns_(columns), values_(std::move(values)) {
  if (values_.size() != checked_count(rows, columns)) {
    throw InvalidMatrix(
        fmt::format("{} elements for a dense matrix of {} by {}", values_.size(), rows, columns));
  }
}

#define ECHELON_INSTANTIATE(T) template class Dense<T>;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
