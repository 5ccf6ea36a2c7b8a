// SPDX-License-Identifier: BSD-3-Clause
/// Outcomes of eliminations, in the same words for all kinds of matrices. Rows and columns count from 0, in
/// A.
#pragma once

#include "domain_decomposition/schur/implementation.hpp"
#include "solver/factor_status.hpp"
#include "solver/hermitian.hpp"
#include "sparse_direct/multifrontal/outcomes.hpp"
#include "support/text.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace echelon::schur {

/// Outcome for a factorisation of symmetric matrices.
inline Outcome asymmetric(SchurFactorization factorization, std::int64_t row, std::int64_t column) {
  return not_symmetric(row, column,
                       factorization == SchurFactorization::cholesky ? Status::not_spd : Status::breakdown);
}

/// Outcome of a comparison of a complex A with its mirror image: ok if the factorisation is for it. Cholesky
/// factors are those of Hermitian matrices, L D L^T and L D L^H of symmetric and Hermitian ones.
inline Outcome unsuitable_symmetry(SchurFactorization factorization, const MirrorComparison& found) {
  if (!found.not_hermitian) return {};
  if (factorization == SchurFactorization::cholesky)
    return {Status::not_spd,
            "A is not Hermitian: its elements at row " + std::to_string(found.not_hermitian->row) +
                ", column " + std::to_string(found.not_hermitian->column) +
                " (from 0), and at the mirrored place are not conjugates of each other",
            found.not_hermitian->row};
  return found.not_symmetric ? neither_symmetric_nor_hermitian(found, "lu") : Outcome{};
}

/// `value` completes "the pivot of column ... is ...".
inline Outcome interior_not_positive(std::int64_t column, const std::string& value) {
  return {Status::not_spd,
          "the interior block of A is not positive definite: the pivot of column " + std::to_string(column) +
              " (from 0) is " + value,
          column};
}

/// Outcome for an interior block that lacks pivots in these columns of A.
inline Outcome interior_rank_deficient(const InterfacePartition& partition, std::int64_t rank,
                                       std::vector<std::int32_t> columns, bool structural = false) {
  Outcome outcome = sparse_direct::rank_deficient("the interior block of A", std::ssize(partition.interior),
                                                  rank, std::move(columns), structural);
  outcome.message += "; with such unknowns in the interface the others can be eliminated";
  return outcome;
}

/// Columns of A that these columns of the interior block are.
inline std::vector<std::int32_t> given_columns(const InterfacePartition& partition,
                                               std::vector<std::int32_t> interior_columns) {
  for (std::int32_t& k : interior_columns) k = partition.interior[static_cast<std::size_t>(k)];
  return interior_columns;
}

/// Outcome with the reciprocal condition number of the interior block.
template <class T>
Outcome assess_interior(double reciprocal_condition) {
  Outcome outcome = assess_condition<T>(reciprocal_condition);
  if (!outcome.ok()) {
    outcome.message =
        "the interior block of A is singular to working precision: its reciprocal condition number is "
        "about " +
        short_number(reciprocal_condition);
  }
  return outcome;
}

}  // namespace echelon::schur
