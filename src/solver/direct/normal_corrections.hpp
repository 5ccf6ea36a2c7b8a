// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "linalg/residual_check.hpp"
#include "solver/direct/refinement.hpp"
#include "support/machine_epsilon.hpp"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace echelon {

/// Policy of refine() for one x of least residual: takes corrections d while each is at most `share` of the
/// one before. The correction that is left over measures the error of x; the one after `most_computed` is not
/// computed. `compute(x)` computes the next d, in memory of the caller. Vectors are on the device of `check`.
template <class T, class Compute>
class NormalCorrections {
 public:
  /// d has n elements.
  NormalCorrections(ResidualCheck<T>& check, const T* d, std::int64_t n, double share,
                    std::int64_t most_computed, Compute compute)
      : check_(check),
        d_(d),
        n_(n),
        share_(share),
        most_computed_(most_computed),
        compute_(std::move(compute)) {}

  void begin(const RefinementViews<T>& views) { size_ = measure(views.solution.data()); }
  [[nodiscard]] std::span<const std::int64_t> columns() const {
    static constexpr std::int64_t only[] = {0};
    return shrinks_ && size_ > machine_epsilon<T> ? std::span<const std::int64_t>(only)
                                                  : std::span<const std::int64_t>();
  }
  void assess(std::span<const std::int64_t> /*columns*/, const RefinementViews<T>& views) {
    check_.copy(n_, views.candidate.data(), views.solution.data());
    ++steps_;
    shrinks_ = steps_ < most_computed_;
    if (!shrinks_) return;
    const double before = std::exchange(size_, measure(views.solution.data()));
    shrinks_ = size_ <= share_ * before;
  }
  /// The correction of refine(): y = x + d.
  void add(const RefinementViews<T>& views) const {
    check_.copy(n_, views.solution.data(), views.candidate.data());
    check_.add(n_, d_, views.candidate.data());
  }

  /// ||d|| / ||x|| of the last d, in the maximum norm.
  [[nodiscard]] double size() const { return size_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }

 private:
  [[nodiscard]] double measure(const T* x) {
    compute_(x);
    const T* const both[] = {d_, x};
    const std::vector<VectorFacts> facts = check_.vectors(n_, both);
    const double change = facts[0].norm_inf;
    return change > 0 ? change / facts[1].norm_inf : 0;
  }

  ResidualCheck<T>& check_;
  const T* d_;
  std::int64_t n_;
  double share_;
  std::int64_t most_computed_;
  Compute compute_;
  double size_ = 0;
  std::int64_t steps_ = 0;
  bool shrinks_ = true;
};

/// Corrects x by at most `max_steps` corrections of `policy`, and measures at least the first one.
/// `candidate`: n elements.
template <class T, class Compute>
void correct(std::int64_t max_steps, DenseView<T> x, DenseView<T> candidate,
             NormalCorrections<T, Compute>& policy) {
  const RefinementViews<T> views{x, x, candidate};
  if (max_steps == 0) return policy.begin(views);
  refine(
      max_steps, views, policy,
      [&](std::span<const std::int64_t> /*columns*/, const RefinementViews<T>& both) { policy.add(both); });
}

}  // namespace echelon
