// SPDX-License-Identifier: BSD-3-Clause
#include "matrix.hpp"

#include "bindings.hpp"

#include <echelon/matrix/scalar.hpp>

#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <complex>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace echelon::python {

namespace {

IndexArray index_array(const nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig>& array) {
  if (array.dtype() == nb::dtype<std::int32_t>()) return static_cast<const std::int32_t*>(array.data());
  if (array.dtype() == nb::dtype<std::int64_t>()) return static_cast<const std::int64_t*>(array.data());
  throw InvalidMatrix("the indices of a sparse matrix are neither int32 nor int64");
}

SparseLayout layout_of(const std::string& name) {
  return name == "csc" ? SparseLayout::csc : name == "coo" ? SparseLayout::coo : SparseLayout::csr;
}

StoredElements stored_of(const std::string& name) {
  return name == "lower"   ? StoredElements::lower
         : name == "upper" ? StoredElements::upper
                           : StoredElements::all;
}

void check_length(const char* name, std::size_t length, std::int64_t expected) {
  if (static_cast<std::int64_t>(length) == expected) return;
  throw InvalidMatrix("the array of " + std::string(name) + " has " + std::to_string(length) +
                      " elements instead of " + std::to_string(expected));
}

}  // namespace

template <class T>
std::function<void(const T*, T*)> vector_function(const SharedObject& callable, std::int64_t arguments,
                                                  std::int64_t results) {
  return [=](const T* x, T* y) {
    const Locked lock;
    const nb::object result = callable.get()(numpy_array(std::vector<T>(x, x + arguments)));
    const auto values = nb::cast<nb::ndarray<const T, nb::ndim<1>, nb::c_contig>>(result, false);
    if (static_cast<std::int64_t>(values.size()) != results) {
      throw DimensionMismatch("the product of an operator has " + std::to_string(values.size()) +
                              " elements instead of " + std::to_string(results));
    }
    std::memcpy(y, values.data(), values.size() * sizeof(T));
  };
}

template <class T>
std::unique_ptr<PythonMatrix<T>> PythonMatrix<T>::sparse(const std::string& layout, std::int64_t rows,
                                                         std::int64_t columns, const Indices& offsets_or_rows,
                                                         const Indices& indices, const Values& values,
                                                         const std::string& stored) {
  SparsePattern pattern{.layout = layout_of(layout),
                        .rows = rows,
                        .columns = columns,
                        .nonzeros = static_cast<std::int64_t>(values.size()),
                        .offsets_or_rows = index_array(offsets_or_rows),
                        .indices = index_array(indices),
                        .stored = stored_of(stored)};
  check_length("indices", indices.size(), pattern.nonzeros);
  if (pattern.layout == SparseLayout::coo) {
    check_length("row indices", offsets_or_rows.size(), pattern.nonzeros);
  } else {
    check_length("offsets", offsets_or_rows.size(),
                 1 + (pattern.layout == SparseLayout::csr ? rows : columns));
  }
  auto result = std::make_unique<PythonMatrix>();
  result->offsets_or_rows_ = offsets_or_rows;
  result->indices_ = indices;
  result->values_ = values;
  const Device device = device_of(values);
  const Unlocked unlocked;
  result->matrix_ = SparseView<T>(device, pattern, values.data());
  return result;
}

template <class T>
std::unique_ptr<PythonMatrix<T>> PythonMatrix<T>::dense(const Values& values) {
  auto result = std::make_unique<PythonMatrix>();
  result->matrix_ = view_of<const T>(values);
  result->values_ = values;
  return result;
}

template <class T>
std::unique_ptr<PythonMatrix<T>> PythonMatrix<T>::linear_operator(std::int64_t rows, std::int64_t columns,
                                                                  const nb::object& product,
                                                                  const nb::object& transposed) {
  auto apply = vector_function<T>(SharedObject(product), columns, rows);
  auto result = std::make_unique<PythonMatrix>();
  if (transposed.is_none()) {
    result->matrix_ = LinearOperator<T>(rows, columns, std::move(apply));
  } else {
    result->matrix_ = LinearOperator<T>(rows, columns, std::move(apply),
                                        vector_function<T>(SharedObject(transposed), rows, columns));
  }
  return result;
}

template <class T>
std::unique_ptr<PythonMatrix<T>> PythonMatrix<T>::stencil(const std::vector<std::int64_t>& points,
                                                          const std::vector<std::string>& boundaries,
                                                          const std::vector<StencilOffset>& offsets,
                                                          const std::vector<Coefficients>& coefficients,
                                                          bool constant) {
  auto result = std::make_unique<PythonMatrix>();
  if constexpr (is_complex<T>) {
    throw Error("a stencil has real coefficients");
  } else {
    StencilGrid grid{points, {}};
    for (const std::string& name : boundaries) {
      const std::optional<BoundaryCondition> boundary = from_word<BoundaryCondition>(name);
      if (!boundary)
        throw InvalidMatrix("a boundary is 'dirichlet', 'neumann' or 'periodic', not '" + name + "'");
      grid.boundaries.push_back(*boundary);
    }
    std::vector<StencilEntry<T>> entries;
    std::vector<StencilArray<T>> arrays;
    for (std::size_t k = 0; k < offsets.size(); ++k) {
      if (constant) {
        entries.push_back({offsets[k], coefficients[k].data()[0]});
      } else {
        arrays.push_back({offsets[k], {coefficients[k].data(), coefficients[k].size()}});
      }
    }
    const Unlocked unlocked;
    result->matrix_ = constant ? Stencil<T>::constant(grid, entries) : Stencil<T>::variable(grid, arrays);
  }
  return result;
}

