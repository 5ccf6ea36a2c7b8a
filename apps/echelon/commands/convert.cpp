// SPDX-License-Identifier: BSD-3-Clause
#include "arguments/command_line.hpp"
#include "arguments/input.hpp"
#include "arguments/method_options.hpp"
#include "output/files.hpp"
#include "output/json.hpp"
#include "terminal/progress_line.hpp"
#include "terminal/terminal.hpp"
#include "terminal/text.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/scalar.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace echelon::tool {

namespace {

struct Conversion {
  std::string from;
  std::string to;
  InputOptions input;
  WriteFileOptions output;
  std::string precision = "double";
  std::string labels;
  std::string right_hand_sides;
  bool sparse = false;
  bool dense = false;
  bool json = false;
  bool quiet = false;
};

struct ConversionResult {
  FileInfo file;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t nonzeros = 0;
  bool sparse = true;
  std::int64_t right_hand_sides = 0;  ///< number of right-hand sides that IN holds with the matrix
  std::int64_t lost_vertices = 0;     ///< number of isolated vertices, which an edge list cannot represent
  double read_seconds = 0;
  double write_seconds = 0;
};

void add_options(CLI::App& app, Conversion& conversion) {
  add_matrix_argument(app, "IN", conversion.from);
  add_file_option(app, "OUT", conversion.to,
                  "the file to write; gzip if the name ends in .gz; - for standard output")
      ->required();
  app.add_option_function<std::string>(
         "--to", [&](const std::string& name) { conversion.output.format = parse_file_format(name); },
         "the format of OUT, if its name does not tell; - is Matrix Market by default")
      ->type_name("FORMAT");
  app.add_option("--precision", conversion.precision, "double by default")->type_name("double|float");
  auto* const sparse =
      app.add_flag("--sparse", conversion.sparse, "write a sparse matrix, of the nonzero elements");
  app.add_flag("--dense", conversion.dense, "write a dense matrix")->excludes(sparse);
  app.add_option_function<std::string>(
         "--dense-limit",
         [&](const std::string& text) {
           constexpr double most_gib = 1 << 20;
           conversion.output.dense_limit =
               static_cast<std::size_t>(parse_number("--dense-limit", text, most_gib) * (1 << 30));
         },
         "the largest size of a sparse matrix after conversion to dense; default 1")
      ->type_name("GIB");
  app.add_option("--index-bits", conversion.output.petsc.index_bits,
                 "width of the indices in a PETSc file; 32 by default")
      ->type_name("32|64");
  add_file_option(app, "--labels", conversion.labels,
                  "write the vertex numbers of an edge list, one a line, in the order of the rows");
  add_file_option(app, "--rhs", conversion.right_hand_sides, "write the right-hand sides in IN");
  app.add_flag("--json", conversion.json, "the summary as one line of JSON");
  app.add_flag("--quiet", conversion.quiet, "no summary, no progress, no notes");
  add_input_options(app, conversion.input);
}

/// The format that the name of OUT tells.
FileFormat format_of_name(const std::string& path) {
  if (path == "-") return FileFormat::matrix_market;
  const std::string remedy = fmt::format("give --to {}", fmt::join(file_format_names(), "|"));
  try {
    if (const std::optional<FileFormat> format = output_format_of_name(path)) return *format;
  } catch (const BadOption& error) {
    throw BadOption("--to", fmt::format("{}: name another file, or {}", error.what(), remedy));
  }
  throw BadOption("--to", fmt::format("the format of '{}' is not clear from its name: {}", path, remedy));
}

/// Finds errors in the options and output files before the matrix is read.
void check_request(Conversion& conversion) {
  WriteFileOptions& output = conversion.output;
  if (output.format == FileFormat::automatic) output.format = format_of_name(conversion.to);
  if (!is_writable(output.format)) {
    throw BadOption("--to", fmt::format("{} files can be read but not written", to_string(output.format)));
  }
  if (output.petsc.index_bits != 32 && output.petsc.index_bits != 64) {
    throw BadOption("--index-bits",
                    fmt::format("--index-bits takes 32 or 64, not {}", output.petsc.index_bits));
  }
  output.directed = conversion.input.file.edge_list.directed;
  check_dense_format({"--rhs", conversion.right_hand_sides});
  check_files(
      {conversion.from},
      {{"OUT", conversion.to}, {"--labels", conversion.labels}, {"--rhs", conversion.right_hand_sides}});
}

template <class T>
Matrix<T> in_storage(Matrix<T> matrix, const Conversion& conversion) {
  const MatrixRef<T> A(matrix);
  if (conversion.sparse && !A.is_sparse()) return to_csr(A);
  if (!conversion.dense || !A.is_sparse()) return matrix;
  const double bytes = static_cast<double>(A.rows()) * static_cast<double>(A.columns()) * sizeof(T);
  if (bytes > static_cast<double>(conversion.output.dense_limit)) {
    throw InvalidMatrix(
        fmt::format("{}: a dense {} by {} matrix takes {:.3g} GiB; the limit (--dense-limit) is {}",
                    input_name(conversion.from), A.rows(), A.columns(), bytes / (1 << 30),
                    byte_count(conversion.output.dense_limit)));
  }
  return to_dense(A);
}

/// The number of vertices that have no edge.
template <class T>
std::int64_t vertices_without_edge(const MatrixRef<T>& matrix) {
  const Csr<T> A = to_csr(matrix);
  std::vector<bool> has_edge(static_cast<std::size_t>(std::max(A.rows(), A.columns())));
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    if (A.row_offsets()[i + 1] > A.row_offsets()[i]) has_edge[static_cast<std::size_t>(i)] = true;
  }
  for (const std::int32_t column : A.column_indices().span())
    has_edge[static_cast<std::size_t>(column)] = true;
  return std::count(has_edge.begin(), has_edge.end(), false);
}

