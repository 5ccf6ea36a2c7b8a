// SPDX-License-Identifier: BSD-3-Clause
/// Options that name near-null-space vectors for multigrid.
#pragma once

#include <echelon/matrix/dense.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace echelon::tool {

struct NearNullSpaceOptions {
  std::string coordinates;
  std::string node_map;
  std::string vectors;
};

void add_near_null_space_options(CLI::App& app, NearNullSpaceOptions& options);

/// Lists the input files that the options name.
[[nodiscard]] std::vector<std::string> files_of(const NearNullSpaceOptions& options);

/// Checks the options. Throws BadOption for options that exclude each other.
void check_near_null_space(const NearNullSpaceOptions& options);

/// Reads the vectors for an A with `rows` rows, or makes rigid-body modes of the coordinates; no columns
/// without options. Throws BadOption for a node map that does not hold whole numbers of unknowns, and
/// DimensionMismatch, which names the file, for vectors of another length.
[[nodiscard]] Dense<double> read_near_null_space(const NearNullSpaceOptions& options, std::int64_t rows);

}  // namespace echelon::tool
