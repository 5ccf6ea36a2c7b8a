// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "io/graph/symmetry.hpp"
#include "io/support/csr_assembly.hpp"
#include "io/support/output_file.hpp"
#include "io/support/sources.hpp"
#include "io/text/content.hpp"
#include "io/text/numbers.hpp"
#include "io/text/position.hpp"
#include "io/text/writer.hpp"
#include "support/hash.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace echelon {

namespace io {

namespace {

constexpr std::int64_t most_vertices = std::numeric_limits<std::int32_t>::max();

/// Parses a vertex that is written as a real number, as numpy.savetxt writes all numbers. Throws Fault.
std::int64_t parse_unusual_vertex(const char*& at, const char* end) {
  const char* const stop = field_end(at, end);
  const std::string digits = whole_digits({at, static_cast<std::size_t>(stop - at)});
  if (digits.empty()) {
    throw Fault{at, fmt::format("{} where the number of a vertex, a whole number, is expected",
                                quoted(word_at(at, end)))};
  }
  std::int64_t vertex = 0;
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), vertex);
  if (result.ec != std::errc() || vertex < 0) {
    throw Fault{at, fmt::format("{}: vertices are numbered from 0 to 2^63 - 1", quoted(word_at(at, end)))};
  }
  at = stop;
  return vertex;
}

std::int64_t parse_vertex(const char*& at, const char* end) {
  std::int64_t vertex = 0;
  const auto [stop, error] = std::from_chars(at, end, vertex);
  const bool ended = ends_word(stop, end) || is_separator(*stop);
  if (error != std::errc() || !ended || vertex < 0) return parse_unusual_vertex(at, end);
  at = stop;
  return vertex;
}

/// Edges in a block of lines, up to the first fault.
template <class T>
struct Edges {
  std::vector<std::int64_t> vertices;  ///< two per edge
  std::vector<T> weights;              ///< empty for a list without weights
  std::optional<Fault> fault;
  std::int64_t line_ends = 0;
};

template <class T>
void parse_edge(const char*& at, const char* end, bool weighted, Edges<T>& edges) {
  const std::int64_t from = parse_vertex(at, end);
  at = skip_separator(at, end);
  if (at == end || *at == '\n') throw Fault{at, "the second vertex of the edge is missing"};
  const std::int64_t to = parse_vertex(at, end);
  if (weighted) {
    at = skip_separator(at, end);
    edges.weights.push_back(parse_real<T>(at, end));
  }
  at = skip_blanks(at, end);
  if (at != end && *at != '\n') {
    throw Fault{at, weighted ? "nothing more is expected on this line"
                             : "nothing more is expected on this line: the first edge has no weight"};
  }
  edges.vertices.push_back(from);
  edges.vertices.push_back(to);
}

template <class T>
void parse_edges(std::string_view text, bool weighted, Edges<T>& edges) {
  edges.vertices.clear();
  edges.weights.clear();
  edges.fault.reset();
  edges.line_ends = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  try {
    while (at != end) {
      const char* const first = skip_blanks(at, end);
      if (first != end && is_comment({first, 1})) {
        at = line_end(first, end);
      } else if (first == end || *first == '\n') {
        at = first;
      } else {
        at = first;
        parse_edge(at, end, weighted, edges);
      }
      if (at != end) {
        ++at;
        ++edges.line_ends;
      }
    }
  } catch (Fault& fault) {
    edges.fault = std::move(fault);
  }
}

/// Lines before the first edge, and whether that edge has a weight.
struct FirstEdge {
  std::int64_t lines = 0;
  bool weighted = false;
};

FirstEdge read_start(LineBlocks& blocks) {
  FirstEdge start;
  std::string line;
  for (bool header_seen = false; blocks.next_line(line); ++start.lines) {
    const std::vector<std::string_view> fields = fields_of_line(line);
    if (fields.empty() || is_comment(fields.front())) continue;
    if (is_table_header(fields.front()) && !std::exchange(header_seen, true)) continue;
    start.weighted = fields.size() > 2;
    break;
  }
  return start;
}

