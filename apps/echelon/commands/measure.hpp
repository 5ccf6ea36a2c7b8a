// SPDX-License-Identifier: BSD-3-Clause
/// Measurement of one method by `echelon compare`, in the process that it starts for it.
#pragma once

#include "arguments/input.hpp"
#include "arguments/right_hand_side.hpp"
#include "output/exit_code.hpp"

#include <echelon/device.hpp>
#include <echelon/options.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace echelon::tool {

/// A method with its options and where it runs.
struct MeasuredMethod {
  std::string name;
  Options options;
  Device device;
};

/// The system of a comparison and the residual to reach.
struct ComparedSystem {
  std::string matrix;
  InputOptions input;
  RhsOption right_hand_side;
  std::string precision = "double";
  std::optional<double> rtol;
  std::optional<std::int64_t> max_iterations;

  [[nodiscard]] double tolerance() const { return rtol.value_or(precision == "float" ? 1e-5 : 1e-8); }
};

/// Sets the method up, updates it and solves for one and for ten right-hand sides. Prints a line of JSON
/// after each step, with the figures that are known by then, so that a process that is ended has said what it
/// measured. Throws what the library throws.
ExitCode measure(const ComparedSystem& system, const MeasuredMethod& method);

}  // namespace echelon::tool
