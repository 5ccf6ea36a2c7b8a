// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <optional>

namespace echelon::direct {

/// Reciprocal condition number of a matrix whose values change: the last estimate times the change of the
/// ratio of its pivots, unless that is large or the number is near the machine epsilon.
class UpdatedCondition {
 public:
  /// `epsilon`: of the precision of the factors; `estimate()` takes about ten substitutions.
  template <class Estimate>
  [[nodiscard]] double value(double pivot_ratio, double epsilon, const Estimate& estimate) {
    constexpr double largest_change = 10;
    constexpr double least = 1e5;  // times epsilon
    predicted_ = false;
    if (last_) {
      const double change = pivot_ratio / last_->pivot_ratio;
      const double prediction = last_->reciprocal_condition * change;
      predicted_ = change >= 1 / largest_change && change <= largest_change && prediction >= least * epsilon;
      if (predicted_) return std::min(prediction, 1.0);
    }
    last_ = {estimate(), pivot_ratio};
    return last_->reciprocal_condition;
  }
  /// Whether the last value was no estimate.
  [[nodiscard]] bool is_predicted() const { return predicted_; }
  /// Has the next value estimated: that of other factors.
  void forget() {
    last_.reset();
    predicted_ = false;
  }

 private:
  struct Estimated {
    double reciprocal_condition;
    double pivot_ratio;
  };
  std::optional<Estimated> last_;
  bool predicted_ = false;
};

}  // namespace echelon::direct
