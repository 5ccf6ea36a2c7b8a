// SPDX-License-Identifier: BSD-3-Clause
#include "backend/check_same_memory.hpp"
#include "backend/dispatch.hpp"
#include "linalg/spadd/sum.hpp"

#include <echelon/error.hpp>
#include <echelon/linalg/sparse_sum.hpp>

#include <fmt/format.h>

#include <utility>

namespace echelon {

namespace {

template <class T>
void check_operands(const Csr<T>& A, const Csr<T>& B) {
  if (A.rows() != B.rows() || A.columns() != B.columns()) {
    throw DimensionMismatch(fmt::format("A is {} by {}, B is {} by {}: a sum needs matrices of one shape",
                                        A.rows(), A.columns(), B.rows(), B.columns()));
  }
  check_same_memory(A.device(), "A", B.device(), "B");
}

template <class T>
SumArrays<T> sum(T alpha, const Csr<T>& A, T beta, const Csr<T>& B, bool with_values) {
  check_operands(A, B);
  return on_target(A.device(), [&]<class Target>() {
    return sum_on<Target, T>({alpha, A}, {beta, B}, with_values);
  });
}

}  // namespace

template <class T>
SparseSum<T>::SparseSum(const Csr<T>& A, const Csr<T>& B)
    : rows_(A.rows()), columns_(A.columns()), nonzeros_of_A_(A.nonzeros()), nonzeros_of_B_(B.nonzeros()) {
  SumArrays<T> arrays = sum<T>(T{1}, A, T{1}, B, false);
  row_offsets_ = std::move(arrays.row_offsets);
  column_indices_ = std::move(arrays.column_indices);
}

template <class T>
void SparseSum<T>::check(const Csr<T>& A, const Csr<T>& B) const {
  check_operands(A, B);
  check_same_memory(A.device(), "A", row_offsets_.device(), "the pattern of the sum");
  if (A.rows() == rows_ && A.columns() == columns_ && A.nonzeros() == nonzeros_of_A_ &&
      B.nonzeros() == nonzeros_of_B_) {
    return;
  }
  throw DimensionMismatch(fmt::format(
      "A and B are {} by {} with {} and {} nonzeros, the sum was prepared for {} by {} with {} and {}",
      A.rows(), A.columns(), A.nonzeros(), B.nonzeros(), rows_, columns_, nonzeros_of_A_, nonzeros_of_B_));
}

template <class T>
void SparseSum<T>::update(T alpha, const Csr<T>& A, T beta, const Csr<T>& B, Csr<T>& C) const {
  check(A, B);
  check_same_memory(C.device(), "C", A.device(), "A");
  if (C.rows() != rows_ || C.columns() != columns_ || C.nonzeros() != nonzeros()) {
    throw DimensionMismatch(fmt::format("C is {} by {} with {} nonzeros, the sum {} by {} with {}", C.rows(),
                                        C.columns(), C.nonzeros(), rows_, columns_, nonzeros()));
  }
  const bool is_known = on_target(A.device(), [&]<class Target>() {
    return update_sum_on<Target, T>({alpha, A}, {beta, B}, row_offsets_, column_indices_, C.values().data());
  });
  if (!is_known) throw InvalidMatrix("A and B have other patterns than those that the sum was prepared for");
}

template <class T>
Csr<T> SparseSum<T>::compute(T alpha, const Csr<T>& A, T beta, const Csr<T>& B) const {
  check(A, B);
  Csr<T> C =
      Csr<T>::unchecked(rows_, columns_, row_offsets_, column_indices_, Array<T>(A.device(), nonzeros()));
  update(alpha, A, beta, B, C);
  return C;
}

template <class T>
Csr<T> add(T alpha, const Csr<T>& A, T beta, const Csr<T>& B) {
  SumArrays<T> arrays = sum<T>(alpha, A, beta, B, true);
  return Csr<T>::unchecked(A.rows(), A.columns(), std::move(arrays.row_offsets),
                           std::move(arrays.column_indices), std::move(arrays.values));
}

template class SparseSum<float>;
template class SparseSum<double>;
template Csr<float> add(float, const Csr<float>&, float, const Csr<float>&);
template Csr<double> add(double, const Csr<double>&, double, const Csr<double>&);

}  // namespace echelon
