// SPDX-License-Identifier: BSD-3-Clause
/// solve --steady-state: the steady state of a Markov chain in place of the solution of a system.
#pragma once

#include "arguments/input.hpp"
#include "output/exit_code.hpp"

#include <string>

namespace echelon::tool {

struct SteadyStateRequest {
  std::string matrix;
  InputOptions input;
  std::string output;
  bool json = false;
  bool quiet = false;
};

/// Reads the chain, prints a report and writes x.
ExitCode solve_steady_state(const SteadyStateRequest& request);

}  // namespace echelon::tool
