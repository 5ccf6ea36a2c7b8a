// SPDX-License-Identifier: BSD-3-Clause
/// File formats, and properties of a matrix that its file states.
#pragma once

#include <echelon/export.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace echelon {

enum class FileFormat {
  automatic,       ///< recognised by the content, else by the name
  matrix_market,   ///< Matrix Market, coordinate or array
  npy,             ///< one NumPy array
  npz,             ///< NumPy archive: arrays, or a SciPy sparse matrix
  metis,           ///< METIS graph
  edge_list,       ///< lines of two vertices and possibly a weight
  petsc,           ///< PETSc binary
  harwell_boeing,  ///< Harwell-Boeing or Rutherford-Boeing; read only
  text,            ///< columns of numbers as plain text, a dense matrix
};

/// Purpose for which a file is read. It decides how plain text that fits two formats is interpreted, and
/// which of several arrays of an .npz archive is read.
enum class FileRole {
  matrix,           ///< a matrix; text that may be an edge list or a table is refused; the array `A`
  graph,            ///< a graph's adjacency matrix: such text is an edge list; the array `A`
  right_hand_side,  ///< vectors: such text is a table; the array `b`
};

/// Name of a format, as parse_file_format accepts it: "matrix-market", "npy", ...
[[nodiscard]] ECHELON_API std::string_view to_string(FileFormat format);
/// Parses the name of a format. Throws BadOption, with the nearest name, for an unknown one.
[[nodiscard]] ECHELON_API FileFormat parse_file_format(const std::string& name);
/// Names of all formats except "automatic".
[[nodiscard]] ECHELON_API std::vector<std::string> file_format_names();
/// Whether write_matrix writes the format; Harwell-Boeing files are only read.
[[nodiscard]] ECHELON_API bool is_writable(FileFormat format);
/// Format that a file name's extension implies, ".gz" ignored; no value for other extensions. `.txt`, `.csv`,
/// `.tsv` and `.dat` have several uses, so for these the content must decide.
[[nodiscard]] ECHELON_API std::optional<FileFormat> file_format_of_name(const std::string& path);
/// Format in which a file of this name is written: that of file_format_of_name, or text for `.txt`, `.csv`,
/// `.tsv` and `.dat`; no value for a name without an extension. Throws BadOption, with the extensions that
/// are known, for any other one, such as `.mat` or `.json`, under which nothing else should be written.
[[nodiscard]] ECHELON_API std::optional<FileFormat> output_format_of_name(const std::string& path);

struct ECHELON_API FileInfo {
  FileFormat format = FileFormat::automatic;  ///< format that the content shows
  bool coordinate = true;      ///< true for sparse storage in the file, false where all elements are stored
  std::string field = "real";  ///< real, complex, integer or pattern
  std::string symmetry = "general";    ///< general, symmetric, skew-symmetric or hermitian
  std::int64_t rows = 0;               ///< of the matrix
  std::int64_t columns = 0;            ///< of the matrix
  std::int64_t stored_entries = 0;     ///< elements, or edges, that the file lists
  std::int64_t duplicate_entries = 0;  ///< entries at the position of an earlier one
};

}  // namespace echelon
