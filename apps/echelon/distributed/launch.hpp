// SPDX-License-Identifier: BSD-3-Clause
/// Parallel programs under mpirun.
#pragma once

#include "terminal/run_command.hpp"

#include <echelon/cancellation.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace echelon::tool {

/// Path of the program `name` in the folder of this one. Throws NotBuilt, with `remedy`, if it is not there.
[[nodiscard]] std::string program_beside(const std::string& name, const std::string& remedy);

/// Words of the command that starts parallel programs: those of $ECHELON_MPIRUN, else mpirun. Throws NotBuilt
/// if no such program is found.
[[nodiscard]] std::vector<std::string> launcher();

/// Runs a command that begins with the words of launcher(), as run_command() does.
[[nodiscard]] Ended run_launcher(const std::vector<std::string>& command,
                                 const std::function<void(const std::string&)>& on_line,
                                 const CancellationToken& cancel);

/// Sentence that explains the end of a parallel program by what the launcher wrote to standard error: the
/// signal that ended a process, else the launcher's last lines.
[[nodiscard]] std::string explain_end(const Ended& ended, std::int64_t ranks);

}  // namespace echelon::tool
