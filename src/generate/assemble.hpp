// SPDX-License-Identifier: BSD-3-Clause
/// Matrices from a formula for a row or an element, computed by all threads.
#pragma once

#include "backend/host/host.hpp"

#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace echelon::generate {

/// The product of `factors`. Throws InvalidMatrix, naming `what`, if it exceeds the largest 32-bit index or a
/// factor is negative.
std::int64_t checked_size(const std::string& what, const std::vector<std::int64_t>& factors);

/// Below these numbers of elements or sparse rows, one thread is faster than starting several.
inline constexpr std::int64_t few_elements = 32768;
inline constexpr std::int64_t few_rows = 4096;

/// The matrix whose row i has the elements that `row(i, put)` passes to put(column, value), columns
/// ascending. Each row is generated twice, to be counted and to be stored, by the thread that first writes
/// its memory. Values are computed in double and rounded to T.
template <class T, class Row>
Csr<T> assemble(std::int64_t rows, std::int64_t columns, const Row& row) {
  const Device device;
  Host host(device);
  Array<std::int64_t> offsets(device, rows + 1);
  std::int64_t* const offset = offsets.data();
#pragma omp parallel for num_threads(Device().threads()) schedule(static) if (rows > few_rows)
  for (std::int64_t i = 0; i < rows; ++i) {
    std::int64_t count = 0;
    row(i, [&count](std::int64_t, double) { ++count; });
    offset[i] = count;
  }
  const std::int64_t nonzeros = host.exclusive_scan(rows, offset, offset);
  Array<std::int32_t> column_indices(device, nonzeros);
  Array<T> values(device, nonzeros);
#pragma omp parallel for num_threads(Device().threads()) schedule(static) if (rows > few_rows)
  for (std::int64_t i = 0; i < rows; ++i) {
    std::int64_t k = offset[i];
    row(i, [&](std::int64_t column, double value) {
      column_indices[k] = static_cast<std::int32_t>(column);
      values[k++] = static_cast<T>(value);
    });
  }
  return Csr<T>::unchecked(rows, columns, std::move(offsets), std::move(column_indices), std::move(values));
}

/// The matrix with element(i, j), rows and columns counted from 0.
template <class T, class Element>
Dense<T> fill_dense(std::int64_t rows, std::int64_t columns, const Element& element) {
  Dense<T> result(Device(), rows, columns);
#pragma omp parallel for num_threads(Device().threads()) schedule(static) if (rows * columns > few_elements)
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = 0; i < rows; ++i) result(i, j) = static_cast<T>(element(i, j));
  }
  return result;
}

template <class T>
Dense<T> rounded(const Dense<double>& a) {
  return fill_dense<T>(a.rows(), a.columns(), [&a](std::int64_t i, std::int64_t j) { return a(i, j); });
}

}  // namespace echelon::generate
