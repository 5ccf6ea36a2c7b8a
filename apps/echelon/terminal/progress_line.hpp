// SPDX-License-Identifier: BSD-3-Clause
/// One line on the terminal that tells how far the work is.
#pragma once

#include <echelon/solver.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace echelon::tool {

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

/// Silent unless stderr is a terminal. Rewrites its line at most ten times a second.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { clear(); }

  /// "reading A.mtx"
  void say(std::string_view what);
  void update(const Progress& progress);
  void clear();

 private:
  void show(std::string_view line);

  bool enabled_;
  bool shown_ = false;
  double last_shown_ = 0;
  Stopwatch stopwatch_;
};

}  // namespace echelon::tool
