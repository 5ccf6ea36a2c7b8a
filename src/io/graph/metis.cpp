// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "io/graph/symmetry.hpp"
#include "io/support/csr_assembly.hpp"
#include "io/support/output_file.hpp"
#include "io/support/sources.hpp"
#include "io/text/numbers.hpp"
#include "io/text/position.hpp"
#include "io/text/writer.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace echelon {

namespace io {

namespace {

struct MetisHeader {
  std::int64_t vertices = 0;
  std::int64_t edges = 0;
  bool vertex_sizes = false;
  bool edge_weights = false;
  std::int64_t constraints = 0;
  std::int64_t line = 0;

  [[nodiscard]] std::int64_t numbers_before_edges() const { return constraints + (vertex_sizes ? 1 : 0); }
};

std::int64_t parse_count(const char*& at, const char* end, const char* what, std::int64_t limit) {
  at = skip_blanks(at, end);
  const std::string_view word = word_at(at, end);
  if (word.empty()) throw Fault{at, fmt::format("the {} is missing", what)};
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(at, end, value);
  if (error != std::errc() || !ends_word(stop, end) || value < 0 || value > limit) {
    throw Fault{at, fmt::format("{} where the {}, a whole number from 0 to {}, is expected", quoted(word),
                                what, limit)};
  }
  at = stop;
  return value;
}

void parse_format(const char*& at, const char* end, MetisHeader& header) {
  at = skip_blanks(at, end);
  const std::string_view word = word_at(at, end);
  if (word.size() > 3 || word.find_first_not_of("01") != std::string_view::npos) {
    throw Fault{at, fmt::format("{} where up to three digits 0 or 1 are expected, for vertex sizes, "
                                "vertex weights and edge weights",
                                quoted(word))};
  }
  const auto digit = [&](std::size_t from_the_right) {
    return word.size() > from_the_right && word[word.size() - 1 - from_the_right] == '1';
  };
  header.edge_weights = digit(0);
  header.constraints = digit(1) ? 1 : 0;
  header.vertex_sizes = digit(2);
  at += word.size();
}

void parse_header(std::string_view line, MetisHeader& header) {
  constexpr std::int64_t most_constraints = 1 << 20;
  const char* at = line.data();
  const char* const end = at + line.size();
  header.vertices = parse_count(at, end, "number of vertices", std::numeric_limits<std::int32_t>::max());
  header.edges = parse_count(at, end, "number of edges", std::numeric_limits<std::int64_t>::max() / 2);
  parse_format(at, end, header);
  const char* const constraints_at = at = skip_blanks(at, end);
  if (at != end) {
    const std::int64_t constraints = parse_count(at, end, "number of weights per vertex", most_constraints);
    if ((constraints > 0) != (header.constraints > 0)) {
      throw Fault{constraints_at,
                  fmt::format("{} weights per vertex contradict the format before them", constraints)};
    }
    header.constraints = constraints;
  }
  at = skip_blanks(at, end);
  if (at != end) throw Fault{at, "nothing more is expected on this line"};
}

bool is_comment(std::string_view line) {
  return !line.empty() && line.front() == '%';
}

MetisHeader read_header(LineBlocks& blocks, const std::string& name) {
  MetisHeader header;
  std::string line;
  do {
    ++header.line;
    if (!blocks.next_line(line)) {
      if (blocks.failure())
        throw ParseError(name, header.line, blocks.failure()->column, blocks.failure()->reason);
      throw ParseError(name, header.line, 1, "the file ends before the line with the graph's size");
    }
  } while (is_comment(line));
  try {
    parse_header(line, header);
  } catch (const Fault& fault) {
    throw ParseError(name, header.line, fault.at - line.data() + 1, fault.reason);
  }
  return header;
}

constexpr std::int64_t blank = -1;

/// Vertices in a block of lines, up to the first fault.
template <class T>
struct Vertices {
  std::vector<std::int64_t> degrees;  ///< `blank` for an empty line
  std::vector<std::int32_t> neighbours;
  std::vector<T> weights;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> vertex_weights;
  std::optional<Fault> fault;
  std::int64_t line_ends = 0;
};

std::int32_t parse_neighbour(const char*& at, const char* end, std::int64_t vertices) {
  std::int64_t vertex = 0;
  const auto [stop, error] = std::from_chars(at, end, vertex);
  if (error != std::errc() || vertex < 1 || vertex > vertices || !ends_word(stop, end)) {
    throw Fault{at, fmt::format("{} where a neighbour, a vertex from 1 to {}, is expected",
                                quoted(word_at(at, end)), vertices)};
  }
  at = stop;
  return static_cast<std::int32_t>(vertex - 1);
}

template <class T>
T parse_edge_weight(const char*& at, const char* end) {
  at = skip_blanks(at, end);
  const char* const start = at;
  const T weight = parse_real<T>(at, end);
  if (!(weight > 0))
    throw Fault{start, fmt::format("{}: edge weights are positive", quoted(word_at(start, end)))};
  return weight;
}

/// Parses the line of one vertex, which is not blank, up to its end.
template <class T>
void parse_vertex(const char*& at, const char* end, const MetisHeader& header, Vertices<T>& vertices) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if (header.vertex_sizes) vertices.sizes.push_back(parse_count(at, end, "size of the vertex", most));
  for (std::int64_t k = 0; k < header.constraints; ++k) {
    vertices.vertex_weights.push_back(parse_count(at, end, "weight of the vertex", most));
  }
  const std::size_t before = vertices.neighbours.size();
  for (at = skip_blanks(at, end); at != end && *at != '\n'; at = skip_blanks(at, end)) {
    const std::int32_t neighbour = parse_neighbour(at, end, header.vertices);
    const T weight = header.edge_weights ? parse_edge_weight<T>(at, end) : T{1};
    vertices.neighbours.push_back(neighbour);
    vertices.weights.push_back(weight);
  }
  vertices.degrees.push_back(static_cast<std::int64_t>(vertices.neighbours.size() - before));
}

template <class T>
void parse_vertices(std::string_view text, const MetisHeader& header, Vertices<T>& vertices) {
  vertices = {};
  const char* at = text.data();
  const char* const end = at + text.size();
  try {
    while (at != end) {
      const char* const first = skip_blanks(at, end);
      if (*at == '%') {
        at = line_end(at, end);
      } else if (first == end || *first == '\n') {
        vertices.degrees.push_back(blank);
        at = first;
      } else {
        parse_vertex(at, end, header, vertices);
      }
      if (at != end) {
        ++at;
        ++vertices.line_ends;
      }
    }
  } catch (Fault& fault) {
    vertices.fault = std::move(fault);
  }
}

/// The line of the k-th vertex of the text that follows the header.
const char* vertex_line(std::string_view text, std::int64_t k) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (; at != end; ++at) {
    if (*at != '%' && k-- == 0) return at;
    at = line_end(at, end);
    if (at == end) break;
  }
  return end;
}

