// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "io/numpy/npy_reader.hpp"
#include "io/numpy/npy_writer.hpp"
#include "io/numpy/zip_archive.hpp"
#include "io/numpy/zip_writer.hpp"
#include "io/support/csr_assembly.hpp"
#include "io/support/host_matrix.hpp"
#include "io/support/output_file.hpp"
#include "io/support/sources.hpp"
#include "io/text/numbers.hpp"
#include "support/text.hpp"

#include <echelon/error.hpp>
#include <echelon/io/npz.hpp>
#include <echelon/matrix/scalar.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace echelon {

namespace io {

namespace {

constexpr std::int64_t most_rows = std::numeric_limits<std::int32_t>::max();

template <class T>
class NpzReader {
 public:
  NpzReader(TextSource& source, const std::string& name) : archive_(source, name), name_(name) {
    for (const ZipEntry& entry : archive_.entries()) {
      constexpr std::string_view ending = ".npy";
      if (!entry.name.ends_with(ending)) continue;
      names_.push_back(entry.name.substr(0, entry.name.size() - ending.size()));
      if (std::count(names_.begin(), names_.end(), names_.back()) > 1) {
        fail(fmt::format("two arrays named {}", quoted(names_.back())));
      }
    }
  }

  NpzFile<T> read(const std::string& array, FileRole role) {
    if (array.empty() && has("format") && has("shape") && has("data")) {
      read_sparse();
      return std::move(file_);
    }
    file_.array = choose(array, role);
    Dense<T> matrix = read_dense(file_.array);
    file_.stored_entries = matrix.rows() * matrix.columns();
    if (array.empty() && role == FileRole::matrix && file_.array == "A" && has("b")) {
      file_.right_hand_sides = read_dense("b");
      if (file_.right_hand_sides.rows() != matrix.rows()) {
        fail(fmt::format("the array b has {} rows and A has {}", file_.right_hand_sides.rows(),
                         matrix.rows()));
      }
    }
    file_.matrix = std::move(matrix);
    return std::move(file_);
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const { throw ParseError(name_, 0, 0, reason); }
  [[nodiscard]] bool has(const std::string& array) const {
    return std::find(names_.begin(), names_.end(), array) != names_.end();
  }
  [[nodiscard]] std::string listed() const {
    std::vector<std::string> words;
    for (const std::string& name : names_) words.push_back(quoted(name));
    return fmt::format("{}", fmt::join(words, ", "));
  }

  [[nodiscard]] std::string choose(const std::string& array, FileRole role) const {
    if (names_.empty()) fail("the archive holds no arrays");
    if (!array.empty()) {
      if (has(array)) return array;
      fail(fmt::format("no array named {}; there are {}", quoted(array), listed()));
    }
    if (names_.size() == 1) return names_.front();
    std::string usual = role == FileRole::right_hand_side ? "b" : "A";
    if (has(usual)) return usual;
    fail(fmt::format("several arrays and none named {}; name one of {}", usual, listed()));
  }

  /// Calls `use(source, name)` with the data of an array and its name in messages.
  template <class Use>
  auto with_member(const std::string& array, Use use) const {
    const auto entry = std::find_if(archive_.entries().begin(), archive_.entries().end(),
                                    [&](const ZipEntry& e) { return e.name == array + ".npy"; });
    if (entry == archive_.entries().end()) fail(fmt::format("the array {} is missing", quoted(array)));
    const auto source = archive_.open(*entry);
    return use(*source, fmt::format("{}: {}", name_, quoted(array)));
  }

  Dense<T> read_dense(const std::string& array) {
    return with_member(array, [&](TextSource& source, const std::string& name) {
      NpyHeader header;
      Dense<T> matrix = read_npy_source<T>(source, name, &header);
      file_.complex = header.kind == 'c';
      file_.integer = header.kind != 'f' && !file_.complex;
      return matrix;
    });
  }

  Array<std::int64_t> read_integers(const std::string& array) const {
    return with_member(array, [](TextSource& source, const std::string& name) {
      BinaryReader reader(source, name);
      const NpyHeader header = read_npy_header(reader);
      check_npy_numbers(reader, header);
      if (header.kind == 'f' || header.dimensions != 1) {
        reader.fail_at(header.shape_position, "a vector of integers is expected");
      }
      return read_npy_elements<std::int64_t>(reader, header);
    });
  }

  /// The word that save_npz stores as an array without dimensions.
  [[nodiscard]] std::string read_word(const std::string& array) const {
    return with_member(array, [](TextSource& source, const std::string& name) {
      BinaryReader reader(source, name);
      const NpyHeader header = read_npy_header(reader);
      constexpr std::int64_t longest = 64;
      const bool wide = header.kind == 'U';
      if ((!wide && header.kind != 'S') || header.dimensions != 0 || header.size > longest) {
        reader.fail_at(header.type_position, "the name of a sparse format is expected");
      }
      const std::int64_t bytes = std::int64_t{header.size} * (wide ? 4 : 1);
      reader.require(bytes, 1, "bytes of text");
      std::string text(static_cast<std::size_t>(bytes), '\0');
      reader.read(text.data(), bytes);
      text.erase(std::remove(text.begin(), text.end(), '\0'), text.end());
      return text;
    });
  }

  /// The array `data`: its elements in the order of the file, and their positions there.
  struct Data {
    NpyHeader header;
    Array<T> elements;
  };
  using IsNeeded = std::function<bool(const NpyHeader&, std::int64_t position)>;

  /// Reads `data`, which must have `dimensions` and the size `count` in the first of them. Elements for which
  /// a given `is_needed` is false may have any value in the file.
  Data read_data(int dimensions, std::int64_t count, const IsNeeded& is_needed = {}) {
    return with_member("data", [&](TextSource& source, const std::string& name) {
      BinaryReader reader(source, name);
      const NpyHeader header = read_npy_header(reader);
      check_npy_numbers(reader, header, dimensions);
      if (header.dimensions != dimensions || header.rows != count) {
        reader.fail_at(header.shape_position,
                       dimensions == 1
                           ? fmt::format("a vector of {} elements is expected", count)
                           : fmt::format("an array of {} dimensions, the first of size {}, is expected",
                                         dimensions, count));
      }
      file_.complex = header.kind == 'c';
      file_.integer = header.kind != 'f' && !file_.complex;
      std::function<bool(std::int64_t)> at_position;
      if (is_needed) at_position = [&](std::int64_t position) { return is_needed(header, position); };
      return Data{header, read_npy_elements<T>(reader, header, at_position)};
    });
  }

  void read_sparse() {
    const std::string format = read_word("format");
    const Array<std::int64_t> shape = read_integers("shape");
    if (shape.size() != 2)
      fail(fmt::format("a sparse array of {} dimensions: matrices are read", shape.size()));
    for (const std::int64_t size : shape.span()) {
      if (size < 0 || size > most_rows) {
        fail(fmt::format("a shape of {} x {}: sizes are from 0 to {}", shape[0], shape[1], most_rows));
      }
    }
    if (format == "csr") {
      file_.matrix = read_compressed(shape[0], shape[1], true);
    } else if (format == "csc") {
      file_.matrix = read_compressed(shape[1], shape[0], false);
    } else if (format == "coo") {
      file_.matrix = read_coordinates(shape[0], shape[1]);
    } else if (format == "bsr") {
      file_.matrix = read_blocks(shape[0], shape[1]);
    } else if (format == "dia") {
      file_.matrix = read_diagonals(shape[0], shape[1]);
    } else {
      fail(fmt::format(
          "a sparse matrix in the format {}: csr, csc, coo, bsr and dia are read; tocsr() converts it",
          quoted(format)));
    }
  }

  /// Throws ParseError unless all indices are from 0 to `size` - 1.
  void check_indices(const Array<std::int64_t>& indices, std::int64_t size, const char* array) const {
    for (std::int64_t k = 0; k < indices.size(); ++k) {
      if (indices[k] < 0 || indices[k] >= size) {
        fail(fmt::format("{}[{}] is {}: indices are from 0 to {}", array, k, indices[k], size - 1));
      }
    }
  }

  /// Reads `indptr`, the positions in `entries` indices at which `lines` rows or columns begin and end.
  Array<std::int64_t> read_offsets(std::int64_t lines, std::int64_t entries) const {
    Array<std::int64_t> offsets = read_integers("indptr");
    if (offsets.size() != lines + 1) {
      fail(fmt::format("indptr has {} elements where {} are expected", offsets.size(), lines + 1));
    }
    for (std::int64_t i = 0; i <= lines; ++i) {
      const std::int64_t least = i == 0 ? 0 : offsets[i - 1];
      const std::int64_t most = i == 0 ? 0 : entries;
      if (offsets[i] < least || offsets[i] > most) {
        fail(fmt::format("indptr[{}] is {} where {} to {} is expected", i, offsets[i], least, most));
      }
    }
    if (offsets[lines] != entries) {
      fail(fmt::format("indptr ends at {} of {} indices", offsets[lines], entries));
    }
    return offsets;
  }

  /// Reads a csr matrix by rows or a csc matrix by columns: `lines` of them, each of length `length`.
  Csr<T> read_compressed(std::int64_t lines, std::int64_t length, bool by_rows) {
    const Array<std::int64_t> indices = read_integers("indices");
    const Array<std::int64_t> offsets = read_offsets(lines, indices.size());
    check_indices(indices, length, "indices");
    const Array<T> values = read_data(1, indices.size()).elements;
    return assemble(by_rows ? lines : length, by_rows ? length : lines, values, [&](auto use) {
      for (std::int64_t i = 0; i < lines; ++i) {
        for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
          use(by_rows ? i : indices[k], by_rows ? indices[k] : i, k);
        }
      }
    });
  }

