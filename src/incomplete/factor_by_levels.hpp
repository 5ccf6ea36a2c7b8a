// SPDX-License-Identifier: BSD-3-Clause
/// Incomplete factorisation level by level, in the loops of any backend, with the bits of every one.
#pragma once

#include "backend/atomic.hpp"
#include "backend/backend.hpp"
#include "backend/lower_bound.hpp"
#include "backend/steps.hpp"
#include "incomplete/elimination.hpp"
#include "incomplete/factor.hpp"
#include "relaxation/gauss_seidel/by_levels.hpp"

#include <echelon/annotate.hpp>
#include <echelon/array.hpp>
#include <echelon/matrix/scalar.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace echelon::incomplete {

/// Computes the rows of a list, whose elements are searched for in their row.
template <class Elimination>
struct FactorListed {
  using T = typename Elimination::Element;
  const std::int32_t* list;
  Elimination elimination;
  std::int32_t* rejected;  ///< the first row whose pivot is not accepted

  ECHELON_ANYWHERE void operator()(std::int64_t place) const {
    const std::int32_t i = list[place];
    const TriangleRows<T>& rows = elimination.triangles;
    const std::int64_t lower_end = rows.lower_diagonal(i);
    for (std::int64_t e = rows.lower_offsets[i]; e < lower_end; ++e) {
      const std::int32_t k = rows.lower_columns[e];
      const std::int64_t first = elimination.first(e, k);
      const T multiplier = elimination.multiplier(rows.lower_values[e], rows.upper_values[first]);
      if (Elimination::changes_lower) rows.lower_values[e] = multiplier;
      for (std::int64_t m = first + Elimination::skipped; m < rows.upper_offsets[k + 1]; ++m) {
        T* const element = find(i, rows.upper_columns[m]);
        if (element != nullptr) *element = multiply_add(-multiplier, rows.upper_values[m], *element);
      }
    }
    if (!finish_row(elimination, i)) atomic_min(rejected, i);
  }

 private:
  /// Element j of row i that products are subtracted from, or null.
  [[nodiscard]] ECHELON_ANYWHERE T* find(std::int64_t i, std::int32_t j) const {
    const TriangleRows<T>& rows = elimination.triangles;
    const bool in_lower = j < i;
    if (in_lower && !Elimination::changes_lower) return nullptr;
    const std::int32_t* const columns = in_lower ? rows.lower_columns : rows.upper_columns;
    const std::int64_t begin = in_lower ? rows.lower_offsets[i] : rows.upper_offsets[i];
    const std::int64_t end = in_lower ? rows.lower_diagonal(i) : rows.upper_offsets[i + 1];
    const std::int64_t at = lower_bound(columns, begin, end, j);
    if (at == end || columns[at] != j) return nullptr;
    return (in_lower ? rows.lower_values : rows.upper_values) + at;
  }
};

/// Computes all rows; returns the first one whose pivot is not accepted. Rows after it are then undefined.
/// `order` is that of the lower triangle, forward. Waits.
template <class B, class Elimination>
FirstIndex factor_by_levels(B& backend, const gauss_seidel::LevelOrder& order,
                            const Elimination& elimination) {
  constexpr std::int32_t none = INT32_MAX;
  Array<std::int32_t> rejected(backend.device(), 1);
  backend.write(none, rejected.data());
  for_each_step(backend, order.steps(),
                FactorListed<Elimination>{order.rows(), elimination, rejected.data()});
  const std::int32_t first = backend.read(rejected.data());
  return first == none ? FirstIndex{} : FirstIndex{first};
}

/// Rows by levels, for a backend without a native factorisation, and for complex numbers on a GPU.
template <class B>
class LevelRowOrder {
 public:
  LevelRowOrder() = default;
  /// Waits.
  template <class T>
  LevelRowOrder(B& /*backend*/, const Csr<T>& lower) : levels(lower, false) {}
  [[nodiscard]] std::size_t bytes() const { return levels.bytes(); }
  [[nodiscard]] static Device solve_device(const Device& device) { return device; }

  gauss_seidel::LevelOrder levels;
};

template <class B>
class RowOrder : public LevelRowOrder<B> {
 public:
  using LevelRowOrder<B>::LevelRowOrder;
};

/// The order in which a backend computes rows of T.
template <class B, class T>
using RowOrderFor = std::conditional_t<is_complex<T> && !B::on_host, LevelRowOrder<B>, RowOrder<B>>;

/// Computes all rows; returns the first one whose pivot is not accepted.
template <class B, class Elimination>
FirstIndex factor(B& backend, LevelRowOrder<B>& order, const Elimination& elimination,
                  std::int64_t /*rows*/) {
  return factor_by_levels(backend, order.levels, elimination);
}

}  // namespace echelon::incomplete
