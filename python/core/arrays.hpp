// SPDX-License-Identifier: BSD-3-Clause
/// Arrays of Python as views of the library, and arrays of the library as NumPy arrays.
#pragma once

#include <echelon/error.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace echelon::python {

namespace nb = nanobind;

/// Device in whose memory an array is.
template <class NdArray>
[[nodiscard]] Device device_of(const NdArray& array) {
  switch (array.device_type()) {
    case nb::device::cpu::value:
      return Device();
    case nb::device::cuda::value:
      return Device::cuda(array.device_id());
    default:
      throw DeviceMismatch("an array is neither in the host's memory nor in that of an NVIDIA GPU");
  }
}

/// View of a vector, as one column, or of a matrix, in place. Throws InvalidMatrix for strides that no layout
/// has; the Python code copies such arrays first.
template <class T, class NdArray>
[[nodiscard]] DenseView<T> view_of(const NdArray& array) {
  const auto extent = [&](std::size_t i) { return static_cast<std::int64_t>(array.shape(i)); };
  const Device device = device_of(array);
  T* data = array.data();
  if (array.ndim() == 1) {
    const std::int64_t n = extent(0);
    if (n <= 1 || array.stride(0) == 1) return {data, n, 1, std::max<std::int64_t>(n, 1), device};
    if (array.stride(0) > 1) return DenseView<T>::strided(data, n, array.stride(0), device);
  } else if (array.ndim() == 2) {
    const std::int64_t m = extent(0);
    const std::int64_t n = extent(1);
    const std::int64_t rows = std::max<std::int64_t>(m, 1);
    const std::int64_t columns = std::max<std::int64_t>(n, 1);
    if (m == 0 || n == 0) return {data, m, n, rows, device};
    const std::int64_t down = m > 1 ? array.stride(0) : columns;
    const std::int64_t across = n > 1 ? array.stride(1) : rows;
    if ((m <= 1 || down == 1) && across >= rows) return {data, m, n, across, device};
    if ((n <= 1 || across == 1) && down >= columns) return {data, m, n, down, device, Layout::row_major};
  }
  throw InvalidMatrix("an array of " + std::to_string(array.ndim()) +
                      " dimensions or with these strides is neither a vector nor a matrix: pass a copy");
}

/// NumPy array of the given shape that owns `elements` through the object that holds them; column-major.
template <class T, class Holder>
[[nodiscard]] nb::object numpy_array(std::unique_ptr<Holder> holder, T* elements,
                                     std::initializer_list<std::size_t> shape) {
  nb::capsule owner(holder.get(), [](void* pointer) noexcept { delete static_cast<Holder*>(pointer); });
  static_cast<void>(holder.release());
  return nb::cast(nb::ndarray<nb::numpy, T, nb::f_contig>(elements, shape, owner));
}

template <class T>
[[nodiscard]] nb::object numpy_array(std::vector<T> values) {
  auto holder = std::make_unique<std::vector<T>>(std::move(values));
  T* const elements = holder->data();
  const std::size_t size = holder->size();
  return numpy_array(std::move(holder), elements, {size});
}

/// A matrix on the host as an array of two dimensions.
template <class T>
[[nodiscard]] nb::object numpy_array(Dense<T> matrix) {
  auto holder =
      std::make_unique<Dense<T>>(matrix.device().on_host() ? std::move(matrix) : matrix.to(Device()));
  T* const elements = holder->data();
  const auto rows = static_cast<std::size_t>(holder->rows());
  const auto columns = static_cast<std::size_t>(holder->columns());
  return numpy_array(std::move(holder), elements, {rows, columns});
}

/// Tuple (shape, row offsets, column indices, values) of a sparse matrix, without copies.
template <class T>
[[nodiscard]] nb::tuple csr_arrays(Csr<T> matrix) {
  const auto holder = new Csr<T>(matrix.device().on_host() ? std::move(matrix) : matrix.to(Device()));
  nb::capsule owner(holder, [](void* pointer) noexcept { delete static_cast<Csr<T>*>(pointer); });
  const auto borrowed = [&](const auto& array) {
    using Element = std::remove_cvref_t<decltype(*array.data())>;
    const std::size_t size[] = {static_cast<std::size_t>(array.size())};
    return nb::cast(nb::ndarray<nb::numpy, Element>(const_cast<Element*>(array.data()), 1, size, owner));
  };
  return nb::make_tuple(nb::make_tuple(holder->rows(), holder->columns()), borrowed(holder->row_offsets()),
                        borrowed(holder->column_indices()), borrowed(holder->values()));
}

/// A sparse matrix as csr_arrays() has it, a dense one as a NumPy array.
template <class T>
[[nodiscard]] nb::object python_matrix(std::variant<Dense<T>, Csr<T>> matrix) {
  if (auto* sparse = std::get_if<Csr<T>>(&matrix)) return csr_arrays(std::move(*sparse));
  return numpy_array(std::get<Dense<T>>(std::move(matrix)));
}

}  // namespace echelon::python
