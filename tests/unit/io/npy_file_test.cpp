// SPDX-License-Identifier: BSD-3-Clause
#include "unit/io/file_support.hpp"

#include <echelon/io/npy.hpp>

#include <sys/resource.h>
#include <unistd.h>

namespace echelon {
namespace {

using testing::bytes_of;
using testing::expect_same_bits;
using testing::expect_words;
using testing::memory;
using testing::parse_error_of;
using testing::ScratchFolder;

/// A file as numpy.save writes it.
std::string npy(const std::string& type, const std::string& fortran_order, const std::string& shape,
                const std::string& data, int version = 1) {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': " + fortran_order + ", 'shape': " + shape + ", }";
  const std::size_t prefix = version == 1 ? 10 : 12;
  while ((prefix + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string length = {static_cast<char>(header.size()), '\0'};
  if (version > 1) length += std::string(2, '\0');
  return "\x93NUMPY" + std::string(1, static_cast<char>(version)) + '\0' + length + header + data;
}

template <class T>
Dense<T> read(const std::string& text) {
  return io::read_npy_source<T>(*memory(text), "memory.npy");
}

template <class T>
class Npy : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Npy, Reals);

TYPED_TEST(Npy, WriteAndRead_SameBits) {
  using T = TypeParam;
  const ScratchFolder folder;
  std::mt19937_64 random(3);
  for (const std::string name : {"a.npy", "a.npy.gz"}) {
    for (const auto& [rows, columns] : std::initializer_list<std::pair<int, int>>{
             {0, 0}, {1, 1}, {31, 33}, {1025, 40}, {7, 0}, {0, 7}, {1, 5000}, {5000, 1}, {2, 70000}}) {
      Dense<T> matrix(Device(), rows, columns);
      for (std::int64_t k = 0; k < std::int64_t{rows} * columns; ++k) {
        matrix[k] = static_cast<T>(std::normal_distribution<double>()(random));
      }
      write_npy<T>(folder.file(name), matrix);
      expect_same_bits(matrix, read_npy<T>(folder.file(name)));
    }
  }
}

TYPED_TEST(Npy, StorageAndByteOrders) {
  using T = TypeParam;
  const std::vector<double> row_by_row = {1, 2, 3, 4, 5, 6};
  const std::vector<T> expected = {1, 4, 2, 5, 3, 6};
  EXPECT_EQ(read<T>(npy("<f8", "False", "(2, 3)", bytes_of(row_by_row, false))).to_vector(), expected);
  EXPECT_EQ(read<T>(npy(">f8", "False", "(2, 3)", bytes_of(row_by_row))).to_vector(), expected);
  const std::vector<float> column_by_column = {1, 4, 2, 5, 3, 6};
  EXPECT_EQ(read<T>(npy("<f4", "True", "(2, 3)", bytes_of(column_by_column, false), 2)).to_vector(),
            expected);
  EXPECT_EQ(read<T>(npy(">f4", "True", "(2, 3)", bytes_of(column_by_column), 3)).to_vector(), expected);
}

TYPED_TEST(Npy, COrder_ManyPanels) {
  using T = TypeParam;
  constexpr std::int64_t rows = 1025;
  constexpr std::int64_t columns = 333;
  std::vector<double> values;
  for (int k = 0; k < rows * columns; ++k) values.push_back(k);
  const auto matrix = read<T>(npy("<f8", "False", "(1025, 333)", bytes_of(values, false)));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) ASSERT_EQ(matrix(i, j), T(i * columns + j));
  }
}

TYPED_TEST(Npy, Integers) {
  using T = TypeParam;
  const auto expect = [](const std::string& type, const std::string& data, std::vector<T> values) {
    SCOPED_TRACE(type);
    EXPECT_EQ(read<T>(npy(type, "False", "(2,)", data)).to_vector(), values);
  };
  expect("|i1", bytes_of<std::int8_t>({-128, 127}), {-128, 127});
  expect("|u1", bytes_of<std::uint8_t>({0, 255}), {0, 255});
  expect("|b1", bytes_of<std::uint8_t>({0, 1}), {0, 1});
  expect("<i2", bytes_of<std::int16_t>({-3, 3}, false), {-3, 3});
  expect(">u2", bytes_of<std::uint16_t>({3, 65535}), {3, 65535});
  expect(">i4", bytes_of<std::int32_t>({-70000, 5}), {-70000, 5});
  expect("<u4", bytes_of<std::uint32_t>({4294967295U, 5}, false), {T(4294967295.0), 5});
  expect("<i8", bytes_of<std::int64_t>({-(std::int64_t{1} << 60), 5}, false), {T(-1152921504606846976.0), 5});
  expect(">u8", bytes_of<std::uint64_t>({std::uint64_t{1} << 63, 5}), {T(9223372036854775808.0), 5});
}

TYPED_TEST(Npy, HalfPrecision) {
  using T = TypeParam;
  // One, the largest number, the smallest normal one, the largest and smallest subnormal ones, 0.1 rounded,
  // -0.
  const std::vector<std::uint16_t> bits = {0x3c00, 0x7bff, 0x0400, 0x03ff, 0x8001, 0x2e66, 0x8000, 0xc000};
  const std::vector<T> expected = {T(1),        T(65504),     T(0x1p-14), T(0x3ffp-24),
                                   T(-0x1p-24), T(0x666p-14), T(-0.0),    T(-2)};
  const auto vector = read<T>(npy("<f2", "False", "(8,)", bytes_of(bits, false)));
  EXPECT_EQ(testing::bits(vector.to_vector()), testing::bits(expected));
  EXPECT_EQ(read<T>(npy(">f2", "True", "(4, 2)", bytes_of(bits))).to_vector(), expected);
  const auto rows = read<T>(npy(">f2", "False", "(4, 2)", bytes_of(bits)));
  for (std::int64_t k = 0; k < 8; ++k) EXPECT_EQ(rows(k / 2, k % 2), expected[static_cast<std::size_t>(k)]);
}

TEST(NpyFiles, Write_Header) {
  io::MemorySink sink;
  const std::vector<double> x = {1, 2, 3};
  io::write_npy_sink<double>(sink, DenseView<const double>(x));
  EXPECT_EQ(sink.text(), npy("<f8", "False", "(3,)", bytes_of(x, false)));
  io::MemorySink matrix;
  io::write_npy_sink<double>(matrix, DenseView<const double>(x.data(), 1, 2, 1));
  EXPECT_EQ(matrix.text(), npy("<f8", "True", "(1, 2)", bytes_of<double>({1, 2}, false)));
}

TEST(NpyFiles, UnusualHeaders_Read) {
  const std::string data = bytes_of<double>({1, 2}, false);
  const auto with_header = [&](const std::string& header) {
    return "\x93NUMPY\x01" + std::string(1, '\0') + static_cast<char>(header.size()) + '\0' + header + data;
  };
  for (const char* header : {R"({"shape":(2,),"fortran_order":True,"descr":"<f8"})",
                             "{'shape': (2,1), 'fortran_order':False, 'descr':'=f8',}",
                             "{'descr': '<f8',\n'fortran_order': False, 'shape': (2), }  \n"}) {
    EXPECT_EQ(read<double>(with_header(header)).to_vector(), (std::vector<double>{1, 2})) << header;
  }
  for (const char* header : {"", "{}", "{'descr': '<f8', 'fortran_order': False}",
                             "{'descr': '<f8', 'fortran_order': 0, 'shape': (2,)}",
                             "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (2,)}",
                             "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'more': 1}",
                             "{'descr': '<f8', 'fortran_order': False, 'shape': (-2,)}",
                             "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}",
                             "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)} x", "{'descr: '<f8'"}) {
    EXPECT_EQ(parse_error_of([&] { return read<double>(with_header(header)); }).line(), 0) << header;
  }
}

struct Bad {
  std::string text;
  const char* words;
};

TEST(NpyFault, Message) {
  const std::string two = bytes_of<double>({1, 2}, false);
  for (const Bad& bad : std::initializer_list<Bad>{
           {"", "at byte 0: not a .npy file"},
           {"\x93NUMPZ\x01", "at byte 0: not a .npy file"},
           {"\x93NUMPY", "at byte 6: the file ends here"},
           {npy("<f8", "False", "(2,)", two, 4), "at byte 6: version 4"},
           {npy("<c16", "False", "(1,)", two), "the numbers are complex"},
           {npy("|O", "False", "(1,)", two), "elements of type '|O'"},
           {npy("<f16", "False", "(1,)", two), "elements of type '<f16'"},
           {npy("<f2", "False", "(9,)", two), "9 elements take more than the 16 bytes"},
           {npy("<f2", "False", "(2,)", bytes_of<std::uint16_t>({0x3c00, 0x7e00}, false)),
            "at byte 130: nan"},
           {npy(">f2", "False", "(2,)", bytes_of<std::uint16_t>({0xfc00, 0x3c00})), "at byte 128: -inf"},
           {npy("<f8", "False", "()", two), "0 dimensions"},
           {npy("<f8", "False", "(1, 1, 2)", two), "3 dimensions"},
           {npy("<f8", "False", "(3,)", two), "3 elements take more than the 16 bytes"},
           {npy("<f8", "False", "(1,)", two), "at byte 136: nothing more is expected"},
           {npy("<f8", "False", "(1000000000000, 1000000000000)", two), "more than 2^63"},
           {npy("<f8", "False", "(1000000000, 1000)", two), "take more than the 16 bytes that are left"},
           {npy("<f8", "False", "(0, 3000000000)", ""), "empty array of more than 2^31"},
           {npy("<f8", "False", "(2,)", bytes_of<double>({1, NAN}, false)), "at byte 136: nan"},
           {npy("<f8", "False", "(2,)", bytes_of<double>({-INFINITY, 1}, false)), "at byte 128: -inf"}}) {
    SCOPED_TRACE(bad.words);
    expect_words(parse_error_of([&] { return read<double>(bad.text); }), bad.words);
  }
  const std::string large = npy("<f8", "False", "(1,)", bytes_of<double>({1e39}, false));
  EXPECT_EQ(read<double>(large)[0], 1e39);
  expect_words(parse_error_of([&] { return read<float>(large); }), "more than single precision can hold");
}

TEST(NpyFault, Truncated_ParseError) {
  const std::string text = npy("<f8", "False", "(2, 2)", bytes_of<double>({1, 2, 3, 4}, false));
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(parse_error_of([&] { return read<double>(text.substr(0, size)); }).line(), 0) << size;
  }
}

TEST(NpyFiles, RowsWithoutColumns_NoMemory) {
  constexpr std::int64_t rows = 1'000'000'000;
  const ScratchFolder folder;
  rlimit before = {};
  getrlimit(RLIMIT_AS, &before);
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{1} << 28);
  const rlimit limit = {std::min(bytes, before.rlim_max), before.rlim_max};
  setrlimit(RLIMIT_AS, &limit);
  EXPECT_NO_THROW(write_npy(folder.file("A.npy"), DenseView<const double>(nullptr, rows, 0, rows)));
  EXPECT_NO_THROW(EXPECT_EQ(read_npy<double>(folder.file("A.npy")).rows(), rows));
  setrlimit(RLIMIT_AS, &before);
}

}  // namespace
}  // namespace echelon
