// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sparse_direct/multifrontal/fronts/factors.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>

namespace echelon::sparse_direct {

/// Counts the pivots of D by order and sign, for a real symmetric or a Hermitian A. A and D have as many
/// eigenvalues of each sign (Sylvester's law of inertia), and so has A scaled symmetrically.
template <class T>
void count_signs(MultifrontalFactors<T>& factors) {
  FactorFacts& facts = factors.facts;
  facts.positive = facts.negative = facts.two_by_two_pivots = 0;
  using R = Real<T>;
  const auto count = [&](R eigenvalue) { ++(eigenvalue > 0 ? facts.positive : facts.negative); };
  for (const FrontRecord& record : factors.fronts) {
    const T* d = factors.front(record).right;
    for (std::int32_t p = 0; p < record.eliminated; ++p) {
      const R a11 = std::real(d[2 * p]);
      const R a21 = std::abs(d[2 * p + 1]);
      count(a11);
      if (a21 == 0) continue;
      ++p;
      ++facts.two_by_two_pivots;
      const R a22 = std::real(d[2 * p]);
      const R largest = std::max({std::abs(a11), a21, std::abs(a22)});
      const R determinant = a11 / largest * a22 - a21 / largest * a21;
      count(determinant < 0 ? -(a11 > 0 ? R{1} : R{-1}) : a11);
    }
  }
}

}  // namespace echelon::sparse_direct
