// SPDX-License-Identifier: BSD-3-Clause
#include "arguments/near_null_space.hpp"

#include "arguments/input.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/methods/multigrid/near_null_space.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

namespace echelon::tool {

namespace {

std::vector<std::int64_t> read_node_map(const std::string& path) {
  const Dense<double> map = read_vectors<double>(path);
  if (map.columns() != 1) {
    throw BadOption("--node-map", fmt::format("{} has {} columns, not one", path, map.columns()));
  }
  std::vector<std::int64_t> unknowns;
  for (std::int64_t i = 0; i < map.rows(); ++i) {
    if (!(map[i] >= 0 && map[i] < 0x1p53 && map[i] == std::floor(map[i]))) {
      throw BadOption(
          "--node-map",
          fmt::format("{}: element {}, counted from 0, is not the number of an unknown", path, i));
    }
    unknowns.push_back(static_cast<std::int64_t>(map[i]));
  }
  return unknowns;
}

}  // namespace

void add_near_null_space_options(CLI::App& app, NearNullSpaceOptions& options) {
  app.add_option("--coordinates", options.coordinates,
                 "coordinates of nodes, a row for each and a column for each of 1 to 3 dimensions: their "
                 "rigid-body modes are near-null-space vectors")
      ->type_name("FILE");
  app.add_option(
         "--node-map", options.node_map,
         "with --coordinates: the unknown of each row, dimensions * node + component, counted from 0; "
         "default: all unknowns in their order")
      ->type_name("FILE");
  app.add_option("--near-null-space,--null-space", options.vectors,
                 "near-null-space vectors, a row for each of A and a column for each vector: amg coarsens by "
                 "them, and those that A = A^T maps to zero are projected out of b and x")
      ->type_name("FILE");
}

std::vector<std::string> files_of(const NearNullSpaceOptions& options) {
  std::vector<std::string> files;
  for (const std::string& file : {options.coordinates, options.node_map, options.vectors}) {
    if (!file.empty()) files.push_back(file);
  }
  return files;
}

void check_near_null_space(const NearNullSpaceOptions& options) {
  if (!options.coordinates.empty() && !options.vectors.empty()) {
    throw BadOption("--near-null-space", "give either the vectors or --coordinates");
  }
  if (!options.node_map.empty() && options.coordinates.empty()) {
    throw BadOption("--node-map", "it belongs to --coordinates");
  }
}

Dense<double> read_near_null_space(const NearNullSpaceOptions& options, std::int64_t rows) {
  if (!options.vectors.empty()) {
    Dense<double> vectors = read_vectors<double>(options.vectors);
    if (vectors.rows() == rows) return vectors;
    throw DimensionMismatch(fmt::format("{}: near-null-space vectors of length {}, A has {} rows",
                                        options.vectors, vectors.rows(), rows));
  }
  if (options.coordinates.empty()) return {};
  const Dense<double> coordinates = read_vectors<double>(options.coordinates);
  std::vector<std::int64_t> unknowns;
  if (!options.node_map.empty()) unknowns = read_node_map(options.node_map);
  Dense<double> modes = rigid_body_modes(coordinates, unknowns);
  if (modes.rows() == rows) return modes;
  if (!unknowns.empty()) {
    throw DimensionMismatch(
        fmt::format("{}: {} unknowns, A has {} rows", options.node_map, modes.rows(), rows));
  }
  throw DimensionMismatch(
      fmt::format("{}: {} nodes of {} unknowns each, A has {} rows; if unknowns were eliminated, --node-map "
                  "names the others",
                  options.coordinates, coordinates.rows(), coordinates.columns(), rows));
}

}  // namespace echelon::tool
