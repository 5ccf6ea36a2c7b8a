// SPDX-License-Identifier: BSD-3-Clause
/// A request to stop that the library makes by itself, or passes on from its caller.
#pragma once

#include <echelon/cancellation.hpp>

#include <functional>
#include <stop_token>

namespace echelon {

class LinkedStop {
 public:
  /// Passes on the requests of `given`.
  explicit LinkedStop(const CancellationToken& given)
      : token_(stop_.get_token(), given.flag()), link_(given.token(), [this] { stop_.request_stop(); }) {}
  LinkedStop(const LinkedStop&) = delete;
  LinkedStop& operator=(const LinkedStop&) = delete;
  ~LinkedStop() = default;

  void request() { stop_.request_stop(); }
  [[nodiscard]] const CancellationToken& token() const { return token_; }

 private:
  std::stop_source stop_;
  CancellationToken token_;
  std::stop_callback<std::function<void()>> link_;
};

}  // namespace echelon
