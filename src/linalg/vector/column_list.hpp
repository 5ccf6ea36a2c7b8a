// SPDX-License-Identifier: BSD-3-Clause
/// Records of the columns that an operation treats together.
#pragma once

#include "backend/columns.hpp"

#include <array>
#include <cstddef>
#include <span>

namespace echelon {

/// List of at most `most_columns` records, one for each column: its vectors, and what is known of it. Does
/// not allocate. A MultiVector is the list of the vectors' addresses.
template <class Record>
class ColumnList {
 public:
  ColumnList() = default;
  /// make(c) for c = 0, ..., columns - 1.
  template <class Make>
  ColumnList(std::size_t columns, Make make) {
    for (std::size_t c = 0; c < columns; ++c) add(make(c));
  }
  /// Appends a record.
  void add(const Record& record) { records_[count_++] = record; }

  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] Record* begin() { return records_.data(); }
  [[nodiscard]] Record* end() { return records_.data() + count_; }
  [[nodiscard]] const Record& operator[](std::size_t c) const { return records_[c]; }
  [[nodiscard]] std::span<const Record> span() const { return {records_.data(), count_}; }

 private:
  std::array<Record, most_columns> records_{};
  std::size_t count_ = 0;
};

}  // namespace echelon
