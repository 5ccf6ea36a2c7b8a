// SPDX-License-Identifier: BSD-3-Clause
/// Fuzz targets: each function takes any bytes as a file and throws std::logic_error when a promise is
/// broken. A parser either throws an echelon::Error or returns a valid matrix, and that matrix, written and
/// read again, has the same bits.
#pragma once

#include "io/support/sources.hpp"
#include "io/text/line_blocks.hpp"
#include "io/text/sink.hpp"

#include <echelon/error.hpp>
#include <echelon/io/graph.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace echelon::fuzz {

inline void require(bool holds, const char* promise) {
  if (!holds) throw std::logic_error(promise);
}

template <class R>
bool same_bits(R x, R y) {
  using Bits = std::conditional_t<sizeof(R) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<Bits>(x) == std::bit_cast<Bits>(y);
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](T x, T y) {
    return same_bits(std::real(x), std::real(y)) && same_bits(std::imag(x), std::imag(y));
  });
}

template <class T>
void require_finite(T value) {
  require(std::isfinite(std::real(value)) && std::isfinite(std::imag(value)), "a value is not finite");
}

template <class T>
bool same(const Csr<T>& a, const Csr<T>& b) {
  return a.rows() == b.rows() && a.columns() == b.columns() &&
         a.row_offsets().to_vector() == b.row_offsets().to_vector() &&
         a.column_indices().to_vector() == b.column_indices().to_vector() &&
         same_bits(a.values().to_vector(), b.values().to_vector());
}

template <class T>
bool same(const Dense<T>& a, const Dense<T>& b) {
  return a.rows() == b.rows() && a.columns() == b.columns() && same_bits(a.to_vector(), b.to_vector());
}

template <class T>
bool same(const Matrix<T>& a, const Matrix<T>& b) {
  if (a.index() != b.index()) return false;
  if (std::holds_alternative<Csr<T>>(a)) return same(std::get<Csr<T>>(a), std::get<Csr<T>>(b));
  return same(std::get<Dense<T>>(a), std::get<Dense<T>>(b));
}

/// Throws unless the arrays are a valid matrix, which the checking constructor tests, with finite values.
template <class T>
void check(const Csr<T>& matrix) {
  static_cast<void>(Csr<T>(matrix.rows(), matrix.columns(), matrix.row_offsets(), matrix.column_indices(),
                           matrix.values()));
  for (const T value : matrix.values().span()) require_finite(value);
}

template <class T>
void check(const Dense<T>& matrix) {
  for (const T value : matrix.to_vector()) require_finite(value);
}

template <class T>
void check(const Matrix<T>& matrix) {
  std::visit([](const auto& held) { check(held); }, matrix);
}

/// Block sizes that vary with the input, so that borders of blocks fall everywhere.
inline io::ReadOptions small_blocks(std::string_view text) {
  constexpr std::array<std::size_t, 3> sizes = {std::size_t{64}, std::size_t{1000}, std::size_t{1} << 18};
  return {.threads = 1, .block_bytes = sizes.at(text.size() % sizes.size())};
}

/// The result of `read`, or none if the text is refused: what the caller then does is outside of the catch.
template <class Read>
auto read_or_refuse(Read read) -> std::vector<decltype(read())> {
  std::vector<decltype(read())> result;
  try {
    result.push_back(read());
  } catch (const ParseError& error) {
    require(std::string_view(error.what()).find('\n') == std::string_view::npos,
            "a message of several lines");
  } catch (const OutOfMemory&) {
    // A sound file may describe an empty matrix of 2^31 rows.
  }
  return result;
}

template <class T>
void matrix_market_in(std::string_view text) {
  for (const auto& file : read_or_refuse([&] {
         return io::read_matrix_market_source<T>(*io::text_in_memory(text), "fuzz", small_blocks(text));
       })) {
    check(file.matrix);
    io::MemorySink sink;
    io::write_matrix_market_sink<T>(sink, file.matrix);
    const auto again =
        io::read_matrix_market_source<T>(*io::text_in_memory(sink.text()), "again", {.threads = 1});
    require(same(file.matrix, again.matrix), "Matrix Market: writing and reading changes the matrix");
  }
}

inline void matrix_market(std::string_view text) {
  if (text.size() % 2 == 0) {
    matrix_market_in<double>(text);
  } else {
    matrix_market_in<float>(text);
  }
  matrix_market_in<std::complex<double>>(text);
}

template <class T>
void npy_in(std::string_view text) {
  for (const auto& matrix :
       read_or_refuse([&] { return io::read_npy_source<T>(*io::text_in_memory(text), "fuzz"); })) {
    check(matrix);
    io::MemorySink sink;
    io::write_npy_sink<T>(sink, matrix);
    require(same(matrix, io::read_npy_source<T>(*io::text_in_memory(sink.text()), "again")),
            "npy: writing and reading changes the matrix");
  }
}

inline void npy(std::string_view text) {
  npy_in<double>(text);
  npy_in<float>(text);
  npy_in<std::complex<double>>(text);
}

template <class T>
void npz_in(std::string_view text) {
  for (const auto& file :
       read_or_refuse([&] { return io::read_npz_source<T>(*io::text_in_memory(text), "fuzz"); })) {
    check(file.matrix);
    check(file.right_hand_sides);
    io::MemorySink sink;
    std::visit([&](const auto& matrix) { io::write_npz_sink<T>(sink, matrix); }, file.matrix);
    require(same(file.matrix, io::read_npz_source<T>(*io::text_in_memory(sink.text()), "again").matrix),
            "npz: writing and reading changes the matrix");
  }
}

