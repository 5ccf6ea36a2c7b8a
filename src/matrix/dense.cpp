// SPDX-License-Identifier: BSD-3-Clause
#include <echelon/dense.hpp>

#include <limits>

#include <echelon/error.hpp>
#include <fmt/format.h>

namespace echelon {

template <class T>
std::int64_t Dense<T>::checked_count(std::int64_t rows, std::int64_t columns) {
  if (rows < 0 || columns < 0) {
    throw InvalidMatrix(fmt::format("a dense matrix of {} by {} elements", rows, columns));
  }
  if (columns > 0 && rows > std::numeric_limits<std::int64_t>::max() / 16 / columns) {
    throw InvalidMatrix(fmt::format("a dense matrix of {} by {} elements is more than can be addressed",
                                    rows, columns));
  }
  return rows * columns;
}

template class Dense<float>;
template class Dense<double>;

}  // namespace echelon
