// SPDX-License-Identifier: BSD-3-Clause
/// Factors of a matrix, for callers that need L, U, D and the permutations themselves.
#pragma once

#include <echelon/enum_words.hpp>
#include <echelon/export.h>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/matrix.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace echelon {

/// Product that the factors of a matrix S form.
enum class FactorForm {
  lu,              ///< S = L U + F
  cholesky,        ///< S = L L^T, of a Hermitian A L L^H
  ldlt,            ///< S = L D L^T
  hermitian_ldlt,  ///< S = L D L^H, of a complex A
};
constexpr std::array<EnumWord<FactorForm>, 4> words_of(FactorForm /*kind*/) {
  return {{{FactorForm::lu, "lu"},
           {FactorForm::cholesky, "cholesky"},
           {FactorForm::ldlt, "ldlt"},
           {FactorForm::hermitian_ldlt, "hermitian-ldlt"}}};
}

/// Factors of the n by n matrix S, which is A scaled and permuted:
///
///   s_ij = 2^exponent row_scales[p] a_pq column_scales[q],  p = row_permutation[i], q =
///   column_permutation[j].
///
/// The equations of FactorForm hold up to the rounding errors of the factorisation. All arrays are on the
/// host; L and U are dense for a dense method and sparse for a sparse one, which leaves out elements that are
/// exactly zero.
template <class T>
struct ECHELON_API MatrixFactors {
  FactorForm form = FactorForm::lu;
  Matrix<T> lower;  ///< L, lower triangular; its diagonal, which may be 1, is stored
  Matrix<T> upper;  ///< U, upper triangular with its diagonal; of LU, otherwise 0 by 0
  /// F, with elements right of the diagonal blocks of a block triangular S, whose blocks L U are: the rows
  /// that link blocks are not eliminated. Of `sparse-lu` with left-looking factors; otherwise without
  /// elements.
  Csr<T> coupling;
  std::vector<T> diagonal;  ///< diagonal of D; of L D L^T and L D L^H, otherwise empty
  /// n elements: element (k + 1, k) of D, which differs from zero in the first row of a pivot of order two;
  /// its mirror image is the same, of L D L^H the conjugate. Empty without D.
  std::vector<T> subdiagonal;
  std::vector<std::int64_t> row_permutation;     ///< n row numbers of A, in the order of their pivots
  std::vector<std::int64_t> column_permutation;  ///< those of the rows for a symmetric form
  std::vector<double> row_scales;                ///< n numbers, by the rows of A
  std::vector<double> column_scales;             ///< n numbers, by the columns of A
  int exponent = 0;                              ///< 0 unless the norm of A is far from 1
};

}  // namespace echelon
