// SPDX-License-Identifier: BSD-3-Clause
// Every malformed file ends in one ParseError at the right line and column, whatever the threads.
#include "unit/io/matrix_market_support.hpp"

#include <echelon/error.hpp>

namespace echelon {
namespace {

using testing::read_text;
using testing::ScratchFolder;

/// The error that reading `text` ends in; line -1 if it does not.
template <class T = double>
ParseError error_of(const std::string& text, const io::ReadOptions& options = {}) {
  try {
    (void)read_text<T>(text, options);
  } catch (const ParseError& error) {
    return error;
  }
  return {"", -1, -1, "no error"};
}

struct Bad {
  const char* text;
  std::int64_t line, column;
  const char* words;  ///< somewhere in the message
};

void expect_error(const Bad& bad) {
  SCOPED_TRACE(bad.text);
  for (const int threads : {1, 5}) {
    const ParseError error = error_of(bad.text, {threads, 128});
    EXPECT_EQ(error.line(), bad.line) << error.what();
    EXPECT_EQ(error.column(), bad.column) << error.what();
    EXPECT_NE(std::string(error.what()).find(bad.words), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    EXPECT_EQ(error.file(), "memory.mtx");
  }
}

#define COORDINATE "%%MatrixMarket matrix coordinate real general\n"
#define SYMMETRIC "%%MatrixMarket matrix coordinate real symmetric\n"
#define ARRAY "%%MatrixMarket matrix array real general\n"

TEST(MatrixMarketFault, Header) {
  for (const Bad& bad : std::initializer_list<Bad>{
           {"", 1, 1, "the file is empty"},
           {"\n", 1, 1, "not a Matrix Market file"},
           {"hello world\n", 1, 1, "it starts with 'hello'"},
           {"\x7f\x45LF\x01\x02\n", 1, 1, "it starts with '\\x7fELF\\x01\\x02'"},
           {"%MatrixMarket matrix coordinate real general\n", 1, 1, "not a Matrix Market file"},
           {"%%MatrixMarket\n", 1, 15, "the object is missing"},
           {"%%MatrixMarket vector coordinate real general\n", 1, 16, "'vector'"},
           {"%%MatrixMarket matrix cordinate real general\n", 1, 23, "did you mean 'coordinate'?"},
           {"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n", 1, 34,
            "the numbers are complex"},
           {"%%MatrixMarket matrix coordinate complex hermitian\n1 1 1\n1 1 1 0\n", 1, 34,
            "the numbers are complex"},
           {"%%MatrixMarket matrix coordinate real hermitean\n", 1, 39, "did you mean 'hermitian'?"},
           {"%%MatrixMarket matrix coordinate real hermitian\n2 3 2\n", 2, 3, "not square"},
           {"%%MatrixMarket matrix coordinate real\n", 1, 38, "the symmetry is missing"},
           {"%%MatrixMarket matrix coordinate real general 7\n", 1, 47, "nothing more is expected"},
           {"%%MatrixMarket matrix array pattern general\n", 1, 29, "no values"},
           {"%%MatrixMarket matrix coordinate pattern skew-symmetric\n", 1, 42, "pattern"},
           {COORDINATE, 2, 1, "ends before the line with the matrix's size"},
           {COORDINATE "% remark\n\n", 4, 1, "ends before the line with the matrix's size"},
           {COORDINATE "% remark\n2 2\n", 3, 4, "the number of entries is missing"},
           {COORDINATE "2 two 2\n", 2, 3, "'two' where the number of columns is expected"},
           {COORDINATE "2.0 2 2\n", 2, 1, "'2.0' where the number of rows is expected"},
           {COORDINATE "-2 2 2\n", 2, 1, "-2 rows"},
           {COORDINATE "2 2 -2\n", 2, 5, "-2 entries"},
           {COORDINATE "2 2 2 2\n", 2, 7, "nothing more is expected"},
           {COORDINATE "2147483648 2 2\n", 2, 1, "the maximum is 2147483647"},
           {COORDINATE "2 2147483648 2\n", 2, 3, "the maximum is 2147483647"},
           {COORDINATE "2 99999999999999999999 2\n", 2, 3, "the maximum is 2147483647"},
           {COORDINATE "2 2 9223372036854775808\n", 2, 5, "the maximum is"},
           {SYMMETRIC "2 3 2\n", 2, 3, "not square"},
           {ARRAY "2\n", 2, 2, "the number of columns is missing"},
           {ARRAY "2 2 4\n", 2, 5, "nothing more is expected"}}) {
    expect_error(bad);
  }
}

TEST(MatrixMarketFault, Entries) {
  for (const Bad& bad : std::initializer_list<Bad>{
           {COORDINATE "2 2 1\n0 1 1.0\n", 3, 1, "row 0: indices start at 1; is this file 0-based?"},
           {COORDINATE "2 2 1\n1 0 1.0\n", 3, 3, "column 0: indices start at 1; is this file 0-based?"},
           {COORDINATE "2 2 1\n-1 1 1.0\n", 3, 1, "indices start at 1"},
           {COORDINATE "2 2 1\n3 1 1.0\n", 3, 1, "row 3 of a matrix with 2 rows"},
           {COORDINATE "2 4 1\n1 5 1.0\n", 3, 3, "column 5 of a matrix with 4 columns"},
           {COORDINATE "2 2 1\n4294967297 1 1.0\n", 3, 1, "row 4294967297"},
           {COORDINATE "2 2 1\n99999999999999999999 1 1.0\n", 3, 1, "row 99999999999999999999"},
           {COORDINATE "2 2 1\n1.0 1 1.0\n", 3, 1, "'1.0' where the row index"},
           {COORDINATE "2 2 1\none 1 1.0\n", 3, 1, "'one' where the row index"},
           {COORDINATE "2 2 1\n1\n", 3, 2, "the column index is missing"},
           {COORDINATE "2 2 1\n1 2\n", 3, 4, "the value is missing"},
           {COORDINATE "2 2 1\n1 2 \r\n", 3, 6, "the value is missing"},
           {COORDINATE "2 2 1\n1 2 x\n", 3, 5, "'x' where a number is expected"},
           {COORDINATE "2 2 1\n1 2 1,5\n", 3, 5, "'1,5' where a number is expected"},
           {COORDINATE "2 2 1\n1 2 0x10\n", 3, 5, "'0x10' where a number is expected"},
           {COORDINATE "2 2 1\n1 2 +-5\n", 3, 5, "'+-5' where a number is expected"},
           {COORDINATE "2 2 1\n1 2 1e\n", 3, 5, "'1e' where a number is expected"},
           {COORDINATE "2 2 1\n1 2 1.5-1010\n", 3, 5, "'1.5-1010' where a number is expected"},
           {COORDINATE "2 2 1\n1 2 1.5-10\n", 3, 5, "'1.5-10' where a number is expected"},
           {COORDINATE "2 2 1\n1 2 1.5-1x1\n", 3, 5, "'1.5-1x1' where a number is expected"},
           {COORDINATE "2 2 1\n1 2 1.5-101-102\n", 3, 5, "'1.5-101-102' where a number is expected"},
           {COORDINATE "2 2 1\n1 2 15-101\n", 3, 5, "'15-101' where a number is expected"},
           {COORDINATE "2 2 1\n1 2 .-101\n", 3, 5, "'.-101' where a number is expected"},
           {COORDINATE "2 2 1\n1 2 1.5D\n", 3, 5, "'1.5D' where a number is expected"},
           {COORDINATE "2 2 1\n1 2 1.5D2D2\n", 3, 5, "'1.5D2D2' where a number is expected"},
           {COORDINATE "2 2 1\n1 2 D5\n", 3, 5, "'D5' where a number is expected"},
           {COORDINATE "2 2 1\n1 2 1.5+400\n", 3, 5, "'1.5+400' is more than double precision can hold"},
           {COORDINATE "2 2 1\n1 2 1.5 7\n", 3, 9, "nothing more is expected"},
           {COORDINATE "2 2 1\n1 2 nan\n", 3, 5, "'nan': entries must be finite"},
           {COORDINATE "2 2 1\n1 2 -Infinity\n", 3, 5, "entries must be finite"},
           {COORDINATE "2 2 1\n1 2 1e400\n", 3, 5, "'1e400' is more than double precision can hold"},
           {COORDINATE "2 2 1\n1 2 -1D400\n", 3, 5, "more than double precision can hold"},
           {COORDINATE "2 2 1\n1 2 1e99999999999999999999\n", 3, 5, "more than double precision can hold"},
           {"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 1.5\n", 3, 5, "not a whole number"},
           {"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 9223372036854775808\n", 3, 5,
            "does not fit in 64 bits"},
           {"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 nan\n", 3, 5,
            "a whole number is expected"},
           {"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2 1\n", 3, 5,
            "nothing more is expected"},
           {SYMMETRIC "3 3 3\n1 1 1\n2 1 5\n1 3 5\n", 5, 1,
            "entry (1, 3) is above the diagonal, others are below"},
           {SYMMETRIC "3 3 2\n1 2 5\n 2 1 5\n", 4, 2, "entry (2, 1) is below the diagonal, others are above"},
           {"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 2 0.5\n", 3, 5,
            "the diagonal of a skew-symmetric matrix is zero"},
           {COORDINATE "0 0 1\n1 1 1.0\n", 3, 1, "row 1 of a matrix with 0 rows"},
           {ARRAY "2 1\n1\n1 2\n", 4, 3, "nothing more is expected"},
           {ARRAY "2 1\n1\nx\n", 4, 1, "'x' where a number is expected"}}) {
    expect_error(bad);
  }
}

TEST(MatrixMarketFault, Counts) {
  for (const Bad& bad : std::initializer_list<Bad>{
           {COORDINATE "2 2 2\n1 1 1\n", 4, 1,
            "the file ends after 1 of the 2 entries that line 2 announces"},
           {COORDINATE "2 2 2\n1 1 1", 3, 6, "the file ends after 1 of the 2 entries"},
           {COORDINATE "2 2 2\n1 1 1\n2", 4, 2, "the column index is missing"},
           {COORDINATE "2 2 2\n1 1 1\n\n  ", 5, 3, "the file ends after 1 of the 2 entries"},
           {COORDINATE "2 2 1\n1 1 1\n\n 2 2 1\n", 5, 2,
            "more data than the 1 entries that line 2 announces"},
           {COORDINATE "2 2 1\n1 1 1\nend of data\n", 4, 1, "more data than the 1 entries"},
           {COORDINATE "2 2 0\n1 1 1\n", 3, 1, "more data than the 0 entries"},
           {COORDINATE "1000000000 1000000000 4000000000\n", 3, 1, "the file ends after 0 of the 4000000000"},
           {COORDINATE "2000000000 2000000000 4000000000\n7 8 9\n", 4, 1,
            "the file ends after 1 of the 4000000000"},
           {ARRAY "2 2\n1\n2\n3\n", 6, 1, "the file ends after 3 of the 4 values"},
           {ARRAY "2 2\n1\n2\n3\n4\n5\n", 7, 1, "more data than the 4 values that line 2 announces"},
           {ARRAY "2147483647 2147483647\n1\n", 4, 1,
            "the file ends after 1 of the 4611686014132420609 values"},
           {"%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n", 5, 1,
            "the file ends after 2 of the 3"}}) {
    expect_error(bad);
  }
}

TEST(MatrixMarketFault, SinglePrecision_Overflow) {
  const std::string text = COORDINATE "2 2 1\n1 2 1e39\n";
  EXPECT_EQ(std::get<Csr<double>>(read_text<double>(text).matrix).values()[0], 1e39);
  const ParseError error = error_of<float>(text);
  EXPECT_EQ(error.line(), 3);
  EXPECT_EQ(error.column(), 5);
  EXPECT_NE(std::string(error.what()).find("more than single precision can hold"), std::string::npos);
}

TEST(MatrixMarketFault, OverflowOfSum) {
  const ParseError error = error_of(COORDINATE "2 3 2\n2 3 1e308\n2 3 1e308\n");
  EXPECT_NE(std::string(error.what()).find("row 2, column 3"), std::string::npos) << error.what();
}

/// A long file in which some lines are spoilt.
std::string long_file(const std::vector<std::pair<std::int64_t, const char*>>& spoilt) {
  constexpr std::int64_t entries = 5000;
  std::string text = COORDINATE "% remark\n70 70 5000\n";
  for (std::int64_t line = 4; line < entries + 4; ++line) {
    std::string data = std::to_string(line % 70 + 1) + " " + std::to_string(line / 70 % 70 + 1) + " 1.25\n";
    for (const auto& [number, words] : spoilt) {
      if (number == line) data = std::string(words) + "\n";
    }
    text += data;
  }
  return text;
}

TEST(MatrixMarketFault, SeveralFaults_FirstReported) {
  // The first is found by the second pass only, the others by the first already.
  const std::string text = long_file({{1777, "1 1 bad"}, {2500, "0 1 1"}, {4000, "71 1 1"}, {4990, "1"}});
  for (const int threads : {1, 2, 5}) {
    for (const std::size_t block : {64U, 1000U, 1U << 18}) {
      const ParseError error = error_of(text, {threads, block});
      EXPECT_EQ(error.line(), 1777);
      EXPECT_EQ(error.column(), 5);
    }
  }
}

TEST(MatrixMarketFault, LongFile_FaultInAnyLine) {
  for (std::int64_t line = 4; line < 5004; line += 97) {
    const ParseError error = error_of(long_file({{line, "\t7 99 1"}}), {3, 512});
    EXPECT_EQ(error.line(), line);
    EXPECT_EQ(error.column(), 4);
  }
}

TEST(MatrixMarketFault, Truncated_ParseError) {
  const std::string text = COORDINATE "% remark\n2 2 3\n1 1 10\n2 1 20\n2 2 30";
  for (std::size_t size = 0; size < text.size() - 2; ++size) {
    EXPECT_GE(error_of(text.substr(0, size)).line(), 1) << size;
  }
}

TEST(MatrixMarketFault, LineWithoutEnd) {
  const std::string text = std::string(COORDINATE "2 2 1\n").append(1000, '1');
  const ParseError error = error_of(text, {2, 128});
  EXPECT_EQ(error.line(), 3);
  EXPECT_NE(std::string(error.what()).find("a line of more than 128 bytes"), std::string::npos);
}

TEST(MatrixMarketFault, RandomBytes_ParseError) {
  std::string garbage = "%%MatrixMarket matrix coordinate real general\n";
  for (int k = 0; k < 100000; ++k) garbage += static_cast<char>(k * 7919 % 256);
  EXPECT_GE(error_of(garbage).line(), 2);
  EXPECT_EQ(error_of(std::string(100000, '\0')).line(), 1);
}

std::string reason_of(const std::string& path) {
  try {
    (void)read_matrix_market_file<double>(path);
  } catch (const ParseError& error) {
    EXPECT_EQ(error.line(), 0);
    return error.what();
  }
  return "no error";
}

TEST(MatrixMarketFault, NotAFile_ParseError) {
  const ScratchFolder folder;
  EXPECT_EQ(reason_of(folder.file("")), folder.file("") + ": is a directory, not a file");
  EXPECT_EQ(reason_of(folder.file("none.mtx")),
            folder.file("none.mtx") + ": cannot be opened: No such file or directory");
  EXPECT_EQ(reason_of("/dev/zero"), "/dev/zero: is a device, not a file");
}

TEST(MatrixMarketFault, UnreadableFile_ParseError) {
  const ScratchFolder folder;
  const std::string unreadable = folder.file("unreadable.mtx", COORDINATE "0 0 0\n");
  std::filesystem::permissions(unreadable, std::filesystem::perms::none);
  if (std::ifstream(unreadable)) GTEST_SKIP() << "this user may read everything";
  EXPECT_EQ(reason_of(unreadable), unreadable + ": cannot be opened: Permission denied");
}

}  // namespace
}  // namespace echelon
