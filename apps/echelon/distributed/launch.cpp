// SPDX-License-Identifier: BSD-3-Clause
#include "distributed/launch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <regex>
#include <sstream>
#include <string_view>
#include <utility>

namespace echelon::tool {

namespace {

/// Settings of Open MPI (4, and 5 by PRRTE) that allow more processes than cores, and threads to run on all
/// of the node's cores, which the processes divide. Variables that are set keep their values.
constexpr std::array<std::pair<const char*, const char*>, 4> launcher_settings = {
    {{"OMPI_MCA_rmaps_base_oversubscribe", "1"},
     {"OMPI_MCA_hwloc_base_binding_policy", "none"},
     {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
     {"PRTE_MCA_hwloc_default_binding_policy", "none"}}};

/// The settings that no variable has a value for.
std::vector<std::string> unset_settings() {
  std::vector<std::string> variables;
  for (const auto& [name, value] : launcher_settings) {
    if (std::getenv(name) == nullptr) variables.push_back(fmt::format("{}={}", name, value));
  }
  return variables;
}

bool is_program(const std::filesystem::path& path) {
  return ::access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path);
}

bool in_search_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return is_program(name);
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (is_program(std::filesystem::path(folder) / name)) return true;
  }
  return false;
}

}  // namespace

std::string program_beside(const std::string& name, const std::string& remedy) {
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
  if (!is_program(path)) throw NotBuilt(fmt::format("there is no {}: {}", path.string(), remedy));
  return path.string();
}

std::vector<std::string> launcher() {
  const char* const given = std::getenv("ECHELON_MPIRUN");
  std::istringstream text(given != nullptr && *given != '\0' ? given : "mpirun");
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  if (words.empty() || !in_search_path(words[0])) {
    throw NotBuilt(
        fmt::format("{} is not found: install MPI (Debian: mpi-default-bin), or name the command that starts "
                    "parallel programs in ECHELON_MPIRUN",
                    words.empty() ? "mpirun" : words[0]));
  }
  return words;
}

Ended run_launcher(const std::vector<std::string>& command,
                   const std::function<void(const std::string&)>& on_line, const CancellationToken& cancel) {
  return run_command(command, on_line, {.cancel = cancel, .environment = unset_settings()});
}

std::string explain_end(const Ended& ended, std::int64_t ranks) {
  std::smatch found;
  const std::regex by_signal(R"(process rank (\d+) .*exited on signal (\d+) \(([^)]*)\))");
  if (std::regex_search(ended.errors, found, by_signal)) {
    return fmt::format("process {} of {} was ended by signal {} ({}){}; the others have ended, too",
                       found[1].str(), ranks, found[2].str(), found[3].str(),
                       found[2] == "9" ? ", as the system does when memory runs out" : "");
  }
  if (ended.errors.find("attempt to run as root") != std::string::npos) {
    return "Open MPI starts no processes for root. Where that is intended, as in a container, set both "
           "OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 in the environment";
  }
  std::vector<std::string> last;
  std::istringstream lines(ended.errors);
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of("-* \t") != std::string::npos) last.push_back(line);
  }
  constexpr std::size_t most = 12;
  if (last.size() > most) last.erase(last.begin(), last.end() - most);
  return fmt::format("the {} processes ended with status {}:\n  {}", ranks, ended.status,
                     fmt::join(last, "\n  "));
}

}  // namespace echelon::tool