/// Hash table of nonnegative numbers and their ranks: open addressing, at most half full.
class RankTable {
 public:
  void insert(std::int64_t number) {
    if (2 * used_ >= slots_.size()) grow();
    Slot& slot = slots_[place(number)];
    if (slot.number == number) return;
    slot.number = number;
    ++used_;
  }

  /// Sets each number's rank to its position among all numbers in ascending order, and returns that list.
  std::vector<std::int64_t> finish() {
    std::vector<std::int64_t> numbers;
    numbers.reserve(used_);
    for (const Slot& slot : slots_) {
      if (slot.number != empty) numbers.push_back(slot.number);
    }
    std::sort(numbers.begin(), numbers.end());
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      slots_[place(numbers[k])].rank = static_cast<std::int64_t>(k);
    }
    return numbers;
  }

  /// Rank of an inserted number.
  [[nodiscard]] std::int64_t rank(std::int64_t number) const { return slots_[place(number)].rank; }

 private:
  static constexpr std::int64_t empty = -1;
  struct Slot {
    std::int64_t number = empty;
    std::int64_t rank = 0;
  };

  /// Slot of the number, or the empty slot for it.
  [[nodiscard]] std::size_t place(std::int64_t number) const {
    std::size_t k = hash_bits(static_cast<std::uint64_t>(number)) & (slots_.size() - 1);
    while (slots_[k].number != number && slots_[k].number != empty) k = (k + 1) & (slots_.size() - 1);
    return k;
  }

  void grow() {
    std::vector<Slot> old(std::max<std::size_t>(2 * slots_.size(), 1024));
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.number != empty) slots_[place(slot.number)] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

/// Map from the numbers that occur to 0, 1, 2, ... in ascending order.
class Ranks {
 public:
  /// Makes a map for numbers from `least` to `most`: a bitmap if its size is in proportion to `count`,
  /// otherwise a hash table.
  Ranks(std::int64_t least, std::int64_t most, std::int64_t count) : least_(least) {
    constexpr std::int64_t bits_a_number = 64;
    constexpr std::int64_t harmless_words = 1 << 14;
    const std::int64_t words = (most - least) / 64 + 1;
    if (words <= harmless_words + count * bits_a_number / 64) bits_.resize(static_cast<std::size_t>(words));
  }

  void add(const std::vector<std::int64_t>& numbers) {
    if (bits_.empty()) {
      for (const std::int64_t number : numbers) table_.insert(number);
    } else {
      for (const std::int64_t number : numbers) bits_[word(number)] |= bit(number);
    }
  }

  /// Returns all numbers that were added, in ascending order; rank() is the position there.
  std::vector<std::int64_t> finish() {
    if (bits_.empty()) return table_.finish();
    std::vector<std::int64_t> numbers;
    before_.resize(bits_.size());
    for (std::size_t k = 0; k < bits_.size(); ++k) {
      before_[k] = static_cast<std::int64_t>(numbers.size());
      for (std::uint64_t left = bits_[k]; left != 0; left &= left - 1) {
        numbers.push_back(least_ + static_cast<std::int64_t>(k) * 64 + std::countr_zero(left));
      }
    }
    return numbers;
  }

  [[nodiscard]] std::int64_t rank(std::int64_t number) const {
    if (!bits_.empty()) {
      return before_[word(number)] + std::popcount(bits_[word(number)] & (bit(number) - 1));
    }
    return table_.rank(number);
  }

 private:
  [[nodiscard]] std::size_t word(std::int64_t number) const {
    return static_cast<std::size_t>(number - least_) / 64;
  }
  [[nodiscard]] std::uint64_t bit(std::int64_t number) const {
    return std::uint64_t{1} << (static_cast<std::uint64_t>(number - least_) % 64);
  }

  std::int64_t least_;
  std::vector<std::uint64_t> bits_;
  std::vector<std::int64_t> before_;  // count of numbers in all words before
  RankTable table_;
};

/// The weight of an edge that is given from both sides. +0 and -0 compare equal, and their sum is +0 in
/// either order, so that the result is symmetric to the bit.
template <class T>
T weight_of_both(T a, T b) {
  return a == 0 ? a + b : a;
}

