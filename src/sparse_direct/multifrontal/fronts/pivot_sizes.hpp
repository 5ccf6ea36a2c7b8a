// SPDX-License-Identifier: BSD-3-Clause
/// Sizes of pivots: when values change in a pattern, the condition number changes about as their ratio does.
#pragma once

#include "sparse_direct/multifrontal/fronts/factors.hpp"
#include "support/hypotenuse.hpp"
#include "support/scalar.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace echelon::sparse_direct {

/// The smallest and the largest magnitude of pivots.
class PivotSizes {
 public:
  void add(double magnitude) {
    smallest_ = std::min(smallest_, magnitude);
    largest_ = std::max(largest_, magnitude);
  }
  /// Infinite without pivots.
  [[nodiscard]] double smallest() const { return smallest_; }
  [[nodiscard]] double largest() const { return largest_; }
  /// The smallest divided by the largest; 1 without pivots.
  [[nodiscard]] double ratio() const { return largest_ > 0 ? smallest_ / largest_ : 1; }

 private:
  double smallest_ = std::numeric_limits<double>::infinity();
  double largest_ = 0;
};

namespace pivot_detail {

/// Adds the pivot of D that begins with column p. Returns its order.
template <class T>
std::int32_t add_pivot_of_ldlt(const FactoredFront<T>& front, std::int32_t p, [[maybe_unused]] bool hermitian,
                               double scale, PivotSizes& sizes) {
  const auto a11 = static_cast<Dot<T>>(front.right[2 * p]);
  const auto a21 = static_cast<Dot<T>>(front.right[2 * p + 1]);
  if (a21 == Dot<T>{0}) {
    sizes.add(scale * magnitude(a11));
    return 1;
  }
  const auto a22 = static_cast<Dot<T>>(front.right[2 * p + 2]);
  if constexpr (is_complex<T>) {
    // The eigenvalue that is larger in magnitude, and the determinant divided by it.
    const Dot<T> a12 = hermitian ? conj(a21) : a21;
    const Dot<T> mean = (a11 + a22) / 2.0;
    const Dot<T> root = std::sqrt((a11 - a22) * (a11 - a22) / 4.0 + a12 * a21);
    const Dot<T> larger = std::abs(mean + root) >= std::abs(mean - root) ? mean + root : mean - root;
    sizes.add(scale * magnitude(larger));
    sizes.add(scale * magnitude(a11 / larger * a22 - a12 / larger * a21));
  } else {
    const double mean = (a11 + a22) / 2;
    const double larger = std::abs(mean) + hypotenuse((a11 - a22) / 2, a21);
    sizes.add(scale * larger);
    sizes.add(scale * std::abs(a11 / larger * a22 - a21 / larger * a21));
  }
  return 2;
}

}  // namespace pivot_detail

/// Sizes of the pivots of A, each times `scale_of(k)` for the k-th one. A pivot of order two
/// counts as its eigenvalues. O(n) time.
template <class T, class Scale>
[[nodiscard]] PivotSizes pivot_sizes(const MultifrontalFactors<T>& factors, const Scale& scale_of) {
  PivotSizes sizes;
  for (const FrontRecord& record : factors.fronts) {
    const FactoredFront<T> front = factors.front(record);
    for (std::int32_t p = 0; p < record.eliminated; ++p) {
      const double scale = scale_of(record.first_pivot + p);
      if (!has_block_diagonal(factors.kind)) {
        const double diagonal = magnitude(front.lower[p + std::int64_t{record.size} * p]);
        sizes.add(scale * (factors.kind == FactorKind::cholesky ? diagonal * diagonal : diagonal));
        continue;
      }
      p += pivot_detail::add_pivot_of_ldlt(front, p, is_hermitian(factors.kind), scale, sizes) - 1;
    }
  }
  return sizes;
}

}  // namespace echelon::sparse_direct
