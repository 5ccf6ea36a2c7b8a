// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/singletons/core.hpp"

#include "sparse_direct/matching/null_pivot.hpp"
#include "sparse_direct/pattern/pattern.hpp"

#include <echelon/array.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

namespace {

template <class T>
Csr<T> matrix_of_core(const Csr<T>& a, const Singletons& order) {
  const std::int64_t n = order.core_size();
  std::vector<std::int32_t> column_of(static_cast<std::size_t>(a.columns()), -1);
  for (std::int64_t k = 0; k < n; ++k)
    column_of[order.columns[order.core_begin + k]] = static_cast<std::int32_t>(k);
  Array<std::int64_t> offsets(Device(), n + 1);
  std::vector<std::pair<std::int32_t, T>> row;
  std::vector<std::int32_t> columns;
  std::vector<T> values;
  offsets[0] = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t i = order.rows[order.core_begin + k];
    row.clear();
    for (std::int64_t p = a.row_offsets()[i]; p < a.row_offsets()[i + 1]; ++p) {
      const std::int32_t column = column_of[a.column_indices()[p]];
      if (column >= 0 && a.values()[p] != T{0}) row.emplace_back(column, a.values()[p]);
    }
    std::sort(row.begin(), row.end());
    for (const auto& [column, value] : row) {
      columns.push_back(column);
      values.push_back(value);
    }
    offsets[k + 1] = static_cast<std::int64_t>(columns.size());
  }
  return Csr<T>::unchecked(n, n, std::move(offsets), Array<std::int32_t>(Device(), columns),
                           Array<T>(Device(), std::span<const T>(values)));
}

}  // namespace

template <class T>
Core<T> core_of(const Csr<T>& a) {
  Core<T> core;
  core.singletons = find_singletons(a, null_pivot_tolerance<T>(a.rows()));
  core.matrix = matrix_of_core(a, core.singletons);
  core.diagonal = large_diagonal(core.matrix);
  return core;
}

template <class T>
SymbolicFactor analyze_core(const Core<T>& core, const OrderingOptions& ordering) {
  const PatternStorage pattern = symmetrized_pattern(core.matrix, core.diagonal.row_permutation);
  if (core.diagonal.unmatched_columns.empty())
    return analyze_symmetric(pattern.view(), {.ordering = ordering});
  const SymbolicFactor bordered =
      analyze_bordered(pattern.view(), core.diagonal.unmatched_columns, {.ordering = ordering});
  SymbolicFactor factor =
      analyze_symmetric(pattern.view(), {.ordering = {.permutation = bordered.permutation}});
  factor.ordering = bordered.ordering;
  return factor;
}

template Core<float> core_of(const Csr<float>&);
template Core<double> core_of(const Csr<double>&);
template SymbolicFactor analyze_core(const Core<float>&, const OrderingOptions&);
template SymbolicFactor analyze_core(const Core<double>&, const OrderingOptions&);

}  // namespace echelon::sparse_direct