/// The symmetric matrix with the elements of `matrix` and of its transpose. Calls `differ(i, j)` where both
/// store an element and the values are not equal.
template <class T, class Differ>
Csr<T> from_both_sides(const Csr<T>& matrix, const Csr<T>& transposed, Differ differ) {
  const std::int64_t n = matrix.rows();
  const Device host;
  const auto merge = [&](std::int64_t row, auto use) {
    const auto end = matrix.row_offsets()[row + 1];
    const auto mirrored_end = transposed.row_offsets()[row + 1];
    auto k = matrix.row_offsets()[row];
    auto m = transposed.row_offsets()[row];
    while (k < end || m < mirrored_end) {
      constexpr std::int32_t none = std::numeric_limits<std::int32_t>::max();
      const std::int32_t column = k < end ? matrix.column_indices()[k] : none;
      const std::int32_t mirrored = m < mirrored_end ? transposed.column_indices()[m] : none;
      T value = column <= mirrored ? matrix.values()[k] : transposed.values()[m];
      if (column == mirrored) {
        if (value != transposed.values()[m]) differ(row, column);
        value = weight_of_both(value, transposed.values()[m]);
      }
      use(std::min(column, mirrored), value);
      k += column <= mirrored ? 1 : 0;
      m += mirrored <= column ? 1 : 0;
    }
  };
  Array<std::int64_t> offsets(host, n + 1);
  offsets[0] = 0;
  for (std::int64_t row = 0; row < n; ++row) {
    std::int64_t count = 0;
    merge(row, [&](std::int32_t, T) { ++count; });
    offsets[row + 1] = offsets[row] + count;
  }
  Array<std::int32_t> columns(host, offsets[n]);
  Array<T> values(host, offsets[n]);
  std::int64_t next = 0;
  for (std::int64_t row = 0; row < n; ++row) {
    merge(row, [&](std::int32_t column, T value) {
      columns[next] = column;
      values[next++] = value;
    });
  }
  return Csr<T>::unchecked(n, n, std::move(offsets), std::move(columns), std::move(values));
}

template <class T>
Csr<T> transposed_adjacency(const Csr<T>& matrix) {
  CsrAssembly<T> assembly(matrix.columns(), matrix.rows());
  for (const std::int32_t column : matrix.column_indices().span()) assembly.count(column);
  assembly.allocate();
  for (std::int64_t i = 0; i < matrix.rows(); ++i) {
    for (std::int64_t k = matrix.row_offsets()[i]; k < matrix.row_offsets()[i + 1]; ++k) {
      assembly.place(matrix.column_indices()[k], static_cast<std::int32_t>(i), matrix.values()[k]);
    }
  }
  return std::move(assembly).finish();
}

template <class T>
class EdgeListReader {
 public:
  EdgeListReader(TextSource& source, std::string name, const EdgeListOptions& meaning,
                 const ReadOptions& options)
      : source_(source),
        name_(std::move(name)),
        meaning_(meaning),
        options_(options),
        threads_(reading_threads(source, options)) {}

