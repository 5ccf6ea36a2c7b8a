// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/shape.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

#include <limits>

namespace echelon {

namespace {
constexpr std::int64_t most_indices = std::numeric_limits<std::int32_t>::max();
}

void check_shape(std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t most_rows = std::numeric_limits<std::int64_t>::max() / 16;
  if (rows < 0 || columns < 0) throw InvalidMatrix(fmt::format("a matrix of {} by {}", rows, columns));
  if (rows > most_rows) throw InvalidMatrix(fmt::format("{} rows are more than can be addressed", rows));
  if (columns > most_indices) {
    throw InvalidMatrix(fmt::format("{} columns: a 32-bit column index counts to {}", columns, most_indices));
  }
}

void check_row_indices(std::int64_t rows) {
  if (rows > most_indices) {
    throw InvalidMatrix(fmt::format("{} rows: a 32-bit row index counts to {}", rows, most_indices));
  }
}

void require_square(std::int64_t rows, std::int64_t columns, std::string_view who_needs) {
  if (rows == columns) return;
  throw DimensionMismatch(fmt::format("A is {} by {}; {} a square matrix", rows, columns, who_needs));
}

}  // namespace echelon
