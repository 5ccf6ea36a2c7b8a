// SPDX-License-Identifier: BSD-3-Clause
/// Files that the tool writes. The name "-" stands for standard output.
#pragma once

#include <echelon/error.hpp>
#include <echelon/io/files.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace echelon::tool {

/// An option that names a file to write, and its value; `path` is empty if the option was not given.
struct OutputOption {
  std::string option;
  std::string path;
};

/// Checks the output files before anything is computed: each must be writable, and none may be an input or
/// another output under any name (links included). Sends the report to stderr if an output is "-".
/// Throws BadOption, WriteError.
void check_files(const std::vector<std::string>& inputs, const std::vector<OutputOption>& outputs);

/// Throws BadOption unless `output` is a name in .svg, "-", or an existing device or pipe.
void check_plot_name(const OutputOption& output);
/// check_plot_name() for a name in .html.
void check_page_name(const OutputOption& output);

/// The format that the name's ending selects; Matrix Market for a name without one. Throws BadOption for the
/// ending of a format that is not written.
[[nodiscard]] FileFormat output_format(const std::string& path);

/// The message of `error` without the file, line and column at its beginning.
[[nodiscard]] std::string reason_of(const ParseError& error);

/// Calls `write` with the name of the file to write, which is a temporary one if `path` is "-": its content
/// is then copied to stdout. Throws WriteError for a ParseError of `write`.
void write_file(const std::string& path, const std::function<void(const std::string&)>& write);

/// Throws BadOption if the name's ending selects a format that does not hold dense matrices.
void check_dense_format(const OutputOption& output);

/// Writes in the format of the name's ending, with `comment` where the format has comments. Throws
/// WriteError.
template <class T>
void write_dense(const std::string& path, const Dense<T>& matrix, const std::string& comment);

/// Writes the row of each unknown, -1 for a free one, as a column of numbers in the format of the name's
/// ending. Throws WriteError.
void write_map(const std::string& path, const std::vector<std::int64_t>& row_of_unknown);

/// Writes a file as write_bytes does, or to stdout for "-". Throws WriteError.
void write_text(const std::string& path, std::string_view text);

}  // namespace echelon::tool