/// Reads with alternating types.
inline void npz(std::string_view text) {
  if (text.size() % 2 == 0) {
    npz_in<double>(text);
  } else {
    npz_in<float>(text);
  }
}

template <class T>
void text_columns_in(std::string_view text) {
  for (const auto& matrix : read_or_refuse([&] {
         return io::read_text_columns_source<T>(*io::text_in_memory(text), "fuzz", small_blocks(text));
       })) {
    check(matrix);
    io::MemorySink sink;
    io::write_text_columns_sink<T>(sink, matrix);
    require(same(matrix, io::read_text_columns_source<T>(*io::text_in_memory(sink.text()), "again")) ||
                matrix.rows() == 0,
            "text columns: writing and reading changes the matrix");
  }
}

inline void text_columns(std::string_view text) {
  text_columns_in<double>(text);
  text_columns_in<float>(text);
}

/// METIS itself has whole weights only.
template <class T>
bool has_whole_weights(const Csr<T>& matrix) {
  const auto values = matrix.values().span();
  return std::all_of(values.begin(), values.end(), [](T w) { return w == std::floor(w) && w < T(9e18); });
}

inline void metis(std::string_view text) {
  for (const auto& graph : read_or_refuse([&] {
         return io::read_metis_source<double>(*io::text_in_memory(text), "fuzz", small_blocks(text));
       })) {
    check(graph.adjacency);
    require(same(graph.adjacency, adjacency(graph.adjacency)), "an adjacency matrix is its own");
    if (!has_whole_weights(graph.adjacency)) continue;
    io::MemorySink sink;
    io::write_metis_sink(sink, graph);
    const auto again =
        io::read_metis_source<double>(*io::text_in_memory(sink.text()), "again", {.threads = 1});
    require(same(graph.adjacency, again.adjacency) && graph.vertex_weights == again.vertex_weights &&
                graph.vertex_sizes == again.vertex_sizes && graph.constraints == again.constraints,
            "METIS: writing and reading changes the graph");
  }
}

template <class T>
void edge_list_in(std::string_view text, const EdgeListOptions& meaning) {
  for (const auto& list : read_or_refuse([&] {
         return io::read_edge_list_source<T>(*io::text_in_memory(text), "fuzz", meaning, small_blocks(text));
       })) {
    check(list.adjacency);
    require(static_cast<std::int64_t>(list.labels.size()) == list.adjacency.rows(), "a label for each row");
    require(std::is_sorted(list.labels.begin(), list.labels.end()), "labels ascend");
    io::MemorySink sink;
    io::write_edge_list_sink(sink, list.adjacency, meaning.directed, list.labels);
    const auto again =
        io::read_edge_list_source<T>(*io::text_in_memory(sink.text()), "again", meaning, {.threads = 1});
    require(same(list.adjacency, again.adjacency) && list.labels == again.labels,
            "edge list: writing and reading changes the graph");
  }
}

inline void edge_list(std::string_view text) {
  constexpr std::array numberings = {Numbering::compact, Numbering::zero_based, Numbering::one_based};
  const Numbering numbering = numberings.at(text.size() / 2 % numberings.size());
  edge_list_in<double>(text, {.directed = false, .numbering = numbering, .threads = 1});
  edge_list_in<float>(text, {.directed = true, .numbering = numbering, .threads = 1});
}

template <class T>
void petsc_in(std::string_view text, PetscScalar scalar, const PetscOptions& options) {
  for (const auto& file :
       read_or_refuse([&] { return io::read_petsc_source<T>(*io::text_in_memory(text), "fuzz", scalar); })) {
    check(file.matrix);
    check(file.vectors);
    io::MemorySink sink;
    io::write_petsc_sink<T>(sink, file.matrix, options);
    const auto again = io::read_petsc_source<T>(*io::text_in_memory(sink.text()), "again", options.scalar);
    require(same(file.matrix, again.matrix), "PETSc: writing and reading changes the matrix");
  }
}

inline void petsc(std::string_view text) {
  petsc_in<double>(text, PetscScalar::automatic, {.index_bits = 32, .scalar = PetscScalar::real64});
  petsc_in<float>(text, PetscScalar::real32, {.index_bits = 64, .scalar = PetscScalar::real32});
}

inline void harwell_boeing(std::string_view text) {
  for (const auto& file : read_or_refuse(
           [&] { return io::read_harwell_boeing_source<double>(*io::text_in_memory(text), "fuzz"); })) {
    check(file.matrix);
    check(file.right_hand_sides);
    require(file.matrix.rows() == file.right_hand_sides.rows(), "right-hand sides have the matrix's rows");
  }
}

/// Any content, as read_matrix_file reads it for each purpose: the first bytes or lines tell the format, and
/// gzip is unpacked.
inline void any_file(std::string_view text) {
  constexpr std::array roles = {FileRole::matrix, FileRole::graph, FileRole::right_hand_side};
  ReadFileOptions options;
  options.role = roles.at(text.size() % roles.size());
  for (const auto& file : read_or_refuse(
           [&] { return io::read_matrix_source<double>(*io::text_in_memory(text), "fuzz", options); })) {
    check(file.matrix);
  }
}

struct Target {
  const char* name;  ///< also of the folder of its seeds
  void (*run)(std::string_view text);
};

inline constexpr std::array targets = {Target{"matrix_market", matrix_market},
                                       Target{"npy", npy},
                                       Target{"npz", npz},
                                       Target{"metis", metis},
                                       Target{"edge_list", edge_list},
                                       Target{"petsc", petsc},
                                       Target{"harwell_boeing", harwell_boeing},
                                       Target{"text_columns", text_columns},
                                       Target{"any_file", any_file}};

}  // namespace echelon::fuzz
