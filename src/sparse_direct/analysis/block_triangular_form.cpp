// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "backend/host/host.hpp"
#include "linalg/components.hpp"
#include "matrix/host_copy.hpp"
#include "matrix/matching/maximum_matching.hpp"
#include "matrix/rows.hpp"
#include "matrix/shape.hpp"
#include "sparse_direct/matching/diagonal_blocks.hpp"

#include <echelon/sparse_direct.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace echelon {

namespace {

/// The pattern of a matrix: all stored elements are 1.
struct PatternRows {
  using Value = int;
  std::span<const std::int64_t> row_offsets;
  std::span<const std::int32_t> column_indices;

  [[nodiscard]] std::int64_t begin(std::int64_t i) const { return row_offsets[i]; }
  [[nodiscard]] std::int64_t end(std::int64_t i) const { return row_offsets[i + 1]; }
  [[nodiscard]] std::int64_t column(std::int64_t k) const { return column_indices[k]; }
  [[nodiscard]] int value(std::int64_t, std::int64_t) const { return 1; }
  [[nodiscard]] int at(std::int64_t i, std::int64_t j) const {
    return std::binary_search(column_indices.begin() + begin(i), column_indices.begin() + end(i),
                              static_cast<std::int32_t>(j))
               ? 1
               : 0;
  }
};

/// Row of each column: its matched row, or one of the unmatched rows.
std::vector<std::int32_t> complete_matching(const MaximumMatching<PatternRows>& matching) {
  std::vector<std::int32_t> row_of_column;
  row_of_column.reserve(matching.row_of_column().size());
  auto free_row = matching.free_rows().begin();
  for (const std::int64_t row : matching.row_of_column()) {
    row_of_column.push_back(static_cast<std::int32_t>(row < 0 ? *free_row++ : row));
  }
  return row_of_column;
}

BlockTriangularForm form_of(const PatternRows& rows, std::int64_t n) {
  const MaximumMatching matching(rows, n, n);
  const std::vector<std::int32_t> row_of_column = complete_matching(matching);
  sparse_direct::DiagonalBlocks blocks =
      sparse_direct::diagonal_blocks(rows.row_offsets, rows.column_indices, row_of_column);
  BlockTriangularForm form;
  form.structural_rank = matching.size();
  form.column_permutation = std::move(blocks.columns);
  form.block_begin = std::move(blocks.block_begin);
  form.row_permutation.reserve(row_of_column.size());
  for (const std::int32_t column : form.column_permutation) {
    form.row_permutation.push_back(row_of_column[column]);
  }
  return form;
}

/// Finds the first row with a zero on the diagonal, a stored zero, or a nonzero whose place across the
/// diagonal has none.
template <class T>
struct FindOneSided {
  SparseRows<T> rows;
  FirstIndex operator()(std::int64_t i) const {
    bool one_sided = rows.at(i, i) == T{0};
    for (std::int64_t k = rows.begin(i); k < rows.end(i) && !one_sided; ++k) {
      one_sided = rows.value(i, k) == T{0} || rows.at(rows.column(k), i) == T{0};
    }
    return one_sided ? FirstIndex{i} : FirstIndex{};
  }
};

/// Form of a matrix with a symmetric pattern and a full diagonal, whose strongly connected components are the
/// connected ones: unlike the former, these are found in parallel.
template <class T>
BlockTriangularForm form_of_symmetric_pattern(Host& backend, const Csr<T>& a) {
  const ConnectedComponents components = find_components(backend, a);
  BlockTriangularForm form;
  form.structural_rank = a.rows();
  form.row_permutation = components.members.to_vector();
  form.column_permutation = form.row_permutation;
  form.block_begin.assign(components.offsets.data(), components.offsets.data() + components.offsets.size());
  return form;
}

}  // namespace

std::int64_t BlockTriangularForm::largest_block() const {
  std::int64_t largest = 0;
  for (std::int64_t b = 0; b < blocks(); ++b) {
    largest = std::max<std::int64_t>(largest, block_begin[b + 1] - block_begin[b]);
  }
  return largest;
}

template <class T>
BlockTriangularForm block_triangular_form(const Csr<T>& A) {
  return at_api_boundary([&] {
    require_square(A.rows(), A.columns(), "a block triangular form needs");
    const HostCopy<T> host{MatrixRef<T>(A)};
    const Csr<T>& a = *host.matrix().csr();
    Host backend{Device()};
    FirstIndex one_sided;
    backend.reduce(a.rows(), FindOneSided<T>{SparseRows<T>(a)}, [&](FirstIndex row) { one_sided = row; });
    if (one_sided.value == FirstIndex::none) return form_of_symmetric_pattern(backend, a);
    return form_of({a.row_offsets().span(), a.column_indices().span()}, a.rows());
  });
}

template BlockTriangularForm block_triangular_form(const Csr<float>&);
template BlockTriangularForm block_triangular_form(const Csr<double>&);

}  // namespace echelon
