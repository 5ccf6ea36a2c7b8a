// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sparse_direct/matching/scaling.hpp"
#include "sparse_direct/multifrontal/factorization.hpp"
#include "support/setup_control.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/csr.hpp>

namespace echelon::sparse_direct {

/// Factorisation with numerical pivoting: L D L^T or LU of a scaled matrix.
template <class T>
class PivotedFactorization : public MultifrontalFactorization<T> {
  using Base = MultifrontalFactorization<T>;

 public:
  /// `threshold`: least magnitude of a pivot, relative to the largest element of its column.
  PivotedFactorization(const Device& device, double threshold) : Base(device), threshold_(threshold) {}

  /// Factors R A C. Columns whose pivots are at most `smallest` are delayed to the root, where they decide
  /// the rank. False when cancelled.
  [[nodiscard]] bool factor_scaled(const Csr<T>& A, const Scaling& scaling, double smallest,
                                   const SetupControl& control);
  /// factor_scaled() for a tree with a border, see partial().
  [[nodiscard]] bool partial_scaled(const Csr<T>& A, const Scaling& scaling, double smallest,
                                    const SetupControl& control, Array<T>& complement);

  /// Adds facts about the pivots to the outcome of a set-up.
  void add_pivot_statistics(Outcome& outcome) const;

 private:
  [[nodiscard]] PivotThresholds<T> thresholds(double smallest) const;

  double threshold_;
  double largest_scaled_ = 0;  // magnitude of the scaled elements
};

}  // namespace echelon::sparse_direct
