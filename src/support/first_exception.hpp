// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <exception>
#include <mutex>
#include <utility>

namespace echelon {

/// Carries an exception out of parallel work, which it must not leave by itself: the first that is thrown.
class FirstException {
 public:
  /// Calls f, and keeps what it throws.
  template <class F>
  void catch_from(const F& f) noexcept {
    try {
      f();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!first_) first_ = std::current_exception();
    }
  }

  /// Throws the exception again, if there was one, after the parallel work.
  void rethrow() {
    if (first_) std::rethrow_exception(std::exchange(first_, nullptr));
  }

 private:
  std::mutex mutex_;
  std::exception_ptr first_;
};

}  // namespace echelon
