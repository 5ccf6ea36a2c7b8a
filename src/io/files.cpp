// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "io/numpy/npy_reader.hpp"
#include "io/support/complex_numbers.hpp"
#include "io/support/host_matrix.hpp"
#include "io/support/output_file.hpp"
#include "io/support/sources.hpp"
#include "io/text/content.hpp"
#include "io/text/line_blocks.hpp"
#include "io/text/numbers.hpp"
#include "support/text.hpp"

#include <echelon/error.hpp>
#include <echelon/io/npy.hpp>
#include <echelon/io/npz.hpp>
#include <echelon/matrix/complex.hpp>
#include <echelon/matrix/scalar.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <algorithm>
#include <array>
#include <complex>
#include <utility>
#include <variant>

namespace echelon {

namespace {

struct FormatName {
  FileFormat format;
  std::string_view name;
  std::vector<std::string_view> endings;
};

const std::vector<FormatName>& format_names() {
  static const std::vector<FormatName> names = {
      {FileFormat::matrix_market, "matrix-market", {".mtx", ".mm"}},
      {FileFormat::npy, "npy", {".npy"}},
      {FileFormat::npz, "npz", {".npz"}},
      {FileFormat::metis, "metis", {".graph", ".metis"}},
      {FileFormat::edge_list, "edge-list", {".edges", ".edgelist", ".el"}},
      {FileFormat::petsc, "petsc", {".petsc"}},
      {FileFormat::harwell_boeing, "harwell-boeing", {".hb", ".rb"}},
      {FileFormat::text, "text", {}},
  };
  return names;
}

/// Whether the ending is .rua, .rsa, .psa, ...: a dot and the three letters of a Harwell-Boeing type.
bool is_harwell_boeing_type(std::string_view ending) {
  constexpr std::array<std::string_view, 3> letters = {"rcpi", "usrzh", "ae"};
  if (ending.size() != 4) return false;
  for (std::size_t k = 0; k < letters.size(); ++k) {
    if (letters.at(k).find(ending[k + 1]) == std::string_view::npos) return false;
  }
  return true;
}

/// Endings of text columns on writing; on reading they have several uses.
constexpr std::array<std::string_view, 4> text_endings = {".txt", ".csv", ".tsv", ".dat"};

/// The ending of a name in lower case, ".gz" ignored, with its dot; empty without one.
std::string ending_of(const std::string& path) {
  std::string name = io::lower_case(path.substr(path.rfind('/') + 1));
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? std::string() : name.substr(dot);
}

/// Endings of the formats that are written.
std::vector<std::string_view> output_endings() {
  std::vector<std::string_view> endings;
  for (const FormatName& entry : format_names()) {
    if (is_writable(entry.format)) endings.insert(endings.end(), entry.endings.begin(), entry.endings.end());
  }
  endings.insert(endings.end(), text_endings.begin(), text_endings.end());
  return endings;
}

/// Separator of the numbers in a text file of this name.
char separator_of(const std::string& path) {
  const std::string ending = ending_of(path);
  return ending == ".csv" ? ',' : ending == ".tsv" ? '\t' : ' ';
}

}  // namespace

std::string_view to_string(FileFormat format) {
  for (const FormatName& entry : format_names()) {
    if (entry.format == format) return entry.name;
  }
  return "automatic";
}

std::vector<std::string> file_format_names() {
  std::vector<std::string> names;
  for (const FormatName& entry : format_names()) names.emplace_back(entry.name);
  return names;
}

FileFormat parse_file_format(const std::string& name) {
  for (const FormatName& entry : format_names()) {
    if (entry.name == name) return entry.format;
  }
  throw BadOption(
      name,
      fmt::format("there is no file format '{}'; there are {}", name, fmt::join(file_format_names(), ", ")),
      nearest_name(name, file_format_names()));
}

bool is_writable(FileFormat format) {
  return format != FileFormat::harwell_boeing;
}

std::optional<FileFormat> file_format_of_name(const std::string& path) {
  const std::string ending = ending_of(path);
  for (const FormatName& entry : format_names()) {
    if (std::find(entry.endings.begin(), entry.endings.end(), ending) != entry.endings.end())
      return entry.format;
  }
  if (is_harwell_boeing_type(ending)) return FileFormat::harwell_boeing;
  return std::nullopt;
}

std::optional<FileFormat> output_format_of_name(const std::string& path) {
  const std::string ending = ending_of(path);
  if (ending.empty()) return std::nullopt;
  if (std::find(text_endings.begin(), text_endings.end(), ending) != text_endings.end())
    return FileFormat::text;
  if (const std::optional<FileFormat> format = file_format_of_name(path)) return format;
  throw BadOption("format", fmt::format("'{}' cannot be written: {} is the ending of a format that Echelon "
                                        "does not write; it writes {}, and Matrix Market under a name "
                                        "without an ending",
                                        path, ending, fmt::join(output_endings(), ", ")));
}

namespace io {

FileFormat file_format_of_content(std::string_view first_bytes) {
  using namespace std::string_view_literals;
  if (first_bytes.starts_with("\x93NUMPY")) return FileFormat::npy;
  if (first_bytes.starts_with("PK\3\4") || first_bytes.starts_with("PK\5\6")) return FileFormat::npz;
  if (lower_case(first_bytes.substr(0, 14)) == "%%matrixmarket") return FileFormat::matrix_market;
  if (first_bytes.starts_with("\0\0\0\0"sv))
    first_bytes.remove_prefix(4);  // first half of a 64-bit identifier
  for (const std::string_view id : {"\0\x12\x7b\x50"sv, "\0\x12\x7b\x4e"sv}) {
    if (first_bytes.starts_with(id)) return FileFormat::petsc;
  }
  return FileFormat::automatic;
}

namespace {

constexpr std::size_t sample_bytes = std::size_t{1} << 16;

/// The first bytes of the source, which is rewound afterwards.
std::string first_bytes(TextSource& source, const std::string& name) {
  std::string first(sample_bytes, '\0');
  try {
    std::size_t size = 0;
    while (const std::size_t count = source.read(first.data() + size, first.size() - size)) size += count;
    first.resize(size);
    source.rewind();
  } catch (const SourceFailure& failure) {
    throw ParseError(name, 0, 0, failure.what());
  }
  return first;
}

/// Whole lines of a sample, or whole fields where a single line is longer than the sample.
std::string_view whole_lines(std::string_view sample) {
  if (sample.size() < sample_bytes) return sample;
  const std::size_t line_end = sample.rfind('\n');
  return sample.substr(0, line_end != std::string_view::npos ? line_end : sample.find_last_of(" \t,;"));
}

/// The format of plain text whose name tells nothing; `automatic` where it fits none.
FileFormat format_of_text(std::string_view lines, FileRole role, const std::string& name) {
  const TextContent content = text_content(lines);
  if (content == TextContent::neither) return FileFormat::automatic;
  if (content == TextContent::columns || role == FileRole::right_hand_side) return FileFormat::text;
  if (content == TextContent::ragged) return FileFormat::automatic;
  if (content == TextContent::edges) return FileFormat::edge_list;
  if (content == TextContent::columns_or_edges && role == FileRole::graph) return FileFormat::edge_list;
  throw ParseError(
      name, 1, 1,
      "lines of two or three numbers may be an edge list or columns of a matrix: name the format with --from "
      "(ReadFileOptions::format): edge-list or text");
}

FileFormat find_format(TextSource& source, const std::string& name, FileRole role) {
  std::string first = first_bytes(source, name);
  FileFormat format = file_format_of_content(first);
  if (format != FileFormat::automatic) return format;
  if (const auto of_name = file_format_of_name(name)) return *of_name;
  unify_line_ends(first, 0, true);
  format = format_of_text(whole_lines(first), role, name);
  if (format != FileFormat::automatic) return format;
  throw ParseError(name, 1, 1,
                   fmt::format("neither its content nor its name tells its format: name one with --from "
                               "(ReadFileOptions::format): {}",
                               fmt::join(file_format_names(), ", ")));
}

template <class T>
FileInfo describe(FileFormat format, const MatrixRef<T>& matrix) {
  FileInfo info;
  info.format = format;
  info.coordinate = matrix.is_sparse();
  info.rows = matrix.rows();
  info.columns = matrix.columns();
  info.stored_entries = matrix.nonzeros();
  return info;
}

template <class T>
MatrixFile<T> from_matrix_market(TextSource& source, const std::string& name) {
  MatrixMarketFile<T> file = read_matrix_market_source<T>(source, name);
  MatrixFile<T> result;
  const MatrixMarketInfo& info = file.info;
  result.info = {.format = FileFormat::matrix_market,
                 .coordinate = info.coordinate,
                 .field = info.field,
                 .symmetry = info.symmetry,
                 .rows = info.rows,
                 .columns = info.columns,
                 .stored_entries = info.stored_entries,
                 .duplicate_entries = info.duplicate_entries};
  result.matrix = std::move(file.matrix);
  return result;
}

template <class T>
MatrixFile<T> from_npy(TextSource& source, const std::string& name) {
  MatrixFile<T> result;
  NpyHeader header;
  result.matrix = read_npy_source<T>(source, name, &header);
  result.info = describe(FileFormat::npy, MatrixRef<T>(result.matrix));
  if (header.kind != 'f') result.info.field = header.kind == 'c' ? "complex" : "integer";
  return result;
}

template <class T>
MatrixFile<T> from_npz(TextSource& source, const std::string& name, const ReadFileOptions& options) {
  NpzFile<T> file = read_npz_source<T>(source, name, options.array, options.role);
  MatrixFile<T> result;
  result.matrix = std::move(file.matrix);
  result.right_hand_sides = std::move(file.right_hand_sides);
  result.info = describe(FileFormat::npz, MatrixRef<T>(result.matrix));
  if (file.integer) result.info.field = "integer";
  if (file.complex) result.info.field = "complex";
  result.info.stored_entries = file.stored_entries;
  result.info.duplicate_entries = file.duplicate_entries;
  return result;
}

template <class T>
MatrixFile<T> from_text(TextSource& source, const std::string& name) {
  MatrixFile<T> result;
  result.matrix = read_text_columns_source<T>(source, name);
  result.info = describe(FileFormat::text, MatrixRef<T>(result.matrix));
  return result;
}

template <class T>
MatrixFile<T> from_metis(TextSource& source, const std::string& name) {
  MetisGraph<T> graph = read_metis_source<T>(source, name);
  MatrixFile<T> result;
  result.matrix = std::move(graph.adjacency);
  result.info = describe(FileFormat::metis, MatrixRef<T>(result.matrix));
  result.info.field = graph.weighted ? "real" : "pattern";
  result.info.symmetry = "symmetric";
  result.info.stored_entries /= 2;
  return result;
}

template <class T>
MatrixFile<T> from_edge_list(TextSource& source, const std::string& name, const EdgeListOptions& options) {
  EdgeList<T> list = read_edge_list_source<T>(source, name, options, {.threads = options.threads});
  MatrixFile<T> result;
  result.matrix = std::move(list.adjacency);
  result.labels = std::move(list.labels);
  result.info = describe(FileFormat::edge_list, MatrixRef<T>(result.matrix));
  result.info.field = list.weighted ? "real" : "pattern";
  result.info.symmetry = options.directed ? "general" : "symmetric";
  result.info.stored_entries = list.edges;
  result.info.duplicate_entries = list.duplicate_edges;
  return result;
}

template <class T>
MatrixFile<T> from_petsc(TextSource& source, const std::string& name, PetscScalar scalar) {
  PetscFile<T> file = read_petsc_source<T>(source, name, scalar);
  MatrixFile<T> result;
  result.matrix = std::move(file.matrix);
  result.right_hand_sides = std::move(file.vectors);
  result.info = describe(FileFormat::petsc, MatrixRef<T>(result.matrix));
  result.info.stored_entries += file.duplicate_entries;
  result.info.duplicate_entries = file.duplicate_entries;
  if (file.complex) result.info.field = "complex";
  return result;
}

template <class T>
MatrixFile<T> from_harwell_boeing(TextSource& source, const std::string& name) {
  HarwellBoeingFile<T> file = read_harwell_boeing_source<T>(source, name);
  MatrixFile<T> result;
  result.matrix = std::move(file.matrix);
  result.info = std::move(file.info);
  result.right_hand_sides = std::move(file.right_hand_sides);
  return result;
}

/// Reads a file of a format that has real numbers only.
template <class T>
MatrixFile<T> from_real_format(FileFormat format, TextSource& source, const std::string& name,
                               const ReadFileOptions& options) {
  switch (format) {
    case FileFormat::text:
      return from_text<T>(source, name);
    case FileFormat::metis:
      return from_metis<T>(source, name);
    default:
      return from_edge_list<T>(source, name, options.edge_list);
  }
}

template <class R>
MatrixFile<std::complex<R>> to_complex(MatrixFile<R> file) {
  MatrixFile<std::complex<R>> result;
  std::visit([&](auto& matrix) { result.matrix = echelon::to_complex(matrix); }, file.matrix);
  result.info = std::move(file.info);
  if (file.right_hand_sides.columns() > 0)
    result.right_hand_sides = echelon::to_complex(file.right_hand_sides);
  result.labels = std::move(file.labels);
  return result;
}

/// The sparse matrix as a dense one, for formats that store all elements.
template <class T>
Dense<T> densified(const MatrixRef<T>& matrix, std::size_t limit) {
  const double bytes = static_cast<double>(matrix.rows()) * static_cast<double>(matrix.columns()) * sizeof(T);
  if (bytes > static_cast<double>(limit)) {
    throw InvalidMatrix(
        fmt::format("a {} by {} sparse matrix takes {:.3g} GiB when all elements are stored; the limit is {}",
                    matrix.rows(), matrix.columns(), bytes / (1 << 30), byte_count(limit)));
  }
  return to_dense(matrix);
}

template <class T>
Csr<T> sparse_on_host(MatrixRef<T> matrix) {
  return to_csr(matrix).to(Device());
}

/// Writes a file of a format that holds real numbers only.
template <class T>
void write_real_format(const std::string& path, FileFormat format, const MatrixRef<T>& matrix,
                       const WriteFileOptions& options) {
  switch (format) {
    case FileFormat::text:
      if (!matrix.is_sparse()) return write_text_columns<T>(path, matrix.dense(), separator_of(path));
      return write_text_columns<T>(path, densified(matrix, options.dense_limit), separator_of(path));
    case FileFormat::metis: {
      MetisGraph<T> graph;
      graph.adjacency = sparse_on_host(matrix);
      return write_metis(path, graph);
    }
    default:
      return write_edge_list(path, sparse_on_host(matrix), options.directed, options.labels);
  }
}

}  // namespace

template <class T>
MatrixFile<T> read_matrix_source(TextSource& source, const std::string& name,
                                 const ReadFileOptions& options) {
  const FileFormat format =
      options.format == FileFormat::automatic ? find_format(source, name, options.role) : options.format;
  switch (format) {
    case FileFormat::npy:
      return from_npy<T>(source, name);
    case FileFormat::npz:
      return from_npz<T>(source, name, options);
    case FileFormat::matrix_market:
      return from_matrix_market<T>(source, name);
    case FileFormat::petsc:
      return from_petsc<T>(source, name, options.petsc_scalar);
    case FileFormat::harwell_boeing:
      return from_harwell_boeing<T>(source, name);
    default:
      if constexpr (is_complex<T>) {
        return to_complex(from_real_format<Real<T>>(format, source, name, options));
      } else {
        return from_real_format<T>(format, source, name, options);
      }
  }
}

#define ECHELON_INSTANTIATE(T) \
  template MatrixFile<T> read_matrix_source(TextSource&, const std::string&, const ReadFileOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace io

template <class T>
MatrixFile<T> read_matrix_file(const std::string& path, const ReadFileOptions& options) {
  return at_api_boundary([&] { return io::read_matrix_source<T>(*io::open_text(path), path, options); });
}

template <class T>
Matrix<T> read_matrix(const std::string& path, FileFormat format) {
  ReadFileOptions options;
  options.format = format;
  return read_matrix_file<T>(path, options).matrix;
}

template <class T>
void write_matrix(const std::string& path, MatrixRef<T> matrix, const WriteFileOptions& options) {
  FileFormat format = options.format;
  if (format == FileFormat::automatic)
    format = output_format_of_name(path).value_or(FileFormat::matrix_market);
  if (!is_writable(format)) {
    throw BadOption("format", fmt::format("{} files can be read but not written", to_string(format)));
  }
  if (format == FileFormat::matrix_market) return write_matrix_market(path, matrix);
  if (format == FileFormat::npz) return write_npz(path, matrix);
  if (format == FileFormat::petsc) return write_petsc(path, matrix, options.petsc);
  if (format == FileFormat::npy) {
    if (!matrix.is_sparse()) return write_npy<T>(path, matrix.dense());
    return write_npy<T>(path, io::densified(matrix, options.dense_limit));
  }
  if constexpr (is_complex<T>) {
    throw InvalidMatrix(fmt::format(
        "'{}': {} files hold real numbers; complex ones are written as matrix-market, npy, npz and petsc",
        path, to_string(format)));
  } else {
    io::write_real_format<T>(path, format, matrix, options);
  }
}

AnyMatrixFile read_any_matrix_file(const std::string& path, const ReadFileOptions& options) {
  return at_api_boundary([&]() -> AnyMatrixFile {
    const auto source = io::open_text(path);
    try {
      return io::read_matrix_source<double>(*source, path, options);
    } catch (const io::ComplexNumbers&) {
      source->rewind();
    }
    return io::read_matrix_source<std::complex<double>>(*source, path, options);
  });
}

void write_bytes(const std::string& path, std::string_view bytes) {
  io::write_file(path, [&](io::TextSink& file) { file.write(bytes); });
}

#define ECHELON_INSTANTIATE(T)                                                         \
  template MatrixFile<T> read_matrix_file(const std::string&, const ReadFileOptions&); \
  template Matrix<T> read_matrix(const std::string&, FileFormat);                      \
  template void write_matrix(const std::string&, MatrixRef<T>, const WriteFileOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
