// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "matrix/rows.hpp"
#include "solver/factor_status.hpp"
#include "support/scalar.hpp"

#include <echelon/matrix/matrix.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace echelon::krylov {

namespace hermitian_detail {

/// The first element, row by row, that is not the conjugate of its mirror up to rounding errors; and whether
/// all are equal to their mirrors, as those of a complex symmetric matrix are.
struct MirrorComparison {
  std::int64_t row = -1;
  std::int64_t column = -1;
  bool symmetric = true;
};

template <class T, class Rows>
MirrorComparison compare_with_adjoint(const Rows& rows, std::int64_t n) {
  MirrorComparison found;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t k = rows.begin(i); k < rows.end(i); ++k) {
      const auto element = static_cast<Dot<T>>(rows.value(i, k));
      const auto mirror = static_cast<Dot<T>>(rows.at(rows.column(k), i));
      const double rounding = symmetry_tolerance<T> * std::max(magnitude(element), magnitude(mirror));
      found.symmetric = found.symmetric && magnitude(element - mirror) <= rounding;
      if (found.row < 0 && magnitude(element - conj(mirror)) > rounding) {
        found.row = i;
        found.column = rows.column(k);
      }
    }
  }
  return found;
}

}  // namespace hermitian_detail

/// The outcome of a set-up for a complex A with elements, which has this status and names a row if A is not
/// Hermitian. O(nonzeros log(longest row)) time.
template <class T>
Outcome require_hermitian(const MatrixRef<T>& A, Outcome outcome, Status status) {
  if constexpr (is_complex<T>) {
    if (!outcome.ok() || A.is_operator()) return outcome;
    using namespace hermitian_detail;
    const MirrorComparison found = A.is_sparse() ? compare_with_adjoint<T>(SparseRows<T>(*A.csr()), A.rows())
                                                 : compare_with_adjoint<T>(DenseRows<T>(A.dense()), A.rows());
    if (found.row < 0) return outcome;
    const std::string row = std::to_string(found.row);
    std::string message =
        found.row == found.column
            ? "A is not Hermitian: the diagonal element of row " + row + " (from 0) has an imaginary part"
            : "A is not Hermitian: its elements at row " + row + ", column " + std::to_string(found.column) +
                  " (from 0), and at the mirrored place are not conjugates of each other";
    message += found.symmetric ? "; A is complex symmetric, for which there is cocg" : "; gmres takes any A";
    return {status, std::move(message), found.row};
  }
  return outcome;
}

}  // namespace echelon::krylov
