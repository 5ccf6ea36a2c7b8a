// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <thread>

namespace echelon {

/// Wait loop that yields the core in stages: pauses, then yields, then sleeps, since the awaited thread may
/// need this core.
class Backoff {
 public:
  /// Waits for about the time of a few dozen rows. Polling row by row would slow both threads down, since
  /// each poll moves the awaited cache line from core to core.
  void wait() {
    constexpr int pauses = 32;
    constexpr int yield_interval = 16;
    constexpr int max_spins = 1000;  // about a millisecond: the awaited thread has no core
    if (++waits_ > max_spins) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    } else if (waits_ % yield_interval == 0) {
      std::this_thread::yield();
    } else {
#ifdef __x86_64__
      for (int k = 0; k < pauses; ++k) __builtin_ia32_pause();
#endif
    }
  }

 private:
  int waits_ = 0;
};

}  // namespace echelon
