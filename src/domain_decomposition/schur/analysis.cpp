// SPDX-License-Identifier: BSD-3-Clause
#include "domain_decomposition/schur/analysis.hpp"

#include "domain_decomposition/schur/interior.hpp"
#include "domain_decomposition/schur/outcomes.hpp"
#include "matrix/structure/magnitudes.hpp"
#include "sparse_direct/matching/large_diagonal.hpp"
#include "sparse_direct/multifrontal/analysis.hpp"
#include "sparse_direct/multifrontal/symmetry.hpp"

#include <support/scalar_list.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace echelon::schur {

namespace {

/// The kind of factors that the symmetry of A allows for cholesky or ldlt; the outcome of another A.
template <class T>
Outcome find_kind(const Csr<T>& A, SchurFactorization factorization, AnalysisTarget target,
                  sparse_direct::FactorKind& kind) {
  using sparse_direct::FactorKind;
  const bool is_cholesky = factorization == SchurFactorization::cholesky;
  kind = is_cholesky ? FactorKind::cholesky : FactorKind::ldlt;
  if constexpr (is_complex<T>) {
    const MirrorComparison found = compare_with_mirror(MatrixRef<T>(A));
    if (!is_cholesky && !found.not_hermitian) kind = FactorKind::hermitian_ldlt;
    return unsuitable_symmetry(factorization, found);
  } else {
    const auto place = sparse_direct::find_asymmetry(A, Device::openmp(target.threads));
    return place ? asymmetric(factorization, place->row, place->column) : Outcome{};
  }
}

}  // namespace

template <class T>
Analysis analyze_interior(const Csr<T>& A, const InterfacePartition& partition,
                          SchurFactorization factorization, Ordering ordering, AnalysisTarget target) {
  using namespace sparse_direct;
  Analysis result;
  AnalysisOptions options;
  options.ordering = {.ordering = ordering, .threads = target.threads, .for_gpu = target.for_gpu};
  std::vector<std::int32_t> partner;
  const auto size = static_cast<std::int64_t>(partition.interior.size());
  if (factorization != SchurFactorization::lu) {
    result.outcome = find_kind(A, factorization, target, result.kind);
    if (!result.outcome.ok()) return result;
  }
  if (factorization == SchurFactorization::ldlt) {
    const SymmetricMatching matching = with_magnitudes(
        interior_block(A, partition), [](const auto& sizes) { return symmetric_matching(sizes); });
    if (matching.structural_rank < size) {
      result.outcome = interior_rank_deficient(partition, matching.structural_rank,
                                               given_columns(partition, matching.unmatched_rows), true);
      return result;
    }
    partner = in_all_rows(partition, matching.partner);
    options.partner = partner;
    result.scaling = with_border_scaling(A, partition, {matching.scale, matching.scale});
    result.scaling.columns = result.scaling.rows;
  } else if (factorization == SchurFactorization::lu) {
    const LargeDiagonal diagonal = with_magnitudes(interior_block(A, partition),
                                                   [](const auto& sizes) { return large_diagonal(sizes); });
    if (diagonal.structural_rank < size) {
      result.outcome = interior_rank_deficient(partition, diagonal.structural_rank,
                                               given_columns(partition, diagonal.unmatched_columns), true);
      return result;
    }
    result.row_permutation = in_all_rows(partition, diagonal.row_permutation);
    result.scaling = with_border_scaling(A, partition, diagonal.scaling);
  }
  result.symbolic = factorization == SchurFactorization::lu
                        ? analyze_bordered(symmetrized_pattern(A, result.row_permutation).view(),
                                           partition.interface, options)
                        : analyze_bordered(A, partition.interface, options);
  return result;
}

#define ECHELON_INSTANTIATE(T)                                                                               \
  template Analysis analyze_interior(const Csr<T>&, const InterfacePartition&, SchurFactorization, Ordering, \
                                     AnalysisTarget);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::schur
