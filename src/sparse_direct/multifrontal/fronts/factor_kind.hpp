// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/annotate.hpp>

namespace echelon::sparse_direct {

enum class FactorKind {
  cholesky,        ///< A = L L^H for a Hermitian A, L L^T for a real one
  ldlt,            ///< A = L D L^T with pivots of order one and two
  hermitian_ldlt,  ///< A = L D L^H likewise, for a complex A
  lu,              ///< A = L U
};

/// Whether only lower triangles are stored.
[[nodiscard]] ECHELON_ANYWHERE constexpr bool is_symmetric(FactorKind kind) {
  return kind != FactorKind::lu;
}
/// Whether the upper triangle is the conjugate of the mirrored lower one.
[[nodiscard]] ECHELON_ANYWHERE constexpr bool is_hermitian(FactorKind kind) {
  return kind == FactorKind::cholesky || kind == FactorKind::hermitian_ldlt;
}
/// Whether the factors have a D of pivots of order one and two.
[[nodiscard]] ECHELON_ANYWHERE constexpr bool has_block_diagonal(FactorKind kind) {
  return kind == FactorKind::ldlt || kind == FactorKind::hermitian_ldlt;
}

}  // namespace echelon::sparse_direct
