// SPDX-License-Identifier: BSD-3-Clause
#include "arguments/method_options.hpp"
#include "commands/commands.hpp"
#include "output/failure.hpp"
#include "output/json.hpp"
#include "terminal/terminal.hpp"
#include "terminal/wait_policy.hpp"
#include "version.hpp"

#include <echelon/error.hpp>
#include <echelon/io/file_info.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace echelon::tool {

namespace {

struct Command {
  std::string_view name;
  std::string_view summary;
  ExitCode (*run)(const Arguments& arguments);
};

constexpr std::array commands = {
    Command{"solve", "solve A x = b and report method and accuracy", run_solve},
    Command{"compare", "compare methods for A x = b at the same residual", run_compare},
    Command{"info", "structure and values of a matrix", run_info},
    Command{"convert", "convert between file formats; graphs to Laplacians", run_convert},
    Command{"generate", "generate a test matrix", run_generate},
    Command{"factor", "factors L, U, P of a matrix as files", run_factor},
    Command{"rank", "rank of a matrix, and how certain it is", run_rank},
    Command{"rref", "reduced row echelon form, pivot columns, null space", run_rref},
    Command{"invert", "inverse of a square matrix", run_invert},
    Command{"schur", "Schur complement of a matrix on some of its unknowns", run_schur},
    Command{"graph", "components, resistances, potentials, eigenvectors of a graph", run_graph},
    Command{"methods", "methods of this build and their devices", run_methods},
    Command{"devices", "devices of this machine, and whether they can be used", run_devices},
};

std::string usage() {
  std::string text = "usage: echelon COMMAND [OPTION]...\n\n";
  for (const Command& command : commands) text += fmt::format("  {:<9} {}\n", command.name, command.summary);
  return text + "\nSee 'echelon --help' for more, 'echelon COMMAND --help' for the options of a command.\n";
}

std::string help() {
  std::string text =
      "Echelon solves linear systems A x = b, dense and sparse, and measures the accuracy.\n\n";
  text += usage().substr(0, usage().rfind("\nSee"));
  return text + R"(
  echelon COMMAND --help          options of a command
  echelon --help solver:NAME      options of a method, for -p KEY=VALUE
  echelon --help ranks            options of `solve --ranks N`, for -p KEY=VALUE
  echelon --help generator:NAME   options of a generator, for -p KEY=VALUE
  echelon --version               version, commit, compiler, BLAS, instruction sets, CUDA, OpenCL

Reports go to stdout (one line of JSON with --json), everything else to stderr.
The file name - stands for standard input or output.
Exit status: 0 solved, 1 not converged, 2 usage, 3 bad input, 4 singular or no solution,
5 device, memory or output file.

Example:
  echelon solve A.mtx.gz --rhs b.mtx --rtol 1e-10 -o x.mtx
)";
}

/// Names of commands and file formats, for scripts/manual.
Json description() {
  Json json = {{"version", ECHELON_VERSION}, {"help", help()}, {"formats", file_format_names()}};
  for (const Command& command : commands) {
    json["commands"].push_back({{"name", command.name}, {"summary", command.summary}});
  }
  return json;
}

const Command& find_command(const std::string& name) {
  const auto* const found =
      std::find_if(commands.begin(), commands.end(), [&](const Command& c) { return c.name == name; });
  if (found != commands.end()) return *found;
  std::vector<std::string> names;
  names.reserve(commands.size());
  for (const Command& command : commands) names.emplace_back(command.name);
  if (name.starts_with('-')) names = {"--help", "--version"};
  const std::string_view what = name.starts_with('-') ? "option" : "command";
  throw BadOption(name, fmt::format("there is no {} '{}'", what, name), nearest_name(name, names));
}

ExitCode run(const Arguments& arguments) {
  if (arguments.empty()) {
    print_stderr(usage());
    return exit_usage;
  }
  if (const auto method = help_topic("solver", arguments)) return print_method_help(*method);
  if (const auto generator = help_topic("generator", arguments)) return print_generator_help(*generator);
  const std::string& first = arguments.front();
  if (first == "--help" && arguments.size() == 2 && arguments[1] == "ranks") return print_distributed_help();
  if (first == "--help" || first == "-h" || first == "help") return print_result(help()), exit_solved;
  if (arguments == Arguments{"--describe"}) return print_json(description()), exit_solved;
  if (first == "--version") return print_result(version_text()), exit_solved;
  return find_command(first).run({arguments.begin() + 1, arguments.end()});
}

/// Runs the command that the arguments name; a failure becomes a message and an exit code.
ExitCode run_and_report(const Arguments& arguments) {
  try {
    return run(arguments);
  } catch (...) {
    const bool json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
    return report_failure(std::current_exception(), json);
  }
}

}  // namespace

}  // namespace echelon::tool

int main(int argc, char** argv) {
  try {
    echelon::tool::reserve_standard_streams();
    echelon::tool::set_wait_policy(argv);
    return echelon::tool::run_and_report({argv + 1, argv + argc});
  } catch (...) {  // for want of memory, the error could not be reported in full
    constexpr std::string_view text = "echelon: error: out of memory\n";
    static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
    return echelon::tool::exit_resources;
  }
}
