// SPDX-License-Identifier: BSD-3-Clause
/// Checks of a caller's views.
#pragma once

#include <echelon/error.hpp>
#include <echelon/matrix/dense.hpp>

#include <string>

namespace echelon {

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
