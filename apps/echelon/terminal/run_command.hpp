// SPDX-License-Identifier: BSD-3-Clause
/// Other programs, run with a limit of time.
#pragma once

#include <echelon/cancellation.hpp>
#include <echelon/error.hpp>

#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace echelon::tool {

/// A program that did not end by itself, or could not be started.
class ProcessFailure : public Error {
  using Error::Error;
};

struct Ended {
  int status = 0;              ///< exit status; 128 + the number of a signal
  std::string errors;          ///< standard error
  bool out_of_time = false;    ///< ended because its time was over
  std::size_t peak_bytes = 0;  ///< largest resident memory
};

struct RunOptions {
  CancellationToken cancel = {};
  std::vector<std::string> environment =
      {};  ///< variables in addition to those of this process, "NAME=VALUE"
  double seconds = std::numeric_limits<double>::infinity();  ///< after which the program is killed
};

/// Runs a command, calls on_line for each line of its standard output, and ends it after a request to stop.
/// The program ends with this process. Throws ProcessFailure if it cannot be started.
[[nodiscard]] Ended run_command(const std::vector<std::string>& command,
                                const std::function<void(const std::string&)>& on_line,
                                const RunOptions& options);

}  // namespace echelon::tool
