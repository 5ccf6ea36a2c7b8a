// SPDX-License-Identifier: BSD-3-Clause
/// Requests to stop a computation that is under way.
#pragma once

#include <echelon/export.h>

#include <atomic>
#include <stop_token>
#include <utility>

namespace echelon {

/// A request to stop, by a std::stop_token, a flag of the caller, or either; without both there is none. A
/// flag may be set in a signal handler, and must outlive the computations that test it.
class ECHELON_API CancellationToken {
#ifndef ECHELON_OPENCL_DEVICE
  static_assert(std::atomic<bool>::is_always_lock_free);
#endif

 public:
  CancellationToken() = default;
  // NOLINTNEXTLINE(google-explicit-constructor)
  CancellationToken(std::stop_token token) : token_(std::move(token)) {}
  CancellationToken(const std::atomic<bool>* flag) : flag_(flag) {}  // NOLINT(google-explicit-constructor)

  CancellationToken(std::stop_token token, const std::atomic<bool>* flag)
      : token_(std::move(token)), flag_(flag) {}

  [[nodiscard]] const std::stop_token& token() const {
    return token_;
  }
  [[nodiscard]] const std::atomic<bool>* flag() const {
    return flag_;
  }
  /// Whether a stop can be requested.
  [[nodiscard]] bool stop_possible() const noexcept {
    return token_.stop_possible() || flag_ != nullptr;
  }
  [[nodiscard]] bool stop_requested() const noexcept {
    return token_.stop_requested() || (flag_ != nullptr && flag_->load(std::memory_order_relaxed));
  }

 private:
  std::stop_token token_;
  const std::atomic<bool>* flag_ = nullptr;
};

}  // namespace echelon