template <class T>
class MetisReader {
 public:
  MetisReader(TextSource& source, std::string name, const ReadOptions& options)
      : source_(source),
        name_(std::move(name)),
        options_(options),
        threads_(reading_threads(source, options)) {}

  MetisGraph<T> read() {
    LineBlocks blocks(source_, options_.block_bytes);
    header_ = read_header(blocks, name_);
    TextPosition position(name_, header_.line + 1);
    for_each_block<Vertices<T>>(
        blocks, threads_,
        [this](std::string_view text, Vertices<T>& vertices) { parse_vertices(text, header_, vertices); },
        [&](std::string_view text, Vertices<T>& vertices) {
          keep(vertices, check(text, vertices, position));
          position.pass(text, vertices.line_ends);
        });
    position.finish(blocks);
    if (seen_ < header_.vertices) {
      position.fail(
          fmt::format("the file ends after {} of the {} vertices that line {} announces; is it cut off?",
                      seen_, header_.vertices, header_.line));
    }
    if (entries_ != 2 * header_.edges) {
      throw ParseError(name_, header_.line, 1,
                       fmt::format("{} edges are announced, which take {} neighbours; there are {}",
                                   header_.edges, 2 * header_.edges, entries_));
    }
    return assemble();
  }

 private:
  /// Throws ParseError for the first fault of the block; otherwise returns how many of its lines are
  /// vertices. Blank lines may follow the last vertex.
  std::int64_t check(std::string_view text, const Vertices<T>& vertices, const TextPosition& position) const {
    const auto count = static_cast<std::int64_t>(vertices.degrees.size());
    const std::int64_t due = std::min(count, header_.vertices - seen_);
    const auto vertices_end = vertices.degrees.begin() + due;
    const auto first_blank = std::find(vertices.degrees.begin(), vertices_end, blank);
    if (header_.numbers_before_edges() > 0 && first_blank != vertices_end) {
      position.fail(text, vertex_line(text, first_blank - vertices.degrees.begin()),
                    "the weight or size of the vertex is missing");
    }
    std::int64_t extra = due;
    while (extra < count && vertices.degrees[static_cast<std::size_t>(extra)] == blank) ++extra;
    if (extra < count || (vertices.fault && seen_ + count >= header_.vertices)) {
      position.fail(text, vertex_line(text, extra),
                    fmt::format("more lines than the {} vertices that line {} announces", header_.vertices,
                                header_.line));
    }
    if (vertices.fault) position.fail(text, vertices.fault->at, vertices.fault->reason);
    return due;
  }

