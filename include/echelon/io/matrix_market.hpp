// SPDX-License-Identifier: BSD-3-Clause
/// Matrix Market files (.mtx, and .mtx.gz): https://math.nist.gov/MatrixMarket/formats.html
#pragma once

#include <echelon/matrix.hpp>

#include <cstdint>
#include <string>

namespace echelon {

/// What a Matrix Market file says of itself, and what was found in it.
struct MatrixMarketInfo {
  bool coordinate = true;            ///< else array
  std::string field = "real";        ///< real, integer, pattern
  std::string symmetry = "general";  ///< general, symmetric, skew-symmetric
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stored_entries = 0;     ///< lines of data
  std::int64_t duplicate_entries = 0;  ///< entries that were added to one of the same place
};

template <class T>
struct MatrixMarketFile {
  Matrix<T> matrix;  ///< Dense for array, Csr for coordinate; the symmetric half is filled in
  MatrixMarketInfo info;
};

/// Reads real, integer and pattern (all ones) matrices, general, symmetric and skew-symmetric, into host
/// memory; duplicates are summed. Threads: OpenMP's choice unless given. Values that overflow T, NaN and
/// Inf are refused. Memory is claimed as data is seen, never from the header's word; the peak is at most
/// about twice the resulting Csr.
/// Throws ParseError with file, line and column; OutOfMemory.
template <class T>
[[nodiscard]] MatrixMarketFile<T> read_matrix_market_file(const std::string& path, int threads = 0);

/// The same as Csr, an array file's nonzeros picked out.
template <class T>
[[nodiscard]] Csr<T> read_matrix_market(const std::string& path);

/// The same as Dense; for right-hand sides and small matrices.
template <class T>
[[nodiscard]] Dense<T> read_matrix_market_dense(const std::string& path);

/// Writes so that reading gives the same bits: shortest round-trip decimals. Coordinate for a sparse, array
/// for a dense matrix, both `general`; gzip when the name ends in .gz. The file appears whole or not at all
/// (written beside and renamed). Throws ParseError when the file cannot be written.
template <class T>
void write_matrix_market(const std::string& path, MatrixRef<T> matrix, const std::string& comment = {});

}  // namespace echelon
