// SPDX-License-Identifier: BSD-3-Clause
/// The matrix that a verb works on: its file, and what is made of it.
#pragma once

#include "commands/commands.hpp"

#include <echelon/io/files.hpp>
#include <echelon/io/graph.hpp>

#include <CLI/CLI.hpp>

#include <string>

namespace echelon::tool {

struct InputOptions {
  ReadFileOptions file;
  LaplacianOptions laplacian;
  std::string as;  ///< laplacian, adjacency, or empty for the matrix as it is
};

/// --from, --as and what goes with them.
void add_input_options(CLI::App& app, InputOptions& options);

/// Throws what the reader throws.
template <class T>
[[nodiscard]] MatrixFile<T> read_input(const std::string& path, const InputOptions& options);

/// The words for a file that may be of any format.
inline constexpr const char* matrix_file_help =
    "the matrix: Matrix Market, .npy, METIS graph, edge list, PETSc binary or Harwell-Boeing, plain or gzip";

}  // namespace echelon::tool
