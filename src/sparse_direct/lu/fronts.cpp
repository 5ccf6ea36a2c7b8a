// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/lu/fronts.hpp"

#include "matrix/structure/magnitudes.hpp"
#include "sparse_direct/pattern/pattern.hpp"
#include "sparse_direct/symbolic/symbolic_factor.hpp"

#include <support/scalar_list.hpp>

#include <utility>

namespace echelon::sparse_direct {

template <class T>
void FrontLu<T>::analyze(const Csr<T>& A, LargeDiagonal diagonal, const OrderingOptions& ordering,
                         bool same_pattern) {
  const bool same = same_pattern && diagonal.row_permutation == diagonal_.row_permutation &&
                    fronts_.layout().tree.n == A.rows();
  diagonal_ = std::move(diagonal);
  if (same) return;
  AnalysisOptions options;
  options.ordering = ordering;
  const PatternStorage pattern = symmetrized_pattern(A, diagonal_.row_permutation);
  fronts_.analyze(analyze_symmetric(pattern.view(), options), FactorKind::lu, A, diagonal_.row_permutation);
}

template <class T>
void FrontLu<T>::adapt_to_values(const Csr<T>& A) {
  diagonal_.scaling =
      with_magnitudes(A, [](const auto& magnitudes) { return infinity_norm_scaling(magnitudes); });
  diagonal_.kind = ScalingKind::infinity_norm;
}

template <class T>
DeterminantProduct FrontLu<T>::determinant() const {
  DeterminantProduct product = pivot_product(fronts_.factors());
  product.divide_by_all(scaling().rows);
  product.divide_by_all(scaling().columns);
  return product;
}

template <class T>
MatrixFactors<T> FrontLu<T>::factors() const {
  MatrixFactors<T> result = unpack(fronts_.factors());
  result.row_scales = scaling().rows;
  result.column_scales = scaling().columns;
  return result;
}

#define ECHELON_INSTANTIATE(T) template class FrontLu<T>;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::sparse_direct
