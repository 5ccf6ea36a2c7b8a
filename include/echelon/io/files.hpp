// SPDX-License-Identifier: BSD-3-Clause
/// Matrices from and to files of any format.
#pragma once

#include <echelon/io/edge_list.hpp>
#include <echelon/io/file_info.hpp>
#include <echelon/io/petsc.hpp>
#include <echelon/matrix.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace echelon {

struct ReadFileOptions {
  FileFormat format = FileFormat::automatic;
  EdgeListOptions edge_list;
  PetscScalar petsc_scalar = PetscScalar::automatic;
};

template <class T>
struct MatrixFile {
  Matrix<T> matrix;  ///< of a graph, the adjacency matrix
  FileInfo info;
  /// What Harwell-Boeing and PETSc files may hold besides the matrix; no columns when there are none.
  Dense<T> right_hand_sides;
  std::vector<std::int64_t> labels;  ///< of an edge list's vertices; else empty
};

/// Reads a file of any format into host memory. `automatic`: what the first bytes say (Matrix Market, .npy,
/// PETSc), else the name. Errors, limits and memory are those of the format's own function. Throws
/// ParseError, also when neither content nor name tells the format; OutOfMemory.
template <class T>
[[nodiscard]] MatrixFile<T> read_matrix_file(const std::string& path, const ReadFileOptions& options = {});

/// The same, the matrix only.
template <class T>
[[nodiscard]] Matrix<T> read_matrix(const std::string& path, FileFormat format = FileFormat::automatic);

struct WriteFileOptions {
  FileFormat format = FileFormat::automatic;
  PetscOptions petsc;
  bool directed = false;                  ///< an edge list of all elements rather than of one triangle
  std::vector<std::int64_t> labels = {};  ///< numbers of the vertices in an edge list
  /// The most that a sparse matrix may take, in bytes, when it is made dense for a format that has no other.
  std::size_t dense_limit = std::size_t{1} << 30;
};

/// Writes a matrix in the format of the name's ending, Matrix Market where it says nothing. Throws
/// InvalidMatrix for what the format cannot hold, BadOption for one that is only read, ParseError when the
/// file cannot be written.
template <class T>
void write_matrix(const std::string& path, MatrixRef<T> matrix, const WriteFileOptions& options = {});

}  // namespace echelon