void write_labels(const std::string& path, const std::vector<std::int64_t>& labels) {
  std::string text;
  for (const std::int64_t label : labels) text += fmt::format("{}\n", label);
  write_text(path, text);
}

template <class T>
void write_extras(const Conversion& conversion, const MatrixFile<T>& file) {
  if (!conversion.labels.empty()) {
    if (file.info.format != FileFormat::edge_list) {
      throw BadOption("--labels", fmt::format("{} is not an edge list: its vertices have no labels",
                                              input_name(conversion.from)));
    }
    write_labels(conversion.labels, file.labels);
  }
  if (!conversion.right_hand_sides.empty()) {
    if (file.right_hand_sides.columns() == 0) {
      throw BadOption("--rhs", fmt::format("{} contains no right-hand sides", input_name(conversion.from)));
    }
    write_dense<T>(conversion.right_hand_sides, file.right_hand_sides,
                   "right-hand sides of " + input_name(conversion.from));
  }
}

/// Writes a matrix that has been read.
template <class T>
ConversionResult write_converted(Conversion conversion, MatrixFile<T> file, ProgressLine& progress) {
  ConversionResult result;
  file.matrix = in_storage<T>(std::move(file.matrix), conversion);
  const MatrixRef<T> A(file.matrix);
  result.file = file.info;
  result.rows = A.rows();
  result.columns = A.columns();
  result.nonzeros = A.nonzeros();
  result.sparse = A.is_sparse();
  result.right_hand_sides = file.right_hand_sides.columns();

  progress.announce("writing " + output_name(conversion.to));
  const Stopwatch writing;
  conversion.output.labels = file.labels;
  conversion.output.petsc.scalar = std::is_same_v<T, float> ? PetscScalar::real32 : PetscScalar::real64;
  write_extras(conversion, file);
  try {
    write_file(conversion.to, [&](const std::string& path) { write_matrix<T>(path, A, conversion.output); });
  } catch (const InvalidMatrix& e) {
    throw InvalidMatrix(fmt::format("{} cannot be written as {}: {}", input_name(conversion.from),
                                    to_string(conversion.output.format), e.what()));
  }
  if constexpr (!is_complex<T>) {
    if (conversion.output.format == FileFormat::edge_list) result.lost_vertices = vertices_without_edge(A);
  }
  result.write_seconds = writing.seconds();
  return result;
}

