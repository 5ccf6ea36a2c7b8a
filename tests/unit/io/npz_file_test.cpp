// SPDX-License-Identifier: BSD-3-Clause
// Archives written by NumPy 1.24 and SciPy 1.10, the seeds of the fuzz target npz.
#include "support/test_data.hpp"
#include "unit/io/file_support.hpp"

#include <echelon/io/npz.hpp>

namespace echelon {
namespace {

using testing::content_of;
using testing::expect_words;
using testing::memory;
using testing::parse_error_of;
using testing::Places;
using testing::places_of;

std::string seed(const std::string& name) {
  return (test::source_directory() / "tests/fuzz/corpus/npz" / name).string();
}

NpzFile<double> read_memory(const std::string& content, const std::string& array = {},
                            FileRole role = FileRole::matrix) {
  return io::read_npz_source<double>(*memory(content), "memory.npz", array, role);
}

std::vector<double> elements(const Matrix<double>& matrix) {
  return std::get<Dense<double>>(matrix).to_vector();
}

TEST(Npz, MatrixAndRightHandSide) {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const auto file = read_npz<double>(seed(name));
    EXPECT_EQ(file.array, "A");
    EXPECT_EQ(elements(file.matrix), (std::vector<double>{4, 2.5, -1, 3}));
    EXPECT_EQ(file.right_hand_sides.to_vector(), (std::vector<double>{1, 2}));
    EXPECT_FALSE(file.integer);
  }
}

TEST(Npz, ArrayByName) {
  EXPECT_EQ(elements(read_npz<double>(seed("stored.npz"), "b").matrix), (std::vector<double>{1, 2}));
  const auto vectors = read_memory(content_of(seed("stored.npz")), "", FileRole::right_hand_side);
  EXPECT_EQ(vectors.array, "b");
  EXPECT_EQ(vectors.right_hand_sides.columns(), 0);
  expect_words(parse_error_of([&] { return read_npz<double>(seed("stored.npz"), "c"); }),
               "no array named 'c'; there are 'A', 'b'");
}

TEST(Npz, OnlyArray) {
  for (const char* name : {"one.npz", "zip64.npz"}) {
    const auto file = read_npz<double>(seed(name));
    EXPECT_EQ(file.array, "arr_0");
    EXPECT_TRUE(file.integer);
    EXPECT_EQ(elements(file.matrix), (std::vector<double>{0, 3, 1, 4, 2, 5}));
  }
}

TEST(Npz, SparseFormats) {
  const Places expected = {{{0, 0}, 4}, {{0, 1}, -1}, {{1, 2}, 2}, {{2, 0}, 1}, {{2, 2}, 3}};
  for (const char* name : {"csr.npz", "csc.npz"}) {
    const auto file = read_npz<double>(seed(name));
    EXPECT_EQ(places_of(std::get<Csr<double>>(file.matrix)), expected) << name;
    EXPECT_EQ(file.stored_entries, 5);
  }
  const auto coordinates = read_npz<float>(seed("coo.npz"));
  EXPECT_TRUE(coordinates.integer);
  const auto& matrix = std::get<Csr<float>>(coordinates.matrix);
  EXPECT_EQ(matrix.rows(), 2);
  EXPECT_EQ(matrix.columns(), 3);
  EXPECT_EQ(places_of(matrix), (Places{{{0, 1}, 4}, {{0, 2}, 1}, {{1, 0}, 5}}));
  EXPECT_EQ(coordinates.duplicate_entries, 1);
}

TEST(Npz, BlocksInRows) {
  const Places expected = {{{0, 3}, 1}, {{0, 5}, 2},  {{1, 4}, 3}, {{2, 0}, 4}, {{2, 1}, 5},
                           {{2, 2}, 6}, {{2, 5}, -1}, {{3, 0}, 7}, {{3, 1}, 8}, {{3, 2}, 9}};
  for (const char* name : {"bsr.npz", "bsr_fortran.npz"}) {
    SCOPED_TRACE(name);
    const auto file = read_npz<double>(seed(name));
    const auto& matrix = std::get<Csr<double>>(file.matrix);
    EXPECT_EQ(matrix.rows(), 4);
    EXPECT_EQ(matrix.columns(), 6);
    EXPECT_EQ(places_of(matrix), expected);
    EXPECT_EQ(file.stored_entries, 18);
    EXPECT_EQ(file.duplicate_entries, 0);
    EXPECT_EQ(file.integer, std::string(name) == "bsr_fortran.npz");
  }
}

// The elements outside the matrix are NaN and Inf in these files.
TEST(Npz, Diagonals) {
  for (const char* name : {"diagonals.npz", "diagonals_fortran.npz"}) {
    const auto file = read_npz<float>(seed(name));
    const auto& matrix = std::get<Csr<float>>(file.matrix);
    EXPECT_EQ(matrix.rows(), 3);
    EXPECT_EQ(matrix.columns(), 4);
    EXPECT_EQ(places_of(matrix), (Places{{{0, 1}, 4}, {{1, 0}, 1}, {{2, 0}, 6}, {{2, 1}, 2}, {{2, 3}, 5}}))
        << name;
  }
  const auto square = read_npz<double>(seed("dia.npz"));
  EXPECT_EQ(places_of(std::get<Csr<double>>(square.matrix)), (Places{{{0, 0}, 1}, {{1, 1}, 2}, {{2, 2}, 3}}));
}

TEST(Npz, AnyFile_RecognisedByContent) {
  const testing::ScratchFolder folder;
  const auto file = read_matrix_file<double>(folder.file("renamed", content_of(seed("stored.npz"))));
  EXPECT_EQ(file.info.format, FileFormat::npz);
  EXPECT_FALSE(file.info.coordinate);
  EXPECT_EQ(file.right_hand_sides.columns(), 1);
  EXPECT_EQ(read_matrix_file<double>(seed("csr.npz")).info.stored_entries, 5);
  ReadFileOptions b;
  b.array = "b";
  EXPECT_EQ(read_matrix_file<double>(seed("stored.npz"), b).info.columns, 1);
  write_matrix<double>(folder.file("a.npz"), read_matrix<double>(seed("csr.npz")));
  EXPECT_EQ(places_of(std::get<Csr<double>>(read_matrix<double>(folder.file("a.npz")))),
            places_of(std::get<Csr<double>>(read_matrix<double>(seed("csr.npz")))));
}

TEST(Npz, Corrupt_ParseError) {
  const std::string stored = content_of(seed("stored.npz"));
  const auto error_of = [](const std::string& content) {
    return parse_error_of([&] { return read_memory(content); });
  };
  expect_words(error_of(""), "cut off");
  expect_words(error_of(stored.substr(0, stored.size() - 1)), "cut off");
  expect_words(error_of(content_of(seed("empty.npz"))), "holds no arrays");

  std::string changed = stored;
  changed[stored.find("}") + 80] ^= 1;  // in the elements of A
  expect_words(error_of(changed), "checksum");

  const std::size_t entry = stored.find("PK\1\2");
  std::string method = stored;
  method[entry + 10] = 12;
  expect_words(error_of(method), "compression method 12");
  std::string encrypted = stored;
  encrypted[entry + 8] = 1;
  expect_words(error_of(encrypted), "encrypted");
  std::string far = stored;
  far[entry + 44] = 1;  // 65,536 bytes farther on
  expect_words(error_of(far), "beyond its end");
  std::string longer = stored;
  ++longer[entry + 24];
  expect_words(error_of(longer), "length");

  std::string deflated = content_of(seed("deflated.npz"));
  deflated[deflated.find("A.npy") + 40] ^= 0x55;
  EXPECT_NE(error_of(deflated).line(), -1);
}

}  // namespace
}  // namespace echelon
