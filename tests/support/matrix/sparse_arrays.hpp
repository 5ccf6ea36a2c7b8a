// SPDX-License-Identifier: BSD-3-Clause
/// Sparse matrices in arrays of all forms that SparseView takes.
#pragma once

#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/sparse_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <vector>

namespace echelon::test {

/// Arrays of a matrix in some form.
template <class I, class T>
struct SparseArrays {
  std::vector<I> offsets_or_rows, indices;
  std::vector<T> values;
};

/// Form of the arrays of a sparse matrix.
struct ArrayForm {
  SparseLayout layout = SparseLayout::csr;
  StoredElements stored = StoredElements::all;
  std::int32_t base = 0;
  bool shuffled = false;  ///< elements are in random order, where the layout allows it
  bool repeated = false;  ///< positions have several elements
};

/// Elements of A, or of a half of it.
template <class T>
std::vector<Triplet<T>> elements_of(const Csr<T>& A, StoredElements stored) {
  std::vector<Triplet<T>> elements;
  for (std::int32_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const std::int32_t j = A.column_indices()[k];
      const bool other_half =
          stored == StoredElements::lower ? j > i : stored == StoredElements::upper && j < i;
      if (!other_half) elements.push_back({i, j, A.values()[k]});
    }
  }
  return elements;
}

/// Elements of an m by n matrix, those that the form stores, as arrays.
template <class I, class T>
SparseArrays<I, T> arrays_of(std::vector<Triplet<T>> triplets, std::int32_t m, std::int32_t n,
                             const ArrayForm& as, unsigned seed) {
  std::mt19937 random(seed);
  if (as.shuffled) std::shuffle(triplets.begin(), triplets.end(), random);
  const bool by_rows = as.layout == SparseLayout::csr;
  if (as.layout != SparseLayout::coo) {
    std::stable_sort(triplets.begin(), triplets.end(), [&](const auto& a, const auto& b) {
      return by_rows ? a.row < b.row : a.column < b.column;
    });
  }
  SparseArrays<I, T> arrays;
  const auto lines = static_cast<std::size_t>(by_rows ? m : n);
  if (as.layout != SparseLayout::coo) arrays.offsets_or_rows.assign(lines + 1, static_cast<I>(as.base));
  for (const Triplet<T>& t : triplets) {
    const auto row = static_cast<I>(t.row + as.base);
    const auto column = static_cast<I>(t.column + as.base);
    if (as.layout == SparseLayout::coo) {
      arrays.offsets_or_rows.push_back(row);
    } else {
      for (auto line = static_cast<std::size_t>(by_rows ? t.row : t.column); line < lines; ++line)
        ++arrays.offsets_or_rows[line + 1];
    }
    arrays.indices.push_back(as.layout == SparseLayout::csc ? row : column);
    arrays.values.push_back(t.value);
  }
  return arrays;
}

/// The pattern of the arrays of an m by n matrix.
template <class I, class T>
SparsePattern pattern_of(const SparseArrays<I, T>& arrays, std::int64_t m, std::int64_t n,
                         const ArrayForm& as) {
  return {as.layout,
          m,
          n,
          std::ssize(arrays.values),
          arrays.offsets_or_rows.data(),
          arrays.indices.data(),
          as.base,
          as.stored,
          false};
}

}  // namespace echelon::test
