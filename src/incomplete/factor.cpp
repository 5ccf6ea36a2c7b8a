// SPDX-License-Identifier: BSD-3-Clause
// Incomplete factorisations on the host.
#include "incomplete/factor.hpp"

#include "backend/host/host.hpp"
#include "relaxation/gauss_seidel/host/fma.hpp"

#include <omp.h>
#include <support/scalar_list.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace echelon::incomplete {

namespace {

/// Average number of rows between two barriers that makes them worthwhile: a barrier costs a few
/// microseconds.
constexpr std::int64_t worthwhile_rows = 1000;

/// Computes row i and returns whether its pivot is accepted. position[j] is the place of the row's element in
/// column j, counted from the beginning of the row; before and after the call it is -1 for all columns.
template <class Elimination>
bool factor_row(const Elimination& elimination, std::int64_t i, std::span<std::int32_t> position) {
  using T = typename Elimination::Element;
  const TriangleRows<T> rows = elimination.triangles;
  const std::int64_t lower = rows.lower_offsets[i];
  const std::int64_t upper = rows.upper_offsets[i];
  const std::int64_t lower_end = rows.lower_diagonal(i);
  const std::int64_t upper_end = rows.upper_offsets[i + 1];
  const auto mark = [&](bool stored) {
    for (std::int64_t e = lower; Elimination::changes_lower && e < lower_end; ++e) {
      position[rows.lower_columns[e]] = stored ? static_cast<std::int32_t>(e - lower) : -1;
    }
    for (std::int64_t e = upper; e < upper_end; ++e) {
      position[rows.upper_columns[e]] = stored ? static_cast<std::int32_t>(e - upper) : -1;
    }
  };
  mark(true);
  for (std::int64_t e = lower; e < lower_end; ++e) {
    const std::int32_t k = rows.lower_columns[e];
    const std::int64_t first = elimination.first(e, k);
    const T multiplier = elimination.multiplier(rows.lower_values[e], rows.upper_values[first]);
    if (Elimination::changes_lower) rows.lower_values[e] = multiplier;
    for (std::int64_t m = first + Elimination::skipped; m < rows.upper_offsets[k + 1]; ++m) {
      const std::int32_t j = rows.upper_columns[m];
      if (position[j] < 0) continue;
      T* const row =
          Elimination::changes_lower && j < i ? rows.lower_values + lower : rows.upper_values + upper;
      row[position[j]] = multiply_add(-multiplier, rows.upper_values[m], row[position[j]]);
    }
  }
  mark(false);
  return finish_row(elimination, i);
}

template <class Elimination>
FirstIndex factor_in_order(const Elimination& elimination, std::int64_t rows) {
  std::vector<std::int32_t> position(static_cast<std::size_t>(rows), -1);
  FirstIndex rejected;
  with_fused_multiply_add([&] {
    for (std::int64_t i = 0; i < rows; ++i) {
      if (factor_row(elimination, i, position)) continue;
      rejected = {i};
      return;
    }
  });
  return rejected;
}

}  // namespace

template <class T>
RowOrder<Host>::RowOrder(Host& backend, const Csr<T>& lower) {
  if (backend.threads() < 2) return;
  levels =
      Levels(lower.rows(), lower.row_offsets().data(), lower.column_indices().data(), false, worthwhile_rows);
}
/// Computes the rows level by level. Rows after the first rejected one are omitted. The rows before it depend
/// on earlier rows only, so the same row is found with any number of threads.
template <class Elimination>
FirstIndex factor(Host& backend, RowOrder<Host>& order, const Elimination& elimination, std::int64_t rows) {
  if (order.levels.empty()) return factor_in_order(elimination, rows);
  std::atomic<std::int64_t> rejected = FirstIndex::none;
  Array<std::int32_t> positions(backend.device(), rows * backend.threads());
#pragma omp parallel num_threads(backend.threads())
  {
    const std::span<std::int32_t> position(positions.data() + rows * omp_get_thread_num(),
                                           static_cast<std::size_t>(rows));
    std::fill(position.begin(), position.end(), -1);
    for (std::size_t level = 0; level < order.levels.count(); ++level) {
      const std::span<const std::int32_t> rows_of_level = order.levels.rows(level);
#pragma omp for schedule(static)
      for (const std::int64_t i : rows_of_level) {
        if (i > rejected.load(std::memory_order_relaxed)) continue;
        bool accepted = false;
        with_fused_multiply_add([&] { accepted = factor_row(elimination, i, position); });
        std::int64_t first = rejected.load(std::memory_order_relaxed);
        while (!accepted && i < first && !rejected.compare_exchange_weak(first, i)) continue;
      }
    }
  }
  return {rejected.load()};
}

#define ECHELON_INSTANTIATE(T)                                                               \
  template RowOrder<Host>::RowOrder(Host&, const Csr<T>&);                                   \
  template FirstIndex factor(Host&, RowOrder<Host>&, const LuElimination<T>&, std::int64_t); \
  template FirstIndex factor(Host&, RowOrder<Host>&, const CholeskyElimination<T>&, std::int64_t);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::incomplete
