// SPDX-License-Identifier: BSD-3-Clause
/// Blocks of dense matrices, copied on the device where they are.
#pragma once

#include "backend/targets.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstdint>

namespace echelon::schur {

// Instantiated for each target. Index lists are in the memory of the matrices; a null list
// stands for all indices. Nothing waits.

/// to(i, j) = from(rows[i], columns[j]).
template <class Target, class T>
void gather_on(DenseView<const T> from, const std::int32_t* rows, const std::int32_t* columns,
               DenseView<T> to);
/// to(rows[i], j) = from(i, j).
template <class Target, class T>
void scatter_rows_on(DenseView<const T> from, const std::int32_t* rows, DenseView<T> to);
/// Replaces the strict upper triangle of a square matrix by the transpose of the lower one, or its conjugate.
template <class Target, class T>
void mirror_on(DenseView<T> S, bool conjugates);

/// First elements, counted row by row, that show a symmetric matrix not to be one.
struct Asymmetry {
  std::int64_t row = -1;  ///< -1: there are none
  std::int64_t column = -1;
};
/// Position where a_ij and a_ji differ by more than rounding errors, for a real A. Waits.
template <class Target, class T>
[[nodiscard]] Asymmetry find_asymmetry_on(DenseView<const T> A);

}  // namespace echelon::schur
