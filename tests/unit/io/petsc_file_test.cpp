// SPDX-License-Identifier: BSD-3-Clause
#include "unit/io/file_support.hpp"

namespace echelon {
namespace {

using testing::bytes_of;
using testing::expect_same_bits;
using testing::expect_words;
using testing::invalid_matrix_of;
using testing::memory;
using testing::parse_error_of;
using testing::Places;
using testing::places_of;
using testing::ScratchFolder;

template <class T = double>
PetscFile<T> read(const std::string& text, PetscScalar scalar = PetscScalar::automatic) {
  return io::read_petsc_source<T>(*memory(text), "memory.petsc", scalar);
}

/// 2 by 3: (0,2) = 1.5, (0,0) = -2, (1,1) = 3, rows unsorted.
template <class Index, class Scalar>
std::string small_aij() {
  return bytes_of<Index>({1211216, 2, 3, 3, 2, 1, 2, 0, 1}) + bytes_of<Scalar>({1.5, -2, 3});
}
template <class Index, class Scalar>
std::string small_vector() {
  return bytes_of<Index>({1211214, 2}) + bytes_of<Scalar>({4, 5});
}

template <class Index, class Scalar>
void expect_small() {
  const Places expected = {{{0, 0}, -2}, {{0, 2}, 1.5}, {{1, 1}, 3}};
  const auto alone = read(small_aij<Index, Scalar>());
  EXPECT_EQ(places_of(std::get<Csr<double>>(alone.matrix)), expected);
  EXPECT_EQ(alone.vectors.columns(), 0);
  const auto file =
      read(small_aij<Index, Scalar>() + small_vector<Index, Scalar>() + small_vector<Index, Scalar>());
  EXPECT_EQ(places_of(std::get<Csr<double>>(file.matrix)), expected);
  EXPECT_EQ(file.vectors.to_vector(), (std::vector<double>{4, 5, 4, 5}));
  const auto vector = read(small_vector<Index, Scalar>());
  EXPECT_EQ(std::get<Dense<double>>(vector.matrix).to_vector(), (std::vector<double>{4, 5}));
  const auto dense = read(bytes_of<Index>({1211216, 2, 3, -1}) + bytes_of<Scalar>({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(std::get<Dense<double>>(dense.matrix).to_vector(), (std::vector<double>{1, 4, 2, 5, 3, 6}));
}

TEST(Petsc, AllWidths) {
  expect_small<std::int32_t, double>();
  expect_small<std::int32_t, float>();
  expect_small<std::int64_t, double>();
  expect_small<std::int64_t, float>();
}

TEST(Petsc, Duplicates_Summed) {
  const auto file =
      read(bytes_of<std::int32_t>({1211216, 1, 2, 3, 3, 1, 0, 1}) + bytes_of<double>({1, 2, 3}));
  EXPECT_EQ(places_of(std::get<Csr<double>>(file.matrix)), (Places{{{0, 0}, 2}, {{0, 1}, 4}}));
  EXPECT_EQ(file.duplicate_entries, 1);
}

template <class T>
void expect_round_trip(const PetscOptions& options, const std::string& name) {
  const ScratchFolder folder;
  const std::string path = folder.file(name);
  for (const auto& [rows, columns] : std::initializer_list<std::pair<int, int>>{
           {0, 0}, {1, 1}, {31, 33}, {1025, 40}, {7, 0}, {0, 7}, {1, 5000}}) {
    const auto sparse = testing::random_sparse<T>(rows, columns, 5);
    write_petsc<T>(path, sparse, options);
    expect_same_bits(sparse, std::get<Csr<T>>(read_petsc<T>(path).matrix));
    Dense<T> dense(Device(), rows, columns);
    for (std::int64_t k = 0; k < std::int64_t{rows} * columns; ++k) dense[k] = T(k) / 3;
    write_petsc<T>(path, dense, options);
    expect_same_bits(dense, std::get<Dense<T>>(read_petsc<T>(path).matrix));
  }
}

TEST(Petsc, WriteAndRead_SameBits) {
  expect_round_trip<double>({}, "a.petsc");
  expect_round_trip<double>({.index_bits = 64}, "a.petsc.gz");
  expect_round_trip<float>({}, "a.petsc");
  expect_round_trip<float>({.index_bits = 64, .scalar = PetscScalar::real32}, "a.petsc");
}

TEST(Petsc, Write_Bytes) {
  const auto csr = Csr<double>::from_triplets(2, 3, {{0, 0, -2}, {0, 2, 1.5}, {1, 1, 3}});
  io::MemorySink sparse;
  io::write_petsc_sink<double>(sparse, csr);
  EXPECT_EQ(sparse.text(),
            bytes_of<std::int32_t>({1211216, 2, 3, 3, 2, 1, 0, 2, 1}) + bytes_of<double>({-2, 1.5, 3}));
  const std::vector<double> x = {4, 5};
  io::MemorySink vector;
  io::write_petsc_sink<double>(vector, DenseView<const double>(x),
                               {.index_bits = 64, .scalar = PetscScalar::real32});
  EXPECT_EQ(vector.text(), (small_vector<std::int64_t, float>()));
}

TEST(Petsc, UnsuitableMatrix_InvalidMatrix) {
  const std::vector<double> x = {1e39};
  io::MemorySink sink;
  EXPECT_NE(invalid_matrix_of([&] {
              io::write_petsc_sink<double>(sink, DenseView<const double>(x), {.scalar = PetscScalar::real32});
            }).find("single precision"),
            std::string::npos);
  // 2^31 rows of no columns take no memory.
  const DenseView<const double> tall(nullptr, std::int64_t{1} << 31, 0, 1);
  EXPECT_NE(invalid_matrix_of([&] { io::write_petsc_sink<double>(sink, tall); }).find("32-bit indices"),
            std::string::npos);
  EXPECT_THROW(write_petsc<double>("x.petsc", DenseView<const double>(x), {.index_bits = 16}), BadOption);
}

struct Bad {
  std::string text;
  const char* words;
};

TEST(PetscFault, Message) {
  using Ints = std::vector<std::int32_t>;
  const auto ints = [](const Ints& values) { return bytes_of(values); };
  for (const Bad& bad : std::initializer_list<Bad>{
           {"", "at byte 0: the file ends here"},
           {"abcdefgh", "at byte 0: not a PETSc matrix or vector"},
           {ints({1211218, 2, 0, 1}), "not a PETSc matrix or vector"},
           {ints({1211216, -1, 2, 0}), "at byte 4: -1 rows"},
           {ints({1211216, 2, -2, 0}), "at byte 8: -2 columns"},
           {ints({1211216, 2, 2, -3}), "at byte 12: -3 nonzeros"},
           {ints({1211216, 2, 2}), "at byte 12: the file ends here"},
           {ints({1211216, 2000000000, 2, 0}), "2000000000 lengths of rows take more"},
           {ints({1211216, 1, 2, 2000000000, 2000000000}), "2000000000 nonzeros take more"},
           {ints({1211216, 1, 2, 1, 2}) + std::string(12, 'x'), "at byte 16: row 0 has 2 of the 1 nonzeros"},
           {ints({1211216, 1, 2, 1, -1}) + std::string(12, 'x'), "at byte 16: row 0 has -1"},
           {ints({1211216, 1, 2, 1, 0}) + std::string(12, 'x'),
            "the rows have 0 nonzeros, not the announced 1"},
           {ints({1211216, 1, 2, 1, 1, 2}) + std::string(8, '\0'), "at byte 20: column 2 of a matrix with 2"},
           {ints({1211216, 1, 2, 1, 1, -1}) + std::string(8, '\0'), "at byte 20: column -1"},
           {ints({1211216, 2, 2, 2, 1, 1, 0, 1}) + bytes_of<double>({1, 0, 1, 0}), "the numbers are complex"},
           {ints({1211216, 1, 2, 1, 1, 0}) + bytes_of<double>({NAN}), "at byte 24: nan"},
           {ints({1211216, 1, 2, 1, 1, 0}) + bytes_of<double>({1}) + "x", "1 bytes follow"},
           {ints({1211216, 1, 2, 1, 1, 0}) + bytes_of<double>({1}) + ints({7, 1}) + bytes_of<double>({1}),
            "at byte 32: only vectors, which start with 1211214, may follow; this is 7"},
           {ints({1211216, 1, 2, 1, 1, 0}) + bytes_of<double>({1}) + ints({1211214, 2}) +
                bytes_of<double>({1}),
            "a vector of 2 rows follows an object of 1"},
           {ints({1211216, 2000000000, 2000000000, -1}), "scalars take more than the 0 bytes"},
           {bytes_of<std::int64_t>({1211216, 5000000000000, 5000000000000, -1}),
            "columns: the maximum is 2147483647"},
           {bytes_of<std::int64_t>({1211216, std::int64_t{1} << 62, 2147483647, -1}), "more than 2^63"},
           {bytes_of<std::int64_t>({1211216, std::int64_t{1} << 40, 0, -1}),
            "empty matrix of more than 2^31 rows"},
           {ints({1211214, 3}) + std::string(16, '\0'), "3 scalars take more than the 16 bytes"}}) {
    SCOPED_TRACE(bad.words);
    expect_words(parse_error_of([&] { return read(bad.text); }), bad.words);
  }
}

TEST(PetscFault, Truncated_ParseError) {
  const std::string text = small_aij<std::int32_t, double>();
  for (std::size_t size = 0; size < text.size(); ++size) {
    if (size == text.size() - 12) continue;  // is whole with float scalars
    EXPECT_EQ(parse_error_of([&] { return read(text.substr(0, size)); }).line(), 0) << size;
  }
  EXPECT_EQ(
      parse_error_of([&] { return read(text.substr(0, text.size() - 12), PetscScalar::real64); }).line(), 0);
}

}  // namespace
}  // namespace echelon
