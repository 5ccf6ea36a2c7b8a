// SPDX-License-Identifier: BSD-3-Clause
// Recognition of formats, and matrices that a format cannot hold.
#include "support/test_data.hpp"
#include "unit/io/file_support.hpp"

#include <echelon/io/npy.hpp>

#include <sys/stat.h>

#include <thread>

namespace echelon {
namespace {

using testing::expect_same_bits;
using testing::expect_words;
using testing::invalid_matrix_of;
using testing::parse_error_of;
using testing::ScratchFolder;

TEST(AnyFile, NamesOfFormats) {
  EXPECT_EQ(file_format_of_name("a.MTX.gz"), FileFormat::matrix_market);
  EXPECT_EQ(file_format_of_name("dir.npy/a.graph"), FileFormat::metis);
  EXPECT_EQ(file_format_of_name("a.rsa"), FileFormat::harwell_boeing);
  EXPECT_EQ(file_format_of_name("a.cua.gz"), FileFormat::harwell_boeing);
  EXPECT_EQ(file_format_of_name("a.petsc"), FileFormat::petsc);
  EXPECT_EQ(file_format_of_name("a.edges"), FileFormat::edge_list);
  EXPECT_EQ(file_format_of_name("a.npz"), FileFormat::npz);
  for (const char* name : {"a", "a.txt", "a.gz", "a.csv", ".", "a.rxa", ""}) {
    EXPECT_FALSE(file_format_of_name(name).has_value()) << name;
  }
  for (const std::string& name : file_format_names()) EXPECT_EQ(to_string(parse_file_format(name)), name);
  try {
    static_cast<void>(parse_file_format("mtis"));
    FAIL();
  } catch (const BadOption& error) {
    EXPECT_EQ(error.did_you_mean(), "metis");
  }
}

TEST(AnyFile, Graph_EveryFormat) {
  const ScratchFolder folder;
  const auto graph = testing::random_graph<double>(300, 4000, 9);
  for (const std::string name :
       {"a.mtx", "a.graph", "a.petsc", "a.npy", "a.mtx.gz", "a.graph.gz", "a.petsc.gz"}) {
    const std::string path = folder.file(name);
    write_matrix<double>(path, graph);
    const auto file = read_matrix_file<double>(path);
    expect_same_bits(graph, to_csr(MatrixRef<double>(file.matrix)));
    EXPECT_EQ(file.info.format, file_format_of_name(name));
    EXPECT_EQ(file.info.rows, 300);
  }
  const std::string path = folder.file("a.edges");
  write_matrix<double>(path, graph);
  ReadFileOptions rows;
  rows.edge_list.numbering = Numbering::zero_based;
  const auto file = read_matrix_file<double>(path, rows);
  expect_same_bits(graph, std::get<Csr<double>>(file.matrix));
  EXPECT_EQ(file.labels.size(), 300U);
}

TEST(AnyFile, ContentAndName_ContentDecides) {
  const ScratchFolder folder;
  const auto graph = testing::random_graph<double>(30, 100, 9);
  for (const std::string name : {"a.mtx", "a.petsc", "a.npy"}) {
    write_matrix<double>(folder.file(name), graph);
    const std::string other = folder.file("b.rua", testing::content_of(folder.file(name)));
    expect_same_bits(graph, to_csr(MatrixRef<double>(read_matrix<double>(other))));
  }
  WriteFileOptions metis;
  metis.format = FileFormat::metis;
  write_matrix<double>(folder.file("c.txt"), graph, metis);
  expect_words(parse_error_of([&] { return read_matrix<double>(folder.file("c.txt")); }),
               "neither its content nor its name");
  expect_same_bits(graph,
                   std::get<Csr<double>>(read_matrix<double>(folder.file("c.txt"), FileFormat::metis)));
}

TEST(AnyFile, ByteOrderMark_Skipped) {
  const ScratchFolder folder;
  const std::string mark = "\xef\xbb\xbf";
  const auto graph = testing::random_graph<double>(30, 100, 9);
  for (const std::string name : {"a.mtx", "a.graph", "a.edges"}) {
    write_matrix<double>(folder.file(name), graph);
    ReadFileOptions rows;
    rows.edge_list.numbering = Numbering::zero_based;
    const auto file = read_matrix_file<double>(
        folder.file("marked-" + name, mark + testing::content_of(folder.file(name))), rows);
    expect_same_bits(graph, std::get<Csr<double>>(file.matrix));
  }
  const std::string sample =
      testing::content_of((test::test_data_directory() / "scipy_hb_write.rua").string());
  EXPECT_EQ(std::get<Csr<double>>(read_matrix<double>(folder.file("b.rua", mark + sample))).nonzeros(), 10);
  const ParseError error =
      parse_error_of([&] { return read_matrix<double>(folder.file("c.mtx", mark + "%%MatrixMarket x\n")); });
  EXPECT_EQ(error.column(), 16);
  EXPECT_TRUE(std::holds_alternative<Dense<double>>(
      read_matrix<double>(folder.file("d.mtx", mark), FileFormat::text)));
}

TEST(AnyFile, Pipes_Read) {
  const ScratchFolder folder;
  const auto graph = testing::random_graph<double>(30, 100, 9);
  for (const std::string name : {"a.petsc", "a.graph.gz"}) {
    write_matrix<double>(folder.file(name), graph);
    const std::string content = testing::content_of(folder.file(name));
    const std::string pipe = folder.file("pipe-" + name);
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << content; });
    expect_same_bits(graph, std::get<Csr<double>>(read_matrix<double>(pipe)));
    writer.join();
  }
}

TEST(AnyFile, UnsuitableMatrix_NoFileWritten) {
  const ScratchFolder folder;
  const auto unsymmetric = Csr<double>::from_triplets(2, 2, {{0, 1, 1}});
  for (const char* name : {"a.graph", "a.edges"}) {
    EXPECT_NE(invalid_matrix_of([&] { write_matrix<double>(folder.file(name), unsymmetric); }), "no error");
  }
  const auto large = Csr<double>::from_triplets(100000, 100000, {{0, 1, 1}});
  EXPECT_NE(invalid_matrix_of([&] { write_matrix<double>(folder.file("a.npy"), large); }).find("74.5 GiB"),
            std::string::npos);
  EXPECT_THROW(write_matrix<double>(folder.file("a.rua"), unsymmetric), BadOption);
  EXPECT_TRUE(folder.names().empty());
}

TEST(AnyFile, NotAFile_ParseError) {
  const ScratchFolder folder;
  for (const FileFormat format : {FileFormat::automatic, FileFormat::npy, FileFormat::metis,
                                  FileFormat::edge_list, FileFormat::petsc, FileFormat::harwell_boeing}) {
    expect_words(parse_error_of([&] { return read_matrix<double>(folder.file(""), format); }),
                 "is a directory");
    expect_words(parse_error_of([&] { return read_matrix<double>(folder.file("none"), format); }),
                 "cannot be opened");
    const std::string cut = folder.file("cut.gz", std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03\x01", 11));
    expect_words(parse_error_of([&] { return read_matrix<double>(cut, format); }), "gzip");
  }
}

}  // namespace
}  // namespace echelon
