// SPDX-License-Identifier: BSD-3-Clause
/// Progress of solves and set-ups on its way to the caller's function.
#pragma once

#include "support/linked_stop.hpp"
#include "support/setup_control.hpp"

#include <echelon/solver.hpp>

#include <algorithm>
#include <exception>
#include <memory>
#include <string_view>
#include <thread>

namespace echelon {

inline void report_progress(const Control& control, const Progress& progress) {
  if (control.on_progress) control.on_progress(progress);
}

/// Receiver of the progress of one set-up, which it reports in steps of at least a thousandth. An exception
/// of the caller's function stops the set-up and is kept, since the call may come from a parallel region.
class SetupReporter final : public SetupProgress {
 public:
  SetupReporter(const Control& control, std::string_view method)
      : control_(&control), method_(method), stop_(control.cancel) {}

  [[nodiscard]] const CancellationToken& token() const { return stop_.token(); }
  void report(SolverPhase phase, double fraction) override {
    const double done = std::clamp(fraction, 0.0, 1.0);
    if (std::this_thread::get_id() != caller_ || control_ == nullptr || error_ || !is_later(phase, done))
      return;
    phase_ = phase;
    done_ = done;
    try {
      report_progress(*control_, {.method = method_, .phase = phase_, .fraction = done_});
    } catch (...) {
      error_ = std::current_exception();
      stop_.request();
    }
  }
  /// Ends the reports, also those through copies of the control that methods keep.
  void close() { control_ = nullptr; }
  [[nodiscard]] const std::exception_ptr& error() const { return error_; }

 private:
  [[nodiscard]] bool is_later(SolverPhase phase, double done) const {
    constexpr double least_step = 1e-3;
    if (phase != phase_) return phase > phase_;
    return done >= done_ + least_step || (done == 1 && done_ < 1);
  }

  const Control* control_;  ///< null after the set-up
  std::string_view method_;
  LinkedStop stop_;
  std::thread::id caller_ = std::this_thread::get_id();
  SolverPhase phase_ = SolverPhase::analysis;
  double done_ = -1;
  std::exception_ptr error_;
};

/// A phase before the solves that reports to the function of a Control, if there is one.
class ReportedSetup {
 public:
  /// Reports the begin of the analysis.
  ReportedSetup(const Control& control, std::string_view method) : control_(control.cancel) {
    if (!control.on_progress) return;
    reporter_ = std::make_shared<SetupReporter>(control, method);
    control_ = {reporter_->token(), reporter_};
    control_.report(SolverPhase::analysis, 0);
  }
  ReportedSetup(const ReportedSetup&) = delete;
  ReportedSetup& operator=(const ReportedSetup&) = delete;
  ~ReportedSetup() {
    if (reporter_ != nullptr) reporter_->close();
  }

  [[nodiscard]] const SetupControl& control() const { return control_; }
  /// Reports the end of a phase that succeeded. Throws what the caller's function threw.
  void end(SolverPhase phase, bool succeeded) const {
    if (reporter_ == nullptr) return;
    if (succeeded) reporter_->report(phase, 1);
    if (reporter_->error()) std::rethrow_exception(reporter_->error());
  }

 private:
  std::shared_ptr<SetupReporter> reporter_;
  SetupControl control_;
};

}  // namespace echelon
