// SPDX-License-Identifier: BSD-3-Clause
#include "io/harwell_boeing/fortran_format.hpp"
#include "io/text/numbers.hpp"
#include "support/test_data.hpp"
#include "unit/io/file_support.hpp"

#include <cmath>

namespace echelon {
namespace {

using testing::expect_words;
using testing::memory;
using testing::parse_error_of;
using testing::Places;
using testing::places_of;

template <class T = double>
HarwellBoeingFile<T> read(const std::string& text) {
  return io::read_harwell_boeing_source<T>(*memory(text), "memory.rua");
}

/// The four header lines; `lines_of_right_hand_sides` beyond 0 calls for a fifth.
std::string header(const std::string& type, const std::string& sizes, const std::string& formats,
                   int lines_of_right_hand_sides = 0) {
  std::string title = "A title";
  title.resize(72, ' ');
  return title + "KEY     \n 9 1 1 1 " + std::to_string(lines_of_right_hand_sides) + "\n" + type +
         "           " + sizes + " 0\n" + formats + "\n";
}

const std::string usual = "(16I5) (16I5) (4E20.12) (4E20.12)";

// SciPy 1.10's hb_write: fields of 24 columns below the format (3E25.16).
TEST(HarwellBoeing, ScipyFile_Read) {
  const auto file =
      read_harwell_boeing<double>((test::test_data_directory() / "scipy_hb_write.rua").string());
  EXPECT_EQ(places_of(file.matrix), (Places{{{0, 0}, 4},
                                            {{0, 1}, -1},
                                            {{1, 0}, 1.5e-7},
                                            {{1, 1}, 2},
                                            {{1, 3}, -8},
                                            {{2, 1}, 1e20},
                                            {{2, 2}, -3},
                                            {{2, 3}, 0.1},
                                            {{3, 2}, -5},
                                            {{3, 3}, -6e-100}}));
}

TEST(HarwellBoeing, AdjacentFields_ByWidth) {
  const auto file = read(header("RUA", "1 4 4", "(10I3) (10I3) (4E8.1)") +
                         "  1  2  3  4  5\n  1  1  1  1\n 1.0E+00-2.0E 01 3.0E+00-4.0E+00\n");
  EXPECT_EQ(places_of(file.matrix), (Places{{{0, 0}, 1}, {{0, 1}, -20}, {{0, 2}, 3}, {{0, 3}, -4}}));
}

TEST(HarwellBoeing, Unsymmetric) {
  const auto file = read(header("RUA", "2 3 3", "(10I3) (10I3) (2E10.3)") +
                         "  1  2  4  4\n  2  1  2\n   1.5E+00  -2.0D-1\n 3.\n");
  EXPECT_EQ(places_of(file.matrix), (Places{{{1, 0}, 1.5}, {{0, 1}, -0.2}, {{1, 1}, 3}}));
  EXPECT_EQ(file.matrix.columns(), 3);
  EXPECT_EQ(file.title, "A title");
  EXPECT_EQ(file.key, "KEY");
  EXPECT_EQ(file.info.symmetry, "general");
  EXPECT_EQ(file.info.stored_entries, 3);
  EXPECT_EQ(file.right_hand_sides.columns(), 0);
}

TEST(HarwellBoeing, SymmetricFile_TriangleMirrored) {
  const std::string data = "  1  3  4\n  1  2  2\n   4.0E+00  -1.0E+00\n 5.\n";
  EXPECT_EQ(places_of(read(header("rsa", "2 2 3", "(10I3) (10I3) (2E10.3)") + data).matrix),
            (Places{{{0, 0}, 4}, {{1, 0}, -1}, {{0, 1}, -1}, {{1, 1}, 5}}));
  const auto skew = read(header("RZA", "2 2 1", "(10I3) (10I3) (2E10.3)") + "  1  2  2\n  2\n 7.\n");
  EXPECT_EQ(places_of(skew.matrix), (Places{{{1, 0}, 7}, {{0, 1}, -7}}));
  EXPECT_EQ(skew.info.symmetry, "skew-symmetric");
  const auto pattern = read(header("PSA", "2 2 2", "(10I3) (10I3)") + "  1  3  3\n  1  2\n");
  EXPECT_EQ(places_of(pattern.matrix), (Places{{{0, 0}, 1}, {{1, 0}, 1}, {{0, 1}, 1}}));
}

TEST(HarwellBoeing, AdjacentIntegers_ByWidth) {
  const auto file =
      read(header("RUA", "100 1 3", "(2I3) (3I3) (3F5.2)") + "  1  4\n 98 99100\n-1.5012.5099.99\n");
  EXPECT_EQ(places_of(file.matrix), (Places{{{97, 0}, -1.5}, {{98, 0}, 12.5}, {{99, 0}, 99.99}}));
}

TEST(HarwellBoeing, Duplicates_Summed) {
  const auto file =
      read(header("RUA", "2 1 3", "(10I3) (10I3) (3F5.0)") + "  1  4\n  2  1  2\n   1.   2.   3.\n");
  EXPECT_EQ(places_of(file.matrix), (Places{{{0, 0}, 2}, {{1, 0}, 4}}));
  EXPECT_EQ(file.info.duplicate_entries, 1);
}

TEST(HarwellBoeing, RightHandSides) {
  const std::string matrix = "    1    2    3\n    1    2\n   1.   1.\n";
  const std::string formats = "(16I5) (16I5) (4F5.0) (2F5.0)";
  const auto file = read(header("RUA", "2 2 2", formats, 6) + "FGX   2 0\n" + matrix +
                         "   1.   2.\n   3.   4.\n   5.   6.\n   7.   8.\n   9.  10.\n  11.  12.\n");
  EXPECT_EQ(file.right_hand_sides.to_vector(), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(file.right_hand_sides.columns(), 2);
  expect_words(
      parse_error_of([&] { return read(header("RUA", "2 2 2", formats, 1) + "M    1 2\n" + matrix); }),
      ":5:1: only full right-hand sides");
}

TEST(HarwellBoeing, FortranNumbers) {
  const auto number = [](const char* field, const char* format) {
    return io::parse_fortran_real<double>(field, io::parse_fortran_format(format).first.front().front());
  };
  EXPECT_EQ(number(" 1.5 ", "(F5.2)"), 1.5);
  EXPECT_EQ(number("  125", "(F5.2)"), 1.25);
  EXPECT_EQ(number("-125", "(4E15.8)"), -125e-8);
  EXPECT_EQ(number("+.5", "(F5.2)"), 0.5);
  EXPECT_EQ(number("5.", "(F5.2)"), 5);
  EXPECT_EQ(number("1.5D+3", "(3D26.18)"), 1500);
  EXPECT_EQ(number("1.5d3", "(3D26.18)"), 1500);
  EXPECT_EQ(number("1.5E 03", "(4E20.12)"), 1500);
  EXPECT_EQ(number("1.5-300", "(4E20.12)"), 1.5e-300);
  EXPECT_EQ(number("1.5+3", "(4E20.12)"), 1500);
  EXPECT_EQ(number("1.5E+00", "(1P,4E20.12)"), 1.5);
  EXPECT_EQ(number("1.5", "(1P4E20.12)"), 0.15);
  EXPECT_EQ(number("1.5", "( 2P , 4 G 20.12 E 3 )"), 0.015);
  EXPECT_EQ(number("1.5", "(-1P4E20.12)"), 15);
  EXPECT_EQ(number("1.0E-400", "(E20.12)"), 0);
  for (const char* field : {"", "  ", "x", "1.5.2", "1 5", "E5", "1.5E", "1.5X3", "nan", "inf", "--5",
                            "1.5E5E5", "1E999", "0x10", "1E99999999999999999999"}) {
    EXPECT_THROW(number(field, "(E20.12)"), io::Fault) << field;
  }
}

/// The fields of a format: kind, first column from 0, width, and .decimals or P and scale where they are not
/// 0; / between the lines of a pass, and : before the further passes.
std::string layout_of(const std::string& format) {
  std::string result;
  const auto append = [&](const std::vector<io::FortranLine>& lines) {
    for (std::size_t k = 0; k < lines.size(); ++k) {
      if (k > 0) result += "/ ";
      for (const io::FortranField& field : lines[k]) {
        result += field.kind + std::to_string(field.column) + "+" + std::to_string(field.width);
        if (field.decimals != 0) result += "." + std::to_string(field.decimals);
        if (field.scale != 0) result += "P" + std::to_string(field.scale);
        result += ' ';
      }
    }
  };
  const io::FortranFormat parsed = io::parse_fortran_format(format);
  append(parsed.first);
  result += ": ";
  append(parsed.further);
  return result;
}

TEST(HarwellBoeing, FortranFormats) {
  const auto expect = [](const char* format, const std::string& layout) {
    EXPECT_EQ(layout_of(format), layout) << format;
  };
  expect("(3I5)", "I0+5 I5+5 I10+5 : I0+5 I5+5 I10+5 ");
  expect(" ( i 5.3 ) ", "I0+5 : I0+5 ");
  expect("(1X,2I5)", "I1+5 I6+5 : I1+5 I6+5 ");
  expect("(X,I5,2X,I5,9X)", "I1+5 I8+5 : I1+5 I8+5 ");
  expect("(T3,I5,TR2,I4,TL3,I1)", "I2+5 I9+4 I10+1 : I2+5 I9+4 I10+1 ");
  expect("(TL9,I5)", "I0+5 : I0+5 ");
  expect("(E15.8,ES20.12E3,EN20.12,D9.1,F4.0,G8.2)",
         "E0+15.8 E15+20.12 E35+20.12 D55+9.1 F64+4 G68+8.2 : E0+15.8 E15+20.12 E35+20.12 D55+9.1 F64+4 "
         "G68+8.2 ");
  expect("(2(I5))", "I0+5 I5+5 : I0+5 I5+5 ");
  expect("(2(1X,2(I3)))", "I1+3 I4+3 I8+3 I11+3 : I1+3 I4+3 I8+3 I11+3 ");
  // Further lines start at the last group that is not inside another one.
  expect("(I9,2(I5,1X),I7)", "I0+9 I9+5 I15+5 I21+7 : I0+5 I6+5 I12+7 ");
  expect("(I9,2(I5),(I6))", "I0+9 I9+5 I14+5 I19+6 : I0+6 ");
  // A scale factor stays until the next one, on further lines as well.
  expect("(1P,2E9.1)", "E0+9.1P1 E9+9.1P1 : E0+9.1P1 E9+9.1P1 ");
  expect("(1P2E9.1)", "E0+9.1P1 E9+9.1P1 : E0+9.1P1 E9+9.1P1 ");
  expect("(2(1PE9.1))", "E0+9.1P1 E9+9.1P1 : E0+9.1P1 E9+9.1P1 ");
  expect("(E9.1,-2P,E9.1)", "E0+9.1 E9+9.1P-2 : E0+9.1P-2 E9+9.1P-2 ");
  expect("(1P,E9.1,0P,F9.1)", "E0+9.1P1 F9+9.1 : E0+9.1P1 F9+9.1 ");
  expect("(2(SP,BN,I5,SS,S))", "I0+5 I5+5 : I0+5 I5+5 ");
  expect("(2I5/I9)", "I0+5 I5+5 / I0+9 : I0+5 I5+5 / I0+9 ");
  expect("(/,I5,//)", "/ I0+5 / / : / I0+5 / / ");
  for (const char* format : {"",
                             "()",
                             "16I5",
                             "(16I5",
                             "(16I5))",
                             "(I)",
                             "(0I5)",
                             "(16A5)",
                             "(16I0)",
                             "(P4E5.1)",
                             "(-4E5.1)",
                             "(4E5.)",
                             "(1X)",
                             "(I5,(1X))",
                             "(I5,)",
                             "(,I5)",
                             "(I5,,I5)",
                             "(I5I5)",
                             "(2(I5)I5)",
                             "(0(I5))",
                             "(2())",
                             "(-2(I5))",
                             "(-2X,I5)",
                             "(T0,I5)",
                             "(3T5,I5)",
                             "(BZ,I5)",
                             "('x',I5)",
                             "(1Hx,I5)",
                             "(I5:)",
                             "(300000I5)",
                             "(99999999999I5)",
                             "(I999999)",
                             "(99999(99999(I1)))",
                             "(99999(99999(1P)),I5)",
                             "(99999(99999(T1,I1)))",
                             "(9999(9999(/)),I5)"}) {
    EXPECT_THROW(io::parse_fortran_format(format), io::Fault) << format;
  }
  EXPECT_THROW(io::parse_fortran_format(std::string(100000, '(')), io::Fault);
  EXPECT_THROW(io::parse_fortran_format(std::string(30, '(') + "I5" + std::string(30, ')')), io::Fault);
}

struct Layout {
  const char* formats;
  const char* data;
};

// gfortran wrote the lines of numbers.
TEST(HarwellBoeing, FortranFormats_SameMatrix) {
  const Places expected = {{{0, 0}, 4}, {{1, 0}, 1}, {{0, 1}, 1}, {{1, 1}, 4},
                           {{2, 1}, 2}, {{1, 2}, 2}, {{2, 2}, 4}};
  for (const Layout& layout : std::initializer_list<Layout>{
           {"(1X,8I9)        (1X,8I9)        (5E15.8)",
            "         1        3        5        6\n         1        2        2        3        3\n"
            " 0.40000000E+01 0.10000000E+01 0.40000000E+01 0.20000000E+01 0.40000000E+01\n"},
           {"(16I5)          (16I5)          (3(1P,E24.16))",
            "    1    3    5    6\n    1    2    2    3    3\n"
            "  4.0000000000000000E+00  1.0000000000000000E+00  4.0000000000000000E+00\n"
            "  2.0000000000000000E+00  4.0000000000000000E+00\n"},
           {"(I3,2(I4,1X)) (2(I2,1X)) (2(1PE10.2,1X))",
            "  1   3    5\n   6\n 1  2\n 2  3\n 3\n  4.00E+00   1.00E+00\n  4.00E+00   2.00E+00\n  "
            "4.00E+00\n"},
           {"(2I3/I3) (I2,T9,I2) (2P,F8.1,0P,F8.1)",
            "  1  3\n  5\n  6\n 1       2\n 2       3\n 3\n   400.0     1.0\n   400.0     2.0\n   400.0\n"},
           {"(4I3/) (5I3) (/,3F5.1)",
            "  1  3  5  6\n\n  1  2  2  3  3\n\n  4.0  1.0  4.0\n\n  2.0  4.0\n"}}) {
    SCOPED_TRACE(layout.formats);
    const auto file = read(header("RSA", "3 3 5", layout.formats) + layout.data);
    EXPECT_EQ(places_of(file.matrix), expected);
  }
}

TEST(HarwellBoeing, LastSlash_LineMayBeMissing) {
  const std::string data = "  1  2  3\n\n  1  2\n   1.   2.";
  for (const char* end : {"", "\n", "\n\n"}) {
    const auto file = read(header("RUA", "2 2 2", "(3I3/) (10I3) (2F5.0/)") + data + end);
    EXPECT_EQ(places_of(file.matrix), (Places{{{0, 0}, 1}, {{1, 1}, 2}})) << end;
  }
}

TEST(HarwellBoeing, RealHermitian_Symmetric) {
  const auto file =
      read(header("RHA", "2 2 3", "(10I3) (10I3) (3F5.0)") + "  1  3  4\n  1  2  2\n   4.   1.   5.\n");
  EXPECT_EQ(places_of(file.matrix), (Places{{{0, 0}, 4}, {{1, 0}, 1}, {{0, 1}, 1}, {{1, 1}, 5}}));
  EXPECT_EQ(file.info.symmetry, "symmetric");
}

struct Bad {
  std::string text;
  std::int64_t line, column;
  const char* words;
};

TEST(HarwellBoeingFault, LineAndColumn) {
  const std::string formats = "(10I3) (10I3) (4F5.0)";
  const std::string head = header("RUA", "2 2 2", formats);
  for (const Bad& bad : std::initializer_list<Bad>{
           {"", 1, 1, "the file ends before the title"},
           {"title\n", 2, 1, "the file ends before the numbers of lines"},
           {"title\n1 1 1\n", 2, 6, "four or five numbers of lines"},
           {"title\n1 1 x 1\n", 2, 5, "'x' where a whole number"},
           {header("CUA", "2 2 2", formats), 3, 1, "the numbers are complex"},
           {header("RXA", "2 2 2", formats), 3, 2, "the second letter should be U, S, H, Z or R"},
           {header("RHA", "2 3 2", formats), 3, 1, "not square"},
           {header("RUE", "2 2 2", formats), 3, 3, "elemental matrices are not supported"},
           {header("XYZ", "2 2 2", formats), 3, 1, "the first letter should be R, I, P or C"},
           {header("PZA", "2 2 2", formats), 3, 1, "a pattern has no signs"},
           {header("RSA", "2 3 2", formats), 3, 1, "not square"},
           {header("RUA", "3000000000 2 2", formats), 3, 1, "the maximum is 2147483647"},
           {header("RUA", "2 -2 2", formats), 3, 17, "'-2' where a number from 0"},
           {header("RUA", "2 2 2", "(10I3)"), 4, 7, "the format of the row indices is missing"},
           {header("RUA", "2 2 2", "(10I3) (10X3) (4F5.0)"), 4, 8, "'(10X3)' is not a supported format"},
           {header("RUA", "2 2 2", "(10I3) (10F3) (4F5.0)"), 4, 1, "must be whole numbers"},
           {header("RUA", "2 2 2", "(5(I3,F3.0)) (10I3) (4F5.0)"), 4, 1, "must be whole numbers"},
           {header("RUA", "2 2 2", "(1X,2I3) (10I3) (4F5.0)") + "   1  2\n   x\n", 6, 4,
            "'x' where a whole number"},
           {header("RUA", "2 2 2", "(2I3/I4) (10I3) (4F5.0)") + "  1  2\n", 6, 1,
            "the file ends before the 3 column pointers"},
           {head, 5, 1, "the file ends before the 3 column pointers are complete"},
           {head + "  1  2\n", 5, 7, "the number is missing"},
           {head + "  1  2  x\n", 5, 9, "'x' where a whole number"},
           {head + "  0  2  3\n", 5, 1, "0 where a column pointer from 1 to 1"},
           {head + "  1  3  2\n", 5, 7, "2 where a column pointer from 3 to 3"},
           {head + "  1  2  4\n", 5, 7, "4 where a column pointer from 2 to 3"},
           {head + "  1  2  2\n", 5, 1, "the columns end after 1 of the 2 entries"},
           {head + "  1  2  3\n  1  3\n", 6, 4, "row 3 of a matrix with 2 rows"},
           {head + "  1  2  3\n  1  0\n", 6, 4, "row 0"},
           {head + "  1  2  3\n  1  2\n", 7, 1, "the file ends before the 2 values"},
           {head + "  1  2  3\n  1  2\n   1.    x\n", 7, 10, "'x' where a number"},
           {head + "  1  2  3\n  1  2\n   1.  nan\n", 7, 8, "finite"},
           {head + "  1  2  3\n  1  2\n   1.   2.\n\nmore\n", 9, 1, "more data than the header announces"},
           {header("RSA", "3 3 2", formats) + "  1  2  2  3\n  2  1\n   1.   2.\n", 6, 4,
            "stores one triangle only"},
           {header("RZA", "2 2 1", formats) + "  1  2  2\n  1\n   1.\n", 0, 0,
            "the diagonal of a skew-symmetric"}}) {
    SCOPED_TRACE(bad.text);
    const ParseError error = parse_error_of([&] { return read(bad.text); });
    EXPECT_EQ(error.line(), bad.line) << error.what();
    EXPECT_EQ(error.column(), bad.column) << error.what();
    expect_words(error, bad.words);
  }
}

TEST(HarwellBoeing, RealMatrix_AgreesWithItsMatrixMarketForm) {
  const auto file = read_harwell_boeing<double>((test::test_data_directory() / "bcsstk02.rsa.gz").string());
  const auto expected = read_matrix_market<double>((test::data_directory() / "bcsstk02.mtx").string());
  EXPECT_EQ(places_of(file.matrix), places_of(expected));
}

}  // namespace
}  // namespace echelon
