// SPDX-License-Identifier: BSD-3-Clause
#include "arguments/method_options.hpp"
#include "commands/commands.hpp"
#include "output/failure.hpp"
#include "terminal/terminal.hpp"
#include "terminal/wait_policy.hpp"
#include "version.hpp"

#include <echelon/error.hpp>

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

struct Verb {
  std::string_view name;
  std::string_view summary;
  ExitCode (*run)(const Arguments& arguments);
};

constexpr std::array verbs = {
    Verb{"solve", "solve A x = b and report method and accuracy", run_solve},
    Verb{"info", "structure and values of a matrix", run_info},
    Verb{"convert", "convert between file formats; graphs to Laplacians", run_convert},
    Verb{"generate", "generate a test matrix", run_generate},
    Verb{"rank", "rank of a matrix, and how certain it is", run_rank},
    Verb{"rref", "reduced row echelon form, pivot columns, null space", run_rref},
    Verb{"invert", "inverse of a square matrix", run_invert},
    Verb{"schur", "Schur complement of a matrix on some of its unknowns", run_schur},
    Verb{"graph", "components, resistances, potentials, eigenvectors of a graph", run_graph},
    Verb{"methods", "methods of this build and their devices", run_methods},
};

std::string usage() {
  std::string text = "usage: echelon VERB [OPTION]...\n\n";
  for (const Verb& verb : verbs) text += fmt::format("  {:<9} {}\n", verb.name, verb.summary);
  return text + "\nSee 'echelon --help' for more, 'echelon VERB --help' for the options of a verb.\n";
}

std::string help() {
  std::string text =
      "Echelon solves linear systems A x = b, dense and sparse, and measures the accuracy.\n\n";
  text += usage().substr(0, usage().rfind("\nSee"));
  return text + R"(
  echelon VERB --help             options of a verb
  echelon --help solver:NAME      options of a method, for -p KEY=VALUE
  echelon --help ranks            options of `solve --ranks N`, for -p KEY=VALUE
  echelon --help generator:NAME   options of a generator, for -p KEY=VALUE
  echelon --version               version, commit, compiler, BLAS, instruction sets, CUDA

Reports go to stdout (one line of JSON with --json), everything else to stderr.
The file name - stands for standard input or output.
Exit status: 0 solved, 1 not converged, 2 usage, 3 bad input, 4 singular or no solution,
5 device, memory or output file.

Example:
  echelon solve A.mtx.gz --rhs b.mtx --rtol 1e-10 -o x.mtx
)";
}

const Verb& find_verb(const std::string& name) {
  const auto* const found =
      std::find_if(verbs.begin(), verbs.end(), [&](const Verb& v) { return v.name == name; });
  if (found != verbs.end()) return *found;
  std::vector<std::string> names;
  names.reserve(verbs.size());
  for (const Verb& verb : verbs) names.emplace_back(verb.name);
  if (name.starts_with('-')) names = {"--help", "--version"};
  const std::string_view what = name.starts_with('-') ? "option" : "verb";
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
  if (first == "--version") return print_result(version_text()), exit_solved;
  return find_verb(first).run({arguments.begin() + 1, arguments.end()});
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
