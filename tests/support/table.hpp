// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace echelon::test {

/// A small matrix as a row-major table, from which references are computed by their definitions.
struct Table {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<double> values;
  std::vector<bool> stored;

  Table(std::int64_t rows_, std::int64_t columns_)
      : rows(rows_),
        columns(columns_),
        values(static_cast<std::size_t>(rows_ * columns_), 0.0),
        stored(static_cast<std::size_t>(rows_ * columns_), false) {}
  /// Zeros are not stored.
  Table(std::int64_t rows_, std::int64_t columns_, std::vector<double> elements) : Table(rows_, columns_) {
    values = std::move(elements);
    for (std::size_t e = 0; e < values.size(); ++e) stored[e] = values[e] != 0;
  }

  [[nodiscard]] std::size_t place(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>(i * columns + j);
  }
  [[nodiscard]] double operator()(std::int64_t i, std::int64_t j) const { return values[place(i, j)]; }
  void set(std::int64_t i, std::int64_t j, double value) {
    values[place(i, j)] = value;
    stored[place(i, j)] = true;
  }

  template <class T>
  [[nodiscard]] Csr<T> csr() const {
    std::vector<Triplet<T>> triplets;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        if (!stored[place(i, j)]) continue;
        triplets.push_back(
            {static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), static_cast<T>((*this)(i, j))});
      }
    }
    return Csr<T>::from_triplets(rows, columns, triplets);
  }
};

/// Up to 7 by 7 small integers, so that sums are exact; with explicit zeros, empty rows and columns, and
/// optionally a NaN or Inf.
inline Table random_table(std::mt19937& random, bool symmetric, bool nonfinite) {
  const auto up_to = [&](std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(random);
  };
  const std::int64_t rows = up_to(7);
  Table table(rows, symmetric ? rows : up_to(7));
  const std::int64_t density = up_to(10);
  const std::int64_t diagonal = up_to(12) - 3;
  for (std::int64_t i = 0; i < table.rows; ++i) {
    for (std::int64_t j = symmetric ? i : 0; j < table.columns; ++j) {
      if (up_to(10) >= density) continue;
      const auto value = static_cast<double>(i == j ? diagonal + up_to(2) : up_to(4) - 2);
      table.set(i, j, value);
      if (symmetric) table.set(j, i, value);
    }
  }
  if (nonfinite && table.rows > 0 && table.columns > 0) {
    table.set(
        up_to(table.rows - 1), up_to(table.columns - 1),
        up_to(1) == 0 ? std::numeric_limits<double>::quiet_NaN() : -std::numeric_limits<double>::infinity());
  }
  return table;
}

}  // namespace echelon::test
