// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <chrono>
#include <ctime>

namespace echelon {

/// Chooses between all threads and one for a sequence of parallel loops, so that on a busy machine the
/// sequence is hardly slower than on one thread.
///
/// A thread that the operating system suspends within a parallel region keeps all others waiting. OpenMP's
/// threads wait spinning, which uses up the processor time that they are entitled to, so that they are
/// suspended more often: parallel loops become ten times slower than serial ones. The throttle measures this
/// where it happens. A region takes `duration`; one thread would take about `threads * own`, where `own` is
/// the processor time that the calling thread used for its part, one of `threads` equal ones. (Its wall-clock
/// time would contain its own suspensions.) The difference is a loss, or a gain. When losses exceed gains by
/// `max_loss`, loops run on the calling thread for a pause of at least `pause_per_loss` times the loss, which
/// bounds the cost of such attempts to five percent.
class ThreadThrottle {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Seconds = std::chrono::duration<double>;

  /// A throttle that is not `enabled` never asks for serial loops.
  explicit ThreadThrottle(bool enabled) : enabled_(enabled) {}

  [[nodiscard]] bool is_enabled() const { return enabled_; }
  /// True while loops should run on the calling thread.
  [[nodiscard]] bool is_serial(Time now) const { return now < serial_until_; }

  /// Processor time of the calling thread; zero, without a system call, unless enabled.
  [[nodiscard]] Seconds cpu_time() const {
    if (!enabled_) return Seconds(0);
    std::timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return Seconds(static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec));
  }

  /// Accounts for a parallel region that ended `now`.
  void record(int threads, Seconds own, Seconds duration, Time now) {
    if (!enabled_) return;
    balance_ = std::max(balance_ + duration - threads * own, -max_credit);
    if (balance_ <= -max_credit / 2) pause_ = first_pause;
    if (balance_ < max_loss) return;
    const Seconds pause = std::max(pause_, pause_per_loss * balance_);
    serial_until_ = now + std::chrono::duration_cast<std::chrono::steady_clock::duration>(pause);
    pause_ = std::min(2 * pause_, last_pause);
    balance_ = Seconds(0);
  }

 private:
  // A suspended thread loses a time slice, 3 to 10 ms on Linux. The credit keeps a single suspension on an
  // otherwise idle machine from causing a pause.
  static constexpr Seconds max_loss{2e-3};
  static constexpr Seconds max_credit{10e-3};
  static constexpr double pause_per_loss = 20;
  static constexpr Seconds first_pause{0.2};
  static constexpr Seconds last_pause{1.6};

  bool enabled_;
  Seconds balance_{0};  // losses minus gains
  Seconds pause_ = first_pause;
  Time serial_until_{};
};

}  // namespace echelon
