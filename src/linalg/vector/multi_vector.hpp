// SPDX-License-Identifier: BSD-3-Clause
/// Several vectors that an operation treats together.
#pragma once

#include "backend/columns.hpp"

#include <echelon/array.hpp>
#include <echelon/device.hpp>
#include <echelon/matrix/dense.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace echelon {

/// Number of vectors from which reading a matrix for all of them together saves no more time.
inline constexpr std::size_t usual_columns = 8;

/// View of at most `most_columns` vectors of `rows()` elements in the memory of one device, which an
/// operation treats together.
///
/// A column is given by its address: the columns of one call may be those of a matrix (base and stride), of a
/// MultiVectorArray, or of workspaces in unrelated places, and a column that has converged is left out
/// without moving the others.
template <class T>
class MultiVector {
 public:
  MultiVector() = default;
  /// View without columns, for add().
  explicit MultiVector(std::int64_t rows) : rows_(rows) {}
  /// View of one vector.
  MultiVector(T* vector, std::int64_t rows) : rows_(rows) { add(vector); }
  /// View of `columns` vectors, each of which begins `stride` elements after the one before.
  MultiVector(T* first, std::int64_t rows, std::int64_t stride, int columns) : rows_(rows) {
    for (int c = 0; c < columns; ++c) add(rows == 0 ? first : first + c * stride);
  }
  /// Read-only view of the same columns.
  template <class U>
  requires(std::is_same_v<const U, T>) MultiVector(const MultiVector<U>& other)  // NOLINT
      : rows_(other.rows()) {
    for (int c = 0; c < other.columns(); ++c) add(other[c]);
  }

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] int columns() const { return columns_; }
  /// First element of column c.
  [[nodiscard]] T* operator[](int c) const { return vectors_[static_cast<std::size_t>(c)]; }
  /// View of column c alone.
  [[nodiscard]] MultiVector column(int c) const { return {(*this)[c], rows_}; }
  /// View of the first columns.
  [[nodiscard]] MultiVector first(int columns) const {
    MultiVector some(rows_);
    for (int c = 0; c < columns; ++c) some.add((*this)[c]);
    return some;
  }
  /// Appends a column.
  void add(T* vector) { vectors_[static_cast<std::size_t>(columns_++)] = vector; }

  /// Columns from c on, at most `most`, that form a column-major matrix: they begin at equal distances of at
  /// least rows().
  [[nodiscard]] DenseView<T> matrix(int c, int most, const Device& device) const {
    const std::int64_t least = std::max<std::int64_t>(rows_, 1);
    const std::int64_t stride = c + 1 < columns_ ? (*this)[c + 1] - (*this)[c] : least;
    if (stride < least) return {(*this)[c], rows_, 1, least, device};
    int end = c + 1;
    while (end < std::min(columns_, c + most) && (*this)[end] - (*this)[end - 1] == stride) ++end;
    return {(*this)[c], rows_, end - c, stride, device};
  }

 private:
  std::int64_t rows_ = 0;
  int columns_ = 0;
  std::array<T*, most_columns> vectors_{};
};

/// Array of n x k elements, the memory of a MultiVector. Each column begins at a multiple of 64 bytes.
template <class T>
class MultiVectorArray {
 public:
  MultiVectorArray() = default;
  MultiVectorArray(const Device& device, std::int64_t rows, int columns = 1)
      : device_(device), rows_(rows), columns_(columns), values_(device, size(rows, columns)) {}

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::size_t bytes() const { return values_.bytes(); }
  /// First element of column 0.
  [[nodiscard]] T* data() { return values_.data(); }

  /// Allocates memory for this many columns if there is less, whose contents are then lost.
  void make_room(int columns) {
    if (columns <= columns_) return;
    columns_ = 0;
    values_ = Array<T>();
    values_ = Array<T>(device_, size(rows_, columns));
    columns_ = columns;
  }
  /// View of the first columns.
  [[nodiscard]] MultiVector<T> first(int columns) { return {data(), rows_, stride(rows_), columns}; }

 private:
  /// Distance between columns in elements.
  static std::int64_t stride(std::int64_t rows) {
    constexpr auto unit = std::max<std::int64_t>(64 / static_cast<std::int64_t>(sizeof(T)), 1);
    return (rows + unit - 1) / unit * unit;
  }
  static std::int64_t size(std::int64_t rows, int columns) {
    return columns == 0 ? 0 : (columns - 1) * stride(rows) + rows;
  }

  Device device_;
  std::int64_t rows_ = 0;
  int columns_ = 0;
  Array<T> values_;
};

/// Calls f(R, Z) with column-major matrices of at most `most` columns, which together are r and z.
template <class T, class F>
void for_matrices(const MultiVector<const T>& r, const MultiVector<T>& z, int most, const Device& device,
                  F f) {
  for (int c = 0; c < r.columns();) {
    const int columns =
        static_cast<int>(std::min(r.matrix(c, most, device).columns(), z.matrix(c, most, device).columns()));
    f(r.matrix(c, columns, device), z.matrix(c, columns, device));
    c += columns;
  }
}

}  // namespace echelon
