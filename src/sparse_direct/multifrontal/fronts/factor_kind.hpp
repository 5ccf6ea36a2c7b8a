// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/annotate.hpp>

namespace echelon::sparse_direct {

enum class FactorKind {
  cholesky,  ///< A = L L^T
  ldlt,      ///< A = L D L^T with pivots of order one and two
  lu,        ///< A = L U
};

/// Whether only lower triangles are stored.
[[nodiscard]] ECHELON_ANYWHERE constexpr bool is_symmetric(FactorKind kind) {
  return kind != FactorKind::lu;
}

}  // namespace echelon::sparse_direct
