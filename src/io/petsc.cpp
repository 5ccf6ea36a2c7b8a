// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "io/support/binary_reader.hpp"
#include "io/support/csr_assembly.hpp"
#include "io/support/host_matrix.hpp"
#include "io/support/output_file.hpp"
#include "io/support/sources.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/scalar.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <algorithm>
#include <complex>
#include <limits>
#include <utility>

namespace echelon {

namespace io {

namespace {

constexpr std::endian big = std::endian::big;
constexpr std::int32_t matrix_id = 1211216;
constexpr std::int32_t vector_id = 1211214;
constexpr std::int64_t dense_marker = -1;
constexpr std::int64_t complex_bytes = 16;
constexpr std::int64_t most_columns = std::numeric_limits<std::int32_t>::max();

template <class T>
class PetscReader {
 public:
  PetscReader(TextSource& source, const std::string& name, PetscScalar scalar)
      : reader_(source, name), scalar_bytes_(bytes_of(scalar)), scalar_(scalar) {}

  PetscFile<T> read() {
    const std::int32_t id = read_first_id();
    PetscFile<T> file;
    if (id == matrix_id) {
      read_matrix(file);
      file.vectors = read_vectors(std::visit([](const auto& m) { return m.rows(); }, file.matrix), nullptr);
    } else {
      const std::int64_t rows = read_size("rows");
      find_scalar(rows, rows);
      Array<T> first(Device(), rows);
      read_scalars(rows, [&](std::int64_t k, T value) { first[k] = value; });
      file.matrix = read_vectors(rows, &first);
    }
    file.complex = scalar_bytes_ == complex_bytes;
    return file;
  }

 private:
  static std::int64_t bytes_of(PetscScalar scalar) {
    if (scalar == PetscScalar::complex128) return complex_bytes;
    return scalar == PetscScalar::real32 ? 4 : 8;
  }

  std::int64_t read_integer() {
    return index_bytes_ == 8 ? reader_.read_one<std::int64_t>(big) : reader_.read_one<std::int32_t>(big);
  }

  /// Reads the identifier and finds the width of indices: the first word of a 64-bit identifier is 0.
  std::int32_t read_first_id() {
    std::int32_t id = reader_.read_one<std::int32_t>(big);
    if (id == 0) {
      index_bytes_ = 8;
      id = reader_.read_one<std::int32_t>(big);
    }
    if (id != matrix_id && id != vector_id) {
      reader_.fail_at(0, fmt::format("not a PETSc matrix or vector: those start with {} or {}, not {}",
                                     matrix_id, vector_id, id));
    }
    return id;
  }

  std::int64_t read_size(const char* what) {
    const std::int64_t at = reader_.position();
    const std::int64_t size = read_integer();
    if (size < 0) reader_.fail_at(at, fmt::format("{} {}", size, what));
    return size;
  }

  void read_matrix(PetscFile<T>& file) {
    const std::int64_t rows = read_size("rows");
    const std::int64_t at = reader_.position();
    const std::int64_t columns = read_size("columns");
    if (columns > most_columns) {
      reader_.fail_at(at, fmt::format("{} columns: the maximum is {}", columns, most_columns));
    }
    const std::int64_t nonzeros_at = reader_.position();
    const std::int64_t nonzeros = read_integer();
    if (nonzeros == dense_marker) {
      file.matrix = read_dense(rows, columns);
    } else if (nonzeros >= 0) {
      file.matrix = read_aij(rows, columns, nonzeros, file.duplicate_entries);
    } else {
      reader_.fail_at(nonzeros_at, fmt::format("{} nonzeros", nonzeros));
    }
  }

  /// Whether the rest of the file is `count` scalars of `bytes` each, and nothing else if `alone`, or else
  /// whole vectors of `length` elements.
  [[nodiscard]] bool fits(std::int64_t count, std::int64_t length, std::int64_t bytes, bool alone) const {
    if (count > reader_.left() / bytes) return false;
    const std::int64_t rest = reader_.left() - count * bytes;
    if (alone) return rest == 0;
    return rest == 0 || (length <= rest / bytes && rest % (2 * index_bytes_ + length * bytes) == 0);
  }

  /// Width of scalars that agrees with the file's length: that of T in double precision, or else another one,
  /// without vectors after the matrix before with them. Those of T if none does.
  [[nodiscard]] std::int64_t width_by_length(std::int64_t count, std::int64_t length) const {
    const std::int64_t own = is_complex<T> ? complex_bytes : 8;
    if (fits(count, length, own, false)) return own;
    for (const bool alone : {true, false}) {
      for (const std::int64_t other : {std::int64_t{8}, std::int64_t{4}, complex_bytes}) {
        if (fits(count, length, other, alone)) return other;
      }
    }
    return own;
  }

  /// Determines the width of scalars, of which `count` come next.
  void find_scalar(std::int64_t count, std::int64_t length) {
    if (scalar_ == PetscScalar::automatic) scalar_bytes_ = width_by_length(count, length);
    if (!is_complex<T> && scalar_bytes_ == complex_bytes) reader_.fail_complex(reader_.position());
    reader_.require(count, scalar_bytes_, "scalars");
  }

