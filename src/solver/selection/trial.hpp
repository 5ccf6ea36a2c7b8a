// SPDX-License-Identifier: BSD-3-Clause
/// An attempt that is given up once its residual shows that it will not converge within a number of
/// iterations.
#pragma once

#include "support/linked_stop.hpp"

#include <echelon/solver.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace echelon {

class Trial {
 public:
  Trial(const Control& given, std::int64_t iterations) : control_(given), stop_(given.cancel) {
    const std::int64_t first_look = std::clamp<std::int64_t>(iterations / 4, 4, 8);
    control_.cancel = stop_.token();
    control_.on_progress = [this, report = given.on_progress, iterations,
                            first_look](const Progress& progress) {
      if (report) report(progress);
      const double expected = expected_iterations(progress);
      if (progress.iteration >= first_look && expected > static_cast<double>(iterations)) stop_.request();
    };
  }
  [[nodiscard]] const Control& control() const { return control_; }

  /// Names the end of an attempt that was given up and not cancelled by the caller.
  static void name_end(Report& report, const Control& given) {
    if (report.status != Status::cancelled || given.cancel.stop_requested()) return;
    report.status = Status::max_iterations;
    report.message = fmt::format("given up after {} iterations, since the residual decreases too slowly",
                                 report.iterations);
    for (ColumnReport& column : report.columns) {
      if (column.status == Status::cancelled) column.status = Status::max_iterations;
    }
  }

 private:
  /// Iterations to the tolerance if the residual goes on to fall as it did on average, to its smallest value.
  double expected_iterations(const Progress& progress) {
    if (progress.relative_residual < smallest_) smallest_ = progress.relative_residual;
    if (!(smallest_ < 1)) return std::numeric_limits<double>::infinity();
    return static_cast<double>(progress.iteration) * std::log(progress.tolerance) / std::log(smallest_);
  }

  Control control_;
  LinkedStop stop_;
  double smallest_ = 1;  // relative residual
};

}  // namespace echelon
