// SPDX-License-Identifier: BSD-3-Clause
/// Matrices from files and generators, and their properties.
#include "bindings.hpp"
#include "matrix.hpp"

#include <echelon/generate.hpp>
#include <echelon/io/files.hpp>
#include <echelon/matrix/structure.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <complex>
#include <string>
#include <utility>

namespace echelon::python {

namespace {

FileRole role_of(const std::string& name) {
  return name == "graph"             ? FileRole::graph
         : name == "right_hand_side" ? FileRole::right_hand_side
                                     : FileRole::matrix;
}

FileFormat format_of(const std::string& name) {
  return name.empty() ? FileFormat::automatic : parse_file_format(name);
}

/// (matrix, format, right-hand sides, labels of vertices)
template <class T>
nb::tuple read_file(const std::string& path, const std::string& format, const std::string& role) {
  ReadFileOptions options;
  options.format = format_of(format);
  options.role = role_of(role);
  MatrixFile<T> file;
  {
    const Unlocked unlocked;
    file = read_matrix_file<T>(path, options);
  }
  return nb::make_tuple(python_matrix(std::move(file.matrix)), to_string(file.info.format),
                        numpy_array(std::move(file.right_hand_sides)), numpy_array(std::move(file.labels)));
}

template <class T>
void write_file(const std::string& path, const PythonMatrix<T>& A, const std::string& format, bool directed) {
  WriteFileOptions options;
  options.format = format_of(format);
  options.directed = directed;
  const Unlocked unlocked;
  write_matrix<T>(path, A.ref(), options);
}

template <class T>
nb::object generated(const std::string& name, const nb::dict& values) {
  const Options options = options_of(values);
  Matrix<T> matrix;
  {
    const Unlocked unlocked;
    matrix = make_matrix<T>(name, options);
  }
  return python_matrix(std::move(matrix));
}

template <class T>
nb::dict properties(const PythonMatrix<T>& A, bool with_structural_rank) {
  Structure structure;
  std::optional<std::int64_t> rank;
  {
    const Unlocked unlocked;
    structure = analyze_structure<T>(A.ref());
    if (with_structural_rank) rank = structural_rank<T>(A.ref());
  }
  nb::dict result;
  result["rows"] = structure.rows;
  result["columns"] = structure.columns;
  result["nonzeros"] = structure.nonzeros;
  result["explicit_zeros"] = structure.explicit_zeros;
  result["symmetric_pattern"] = structure.symmetric_pattern;
  result["symmetric_values"] = structure.symmetric_values;
  result["hermitian_values"] = structure.hermitian_values;
  result["asymmetry"] = structure.asymmetry;
  result["lower_bandwidth"] = structure.lower_bandwidth;
  result["upper_bandwidth"] = structure.upper_bandwidth;
  result["longest_row"] = structure.longest_row;
  result["shortest_row"] = structure.shortest_row;
  result["empty_rows"] = structure.empty_rows;
  result["empty_columns"] = structure.empty_columns;
  result["zero_diagonals"] = structure.zero_diagonals;
  result["positive_diagonals"] = structure.positive_diagonals;
  result["strictly_dominant_rows"] = structure.strictly_dominant_rows;
  result["weakly_dominant_rows"] = structure.weakly_dominant_rows;
  result["largest_magnitude"] = structure.largest_magnitude;
  result["smallest_magnitude"] = structure.smallest_magnitude;
  result["definiteness"] = to_string(structure.definiteness);
  result["nonfinite_row"] = structure.nonfinite_row;
  result["nonfinite_column"] = structure.nonfinite_column;
  result["structural_rank"] = rank;
  return result;
}

}  // namespace

template <class T>
void bind_files(nb::module_& module) {
  module.def("read", read_file<T>);
  module.def("write", write_file<T>);
  module.def("generate", generated<T>);
  module.def("info", properties<T>);
}

template void bind_files<float>(nb::module_&);
template void bind_files<double>(nb::module_&);
template void bind_files<std::complex<double>>(nb::module_&);

}  // namespace echelon::python
