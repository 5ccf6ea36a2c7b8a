// SPDX-License-Identifier: BSD-3-Clause
#include "backend/host/thread_throttle.hpp"

#include <gtest/gtest.h>

namespace echelon::test {
namespace {

/// A throttle and a clock that only the test advances.
class ThreadThrottleTest : public ::testing::Test {
 protected:
  using Seconds = ThreadThrottle::Seconds;
  static constexpr int threads = 4;
  static constexpr double ms = 1e-3;

  /// Parallel regions in which the calling thread's part took `own` seconds, all of them until `total`.
  void run_regions(int count, double own, double total) {
    for (int k = 0; k < count; ++k) {
      advance(total);
      throttle.record(threads, Seconds(own), Seconds(total), now);
    }
  }
  void advance(double seconds) {
    now += std::chrono::duration_cast<std::chrono::steady_clock::duration>(Seconds(seconds));
  }
  bool is_serial() const { return throttle.is_serial(now); }

  SharedPause pause;
  ThreadThrottle throttle{true, pause};
  ThreadThrottle::Time now = std::chrono::steady_clock::now();
};

TEST_F(ThreadThrottleTest, ParallelRegionsGain_StaysParallel) {
  run_regions(1000, 1 * ms, 1.5 * ms);
  EXPECT_FALSE(is_serial());
}

TEST_F(ThreadThrottleTest, WaitsExceedGains_TurnsSerial) {
  run_regions(1, 0.1 * ms, 8 * ms);  // a time slice lost, 0.4 ms of work done
  EXPECT_TRUE(is_serial());
}

TEST_F(ThreadThrottleTest, ManySmallLosses_TurnsSerial) {
  run_regions(10, 0.01 * ms, 0.1 * ms);
  EXPECT_FALSE(is_serial());
  run_regions(50, 0.01 * ms, 0.1 * ms);
  EXPECT_TRUE(is_serial());
}

TEST_F(ThreadThrottleTest, SingleSuspensionAmongGains_StaysParallel) {
  run_regions(20, 1 * ms, 1.2 * ms);
  run_regions(1, 1 * ms, 9 * ms);
  EXPECT_FALSE(is_serial());
}

TEST_F(ThreadThrottleTest, PauseEnds_TriesThreadsAgain) {
  run_regions(1, 0.1 * ms, 8 * ms);
  advance(0.3);
  EXPECT_FALSE(is_serial());
}

TEST_F(ThreadThrottleTest, OtherThrottle_SharesThePause) {
  const ThreadThrottle other(true, pause);
  run_regions(1, 0.1 * ms, 8 * ms);
  EXPECT_TRUE(other.is_serial(now));
  EXPECT_FALSE(ThreadThrottle(false, pause).is_serial(now));
  SharedPause elsewhere;
  EXPECT_FALSE(ThreadThrottle(true, elsewhere).is_serial(now));
}

TEST_F(ThreadThrottleTest, LossesGoOn_PausesGrow) {
  run_regions(1, 0.1 * ms, 8 * ms);
  advance(0.3);
  run_regions(1, 0.1 * ms, 8 * ms);
  advance(0.3);
  EXPECT_TRUE(is_serial());
}

/// The time lost to attempts at parallel execution on a machine where each costs a time slice.
TEST_F(ThreadThrottleTest, BusyMachine_LosesFewPercent) {
  constexpr double serial_time = 0.4 * ms;
  double useful = 0;
  double total = 0;
  while (total < 10) {
    const bool serial = is_serial();
    if (serial) {
      advance(serial_time);
    } else {
      run_regions(1, serial_time / threads, 8 * ms);
    }
    useful += serial_time;
    total += serial ? serial_time : 8 * ms;
  }
  EXPECT_LT(total, 1.05 * useful);
}

TEST_F(ThreadThrottleTest, Disabled_StaysParallel) {
  throttle = ThreadThrottle(false, pause);
  run_regions(100, 0.1 * ms, 8 * ms);
  EXPECT_FALSE(is_serial());
}

}  // namespace
}  // namespace echelon::test
