// SPDX-License-Identifier: BSD-3-Clause
#include "unit/io/file_support.hpp"

namespace echelon {
namespace {

using testing::expect_same_bits;
using testing::expect_words;
using testing::invalid_matrix_of;
using testing::memory;
using testing::parse_error_of;
using testing::Places;
using testing::places_of;
using testing::random_graph;
using testing::ScratchFolder;

MetisGraph<double> read(const std::string& text, const io::ReadOptions& options = {}) {
  return io::read_metis_source<double>(*memory(text), "memory.graph", options);
}

TEST(Metis, Plain) {
  const auto graph = read("% a path and a vertex alone\n4 2\n2\n% between\n 3 1 \n2\n\n");
  EXPECT_EQ(graph.adjacency.rows(), 4);
  EXPECT_EQ(places_of(graph.adjacency), (Places{{{0, 1}, 1}, {{1, 0}, 1}, {{1, 2}, 1}, {{2, 1}, 1}}));
  EXPECT_FALSE(graph.weighted);
  EXPECT_EQ(read("0 0\n").adjacency.rows(), 0);
  EXPECT_EQ(read("3 0\n\n\n\n\n \n").adjacency.rows(), 3);
  EXPECT_EQ(read("2 1\r\n2\r\n1").adjacency.nonzeros(), 2);
}

TEST(Metis, WeightsAndSizes) {
  const auto edges = read("3 2 001\n2 7\n1 7 3 2.5\n2 2.5\n");
  EXPECT_TRUE(edges.weighted);
  EXPECT_EQ(places_of(edges.adjacency), (Places{{{0, 1}, 7}, {{1, 0}, 7}, {{1, 2}, 2.5}, {{2, 1}, 2.5}}));
  const auto vertices = read("2 1 10\n5 2\n6 1\n");
  EXPECT_EQ(vertices.vertex_weights, (std::vector<std::int64_t>{5, 6}));
  EXPECT_EQ(vertices.constraints, 1);
  const auto all = read("2 1 111 3\n9 1 2 3 2 8\n4 5 6 7 1 8\n");
  EXPECT_EQ(all.vertex_sizes, (std::vector<std::int64_t>{9, 4}));
  EXPECT_EQ(all.vertex_weights, (std::vector<std::int64_t>{1, 2, 3, 5, 6, 7}));
  EXPECT_EQ(places_of(all.adjacency), (Places{{{0, 1}, 8}, {{1, 0}, 8}}));
}

TEST(Metis, WriteAndRead_SameGraph) {
  const ScratchFolder folder;
  for (const std::string name : {"a.graph", "a.graph.gz"}) {
    for (const std::int32_t vertices : {0, 1, 2, 31, 33, 1025}) {
      for (const int most_weight : {1, 1000}) {
        MetisGraph<double> graph;
        graph.adjacency = random_graph<double>(vertices, 3 * vertices, most_weight);
        graph.constraints = most_weight == 1 ? 0 : 2;
        graph.vertex_weights.assign(static_cast<std::size_t>(vertices * graph.constraints), 5);
        graph.vertex_sizes.assign(static_cast<std::size_t>(most_weight == 1 ? vertices : 0), 3);
        write_metis(folder.file(name), graph);
        const auto again = read_metis<double>(folder.file(name));
        expect_same_bits(graph.adjacency, again.adjacency);
        EXPECT_EQ(again.vertex_weights, graph.vertex_weights);
        EXPECT_EQ(again.vertex_sizes, graph.vertex_sizes);
      }
    }
  }
}

TEST(Metis, BlocksAndThreads_SameGraph) {
  MetisGraph<double> graph;
  graph.adjacency = random_graph<double>(500, 1500, 9);
  io::MemorySink sink;
  io::write_metis_sink(sink, graph);
  for (const int threads : {1, 2, 5}) {
    for (const std::size_t block : {128U, 1000U, 1U << 18}) {
      expect_same_bits(graph.adjacency, read(sink.text(), {threads, block}).adjacency);
    }
  }
}

TEST(Metis, Write_Text) {
  MetisGraph<double> graph;
  graph.adjacency = Csr<double>::from_triplets(3, 3, {{0, 1, 1}, {1, 0, 1}});
  io::MemorySink plain;
  io::write_metis_sink(plain, graph);
  EXPECT_EQ(plain.text(), "3 1\n2\n1\n\n");
  graph.adjacency.values()[0] = graph.adjacency.values()[1] = 1e15;
  io::MemorySink weighted;
  io::write_metis_sink(weighted, graph);
  EXPECT_EQ(weighted.text(), "3 1 001\n2 1000000000000000\n1 1000000000000000\n\n");
}

TEST(Metis, UnsuitableMatrix_InvalidMatrix) {
  const auto reason = [](std::int64_t rows, std::int64_t columns,
                         const std::vector<Triplet<double>>& triplets) {
    return invalid_matrix_of([&] {
      MetisGraph<double> graph;
      graph.adjacency = Csr<double>::from_triplets(rows, columns, triplets);
      io::MemorySink sink;
      io::write_metis_sink(sink, graph);
    });
  };
  EXPECT_NE(reason(2, 3, {}).find("not square"), std::string::npos);
  EXPECT_NE(reason(2, 2, {{1, 1, 1}}).find("element (1, 1) is on the diagonal"), std::string::npos);
  EXPECT_NE(reason(2, 2, {{0, 1, 1}}).find("element (0, 1) differs from (1, 0)"), std::string::npos);
  EXPECT_NE(reason(2, 2, {{1, 0, 1}}).find("element (1, 0) differs from (0, 1)"), std::string::npos);
  EXPECT_NE(reason(2, 2, {{0, 1, 1}, {1, 0, 2}}).find("differs from"), std::string::npos);
  EXPECT_NE(reason(2, 2, {{0, 1, -1}, {1, 0, -1}}).find("positive whole numbers"), std::string::npos);
  EXPECT_NE(reason(2, 2, {{0, 1, 0.5}, {1, 0, 0.5}}).find("positive whole numbers"), std::string::npos);
}

struct Bad {
  const char* text;
  std::int64_t line, column;
  const char* words;
};

TEST(MetisFault, LineAndColumn) {
  for (const Bad& bad : std::initializer_list<Bad>{
           {"", 1, 1, "ends before the line with the graph's size"},
           {"% only\n", 2, 1, "ends before the line with the graph's size"},
           {"x 1\n", 1, 1, "'x' where the number of vertices"},
           {"3\n", 1, 2, "the number of edges is missing"},
           {"3000000000 1\n", 1, 1, "'3000000000' where the number of vertices"},
           {"2 1 2\n2\n1\n", 1, 5, "digits 0 or 1"},
           {"2 1 0011\n2\n1\n", 1, 5, "digits 0 or 1"},
           {"2 1 1 2\n2 1\n1 1\n", 1, 7, "contradict"},
           {"2 1 10 0\n2 1\n1 1\n", 1, 8, "contradict"},
           {"2 1 0 0 0\n2\n1\n", 1, 9, "nothing more is expected"},
           {"2 1\n3\n1\n", 2, 1, "'3' where a neighbour, a vertex from 1 to 2"},
           {"2 1\n0\n1\n", 2, 1, "'0' where a neighbour"},
           {"2 1\n2\n1 x\n", 3, 3, "'x' where a neighbour"},
           {"2 1\n2.0\n1\n", 2, 1, "'2.0' where a neighbour"},
           {"2 1 1\n2 5\n1\n", 3, 2, "the value is missing"},
           {"2 1 1\n2 -5\n1 -5\n", 2, 3, "edge weights are positive"},
           {"2 1 1\n2 nan\n1 nan\n", 2, 3, "finite"},
           {"2 1 10\n\n1 1\n", 2, 1, "the weight or size of the vertex is missing"},
           {"2 1 10\n1 2\n-1 1\n", 3, 1, "'-1' where the weight of the vertex"},
           {"2 1\n2\n", 3, 1, "the file ends after 1 of the 2 vertices"},
           {"2 1\n2\n1\n\n1\n", 5, 1, "more lines than the 2 vertices"},
           {"2 1\n2\n1\n\nx\n", 5, 1, "more lines than the 2 vertices"},
           {"2 2\n2\n1\n", 1, 1, "2 edges are announced, which take 4 neighbours; there are 2"},
           {"% remark\n2 1\n% another\n1\n2\n", 4, 1, "vertex 1: a loop"},
           {"2 2\n2 2\n1 1\n", 2, 1, "the neighbour 2 is given twice"},
           {"3 1\n2\n\n1\n", 2, 1, "vertex 1: the edge to 2 is not given from there"},
           {"3 1\n\n1\n% x\n2\n", 3, 1, "vertex 2: the edge to 1 is not given from there"},
           {"2 1 1\n2 5\n1 6\n", 2, 1, "not given from there with the same weight"}}) {
    SCOPED_TRACE(bad.text);
    for (const int threads : {1, 3}) {
      const ParseError error = parse_error_of([&] { return read(bad.text, {threads, 64}); });
      EXPECT_EQ(error.line(), bad.line) << error.what();
      EXPECT_EQ(error.column(), bad.column) << error.what();
      expect_words(error, bad.words);
    }
  }
}

}  // namespace
}  // namespace echelon