  EdgeList<T> read() {
    read_edges();
    number_vertices();
    Csr<T> directed = assemble();
    if (meaning_.directed) {
      list_.adjacency = std::move(directed);
    } else {
      list_.adjacency =
          from_both_sides(directed, transposed_adjacency(directed), [&](std::int64_t i, std::int64_t j) {
            fail(fmt::format(
                "the edge between {} and {} has different weights in its two directions; a directed list "
                "may have that",
                label(i), label(j)));
          });
    }
    return std::move(list_);
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const { throw ParseError(name_, 0, 0, reason); }
  [[nodiscard]] std::int64_t label(std::int64_t row) const {
    return list_.labels[static_cast<std::size_t>(row)];
  }

  void read_edges() {
    FirstEdge start;
    {
      LineBlocks blocks(source_, options_.block_bytes);
      start = read_start(blocks);
    }
    list_.weighted = start.weighted;
    LineBlocks blocks(source_, options_.block_bytes);
    std::string line;
    for (std::int64_t k = 0; k < start.lines; ++k) blocks.next_line(line);
    TextPosition position(name_, start.lines + 1);
    for_each_block<Edges<T>>(
        blocks, threads_,
        [this](std::string_view text, Edges<T>& edges) { parse_edges(text, list_.weighted, edges); },
        [&](std::string_view text, const Edges<T>& edges) {
          if (edges.fault) position.fail(text, edges.fault->at, edges.fault->reason);
          position.pass(text, edges.line_ends);
          keep(edges);
        });
    position.finish(blocks);
  }

  /// Copies a block's edges without spare capacity, since they are kept until the whole list is read.
  void keep(const Edges<T>& edges) {
    if (edges.vertices.empty()) return;
    const auto [least, most] = std::minmax_element(edges.vertices.begin(), edges.vertices.end());
    least_ = std::min(least_, *least);
    most_ = std::max(most_, *most);
    list_.edges += static_cast<std::int64_t>(edges.vertices.size() / 2);
    Edges<T> block;
    block.vertices.assign(edges.vertices.begin(), edges.vertices.end());
    block.weights.assign(edges.weights.begin(), edges.weights.end());
    blocks_.push_back(std::move(block));
  }

  void number_vertices() {
    if (list_.edges == 0) return;
    if (meaning_.numbering == Numbering::compact) return compact();
    const std::int64_t base = meaning_.numbering == Numbering::one_based ? 1 : 0;
    constexpr std::int64_t harmless = 1 << 16;
    constexpr std::int64_t vertices_an_edge = 16;
    if (least_ < base) fail("vertex 0 in a list whose numbering starts at 1");
    if (most_ - base >= most_vertices) {
      fail(fmt::format("vertex {}: the maximum is {}; compact numbering may help", most_, most_vertices));
    }
    const std::int64_t vertices = most_ - base + 1;
    if (vertices > harmless && vertices / vertices_an_edge > list_.edges) {
      fail(fmt::format("vertex {} in a list of {} edges: compact numbering is needed", most_, list_.edges));
    }
    list_.labels.resize(static_cast<std::size_t>(vertices));
    std::iota(list_.labels.begin(), list_.labels.end(), base);
    for (Edges<T>& block : blocks_) {
      for (std::int64_t& vertex : block.vertices) vertex -= base;
    }
  }

  void compact() {
    Ranks ranks(least_, most_, list_.edges);
    for (const Edges<T>& block : blocks_) ranks.add(block.vertices);
    list_.labels = ranks.finish();
    if (static_cast<std::int64_t>(list_.labels.size()) > most_vertices) {
      fail(fmt::format("{} vertices: the maximum is {}", list_.labels.size(), most_vertices));
    }
#pragma omp parallel for schedule(dynamic) num_threads(threads_)
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      for (std::int64_t& vertex : blocks_[b].vertices) vertex = ranks.rank(vertex);
    }
  }

  Csr<T> assemble() {
    const auto n = static_cast<std::int64_t>(list_.labels.size());
    CsrAssembly<T> assembly(n, n);
    for (const Edges<T>& block : blocks_) {
      for (std::size_t k = 0; k < block.vertices.size(); k += 2) {
        assembly.count(static_cast<std::int32_t>(block.vertices[k]));
      }
    }
    assembly.allocate();
    for (Edges<T>& block : blocks_) {
      for (std::size_t k = 0; k < block.vertices.size(); k += 2) {
        assembly.place(static_cast<std::int32_t>(block.vertices[k]),
                       static_cast<std::int32_t>(block.vertices[k + 1]),
                       list_.weighted ? block.weights[k / 2] : T{1});
      }
      block = {};
    }
    const auto duplicates = assembly.sort_and_sum(threads_);
    if (duplicates.overflow) {
      fail(fmt::format("the weights of the edges from {} to {} add up to more than the type can hold",
                       label(duplicates.overflow->first), label(duplicates.overflow->second)));
    }
    list_.duplicate_edges = duplicates.on_diagonal + duplicates.off_diagonal;
    Csr<T> matrix = std::move(assembly).finish();
    if (!list_.weighted) std::fill_n(matrix.values().data(), matrix.nonzeros(), T{1});
    return matrix;
  }

