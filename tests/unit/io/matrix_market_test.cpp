// SPDX-License-Identifier: BSD-3-Clause
// Reading of well-formed Matrix Market text, compared with a minimal reader.
#include "unit/io/matrix_market_support.hpp"

#include <iomanip>
#include <limits>
#include <map>
#include <random>
#include <sstream>
#include <tuple>

namespace echelon {
namespace {

using testing::expect_same_bits;
using testing::read_text;

/// Matrix Market by iostreams into a map; knows only well-formed text without comments in the data.
template <class T>
std::map<std::pair<std::int64_t, std::int64_t>, T> plain_read(const std::string& text) {
  std::istringstream in(text);
  std::string banner, object, format, field, symmetry, line;
  in >> banner >> object >> format >> field >> symmetry;
  do std::getline(in, line);
  while (line.empty() || line[0] == '%');
  std::istringstream sizes(line);
  std::int64_t rows = 0, columns = 0, entries = 0;
  sizes >> rows >> columns >> entries;
  std::map<std::pair<std::int64_t, std::int64_t>, T> result;
  const auto add = [&](std::int64_t i, std::int64_t j, T value) {
    const auto [place, is_new] = result.try_emplace({i, j}, value);
    if (!is_new) place->second += value;
    if (i == j || symmetry == "general") return;
    const T mirrored = symmetry == "symmetric" ? value : -value;
    const auto [mirror, mirror_is_new] = result.try_emplace({j, i}, mirrored);
    if (!mirror_is_new) mirror->second += mirrored;
  };
  if (format == "coordinate") {
    for (std::int64_t k = 0; k < entries; ++k) {
      std::int64_t i = 0, j = 0;
      T value = 1;
      in >> i >> j;
      if (field != "pattern") in >> value;
      add(i - 1, j - 1, value);
    }
  } else {
    for (std::int64_t j = 0; j < columns; ++j) {
      const std::int64_t first = symmetry == "general" ? 0 : symmetry == "symmetric" ? j : j + 1;
      for (std::int64_t i = first; i < rows; ++i) {
        T value = 0;
        in >> value;
        add(i, j, value);
      }
    }
  }
  return result;
}

template <class T>
void expect_equal(const Matrix<T>& matrix,
                  const std::map<std::pair<std::int64_t, std::int64_t>, T>& expected) {
  std::map<std::pair<std::int64_t, std::int64_t>, T> found;
  if (const auto* csr = std::get_if<Csr<T>>(&matrix)) {
    for (std::int64_t i = 0; i < csr->rows(); ++i) {
      for (std::int64_t k = csr->row_offsets()[i]; k < csr->row_offsets()[i + 1]; ++k) {
        found[{i, csr->column_indices()[k]}] = csr->values()[k];
      }
    }
    EXPECT_EQ(csr->nonzeros(), static_cast<std::int64_t>(expected.size()));
    EXPECT_EQ(found, expected);
  } else {
    const auto& dense = std::get<Dense<T>>(matrix);
    for (std::int64_t j = 0; j < dense.columns(); ++j) {
      for (std::int64_t i = 0; i < dense.rows(); ++i) {
        const auto place = expected.find({i, j});
        EXPECT_EQ(dense(i, j), place == expected.end() ? T(0) : place->second) << i << ", " << j;
      }
    }
  }
}

struct Shape {
  std::int64_t rows, columns, entries;
};

/// Text with the given header and random entries; duplicates come of their own.
std::string random_text(const std::string& format, const std::string& field, const std::string& symmetry,
                        Shape shape, unsigned seed) {
  std::mt19937 random(seed);
  std::ostringstream out;
  out << std::setprecision(17) << "%%MatrixMarket matrix " << format << ' ' << field << ' ' << symmetry
      << '\n';
  const auto value = [&] {
    if (field == "integer") {
      out << std::uniform_int_distribution<int>(-1000, 1000)(random);
    } else {
      out << std::ldexp(std::normal_distribution<double>()(random),
                        std::uniform_int_distribution<int>(-60, 60)(random));
    }
  };
  const bool general = symmetry == "general";
  const bool skew = symmetry == "skew-symmetric";
  if (format == "array") {
    out << shape.rows << ' ' << shape.columns << '\n';
    for (std::int64_t j = 0; j < shape.columns; ++j) {
      for (std::int64_t i = general ? 0 : j + (skew ? 1 : 0); i < shape.rows; ++i) {
        value();
        out << '\n';
      }
    }
    return out.str();
  }
  out << shape.rows << ' ' << shape.columns << ' ' << shape.entries << '\n';
  for (std::int64_t k = 0; k < shape.entries; ++k) {
    auto i = std::uniform_int_distribution<std::int64_t>(skew ? 2 : 1, shape.rows)(random);
    auto j =
        std::uniform_int_distribution<std::int64_t>(1, general ? shape.columns : i - (skew ? 1 : 0))(random);
    out << i << ' ' << j;
    if (field != "pattern") {
      out << ' ';
      value();
    }
    out << '\n';
  }
  return out.str();
}

template <class T>
class MatrixMarketRead : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(MatrixMarketRead, Reals);

TYPED_TEST(MatrixMarketRead, FieldsAndSymmetries_AgreeWithPlainReader) {
  using T = TypeParam;
  for (const std::string format : {"coordinate", "array"}) {
    for (const std::string field : {"real", "integer", "pattern"}) {
      for (const std::string symmetry : {"general", "symmetric", "skew-symmetric"}) {
        if (field == "pattern" && (format == "array" || symmetry == "skew-symmetric")) continue;
        for (const std::int64_t n : {1, 2, 31, 33}) {
          if (symmetry == "skew-symmetric" && n == 1) continue;
          SCOPED_TRACE(format + " " + field + " " + symmetry + " " + std::to_string(n));
          const std::string text = random_text(format, field, symmetry, {n, n, 5 * n}, 7);
          const auto file = read_text<T>(text);
          expect_equal(file.matrix, plain_read<T>(text));
          EXPECT_EQ(file.info.coordinate, format == "coordinate");
          EXPECT_EQ(file.info.field, field);
          EXPECT_EQ(file.info.symmetry, symmetry);
          EXPECT_EQ(file.info.rows, n);
          EXPECT_EQ(file.info.columns, n);
        }
      }
    }
  }
}

TYPED_TEST(MatrixMarketRead, Rectangular_AgreesWithPlainReader) {
  using T = TypeParam;
  for (const auto& [rows, columns] : {std::pair{3, 1025}, std::pair{1025, 3}, std::pair{1, 40}}) {
    for (const std::string format : {"coordinate", "array"}) {
      const std::string text = random_text(format, "real", "general", {rows, columns, 2000}, 11);
      expect_equal(read_text<T>(text).matrix, plain_read<T>(text));
    }
  }
}

TYPED_TEST(MatrixMarketRead, ThreadsAndBlocks_SameBits) {
  using T = TypeParam;
  for (const std::string symmetry : {"general", "symmetric", "skew-symmetric"}) {
    const std::string text = random_text("coordinate", "real", symmetry, {70, 70, 4000}, 3);
    const auto expected = read_text<T>(text, {.threads = 1});
    EXPECT_GT(expected.info.duplicate_entries, 0);
    for (const int threads : {1, 2, 5}) {
      for (const std::size_t block : {64U, 257U, 4096U}) {
        const auto file = read_text<T>(text, {threads, block});
        expect_same_bits(std::get<Csr<T>>(expected.matrix), std::get<Csr<T>>(file.matrix));
        EXPECT_EQ(file.info.duplicate_entries, expected.info.duplicate_entries);
      }
    }
    const std::string array = random_text("array", "real", symmetry, {33, 33, 0}, 3);
    for (const int threads : {1, 2, 5}) {
      const auto file = read_text<T>(array, {threads, 64});
      expect_same_bits(std::get<Dense<T>>(read_text<T>(array).matrix), std::get<Dense<T>>(file.matrix));
    }
  }
}

TEST(MatrixMarketText, Duplicates_SummedInFileOrderAndCounted) {
  // 1 + 1e16 - 1e16 is 0 in this order and 1 in another.
  const auto file = read_text<double>(
      "%%MatrixMarket matrix coordinate real general\n2 2 5\n"
      "2 1 1\n2 1 1e16\n1 1 5\n2 1 -1e16\n1 1 -5\n");
  const auto& matrix = std::get<Csr<double>>(file.matrix);
  EXPECT_EQ(matrix.nonzeros(), 2);  // a sum of zero stays an element
  EXPECT_EQ(matrix.values().to_vector(), (std::vector<double>{0, 0}));
  EXPECT_EQ(file.info.stored_entries, 5);
  EXPECT_EQ(file.info.duplicate_entries, 3);
}

TEST(MatrixMarketText, DuplicatesInSymmetricFile_CountedOnce) {
  const auto file = read_text<double>(
      "%%MatrixMarket matrix coordinate real symmetric\n3 3 5\n2 1 1\n2 1 2\n3 3 4\n3 3 5\n3 3 6\n");
  EXPECT_EQ(file.info.duplicate_entries, 3);
  EXPECT_EQ(std::get<Csr<double>>(file.matrix).values().to_vector(), (std::vector<double>{3, 3, 15}));
}

TEST(MatrixMarketText, EitherTriangle_Read) {
  const std::string header = "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 3\n";
  const auto lower = read_text<double>(header + "2 1 -1\n3 1 -2\n1 1 0\n");
  const auto upper = read_text<double>(header + "1 2 1\n1 3 2\n1 1 0\n");
  expect_same_bits(std::get<Csr<double>>(lower.matrix), std::get<Csr<double>>(upper.matrix));
}

TEST(MatrixMarketText, LongUnsortedRows_Sorted) {
  constexpr int n = 1025;
  std::string text = "%%MatrixMarket matrix coordinate integer general\n2 1025 1025\n";
  for (int k = 0; k < n; ++k) {
    const int column = k * 512 % n;  // 512 and 1025 have no common factor
    text += "2 " + std::to_string(column + 1) + " " + std::to_string(10 * column) + "\n";
  }
  const auto file = read_text<float>(text);
  const auto& matrix = std::get<Csr<float>>(file.matrix);
  ASSERT_EQ(matrix.nonzeros(), n);
  for (int k = 0; k < n; ++k) {
    EXPECT_EQ(matrix.column_indices()[k], k);
    EXPECT_EQ(matrix.values()[k], static_cast<float>(10 * k));
  }
}

TEST(MatrixMarketText, BlanksAndCommentsInData_Skipped) {
  const auto plain =
      read_text<double>("%%MatrixMarket matrix coordinate real general\n2 3 2\n1 3 1.5\n2 1 -2\n");
  for (const std::string text :
       {"%%matrixmarket MATRIX Coordinate REAL General\r\n2 3 2\r\n1 3 1.5\r\n2 1 -2\r\n",
        "%%MatrixMarket matrix coordinate real general\n% remark\n\n%\n 2\t3  2 \n1 3 1.5\n2 1 -2",
        "%%MatrixMarket matrix coordinate real general\n2 3 2\n\n1 3 1.5\n  \n% 9 9 9\n\t2   1 -2 \t\n\n\n",
        "%%MatrixMarket matrix coordinate real general\n+2 3 2\n+1 3 +1.5D+00\n2 1 -0.2d1\n",
        "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 3 15e-1\n2 1 -2.\n"}) {
    SCOPED_TRACE(text);
    expect_same_bits(std::get<Csr<double>>(plain.matrix),
                     std::get<Csr<double>>(read_text<double>(text).matrix));
  }
}

TEST(MatrixMarketText, RealHermitian_Symmetric) {
  for (const std::string format : {"coordinate", "array"}) {
    for (const std::string field : {"real", "integer", "pattern"}) {
      if (field == "pattern" && format == "array") continue;
      SCOPED_TRACE(format + " " + field);
      std::string text = random_text(format, field, "symmetric", {31, 31, 200}, 5);
      const auto expected = read_text<double>(text);
      text.replace(text.find("symmetric"), std::string("symmetric").size(), "Hermitian");
      const auto file = read_text<double>(text);
      EXPECT_EQ(file.info.symmetry, "symmetric");
      std::visit(
          [&](const auto& matrix) {
            expect_same_bits(matrix, std::get<std::decay_t<decltype(matrix)>>(file.matrix));
          },
          expected.matrix);
    }
  }
}

TEST(MatrixMarketText, FortranExponents) {
  const auto file = read_text<double>(
      "%%MatrixMarket matrix array real general\n12 1\n"
      "1.234-101\n-1.234+101\n+1.5-300\n.5+100\n5.-100\n0.000+000\n1.0D+02\n1.D5\n-1d-3\n1.5-310\n"
      "1.5-400\n-1.5D-400\n");
  EXPECT_EQ(testing::bits(std::get<Dense<double>>(file.matrix).to_vector()),
            testing::bits(std::vector<double>{1.234e-101, -1.234e101, 1.5e-300, .5e100, 5e-100, 0, 100, 1e5,
                                              -1e-3, 1.5e-310, 0.0, -0.0}));
  const auto single = read_text<float>(
      "%%MatrixMarket matrix coordinate real general\n1 3 3\n1 1 1.5-044\n1 2 1.234-101\n1 3 1.5+030\n");
  EXPECT_EQ(std::get<Csr<float>>(single.matrix).values().to_vector(),
            (std::vector<float>{1.5e-44F, 0, 1.5e30F}));
}

TEST(MatrixMarketText, Underflow_Zero) {
  const auto file = read_text<float>(
      "%%MatrixMarket matrix array real general\n6 1\n"
      "1e-400\n-1e-50\n1e-40\n0.0000000000000000000000000000000000000000000000000001\n1D-99\n"
      "1e-99999999999999999999\n");
  const auto values = std::get<Dense<float>>(file.matrix).to_vector();
  EXPECT_EQ(testing::bits(values), testing::bits(std::vector<float>{0.0F, -0.0F, 1e-40F, 0.0F, 0.0F, 0.0F}));
}

TEST(MatrixMarketText, LargestAndSmallestNumbers_Kept) {
  const auto file = read_text<double>(
      "%%MatrixMarket matrix array real general\n4 1\n"
      "1.7976931348623157e308\n4.9406564584124654e-324\n-0.0\n0.1\n");
  using Limits = std::numeric_limits<double>;
  EXPECT_EQ(testing::bits(std::get<Dense<double>>(file.matrix).to_vector()),
            testing::bits(std::vector<double>{Limits::max(), Limits::denorm_min(), -0.0, 0.1}));
}

TEST(MatrixMarketText, EmptyMatrices) {
  for (const auto& [rows, columns] : {std::pair{0, 0}, std::pair{0, 3}, std::pair{3, 0}, std::pair{1, 1}}) {
    const std::string size = std::to_string(rows) + " " + std::to_string(columns);
    const auto file = read_text<double>("%%MatrixMarket matrix coordinate real general\n" + size + " 0\n");
    const auto& csr = std::get<Csr<double>>(file.matrix);
    EXPECT_EQ(csr.rows(), rows);
    EXPECT_EQ(csr.columns(), columns);
    EXPECT_EQ(csr.nonzeros(), 0);
    if (rows * columns > 0) continue;
    const auto array = read_text<double>("%%MatrixMarket matrix array real general\n" + size);
    EXPECT_EQ(std::get<Dense<double>>(array.matrix).rows(), rows);
    EXPECT_EQ(std::get<Dense<double>>(array.matrix).columns(), columns);
  }
  const auto skew = read_text<double>("%%MatrixMarket matrix array real skew-symmetric\n1 1\n");
  EXPECT_EQ(std::get<Dense<double>>(skew.matrix).to_vector(), std::vector<double>{0});
}

TEST(MatrixMarketText, LargeIntegers_Rounded) {
  const auto file = read_text<double>(
      "%%MatrixMarket matrix coordinate integer general\n1 2 2\n1 1 9007199254740993\n1 2 "
      "-9223372036854775808\n");
  EXPECT_EQ(std::get<Csr<double>>(file.matrix).values().to_vector(),
            (std::vector<double>{9007199254740992.0, -9223372036854775808.0}));
}

}  // namespace
}  // namespace echelon
