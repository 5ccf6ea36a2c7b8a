// SPDX-License-Identifier: BSD-3-Clause
/// Progress of the work, on one line of the terminal.
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

/// Prints only if stderr is a terminal; rewrites the line at most ten times a second.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { clear(); }

  /// Shows an activity, such as "reading A.mtx".
  void announce(std::string_view activity);
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
