// SPDX-License-Identifier: BSD-3-Clause
#include "c/handles.hpp"

#include <echelon/io/files.hpp>
#include <echelon/matrix/scalar.hpp>
#include <echelon/matrix/stencil.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace echelon::c {

namespace {

/// Makes the matrix that `form.operator()<T>()` returns.
template <class Form>
std::int32_t make_matrix(std::int32_t scalar, echelon_matrix* A, const Form& form) noexcept {
  return call([&] {
    require_pointer(A, "the result A");
    *A = nullptr;
    with_scalar(scalar, [&]<class T>() {
      auto made = std::make_unique<echelon_matrix_object>();
      made->held = std::make_shared<HeldMatrix<T>>(form.template operator()<T>());
      *A = made.release();
    });
    return ECHELON_SOLVED;
  });
}

IndexArray indices(std::int32_t type, const void* data) {
  switch (type) {
    case ECHELON_INT32:
      return static_cast<const std::int32_t*>(data);
    case ECHELON_INT64:
      return static_cast<const std::int64_t*>(data);
    default:
      throw Refusal(ECHELON_BAD_ARGUMENT,
                    "an index type is " + std::to_string(type) + ": use ECHELON_INT32 or ECHELON_INT64");
  }
}

Layout layout_of(std::int32_t order) {
  if (order == ECHELON_BY_ROWS) return Layout::row_major;
  if (order == ECHELON_BY_COLUMNS) return Layout::column_major;
  throw Refusal(ECHELON_BAD_ARGUMENT,
                "order is " + std::to_string(order) + ": use ECHELON_BY_ROWS or ECHELON_BY_COLUMNS");
}

void check_sizes(std::int64_t rows, std::int64_t columns, std::int64_t entries) {
  if (rows >= 0 && columns >= 0 && entries >= 0) return;
  throw Refusal(ECHELON_BAD_ARGUMENT, "a size is negative: " + std::to_string(rows) + " rows, " +
                                          std::to_string(columns) + " columns, " + std::to_string(entries) +
                                          " entries");
}

/// The parts of a pattern that all sparse forms share.
SparsePattern sparse_pattern(std::int64_t rows, std::int64_t columns, std::int64_t entries, std::int32_t base,
                             std::int32_t part) {
  check_sizes(rows, columns, entries);
  if (base != 0 && base != 1)
    throw Refusal(ECHELON_BAD_ARGUMENT, "base is " + std::to_string(base) + ": use 0 or 1");
  SparsePattern pattern;
  pattern.rows = rows;
  pattern.columns = columns;
  pattern.nonzeros = entries;
  pattern.base = base;
  switch (part) {
    case ECHELON_FULL:
      break;
    case ECHELON_LOWER:
      pattern.stored = StoredElements::lower;
      break;
    case ECHELON_UPPER:
      pattern.stored = StoredElements::upper;
      break;
    case ECHELON_SYMMETRIC:
      pattern.symmetric = true;
      break;
    default:
      throw Refusal(ECHELON_BAD_ARGUMENT,
                    "part is " + std::to_string(part) + ": use ECHELON_FULL, _LOWER, _UPPER or _SYMMETRIC");
  }
  return pattern;
}

BoundaryCondition boundary_of(std::int32_t code) {
  switch (code) {
    case ECHELON_DIRICHLET:
      return BoundaryCondition::dirichlet;
    case ECHELON_NEUMANN:
      return BoundaryCondition::neumann;
    case ECHELON_PERIODIC:
      return BoundaryCondition::periodic;
    default:
      throw Refusal(ECHELON_BAD_ARGUMENT, "a boundary is " + std::to_string(code) +
                                              ": use ECHELON_DIRICHLET, _NEUMANN or _PERIODIC");
  }
}

StencilGrid grid_of(std::int32_t axes, const std::int64_t* points, const std::int32_t* boundaries) {
  if (axes < 1 || axes > 3)
    throw Refusal(ECHELON_INVALID_MATRIX,
                  "the grid of a stencil has " + std::to_string(axes) + " axes: it needs 1 to 3");
  require_pointer(points, "points");
  StencilGrid grid{{points, points + axes}};
  for (std::int32_t a = 0; boundaries != nullptr && a < axes; ++a)
    grid.boundaries.push_back(boundary_of(boundaries[a]));
  return grid;
}

/// The stencil of `count` coefficients, or as many arrays of one for each point.
template <class T>
Stencil<T> make_stencil(const StencilGrid& grid, std::int32_t count, const std::int32_t* offsets,
                        std::int32_t coefficients, const T* values, const Device& device) {
  if (coefficients != ECHELON_CONSTANT && coefficients != ECHELON_VARIABLE)
    throw Refusal(ECHELON_BAD_ARGUMENT, "coefficients is " + std::to_string(coefficients) +
                                            ": use ECHELON_CONSTANT or ECHELON_VARIABLE");
  check_sizes(0, 0, count);
  if (count > 0) require_pointer(offsets, "offsets");
  if (count > 0) require_pointer(values, "values");
  const auto offset = [&](std::int32_t k) {
    return StencilOffset{offsets[3 * k], offsets[3 * k + 1], offsets[3 * k + 2]};
  };
  if (coefficients == ECHELON_CONSTANT) {
    std::vector<StencilEntry<T>> entries;
    entries.reserve(static_cast<std::size_t>(count));
    for (std::int32_t k = 0; k < count; ++k) entries.push_back({offset(k), values[k]});
    return Stencil<T>::constant(grid, entries, device);
  }
  std::size_t n = 1;
  for (const std::int64_t size : grid.points) n *= static_cast<std::size_t>(std::max<std::int64_t>(size, 0));
  std::vector<StencilArray<T>> arrays;
  arrays.reserve(static_cast<std::size_t>(count));
  for (std::int32_t k = 0; k < count; ++k)
    arrays.push_back({offset(k), {values + static_cast<std::size_t>(k) * n, n}});
  return Stencil<T>::variable(grid, arrays, device);
}

template <class T>
Csr<T> csr_of(const MatrixRef<T>& A) {
  if constexpr (!is_complex<T>) {
    if (A.is_stencil()) return to_csr(*A.stencil());
  }
  return to_csr(A);
}

/// Writes the first elements as triplets. Returns how many there are.
template <class T>
std::int64_t copy_elements(const MatrixRef<T>& A, std::int64_t capacity, std::int64_t* rows,
                           std::int64_t* columns, T* values) {
  Csr<T> copy;
  if (!A.is_sparse()) copy = csr_of(A);
  const Csr<T>* csr = A.is_sparse() ? A.csr() : &copy;
  if (!csr->device().on_host()) csr = &(copy = csr->to(Device()));
  for (std::int64_t i = 0, k = 0; i < csr->rows(); ++i) {
    for (; k < std::min(csr->row_offsets()[i + 1], capacity); ++k) {
      rows[k] = i;
      columns[k] = csr->column_indices()[k];
      values[k] = csr->values()[k];
    }
  }
  return csr->nonzeros();
}

}  // namespace

}  // namespace echelon::c

