// SPDX-License-Identifier: BSD-3-Clause
// Files: writing and reading back, gzip, pipes, and real matrices.
#include "support/test_data.hpp"
#include "unit/io/matrix_market_support.hpp"

#include <echelon/error.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <sstream>
#include <thread>

namespace echelon {
namespace {

using test::RealMatrices;
using testing::expect_same_bits;
using testing::ScratchFolder;

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Random finite number: all exponents, subnormals, both zeros.
template <class T>
T random_number(std::mt19937_64& random) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  for (;;) {
    const T value = std::bit_cast<T>(static_cast<Bits>(random()));
    if (std::isfinite(value)) return value;
  }
}

template <class T>
Csr<T> random_csr(std::int32_t rows, std::int32_t columns, int per_row) {
  std::mt19937_64 random(5);
  std::map<std::pair<std::int32_t, std::int32_t>, T> places;
  for (std::int32_t i = 0; i < rows; ++i) {
    for (int k = 0; k < per_row && columns > 0; ++k) {
      places[{i, std::uniform_int_distribution<std::int32_t>(0, columns - 1)(random)}] =
          random_number<T>(random);
    }
  }
  std::vector<Triplet<T>> triplets;
  for (const auto& [place, value] : places) triplets.push_back({place.first, place.second, value});
  return Csr<T>::from_triplets(rows, columns, triplets);
}

template <class T>
Dense<T> random_dense(std::int64_t rows, std::int64_t columns) {
  std::mt19937_64 random(6);
  Dense<T> matrix(Device(), rows, columns);
  for (std::int64_t k = 0; k < rows * columns; ++k) matrix[k] = random_number<T>(random);
  return matrix;
}

template <class T>
class MatrixMarketWrite : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(MatrixMarketWrite, Reals);

TYPED_TEST(MatrixMarketWrite, Read_SameBits) {
  using T = TypeParam;
  const ScratchFolder folder;
  for (const std::string name : {"a.mtx", "a.mtx.gz"}) {
    const std::string path = folder.file(name);
    for (const auto& [rows, columns] : std::initializer_list<std::pair<int, int>>{
             {0, 0}, {1, 1}, {31, 33}, {1025, 40}, {7, 0}, {0, 7}, {1, 5000}, {5000, 1}}) {
      const auto csr = random_csr<T>(rows, columns, 9);
      write_matrix_market<T>(path, csr);
      expect_same_bits(csr, read_matrix_market<T>(path));
      const auto dense = random_dense<T>(rows, columns);
      write_matrix_market<T>(path, dense);
      expect_same_bits(dense, read_matrix_market_dense<T>(path));
    }
  }
}

TYPED_TEST(MatrixMarketWrite, StridedAndRowMajorViews) {
  using T = TypeParam;
  const ScratchFolder folder;
  const std::string path = folder.file("view.mtx");
  const std::vector<T> data = {1, 2, 3, 4, 5, 6, 7, 8};
  write_matrix_market<T>(path, DenseView<const T>(data.data(), 2, 2, 4));
  EXPECT_EQ(read_matrix_market_dense<T>(path).to_vector(), (std::vector<T>{1, 2, 5, 6}));
  write_matrix_market<T>(path, DenseView<const T>(data.data(), 2, 3, 4, {}, Layout::row_major));
  EXPECT_EQ(read_matrix_market_dense<T>(path).to_vector(), (std::vector<T>{1, 5, 2, 6, 3, 7}));
}

TEST(MatrixMarketFiles, Write_Text) {
  const ScratchFolder folder;
  const std::string path = folder.file("small.mtx");
  const auto csr = Csr<double>::from_triplets(2, 3, {{0, 2, 0.1}, {1, 0, -1e300}});
  write_matrix_market<double>(path, csr, "first remark\nsecond");
  EXPECT_EQ(content(path),
            "%%MatrixMarket matrix coordinate real general\n% first remark\n% second\n"
            "2 3 2\n1 3 0.1\n2 1 -1e+300\n");
  write_matrix_market<double>(path, DenseView<const double>(std::vector<double>{1, -2.5}));
  EXPECT_EQ(content(path), "%%MatrixMarket matrix array real general\n2 1\n1\n-2.5\n");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"small.mtx"});
}

