// SPDX-License-Identifier: BSD-3-Clause
#include "terminal/run_command.hpp"

#include "terminal/progress_line.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
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

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

/// Process that runs the command, with its output in the pipes. It ends with this process.
pid_t start(std::vector<std::string> command, const RunOptions& options, const Pipe& output,
            const Pipe& errors) {
  std::vector<std::string> variables = options.environment;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
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

}  // namespace

Ended run_command(const std::vector<std::string>& command,
                  const std::function<void(const std::string&)>& on_line, const RunOptions& options) {
  const Stopwatch stopwatch;
  Pipe output;
  Pipe errors;
  const pid_t child = start(command, options, output, errors);
  output.close_writing();
  errors.close_writing();
  constexpr int interval = 100;  // milliseconds between two tests of the limits
  Ended ended;
  std::string lines;
  std::array<pollfd, 2> sources = {{{output.reading(), POLLIN, 0}, {errors.reading(), POLLIN, 0}}};
  bool stopping = false;
  while (sources[0].fd >= 0 || sources[1].fd >= 0) {
    (void)::poll(sources.data(), sources.size(), interval);
    if (options.cancel.stop_requested() && !std::exchange(stopping, true)) ::kill(child, SIGTERM);
    if (stopwatch.seconds() > options.seconds && !std::exchange(ended.out_of_time, true))
      ::kill(child, SIGKILL);
    if (sources[0].revents != 0 && !read_available(sources[0].fd, lines)) sources[0].fd = -1;
    if (sources[1].revents != 0 && !read_available(sources[1].fd, ended.errors)) sources[1].fd = -1;
    take_lines(lines, on_line);
  }
  int status = 0;
  rusage used = {};
  while (::wait4(child, &status, 0, &used) < 0 && errno == EINTR) {
  }
  constexpr int by_signal = 128;
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : by_signal + WTERMSIG(status);
  ended.peak_bytes = static_cast<std::size_t>(used.ru_maxrss) * 1024;
  return ended;
}

}  // namespace echelon::tool
