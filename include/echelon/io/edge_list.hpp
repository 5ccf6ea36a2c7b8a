// SPDX-License-Identifier: BSD-3-Clause
/// Edge lists: one edge per line, as in the graph collections SNAP and KONECT.
#pragma once

#include <echelon/export.h>
#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace echelon {

/// Meaning of the vertex numbers in an edge list.
enum class Numbering {
  compact,     ///< any whole numbers from 0 to 2^63 - 1; those that occur are numbered 0, 1, 2, ... ascending
  zero_based,  ///< rows counted from 0; the largest number sets the size
  one_based,   ///< rows counted from 1
};

struct ECHELON_API EdgeListOptions {
  /// Whether a line is the element (u, v) alone. Otherwise it is (u, v) and (v, u), and a list may give an
  /// edge from one side or from both.
  bool directed = false;
  Numbering numbering = Numbering::compact;  ///< meaning of the vertex numbers
  int threads = 0;                           ///< 0: OpenMP's choice
};

template <class T>
struct ECHELON_API EdgeList {
  Csr<T> adjacency;                  ///< square; 1 for each edge where the list has no weights
  bool weighted = false;             ///< whether the file gives weights
  std::vector<std::int64_t> labels;  ///< vertex number in the file of each row
  std::int64_t edges = 0;            ///< lines of data
  /// Lines that repeat an earlier edge in the same direction.
  std::int64_t duplicate_edges = 0;
};

/// Reads lines `u v` or `u v weight`, plain or gzip, in parallel. Vertices are whole numbers, which may be
/// written as real ones (3.0e+00). Numbers are separated by blanks, tabs, or one comma or semicolon; the
/// first line of data decides whether there are weights. Lines that start with # or % are comments, and so is
/// a first line that starts with a letter or a quotation mark (a table's header). A repeated edge counts once
/// in a list without weights; in one with weights they are summed. In an undirected list an edge given from
/// both sides is one edge; different weights are refused. Loops are kept. NaN, Inf and weights that overflow
/// T are refused. Vertices without an edge are not in the result. Memory: at the peak 16 bytes per line,
/// sizeof(T) more if weighted, and the matrix, or three times the matrix if undirected. A zero- or one-based
/// list whose largest number is out of proportion to its length, above 65,536 and above 16 per edge, is
/// refused: it would be a huge, nearly empty matrix. Throws ParseError with line and column; OutOfMemory.
template <class T>
[[nodiscard]] ECHELON_API EdgeList<T> read_edge_list(const std::string& path,
                                                     const EdgeListOptions& options = {});

/// Writes `labels` (0, 1, 2, ... if empty) of row and column, and the value unless all are 1, tab-separated,
/// below a SNAP-like comment. Of a symmetric matrix the lower triangle is written unless `directed`.
/// Throws InvalidMatrix when the matrix is not square, or is not symmetric and `directed` is false. The file
/// appears whole or not at all; gzip when the name ends in .gz. Throws ParseError when it cannot be written.
template <class T>
ECHELON_API void write_edge_list(const std::string& path, const Csr<T>& adjacency, bool directed = false,
                                 const std::vector<std::int64_t>& labels = {});

}  // namespace echelon