TEST(MatrixMarketFiles, DenseAndSparse_Converted) {
  const ScratchFolder folder;
  const std::string array =
      folder.file("array.mtx", "%%MatrixMarket matrix array real general\n2 2\n0\n3\n4\n0\n");
  const auto csr = read_matrix_market<double>(array);
  EXPECT_EQ(csr.column_indices().to_vector(), (std::vector<std::int32_t>{1, 0}));
  EXPECT_EQ(csr.values().to_vector(), (std::vector<double>{4, 3}));
  const std::string sparse =
      folder.file("sparse.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n2 1 3\n");
  EXPECT_EQ(read_matrix_market_dense<double>(sparse).to_vector(), (std::vector<double>{0, 3, 0, 0}));
}

TEST(MatrixMarketFiles, Gzip_RecognisedByContent) {
  const ScratchFolder folder;
  const auto matrix = random_csr<double>(500, 500, 9);
  write_matrix_market<double>(folder.file("m.mtx.gz"), matrix);
  write_matrix_market<double>(folder.file("plain.mtx"), matrix);
  EXPECT_EQ(content(folder.file("m.mtx.gz")).substr(0, 2), "\x1f\x8b");
  std::filesystem::rename(folder.file("m.mtx.gz"), folder.file("m.mtx"));
  std::filesystem::rename(folder.file("plain.mtx"), folder.file("plain.mtx.gz"));
  expect_same_bits(matrix, read_matrix_market<double>(folder.file("m.mtx")));
  expect_same_bits(matrix, read_matrix_market<double>(folder.file("plain.mtx.gz")));
}

TEST(MatrixMarketFiles, GzipMembers_Concatenated) {
  const ScratchFolder folder;
  const auto matrix = random_csr<double>(50, 50, 3);
  write_matrix_market<double>(folder.file("plain.mtx"), matrix);
  const std::string text = content(folder.file("plain.mtx"));
  // gzip members are joined by joining the files: the second one here holds remarks only.
  write_matrix_market<double>(folder.file("first.gz"), matrix);
  write_matrix_market<double>(folder.file("second.gz"), Csr<double>());
  const std::string joined =
      folder.file("joined", content(folder.file("first.gz")) + content(folder.file("second.gz")));
  try {
    (void)read_matrix_market<double>(joined);
    FAIL() << "the second member's data went unnoticed";
  } catch (const ParseError& error) {
    const auto lines = static_cast<std::int64_t>(std::count(text.begin(), text.end(), '\n'));
    EXPECT_EQ(error.line(), lines + 2);  // after the second member's banner, which is a comment here
    EXPECT_NE(std::string(error.what()).find("more data than"), std::string::npos);
  }
}

TEST(MatrixMarketFiles, DamagedGzip_ParseError) {
  const ScratchFolder folder;
  const auto matrix = random_csr<double>(2000, 2000, 9);
  write_matrix_market<double>(folder.file("m.mtx.gz"), matrix);
  const std::string good = content(folder.file("m.mtx.gz"));
  const auto expect = [&](const std::string& bytes, const char* words) {
    const std::string path = folder.file("bad.mtx.gz", bytes);
    std::int64_t line = -1;
    for (const int threads : {1, 5}) {
      try {
        (void)read_matrix_market_file<double>(path, threads);
        FAIL() << "no error for " << words;
      } catch (const ParseError& error) {
        EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
        EXPECT_GE(error.line(), 1);
        EXPECT_GE(error.column(), 1);
        EXPECT_EQ(error.line(), line < 0 ? error.line() : line);
        line = error.line();
      }
    }
  };
  expect(good.substr(0, good.size() / 2), "the gzip data ends too early");
  expect(good.substr(0, good.size() - 1), "the gzip data ends too early");
  expect(good.substr(0, 5), "the gzip data ends too early");
  std::string wrong_sum = good;
  wrong_sum[good.size() - 6] = static_cast<char>(wrong_sum[good.size() - 6] ^ 1);
  expect(wrong_sum, "corrupt gzip data (incorrect data check)");
  expect(good + "no gzip", "corrupt gzip data (incorrect header check)");
}

