// SPDX-License-Identifier: BSD-3-Clause
/// Cancellation and progress of a set-up.
#pragma once

#include <echelon/cancellation.hpp>
#include <echelon/solver/phase.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace echelon {

/// Receiver of the progress of a set-up.
class SetupProgress {
 public:
  SetupProgress() = default;
  SetupProgress(const SetupProgress&) = delete;
  SetupProgress& operator=(const SetupProgress&) = delete;
  virtual ~SetupProgress() = default;
  /// A share of the work of the phase, 0 to 1, is done. Any thread may call it; calls of other threads than
  /// the one that began the set-up have no effect. Does not throw.
  virtual void report(SolverPhase phase, double fraction) = 0;
};

/// The caller's request to stop, and the receiver of progress, who is told at the places that test for the
/// request.
class SetupControl : public CancellationToken {
 public:
  SetupControl() = default;
  // NOLINTNEXTLINE(google-explicit-constructor)
  SetupControl(CancellationToken cancel, std::shared_ptr<SetupProgress> progress = nullptr)
      : CancellationToken(std::move(cancel)), progress_(std::move(progress)) {}

  /// The request to stop without a receiver, for a part of a set-up that reports as a whole.
  [[nodiscard]] SetupControl without_progress() const {
    return {static_cast<const CancellationToken&>(*this)};
  }
  /// Whether there is a receiver.
  [[nodiscard]] bool reports() const { return progress_ != nullptr; }
  void report(SolverPhase phase, double fraction) const {
    if (progress_ != nullptr) progress_->report(phase, fraction);
  }
  /// Reports that this share of the set-up is done, and returns whether a stop is requested.
  [[nodiscard]] bool stops_at(double fraction) const {
    report(SolverPhase::setup, fraction);
    return stop_requested();
  }

 private:
  std::shared_ptr<SetupProgress> progress_;
};

/// Share of the flops of a dense LU or Cholesky factorisation of order n that `done` columns have taken.
[[nodiscard]] inline double eliminated_share(std::int64_t done, std::int64_t n) {
  const double left = 1 - static_cast<double>(done) / static_cast<double>(std::max<std::int64_t>(n, 1));
  return 1 - left * left * left;
}

}  // namespace echelon
