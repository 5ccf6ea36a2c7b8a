// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/steady_state/iteration.hpp"

#include <echelon/matrix/csr.hpp>
#include <echelon/solver.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

namespace echelon::markov {

namespace {

constexpr int most_cycles = 30;
/// Cycles in sequence that do not halve the residual, after which the iteration ends: small components
/// may need several until sweeps have brought them near their values.
constexpr int most_stalled = 4;
constexpr int sweeps_between = 20;
/// Relative residual of a correction with which it is taken.
constexpr double useful_residual = 0.1;
/// Residual relative to the largest y_i from which corrections are relative to y.
constexpr double small_residual = 1e-13;
/// Imbalance of each state at which y is as accurate as rounding allows.
constexpr double rounding_imbalance = 4e-15;
/// Numbers of visits below it, relative to the largest, are not told from each other.
constexpr double smallest_visits = 1e-280;

/// I - P^T.
Csr<double> balance_matrix(const RateRows& steps) {
  std::vector<Triplet<double>> elements;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto state = static_cast<std::int32_t>(i);
    elements.push_back({state, state, 1});
    for (const Rate& step : steps[i]) elements.push_back({step.state, state, -step.value});
  }
  const auto n = static_cast<std::int64_t>(steps.size());
  return Csr<double>::from_triplets(n, n, elements);
}

class BalanceIteration {
 public:
  explicit BalanceIteration(const RateRows& steps)
      : A_(balance_matrix(steps)), scaled_(A_.to(Device())), y_(steps.size(), 1), r_(y_), z_(y_) {}

  IteratedVisits run() {
    double before = std::numeric_limits<double>::infinity();
    bool was_small = false;
    int stalled = 0;
    for (int cycle = 0; cycle < most_cycles; ++cycle) {
      for (int k = 0; k < sweeps_between; ++k) sweep();
      normalize();
      const Residual residual = compute_residual();
      if (residual.componentwise <= rounding_imbalance) break;
      const bool is_small = residual.largest <= small_residual;
      const double size = is_small ? residual.componentwise : residual.largest;
      const bool progresses = size < 0.5 * before || is_small != was_small;
      stalled = progresses ? 0 : stalled + 1;
      if (stalled > most_stalled) break;
      before = progresses ? size : before;
      was_small = is_small;
      project_residual();
      if (is_small ? !correct_relative() : !correct()) break;
    }
    return {std::move(y_), iterations_};
  }

 private:
  /// y_i = (P^T y)_i, forward and backward.
  void sweep() {
    const std::int64_t n = A_.rows();
    for (std::int64_t i = 0; i < n; ++i) relax(i);
    for (std::int64_t i = n; i-- > 0;) relax(i);
  }
  void relax(std::int64_t i) {
    double inflow = 0;
    for (std::int64_t k = A_.row_offsets()[i]; k < A_.row_offsets()[i + 1]; ++k) {
      const std::int32_t j = A_.column_indices()[k];
      if (j != i) inflow -= A_.values()[k] * y_[static_cast<std::size_t>(j)];
    }
    y_[static_cast<std::size_t>(i)] = inflow;
  }
  void normalize() {
    const double largest = *std::max_element(y_.begin(), y_.end());
    for (double& visits : y_) visits = std::max(visits / largest, smallest_visits);
  }

  struct Residual {
    double largest = 0;        ///< |r_i|, where the largest y_i is 1
    double componentwise = 0;  ///< largest |r_i| / y_i
  };
  /// r = -A y.
  Residual compute_residual() {
    Residual found;
    for (std::int64_t i = 0; i < A_.rows(); ++i) {
      long double sum = 0;
      for (std::int64_t k = A_.row_offsets()[i]; k < A_.row_offsets()[i + 1]; ++k)
        sum -=
            static_cast<long double>(A_.values()[k]) * y_[static_cast<std::size_t>(A_.column_indices()[k])];
      const auto at = static_cast<std::size_t>(i);
      r_[at] = static_cast<double>(sum);
      const double size = std::fabs(r_[at]);
      found.largest = std::max(found.largest, size);
      if (y_[at] > smallest_visits) found.componentwise = std::max(found.componentwise, size / y_[at]);
    }
    return found;
  }

  /// Removes the part of r outside the range of A, whose columns sum to zero: rounding errors.
  void project_residual() {
    const double share =
        std::accumulate(r_.begin(), r_.end(), 0.0) / std::accumulate(y_.begin(), y_.end(), 0.0);
    for (std::size_t i = 0; i < r_.size(); ++i) r_[i] -= share * y_[i];
  }

  /// y += z with A z = r, where y stays positive.
  bool correct() {
    constexpr double least_share = 0.01;
    if (!solve(A_)) return false;
    for (std::size_t i = 0; i < y_.size(); ++i) y_[i] = std::max(y_[i] + z_[i], least_share * y_[i]);
    return true;
  }
  /// y_i *= 1 + z_i with Y^-1 A Y z = Y^-1 r.
  bool correct_relative() {
    for (std::int64_t i = 0; i < A_.rows(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      r_[at] /= y_[at];
      for (std::int64_t k = A_.row_offsets()[i]; k < A_.row_offsets()[i + 1]; ++k)
        scaled_.values()[k] =
            A_.values()[k] * (y_[static_cast<std::size_t>(A_.column_indices()[k])] / y_[at]);
    }
    constexpr double least_factor = 0.01;
    if (!solve(scaled_)) return false;
    for (std::size_t i = 0; i < y_.size(); ++i) y_[i] *= std::max(1 + z_[i], least_factor);
    return true;
  }

  /// Solves for z with the right-hand side r; false if no method gets near.
  bool solve(const Csr<double>& matrix) {
    const Options ilu0 = {{"preconditioner", "ilu0"}};
    Options restarted = ilu0;
    restarted.set("restart", std::int64_t{100});
    return solve_by("bicgstab", ilu0, matrix) || solve_by("gmres", restarted, matrix);
  }
  bool solve_by(const char* method, const Options& options, const Csr<double>& matrix) {
    Solver<double> solver = make_solver<double>(method, Device(), options);
    if (!solver.setup(matrix).ready()) return false;
    std::fill(z_.begin(), z_.end(), 0.0);
    const Report report = solver.solve(r_, std::span<double>(z_), {.rtol = 1e-6, .max_iterations = 500});
    iterations_ += report.iterations;
    return report.relative_residual <= useful_residual;
  }

  Csr<double> A_;
  Csr<double> scaled_;         // Y^-1 A Y
  std::vector<double> y_, r_;  // r = -A y
  std::vector<double> z_;
  std::int64_t iterations_ = 0;
};

}  // namespace

IteratedVisits visits_by_iteration(const RateRows& steps) {
  return BalanceIteration(steps).run();
}

}  // namespace echelon::markov
