// SPDX-License-Identifier: BSD-3-Clause
#include "unit/io/file_support.hpp"

#include <set>

namespace echelon {
namespace {

using testing::expect_same_bits;
using testing::expect_words;
using testing::invalid_matrix_of;
using testing::memory;
using testing::parse_error_of;
using testing::Places;
using testing::places_of;
using testing::ScratchFolder;

EdgeList<double> read(const std::string& text, const EdgeListOptions& meaning = {},
                      const io::ReadOptions& options = {}) {
  return io::read_edge_list_source<double>(*memory(text), "memory.edges", meaning, options);
}

using Labels = std::vector<std::int64_t>;
constexpr EdgeListOptions directed{.directed = true};

TEST(EdgeList, SnapStyle) {
  const auto list = read("# Nodes: 3 Edges: 2\n# FromNodeId\tToNodeId\n10\t30\n30\t20\n");
  EXPECT_EQ(list.labels, (Labels{10, 20, 30}));
  EXPECT_EQ(places_of(list.adjacency), (Places{{{0, 2}, 1}, {{2, 0}, 1}, {{2, 1}, 1}, {{1, 2}, 1}}));
  EXPECT_FALSE(list.weighted);
  EXPECT_EQ(list.edges, 2);
  EXPECT_EQ(places_of(read("10 30\n30 20\n", directed).adjacency), (Places{{{0, 2}, 1}, {{2, 1}, 1}}));
}

TEST(EdgeList, SeparatorsCommentsAndHeaders) {
  for (const char* text : {"1,2\n2,3\n", "1 , 2\n\n2;3", "id_1,id_2\r\n1,2\r\n2,3\r\n",
                           "\"from\";\"to\"\n1\t2\n  2 3 \n", "% c\n # d\n1 2\n# between\n2 3\n"}) {
    SCOPED_TRACE(text);
    const auto list = read(text, directed);
    EXPECT_EQ(places_of(list.adjacency), (Places{{{0, 1}, 1}, {{1, 2}, 1}}));
  }
  EXPECT_EQ(read("").adjacency.rows(), 0);
  EXPECT_EQ(read("# nothing\n\n").adjacency.rows(), 0);
}

TEST(EdgeList, WeightsAndDuplicates) {
  const auto weighted = read("0 1 0.5\n0 1 1.5\n1 1 -3\n", directed);
  EXPECT_TRUE(weighted.weighted);
  EXPECT_EQ(weighted.duplicate_edges, 1);
  EXPECT_EQ(places_of(weighted.adjacency), (Places{{{0, 1}, 2}, {{1, 1}, -3}}));
  const auto plain = read("0 1\n0 1\n1 0\n", directed);
  EXPECT_EQ(plain.duplicate_edges, 1);
  EXPECT_EQ(places_of(plain.adjacency), (Places{{{0, 1}, 1}, {{1, 0}, 1}}));
  EXPECT_EQ(places_of(read("0 1 7\n1 0 7\n").adjacency), (Places{{{0, 1}, 7}, {{1, 0}, 7}}));
  EXPECT_EQ(places_of(read("0 1\n1 0\n2 2\n").adjacency), (Places{{{0, 1}, 1}, {{1, 0}, 1}, {{2, 2}, 1}}));
  EXPECT_EQ(places_of(read("0,1,1.5D+1\n").adjacency), (Places{{{0, 1}, 15}, {{1, 0}, 15}}));
}

// numpy.savetxt writes all numbers in this way.
TEST(EdgeList, VerticesAsRealNumbers) {
  const Places expected = {{{0, 1}, 2}, {{1, 2}, 3}};
  for (const char* text :
       {"0.000000000000000000e+00 1.000000000000000000e+00 2.000000000000000000e+00\n"
        "1.000000000000000000e+00 1.500000000000000000e+01 3.000000000000000000e+00\n",
        "0.0,1.0,2\n1,15.0,3\n", "0. ; 1. ; 2\n1.;15.;3\n", "-0.0 10e-1 2\n1.0D+00 1.5D1 3\n",
        "0 +1 2\n.001e3 150.00e-1 3\n", "0e5 0.000001E6 2\n0000001.0 0015 3\n"}) {
    SCOPED_TRACE(text);
    const auto list = read(text, directed);
    EXPECT_EQ(list.labels, (Labels{0, 1, 15}));
    EXPECT_EQ(places_of(list.adjacency), expected);
  }
  EXPECT_EQ(read("9.223372036854775807e18 9007199254740993.0\n").labels,
            (Labels{9007199254740993, 9223372036854775807}));
}

TEST(EdgeList, ZerosOfDifferentSign_SymmetricToTheBit) {
  for (const char* text : {"1 2 -.0\n02 1  0", "1 2 0\n2 1 -0\n"}) {
    const auto values = read(text).adjacency.values().to_vector();
    ASSERT_EQ(values.size(), 2U);
    EXPECT_FALSE(std::signbit(values[0])) << text;
    EXPECT_FALSE(std::signbit(values[1])) << text;
  }
  for (const double value : read("1 2 -0\n").adjacency.values().to_vector()) EXPECT_TRUE(std::signbit(value));
}

TEST(EdgeList, Numberings) {
  const EdgeListOptions zero{.directed = true, .numbering = Numbering::zero_based};
  const EdgeListOptions one{.directed = true, .numbering = Numbering::one_based};
  EXPECT_EQ(places_of(read("1 3\n", zero).adjacency), (Places{{{1, 3}, 1}}));
  EXPECT_EQ(read("1 3\n", zero).labels, (Labels{0, 1, 2, 3}));
  EXPECT_EQ(places_of(read("1 3\n", one).adjacency), (Places{{{0, 2}, 1}}));
  EXPECT_EQ(read("1 3\n", one).labels, (Labels{1, 2, 3}));
  const auto far = read("9223372036854775807 0\n5 9223372036854775806\n", directed);
  EXPECT_EQ(far.labels, (Labels{0, 5, 9223372036854775806, 9223372036854775807}));
  EXPECT_EQ(places_of(far.adjacency), (Places{{{3, 0}, 1}, {{1, 2}, 1}}));
}

TEST(EdgeList, RandomLists_AgreeWithMap) {
  for (const std::int64_t spread : {std::int64_t{1}, std::int64_t{1000}, std::int64_t{1} << 40}) {
    std::mt19937_64 random(17);
    std::string text;
    std::set<std::int64_t> vertices;
    std::vector<std::pair<std::int64_t, std::int64_t>> edges;
    for (int k = 0; k < 3000; ++k) {
      const auto vertex = [&] { return static_cast<std::int64_t>(random() % 700) * spread; };
      edges.emplace_back(vertex(), vertex());
      vertices.insert({edges.back().first, edges.back().second});
      text += std::to_string(edges.back().first) + "\t" + std::to_string(edges.back().second) + "\n";
    }
    const Labels labels(vertices.begin(), vertices.end());
    const auto row = [&](std::int64_t v) {
      return std::lower_bound(labels.begin(), labels.end(), v) - labels.begin();
    };
    Places expected;
    for (const auto& [u, v] : edges) expected[{row(u), row(v)}] = expected[{row(v), row(u)}] = 1;
    for (const int threads : {1, 4}) {
      for (const std::size_t block : {64U, 1U << 18}) {
        const auto list = read(text, {}, {threads, block});
        EXPECT_EQ(list.labels, labels);
        EXPECT_EQ(places_of(list.adjacency), expected);
      }
    }
  }
}

TEST(EdgeList, WriteAndRead_SameGraph) {
  const ScratchFolder folder;
  for (const std::string name : {"a.edges", "a.edges.gz"}) {
    const std::string path = folder.file(name);
    const auto unsymmetric = testing::random_sparse<double>(300, 300, 5);
    const EdgeListOptions rows{.directed = true, .numbering = Numbering::zero_based};
    write_edge_list(path, unsymmetric, true);
    expect_same_bits(unsymmetric, read_edge_list<double>(path, rows).adjacency);
    const auto graph = testing::random_graph<float>(300, 900, 1);
    write_edge_list(path, graph);
    EXPECT_EQ(read_edge_list<float>(path, {.numbering = Numbering::zero_based}).adjacency.nonzeros(),
              graph.nonzeros());
  }
}

TEST(EdgeList, Write_Text) {
  const auto matrix = Csr<double>::from_triplets(2, 2, {{0, 1, 2.5}, {1, 0, 2.5}, {1, 1, 1}});
  io::MemorySink sink;
  io::write_edge_list_sink(sink, matrix, false, {7, 9});
  EXPECT_EQ(sink.text(),
            "# Undirected graph, 2 vertices\n# FromNodeId\tToNodeId\tWeight\n7\t9\t2.5\n9\t9\t1\n");
  const auto plain = Csr<double>::from_triplets(2, 2, {{1, 0, 1}});
  io::MemorySink other;
  io::write_edge_list_sink(other, plain, true);
  EXPECT_EQ(other.text(), "# Directed graph, 2 vertices\n# FromNodeId\tToNodeId\n1\t0\n");
  EXPECT_NE(invalid_matrix_of([&] { io::write_edge_list_sink(other, plain, false); }).find("differs from"),
            std::string::npos);
  EXPECT_NE(invalid_matrix_of([&] {
              io::write_edge_list_sink(other, Csr<double>::from_triplets(1, 2, {}), true);
            }).find("not square"),
            std::string::npos);
}

struct Bad {
  const char* text;
  std::int64_t line, column;
  const char* words;
};

TEST(EdgeListFault, LineAndColumn) {
  for (const Bad& bad : std::initializer_list<Bad>{
           {"1 2\nx 2\n", 2, 1, "'x' where the number of a vertex"},
           {"1 2\n1\n", 2, 2, "the second vertex of the edge is missing"},
           {"1 2\n1,\n", 2, 3, "the second vertex of the edge is missing"},
           {"1 2\n1,,2\n", 2, 3, "',2' where the number of a vertex"},
           {"1 2\n-1 2\n", 2, 1, "numbered from 0 to 2^63 - 1"},
           {"1 2\n9223372036854775808 2\n", 2, 1, "numbered from 0 to 2^63 - 1"},
           {"1 2\n1 2.5\n", 2, 3, "'2.5' where the number of a vertex, a whole number"},
           {"1.0 2.0\n1.5e+00 2.0e+00\n", 2, 1, "'1.5e+00' where the number of a vertex, a whole number"},
           {"1 2\n1 2.0000000000000000000001\n", 2, 3, "where the number of a vertex, a whole number"},
           {"1 2\n1e-400 2\n", 2, 1, "'1e-400' where the number of a vertex, a whole number"},
           {"1 2\n1e 2\n", 2, 1, "'1e' where the number of a vertex"},
           {"1 2\n1.0x 2\n", 2, 1, "'1.0x' where the number of a vertex"},
           {"1 2\nnan 2\n", 2, 1, "'nan' where the number of a vertex"},
           {"1 2\ninf 2\n", 2, 1, "'inf' where the number of a vertex"},
           {"1 2\n-1.0 2\n", 2, 1, "'-1.0': vertices are numbered from 0 to 2^63 - 1"},
           {"1 2\n9.223372036854775808e18 2\n", 2, 1, "numbered from 0 to 2^63 - 1"},
           {"1 2\n1e30 2\n", 2, 1, "numbered from 0 to 2^63 - 1"},
           {"1 2\n1e999999999999999999999 2\n", 2, 1, "numbered from 0 to 2^63 - 1"},
           {"1 2\n1 2 3\n", 2, 5, "the first edge has no weight"},
           {"1 2 3\n1 2\n", 2, 4, "the value is missing"},
           {"1 2 3 4\n", 1, 7, "nothing more is expected on this line"},
           {"1 2 nan\n", 1, 5, "finite"},
           {"1 2 1e999\n", 1, 5, "more than double precision"},
           {"from to\nmore words\n1 2\n", 2, 1, "'more' where the number of a vertex"}}) {
    SCOPED_TRACE(bad.text);
    for (const int threads : {1, 3}) {
      const ParseError error = parse_error_of([&] { return read(bad.text, {}, {threads, 64}); });
      EXPECT_EQ(error.line(), bad.line) << error.what();
      EXPECT_EQ(error.column(), bad.column) << error.what();
      expect_words(error, bad.words);
    }
  }
}

TEST(EdgeListFault, Whole_ListRefused) {
  const EdgeListOptions zero{.numbering = Numbering::zero_based};
  const EdgeListOptions one{.numbering = Numbering::one_based};
  expect_words(parse_error_of([&] { return read("10 20 1\n20 10 2\n"); }),
               "between 10 and 20 has different weights");
  expect_words(parse_error_of([&] { return read("10 20 1e308\n10 20 1e308\n"); }),
               "from 10 to 20 add up to more");
  expect_words(parse_error_of([&] { return read("0 1\n", one); }),
               "vertex 0 in a list whose numbering starts at 1");
  expect_words(parse_error_of([&] { return read("0 2000000000\n", zero); }), "compact numbering is needed");
  expect_words(parse_error_of([&] { return read("0 3000000000\n", zero); }), "the maximum is 2147483647");
  expect_words(parse_error_of([&] { return read("0 9223372036854775807\n", zero); }),
               "compact numbering may help");
}

}  // namespace
}  // namespace echelon
