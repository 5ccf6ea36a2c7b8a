// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/multifrontal/pivoted_factorization.hpp"

#include "support/scalar.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

namespace echelon::sparse_direct {

namespace {

template <class T>
ScaledValues<T> scaled_values(const Csr<T>& A, const Scaling& scaling) {
  if (scaling.rows.empty()) return {A.values().data()};
  return {A.values().data(), scaling.rows.data(), scaling.columns.data()};
}

}  // namespace

template <class T>
bool PivotedFactorization<T>::factor_scaled(const Csr<T>& A, const Scaling& scaling, double smallest,
                                            const SetupControl& control) {
  const ScaledValues<T> values = scaled_values(A, scaling);
  largest_scaled_ = 0;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      const T element = values.at(k, i, A.column_indices()[k]);
      largest_scaled_ = std::max(largest_scaled_, magnitude(element));
    }
  }
  return this->factor(values, thresholds(smallest), control).end != FactorEnd::cancelled;
}

template <class T>
bool PivotedFactorization<T>::partial_scaled(const Csr<T>& A, const Scaling& scaling, double smallest,
                                             const SetupControl& control, Array<T>& complement) {
  return this->partial(scaled_values(A, scaling), thresholds(smallest), control, complement).end !=
         FactorEnd::cancelled;
}

template <class T>
PivotThresholds<T> PivotedFactorization<T>::thresholds(double smallest) const {
  constexpr double least = 0.01;  // of the threshold, where the alternative is to delay the column
  return {static_cast<Real<T>>(threshold_), static_cast<Real<T>>(least * threshold_),
          static_cast<Real<T>>(smallest), 0};
}

template <class T>
void PivotedFactorization<T>::add_pivot_statistics(Outcome& outcome) const {
  const FactorFacts& facts = this->facts();
  outcome.statistics.insert(
      outcome.statistics.end(),
      {{"delayed_pivots", facts.delayed_pivots},
       {"perturbed_pivots", facts.perturbed_pivots},
       {"pivot_growth", largest_scaled_ > 0 ? facts.largest_element / largest_scaled_ : 1.0}});
  if (facts.perturbed_pivots > 0) {
    outcome.warnings.push_back(std::to_string(facts.perturbed_pivots) +
                               " pivots were too small for their fronts and replaced by larger ones; "
                               "refinement has to make up for that");
  }
}

#define ECHELON_INSTANTIATE(T) template class PivotedFactorization<T>;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::sparse_direct
