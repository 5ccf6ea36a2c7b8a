// SPDX-License-Identifier: BSD-3-Clause
/// Edge lists: one edge a line, as SNAP, KONECT and many others offer graphs.
#pragma once

#include <echelon/csr.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace echelon {

/// What the numbers of vertices in an edge list mean.
enum class Numbering {
  compact,     ///< any whole numbers from 0 to 2^63 - 1; those that occur are numbered 0, 1, 2, ... ascending
  zero_based,  ///< the row counted from 0; the largest one makes the size
  one_based,   ///< the row counted from 1
};

struct EdgeListOptions {
  /// Directed: a line is the element (u, v) alone. Undirected: it is (u, v) and (v, u); a list may give an
  /// edge from one side or from both.
  bool directed = false;
  Numbering numbering = Numbering::compact;
  int threads = 0;  ///< 0: OpenMP's choice
};

template <class T>
struct EdgeList {
  Csr<T> adjacency;  ///< square; 1 for each edge where the list has no weights
  bool weighted = false;
  std::vector<std::int64_t> labels;  ///< of each row, its number in the file
  std::int64_t edges = 0;            ///< lines of data
  /// Lines that repeat an earlier one's edge in the same direction.
  std::int64_t duplicate_edges = 0;
};

/// Reads lines `u v` or `u v weight`, plain or gzip, in parallel. Numbers are separated by blanks, tabs, or
/// one comma or semicolon; the first line of data decides whether there are weights. Lines that start with
/// # or % are comments, and so is a first line that starts with a letter or a quotation mark (a table's
/// header). A repeated edge counts once in a list without weights; in one with weights they are summed. In an
/// undirected list an edge given from both sides is one edge; different weights are refused. Loops are kept.
/// NaN, Inf and what overflows T are refused. Vertices without an edge leave no trace.
/// Memory: at the peak 16 bytes (and sizeof(T), when weighted) a line and the matrix, three times the matrix
/// when undirected. A zero- or one-based list whose largest number is out of proportion to its length (more
/// than 65,536 and 16 an edge) is refused rather than made a huge empty matrix.
/// Throws ParseError with line and column; OutOfMemory.
template <class T>
[[nodiscard]] EdgeList<T> read_edge_list(const std::string& path, const EdgeListOptions& options = {});

/// Writes `labels` (0, 1, 2, ... if empty) of row and column, and the value unless all are 1, tab-separated,
/// below a SNAP-like comment. Of a symmetric matrix the lower triangle is written unless `directed`.
/// Throws InvalidMatrix when the matrix is not square, or is not symmetric and `directed` is false. The file
/// appears whole or not at all; gzip when the name ends in .gz. Throws ParseError when it cannot be written.
template <class T>
void write_edge_list(const std::string& path, const Csr<T>& adjacency, bool directed = false,
                     const std::vector<std::int64_t>& labels = {});

}  // namespace echelon
