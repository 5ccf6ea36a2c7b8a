// SPDX-License-Identifier: BSD-3-Clause
#include "io/text/content.hpp"
#include "unit/io/file_support.hpp"

#include <echelon/io/text_columns.hpp>

namespace echelon {
namespace {

using testing::content_of;
using testing::expect_same_bits;
using testing::expect_words;
using testing::memory;
using testing::parse_error_of;
using testing::ScratchFolder;

Dense<double> read(const std::string& text, const io::ReadOptions& options = {}) {
  return io::read_text_columns_source<double>(*memory(text), "memory.txt", options);
}

TEST(TextColumns, Separators) {
  for (const char* text :
       {"1 2 3\n4 5 6\n", "1,2,3\n4 , 5,6", "1;2;3\r\n4;5;6\r\n", "\t1\t2  3\n\n 4 5 6 \n",
        "# c\n1 2 3\n% c\n4 5 6\n", "x,y,z\n1,2,3\n4,5,6\n", "\xef\xbb\xbf\"x\" y z\n1 2 3\n4 5 6\n"}) {
    const auto matrix = read(text);
    EXPECT_EQ(matrix.rows(), 2) << text;
    EXPECT_EQ(matrix.to_vector(), (std::vector<double>{1, 4, 2, 5, 3, 6})) << text;
  }
  const auto column = read("1\n-2.5e3\n+.5\n1d2\n1.234-101\n1.D5\n");
  EXPECT_EQ(column.columns(), 1);
  EXPECT_EQ(column.to_vector(), (std::vector<double>{1, -2500, 0.5, 100, 1.234e-101, 1e5}));
  EXPECT_EQ(read("# nothing\n").rows(), 0);
}

TEST(TextColumns, WriteAndRead_SameBits) {
  const ScratchFolder folder;
  std::mt19937_64 random(3);
  for (const std::string name : {"a.txt", "a.txt.gz"}) {
    for (const auto& [rows, columns] :
         std::initializer_list<std::pair<int, int>>{{1, 1}, {31, 33}, {1025, 40}, {1, 5000}, {5000, 1}}) {
      Dense<double> matrix(Device(), rows, columns);
      for (std::int64_t k = 0; k < std::int64_t{rows} * columns; ++k) {
        matrix[k] = std::normal_distribution<double>()(random);
      }
      write_text_columns<double>(folder.file(name), matrix);
      expect_same_bits(matrix, read_text_columns<double>(folder.file(name)));
      for (const int threads : {1, 4}) {
        if (columns > 40) continue;
        expect_same_bits(matrix, io::read_text_columns_source<double>(*io::open_text(folder.file(name)),
                                                                      "blocks", {threads, 2000}));
      }
    }
  }
}

TEST(TextColumns, Separators_ReadBackToTheSameBits) {
  const ScratchFolder folder;
  Dense<double> matrix(Device(), 3, 2);
  for (std::int64_t k = 0; k < 6; ++k) matrix[k] = std::sqrt(static_cast<double>(k)) - 1;
  for (const char separator : {',', ';', '\t'}) {
    write_text_columns<double>(folder.file("a.txt"), matrix, separator);
    EXPECT_EQ(content_of(folder.file("a.txt")).substr(0, 3), std::string("-1") + separator);
    expect_same_bits(matrix, read_text_columns<double>(folder.file("a.txt")));
  }
}

TEST(TextColumns, Malformed_LineAndColumn) {
  struct Case {
    const char* text;
    std::int64_t line;
    std::int64_t column;
    const char* words;
  };
  for (const Case& bad : {Case{"1 2\n3\n", 2, 2, "1 numbers where the first row has 2"},
                          Case{"1 2\n3 4 5\n", 2, 5, "more numbers than the 2"},
                          Case{"1 2\n3 x\n", 2, 3, "'x' where a number is expected"},
                          Case{"1,,2\n", 1, 3, "missing"}, Case{"1 2\n\n3 nan\n", 3, 3, "finite"},
                          Case{"inf\n", 1, 1, "finite"}, Case{"1e999\n", 1, 1, "double precision"},
                          Case{"a b\nc d\n1 2\n", 2, 1, "'c' where a number is expected"},
                          Case{"1,5;2,5\n", 1, 4, "decimal points"}}) {
    const ParseError error = parse_error_of([&] { return read(bad.text); });
    EXPECT_EQ(error.line(), bad.line) << bad.text;
    EXPECT_EQ(error.column(), bad.column) << bad.text << error.what();
    expect_words(error, bad.words);
  }
}

TEST(TextContent, Recognised) {
  using io::TextContent;
  struct Case {
    const char* text;
    TextContent content;
  };
  for (const Case& known : {Case{"1\n2\n", TextContent::columns},
                            Case{"1.5 2\n3 4\n", TextContent::columns},
                            Case{"1 2 3 4\n5 6 7 8\n", TextContent::columns},
                            Case{"1 2\n3 4\n", TextContent::columns_or_edges},
                            Case{"from,to,w\n1,2,.5\n3,4,-1\n", TextContent::columns_or_edges},
                            Case{"5 5\n1 2\n", TextContent::columns_or_other},  // a METIS graph, perhaps
                            Case{"4 6 0\n1 2 3\n", TextContent::columns_or_other},
                            Case{"9 9 12\n1 1 .5\n", TextContent::columns_or_other},  // sizes, then triplets
                            Case{"# FromNodeId\tToNodeId\n1 1\n2 3\n", TextContent::edges},
                            Case{"% sym unweighted\n1 2\n", TextContent::edges},
                            Case{"# Directed graph\n1.5 2\n", TextContent::columns},
                            Case{"# FromNodeId ToNodeId\n1.0e+00 2.0e+00 5\n", TextContent::edges},
                            Case{"1.0e+00 2.0e+00 5\n", TextContent::columns},
                            Case{"1 2\n3\n", TextContent::ragged},
                            Case{"1\n2 3\n", TextContent::columns},
                            Case{"1.5 2\nx\n", TextContent::columns},
                            Case{"not numbers\nat all\n", TextContent::neither},
                            Case{"", TextContent::neither},
                            Case{"# only comments\n", TextContent::neither},
                            Case{"1 2\nnot numbers\n", TextContent::ragged}}) {
    EXPECT_EQ(io::text_content(known.text), known.content) << known.text;
  }
}

FileFormat format_of(const std::string& path, FileRole role) {
  ReadFileOptions options;
  options.role = role;
  return read_matrix_file<double>(path, options).info.format;
}

TEST(AnyFile, PlainText_FormatByContentAndRole) {
  const ScratchFolder folder;
  const std::string edges = folder.file("edges.txt", "1 2\n2 3\n3 1\n4 2\n");
  EXPECT_EQ(format_of(edges, FileRole::graph), FileFormat::edge_list);
  EXPECT_EQ(format_of(edges, FileRole::right_hand_side), FileFormat::text);
  expect_words(parse_error_of([&] { return format_of(edges, FileRole::matrix); }), "edge-list or text");

  const std::string announced = folder.file("snap.txt", "# FromNodeId\tToNodeId\n1\t2\n");
  EXPECT_EQ(format_of(announced, FileRole::matrix), FileFormat::edge_list);
  const std::string column = folder.file("b.dat", "1\n2\n3\n");
  for (const FileRole role : {FileRole::matrix, FileRole::graph, FileRole::right_hand_side}) {
    EXPECT_EQ(format_of(column, role), FileFormat::text);
  }
  const std::string sizes = folder.file("cycle.txt", "3 3\n2 3\n1 3\n1 2\n");
  expect_words(parse_error_of([&] { return format_of(sizes, FileRole::graph); }), "edge-list or text");

  const std::string ragged = folder.file("ragged.txt", "1 2\n3\n");
  expect_words(parse_error_of([&] { return format_of(ragged, FileRole::graph); }), "neither its content");
  EXPECT_EQ(parse_error_of([&] { return format_of(ragged, FileRole::right_hand_side); }).line(), 2);

  std::string wide;
  for (int k = 0; k < 30000; ++k) wide += std::to_string(k) + ".5 ";
  EXPECT_EQ(format_of(folder.file("wide.txt", wide), FileRole::matrix), FileFormat::text);
}

}  // namespace
}  // namespace echelon
