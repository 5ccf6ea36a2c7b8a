// SPDX-License-Identifier: BSD-3-Clause
/// What the verbs rref, rank and invert share.
#pragma once

#include "arguments/command_line.hpp"
#include "arguments/input.hpp"
#include "output/json.hpp"
#include "terminal/terminal.hpp"

#include <echelon/error.hpp>
#include <echelon/gauss_jordan.hpp>

#include <string>
#include <utility>
#include <vector>

namespace echelon::tool {

struct EliminationRequest {
  std::string matrix;
  InputOptions input;
  std::string precision = "double";
  std::string output;
  Device device;
  GaussJordanOptions options;
  bool json = false;
  bool quiet = false;
};

/// The file's name and what goes with it, --device, --tolerance, --precision, --json and --quiet.
void add_elimination_options(CLI::App& app, EliminationRequest& request);

/// Throws what can be found wrong before the file is read.
void check_early(const EliminationRequest& request);

/// Calls f as f.template operator()<double>() or <float>(). Throws BadOption.
template <class F>
auto in_precision(const std::string& precision, F&& f) {
  if (precision == "float") return f.template operator()<float>();
  if (precision == "double") return f.template operator()<double>();
  throw BadOption("--precision", "there is no precision '" + precision + "': it is double or float");
}

template <class T>
struct DenseFile {
  FileInfo info;
  Dense<T> matrix;
  double read_seconds = 0;
};

/// Throws BadOption for a name whose format does not hold dense matrices, ParseError when it cannot be
/// written.
void check_dense_output(const std::string& option, const std::string& path);
/// Writes in the format that the name says; `comment` where it has comments.
template <class T>
void write_dense(const std::string& path, const Dense<T>& matrix, const std::string& comment);

/// The matrix in the host's memory.
template <class T>
Dense<T> on_host(Dense<T> matrix) {
  return matrix.device().on_host() ? std::move(matrix) : matrix.to(Device());
}

/// Reads a matrix and makes it dense. Throws OutOfMemory when a sparse one would take more than 80 % of the
/// memory that is available.
template <class T>
[[nodiscard]] DenseFile<T> read_dense(const EliminationRequest& request);

/// Names and values that every verb tells: the file, the device, the status and the rank.
[[nodiscard]] Json elimination_json(const EliminationRequest& request, const FileInfo& info,
                                    const Report& report);
[[nodiscard]] Json rank_json(const RankFacts& facts);
[[nodiscard]] std::vector<Row> elimination_rows(const EliminationRequest& request, const FileInfo& info,
                                                const Report& report);
[[nodiscard]] std::vector<Row> rank_rows(const RankFacts& facts);

/// "Rank 3 of at most 5".
[[nodiscard]] std::string rank_verdict(const RankFacts& facts, const FileInfo& info);

}  // namespace echelon::tool
