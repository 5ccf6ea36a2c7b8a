// SPDX-License-Identifier: BSD-3-Clause
/// Comparison of a complex matrix with its transpose and its adjoint.
#pragma once

#include "matrix/host_copy.hpp"
#include "matrix/rows.hpp"
#include "solver/factor_status.hpp"
#include "support/scalar.hpp"

#include <echelon/matrix/matrix.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace echelon {

/// The first elements, row by row, that differ by more than rounding errors from the mirrored element, and
/// from its conjugate; empty if A is symmetric, or Hermitian.
struct MirrorComparison {
  struct Element {
    std::int64_t row;
    std::int64_t column;
  };
  std::optional<Element> not_symmetric;
  std::optional<Element> not_hermitian;
};

namespace hermitian_detail {

template <class T, class Rows>
MirrorComparison compare_with_mirror(const Rows& rows, std::int64_t n) {
  MirrorComparison found;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t k = rows.begin(i); k < rows.end(i); ++k) {
      const std::int64_t j = rows.column(k);
      const auto element = static_cast<Dot<T>>(rows.value(i, k));
      const auto mirror = static_cast<Dot<T>>(rows.at(j, i));
      const double rounding = symmetry_tolerance<T> * std::max(magnitude(element), magnitude(mirror));
      if (!found.not_symmetric && magnitude(element - mirror) > rounding) found.not_symmetric = {i, j};
      if (!found.not_hermitian && magnitude(element - conj(mirror)) > rounding) found.not_hermitian = {i, j};
    }
    if (found.not_symmetric && found.not_hermitian) break;
  }
  return found;
}

}  // namespace hermitian_detail

/// Compares a square A with elements, in host memory. O(nonzeros log(longest row)) time.
template <class T>
[[nodiscard]] MirrorComparison compare_with_mirror(const MatrixRef<T>& A) {
  using hermitian_detail::compare_with_mirror;
  return A.is_sparse() ? compare_with_mirror<T>(SparseRows<T>(*A.csr()), A.rows())
                       : compare_with_mirror<T>(DenseRows<T>(A.dense()), A.rows());
}

/// The outcome of a set-up by L D L^T or L D L^H for a complex A that is neither symmetric nor Hermitian.
/// `of_any` names a method for it.
inline Outcome neither_symmetric_nor_hermitian(const MirrorComparison& found, const char* of_any) {
  const auto [i, j] = *found.not_symmetric;
  std::string message = "A is neither symmetric nor Hermitian: its elements at row " + std::to_string(i) +
                        ", column " + std::to_string(j) + " (from 0), and at the mirrored place differ";
  const auto [row, column] = *found.not_hermitian;
  message += row == column
                 ? ", and the diagonal element of row " + std::to_string(row) + " has an imaginary part"
                 : ", and those at row " + std::to_string(row) + ", column " + std::to_string(column) +
                       " are not conjugates of each other";
  return {Status::breakdown, std::move(message) + "; " + of_any + " takes any A", row};
}

/// The outcome of a set-up for a complex A with elements, which has this status and names a row if A is not
/// Hermitian. `of_symmetric` names the methods for a complex symmetric A. The time of compare_with_mirror();
/// the elements of a matrix on a GPU are copied to the host.
template <class T>
Outcome require_hermitian(const MatrixRef<T>& A, Outcome outcome, Status status,
                          const char* of_symmetric = "cocg", const char* of_any = "gmres") {
  if constexpr (is_complex<T>) {
    if (!outcome.ok() || A.is_operator()) return outcome;
    const HostCopy<T> copy(A);
    const MirrorComparison found = compare_with_mirror(copy.matrix());
    if (!found.not_hermitian) return outcome;
    const auto [i, j] = *found.not_hermitian;
    const std::string row = std::to_string(i);
    std::string message =
        i == j ? "A is not Hermitian: the diagonal element of row " + row + " (from 0) has an imaginary part"
               : "A is not Hermitian: its elements at row " + row + ", column " + std::to_string(j) +
                     " (from 0), and at the mirrored place are not conjugates of each other";
    message += found.not_symmetric
                   ? std::string("; ") + of_any + " takes any A"
                   : std::string("; A is complex symmetric, for which there is ") + of_symmetric;
    return {status, std::move(message), i};
  }
  return outcome;
}

}  // namespace echelon
