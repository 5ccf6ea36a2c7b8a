// SPDX-License-Identifier: BSD-3-Clause
#include "io/graph/symmetry.hpp"
#include "io/support/csr_assembly.hpp"

#include <echelon/error.hpp>
#include <echelon/io/graph.hpp>

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace echelon {

namespace {

/// Calls `use(row, column, value)` for all stored elements.
template <class T, class Use>
void for_each_element(const Csr<T>& matrix, Use use) {
  for (std::int64_t i = 0; i < matrix.rows(); ++i) {
    for (std::int64_t k = matrix.row_offsets()[i]; k < matrix.row_offsets()[i + 1]; ++k) {
      use(static_cast<std::int32_t>(i), matrix.column_indices()[k], matrix.values()[k]);
    }
  }
}

template <class T>
void check_square_and_finite(const Csr<T>& matrix) {
  if (matrix.rows() != matrix.columns()) {
    throw InvalidMatrix(fmt::format("a {} by {} matrix is not that of a graph: it is not square",
                                    matrix.rows(), matrix.columns()));
  }
  for_each_element(matrix, [](std::int32_t row, std::int32_t column, T value) {
    if (!std::isfinite(value)) {
      throw InvalidMatrix(
          fmt::format("element ({}, {}) is {}: an edge's weight is finite", row, column, value));
    }
  });
}

/// (A + A^T) / 2
template <class T>
Csr<T> symmetric_part(const Csr<T>& matrix) {
  io::CsrAssembly<T> assembly(matrix.rows(), matrix.columns());
  for_each_element(matrix, [&](std::int32_t row, std::int32_t column, T) {
    assembly.count(row);
    assembly.count(column);
  });
  assembly.allocate();
  for_each_element(matrix, [&](std::int32_t row, std::int32_t column, T value) {
    assembly.place(row, column, value / 2);
    assembly.place(column, row, value / 2);
  });
  assembly.sort_and_sum(1);
  return std::move(assembly).finish();
}

template <class T>
void check_undirected(const Csr<T>& adjacency) {
  const auto found = io::find_asymmetry(adjacency);
  if (!found) return;
  throw InvalidMatrix(
      fmt::format("element ({}, {}) differs from ({}, {}): the Laplacian is that of an undirected "
                  "graph, whose adjacency matrix is symmetric; (A + A^T) / 2 is symmetric",
                  found->row, found->column, found->column, found->row));
}

template <class T>
void check_weights(const Csr<T>& adjacency) {
  for_each_element(adjacency, [](std::int32_t row, std::int32_t column, T value) {
    if (row != column && value < 0) {
      throw InvalidMatrix(
          fmt::format("element ({}, {}) is {}: an edge of negative weight, with which the Laplacian "
                      "may be indefinite",
                      row, column, value));
    }
  });
}

/// Calls `use(row, column, weight)` for the nonzero elements off the diagonal.
template <class T, class Use>
void for_each_edge(const Csr<T>& matrix, Use use) {
  for_each_element(matrix, [&](std::int32_t row, std::int32_t column, T value) {
    if (row != column && value != 0) use(row, column, value);
  });
}

template <class T>
Csr<T> laplacian_of_symmetric(const Csr<T>& adjacency) {
  const std::int64_t n = adjacency.rows();
  io::CsrAssembly<T> assembly(n, n);
  for (std::int64_t i = 0; i < n; ++i) assembly.count(static_cast<std::int32_t>(i));
  for_each_edge(adjacency, [&](std::int32_t row, std::int32_t, T) { assembly.count(row); });
  assembly.allocate();
  Array<double> degrees(Device(), n);
  std::fill_n(degrees.data(), n, 0);
  for_each_edge(adjacency, [&](std::int32_t row, std::int32_t column, T weight) {
    assembly.place(row, column, -weight);
    degrees[row] += static_cast<double>(weight);
  });
  for (std::int64_t i = 0; i < n; ++i) {
    const auto degree = static_cast<T>(degrees[i]);
    if (!std::isfinite(degree))
      throw InvalidMatrix(fmt::format("the weights of vertex {} add up to {}", i, degrees[i]));
    assembly.place(static_cast<std::int32_t>(i), static_cast<std::int32_t>(i), degree);
  }
  assembly.sort_rows(1);
  return std::move(assembly).finish();
}

}  // namespace

template <class T>
Csr<T> laplacian(const Csr<T>& adjacency, const LaplacianOptions& options) {
  if (!adjacency.device().on_host()) return laplacian(adjacency.to(Device()), options);
  check_square_and_finite(adjacency);
  if (options.symmetrise) {
    LaplacianOptions symmetric = options;
    symmetric.symmetrise = false;
    return laplacian(symmetric_part(adjacency), symmetric);
  }
  check_undirected(adjacency);
  if (!options.negative_weights) check_weights(adjacency);
  return laplacian_of_symmetric(adjacency);
}

template <class T>
Csr<T> adjacency(const Csr<T>& matrix) {
  if (!matrix.device().on_host()) return adjacency(matrix.to(Device()));
  check_square_and_finite(matrix);
  io::CsrAssembly<T> assembly(matrix.rows(), matrix.columns());
  for_each_edge(matrix, [&](std::int32_t row, std::int32_t, T) { assembly.count(row); });
  assembly.allocate();
  for_each_edge(matrix, [&](std::int32_t row, std::int32_t column, T value) {
    assembly.place(row, column, std::abs(value));
  });
  return std::move(assembly).finish();
}

template Csr<float> laplacian(const Csr<float>&, const LaplacianOptions&);
template Csr<double> laplacian(const Csr<double>&, const LaplacianOptions&);
template Csr<float> adjacency(const Csr<float>&);
template Csr<double> adjacency(const Csr<double>&);

}  // namespace echelon
