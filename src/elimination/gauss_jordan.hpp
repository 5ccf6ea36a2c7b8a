// SPDX-License-Identifier: BSD-3-Clause
/// What <echelon/gauss_jordan.hpp> promises, for one side each.
#pragma once

#include "backend/sides.hpp"

#include <echelon/gauss_jordan.hpp>

namespace echelon {

template <class Side, class T>
[[nodiscard]] EchelonForm<T> reduce_on(const Device& device, const GaussJordanOptions& options, Dense<T> A);
template <class Side, class T>
[[nodiscard]] GeneralSolution<T> solve_on(const Device& device, const GaussJordanOptions& options,
                                          const MatrixRef<T>& A, DenseView<const T> B);
template <class Side, class T>
[[nodiscard]] Dense<T> null_space_on(const EchelonForm<T>& form);
template <class Side, class T>
[[nodiscard]] Report invert_on(const Device& device, const GaussJordanOptions& options, DenseView<T> A);

}  // namespace echelon