TEST(MatrixMarketFiles, Pipes_Read) {
  const ScratchFolder folder;
  const auto matrix = random_csr<double>(3000, 3000, 5);
  write_matrix_market<double>(folder.file("m.mtx"), matrix);
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << content(folder.file("m.mtx")); });
  expect_same_bits(matrix, read_matrix_market<double>(pipe));
  writer.join();
}

std::string reason_of_writing(const std::string& path) {
  try {
    write_matrix_market<double>(path, random_csr<double>(5000, 5000, 9));
  } catch (const ParseError& error) {
    EXPECT_EQ(error.file(), path);
    return error.what();
  }
  return "no error";
}

TEST(MatrixMarketFiles, UnwritablePath_ParseError) {
  const ScratchFolder folder;
  const std::string lost = folder.file("none/a.mtx");
  EXPECT_EQ(reason_of_writing(lost), lost + ": cannot be written: No such file or directory");
  EXPECT_EQ(reason_of_writing(folder.file("")), folder.file("") + ": cannot be written: is a directory");
  if (std::filesystem::exists("/dev/full")) {
    EXPECT_EQ(reason_of_writing("/dev/full"), "/dev/full: writing failed: No space left on device");
    EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
    std::filesystem::create_symlink("/dev/full", folder.file("full.gz"));
    EXPECT_NE(reason_of_writing(folder.file("full.gz")).find("No space left on device"), std::string::npos);
  }
}

TEST(MatrixMarketFiles, SymbolicLink_TargetReplaced) {
  const ScratchFolder folder;
  const std::string target = folder.file("target.mtx", "old");
  std::filesystem::create_symlink("target.mtx", folder.file("link.mtx"));
  const auto matrix = random_csr<double>(5, 5, 2);
  write_matrix_market<double>(folder.file("link.mtx"), matrix);
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link.mtx")));
  expect_same_bits(matrix, read_matrix_market<double>(target));
  EXPECT_EQ(folder.names().size(), 2U);
}

/// name, path, rows, columns, nonzeros, stored entries of the matrices in the collection's catalogue.
struct Known {
  std::string name, file;
  std::int64_t rows, columns, nonzeros, stored;
  std::string header;
};

std::vector<Known> catalogue(const std::string& folder) {
  std::ifstream in(folder + "/catalogue.csv");
  std::vector<Known> result;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::vector<std::string> fields;
    std::istringstream words(line);
    for (std::string field; std::getline(words, field, ',');) fields.push_back(field);
    if (fields.size() < 20 || fields[2].find(".mtx") == std::string::npos) continue;
    result.push_back({fields[1], folder + "/" + fields[2], std::stoll(fields[3]), std::stoll(fields[4]),
                      std::stoll(fields[5]), std::stoll(fields[6]), fields[19]});
  }
  return result;
}

TEST_F(RealMatrices, MatrixMarketFiles_AgreeWithCatalogue) {
  const auto known = catalogue(test::real_matrices().string());
  EXPECT_FALSE(known.empty());
  for (const Known& matrix : known) {
    SCOPED_TRACE(matrix.name);
    if (matrix.header.find("complex") != std::string::npos) {
      EXPECT_THROW((void)read_matrix_market_file<double>(matrix.file), ParseError);
      continue;
    }
    if (matrix.stored > 600000) continue;  // to stay quick
    const auto file = read_matrix_market_file<double>(matrix.file, 2);
    EXPECT_EQ(file.info.rows, matrix.rows);
    EXPECT_EQ(file.info.columns, matrix.columns);
    EXPECT_EQ(file.info.stored_entries, matrix.stored);
    ASSERT_TRUE(std::holds_alternative<Csr<double>>(file.matrix));
    EXPECT_EQ(std::get<Csr<double>>(file.matrix).nonzeros(), matrix.nonzeros);
  }
}

}  // namespace
}  // namespace echelon
