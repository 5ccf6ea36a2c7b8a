// SPDX-License-Identifier: BSD-3-Clause
#include "dense/lu/operations.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/transform.hpp>
#include <echelon/methods/dense/lu.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

namespace echelon {

namespace {

template <class T>
const lu::Operations<T>& operations(const Lu<T>& lu) {
  return dynamic_cast<const lu::Operations<T>&>(SolverAccess<T>::implementation(lu));
}

/// Report of the last set-up, obtained by a solve without right-hand sides. A matrix with a NaN does not
/// reach the factorisation, which then still holds the preceding matrix.
template <class T>
Report last_setup(const Lu<T>& lu) {
  const std::int64_t n = operations(lu).matrix().rows();
  const Dense<T> none(lu.device(), n, 0);
  Dense<T> nothing(lu.device(), n, 0);
  return lu.solve(none, nothing);
}

/// View of the transpose of A.
template <class T>
DenseView<const T> transposed_view(const DenseView<const T>& A) {
  const Layout other = A.layout() == Layout::column_major ? Layout::row_major : Layout::column_major;
  return {A.data(), A.columns(), A.rows(), A.leading(), A.device(), other};
}

/// Identity in CSR form, 3 n + 1 numbers, from which a GPU forms the dense matrix in its own memory.
template <class T>
Csr<T> sparse_identity(std::int64_t n) {
  Array<std::int64_t> row_offsets(Device(), n + 1);
  Array<std::int32_t> column_indices(Device(), n);
  Array<T> values(Device(), n);
  std::iota(row_offsets.data(), row_offsets.data() + n + 1, std::int64_t{0});
  std::iota(column_indices.data(), column_indices.data() + n, 0);
  std::fill_n(values.data(), n, T{1});
  return Csr<T>::unchecked(n, n, std::move(row_offsets), std::move(column_indices), std::move(values));
}

}  // namespace

template <class T>
Determinant Lu<T>::determinant() const {
  const Report report = last_setup(*this);
  if (report.status == Status::cancelled || report.status == Status::not_a_number)
    throw Error("there is no determinant without factors: " + report.message);
  return operations(*this).determinant();
}

template <class T>
Report Lu<T>::solve_transposed(DenseView<const T> B, DenseView<T> X) const {
  Report report = last_setup(*this);
  if (report.status == Status::cancelled || report.status == Status::not_a_number) return report;
  const MatrixRef<T>& A = operations(*this).matrix();
  auto implementation = operations(*this).transposed();
  implementation->set_description(std::string(LuOptions::name),
                                  SolverAccess<T>::implementation(*this).changed_options());
  Solver<T> solver(std::move(implementation));
  Csr<T> sparse;
  if (A.is_sparse()) {
    sparse = transpose(*A.csr());
    solver.setup(sparse);
  } else {
    solver.setup(transposed_view(A.dense()));
  }
  return solver.solve(B, X);
}

template <class T>
Report Lu<T>::inverse(DenseView<T> X) const {
  const Csr<T> identity = sparse_identity<T>(operations(*this).matrix().rows()).to(this->device());
  return this->solve(to_dense<T>(MatrixRef<T>(identity)), X);
}

template class Lu<float>;
template class Lu<double>;

}  // namespace echelon
