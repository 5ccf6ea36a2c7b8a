// SPDX-License-Identifier: BSD-3-Clause
/// Checks of a caller's views: their shape and memory, and whether views share elements.
#pragma once

#include <echelon/error.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace echelon {

namespace overlap_detail {

/// Memory extent of a view: `minor` elements along the contiguous direction, `major` along the other one.
template <class T>
struct MemoryExtent {
  const T* begin;
  std::int64_t minor;
  std::int64_t major;
  std::int64_t leading;
  explicit MemoryExtent(const DenseView<const T>& view)
      : begin(view.data()),
        minor(view.layout() == Layout::column_major ? view.rows() : view.columns()),
        major(view.layout() == Layout::column_major ? view.columns() : view.rows()),
        leading(view.leading()) {}
  [[nodiscard]] bool empty() const { return minor == 0 || major == 0; }
  [[nodiscard]] const T* end() const { return begin + (major - 1) * leading + minor; }
};

}  // namespace overlap_detail

/// Whether the views, of one memory, share an element. Views with different leading dimensions whose memory
/// ranges overlap are assumed to share one.
template <class T>
[[nodiscard]] bool overlap(const DenseView<const T>& one, const DenseView<const T>& other) {
  const overlap_detail::MemoryExtent<T> a(one);
  const overlap_detail::MemoryExtent<T> b(other);
  const std::less<const T*> before;
  if (a.empty() || b.empty() || !before(a.begin, b.end()) || !before(b.begin, a.end())) return false;
  if (a.leading != b.leading || a.leading <= 0) return true;
  const std::int64_t shift = ((b.begin - a.begin) % a.leading + a.leading) % a.leading;
  return shift < a.minor || shift + b.minor > a.leading;
}

/// Whether element (i, j) of both views is the same object, for every i and j. A stride is compared only if
/// there is more than one row or column.
template <class T>
[[nodiscard]] bool same_elements(const DenseView<const T>& a, const DenseView<const T>& b) {
  if (a.data() != b.data() || a.rows() != b.rows() || a.columns() != b.columns()) return false;
  const auto row_step = [](const DenseView<const T>& v) {
    return v.layout() == Layout::column_major ? 1 : v.leading();
  };
  const auto column_step = [](const DenseView<const T>& v) {
    return v.layout() == Layout::column_major ? v.leading() : 1;
  };
  return (a.rows() < 2 || row_step(a) == row_step(b)) &&
         (a.columns() < 2 || column_step(a) == column_step(b));
}

/// Throws InvalidMatrix unless the view has a shape, and memory if it has elements.
template <class T>
void check_view(const DenseView<T>& view, const std::string& name) {
  if (view.rows() < 0 || view.columns() < 0) {
    throw InvalidMatrix(name + " is " + std::to_string(view.rows()) + " by " +
                        std::to_string(view.columns()));
  }
  if (view.data() == nullptr && view.rows() > 0 && view.columns() > 0) {
    throw InvalidMatrix(name + " has elements, but its data is a null pointer");
  }
}

/// Throws InvalidMatrix unless the elements of the view can be written one by one: the columns, or the rows
/// if the layout is row-major, must not share memory.
template <class T>
void check_result_view(const DenseView<T>& view, const std::string& name) {
  check_view(view, name);
  const bool by_columns = view.layout() == Layout::column_major;
  const std::int64_t minor = by_columns ? view.rows() : view.columns();
  const std::int64_t major = by_columns ? view.columns() : view.rows();
  if (major < 2 || view.leading() >= minor) return;
  throw InvalidMatrix(name + " has the leading dimension " + std::to_string(view.leading()) + ", but " +
                      std::to_string(minor) + (by_columns ? " rows" : " columns"));
}

}  // namespace echelon
