// SPDX-License-Identifier: BSD-3-Clause
#include "dense/lu/operations.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/transform.hpp>
#include <echelon/methods/dense/lu.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace echelon {

namespace {

template <class T>
const lu::Operations<T>& operations(const Lu<T>& lu) {
  return dynamic_cast<const lu::Operations<T>&>(SolverAccess<T>::implementation(lu));
}

/// Report about the last set-up, by a solve without right-hand sides. A matrix with a NaN does not reach the
/// factorisation, which then still holds the matrix before.
template <class T>
Report last_setup(const Lu<T>& lu) {
  const std::int64_t n = operations(lu).matrix().rows();
  const Dense<T> none(lu.device(), n, 0);
  Dense<T> nothing(lu.device(), n, 0);
  return lu.solve(none, nothing);
}

/// Elements of A with rows and columns exchanged.
template <class T>
DenseView<const T> transposed_view(const DenseView<const T>& A) {
  const Layout other = A.layout() == Layout::column_major ? Layout::row_major : Layout::column_major;
  return {A.data(), A.columns(), A.rows(), A.leading(), A.device(), other};
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
  const std::int64_t n = operations(*this).matrix().rows();
  Dense<T> identity(Device(), n, n);
  std::fill_n(identity.data(), n * n, T{0});
  for (std::int64_t i = 0; i < n; ++i) identity(i, i) = 1;
  return this->solve(identity.to(this->device()), X);
}

template class Lu<float>;
template class Lu<double>;

}  // namespace echelon
