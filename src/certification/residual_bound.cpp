// SPDX-License-Identifier: BSD-3-Clause
#include "certification/residual_bound.hpp"

#include "certification/rounding.hpp"
#include "linalg/doubled_sum.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace echelon::certification {

namespace {

/// Upper bound of the magnitude of the exact sum of at most `terms` products and other terms.
double magnitude_bound(const DoubledSum& sum, std::int64_t terms) {
  const double result = std::abs(sum.high + sum.low);
  if (!std::isfinite(result)) return std::numeric_limits<double>::infinity();
  // An underflowing operation loses at most the smallest positive number.
  return add_up(next_up(result), error_bound(sum, terms, std::numeric_limits<double>::denorm_min()));
}

}  // namespace

std::vector<double> residual_bound(const Csr<double>& A, const std::vector<double>& b,
                                   const std::vector<double>& x) {
  std::vector<double> bound(b.size());
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    DoubledSum sum{b[static_cast<std::size_t>(i)]};
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      sum.add_product(-A.values()[k], x[static_cast<std::size_t>(A.column_indices()[k])]);
    }
    bound[static_cast<std::size_t>(i)] =
        magnitude_bound(sum, A.row_offsets()[i + 1] - A.row_offsets()[i] + 1);
  }
  return bound;
}

}  // namespace echelon::certification