  /// Copies a block without spare capacity, since it is kept until the whole file is read.
  void keep(const Vertices<T>& vertices, std::int64_t due) {
    seen_ += due;
    entries_ += static_cast<std::int64_t>(vertices.neighbours.size());
    sizes_.insert(sizes_.end(), vertices.sizes.begin(), vertices.sizes.end());
    weights_.insert(weights_.end(), vertices.vertex_weights.begin(), vertices.vertex_weights.end());
    Vertices<T> block;
    block.degrees.assign(vertices.degrees.begin(), vertices.degrees.begin() + due);
    std::replace(block.degrees.begin(), block.degrees.end(), blank, std::int64_t{0});
    block.neighbours.assign(vertices.neighbours.begin(), vertices.neighbours.end());
    block.weights.assign(vertices.weights.begin(), vertices.weights.end());
    blocks_.push_back(std::move(block));
  }

  MetisGraph<T> assemble() {
    const Device host;
    Array<std::int64_t> offsets(host, header_.vertices + 1);
    Array<std::int32_t> neighbours(host, entries_);
    Array<T> weights(host, entries_);
    std::int64_t row = 0;
    offsets[0] = 0;
    for (Vertices<T>& block : blocks_) {
      const std::int64_t begin = offsets[row];
      for (const std::int64_t degree : block.degrees) {
        offsets[row + 1] = offsets[row] + degree;
        ++row;
      }
      std::copy(block.neighbours.begin(), block.neighbours.end(), neighbours.data() + begin);
      std::copy(block.weights.begin(), block.weights.end(), weights.data() + begin);
      block = {};
    }
    CsrAssembly<T> assembly(header_.vertices, std::move(offsets), std::move(neighbours), std::move(weights));
    const bool repeated = assembly.sort_rows(threads_);
    MetisGraph<T> graph;
    graph.adjacency = std::move(assembly).finish();
    check_edges(graph.adjacency, repeated);
    graph.weighted = header_.edge_weights;
    graph.constraints = header_.constraints;
    graph.vertex_weights = std::move(weights_);
    graph.vertex_sizes = std::move(sizes_);
    return graph;
  }

  void check_edges(const Csr<T>& adjacency, bool repeated) {
    for (std::int64_t i = 0; i < adjacency.rows(); ++i) {
      const std::int32_t* const begin = adjacency.column_indices().data() + adjacency.row_offsets()[i];
      const std::int32_t* const end = adjacency.column_indices().data() + adjacency.row_offsets()[i + 1];
      if (std::binary_search(begin, end, i)) fail_at_vertex(i, "a loop, an edge from the vertex to itself");
      const std::int32_t* const twice = repeated ? std::adjacent_find(begin, end) : end;
      if (twice != end) fail_at_vertex(i, fmt::format("the neighbour {} is given twice", *twice + 1));
    }
    if (const auto found = find_asymmetry(adjacency)) {
      fail_at_vertex(found->row, fmt::format("the edge to {} is not given from there{}", found->column + 1,
                                             found->missing ? "" : " with the same weight"));
    }
  }

  /// Throws the ParseError for a fault at a vertex, whose line a second pass over the text finds.
  [[noreturn]] void fail_at_vertex(std::int64_t vertex, const std::string& reason) {
    LineBlocks blocks(source_, options_.block_bytes);
    std::string line;
    std::int64_t number = 0;
    // The header's line comes before that of vertex 0.
    for (std::int64_t to_come = vertex + 2; to_come > 0 && blocks.next_line(line); ++number) {
      to_come -= is_comment(line) ? 0 : 1;
    }
    throw ParseError(name_, number, 1, fmt::format("vertex {}: {}", vertex + 1, reason));
  }

  TextSource& source_;
  std::string name_;
  ReadOptions options_;
  int threads_;
  MetisHeader header_;
  std::int64_t seen_ = 0;     // vertices
  std::int64_t entries_ = 0;  // neighbours
  std::vector<Vertices<T>> blocks_;
  std::vector<std::int64_t> sizes_;
  std::vector<std::int64_t> weights_;
};

