// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <utility>

namespace echelon {

/// Carries the first exception out of a parallel region, which exceptions must not leave by themselves.
class FirstException {
 public:
  /// Calls f, and stores an exception that it throws, unless one is stored already.
  template <class F>
  void catch_from(const F& f) noexcept {
    try {
      f();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!first_) first_ = std::current_exception();
      caught_ = true;
    }
  }

  /// Whether an exception is stored; other threads may be in catch_from().
  [[nodiscard]] bool caught() const noexcept { return caught_; }
  /// Rethrows the stored exception, if there is one; called after the parallel region.
  void rethrow() {
    caught_ = false;
    if (first_) std::rethrow_exception(std::exchange(first_, nullptr));
  }

 private:
  std::mutex mutex_;
  std::exception_ptr first_;
  std::atomic<bool> caught_ = false;
};

}  // namespace echelon
