// SPDX-License-Identifier: BSD-3-Clause
/// Cancellation of a solve by Ctrl-C.
#pragma once

#include <stop_token>
#include <thread>

namespace echelon::tool {

/// While an instance exists, the first SIGINT or SIGTERM requests a stop through the token, and the second
/// ends the process at once. Only one instance may exist at a time.
class Interrupt {
 public:
  explicit Interrupt(bool quiet);
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt();

  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

 private:
  std::stop_source stop_;
  std::thread watcher_;
};

}  // namespace echelon::tool
