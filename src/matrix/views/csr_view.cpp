// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/views/borrowed_arrays.hpp"

#include <echelon/matrix/csr_view.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>

namespace echelon {

namespace {

template <class V>
std::int64_t size_of(std::span<V> elements) {
  return static_cast<std::int64_t>(elements.size());
}

}  // namespace

template <class T>
CsrView<T>::CsrView(std::int64_t rows, std::int64_t columns, std::span<const std::int64_t> row_offsets,
                    std::span<const std::int32_t> column_indices, std::span<const T> values)
    : CsrView(Csr<T>(rows, columns, borrow(Device(), row_offsets.data(), size_of(row_offsets)),
                     borrow(Device(), column_indices.data(), size_of(column_indices)),
                     borrow(Device(), values.data(), size_of(values)))) {}

template <class T>
CsrView<T>::CsrView(std::int64_t rows, std::int64_t columns, std::span<const std::int32_t> row_offsets,
                    std::span<const std::int32_t> column_indices, std::span<const T> values)
    : CsrView(Csr<T>(rows, columns, widen(Device(), row_offsets.data(), size_of(row_offsets)),
                     borrow(Device(), column_indices.data(), size_of(column_indices)),
                     borrow(Device(), values.data(), size_of(values)))) {}

template <class T>
CsrView<T>::CsrView(const Device& device, std::int64_t rows, std::int64_t columns, std::int64_t nonzeros,
                    const std::int64_t* row_offsets, const std::int32_t* column_indices, const T* values)
    : CsrView(Csr<T>(rows, columns, borrow(device, row_offsets, rows + 1),
                     borrow(device, column_indices, nonzeros), borrow(device, values, nonzeros))) {}

template <class T>
CsrView<T>::CsrView(const Device& device, std::int64_t rows, std::int64_t columns, std::int64_t nonzeros,
                    const std::int32_t* row_offsets, const std::int32_t* column_indices, const T* values)
    : CsrView(Csr<T>(rows, columns, widen(device, row_offsets, std::max<std::int64_t>(rows + 1, 0)),
                     borrow(device, column_indices, nonzeros), borrow(device, values, nonzeros))) {}

template <class T>
CsrView<T> CsrView<T>::unchecked(const Device& device, std::int64_t rows, std::int64_t columns,
                                 std::int64_t nonzeros, const std::int64_t* row_offsets,
                                 const std::int32_t* column_indices, const T* values) {
  return CsrView(Csr<T>::unchecked(rows, columns, borrow(device, row_offsets, rows + 1),
                                   borrow(device, column_indices, nonzeros),
                                   borrow(device, values, nonzeros)));
}

template <class T>
CsrView<T> CsrView<T>::unchecked(const Device& device, std::int64_t rows, std::int64_t columns,
                                 std::int64_t nonzeros, const std::int32_t* row_offsets,
                                 const std::int32_t* column_indices, const T* values) {
  return CsrView(Csr<T>::unchecked(rows, columns, widen(device, row_offsets, rows + 1),
                                   borrow(device, column_indices, nonzeros),
                                   borrow(device, values, nonzeros)));
}

#define ECHELON_INSTANTIATE(T) template class CsrView<T>;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
