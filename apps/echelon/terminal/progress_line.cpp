// SPDX-License-Identifier: BSD-3-Clause
#include "terminal/progress_line.hpp"

#include "terminal/terminal.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace echelon::tool {

ProgressLine::ProgressLine(bool quiet) : enabled_(!quiet && is_terminal(stderr)) {}

void ProgressLine::announce(std::string_view activity) {
  if (enabled_) show(fmt::format("{} ...", activity));
}

void ProgressLine::update(const Progress& progress) {
  if (!enabled_) return;
  const double now = stopwatch_.seconds();
  if (now - last_shown_ < 0.1) return;
  last_shown_ = now;
  if (progress.phase != SolverPhase::solve) {
    const std::string done = progress.fraction ? fmt::format(" {:.0f} %", 100 * *progress.fraction) : "";
    return show(fmt::format("{}: {}{}, {}", progress.method, to_string(progress.phase), done, duration(now)));
  }
  const std::string which =
      progress.right_hand_side > 0 ? fmt::format(", right-hand side {}", progress.right_hand_side + 1) : "";
  show(fmt::format("{}{}: iteration {}, relative residual {:.2e} (tolerance {}), {}", progress.method, which,
                   grouped(progress.iteration), progress.relative_residual, short_number(progress.tolerance),
                   duration(now)));
}

void ProgressLine::clear() {
  if (shown_) print_stderr("\r\033[K");
  shown_ = false;
}

void ProgressLine::show(std::string_view line) {
  // A longer line would wrap, and could not be erased.
  print_stderr(fmt::format("\r\033[K{}", line.substr(0, terminal_width() - 1)));
  shown_ = true;
}

}  // namespace echelon::tool
