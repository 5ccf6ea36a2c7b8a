// SPDX-License-Identifier: BSD-3-Clause
/// Matrices from and to files of any format.
#pragma once

#include <echelon/export.h>
#include <echelon/io/edge_list.hpp>
#include <echelon/io/file_info.hpp>
#include <echelon/io/petsc.hpp>
#include <echelon/matrix/matrix.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace echelon {

struct ECHELON_API ReadFileOptions {
  FileFormat format = FileFormat::automatic;  ///< automatic: recognised by content and name
  FileRole role = FileRole::matrix;           ///< purpose, which decides where several readings are possible
  std::string array = {};                     ///< name of the array in an .npz archive; empty: as `role` says
  EdgeListOptions edge_list;                  ///< direction and numbering, for an edge list
  PetscScalar petsc_scalar = PetscScalar::automatic;  ///< scalar type, for a PETSc binary
};

template <class T>
struct ECHELON_API MatrixFile {
  Matrix<T> matrix;  ///< of a graph, the adjacency matrix
  FileInfo info;     ///< facts that the file gives about the matrix
  /// Vectors that Harwell-Boeing files, PETSc binaries and .npz archives may hold in addition to the matrix;
  /// no columns without any.
  Dense<T> right_hand_sides;
  std::vector<std::int64_t> labels;  ///< of an edge list's vertices; empty for other formats
};

/// Reads a file of any format into host memory. `automatic` recognises Matrix Market, .npy, .npz and PETSc
/// files by their first bytes, others by the name's ending, and edge lists and columns of numbers by their
/// first lines where the ending says nothing. Complex numbers need a complex T: Matrix Market, .npy and .npz
/// files have them, and a complex T takes the real numbers of any file as well. Errors, limits and memory are
/// those of the format's own function. Throws ParseError, also when neither content nor name tells the
/// format; OutOfMemory.
template <class T>
[[nodiscard]] ECHELON_API MatrixFile<T> read_matrix_file(const std::string& path,
                                                         const ReadFileOptions& options = {});

/// A file's matrix in double precision, with the numbers that the file has.
using AnyMatrixFile = std::variant<MatrixFile<double>, MatrixFile<std::complex<double>>>;

/// read_matrix_file() for a file whose numbers may be real or complex. The file is opened once, so that it
/// may be a pipe.
[[nodiscard]] ECHELON_API AnyMatrixFile read_any_matrix_file(const std::string& path,
                                                             const ReadFileOptions& options = {});

/// Reads the matrix only.
template <class T>
[[nodiscard]] ECHELON_API Matrix<T> read_matrix(const std::string& path,
                                                FileFormat format = FileFormat::automatic);

struct ECHELON_API WriteFileOptions {
  FileFormat format = FileFormat::automatic;  ///< automatic: by the name's ending
  PetscOptions petsc;                         ///< widths of indices and scalars, for a PETSc binary
  bool directed = false;                      ///< an edge list of all elements rather than of one triangle
  std::vector<std::int64_t> labels = {};  ///< numbers of the vertices in an edge list; empty: 0, 1, 2, ...
  /// Most bytes that a sparse matrix may take when it is made dense for a format without sparse storage.
  std::size_t dense_limit = std::size_t{1} << 30;
};

/// Writes a matrix in the format of the name's ending (output_format_of_name), or as Matrix Market under a
/// name without one. Text has commas between numbers in `.csv`, tabs in `.tsv`, else blanks. Throws
/// InvalidMatrix for a matrix that the format cannot hold, BadOption for an ending that is unknown or of a
/// format that is not written, ParseError when the file cannot be written.
template <class T>
ECHELON_API void write_matrix(const std::string& path, MatrixRef<T> matrix,
                              const WriteFileOptions& options = {});

/// Writes a file of any content as write_matrix writes matrices: it appears whole or not at all, and is
/// compressed by gzip if its name ends in .gz. Throws ParseError when it cannot be written.
ECHELON_API void write_bytes(const std::string& path, std::string_view bytes);

}  // namespace echelon
