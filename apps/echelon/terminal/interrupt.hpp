// SPDX-License-Identifier: BSD-3-Clause
/// Ctrl-C during a solve.
#pragma once

#include <stop_token>
#include <thread>

namespace echelon::tool {

/// While one exists, the first SIGINT or SIGTERM asks the token's holder to stop, and the second ends the
/// process at once. At most one at a time.
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
