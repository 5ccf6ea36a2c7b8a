// SPDX-License-Identifier: BSD-3-Clause
/// Standard output for results, standard error for everything else; colours on terminals only.
#pragma once

#include <echelon/error.hpp>

#include <cstdio>
#include <string>
#include <string_view>

namespace echelon::tool {

/// A file's name for a person: "-" is the standard stream.
[[nodiscard]] std::string input_name(const std::string& path);
[[nodiscard]] std::string output_name(const std::string& path);

/// A file, or standard output ("-"), that cannot be written.
class WriteError : public Error {
 public:
  WriteError(std::string file, const std::string& reason);
  [[nodiscard]] const std::string& file() const { return file_; }

 private:
  std::string file_;
};

/// "cannot be written: No space left on device", for an errno.
[[nodiscard]] std::string system_reason(int error);

enum class Colour { none, red, green, yellow, bold, faint };

[[nodiscard]] bool is_terminal(std::FILE* stream);
/// `text` in colour if `stream` is a terminal and NO_COLOR (https://no-color.org) is not set.
[[nodiscard]] std::string paint(std::string_view text, Colour colour, std::FILE* stream);

/// The stream of a command's report: stdout, unless a file is written there.
[[nodiscard]] std::FILE* report_stream();
/// Sends reports to stderr from here on: stdout receives a file.
void send_report_to_stderr();

/// Opens /dev/null for standard streams that the caller has closed, so that no other file gets their numbers:
/// reading from them or writing to them still fails. Called before any file is opened.
void reserve_standard_streams();

/// Writes to stdout. Throws WriteError, so that a lost result is not taken for success.
void print_result(std::string_view text);
/// Writes to report_stream(). Throws WriteError.
void print_report(std::string_view text);
/// Writes to stderr; failures are ignored.
void print_stderr(std::string_view text);
void print_note(std::string_view text);
/// The width of stderr's terminal in characters; 80 if unknown.
[[nodiscard]] std::size_t terminal_width();

}  // namespace echelon::tool