ConversionResult convert(const Conversion& conversion) {
  ProgressLine progress(conversion.quiet);
  progress.announce("reading " + input_name(conversion.from));
  const Stopwatch reading;
  const auto convert_read = [&](auto file) {
    const double seconds = reading.seconds();
    ConversionResult result = write_converted(conversion, std::move(file), progress);
    result.read_seconds = seconds;
    return result;
  };
  if (scalar_of(conversion.precision) == Scalar::float32)
    return convert_read(read_input<float>(conversion.from, conversion.input));
  return std::visit([&](auto&& file) { return convert_read(std::forward<decltype(file)>(file)); },
                    read_any_input(conversion.from, conversion.input));
}

void print_notes(const Conversion& conversion, const ConversionResult& result) {
  if (result.right_hand_sides > 0 && conversion.right_hand_sides.empty()) {
    print_note(fmt::format("{} also contains {} right-hand sides; --rhs FILE writes them",
                           input_name(conversion.from), grouped(result.right_hand_sides)));
  }
  if (result.lost_vertices > 0) {
    print_note(
        fmt::format("{} vertices have no edge and are lost in an edge list", grouped(result.lost_vertices)));
  }
}

std::string convert_text(const Conversion& conversion, const ConversionResult& result) {
  return fmt::format("{} ({}) -> {} ({}): {} x {}, {} {}{}\n", input_name(conversion.from),
                     to_string(result.file.format), output_name(conversion.to),
                     to_string(conversion.output.format), grouped(result.rows), grouped(result.columns),
                     grouped(result.nonzeros), result.sparse ? "nonzeros" : "elements",
                     conversion.input.as.empty() ? "" : ", " + conversion.input.as);
}

Json convert_json(const Conversion& conversion, const ConversionResult& result) {
  return {{"input",
           {{"file", conversion.from},
            {"file_format", to_string(result.file.format)},
            {"format", result.file.coordinate ? "coordinate" : "array"},
            {"field", result.file.field},
            {"symmetry", result.file.symmetry},
            {"rows", result.file.rows},
            {"columns", result.file.columns},
            {"stored_entries", result.file.stored_entries},
            {"duplicate_entries", result.file.duplicate_entries},
            {"right_hand_sides", result.right_hand_sides}}},
          {"output", {{"file", conversion.to}, {"file_format", to_string(conversion.output.format)}}},
          {"as", conversion.input.as.empty() ? Json(nullptr) : Json(conversion.input.as)},
          {"precision", conversion.precision},
          {"rows", result.rows},
          {"columns", result.columns},
          {"nonzeros", result.nonzeros},
          {"sparse", result.sparse},
          {"lost_vertices", result.lost_vertices},
          {"read_seconds", result.read_seconds},
          {"write_seconds", result.write_seconds}};
}

}  // namespace

ExitCode run_convert(const Arguments& arguments) {
  Conversion conversion;
  CLI::App app("Reads a matrix or graph in one format and writes it in another.", "echelon convert");
  set_style(app);
  add_options(app, conversion);
  app.footer("Example: echelon convert web.edges.gz web.mtx --as laplacian");
  if (!parse(app, arguments)) return exit_solved;
  check_request(conversion);
  const ConversionResult result = convert(conversion);
  if (!conversion.quiet) print_notes(conversion, result);
  if (conversion.json) {
    print_json(convert_json(conversion, result));
  } else if (!conversion.quiet) {
    print_report(convert_text(conversion, result));
  }
  return exit_solved;
}

}  // namespace echelon::tool
