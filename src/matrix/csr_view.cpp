// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/csr_view.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace echelon {

namespace {

void check_array(const void* data, std::int64_t size) {
  if (data != nullptr || size <= 0) return;
  throw InvalidMatrix("an array of " + std::to_string(size) + " elements is given by a null pointer");
}

/// Borrows const elements as the mutable array that Csr keeps; a view only hands out a const Csr.
template <class V>
Array<V> borrow(const Device& device, const V* data, std::int64_t size) {
  check_array(data, size);
  return Array<V>::borrow(device, const_cast<V*>(data), size);
}

Array<std::int64_t> widen(const Device& device, const std::int32_t* row_offsets, std::int64_t size) {
  check_array(row_offsets, size);
  return at_api_boundary([&]() -> Array<std::int64_t> {
    std::vector<std::int32_t> narrow(static_cast<std::size_t>(size));
    memory_detail::copy(Device::serial(), narrow.data(), device, row_offsets,
                        narrow.size() * sizeof(std::int32_t));
    const std::vector<std::int64_t> wide(narrow.begin(), narrow.end());
    return {device, std::span<const std::int64_t>(wide)};
  });
}

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

template class CsrView<float>;
template class CsrView<double>;

}  // namespace echelon