  Csr<T> read_coordinates(std::int64_t rows, std::int64_t columns) {
    const Array<std::int64_t> row = read_integers("row");
    const Array<std::int64_t> column = read_integers("col");
    if (row.size() != column.size()) {
      fail(fmt::format("{} row indices and {} column indices", row.size(), column.size()));
    }
    check_indices(row, rows, "row");
    check_indices(column, columns, "col");
    const Array<T> values = read_data(1, row.size()).elements;
    return assemble(rows, columns, values, [&](auto use) {
      for (std::int64_t k = 0; k < row.size(); ++k) use(row[k], column[k], k);
    });
  }

  /// Reads a bsr matrix: a csr matrix of dense blocks of one size. Zeros, which fill the blocks, are left
  /// out.
  Csr<T> read_blocks(std::int64_t rows, std::int64_t columns) {
    const Array<std::int64_t> indices = read_integers("indices");
    const Data data = read_data(3, indices.size());
    const std::int64_t height = data.header.columns;
    const std::int64_t width = data.header.depth;
    if (height == 0 || width == 0 || rows % height != 0 || columns % width != 0) {
      fail(fmt::format("a {} by {} matrix cannot be divided into blocks of {} by {}", rows, columns, height,
                       width));
    }
    const Array<std::int64_t> offsets = read_offsets(rows / height, indices.size());
    check_indices(indices, columns / width, "indices");
    return assemble(rows, columns, data.elements, [&](auto use) {
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t block = offsets[row / height]; block < offsets[row / height + 1]; ++block) {
          for (std::int64_t j = 0; j < width; ++j) {
            const std::int64_t k = data.header.position(block, row % height, j);
            if (data.elements[k] != T{0}) use(row, indices[block] * width + j, k);
          }
        }
      }
    });
  }

