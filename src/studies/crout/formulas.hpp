// SPDX-License-Identifier: BSD-3-Clause
/// Crout's formulas for P A = L U, where U has a unit diagonal:
///   l_ij = a_ij - sum_{k<j} l_ik u_kj            for i >= j,
///   u_ij = (a_ij - sum_{k<i} l_ik u_kj) / l_ii   for i < j.
/// L and U share a matrix; the ones on the diagonal of U are not stored.
#pragma once

#include "backend/backend.hpp"

#include <echelon/annotate.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstdint>

namespace echelon::crout {

/// Rows and columns of a matrix, the last of each excluded.
struct Region {
  std::int64_t row_begin, row_end, column_begin, column_end;
  [[nodiscard]] ECHELON_ANYWHERE std::int64_t rows() const { return row_end - row_begin; }
  [[nodiscard]] ECHELON_ANYWHERE std::int64_t columns() const { return column_end - column_begin; }
  [[nodiscard]] ECHELON_ANYWHERE std::int64_t elements() const { return rows() * columns(); }
};

/// Which of the two factors an element belongs to.
enum class Factor { lower, upper };

[[nodiscard]] ECHELON_ANYWHERE inline Factor factor_at(std::int64_t i, std::int64_t j) {
  return i >= j ? Factor::lower : Factor::upper;
}

/// Evaluates the elements of one factor in a region: result(i, j) = Crout's formula of A and the present
/// factors. Tile t consists of rows of one column. `result` may be `factors` if no element of the region
/// depends on another one.
template <class T>
struct Formulas {
  /// Rows of a column that are computed together, so that the compiler vectorises their sums.
  static constexpr int tile_rows = 64;

  Region region;
  Factor part;
  DenseView<const T> A, factors;
  DenseView<T> result;

  [[nodiscard]] ECHELON_ANYWHERE std::int64_t tiles_per_column() const {
    return (region.rows() + tile_rows - 1) / tile_rows;
  }

  ECHELON_ANYWHERE void operator()(std::int64_t tile) const {
    const std::int64_t j = region.column_begin + tile / tiles_per_column();
    const std::int64_t first = region.row_begin + tile % tiles_per_column() * tile_rows;
    const std::int64_t left = region.row_end - first;
    const int count = left < tile_rows ? static_cast<int>(left) : tile_rows;
    if (part == Factor::lower && first + count <= j) return;
    if (part == Factor::upper && first >= j) return;
    T sums[tile_rows];
    const T* const a = A.data() + j * A.leading() + first;
    const T* const u = factors.data() + j * factors.leading();
    for (int r = 0; r < count; ++r) sums[r] = a[r];
    const std::int64_t common = first < j ? first : j;  // terms that all rows of the tile have
    for (std::int64_t k = 0; k < common; ++k) {
      const T* const l = factors.data() + k * factors.leading() + first;
      for (int r = 0; r < count; ++r) sums[r] -= l[r] * u[k];
    }
    T* const target = result.data() + j * result.leading() + first;
    for (int r = 0; r < count; ++r) {
      const std::int64_t i = first + r;
      if (factor_at(i, j) != part) continue;
      for (std::int64_t k = common; k < (i < j ? i : j); ++k) {
        sums[r] -= factors.data()[k * factors.leading() + i] * u[k];
      }
      target[r] = part == Factor::lower ? sums[r] : sums[r] / factors.data()[i * factors.leading() + i];
    }
  }
};

/// Evaluates the formulas for a factor's elements in the region. At most 2 flops for each of min(i, j) terms
/// of an element; threads of the host share the tiles, with neighbouring columns on one thread.
template <class B, class T>
void evaluate_formulas(B& backend, const Region& region, Factor part, DenseView<const T> A,
                       DenseView<const T> factors, DenseView<T> result) {
  const Formulas<T> formulas{region, part, A, factors, result};
  const std::int64_t tiles = formulas.tiles_per_column() * region.columns();
  if constexpr (B::on_host) {
    constexpr std::int64_t parallel_threshold = 1'000'000;
    const std::int64_t terms = region.row_end < region.column_end ? region.row_end : region.column_end;
    backend.parallel(region.elements() * terms > parallel_threshold, [&](int part_number, int parts) {
      const std::int64_t end = tiles * (part_number + 1) / parts;
      for (std::int64_t tile = tiles * part_number / parts; tile < end; ++tile) formulas(tile);
    });
  } else {
    backend.for_each(tiles, formulas);
  }
}

}  // namespace echelon::crout
