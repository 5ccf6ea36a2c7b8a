// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>

namespace echelon {

/// Pause that all throttles of a process share, since they share its processors: a loss that one throttle
/// measures holds for the others. Affects times only, never results.
struct SharedPause {
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::duration first_length = std::chrono::milliseconds(200);

  std::atomic<Clock::duration> end{Clock::duration::min()};  ///< since the clock's epoch
  std::atomic<Clock::duration> next_length{first_length};

  [[nodiscard]] static SharedPause& of_process() {
    static SharedPause pause;
    return pause;
  }
};

/// Chooses between all threads and one for a sequence of parallel loops, so that on a busy machine the
/// sequence is not much slower than on one thread.
///
/// A thread that the operating system suspends within a parallel region makes all others wait. OpenMP's
/// threads wait by spinning, which uses up their share of processor time, so that they are suspended more
/// often: parallel loops become ten times slower than serial ones. The throttle measures this effect. A
/// region takes `duration`; one thread would take about `threads * own`, where `own` is the processor time
/// that the calling thread used for its part, one of `threads` equal ones. (Its wall-clock time would contain
/// its own suspensions.) The difference is a loss or a gain. When losses exceed gains by `max_loss`, the
/// loops of all throttles run on the calling thread for a pause of at least `pause_per_loss` times the loss,
/// which limits the cost of such attempts to five percent.
class ThreadThrottle {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Seconds = std::chrono::duration<double>;

  /// Constructs a throttle; if not `enabled`, it never requests serial loops.
  explicit ThreadThrottle(bool enabled, SharedPause& pause = SharedPause::of_process())
      : enabled_(enabled), pause_(&pause) {}

  [[nodiscard]] bool is_enabled() const { return enabled_; }
  /// Whether loops should run on the calling thread.
  [[nodiscard]] bool is_serial(Time now) const {
    return enabled_ && now.time_since_epoch() < pause_->end.load(std::memory_order_relaxed);
  }

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
    if (balance_ <= -max_credit / 2) pause_->next_length = SharedPause::first_length;
    if (balance_ < max_loss) return;
    const Duration length =
        std::max(pause_->next_length.load(), std::chrono::duration_cast<Duration>(pause_per_loss * balance_));
    pause_->end = now.time_since_epoch() + length;
    pause_->next_length = std::min(2 * pause_->next_length.load(), Duration(last_length));
    balance_ = Seconds(0);
  }

 private:
  // A suspended thread loses a time slice, 3 to 10 ms on Linux. The credit keeps a single suspension on an
  // otherwise idle machine from causing a pause.
  static constexpr Seconds max_loss{2e-3};
  static constexpr Seconds max_credit{10e-3};
  static constexpr double pause_per_loss = 20;
  static constexpr std::chrono::milliseconds last_length{1600};
  using Duration = SharedPause::Clock::duration;

  bool enabled_;
  SharedPause* pause_;
  Seconds balance_{0};  // losses minus gains
};

}  // namespace echelon
