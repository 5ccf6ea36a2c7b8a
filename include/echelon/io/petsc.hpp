// SPDX-License-Identifier: BSD-3-Clause
/// PETSc's binary files, as MatView and VecView write them: big-endian, real or complex scalars.
#pragma once

#include <echelon/export.h>
#include <echelon/matrix/matrix.hpp>

#include <cstdint>
#include <string>

namespace echelon {

/// Scalar type of the PETSc that wrote a file, which the file does not contain.
enum class PetscScalar {
  /// double, unless only float or complex doubles agree with the file's length; for a complex T complex
  /// doubles, unless only real ones do
  automatic,
  real64,      ///< double
  real32,      ///< float
  complex128,  ///< complex numbers of two doubles
};

template <class T>
struct ECHELON_API PetscFile {
  Matrix<T> matrix;  ///< Csr for AIJ, Dense for a dense matrix or a vector (one column)
  /// Vectors that follow the matrix in the same file; no columns if there are none.
  Dense<T> vectors;
  std::int64_t duplicate_entries = 0;  ///< elements that were added to an earlier one in the same place
  bool complex = false;                ///< whether the file's scalars are complex
};

/// Reads a matrix (AIJ, or dense) or a vector, plain or gzip, with 32- or 64-bit indices (the file tells),
/// and the vectors that follow a matrix, which must have its number of rows. NaN, Inf and numbers that
/// overflow T are refused, and so are complex scalars unless T is complex. A row's columns may be in any
/// order. Memory: the result, and the column indices of the AIJ form once more, allocated after the file's
/// length was found to agree with its header. Throws ParseError with the byte of the first error;
/// OutOfMemory.
template <class T>
[[nodiscard]] ECHELON_API PetscFile<T> read_petsc(const std::string& path,
                                                  PetscScalar scalar = PetscScalar::automatic);

struct ECHELON_API PetscOptions {
  int index_bits = 32;  ///< 32, or 64 for a PETSc built with 64-bit indices
  /// Scalar type of a real matrix: real64, or real32 for a PETSc built with float scalars. Complex numbers
  /// are written as complex128.
  PetscScalar scalar = PetscScalar::real64;
};

/// Writes AIJ for a sparse matrix, a vector for one dense column, the dense form for several. Doubles go into
/// real32 rounded. Throws InvalidMatrix when 32-bit indices do not suffice, or a value overflows real32. The
/// file appears whole or not at all; gzip when the name ends in .gz. Throws ParseError when it cannot be
/// written.
template <class T>
ECHELON_API void write_petsc(const std::string& path, MatrixRef<T> matrix, const PetscOptions& options = {});

}  // namespace echelon