namespace c = echelon::c;

std::int32_t echelon_compressed(std::int32_t order, std::int32_t scalar, std::int64_t rows,
                                std::int64_t columns, std::int64_t entries, std::int32_t offset_type,
                                const void* offsets, std::int32_t index_type, const void* indices,
                                const void* values, std::int32_t base, std::int32_t part, const char* device,
                                echelon_matrix* A) {
  return c::make_matrix(scalar, A, [&]<class T>() {
    echelon::SparsePattern pattern = c::sparse_pattern(rows, columns, entries, base, part);
    pattern.layout = c::layout_of(order) == echelon::Layout::row_major ? echelon::SparseLayout::csr
                                                                       : echelon::SparseLayout::csc;
    c::require_pointer(offsets, "offsets");
    if (entries > 0) c::require_pointer(indices, "indices");
    if (entries > 0) c::require_pointer(values, "values");
    pattern.offsets_or_rows = c::indices(offset_type, offsets);
    pattern.indices = c::indices(index_type, indices);
    return echelon::SparseView<T>(c::device_of(device), pattern, static_cast<const T*>(values));
  });
}

std::int32_t echelon_triplets(std::int32_t scalar, std::int64_t rows, std::int64_t columns,
                              std::int64_t entries, std::int32_t index_type, const void* row_indices,
                              const void* column_indices, const void* values, std::int32_t base,
                              std::int32_t part, const char* device, echelon_matrix* A) {
  return c::make_matrix(scalar, A, [&]<class T>() {
    echelon::SparsePattern pattern = c::sparse_pattern(rows, columns, entries, base, part);
    pattern.layout = echelon::SparseLayout::coo;
    if (entries > 0) {
      c::require_pointer(row_indices, "row_indices");
      c::require_pointer(column_indices, "column_indices");
      c::require_pointer(values, "values");
    }
    pattern.offsets_or_rows = c::indices(index_type, row_indices);
    pattern.indices = c::indices(index_type, column_indices);
    return echelon::SparseView<T>(c::device_of(device), pattern, static_cast<const T*>(values));
  });
}

