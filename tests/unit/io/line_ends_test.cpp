// SPDX-License-Identifier: BSD-3-Clause
// Every text format reads lines that end with LF, CR LF, or CR alone.
#include "io/text/line_blocks.hpp"
#include "unit/io/file_support.hpp"

#include <functional>

namespace echelon {
namespace {

using testing::memory;
using testing::parse_error_of;
using testing::ScratchFolder;

/// `text`, whose lines end with LF, with other line ends.
std::string with_line_ends(const std::string& text, const std::string& line_end) {
  std::string result;
  for (const char c : text) result += c == '\n' ? line_end : std::string(1, c);
  return result;
}

const std::vector<std::string> line_ends = {"\n", "\r\n", "\r", "\r\r\n"};

/// A well-formed and a malformed text of a format, and its reader.
struct TextFormat {
  std::string name;
  std::string text;
  std::string malformed;
  std::function<std::vector<double>(const std::string&, const io::ReadOptions&)> elements;
};

template <class Matrix>
std::vector<double> elements_of(const Matrix& matrix) {
  return to_dense(MatrixRef<double>(matrix)).to_vector();
}

std::vector<TextFormat> text_formats() {
  const std::string banner = "%%MatrixMarket matrix coordinate real general\n% remark\n\n";
  std::string title = "title";
  title.resize(72, ' ');
  const std::string boeing = title + "KEY\n 4 1 1 1 1\nRUA 2 2 3 0\n(9I3) (9I3) (2F5.1) (F5.1)\nF   1 0\n";
  return {
      {"matrix market", banner + "2 2 3\n1 1 1.5\n% remark\n\n2 1 -2\n2 2 7\n", banner + "2 2 1\n\n1 x 1\n",
       [](const std::string& text, const io::ReadOptions& options) {
         return elements_of(testing::read_text<double>(text, options).matrix);
       }},
      {"metis", "% remark\n4 2\n2\n1 4\n\n2\n", "3 1\n\n1 x\n2\n",
       [](const std::string& text, const io::ReadOptions& options) {
         return elements_of(io::read_metis_source<double>(*memory(text), "", options).adjacency);
       }},
      {"edge list", "# FromNodeId\n\n1 2 3\n4 1 5\n% remark\n4 4 1\n", "1 2\n\n2 x\n",
       [](const std::string& text, const io::ReadOptions& options) {
         return elements_of(io::read_edge_list_source<double>(*memory(text), "", {}, options).adjacency);
       }},
      {"text columns", "x y\n1 2\n\n# remark\n3,4\n5 6", "1 2\n\n3 x\n",
       [](const std::string& text, const io::ReadOptions& options) {
         return elements_of(io::read_text_columns_source<double>(*memory(text), "", options));
       }},
      {"harwell boeing", boeing + "  1  3  4\n  1  2  2\n  4.0  2.0\n  3.0\n  1.0\n  2.0\n",
       title + "\n1 1 x 1\n",
       [](const std::string& text, const io::ReadOptions&) {
         const auto file = io::read_harwell_boeing_source<double>(*memory(text), "");
         std::vector<double> elements = elements_of(file.matrix);
         for (const double b : file.right_hand_sides.to_vector()) elements.push_back(b);
         return elements;
       }},
  };
}

TEST(LineEnds, EveryTextFormat_SameMatrix) {
  for (const TextFormat& format : text_formats()) {
    SCOPED_TRACE(format.name);
    const std::vector<double> expected = format.elements(format.text, {});
    EXPECT_GE(expected.size(), 4U);
    for (const std::string& line_end : line_ends) {
      for (const std::size_t block : {64U, 65U, 66U, 67U, 1U << 18}) {
        const std::string text = with_line_ends(format.text, line_end);
        EXPECT_EQ(format.elements(text, {.threads = 2, .block_bytes = block}), expected)
            << ::testing::PrintToString(text) << block;
      }
    }
  }
}

TEST(LineEnds, Malformed_SamePlace) {
  for (const TextFormat& format : text_formats()) {
    SCOPED_TRACE(format.name);
    const auto error_of = [&](const std::string& line_end) {
      return parse_error_of([&] { return format.elements(with_line_ends(format.malformed, line_end), {}); });
    };
    const ParseError expected = error_of("\n");
    EXPECT_GE(expected.line(), 2);
    for (const std::string line_end : {"\r\n", "\r"}) {
      EXPECT_EQ(error_of(line_end).line(), expected.line());
      EXPECT_EQ(error_of(line_end).column(), expected.column());
    }
  }
}

TEST(LineEnds, AnyFile_ContentRecognised) {
  const ScratchFolder folder;
  for (const std::string& line_end : line_ends) {
    const std::string columns = folder.file("a.txt", with_line_ends("1.5 2\n3 4\n", line_end));
    EXPECT_EQ(elements_of(read_matrix<double>(columns)), (std::vector<double>{1.5, 3, 2, 4}));
    const std::string edges =
        folder.file("b.txt", with_line_ends("# FromNodeId ToNodeId\n1 2\n2 3\n", line_end));
    EXPECT_EQ(read_matrix_file<double>(edges).info.format, FileFormat::edge_list);
    EXPECT_EQ(read_matrix_file<double>(edges).info.rows, 3);
    std::string wide;
    for (int k = 0; k < 30000; ++k) wide += "1.5 2\n";  // more than the sample that tells the format
    EXPECT_EQ(read_matrix_file<double>(folder.file("c.txt", with_line_ends(wide, line_end))).info.rows,
              30000);
  }
}

TEST(LineEnds, RunsOfCarriageReturns) {
  struct Case {
    std::string text;
    std::string whole;  ///< if the text ends here
    std::string part;   ///< if more text follows
  };
  for (const Case& known : {Case{"", "", ""}, Case{"a\rb", "a\nb", "a\nb"}, Case{"a\r", "a\n", "a\r"},
                            Case{"a\r\r", "a\n\n", "a\r\r"}, Case{"\r\r\nb", "\r\r\nb", "\r\r\nb"},
                            Case{"\r\rb\r\nc\rd", "\n\nb\r\nc\nd", "\n\nb\r\nc\nd"}}) {
    for (const bool last : {true, false}) {
      std::string text = "\r" + known.text;
      io::unify_line_ends(text, 1, last);
      EXPECT_EQ(text, "\r" + (last ? known.whole : known.part)) << ::testing::PrintToString(known.text);
    }
  }
}

}  // namespace
}  // namespace echelon
