// SPDX-License-Identifier: BSD-3-Clause
/// The file formats, and what a file says of the matrix in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace echelon {

enum class FileFormat {
  automatic,  ///< told by the content, else by the name
  matrix_market,
  npy,
  metis,
  edge_list,
  petsc,
  harwell_boeing,  ///< read only
};

/// "matrix-market", "npy", ...; what parse_file_format takes.
[[nodiscard]] std::string_view to_string(FileFormat format);
/// Throws BadOption, with the nearest name, for one that does not exist.
[[nodiscard]] FileFormat parse_file_format(const std::string& name);
/// All names but "automatic".
[[nodiscard]] std::vector<std::string> file_format_names();
/// What the name's ending says, ".gz" left aside; nothing where it says nothing. `.txt`, `.csv`, `.tsv` and
/// `.dat` say nothing: they are used for too much.
[[nodiscard]] std::optional<FileFormat> file_format_of_name(const std::string& path);

struct FileInfo {
  FileFormat format = FileFormat::automatic;
  bool coordinate = true;            ///< sparse in the file, else all elements are stored
  std::string field = "real";        ///< real, integer, pattern
  std::string symmetry = "general";  ///< general, symmetric, skew-symmetric
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stored_entries = 0;     ///< elements, or edges, that the file lists
  std::int64_t duplicate_entries = 0;  ///< those of the same place as an earlier one
};

}  // namespace echelon
