// SPDX-License-Identifier: BSD-3-Clause
/// The matrix that a command works on: options for reading its file. The name "-" stands for standard input.
#pragma once

#include "commands/commands.hpp"

#include <echelon/io/files.hpp>
#include <echelon/io/graph.hpp>

#include <CLI/CLI.hpp>

#include <complex>
#include <string>
#include <variant>

namespace echelon::tool {

struct InputOptions {
  ReadFileOptions file;
  LaplacianOptions laplacian;
  std::string as;  ///< "laplacian", "adjacency", or empty for the matrix itself
};

/// Adds --from, --as and their companions.
void add_input_options(CLI::App& app, InputOptions& options);

/// Adds the positional argument `name` for the matrix's file.
void add_matrix_argument(CLI::App& app, const std::string& name, std::string& path);

/// The path to open: "-" is /dev/stdin.
[[nodiscard]] std::string input_path(const std::string& path);

/// Reads the vectors in a file of any format, plain text columns among them: its right-hand sides if it has
/// any, else its matrix. Throws ParseError for complex numbers and a real T.
template <class T>
[[nodiscard]] Dense<T> read_vectors(const std::string& path);

/// The vectors in a file, in double precision, with the numbers that the file has.
[[nodiscard]] std::variant<Dense<double>, Dense<std::complex<double>>> read_any_vectors(
    const std::string& path);

/// read_input() in double precision, with the numbers that the file has: --as needs real ones.
[[nodiscard]] AnyMatrixFile read_any_input(const std::string& path, const InputOptions& options);

/// Reads the matrix and applies --as. Throws what read_matrix_file and laplacian throw.
template <class T>
[[nodiscard]] MatrixFile<T> read_input(const std::string& path, const InputOptions& options);

}  // namespace echelon::tool