/// Throws InvalidMatrix unless METIS can store the weight: a positive whole number.
template <class T>
void check_weight(T weight, std::int64_t row, std::int64_t column) {
  constexpr double most = 9.2e18;
  const auto value = static_cast<double>(weight);
  if (value >= 1 && value < most && value == std::floor(value)) return;
  throw InvalidMatrix(fmt::format(
      "element ({}, {}) is {}: a METIS graph's weights are positive whole numbers", row, column, weight));
}

template <class T>
void check_graph(const MetisGraph<T>& graph) {
  const Csr<T>& A = graph.adjacency;
  if (A.rows() != A.columns()) {
    throw InvalidMatrix(fmt::format("a {} by {} matrix is not that of a METIS graph: it is not square",
                                    A.rows(), A.columns()));
  }
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      if (A.column_indices()[k] == i) {
        throw InvalidMatrix(
            fmt::format("element ({}, {}) is on the diagonal: a METIS graph has no loops", i, i));
      }
      check_weight(A.values()[k], i, A.column_indices()[k]);
    }
  }
  if (const auto found = find_asymmetry(A)) {
    throw InvalidMatrix(fmt::format("element ({}, {}) differs from ({}, {}): a METIS graph is undirected",
                                    found->row, found->column, found->column, found->row));
  }
  const auto rows = static_cast<std::size_t>(A.rows());
  if (graph.vertex_weights.size() != rows * static_cast<std::size_t>(graph.constraints) ||
      (!graph.vertex_sizes.empty() && graph.vertex_sizes.size() != rows)) {
    throw InvalidMatrix(fmt::format("{} weights and {} sizes of vertices do not fit {} vertices",
                                    graph.vertex_weights.size(), graph.vertex_sizes.size(), rows));
  }
}

}  // namespace

template <class T>
MetisGraph<T> read_metis_source(TextSource& source, const std::string& name, const ReadOptions& options) {
  return MetisReader<T>(source, name, options).read();
}

template <class T>
void write_metis_sink(TextSink& sink, const MetisGraph<T>& graph) {
  check_graph(graph);
  const Csr<T>& A = graph.adjacency;
  const bool weighted =
      std::any_of(A.values().data(), A.values().data() + A.nonzeros(), [](T w) { return w != 1; });
  const bool sized = !graph.vertex_sizes.empty();
  TextWriter text(sink);
  text.number(A.rows()).space().number(A.nonzeros() / 2);
  if (weighted || sized || graph.constraints > 0) {
    text.space().number(sized ? 1 : 0).number(graph.constraints > 0 ? 1 : 0).number(weighted ? 1 : 0);
  }
  if (graph.constraints > 1) text.space().number(graph.constraints);
  text.end_line();
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    if (sized) text.number(graph.vertex_sizes[static_cast<std::size_t>(i)]).space();
    for (std::int64_t k = 0; k < graph.constraints; ++k) {
      text.number(graph.vertex_weights[static_cast<std::size_t>(i * graph.constraints + k)]).space();
    }
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      if (k > A.row_offsets()[i]) text.space();
      text.number(A.column_indices()[k] + std::int64_t{1});
      if (weighted) text.space().number(static_cast<std::int64_t>(A.values()[k]));
    }
    text.end_line();
  }
  text.flush();
}

template MetisGraph<float> read_metis_source(TextSource&, const std::string&, const ReadOptions&);
template MetisGraph<double> read_metis_source(TextSource&, const std::string&, const ReadOptions&);
template void write_metis_sink(TextSink&, const MetisGraph<float>&);
template void write_metis_sink(TextSink&, const MetisGraph<double>&);

}  // namespace io

template <class T>
MetisGraph<T> read_metis(const std::string& path, int threads) {
  return at_api_boundary(
      [&] { return io::read_metis_source<T>(*io::open_text(path), path, {.threads = threads}); });
}

template <class T>
void write_metis(const std::string& path, const MetisGraph<T>& graph) {
  io::write_file(path, [&](io::TextSink& file) { io::write_metis_sink(file, graph); });
}

template MetisGraph<float> read_metis(const std::string&, int);
template MetisGraph<double> read_metis(const std::string&, int);
template void write_metis(const std::string&, const MetisGraph<float>&);
template void write_metis(const std::string&, const MetisGraph<double>&);

}  // namespace echelon
