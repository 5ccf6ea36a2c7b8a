// SPDX-License-Identifier: BSD-3-Clause
/// Graphs as METIS, KaHIP and the DIMACS challenges store them (.graph); METIS 5.1 manual, section 4.1.1.
#pragma once

#include <echelon/export.h>
#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace echelon {

template <class T>
struct ECHELON_API MetisGraph {
  /// Edge weights, 1 if the file gives none: square and symmetric with an empty diagonal.
  Csr<T> adjacency;
  bool weighted = false;                     ///< whether the file gives edge weights
  std::int64_t constraints = 0;              ///< number of weights per vertex
  std::vector<std::int64_t> vertex_weights;  ///< `constraints` numbers per vertex, vertex by vertex
  std::vector<std::int64_t> vertex_sizes;    ///< one per vertex, or empty
};

/// Reads a graph, plain or gzip, in parallel; threads: OpenMP's choice unless given. Vertices are counted
/// from 1 in the file, from 0 here. Refused: an edge that is not stored from both sides with the same weight,
/// an edge stored twice, a loop, a number of vertices or edges that differs from the header's, an edge weight
/// that is not positive and finite. Edge weights may be fractional, although METIS itself has whole ones
/// only. Memory: at the peak the adjacency twice. Throws ParseError with line and column; OutOfMemory.
template <class T>
[[nodiscard]] ECHELON_API MetisGraph<T> read_metis(const std::string& path, int threads = 0);

/// Writes a graph; edge weights that are all 1 are omitted. Throws InvalidMatrix, naming the place, for a
/// matrix that is not square and symmetric, a stored element on the diagonal, and a weight that is not a
/// positive whole number. The file appears whole or not at all; gzip if the name ends in .gz. O(nonzeros)
/// time, 8 bytes per row. Throws ParseError if it cannot be written.
template <class T>
ECHELON_API void write_metis(const std::string& path, const MetisGraph<T>& graph);

}  // namespace echelon
