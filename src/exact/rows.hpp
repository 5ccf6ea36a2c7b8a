// SPDX-License-Identifier: BSD-3-Clause
/// Sparse rows that change their length: the storage of an elimination.
#pragma once

#include "exact/lanes.hpp"
#include "linalg/vector/functors.hpp"

#include <echelon/array.hpp>
#include <echelon/error.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace echelon::mapped {

/// Pointers to rows, for loop bodies. Row r is columns[start[r]], ..., columns[start[r] + length[r] - 1],
/// ascending, with their elements. Its first element is the leading one.
template <class Element>
struct RowsView {
  std::int64_t* start;
  std::int32_t* length;
  std::int32_t* columns;
  Element* elements;

  [[nodiscard]] ECHELON_ANYWHERE std::int32_t lead(std::int32_t row) const { return columns[start[row]]; }
  [[nodiscard]] ECHELON_ANYWHERE Element lead_element(std::int32_t row) const { return elements[start[row]]; }
};

namespace rows_detail {

template <class Element>
struct CompactRow {
  RowsView<Element> from;
  const std::int64_t* start;
  std::int32_t* columns;
  Element* elements;
  template <class Lanes>
  ECHELON_ANYWHERE void operator()(std::int64_t row, Lanes) const {
    for (std::int32_t k = Lanes::lane(); k < from.length[row]; k += Lanes::lanes) {
      columns[start[row] + k] = from.columns[from.start[row] + k];
      elements[start[row] + k] = from.elements[from.start[row] + k];
    }
  }
};

}  // namespace rows_detail

/// Storage of m rows in one pool. A new version of a row is appended to the pool, and its old place is unused
/// until the pool is full: then the rows are copied to a new one, without gaps.
template <class B, class Element>
class RowPool {
 public:
  static constexpr std::size_t bytes_per_element = sizeof(std::int32_t) + sizeof(Element);

  RowPool(B& backend, std::int64_t count)
      : backend_(backend),
        start_(backend.device(), count),
        length_(backend.device(), count),
        widened_(backend.device(), count + 1) {}

  [[nodiscard]] std::int64_t count() const { return length_.size(); }
  [[nodiscard]] const Array<std::int32_t>& length() const { return length_; }
  [[nodiscard]] RowsView<Element> view() {
    return {start_.data(), length_.data(), columns_.data(), elements_.data()};
  }
  [[nodiscard]] std::size_t bytes() const {
    return start_.bytes() + length_.bytes() + widened_.bytes() + columns_.bytes() + elements_.bytes();
  }
  /// Sum of the lengths; `offsets`, if not null, receives the sums before each row. Waits.
  std::int64_t total_length() {
    backend_.for_each(count(), ConvertVector<std::int32_t, std::int64_t>{length_.data(), widened_.data()});
    return backend_.exclusive_scan(count(), widened_.data(), widened_.data());
  }

  /// Reserves memory for `elements` further elements. Throws OutOfMemory, with nothing changed, when a pool
  /// that holds them and the present rows would take more than 90 % of the available memory.
  void reserve(std::int64_t elements) {
    if (used_ + elements <= columns_.size()) return;
    const std::int64_t needed = total_length() + elements;
    std::int64_t capacity = 2 * needed + least_pool;
    if (capacity > worth_checking) {
      const std::size_t available = memory(backend_.device()).available;
      const auto most = static_cast<std::int64_t>(available / 10 * 9 / bytes_per_element);
      if (needed > most) {
        throw OutOfMemory(backend_.device().name(), static_cast<std::size_t>(needed) * bytes_per_element,
                          available);
      }
      capacity = std::min(capacity, most);
    }
    move_to_pool(capacity);
  }

  /// Takes `elements` elements of the unused part of the pool, and returns where they begin.
  std::int64_t append(std::int64_t elements) { return std::exchange(used_, used_ + elements); }

 private:
  static constexpr std::int64_t least_pool = 1024;
  static constexpr std::int64_t worth_checking = 1 << 22;  // elements

  /// Copies the rows to a new pool; the offsets of the rows are in widened_.
  void move_to_pool(std::int64_t capacity) {
    const std::int64_t total = backend_.read(widened_.data() + count());
    Array<std::int32_t> columns(backend_.device(), capacity);
    Array<Element> elements(backend_.device(), capacity);
    for_each_row(backend_, count(), total,
                 rows_detail::CompactRow<Element>{view(), widened_.data(), columns.data(), elements.data()});
    backend_.copy(count(), widened_.data(), start_.data());
    columns_ = std::move(columns);
    elements_ = std::move(elements);
    used_ = total;
  }

  B& backend_;
  Array<std::int64_t> start_;
  Array<std::int32_t> length_;
  Array<std::int64_t> widened_;  // count + 1: lengths, then their sums
  Array<std::int32_t> columns_;
  Array<Element> elements_;
  std::int64_t used_ = 0;
};

}  // namespace echelon::mapped
