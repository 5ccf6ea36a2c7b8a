// SPDX-License-Identifier: BSD-3-Clause
/// Readers from any source and writers to any sink, one pair per format; the public functions of the same
/// names apply them to files. `name` stands for the file in messages.
#pragma once

#include "io/text/read_options.hpp"
#include "io/text/sink.hpp"
#include "io/text/source.hpp"

#include <echelon/io/edge_list.hpp>
#include <echelon/io/files.hpp>
#include <echelon/io/harwell_boeing.hpp>
#include <echelon/io/matrix_market.hpp>
#include <echelon/io/metis.hpp>
#include <echelon/io/npz.hpp>
#include <echelon/io/petsc.hpp>
#include <echelon/io/text_columns.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace echelon::io {

template <class T>
MatrixMarketFile<T> read_matrix_market_source(TextSource& source, const std::string& name,
                                              const ReadOptions& options = {});
template <class T>
void write_matrix_market_sink(TextSink& sink, MatrixRef<T> matrix, const std::string& comment = {});

struct NpyHeader;

template <class T>
Dense<T> read_npy_source(TextSource& source, const std::string& name, NpyHeader* found = nullptr);
template <class T>
void write_npy_sink(TextSink& sink, DenseView<const T> matrix);

template <class T>
NpzFile<T> read_npz_source(TextSource& source, const std::string& name, const std::string& array = {},
                           FileRole role = FileRole::matrix);

template <class T>
void write_npz_sink(TextSink& sink, MatrixRef<T> matrix);

/// Block size for text columns, larger than usual because lines of a dense matrix are long.
inline constexpr std::size_t text_columns_block_bytes = std::size_t{1} << 22;
template <class T>
Dense<T> read_text_columns_source(TextSource& source, const std::string& name,
                                  const ReadOptions& options = {.block_bytes = text_columns_block_bytes});
template <class T>
void write_text_columns_sink(TextSink& sink, DenseView<const T> matrix, char separator = ' ');

template <class T>
MetisGraph<T> read_metis_source(TextSource& source, const std::string& name, const ReadOptions& options = {});
template <class T>
void write_metis_sink(TextSink& sink, const MetisGraph<T>& graph);

template <class T>
EdgeList<T> read_edge_list_source(TextSource& source, const std::string& name,
                                  const EdgeListOptions& meaning = {}, const ReadOptions& options = {});
template <class T>
void write_edge_list_sink(TextSink& sink, const Csr<T>& adjacency, bool directed,
                          const std::vector<std::int64_t>& labels = {});

template <class T>
PetscFile<T> read_petsc_source(TextSource& source, const std::string& name,
                               PetscScalar scalar = PetscScalar::automatic);
template <class T>
void write_petsc_sink(TextSink& sink, MatrixRef<T> matrix, const PetscOptions& options = {});

template <class T>
HarwellBoeingFile<T> read_harwell_boeing_source(TextSource& source, const std::string& name);

/// Format that the first bytes indicate, or `automatic`.
FileFormat file_format_of_content(std::string_view first_bytes);
template <class T>
MatrixFile<T> read_matrix_source(TextSource& source, const std::string& name,
                                 const ReadFileOptions& options = {});

}  // namespace echelon::io
