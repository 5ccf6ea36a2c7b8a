// SPDX-License-Identifier: BSD-3-Clause
/// Graphs as METIS, KaHIP and the DIMACS challenges store them (.graph); METIS 5.1 manual, section 4.1.1.
#pragma once

#include <echelon/csr.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace echelon {

template <class T>
struct MetisGraph {
  /// Square and symmetric with an empty diagonal; the edges' weights, 1 where the file gives none.
  Csr<T> adjacency;
  bool weighted = false;                     ///< whether the file gave weights of edges
  std::int64_t constraints = 0;              ///< weights a vertex has
  std::vector<std::int64_t> vertex_weights;  ///< `constraints` a vertex, vertex after vertex
  std::vector<std::int64_t> vertex_sizes;    ///< one a vertex, or empty
};

/// Reads a graph, plain or gzip, in parallel; threads: OpenMP's choice unless given. Vertices are counted
/// from 1 in the file, from 0 here. Refused: an edge that is not stored from both sides with the same weight,
/// an edge stored twice, a loop, a number of vertices or edges that differs from the header's, a weight of an
/// edge that is not positive and finite. Weights of edges may have fractions, which METIS itself lacks.
/// Memory: at the peak the adjacency twice. Throws ParseError with line and column; OutOfMemory.
template <class T>
[[nodiscard]] MetisGraph<T> read_metis(const std::string& path, int threads = 0);

/// Throws InvalidMatrix, naming the place, for what the format cannot hold: a matrix that is not square and
/// symmetric, a stored element on the diagonal, a weight that is not a positive whole number. Weights that
/// are all 1 are left out. The file appears whole or not at all; gzip when the name ends in .gz.
/// O(nonzeros), 8 bytes a row. Throws ParseError when it cannot be written.
template <class T>
void write_metis(const std::string& path, const MetisGraph<T>& graph);

}  // namespace echelon
