// SPDX-License-Identifier: BSD-3-Clause
#include "claims/processes.hpp"

#include "claims/answer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <exception>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>

namespace echelon::claims {

namespace {

/// Begin of the lines that a worker writes: before a solve, with the position and a description, and after
/// it.
constexpr std::string_view before_solve = "before ";
constexpr std::string_view after_solve = "after ";

void write_line(std::string_view begin, const std::string& text) {
  (void)std::fwrite(begin.data(), 1, begin.size(), stdout);
  (void)std::fwrite(text.data(), 1, text.size(), stdout);
  (void)std::fputc('\n', stdout);
  (void)std::fflush(stdout);
}

}  // namespace

void run_worker(const Arguments& arguments) {
  const std::size_t tasks = system_numbers(arguments).size() * arguments.precisions.size();
  const WorkerPart& part = *arguments.worker;
  const SolveEvents events{[](const Position& position, const std::string& description) {
                             write_line(before_solve,
                                        fmt::format("{} {} {}", position.task, position.solve, description));
                           },
                           [](const Record& record) { write_line(after_solve, encode(record)); }};
  for (std::size_t task = part.first.task; task < tasks; task += part.parts) {
    run_task(arguments, task, task == part.first.task ? part.first.solve : 0, events, nullptr);
  }
}

namespace {

/// A process whose standard output is read line by line.
class Process {
 public:
  explicit Process(const std::vector<std::string>& words) {
    std::array<int, 2> ends{};
    // O_CLOEXEC keeps the pipe from processes that other threads start.
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::vector<std::string> copies = words;
    std::vector<char*> pointers;
    for (std::string& word : copies) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const int error = posix_spawn(&process_, "/proc/self/exe", &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    output_ = ends[0];
    if (error != 0) throw std::system_error(error, std::generic_category(), "posix_spawn");
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() { close(output_); }

  /// The next line; empty at the end of the output. The process is killed after `seconds` of processor time,
  /// or ten times as much time, without output.
  std::optional<std::string> next_line(double seconds) {
    for (;;) {
      const std::size_t end = buffer_.find('\n', searched_);
      if (end != std::string::npos) {
        std::string line = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        searched_ = 0;
        return line;
      }
      searched_ = buffer_.size();
      if (!read_more(seconds)) return std::nullopt;
    }
  }

  /// Waits for the end; the reason if the process did not exit with 0.
  std::optional<std::string> failure() {
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    if (killed_) return "no answer within the time limit";
    if (WIFSIGNALED(status)) return fmt::format("crashed with signal {}", WTERMSIG(status));
    if (WEXITSTATUS(status) != 0) return fmt::format("exited with {}", WEXITSTATUS(status));
    return std::nullopt;
  }

 private:
  bool read_more(double seconds) {
    const double begin = processor_seconds();
    // Each wait is short, so that a machine on which all processes pause does not count.
    for (int waits = 0; !has_output(); ++waits) {
      if (processor_seconds() - begin < seconds && waits < 10 * seconds) continue;
      killed_ = true;
      (void)kill(process_, SIGKILL);
      return false;
    }
    std::array<char, 65536> bytes{};
    const ssize_t count = read(output_, bytes.data(), bytes.size());
    if (count > 0) buffer_.append(bytes.data(), static_cast<std::size_t>(count));
    return count > 0;
  }

  /// Waits for output, for at most a second.
  [[nodiscard]] bool has_output() const {
    pollfd waiting{output_, POLLIN, 0};
    return poll(&waiting, 1, 1000) > 0;
  }

  /// Processor time that the process has taken.
  [[nodiscard]] double processor_seconds() const {
    clockid_t clock{};
    timespec time{};
    if (clock_getcpuclockid(process_, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  pid_t process_ = 0;
  int output_ = -1;
  std::string buffer_;
  std::size_t searched_ = 0;
  bool killed_ = false;
};

/// A solve that a worker has begun.
struct BegunSolve {
  Position position;
  std::string description;
};

BegunSolve parse_begun(const std::string& text) {
  std::size_t end_of_task = 0;
  std::size_t end_of_solve = 0;
  BegunSolve begun;
  begun.position.task = std::stoull(text, &end_of_task);
  begun.position.solve = std::stoull(text.substr(end_of_task), &end_of_solve);
  begun.description = text.substr(end_of_task + end_of_solve + 1);
  return begun;
}

/// The record of a solve that ended its process. Its texts come from the arguments and the description.
Record crashed_record(const Arguments& arguments, const BegunSolve& solve, const std::string& reason) {
  const std::size_t precisions = arguments.precisions.size();
  const std::size_t count = arguments.methods.size();
  Record record;
  record.index = system_numbers(arguments)[solve.position.task / precisions];
  record.kind = kinds()[static_cast<std::size_t>(record.index) % kinds().size()].name;
  record.precision = arguments.precisions[solve.position.task % precisions];
  record.method = arguments.methods[solve.position.solve % count];
  record.device = arguments.devices[solve.position.solve / count];
  record.falsehoods.emplace_back(Falsehood::failure, reason);
  record.text = solve.description;
  return record;
}

/// Runs one part to its end, in a new process after each that failed.
Tally run_part(const Arguments& arguments, const std::vector<std::string>& words, std::size_t part) {
  Tally tally;
  Position first{part, 0};
  for (;;) {
    std::vector<std::string> command = words;
    command.insert(command.end(),
                   {"--worker", fmt::format("{},{},{},{}", part, arguments.jobs, first.task, first.solve)});
    Process process(command);
    std::optional<BegunSolve> begun;
    while (const std::optional<std::string> line = process.next_line(6 * arguments.time_limit)) {
      if (line->starts_with(before_solve)) begun = parse_begun(line->substr(before_solve.size()));
      if (!line->starts_with(after_solve)) continue;
      tally.add(decode(line->substr(after_solve.size())));
      begun.reset();
    }
    const std::optional<std::string> failure = process.failure();
    if (!failure) return tally;
    if (!begun) throw std::runtime_error("a worker process failed outside a solve: " + *failure);
    tally.add(crashed_record(arguments, *begun, *failure));
    first = {begun->position.task, begun->position.solve + 1};
  }
}

}  // namespace

Tally run_in_processes(const Arguments& arguments, const std::vector<std::string>& words) {
  Tally tally;
  std::mutex mutex;
  std::exception_ptr error;
  std::vector<std::thread> threads;
  for (std::size_t part = 0; part < arguments.jobs; ++part) {
    threads.emplace_back([&, part] {
      try {
        Tally own = run_part(arguments, words, part);
        const std::lock_guard lock(mutex);
        tally.merge(std::move(own));
      } catch (...) {
        const std::lock_guard lock(mutex);
        error = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (error) std::rethrow_exception(error);
  return tally;
}

}  // namespace echelon::claims
