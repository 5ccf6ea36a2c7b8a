// SPDX-License-Identifier: BSD-3-Clause
/// Options, input and reports shared by factor, rref, rank and invert.
#pragma once

#include "arguments/command_line.hpp"
#include "arguments/input.hpp"
#include "arguments/method_options.hpp"
#include "output/files.hpp"
#include "output/json.hpp"
#include "output/pages.hpp"
#include "terminal/text.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/scalar.hpp>
#include <echelon/rref.hpp>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace echelon::tool {

struct EliminationRequest {
  std::string matrix;
  InputOptions input;
  std::string precision = "double";  ///< that of --precision; "complex double" once such a file was read
  std::string output;
  std::string page;
  std::string command;  ///< that repeats the work, for the page
  Device device;
  GaussJordanOptions options;
  bool json = false;
  bool quiet = false;
};

/// Adds the matrix and its input options, --device, --precision, --json and --quiet.
void add_common_options(CLI::App& app, EliminationRequest& request);
/// Adds these and --tolerance.
void add_elimination_options(CLI::App& app, EliminationRequest& request);

/// Finds errors in the options and in the output files, of dense matrices and others, before the file is
/// read.
void check_request(const EliminationRequest& request, const std::vector<OutputOption>& matrices,
                   const std::vector<OutputOption>& others = {});

template <class T>
struct DenseFile {
  FileInfo info;
  Dense<T> matrix;
};

/// The matrix in host memory, copied there if necessary.
template <class T>
Dense<T> on_host(Dense<T> matrix) {
  return matrix.device().on_host() ? std::move(matrix) : matrix.to(Device());
}

/// Makes a matrix dense. Throws OutOfMemory when a sparse one would take
/// more than 80 % of the memory that is available.
template <class T>
[[nodiscard]] DenseFile<T> as_dense(const EliminationRequest& request, MatrixFile<T>&& file);

/// Reads the matrix of a request, and calls f with it: a MatrixFile of float for that --precision, else one
/// of the numbers that the file has. Names complex ones as the request's precision.
template <class Request, class F>
auto with_input(Request& request, const F& f) {
  if (scalar_of(request.precision) == Scalar::float32)
    return f(read_input<float>(request.matrix, request.input));
  return std::visit(
      [&]<class T>(MatrixFile<T>&& file) {
        if constexpr (is_complex<T>) request.precision = "complex double";
        return f(std::move(file));
      },
      read_any_input(request.matrix, request.input));
}

/// The part of the report that rref, rank, invert and schur share, for the file `matrix`.
[[nodiscard]] Json elimination_json(const std::string& matrix, const std::string& precision,
                                    const FileInfo& info, const Report& report);
[[nodiscard]] Json rank_json(const RankFacts& facts);
[[nodiscard]] std::vector<Row> elimination_rows(const EliminationRequest& request, const FileInfo& info,
                                                const Report& report);
[[nodiscard]] std::vector<Row> rank_rows(const RankFacts& facts);

/// `complex`: whether the matrix is, so that the value is a pair of numbers.
[[nodiscard]] Json determinant_json(const std::optional<Determinant>& determinant, bool complex);
[[nodiscard]] std::string determinant_text(const Determinant& determinant);

/// "proven", or "to working precision" for a rank that was not determined in exact arithmetic.
[[nodiscard]] const char* certainty(bool proven);
/// "Rank 3 of at most 5".
[[nodiscard]] std::string rank_text(const RankFacts& facts, const FileInfo& info);
/// rank_text() in colour, with a newline.
[[nodiscard]] std::string rank_line(const RankFacts& facts, const FileInfo& info);

}  // namespace echelon::tool
