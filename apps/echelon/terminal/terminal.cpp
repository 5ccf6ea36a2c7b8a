// SPDX-License-Identifier: BSD-3-Clause
#include "terminal/terminal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace echelon::tool {

namespace {

std::string_view escape(Colour colour) {
  switch (colour) {
    case Colour::red:
      return "\033[1;31m";
    case Colour::green:
      return "\033[1;32m";
    case Colour::yellow:
      return "\033[33m";
    case Colour::bold:
      return "\033[1m";
    case Colour::faint:
      return "\033[2m";
    case Colour::none:
      break;
  }
  return "";
}

bool wants_colour(std::FILE* stream) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool refused = no_color != nullptr && *no_color != '\0';
  const bool dumb = term == nullptr || std::string_view(term) == "dumb";
  return is_terminal(stream) && !refused && !dumb;
}

bool stdout_receives_a_file = false;

void print(std::string_view text, std::FILE* stream) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stream) == text.size();
  if (!written || std::fflush(stream) != 0) {
    throw WriteError("-", system_reason(errno));
  }
}

}  // namespace

bool is_terminal(std::FILE* stream) {
  return isatty(fileno(stream)) != 0;
}

std::string paint(std::string_view text, Colour colour, std::FILE* stream) {
  if (colour == Colour::none || !wants_colour(stream)) return std::string(text);
  return fmt::format("{}{}\033[0m", escape(colour), text);
}

std::string input_name(const std::string& path) {
  return path == "-" ? "standard input" : path;
}

std::string output_name(const std::string& path) {
  return path == "-" ? "standard output" : path;
}

WriteError::WriteError(std::string file, const std::string& reason)
    : Error(fmt::format("{}: {}", output_name(file), reason)), file_(std::move(file)) {}

std::string system_reason(int error) {
  return fmt::format("cannot be written: {}", std::strerror(error));  // NOLINT(concurrency-mt-unsafe)
}

std::FILE* report_stream() {
  return stdout_receives_a_file ? stderr : stdout;
}

void send_report_to_stderr() {
  stdout_receives_a_file = true;
}

void reserve_standard_streams() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;  // NOLINT(*-vararg)
    // The lowest free number is given out first, which is this one.
    ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // NOLINT(*-vararg)
  }
}

void print_result(std::string_view text) {
  print(text, stdout);
}

void print_report(std::string_view text) {
  print(text, report_stream());
}

void print_stderr(std::string_view text) {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
  static_cast<void>(std::fflush(stderr));
}

void print_note(std::string_view text) {
  print_stderr(fmt::format("echelon: note: {}\n", text));
}

std::size_t terminal_width() {
  winsize size = {};
  const bool known = ioctl(fileno(stderr), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

}  // namespace echelon::tool
