// SPDX-License-Identifier: BSD-3-Clause
#include "output/files.hpp"

#include "output/temporary_file.hpp"
#include "terminal/terminal.hpp"

#include <echelon/error.hpp>
#include <echelon/io/matrix_market.hpp>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <complex>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

namespace echelon::tool {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, int error) {
  throw WriteError(path, system_reason(error));
}

/// The status of a file, or of the file that a symbolic link leads to; nothing if there is none.
std::optional<struct stat> file_status(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

/// The absolute path that `path` leads to, symbolic links to files that do not exist included.
std::string resolved(const std::string& path) {
  std::error_code error;
  fs::path target = fs::absolute(path, error);
  constexpr int most_links = 40;
  for (int links = 0; links < most_links && fs::is_symlink(target, error); ++links) {
    target = target.parent_path() / fs::read_symlink(target, error);
  }
  const fs::path canonical = fs::weakly_canonical(target, error);
  return error ? target.string() : canonical.string();
}

/// Identity of a file, equal for all its names: device and inode, or the resolved path of a file that does
/// not exist yet.
using FileIdentity = std::tuple<dev_t, ino_t, std::string>;

std::optional<FileIdentity> identity(const struct stat& status) {
  if (S_ISCHR(status.st_mode)) return std::nullopt;  // /dev/null may be named twice
  return FileIdentity{status.st_dev, status.st_ino, ""};
}

std::optional<FileIdentity> identity(const std::string& path) {
  if (const auto status = file_status(path)) return identity(*status);
  return FileIdentity{0, 0, resolved(path)};
}

/// Identity of standard output: that of the file it is redirected to, and none for a pipe or socket, since
/// programs that start the tool may use one socket for standard input and output.
std::optional<FileIdentity> output_identity(const std::string& path) {
  if (path != "-") return identity(path);
  struct stat status = {};
  if (::fstat(STDOUT_FILENO, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return identity(status);
}

void check_distinct(const std::vector<std::string>& inputs, const std::vector<OutputOption>& outputs) {
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    const auto written = output_identity(output->path);
    for (const std::string& input : inputs) {
      if (written && input != "-" && identity(input) == written) {
        throw BadOption(output->option,
                        fmt::format("{} {} would overwrite {}, which is read: name another file",
                                    output->option, output->path, input));
      }
    }
    for (auto other = outputs.begin(); other != output; ++other) {
      const bool both_stdout = output->path == "-" && other->path == "-";
      if (both_stdout || (written && output_identity(other->path) == written)) {
        throw BadOption(output->option, fmt::format("{} {} and {} {} name the same file", other->option,
                                                    other->path, output->option, output->path));
      }
    }
  }
}

void check_writable(const std::string& path) {
  const auto status = file_status(path);
  if (status && S_ISDIR(status->st_mode)) fail(path, EISDIR);
  // A pipe is not opened: its reader would take the end of this check for the end of the data.
  if (status && ::access(path.c_str(), W_OK) != 0) fail(path, errno);
  if (status && !S_ISREG(status->st_mode)) return;
  std::error_code error;
  const fs::path folder = fs::path(resolved(path)).parent_path();
  if (!fs::is_directory(folder, error)) fail(path, ENOENT);
  if (::access(folder.c_str(), W_OK | X_OK) != 0) fail(path, errno);
}

void copy_to_stdout(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) fail(path, errno);
  std::array<char, 1 << 16> buffer = {};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    print_result({buffer.data(), count});
  }
}

/// Throws BadOption unless the name of a regular file ends in `ending`.
void check_ending(const OutputOption& output, std::string_view ending, std::string_view format) {
  if (output.path.empty() || output.path == "-") return;
  const auto status = file_status(output.path);
  if (status && !S_ISREG(status->st_mode)) return;
  std::string given = fs::path(output.path).extension().string();
  for (char& c : given) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (given == ending) return;
  throw BadOption(output.option, fmt::format("{} writes {}: '{}' does not end in {}", output.option, format,
                                             output.path, ending));
}

}  // namespace

void check_files(const std::vector<std::string>& inputs, const std::vector<OutputOption>& outputs) {
  std::vector<OutputOption> given;
  std::copy_if(outputs.begin(), outputs.end(), std::back_inserter(given),
               [](const OutputOption& output) { return !output.path.empty(); });
  check_distinct(inputs, given);
  for (const OutputOption& output : given) {
    if (output.path == "-") {
      send_report_to_stderr();
    } else {
      check_writable(output.path);
    }
  }
}

void check_plot_name(const OutputOption& output) {
  check_ending(output, ".svg", "SVG");
}

void check_page_name(const OutputOption& output) {
  check_ending(output, ".html", "HTML");
}

std::string reason_of(const ParseError& error) {
  const std::string message = error.what();
  return message.substr(
      std::string_view(ParseError(error.file(), error.line(), error.column(), "").what()).size());
}

FileFormat output_format(const std::string& path) {
  return output_format_of_name(path).value_or(FileFormat::matrix_market);
}

void write_file(const std::string& path, const std::function<void(const std::string&)>& write) {
  try {
    if (path != "-") return write(path);
    const NamelessFile file;
    write(file.path());
    copy_to_stdout(file.path());
  } catch (const ParseError& e) {
    throw WriteError(path, reason_of(e));
  }
}

void check_dense_format(const OutputOption& output) {
  const FileFormat format = output_format(output.path);
  const bool holds_vectors =
      is_writable(format) && format != FileFormat::metis && format != FileFormat::edge_list;
  if (holds_vectors) return;
  throw BadOption(output.option,
                  fmt::format("{} cannot be written as {}: only as matrix-market, npy, npz, petsc or text",
                              output.option, to_string(format)));
}

template <class T>
void write_dense(const std::string& path, const Dense<T>& matrix, const std::string& comment) {
  write_file(path, [&](const std::string& file) {
    if (output_format(path) == FileFormat::matrix_market) {
      write_matrix_market<T>(file, matrix, comment);
    } else {
      write_matrix<T>(file, matrix);
    }
  });
}

template void write_dense(const std::string&, const Dense<float>&, const std::string&);
template void write_dense(const std::string&, const Dense<double>&, const std::string&);
template void write_dense(const std::string&, const Dense<std::complex<double>>&, const std::string&);

void write_map(const std::string& path, const std::vector<std::int64_t>& row_of_unknown) {
  Dense<double> column(Device(), std::ssize(row_of_unknown), 1);
  std::copy(row_of_unknown.begin(), row_of_unknown.end(), column.data());
  write_dense<double>(path, column, "row of each unknown, from 0; -1 for a free unknown");
}

void write_text(const std::string& path, std::string_view text) {
  if (path == "-") return print_result(text);
  write_file(path, [&](const std::string& file) { write_bytes(file, text); });
}

}  // namespace echelon::tool