template <class T>
MatrixRef<T> PythonMatrix<T>::ref() const {
  return std::visit([](const auto& matrix) { return MatrixRef<T>(matrix); }, matrix_);
}

template <class T>
const Csr<T>& PythonMatrix<T>::csr() const {
  if (const auto* sparse = std::get_if<SparseView<T>>(&matrix_)) return sparse->csr();
  throw Error("a sparse matrix is needed, not a dense one or an operator");
}

template <class T>
const Stencil<T>& PythonMatrix<T>::as_stencil() const {
  if (const auto* found = std::get_if<Stencil<T>>(&matrix_)) return *found;
  throw Error("a stencil is needed");
}

template <class T>
bool PythonMatrix<T>::is_in_place() const {
  const auto* sparse = std::get_if<SparseView<T>>(&matrix_);
  return sparse == nullptr || sparse->is_in_place();
}

template <class T>
std::string PythonMatrix<T>::gpu() const {
  const Device device = ref().device();
  return device.on_host() ? std::string() : "cuda:" + std::to_string(device.id());
}

template <class T>
void PythonMatrix<T>::update_values(const Values& values) {
  if (values.size() != values_.size() || ref().is_operator()) {
    throw DimensionMismatch("the matrix stores " + std::to_string(values_.size()) + " values, not " +
                            std::to_string(values.size()));
  }
  if (auto* sparse = std::get_if<SparseView<T>>(&matrix_)) {
    sparse->update_values(values.data());
  } else {
    matrix_ = view_of<const T>(values);
  }
  values_ = values;
}

template <class T>
std::int64_t PythonMatrix<T>::work() const {
  const MatrixRef<T> matrix = ref();
  return matrix.is_operator() ? interruptible_elements : matrix.nonzeros();
}

namespace {

template <class T>
std::string describe_stencil(const PythonMatrix<T>& A) {
  if constexpr (is_complex<T>) {
    throw Error("a stencil has real coefficients");
  } else {
    return A.as_stencil().describe();
  }
}

template <class T>
nb::tuple csr_of_stencil(const PythonMatrix<T>& A) {
  if constexpr (is_complex<T>) {
    throw Error("a stencil has real coefficients");
  } else {
    return csr_arrays(to_csr(A.as_stencil()));
  }
}

}  // namespace

template <class T>
void bind_matrices(nb::module_& module) {
  using M = PythonMatrix<T>;
  nb::class_<M>(module, "Matrix")
      .def_static("sparse", &M::sparse, nb::arg(), nb::arg(), nb::arg(), nb::arg().noconvert(),
                  nb::arg().noconvert(), nb::arg().noconvert(), nb::arg())
      .def_static("dense", &M::dense, nb::arg().noconvert())
      .def_static("linear_operator", &M::linear_operator, nb::arg(), nb::arg(), nb::arg(), nb::arg().none())
      .def_static("stencil", &M::stencil, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg())
      .def("describe_stencil", [](const M& A) { return describe_stencil(A); })
      .def("stencil_csr", [](const M& A) { return csr_of_stencil(A); })
      .def_prop_ro("rows", [](const M& A) { return A.ref().rows(); })
      .def_prop_ro("columns", [](const M& A) { return A.ref().columns(); })
      .def_prop_ro("nonzeros", [](const M& A) { return A.ref().nonzeros(); })
      .def_prop_ro("is_sparse", [](const M& A) { return A.ref().is_sparse(); })
      .def_prop_ro("is_operator", [](const M& A) { return A.ref().is_operator(); })
      .def_prop_ro("is_in_place", &M::is_in_place)
      .def_prop_ro("gpu", &M::gpu)
      .def("update_values", &M::update_values, nb::arg().noconvert());
}

template class PythonMatrix<float>;
template class PythonMatrix<double>;
template class PythonMatrix<std::complex<double>>;
template std::function<void(const float*, float*)> vector_function(const SharedObject&, std::int64_t,
                                                                   std::int64_t);
template std::function<void(const double*, double*)> vector_function(const SharedObject&, std::int64_t,
                                                                     std::int64_t);
template std::function<void(const std::complex<double>*, std::complex<double>*)> vector_function(
    const SharedObject&, std::int64_t, std::int64_t);
template void bind_matrices<float>(nb::module_&);
template void bind_matrices<double>(nb::module_&);
template void bind_matrices<std::complex<double>>(nb::module_&);

}  // namespace echelon::python
