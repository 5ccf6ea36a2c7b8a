// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/multifrontal/device_analysis.hpp"

#include "matrix/structure/magnitudes.hpp"
#include "solver/factor_status.hpp"
#include "sparse_direct/matching/large_diagonal.hpp"
#include "sparse_direct/matching/powers_of_two.hpp"
#include "sparse_direct/multifrontal/analysis.hpp"
#include "sparse_direct/multifrontal/outcomes.hpp"
#include "support/scalar.hpp"

#include <support/scalar_list.hpp>

#include <cmath>
#include <optional>
#include <utility>

namespace echelon::sparse_direct {

namespace {

AnalysisOptions options_for_device(OrderingOptions ordering) {
  ordering.threads = Device().threads();
  ordering.for_gpu = true;
  return {.ordering = ordering};
}

/// Those of symmetric factors: small fronts are merged, since they take about as long as smaller ones.
/// Factors of LU have twice as many zeros then, and more pivots that wait for each other, which costs as much
/// as the levels of the tree that it saves.
AnalysisOptions options_for_symmetric(const OrderingOptions& ordering) {
  AnalysisOptions options = options_for_device(ordering);
  options.amalgamation.front = 32;
  return options;
}

/// First row whose diagonal element is not positive, if any; sets scale[i] = 1 / sqrt(a_ii) otherwise.
template <class T>
std::optional<std::int64_t> scale_by_diagonal(const Csr<T>& A, std::vector<double>& scale) {
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    double diagonal = 0;
    for (std::int64_t e = A.row_offsets()[i]; e < A.row_offsets()[i + 1]; ++e) {
      if (A.column_indices()[e] == i) diagonal = real(A.values()[e]);
    }
    if (!(diagonal > 0)) return i;
    scale.push_back(1 / std::sqrt(diagonal));
  }
  return std::nullopt;
}

template <class T>
DeviceAnalysis<T> analyze_cholesky(const Csr<T>& A, const OrderingOptions& ordering) {
  DeviceAnalysis<T> result;
  result.kind = FactorKind::cholesky;
  result.outcome = require_cholesky_symmetry(A, Device());
  if (!result.outcome.ok()) return result;
  std::vector<double> scale;
  if (const auto row = scale_by_diagonal(A, scale)) {
    result.outcome = not_positive(*row, "at most its diagonal element, which is not positive");
    return result;
  }
  result.tree = analyze_symmetric(A, options_for_symmetric(ordering));
  result.row_scale = result.column_scale = powers_of_two<Real<T>>(scale);
  return result;
}

template <class T>
DeviceAnalysis<T> analyze_ldlt(const Csr<T>& A, const OrderingOptions& ordering) {
  DeviceAnalysis<T> result;
  const SymmetricKind symmetry = kind_of_ldlt(A, Device());
  result.kind = symmetry.kind;
  if (symmetry.refusal) {
    result.outcome = *symmetry.refusal;
    result.is_final = true;
    return result;
  }
  const SymmetricMatching matching =
      with_magnitudes(A, [](const auto& sizes) { return symmetric_matching(sizes); });
  if (matching.structural_rank < A.rows()) {
    result.outcome = rank_deficient("A", A.rows(), matching.structural_rank, matching.unmatched_rows, true);
    return result;
  }
  AnalysisOptions options = options_for_symmetric(ordering);
  options.partner = matching.partner;
  result.tree = analyze_symmetric(A, options);
  result.row_scale = result.column_scale = powers_of_two<Real<T>>(matching.scale);
  result.scaling = to_string(matching.kind);
  return result;
}

template <class T>
DeviceAnalysis<T> analyze_lu(const Csr<T>& A, const OrderingOptions& ordering) {
  DeviceAnalysis<T> result;
  const LargeDiagonal diagonal = with_magnitudes(A, [](const auto& sizes) { return large_diagonal(sizes); });
  if (diagonal.structural_rank < A.rows()) {
    result.outcome =
        rank_deficient("A", A.rows(), diagonal.structural_rank, diagonal.unmatched_columns, true);
    return result;
  }
  const PatternStorage pattern = symmetrized_pattern(A, diagonal.row_permutation);
  result.tree = analyze_symmetric(pattern.view(), options_for_device(ordering));
  result.row_permutation = diagonal.row_permutation;
  result.row_scale = powers_of_two<Real<T>>(diagonal.scaling.rows);
  result.column_scale = powers_of_two<Real<T>>(diagonal.scaling.columns);
  return result;
}

}  // namespace

template <class T>
DeviceAnalysis<T> analyze_for_device(const Csr<T>& A, FactorKind kind, const OrderingOptions& ordering) {
  switch (kind) {
    case FactorKind::cholesky:
      return analyze_cholesky(A, ordering);
    case FactorKind::ldlt:
    case FactorKind::hermitian_ldlt:
      return analyze_ldlt(A, ordering);
    case FactorKind::lu:
      return analyze_lu(A, ordering);
  }
  return {};
}

#define ECHELON_INSTANTIATE(T) \
  template DeviceAnalysis<T> analyze_for_device(const Csr<T>&, FactorKind, const OrderingOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::sparse_direct
