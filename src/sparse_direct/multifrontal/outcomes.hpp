// SPDX-License-Identifier: BSD-3-Clause
/// Outcomes of sparse factorisations, in the same words on every device. Rows and columns count from 0.
#pragma once

#include "solver/factor_status.hpp"
#include "solver/hermitian.hpp"
#include "sparse_direct/multifrontal/fronts/factor_kind.hpp"
#include "sparse_direct/multifrontal/symmetry.hpp"
#include "support/text.hpp"

#include <echelon/device.hpp>
#include <echelon/matrix/csr.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace echelon::sparse_direct {

/// Outcome for a matrix of `size` rows, "A" or a block of it, that lacks pivots in these columns of A.
inline Outcome rank_deficient(const std::string& matrix, std::int64_t size, std::int64_t rank,
                              std::vector<std::int32_t> columns, bool structural = false) {
  std::sort(columns.begin(), columns.end());
  const bool one = columns.size() == 1;
  Outcome outcome{Status::singular, matrix + " is singular: its " + (structural ? "structural " : "") +
                                        "rank is " + std::to_string(rank) + " of " + std::to_string(size) +
                                        (one ? ", and column " : ", and columns ") + list_of(columns) +
                                        (one ? " (from 0) has no pivot" : " (from 0) have no pivot")};
  if (!columns.empty()) outcome.row = columns.front();
  outcome.rank = rank;
  return outcome;
}

inline Outcome not_symmetric(Place place, Status status = Status::not_spd) {
  return echelon::not_symmetric(place.row, place.column, status);
}

/// Whether the pivots of factors of this kind have the signs of the eigenvalues of a matrix of T.
template <class T>
[[nodiscard]] constexpr bool has_inertia_of(FactorKind kind) {
  return is_hermitian(kind) || (kind == FactorKind::ldlt && !is_complex<T>);
}

/// Kind of the factors of an A with both triangles, or the outcome for an A that has none of this kind.
struct SymmetricKind {
  FactorKind kind;
  std::optional<Outcome> refusal;
};

/// L D L^T or L D L^H, by the symmetry of a square A on the host `device`. A real A in complex numbers is
/// Hermitian.
template <class T>
[[nodiscard]] SymmetricKind kind_of_ldlt(const Csr<T>& A, [[maybe_unused]] const Device& device) {
  SymmetricKind result{FactorKind::ldlt, {}};
  if constexpr (is_complex<T>) {
    const MirrorComparison found = compare_with_mirror(MatrixRef<T>(A));
    if (!found.not_hermitian) result.kind = FactorKind::hermitian_ldlt;
    if (found.not_hermitian && found.not_symmetric)
      result.refusal = neither_symmetric_nor_hermitian(found, "sparse-lu");
  } else if (const std::optional<Place> place = find_asymmetry(A, device)) {
    result.refusal = not_symmetric(*place, Status::breakdown);
  }
  return result;
}

/// The outcome of a Cholesky factorisation for an A that is not Hermitian, or not symmetric.
template <class T>
[[nodiscard]] Outcome require_cholesky_symmetry(const Csr<T>& A, [[maybe_unused]] const Device& device) {
  if constexpr (is_complex<T>) {
    return require_hermitian(MatrixRef<T>(A), {}, Status::not_spd, "sparse-ldlt", "sparse-lu");
  } else {
    const std::optional<Place> place = find_asymmetry(A, device);
    return place ? not_symmetric(*place) : Outcome();
  }
}

}  // namespace echelon::sparse_direct