  template <class Use>
  void read_scalars(std::int64_t count, Use use) {
    using R = Real<T>;
    const auto use_real = [&](std::int64_t k, R value) { use(k, T{value}); };
    if (scalar_bytes_ == 4) return read_values<R, float>(reader_, count, big, use_real);
    if (scalar_bytes_ == 8) return read_values<R, double>(reader_, count, big, use_real);
    if constexpr (is_complex<T>) {
      R real_part = 0;
      read_values<R, double>(reader_, 2 * count, big, [&](std::int64_t k, R value) {
        if (k % 2 == 0) {
          real_part = value;
        } else {
          use(k / 2, T{real_part, value});
        }
      });
    }
  }

  Dense<T> read_dense(std::int64_t rows, std::int64_t columns) {
    if (columns > 0 && rows > std::numeric_limits<std::int64_t>::max() / columns) {
      reader_.fail(fmt::format("{} by {} elements are more than 2^63", rows, columns));
    }
    if (columns == 0 && rows > most_columns) reader_.fail("an empty matrix of more than 2^31 rows");
    find_scalar(rows * columns, rows);
    Dense<T> matrix(Device(), rows, columns);
    std::int64_t i = 0;
    std::int64_t j = 0;
    read_scalars(rows * columns, [&](std::int64_t, T value) {
      matrix(i, j) = value;
      if (++j == columns) {
        j = 0;
        ++i;
      }
    });
    return matrix;
  }

  Array<std::int64_t> read_row_offsets(std::int64_t rows, std::int64_t nonzeros) {
    Array<std::int64_t> offsets(Device(), rows + 1);
    offsets[0] = 0;
    const std::int64_t start = reader_.position();
    read_integers(rows, [&](std::int64_t i, std::int64_t length) {
      if (length < 0 || length > nonzeros - offsets[i]) {
        reader_.fail_at(start + i * index_bytes_,
                        fmt::format("row {} has {} of the {} nonzeros, {} of which are in earlier rows", i,
                                    length, nonzeros, offsets[i]));
      }
      offsets[i + 1] = offsets[i] + length;
    });
    if (offsets[rows] != nonzeros) {
      reader_.fail(fmt::format("the rows have {} nonzeros, not the announced {}", offsets[rows], nonzeros));
    }
    return offsets;
  }

  template <class Use>
  void read_integers(std::int64_t count, Use use) {
    if (index_bytes_ == 8) {
      read_values<std::int64_t, std::int64_t>(reader_, count, big, use);
    } else {
      read_values<std::int64_t, std::int32_t>(reader_, count, big, use);
    }
  }

  Csr<T> read_aij(std::int64_t rows, std::int64_t columns, std::int64_t nonzeros, std::int64_t& duplicates) {
    reader_.require(rows, index_bytes_, "lengths of rows");
    reader_.require(nonzeros, index_bytes_ + 4, "nonzeros");
    Array<std::int64_t> offsets = read_row_offsets(rows, nonzeros);
    reader_.require(nonzeros, index_bytes_, "column indices");
    Array<std::int32_t> indices(Device(), nonzeros);
    const std::int64_t start = reader_.position();
    read_integers(nonzeros, [&](std::int64_t k, std::int64_t column) {
      if (column < 0 || column >= columns) {
        reader_.fail_at(start + k * index_bytes_,
                        fmt::format("column {} of a matrix with {} columns", column, columns));
      }
      indices[k] = static_cast<std::int32_t>(column);
    });
    find_scalar(nonzeros, rows);
    Array<T> values(Device(), nonzeros);
    read_scalars(nonzeros, [&](std::int64_t k, T value) { values[k] = value; });
    CsrAssembly<T> assembly(columns, std::move(offsets), std::move(indices), std::move(values));
    const auto found = assembly.sort_and_sum(Device::openmp().threads());
    if (found.overflow) {
      reader_.fail(
          fmt::format("the elements given for row {}, column {} add up to more than the type can hold",
                      found.overflow->first, found.overflow->second));
    }
    duplicates = found.on_diagonal + found.off_diagonal;
    return std::move(assembly).finish();
  }

  /// Vectors up to the file's end as columns, after the vector `first` if it is not null.
  Dense<T> read_vectors(std::int64_t rows, const Array<T>* first) {
    const std::int64_t vector_bytes = 2 * index_bytes_ + rows * scalar_bytes_;
    const std::int64_t in_front = first != nullptr ? 1 : 0;
    const std::int64_t count = reader_.left() / vector_bytes;
    if (count * vector_bytes != reader_.left()) {
      reader_.fail(
          fmt::format("{} bytes follow, which are not whole vectors of {} rows; is the file cut off?",
                      reader_.left(), rows));
    }
    Dense<T> vectors(Device(), rows, in_front + count);
    if (first != nullptr) std::copy_n(first->data(), rows, vectors.data());
    for (std::int64_t j = in_front; j < in_front + count; ++j) {
      const std::int64_t at = reader_.position();
      const std::int64_t id = read_integer();
      if (id != vector_id) {
        reader_.fail_at(
            at, fmt::format("only vectors, which start with {}, may follow; this is {}", vector_id, id));
      }
      const std::int64_t length = read_size("rows");
      if (length != rows)
        reader_.fail(fmt::format("a vector of {} rows follows an object of {}", length, rows));
      T* const column = vectors.data() + j * rows;
      read_scalars(rows, [&](std::int64_t i, T value) { column[i] = value; });
    }
    return vectors;
  }