  TextSource& source_;
  std::string name_;
  EdgeListOptions meaning_;
  ReadOptions options_;
  int threads_;
  EdgeList<T> list_;
  std::vector<Edges<T>> blocks_;
  std::int64_t least_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t most_ = 0;
};

template <class T>
void check_list(const Csr<T>& matrix, bool directed, const std::vector<std::int64_t>& labels) {
  if (matrix.rows() != matrix.columns()) {
    throw InvalidMatrix(fmt::format("a {} by {} matrix is not that of a graph: it is not square",
                                    matrix.rows(), matrix.columns()));
  }
  if (!labels.empty() && static_cast<std::int64_t>(labels.size()) != matrix.rows()) {
    throw InvalidMatrix(fmt::format("{} labels for {} vertices", labels.size(), matrix.rows()));
  }
  if (directed) return;
  if (const auto found = find_asymmetry(matrix)) {
    throw InvalidMatrix(
        fmt::format("element ({}, {}) differs from ({}, {}): only a directed edge list holds it", found->row,
                    found->column, found->column, found->row));
  }
}

}  // namespace

template <class T>
EdgeList<T> read_edge_list_source(TextSource& source, const std::string& name, const EdgeListOptions& meaning,
                                  const ReadOptions& options) {
  return EdgeListReader<T>(source, name, meaning, options).read();
}

template <class T>
void write_edge_list_sink(TextSink& sink, const Csr<T>& adjacency, bool directed,
                          const std::vector<std::int64_t>& labels) {
  check_list(adjacency, directed, labels);
  const T* const values = adjacency.values().data();
  const bool weighted =
      std::any_of(values, values + adjacency.nonzeros(), [](T value) { return value != 1; });
  sink.write(fmt::format("# {} graph, {} vertices\n# FromNodeId\tToNodeId{}\n",
                         directed ? "Directed" : "Undirected", adjacency.rows(), weighted ? "\tWeight" : ""));
  const auto label = [&](std::int64_t i) { return labels.empty() ? i : labels[static_cast<std::size_t>(i)]; };
  TextWriter text(sink);
  for (std::int64_t i = 0; i < adjacency.rows(); ++i) {
    for (std::int64_t k = adjacency.row_offsets()[i]; k < adjacency.row_offsets()[i + 1]; ++k) {
      const std::int64_t j = adjacency.column_indices()[k];
      if (!directed && j < i) continue;
      text.number(label(i)).tab().number(label(j));
      if (weighted) text.tab().number(values[k]);
      text.end_line();
    }
  }
  text.flush();
}

template EdgeList<float> read_edge_list_source(TextSource&, const std::string&, const EdgeListOptions&,
                                               const ReadOptions&);
template EdgeList<double> read_edge_list_source(TextSource&, const std::string&, const EdgeListOptions&,
                                                const ReadOptions&);
template void write_edge_list_sink(TextSink&, const Csr<float>&, bool, const std::vector<std::int64_t>&);
template void write_edge_list_sink(TextSink&, const Csr<double>&, bool, const std::vector<std::int64_t>&);

}  // namespace io

template <class T>
EdgeList<T> read_edge_list(const std::string& path, const EdgeListOptions& options) {
  return at_api_boundary([&] {
    return io::read_edge_list_source<T>(*io::open_text(path), path, options, {.threads = options.threads});
  });
}

template <class T>
void write_edge_list(const std::string& path, const Csr<T>& adjacency, bool directed,
                     const std::vector<std::int64_t>& labels) {
  io::write_file(path,
                 [&](io::TextSink& file) { io::write_edge_list_sink(file, adjacency, directed, labels); });
}

template EdgeList<float> read_edge_list(const std::string&, const EdgeListOptions&);
template EdgeList<double> read_edge_list(const std::string&, const EdgeListOptions&);
template void write_edge_list(const std::string&, const Csr<float>&, bool, const std::vector<std::int64_t>&);
template void write_edge_list(const std::string&, const Csr<double>&, bool, const std::vector<std::int64_t>&);

}  // namespace echelon
