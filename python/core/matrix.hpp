// SPDX-License-Identifier: BSD-3-Clause
/// A matrix or an operator in Python's memory.
#pragma once

#include "arrays.hpp"
#include "computation.hpp"

#include <echelon/matrix/matrix.hpp>
#include <echelon/matrix/sparse_view.hpp>
#include <echelon/matrix/stencil.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace echelon::python {

/// The function y = f(x) of a Python callable that takes and returns NumPy vectors. The callable gets a copy
/// of x, which it may keep.
template <class T>
[[nodiscard]] std::function<void(const T*, T*)> vector_function(const SharedObject& callable,
                                                                std::int64_t arguments, std::int64_t results);

/// Matrix<T> of the extension: refers to arrays, which it keeps alive, or to callables.
template <class T>
class PythonMatrix {
 public:
  using Values = nb::ndarray<const T>;
  using Indices = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig>;

  /// Throws InvalidMatrix for arrays whose lengths do not fit.
  [[nodiscard]] static std::unique_ptr<PythonMatrix> sparse(const std::string& layout, std::int64_t rows,
                                                            std::int64_t columns,
                                                            const Indices& offsets_or_rows,
                                                            const Indices& indices, const Values& values,
                                                            const std::string& stored);
  [[nodiscard]] static std::unique_ptr<PythonMatrix> dense(const Values& values);
  [[nodiscard]] static std::unique_ptr<PythonMatrix> linear_operator(std::int64_t rows, std::int64_t columns,
                                                                     const nb::object& product,
                                                                     const nb::object& transposed);

  using Coefficients = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  /// A stencil on a grid with boundary conditions by their names. Each offset has one coefficient, or all of
  /// them have one for each point; they are copied. Throws InvalidMatrix, and Error for a complex T.
  [[nodiscard]] static std::unique_ptr<PythonMatrix> stencil(const std::vector<std::int64_t>& points,
                                                             const std::vector<std::string>& boundaries,
                                                             const std::vector<StencilOffset>& offsets,
                                                             const std::vector<Coefficients>& coefficients,
                                                             bool constant);

  [[nodiscard]] MatrixRef<T> ref() const;
  /// The sparse matrix. Throws Error if there is none.
  [[nodiscard]] const Csr<T>& csr() const;
  /// The stencil. Throws Error if there is none.
  [[nodiscard]] const Stencil<T>& as_stencil() const;
  /// Whether the elements are used where Python has them.
  [[nodiscard]] bool is_in_place() const;
  /// Name of the GPU in whose memory the elements are; empty for the host.
  [[nodiscard]] std::string gpu() const;
  /// Takes new values in the order of the arrays that were given. Throws DimensionMismatch, and Error for an
  /// operator.
  void update_values(const Values& values);
  /// Elements from which a computation's length is guessed: an operator counts as a large matrix.
  [[nodiscard]] std::int64_t work() const;

 private:
  std::variant<DenseView<const T>, SparseView<T>, LinearOperator<T>, Stencil<T>> matrix_;
  Indices offsets_or_rows_;
  Indices indices_;
  Values values_;
};

}  // namespace echelon::python
