// SPDX-License-Identifier: BSD-3-Clause
#include "arguments/input.hpp"

#include "arguments/command_line.hpp"
#include "output/files.hpp"
#include "terminal/terminal.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <variant>
#include <vector>

namespace echelon::tool {

namespace {

Numbering parse_numbering(const std::string& word) {
  constexpr std::array numberings = {Numbering::compact, Numbering::zero_based, Numbering::one_based};
  return numberings.at(parse_word("--numbering", word, {"compact", "zero", "one"}));
}

}  // namespace

void add_input_options(CLI::App& app, InputOptions& options) {
  const std::string group = "Options for reading the matrix";
  app.add_option_function<std::string>(
         "--from", [&](const std::string& name) { options.file.format = parse_file_format(name); },
         fmt::format("the file format: {}; by default it is recognised by content or name",
                     fmt::join(file_format_names(), ", ")))
      ->type_name("FORMAT")
      ->group(group);
  app.add_option_function<std::string>(
         "--as",
         [&](const std::string& word) {
           parse_word("--as", word, {"laplacian", "adjacency"});
           options.as = word;
         },
         "laplacian: take the Laplacian of the graph whose adjacency matrix is read; adjacency: take the "
         "magnitudes of the off-diagonal elements")
      ->type_name("laplacian|adjacency")
      ->group(group);
  app.add_flag("--symmetrise", options.laplacian.symmetrise,
               "with --as laplacian: symmetrise A first, (A + A^T) / 2")
      ->group(group);
  app.add_flag("--negative-weights", options.laplacian.negative_weights,
               "with --as laplacian: allow negative weights")
      ->group(group);
  app.add_flag("--directed", options.file.edge_list.directed,
               "an edge u v of an edge list is the element (u, v) only, not (v, u) as well")
      ->group(group);
  app.add_option_function<std::string>(
         "--numbering",
         [&](const std::string& word) { options.file.edge_list.numbering = parse_numbering(word); },
         "vertices of an edge list: compact (default) renumbers those that occur; zero, one: vertex numbers "
         "are row "
         "numbers from 0 or 1")
      ->type_name("compact|zero|one")
      ->group(group);
}

void add_matrix_argument(CLI::App& app, const std::string& name, std::string& path) {
  add_file_option(
      app, name, path,
      "the matrix: Matrix Market, .npy, .npz, METIS graph, edge list, PETSc binary, Harwell-Boeing or "
      "columns of text, plain or gzip; - for standard input")
      ->required();
}

std::string input_path(const std::string& path) {
  return path == "-" ? "/dev/stdin" : path;
}

namespace {

/// Applies --as.
template <class T>
void apply_as(const InputOptions& options, MatrixFile<T>& file) {
  if (options.as.empty()) return;
  const Csr<T> matrix = std::holds_alternative<Csr<T>>(file.matrix) ? std::get<Csr<T>>(std::move(file.matrix))
                                                                    : to_csr(MatrixRef<T>(file.matrix));
  file.matrix = options.as == "laplacian" ? laplacian(matrix, options.laplacian) : adjacency(matrix);
}

ReadFileOptions file_options(const InputOptions& options) {
  ReadFileOptions result = options.file;
  if (!options.as.empty()) result.role = FileRole::graph;
  return result;
}

/// The right-hand sides of a file if it has any, else its matrix.
template <class T>
Dense<T> vectors_of(MatrixFile<T>&& file) {
  if (file.right_hand_sides.columns() > 0) return std::move(file.right_hand_sides);
  return to_dense(MatrixRef<T>(file.matrix));
}

/// Calls read(path, options) for the file of right-hand sides.
template <class Read>
auto read_vectors_by(const std::string& path, const Read& read) {
  ReadFileOptions options;
  options.role = FileRole::right_hand_side;
  try {
    return read(input_path(path), options);
  } catch (const ParseError& e) {
    if (path != "-") throw;
    throw ParseError(input_name(path), e.line(), e.column(), reason_of(e));
  }
}

}  // namespace

template <class T>
MatrixFile<T> read_input(const std::string& path, const InputOptions& options) {
  MatrixFile<T> file = read_matrix_file<T>(input_path(path), file_options(options));
  apply_as(options, file);
  return file;
}

AnyMatrixFile read_any_input(const std::string& path, const InputOptions& options) {
  if (!options.as.empty()) return read_input<double>(path, options);
  return read_any_matrix_file(input_path(path), file_options(options));
}

template <class T>
Dense<T> read_vectors(const std::string& path) {
  return read_vectors_by(path, [](const std::string& file, const ReadFileOptions& options) {
    return vectors_of(read_matrix_file<T>(file, options));
  });
}

std::variant<Dense<double>, Dense<std::complex<double>>> read_any_vectors(const std::string& path) {
  using Vectors = std::variant<Dense<double>, Dense<std::complex<double>>>;
  return read_vectors_by(path, [](const std::string& file, const ReadFileOptions& options) {
    return std::visit(
        [](auto&& found) -> Vectors { return vectors_of(std::forward<decltype(found)>(found)); },
        read_any_matrix_file(file, options));
  });
}

template Dense<float> read_vectors(const std::string&);
template Dense<double> read_vectors(const std::string&);
template Dense<std::complex<double>> read_vectors(const std::string&);
template MatrixFile<float> read_input(const std::string&, const InputOptions&);
template MatrixFile<double> read_input(const std::string&, const InputOptions&);

}  // namespace echelon::tool
