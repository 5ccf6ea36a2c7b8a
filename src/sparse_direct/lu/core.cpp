// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/lu/core.hpp"

#include "sparse_direct/matching/null_pivot.hpp"
#include "sparse_direct/symbolic/equal_patterns.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace echelon::sparse_direct {

namespace {

template <class T>
bool are_analyzed_alike(const Core<T>& a, const Core<T>& b) {
  return a.singletons == b.singletons && a.diagonal.row_permutation == b.diagonal.row_permutation &&
         a.diagonal.unmatched_columns == b.diagonal.unmatched_columns &&
         have_equal_patterns(a.matrix, b.matrix);
}

}  // namespace

template <class T>
void CoreLu<T>::analyze(const Csr<T>& A, const OrderingOptions& ordering, bool same_pattern) {
  Core<T> core = core_of(A);
  core.diagonal.scaling = infinity_norm_scaling(core.matrix);
  core.diagonal.kind = ScalingKind::infinity_norm;
  const bool same = same_pattern && are_analyzed_alike(core, core_);
  core_ = std::move(core);
  if (!same)
    fronts_.analyze(analyze_core(core_, ordering), FactorKind::lu, core_.matrix,
                    core_.diagonal.row_permutation);
}

template <class T>
bool CoreLu<T>::factor(const Csr<T>& A, const SetupControl& control) {
  const double smallest = null_pivot_tolerance<T>(core_.matrix.rows());
  if (!fronts_.factor_scaled(core_.matrix, core_.diagonal.scaling, smallest, control)) return false;
  set_scaling(A);
  singletons_ = SingletonFactors<T>(A, core_.singletons, scaling_.rows, scaling_.columns, fronts_.row_order(),
                                    fronts_.column_order(), fronts_.facts().rank);
  return true;
}

template <class T>
void CoreLu<T>::substitute(bool transposed, int columns, T* x, T* scratch) const {
  singletons_.substitute(transposed, columns, x,
                         [&](T* core) { fronts_.substitute(transposed, columns, core, scratch); });
}

template <class T>
std::size_t CoreLu<T>::bytes() const {
  return fronts_.bytes() + core_.matrix.bytes() + singletons_.bytes() +
         (scaling_.rows.size() + scaling_.columns.size()) * sizeof(double);
}

/// Takes the scaling of the core for its rows and columns, and scales rows of the singletons to a largest
/// element of 1.
template <class T>
void CoreLu<T>::set_scaling(const Csr<T>& A) {
  const auto n = static_cast<std::size_t>(A.rows());
  const Singletons& order = core_.singletons;
  scaling_ = {std::vector<double>(n, 1), std::vector<double>(n, 1)};
  for (std::int64_t k = 0; k < order.core_size(); ++k) {
    scaling_.rows[order.rows[order.core_begin + k]] = core_.diagonal.scaling.rows[k];
    scaling_.columns[order.columns[order.core_begin + k]] = core_.diagonal.scaling.columns[k];
  }
  for (std::int64_t k = 0; k < order.end; ++k) {
    if (k == order.core_begin) k = order.core_end;
    if (k == order.end) break;
    const std::int32_t i = order.rows[k];
    double largest = 0;
    for (std::int64_t p = A.row_offsets()[i]; p < A.row_offsets()[i + 1]; ++p) {
      const double magnitude = std::fabs(static_cast<double>(A.values()[p]));
      largest = std::max(largest, magnitude * scaling_.columns[A.column_indices()[p]]);
    }
    if (std::isfinite(1 / largest)) scaling_.rows[i] = 1 / largest;
  }
}

template class CoreLu<float>;
template class CoreLu<double>;

}  // namespace echelon::sparse_direct
