// SPDX-License-Identifier: BSD-3-Clause
#include "domain_decomposition/schur/analysis.hpp"

#include "domain_decomposition/schur/interior.hpp"
#include "domain_decomposition/schur/outcomes.hpp"
#include "sparse_direct/matching/large_diagonal.hpp"
#include "sparse_direct/multifrontal/analysis.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace echelon::schur {

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
    if (const auto place = find_asymmetry(A, Device::openmp(target.threads))) {
      result.outcome = asymmetric(factorization, place->row, place->column);
      return result;
    }
  }
  if (factorization == SchurFactorization::ldlt) {
    const SymmetricMatching matching = symmetric_matching(interior_block(A, partition));
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
    const LargeDiagonal diagonal = large_diagonal(interior_block(A, partition));
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

template Analysis analyze_interior(const Csr<float>&, const InterfacePartition&, SchurFactorization, Ordering,
                                   AnalysisTarget);
template Analysis analyze_interior(const Csr<double>&, const InterfacePartition&, SchurFactorization,
                                   Ordering, AnalysisTarget);

}  // namespace echelon::schur
