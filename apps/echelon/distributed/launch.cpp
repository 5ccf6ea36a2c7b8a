// SPDX-License-Identifier: BSD-3-Clause
#include "distributed/launch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
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

/// Both ends of a pipe, closed by the destructor.
class Pipe {
 public:
  Pipe() {
    if (::pipe(ends_.data()) != 0) throw ProcessFailure("a pipe cannot be made");
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  [[nodiscard]] int reading() const { return ends_[0]; }
  [[nodiscard]] int writing() const { return ends_[1]; }
  void close_writing() { close_end(1); }

 private:
  void close_end(std::size_t end) {
    if (ends_[end] >= 0) ::close(ends_[end]);
    ends_[end] = -1;
  }
  std::array<int, 2> ends_{-1, -1};
};

/// Settings of Open MPI (4, and 5 by PRRTE) that allow more processes than cores, and threads to run on all
/// of the node's cores, which the processes divide. Variables that are set keep their values.
constexpr std::array<std::pair<const char*, const char*>, 4> launcher_settings = {
    {{"OMPI_MCA_rmaps_base_oversubscribe", "1"},
     {"OMPI_MCA_hwloc_base_binding_policy", "none"},
     {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
     {"PRTE_MCA_hwloc_default_binding_policy", "none"}}};

std::vector<std::string> environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  for (const auto& [name, value] : launcher_settings) {
    if (std::getenv(name) == nullptr) variables.push_back(fmt::format("{}={}", name, value));
  }
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

/// Process that runs the command, with its output in the pipes. It ends with this process.
pid_t start(std::vector<std::string> command, const Pipe& output, const Pipe& errors) {
  std::vector<std::string> variables = environment();
  const std::vector<char*> arguments = pointers(command);
  const std::vector<char*> environment = pointers(variables);
  const pid_t child = ::fork();
  if (child < 0) throw ProcessFailure(fmt::format("{} cannot be started: no more processes", command[0]));
  if (child > 0) return child;
  // The child calls only functions that are safe after fork() in a process with threads.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::dup2(output.writing(), STDOUT_FILENO);
  ::dup2(errors.writing(), STDERR_FILENO);
  ::execvpe(arguments[0], arguments.data(), environment.data());
  ::_exit(127);
}

/// Calls on_line for the complete lines of a text, and leaves the rest.
void take_lines(std::string& text, const std::function<void(const std::string&)>& on_line) {
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    on_line(text.substr(begin, end - begin));
    begin = end + 1;
  }
  text.erase(0, begin);
}

/// Appends what a pipe holds; false at its end.
bool read_available(int descriptor, std::string& text) {
  std::array<char, 4096> buffer{};
  const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
  if (count < 0) return errno == EINTR;
  text.append(buffer.data(), static_cast<std::size_t>(count));
  return count > 0;
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

Ended run_command(const std::vector<std::string>& command,
                  const std::function<void(const std::string&)>& on_line, const CancellationToken& cancel) {
  Pipe output;
  Pipe errors;
  const pid_t child = start(command, output, errors);
  output.close_writing();
  errors.close_writing();
  constexpr int interval = 100;  // milliseconds between two tests for a request to stop
  Ended ended;
  std::string lines;
  std::array<pollfd, 2> sources = {{{output.reading(), POLLIN, 0}, {errors.reading(), POLLIN, 0}}};
  bool stopping = false;
  while (sources[0].fd >= 0 || sources[1].fd >= 0) {
    (void)::poll(sources.data(), sources.size(), interval);
    if (cancel.stop_requested() && !std::exchange(stopping, true)) ::kill(child, SIGTERM);
    if (sources[0].revents != 0 && !read_available(sources[0].fd, lines)) sources[0].fd = -1;
    if (sources[1].revents != 0 && !read_available(sources[1].fd, ended.errors)) sources[1].fd = -1;
    take_lines(lines, on_line);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  constexpr int by_signal = 128;
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : by_signal + WTERMSIG(status);
  return ended;
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