std::int32_t echelon_dense(std::int32_t order, std::int32_t scalar, std::int64_t rows, std::int64_t columns,
                           const void* values, std::int64_t leading, const char* device, echelon_matrix* A) {
  return c::make_matrix(scalar, A, [&]<class T>() {
    c::check_sizes(rows, columns, 0);
    const echelon::Layout layout = c::layout_of(order);
    const std::int64_t length = layout == echelon::Layout::row_major ? columns : rows;
    if (leading < length) {
      throw c::Refusal(ECHELON_DIMENSION_MISMATCH, "leading is " + std::to_string(leading) +
                                                       ", but rows or columns have " +
                                                       std::to_string(length) + " elements");
    }
    if (rows > 0 && columns > 0) c::require_pointer(values, "values");
    return echelon::DenseView<const T>(static_cast<const T*>(values), rows, columns, leading,
                                       c::device_of(device), layout);
  });
}

std::int32_t echelon_operator(std::int32_t scalar, std::int64_t rows, std::int64_t columns,
                              echelon_product product, echelon_product transposed, void* user,
                              const char* device, echelon_matrix* A) {
  return c::make_matrix(scalar, A, [&]<class T>() {
    c::check_sizes(rows, columns, 0);
    if (product == nullptr) throw c::Refusal(ECHELON_BAD_ARGUMENT, "product is a null pointer");
    typename echelon::LinearOperator<T>::Apply apply_transposed;
    if (transposed != nullptr) apply_transposed = c::product_function<T>(transposed, user);
    return echelon::LinearOperator<T>(rows, columns, c::product_function<T>(product, user),
                                      std::move(apply_transposed), c::device_of(device));
  });
}

std::int32_t echelon_stencil(std::int32_t scalar, std::int32_t axes, const std::int64_t* points,
                             const std::int32_t* boundaries, std::int32_t count, const std::int32_t* offsets,
                             std::int32_t coefficients, const void* values, const char* device,
                             echelon_matrix* A) {
  return c::make_matrix(scalar, A, [&]<class T>() -> echelon::Stencil<T> {
    if constexpr (echelon::is_complex<T>) {
      throw c::Refusal(ECHELON_BAD_ARGUMENT,
                       "a stencil has real elements: use ECHELON_FLOAT or ECHELON_DOUBLE");
    } else {
      return c::make_stencil<T>(c::grid_of(axes, points, boundaries), count, offsets, coefficients,
                                static_cast<const T*>(values), c::device_of(device));
    }
  });
}

std::int32_t echelon_read(const char* file, std::int32_t scalar, echelon_matrix* A) {
  return c::make_matrix(scalar, A, [&]<class T>() {
    c::require_pointer(file, "file");
    return echelon::read_matrix<T>(file);
  });
}

std::int32_t echelon_matrix_values(echelon_matrix A, const void* values) {
  return c::call([&] {
    auto& matrix = c::object(A, "A");
    c::require_pointer(values, "values");
    std::visit(
        [&]<class T>(const std::shared_ptr<c::HeldMatrix<T>>& held) {
          held->update_values(static_cast<const T*>(values));
        },
        matrix.held);
    return ECHELON_SOLVED;
  });
}

std::int32_t echelon_matrix_size(echelon_matrix A, std::int64_t* rows, std::int64_t* columns,
                                 std::int64_t* nonzeros) {
  return c::call([&] {
    std::visit(
        [&](const auto& held) {
          const auto ref = held->ref();
          c::store(rows, ref.rows());
          c::store(columns, ref.columns());
          c::store(nonzeros, ref.nonzeros());
        },
        c::object(A, "A").held);
    return ECHELON_SOLVED;
  });
}

std::int64_t echelon_matrix_elements(echelon_matrix A, std::int64_t capacity, std::int64_t* rows,
                                     std::int64_t* columns, void* values) {
  std::int64_t elements = 0;
  const std::int32_t code = c::call([&] {
    c::check_capacity(capacity, rows, "rows");
    c::check_capacity(capacity, columns, "columns");
    c::check_capacity(capacity, values, "values");
    elements = std::visit(
        [&]<class T>(const std::shared_ptr<c::HeldMatrix<T>>& held) {
          return c::copy_elements<T>(held->ref(), capacity, rows, columns, static_cast<T*>(values));
        },
        c::object(A, "A").held);
    return ECHELON_SOLVED;
  });
  return code == ECHELON_SOLVED ? elements : code;
}

std::int32_t echelon_write(echelon_matrix A, const char* file) {
  return c::call([&] {
    c::require_pointer(file, "file");
    std::visit(
        [&]<class T>(const std::shared_ptr<c::HeldMatrix<T>>& held) {
          echelon::write_matrix<T>(file, held->ref());
        },
        c::object(A, "A").held);
    return ECHELON_SOLVED;
  });
}

void echelon_matrix_free(echelon_matrix A) {
  c::free_object(A);
}
