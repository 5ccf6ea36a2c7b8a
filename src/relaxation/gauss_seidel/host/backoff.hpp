// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <thread>

namespace echelon {

/// Waits, and gives the core away when that has not helped, since who is waited for may need it.
class Patience {
 public:
  /// For about as long as a few dozen rows take. Who follows another thread row by row slows both down: they
  /// pull the same piece of memory from cache to cache.
  void wait() {
    constexpr int pauses = 32;
    constexpr int rounds = 16;
    constexpr int long_wait = 1000;  // about a millisecond: who is waited for does not have a core
    if (++waited_ > long_wait) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    } else if (waited_ % rounds == 0) {
      std::this_thread::yield();
    } else {
#ifdef __x86_64__
      for (int k = 0; k < pauses; ++k) __builtin_ia32_pause();
#endif
    }
  }

 private:
  int waited_ = 0;
};

}  // namespace echelon
