// SPDX-License-Identifier: BSD-3-Clause
/// Sums without rounding error. T. J. Dekker, A floating-point technique for extending the available
/// precision, Numer. Math. 18 (1971).
#pragma once

#include "linalg/doubled_sum.hpp"

#include <echelon/annotate.hpp>

namespace echelon {

/// Adds b to a; returns the rounding error, so that the new a plus it is the exact sum.
ECHELON_ANYWHERE inline double add_exactly(double& a, double b) {
  const double sum = rounded_sum(a, b);
  const double error = error_of_sum(a, b, sum);
  a = sum;
  return error;
}

/// Sum of doubles as the unevaluated sum of two of them: about 106 bits. `exact` tells whether no bit was
/// lost in any addition; then value() is zero only if the sum is.
struct ExactSum {
  double high = 0;
  double low = 0;
  bool exact = true;

  ECHELON_ANYWHERE void add(double value) {
    const double lost = add_exactly(low, add_exactly(high, value));
    exact = exact && lost == 0;
  }
  [[nodiscard]] ECHELON_ANYWHERE double value() const { return high + low; }
  friend ECHELON_ANYWHERE ExactSum combine(ExactSum a, const ExactSum& b) {
    a.add(b.high);
    a.add(b.low);
    a.exact = a.exact && b.exact;
    return a;
  }
};

}  // namespace echelon