  /// Reads a dia matrix: data[d, j] is the element in column j of diagonal d, where that column has one.
  /// Zeros, which fill the diagonals, are left out.
  Csr<T> read_diagonals(std::int64_t rows, std::int64_t columns) {
    const Array<std::int64_t> offsets = read_integers("offsets");
    std::vector<std::int64_t> sorted = offsets.to_vector();
    std::sort(sorted.begin(), sorted.end());
    const auto repeated = std::adjacent_find(sorted.begin(), sorted.end());
    if (repeated != sorted.end()) fail(fmt::format("the diagonal {} is given twice", *repeated));

    const auto has_element = [&](std::int64_t d, std::int64_t j) {
      return j < columns && offsets[d] <= j && offsets[d] > j - rows;
    };
    const Data data = read_data(2, offsets.size(), [&](const NpyHeader& header, std::int64_t position) {
      return header.fortran_order ? has_element(position % header.rows, position / header.rows)
                                  : has_element(position / header.columns, position % header.columns);
    });
    return assemble(rows, columns, data.elements, [&](auto use) {
      for (std::int64_t d = 0; d < offsets.size(); ++d) {
        for (std::int64_t j = 0; j < data.header.columns; ++j) {
          const std::int64_t k = data.header.position(d, j);
          if (has_element(d, j) && data.elements[k] != T{0}) use(j - offsets[d], j, k);
        }
      }
    });
  }

