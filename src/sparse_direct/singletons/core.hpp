// SPDX-License-Identifier: BSD-3-Clause
/// The core of a structurally singular matrix: what is left of it without its singletons.
#pragma once

#include "sparse_direct/matching/large_diagonal.hpp"
#include "sparse_direct/singletons/singletons.hpp"
#include "sparse_direct/symbolic/symbolic_factor.hpp"

#include <echelon/matrix/csr.hpp>

namespace echelon::sparse_direct {

template <class T>
struct Core {
  Singletons singletons;
  Csr<T> matrix;           ///< rows and columns of the core, in their order, without stored zeros
  LargeDiagonal diagonal;  ///< of `matrix`
};

/// Separates the core of a square A on the host from the singletons.
template <class T>
[[nodiscard]] Core<T> core_of(const Csr<T>& a);

/// Orders the core, and predicts its factor. Columns that no matching covers come last, and have no pivot
/// unless another column of the matching lacks one: the prediction is that of all rows and columns, so that
/// nothing but pivots that are zero for these values can add to it.
template <class T>
[[nodiscard]] SymbolicFactor analyze_core(const Core<T>& core, const OrderingOptions& ordering);

}  // namespace echelon::sparse_direct
