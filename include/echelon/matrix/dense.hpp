// SPDX-License-Identifier: BSD-3-Clause
/// Dense matrices and views of them.
#pragma once

#include <echelon/annotate.hpp>
#include <echelon/array.hpp>
#include <echelon/export.h>

#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace echelon {

enum class Layout { column_major, row_major };

/// View of rows-by-columns elements, which the caller owns and which must outlive the view. Element (i, j) is
/// at `data()[i + j * leading()]` (column-major) or `data()[i * leading() + j]` (row-major). `T` is const for
/// a read-only view. Copying copies the view, not the elements.
template <class T>
class ECHELON_API DenseView {
 public:
  using Value = std::remove_const_t<T>;

  DenseView() = default;
  DenseView(T* data, std::int64_t rows, std::int64_t columns, std::int64_t leading, const Device& device = {},
            Layout layout = Layout::column_major)
      : data_(data), rows_(rows), columns_(columns), leading_(leading), device_(device), layout_(layout) {}
  /// View of a host vector as one column.
  DenseView(std::span<T> host)  // NOLINT(google-explicit-constructor)
      : DenseView(host.data(), static_cast<std::int64_t>(host.size()), 1,
                  host.empty() ? 1 : static_cast<std::int64_t>(host.size())) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  DenseView(std::conditional_t<std::is_const_v<T>, const std::vector<Value>, std::vector<Value>>& host)
      : DenseView(std::span<T>(host)) {}
  /// View of a vector of n elements that are `stride` >= 1 elements apart, as one column.
  [[nodiscard]] static DenseView strided(T* data, std::int64_t n, std::int64_t stride,
                                         const Device& device = {}) {
    return {data, n, 1, stride, device, Layout::row_major};
  }
  /// Read-only view of a writable view's elements.
  template <class U>
  requires(std::is_const_v<T>&& std::is_same_v<U, Value>)
      DenseView(const DenseView<U>& other)  // NOLINT(google-explicit-constructor)
      : DenseView(other.data(), other.rows(), other.columns(), other.leading(), other.device(),
                  other.layout()) {}

  [[nodiscard]] ECHELON_ANYWHERE T* data() const { return data_; }
  [[nodiscard]] ECHELON_ANYWHERE std::int64_t rows() const { return rows_; }
  [[nodiscard]] ECHELON_ANYWHERE std::int64_t columns() const { return columns_; }
  /// Distance between columns (column-major), or between rows (row-major), in elements.
  [[nodiscard]] ECHELON_ANYWHERE std::int64_t leading() const { return leading_; }
  [[nodiscard]] ECHELON_ANYWHERE const Device& device() const { return device_; }
  [[nodiscard]] ECHELON_ANYWHERE Layout layout() const { return layout_; }

  /// Element (i, j) of a host view; neither the indices nor the device are checked.
  [[nodiscard]] T& operator()(std::int64_t i, std::int64_t j) const {
    return layout_ == Layout::column_major ? data_[i + j * leading_] : data_[i * leading_ + j];
  }
  /// First element of column j of a column-major view. Without rows the data pointer may be null and is not
  /// offset.
  [[nodiscard]] T* column(std::int64_t j) const { return rows_ == 0 ? data_ : data_ + j * leading_; }

 private:
  T* data_ = nullptr;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  std::int64_t leading_ = 0;
  Device device_;
  Layout layout_ = Layout::column_major;
};

/// The transpose as a view of the same memory: rows become columns, and column-major becomes row-major.
template <class T>
[[nodiscard]] DenseView<T> transposed(const DenseView<T>& view) {
  const Layout other = view.layout() == Layout::column_major ? Layout::row_major : Layout::column_major;
  return {view.data(), view.columns(), view.rows(), view.leading(), view.device(), other};
}

/// Owns a rows-by-columns matrix, column-major with `leading() == max(rows, 1)`, in a device's memory;
/// uninitialised unless a constructor says otherwise. 8 (double) or 4 (float) bytes an element.
template <class T>
class ECHELON_API Dense {
 public:
  Dense() = default;
  Dense(const Device& device, std::int64_t rows, std::int64_t columns)
      : rows_(rows), columns_(columns), values_(device, checked_count(rows, columns)) {}
  /// Takes ownership of rows * columns elements, column after column. Throws InvalidMatrix for another
  /// number.
  Dense(std::int64_t rows, std::int64_t columns, Array<T> values);
  /// Copies a host vector into a matrix of one column.
  explicit Dense(std::span<const T> host) : Dense(Device(), host) {}
  Dense(const Device& device, std::span<const T> host)
      : rows_(static_cast<std::int64_t>(host.size())), columns_(1), values_(device, host) {}

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  [[nodiscard]] std::int64_t leading() const { return rows_ > 0 ? rows_ : 1; }
  [[nodiscard]] const Device& device() const { return values_.device(); }
  [[nodiscard]] std::size_t bytes() const { return values_.bytes(); }
  [[nodiscard]] T* data() { return values_.data(); }
  [[nodiscard]] const T* data() const { return values_.data(); }
  [[nodiscard]] Dense to(const Device& device) const {
    Dense result;
    result.rows_ = rows_;
    result.columns_ = columns_;
    result.values_ = values_.to(device);
    return result;
  }
  /// The elements, column after column.
  [[nodiscard]] std::vector<T> to_vector() const { return values_.to_vector(); }

  [[nodiscard]] DenseView<T> view() { return {data(), rows_, columns_, leading(), device()}; }
  [[nodiscard]] DenseView<const T> view() const { return {data(), rows_, columns_, leading(), device()}; }
  operator DenseView<T>() { return view(); }              // NOLINT(google-explicit-constructor)
  operator DenseView<const T>() const { return view(); }  // NOLINT(google-explicit-constructor)

  /// Element (i, j) of a host matrix; neither the indices nor the device are checked.
  T& operator()(std::int64_t i, std::int64_t j) { return values_[i + j * leading()]; }
  const T& operator()(std::int64_t i, std::int64_t j) const { return values_[i + j * leading()]; }
  /// Element i in storage order: for a single column, its i-th entry.
  T& operator[](std::int64_t i) { return values_[i]; }
  const T& operator[](std::int64_t i) const { return values_[i]; }

 private:
  static std::int64_t checked_count(std::int64_t rows, std::int64_t columns);

  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  Array<T> values_;
};

extern template class Dense<float>;
extern template class Dense<double>;

}  // namespace echelon