  BinaryReader reader_;
  std::int64_t index_bytes_ = 4;
  std::int64_t scalar_bytes_;
  PetscScalar scalar_;
};

/// Buffers numbers, so that the sink is called with long pieces.
class BinaryWriter {
 public:
  BinaryWriter(TextSink& sink, const PetscOptions& options) : sink_(sink), options_(options) {}

  void integer(std::int64_t value) {
    if (options_.index_bits == 64) return put(value);
    if (value > std::numeric_limits<std::int32_t>::max()) {
      throw InvalidMatrix(
          fmt::format("{} does not fit in the 32-bit indices of a PETSc file; 64-bit ones hold it", value));
    }
    put(static_cast<std::int32_t>(value));
  }
  template <class R>
  void scalar(std::complex<R> value) {
    put(static_cast<double>(value.real()));
    put(static_cast<double>(value.imag()));
  }
  template <class T>
  void scalar(T value) {
    if (options_.scalar != PetscScalar::real32) return put(static_cast<double>(value));
    if (std::isfinite(value) && std::abs(value) > T{std::numeric_limits<float>::max()}) {
      throw InvalidMatrix(fmt::format("{} is more than single precision can hold", value));
    }
    put(static_cast<float>(value));
  }
  void flush() {
    sink_.write(buffer_);
    buffer_.clear();
  }

 private:
  template <class V>
  void put(V value) {
    constexpr std::size_t flush_at = std::size_t{1} << 18;
    value = in_order(value, big);
    buffer_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    if (buffer_.size() >= flush_at) flush();
  }

  TextSink& sink_;
  PetscOptions options_;
  std::string buffer_;
};

template <class T>
void write_aij(BinaryWriter& writer, const Csr<T>& matrix) {
  writer.integer(matrix_id);
  writer.integer(matrix.rows());
  writer.integer(matrix.columns());
  writer.integer(matrix.nonzeros());
  for (std::int64_t i = 0; i < matrix.rows(); ++i)
    writer.integer(matrix.row_offsets()[i + 1] - matrix.row_offsets()[i]);
  for (const std::int32_t column : matrix.column_indices().span()) writer.integer(column);
  for (const T value : matrix.values().span()) writer.scalar(value);
}

template <class T>
void write_dense(BinaryWriter& writer, const DenseView<const T>& matrix) {
  if (matrix.columns() == 1) {
    writer.integer(vector_id);
    writer.integer(matrix.rows());
  } else {
    writer.integer(matrix_id);
    writer.integer(matrix.rows());
    writer.integer(matrix.columns());
    writer.integer(dense_marker);
  }
  const std::int64_t rows = matrix.columns() > 0 ? matrix.rows() : 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < matrix.columns(); ++j) writer.scalar(matrix(i, j));
  }
}

}  // namespace

template <class T>
PetscFile<T> read_petsc_source(TextSource& source, const std::string& name, PetscScalar scalar) {
  return PetscReader<T>(source, name, scalar).read();
}

template <class T>
void write_petsc_sink(TextSink& sink, MatrixRef<T> matrix, const PetscOptions& options) {
  const HostMatrix<T> host(matrix);
  BinaryWriter writer(sink, options);
  if (const Csr<T>* const sparse = host.csr()) {
    write_aij(writer, *sparse);
  } else {
    write_dense(writer, host.dense());
  }
  writer.flush();
}

#define ECHELON_INSTANTIATE(T)                                                           \
  template PetscFile<T> read_petsc_source(TextSource&, const std::string&, PetscScalar); \
  template void write_petsc_sink(TextSink&, MatrixRef<T>, const PetscOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace io

template <class T>
PetscFile<T> read_petsc(const std::string& path, PetscScalar scalar) {
  return at_api_boundary([&] { return io::read_petsc_source<T>(*io::open_text(path), path, scalar); });
}

template <class T>
void write_petsc(const std::string& path, MatrixRef<T> matrix, const PetscOptions& options) {
  if (options.index_bits != 32 && options.index_bits != 64) {
    throw BadOption("index_bits",
                    fmt::format("PETSc's indices have 32 or 64 bits, not {}", options.index_bits));
  }
  io::write_file(path, [&](io::TextSink& file) { io::write_petsc_sink(file, matrix, options); });
}

#define ECHELON_INSTANTIATE(T)                                       \
  template PetscFile<T> read_petsc(const std::string&, PetscScalar); \
  template void write_petsc(const std::string&, MatrixRef<T>, const PetscOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
