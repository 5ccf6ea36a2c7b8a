// SPDX-License-Identifier: BSD-3-Clause
/// Parallel programs under mpirun.
#pragma once

#include <echelon/cancellation.hpp>
#include <echelon/error.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace echelon::tool {

/// A parallel program that did not end by itself, or could not be started.
class ProcessFailure : public Error {
  using Error::Error;
};

/// Path of the program `name` beside this one. Throws NotBuilt, with `remedy`, if it is not there.
[[nodiscard]] std::string program_beside(const std::string& name, const std::string& remedy);

/// Words of the command that starts parallel programs: those of $ECHELON_MPIRUN, else mpirun. Throws NotBuilt
/// if no such program is found.
[[nodiscard]] std::vector<std::string> launcher();

struct Ended {
  int status = 0;      ///< exit status; 128 + the number of a signal
  std::string errors;  ///< standard error
};

/// Runs a command, calls on_line for each line of its standard output, and ends it after a request to stop.
/// Throws ProcessFailure if it cannot be started.
[[nodiscard]] Ended run_command(const std::vector<std::string>& command,
                                const std::function<void(const std::string&)>& on_line,
                                const CancellationToken& cancel);

/// Sentence that explains the end of a parallel program by what the launcher wrote to standard error: the
/// signal that ended a process, else the launcher's last lines.
[[nodiscard]] std::string explain_end(const Ended& ended, std::int64_t ranks);

}  // namespace echelon::tool
