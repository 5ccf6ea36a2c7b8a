// SPDX-License-Identifier: BSD-3-Clause
// Archives that write_npz writes. tests/cli/files_test.py reads them with Python's zipfile and with NumPy.
#include "io/numpy/zip_archive.hpp"
#include "io/numpy/zip_writer.hpp"
#include "unit/io/file_support.hpp"

#include <echelon/error.hpp>
#include <echelon/generate.hpp>
#include <echelon/io/files.hpp>
#include <echelon/io/npz.hpp>

#include <cmath>
#include <limits>

namespace echelon {
namespace {

using testing::memory;

template <class T>
std::string archive_of(MatrixRef<T> matrix) {
  io::MemorySink sink;
  io::write_npz_sink<T>(sink, matrix);
  return sink.text();
}

template <class T>
NpzFile<T> read_again(MatrixRef<T> matrix) {
  return io::read_npz_source<T>(*memory(archive_of<T>(matrix)), "memory.npz");
}

template <class T>
class NpzWrite : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(NpzWrite, Precisions);

TYPED_TEST(NpzWrite, DenseMatrices_ReadBackToTheSameBits) {
  using T = TypeParam;
  for (const auto& [rows, columns] :
       {std::pair{0, 0}, {1, 1}, {31, 1}, {1, 33}, {65, 3}, {0, 4}, {1025, 2}}) {
    Dense<T> matrix(Device(), rows, columns);
    for (int j = 0; j < columns; ++j) {
      for (int i = 0; i < rows; ++i)
        matrix(i, j) = std::numeric_limits<T>::denorm_min() * T(i + 1) + T(j) / 3;
    }
    const auto file = read_again<T>(matrix);
    EXPECT_EQ(file.array, "arr_0");
    const auto& again = std::get<Dense<T>>(file.matrix);
    EXPECT_EQ(again.rows(), rows);
    EXPECT_EQ(again.columns(), columns);
    EXPECT_EQ(again.to_vector(), matrix.to_vector());
  }
}

TYPED_TEST(NpzWrite, SparseMatrices_ReadBackToTheSameBits) {
  using T = TypeParam;
  const auto poisson = std::get<Csr<T>>(make_matrix<T>("poisson-2d", {{"nx", 270}, {"ny", 130}}));
  const Csr<T> wide = Csr<T>::from_triplets(2, 5, std::vector<Triplet<T>>{{1, 4, T(0.1)}, {0, 2, T(-1e-30)}});
  const Csr<T> empty = Csr<T>::from_triplets(3, 0, std::vector<Triplet<T>>{});
  for (const Csr<T>* matrix : {&poisson, &wide, &empty}) {
    const auto file = read_again<T>(*matrix);
    const auto& again = std::get<Csr<T>>(file.matrix);
    EXPECT_EQ(again.rows(), matrix->rows());
    EXPECT_EQ(again.columns(), matrix->columns());
    EXPECT_EQ(again.row_offsets().to_vector(), matrix->row_offsets().to_vector());
    EXPECT_EQ(again.column_indices().to_vector(), matrix->column_indices().to_vector());
    EXPECT_EQ(again.values().to_vector(), matrix->values().to_vector());
  }
}

TEST(ZipWriter, Members_HaveLengthAndChecksum) {
  io::MemorySink sink;
  io::ZipWriter writer(sink);
  const std::string text(100'000, 'x');
  writer.add("a", [](io::TextSink& member) { member.write("123456789"); });
  writer.add("folder/b", [&](io::TextSink& member) {
    member.write(text);
    member.write("end");
  });
  writer.add("empty", [](io::TextSink&) {});
  writer.finish();
  const auto source = memory(sink.text());
  const io::ZipArchive archive(*source, "memory");
  ASSERT_EQ(archive.entries().size(), 3);
  EXPECT_EQ(archive.entries()[0].checksum, 0xcbf43926);  // the check value of CRC-32
  EXPECT_EQ(archive.entries()[1].name, "folder/b");
  EXPECT_EQ(archive.entries()[1].unpacked_bytes, 100'003);
  EXPECT_EQ(archive.entries()[2].unpacked_bytes, 0);
}

TEST(ZipWriter, NoMembers_IsAnEmptyArchive) {
  io::MemorySink sink;
  io::ZipWriter(sink).finish();
  EXPECT_EQ(sink.text().size(), 22);
}

TEST(OutputFormat, NameTells) {
  EXPECT_EQ(output_format_of_name("x.csv"), FileFormat::text);
  EXPECT_EQ(output_format_of_name("x.TXT.gz"), FileFormat::text);
  EXPECT_EQ(output_format_of_name("x.npz"), FileFormat::npz);
  EXPECT_EQ(output_format_of_name("x.mtx"), FileFormat::matrix_market);
  EXPECT_EQ(output_format_of_name("x.rua"), FileFormat::harwell_boeing);
  EXPECT_EQ(output_format_of_name("x"), std::nullopt);
  EXPECT_EQ(output_format_of_name("folder.vector/x"), std::nullopt);
  EXPECT_EQ(file_format_of_name("x.csv"), std::nullopt);  // read by its content
  for (const char* name : {"x.mat", "x.json", "x.H5", "x.parquet.gz", "x.vector", "x.mtx.1"})
    EXPECT_THROW((void)output_format_of_name(name), BadOption) << name;
}

}  // namespace
}  // namespace echelon