  /// `each(use)` calls use(row, column, k) for the place of every value k.
  template <class Each>
  Csr<T> assemble(std::int64_t rows, std::int64_t columns, const Array<T>& values, Each each) {
    CsrAssembly<T> assembly(rows, columns);
    each([&](std::int64_t row, std::int64_t, std::int64_t) {
      assembly.count(static_cast<std::int32_t>(row));
    });
    assembly.allocate();
    each([&](std::int64_t row, std::int64_t column, std::int64_t k) {
      assembly.place(static_cast<std::int32_t>(row), static_cast<std::int32_t>(column), values[k]);
    });
    const auto duplicates = assembly.sort_and_sum(Device::openmp().threads());
    if (duplicates.overflow) {
      fail(fmt::format("the elements given for row {}, column {} add up to more than the type can hold",
                       duplicates.overflow->first, duplicates.overflow->second));
    }
    file_.stored_entries = values.size();
    file_.duplicate_entries = duplicates.on_diagonal + duplicates.off_diagonal;
    return std::move(assembly).finish();
  }

  ZipArchive archive_;
  std::string name_;
  std::vector<std::string> names_;
  NpzFile<T> file_;
};

}  // namespace

template <class T>
NpzFile<T> read_npz_source(TextSource& source, const std::string& name, const std::string& array,
                           FileRole role) {
  return NpzReader<T>(source, name).read(array, role);
}

namespace {

/// Writes numbers as a vector; `type` is NumPy's for them.
template <class V>
void write_vector(TextSink& sink, std::string_view type, std::span<const V> values) {
  sink.write(npy_header(type, false, fmt::format("({},)", values.size())));
  constexpr std::size_t block = std::size_t{1} << 16;
  std::vector<V> ordered;
  for (std::size_t at = 0; at < values.size(); at += block) {
    ordered.clear();
    for (const V value : values.subspan(at, std::min(block, values.size() - at)))
      ordered.push_back(in_order(value, std::endian::little));
    sink.write({reinterpret_cast<const char*>(ordered.data()), ordered.size() * sizeof(V)});
  }
}

/// Writes the arrays of scipy.sparse.save_npz.
template <class T>
void write_sparse(ZipWriter& archive, const Csr<T>& A) {
  const std::string element = fmt::format("<{}{}", is_complex<T> ? 'c' : 'f', sizeof(T));
  const std::int64_t shape[2] = {A.rows(), A.columns()};
  archive.add("indices.npy",
              [&](TextSink& sink) { write_vector<std::int32_t>(sink, "<i4", A.column_indices().span()); });
  archive.add("indptr.npy",
              [&](TextSink& sink) { write_vector<std::int64_t>(sink, "<i8", A.row_offsets().span()); });
  archive.add("format.npy", [](TextSink& sink) { sink.write(npy_header("|S3", false, "()") + "csr"); });
  archive.add("shape.npy", [&](TextSink& sink) { write_vector<std::int64_t>(sink, "<i8", shape); });
  archive.add("data.npy", [&](TextSink& sink) { write_vector<T>(sink, element, A.values().span()); });
}

}  // namespace

template <class T>
void write_npz_sink(TextSink& sink, MatrixRef<T> matrix) {
  const HostMatrix<T> host(matrix);
  ZipWriter archive(sink);
  if (host.csr() != nullptr) {
    write_sparse(archive, *host.csr());
  } else {
    archive.add("arr_0.npy", [&](TextSink& member) { write_npy_sink<T>(member, host.dense()); });
  }
  archive.finish();
}

#define ECHELON_INSTANTIATE(T)                                                                        \
  template NpzFile<T> read_npz_source(TextSource&, const std::string&, const std::string&, FileRole); \
  template void write_npz_sink(TextSink&, MatrixRef<T>);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace io

template <class T>
NpzFile<T> read_npz(const std::string& path, const std::string& array) {
  return at_api_boundary([&] { return io::read_npz_source<T>(*io::open_text(path), path, array); });
}

template <class T>
void write_npz(const std::string& path, MatrixRef<T> matrix) {
  io::write_file(path, [&](io::TextSink& file) { io::write_npz_sink(file, matrix); });
}

#define ECHELON_INSTANTIATE(T)                                          \
  template NpzFile<T> read_npz(const std::string&, const std::string&); \
  template void write_npz(const std::string&, MatrixRef<T>);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
