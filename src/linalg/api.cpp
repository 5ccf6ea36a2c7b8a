// SPDX-License-Identifier: BSD-3-Clause
#include "backend/check_same_memory.hpp"
#include "backend/dispatch.hpp"
#include "linalg/operations.hpp"
#include "linalg/residual_check.hpp"
#include "matrix/assign.hpp"
#include "matrix/view_checks.hpp"
#include "support/scalar.hpp"

#include <echelon/error.hpp>
#include <echelon/linalg.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

namespace echelon {

namespace {

void check_context(const Context& context, const Device& device, const char* name) {
  check_same_memory(context.device(), "the context", device, name);
}

template <class T>
void check_vectors(DenseView<const T> x, DenseView<const T> y) {
  check_view(x, "x");
  check_view(y, "y");
  if (x.rows() == y.rows() && x.columns() == 1 && y.columns() == 1) return;
  throw DimensionMismatch(fmt::format("x is {} by {}, y is {} by {}: two vectors of one length are needed",
                                      x.rows(), x.columns(), y.rows(), y.columns()));
}

template <class T>
void check_vector(DenseView<const T> x) {
  check_view(x, "x");
  if (x.columns() == 1) return;
  throw DimensionMismatch(fmt::format("x is {} by {}: a vector is needed", x.rows(), x.columns()));
}

/// result = matrix * factor; each is named.
template <class T>
void check_product(const char* matrix, std::int64_t rows, std::int64_t columns, const char* factor,
                   DenseView<const T> X, const char* result, DenseView<const T> Y) {
  check_view(X, factor);
  check_result_view(Y, result);
  if (columns == X.rows() && rows == Y.rows() && X.columns() == Y.columns()) return;
  throw DimensionMismatch(
      fmt::format("{0} is {3} by {4}, {1} is {5} by {6}, {2} is {7} by {8}: {2} = {0} {1} "
                  "does not fit",
                  matrix, factor, result, rows, columns, X.rows(), X.columns(), Y.rows(), Y.columns()));
}

template <class T>
void check_apart(DenseView<const T> operand, const char* name, DenseView<const T> result,
                 const char* name_of_result) {
  if (!overlap(operand, result)) return;
  throw OverlappingOperands(
      fmt::format("{} and {} share memory: write the result elsewhere", name, name_of_result));
}

template <class T>
bool same_view(const DenseView<const T>& a, const DenseView<const T>& b) {
  return a.data() == b.data() && a.layout() == b.layout() && a.leading() == b.leading();
}

template <class T>
void check_operand_of_sum(const Context& context, DenseView<const T> operand, const char* name,
                          DenseView<const T> C) {
  if (operand.rows() != C.rows() || operand.columns() != C.columns()) {
    throw DimensionMismatch(fmt::format("{} is {} by {}, the result {} by {}: one shape is needed", name,
                                        operand.rows(), operand.columns(), C.rows(), C.columns()));
  }
  check_context(context, operand.device(), name);
  if (!same_view(operand, C)) check_apart(operand, name, C, "the result");
}

template <class T>
void store_norm(Context& context, VectorNorm norm, DenseView<const T> x, double* result) {
  check_vector(x);
  check_context(context, x.device(), "x");
  on_target<targets_of<T>>(context.device(),
                           [&]<class Target>() { norm_on<Target, T>(context, norm, x, result); });
}

/// Returns the number that f(address) writes to the address.
template <class T, class F>
Dot<T> returned(Context& context, F&& f) {
  return on_target<targets_of<T>>(context.device(), [&]<class Target>() {
    Dot<T>* result = result_on<Target, T>(context);
    f(result);
    return read_on<Target, T>(context, result);
  });
}

template <class T>
void check_operands_of_product(const Context& context, const MatrixRef<T>& A, DenseView<const T> X,
                               DenseView<const T> Y) {
  check_same_memory(A.device(), "A", X.device(), "X");
  check_same_memory(A.device(), "A", Y.device(), "Y");
  check_context(context, A.device(), "A");
  check_apart<T>(X, "X", Y, "Y");
  if (A.is_sparse() || A.is_stencil()) return;
  check_view(A.dense(), "A");
  check_apart<T>(A.dense(), "A", Y, "Y");
}

/// Column j of X, or a copy of it where its elements are not consecutive.
template <class T>
DenseView<T> consecutive_column(DenseView<T> X, std::int64_t j, Dense<std::remove_const_t<T>>& copy) {
  if (X.layout() == Layout::column_major) return {X.column(j), X.rows(), 1, X.rows(), X.device()};
  copy = Dense<std::remove_const_t<T>>(X.device(), X.rows(), 1);
  assign<std::remove_const_t<T>>(
      DenseView<T>(X.data() + j, X.rows(), 1, X.leading(), X.device(), Layout::row_major), copy);
  return copy;
}

/// Y = alpha A X + beta Y for a stencil, column by column.
template <class Target, class T>
void multiply_columns(Context& context, T alpha, const MatrixRef<T>& A, DenseView<const T> X, T beta,
                      DenseView<T> Y) {
  for (std::int64_t j = 0; j < Y.columns(); ++j) {
    Dense<T> x;
    Dense<T> y;
    const DenseView<T> result = consecutive_column(Y, j, y);
    multiply_on<Target, T>(context, alpha, A, consecutive_column(X, j, x), beta, result);
    if (Y.layout() == Layout::row_major)
      assign<T>(y.view(),
                DenseView<T>(Y.data() + j, Y.rows(), 1, Y.leading(), Y.device(), Layout::row_major));
  }
}

/// Y = alpha A X + beta Y, or with A^T, for checked arguments.
template <class T>
void multiply_checked(Context& context, bool transpose, T alpha, const MatrixRef<T>& A, DenseView<const T> X,
                      T beta, DenseView<T> Y) {
  if constexpr (!is_complex<T>) {
    if (A.is_stencil()) {
      const Stencil<T> factor = transpose ? A.stencil()->transposed() : *A.stencil();
      return on_target(context.device(), [&]<class Target>() {
        multiply_columns<Target, T>(context, alpha, factor, X, beta, Y);
      });
    }
  }
  on_target<targets_of<T>>(context.device(), [&]<class Target>() {
    if (!transpose) {
      multiply_on<Target, T>(context, alpha, A, X, beta, Y);
    } else if (A.is_sparse()) {
      multiply_transposed_on<Target, T>(context, alpha, *A.csr(), X, beta, Y);
    } else {
      multiply_on<Target, T>(context, alpha, transposed(A.dense()), X, beta, Y);
    }
  });
}

/// Y = alpha A^H X + beta Y for checked arguments: A^H X = conj(A^T conj(X)).
template <class T>
void multiply_adjoint(Context& context, T alpha, const MatrixRef<T>& A, DenseView<const T> X, T beta,
                      DenseView<T> Y) {
  const auto conjugate = [&](DenseView<const T> from, DenseView<T> to) {
    on_target<targets_of<T>>(context.device(),
                             [&]<class Target>() { conjugate_on<Target, T>(context, from, to); });
  };
  Dense<T> conjugated(X.device(), X.rows(), X.columns());
  conjugate(X, conjugated);
  if (beta != T{0}) conjugate(Y, Y);
  multiply_checked<T>(context, true, conj(alpha), A, conjugated, conj(beta), Y);
  conjugate(Y, Y);
}

}  // namespace

template <class T>
void multiply(Context& context, Operation operation, T alpha, MatrixRef<T> A, DenseView<const T> X, T beta,
              DenseView<T> Y) {
  const bool plain = operation == Operation::none;
  const char* const name = plain ? "A" : operation == Operation::transpose ? "A^T" : "A^H";
  check_product<T>(name, plain ? A.rows() : A.columns(), plain ? A.columns() : A.rows(), "X", X, "Y", Y);
  check_operands_of_product<T>(context, A, X, Y);
  if (alpha == T{0}) {
    scal<T>(context, beta, Y);
    return;
  }
  if constexpr (is_complex<T>) {
    if (operation == Operation::adjoint) return multiply_adjoint(context, alpha, A, X, beta, Y);
  }
  multiply_checked(context, !plain, alpha, A, X, beta, Y);
}

template <class T>
void gemm(Context& context, T alpha, DenseView<const T> A, DenseView<const T> B, T beta, DenseView<T> C) {
  check_view(A, "A");
  check_product<T>("A", A.rows(), A.columns(), "B", B, "C", C);
  check_same_memory(A.device(), "A", B.device(), "B");
  check_same_memory(A.device(), "A", C.device(), "C");
  check_context(context, A.device(), "A");
  check_apart<T>(A, "A", C, "C");
  check_apart<T>(B, "B", C, "C");
  if (alpha == T{0} || A.columns() == 0) {
    scal<T>(context, beta, C);
    return;
  }
  on_target<targets_of<T>>(context.device(),
                           [&]<class Target>() { gemm_on<Target, T>(context, alpha, A, B, beta, C); });
}

template <class T>
void add(Context& context, T alpha, DenseView<const T> A, T beta, DenseView<const T> B, DenseView<T> C) {
  check_context(context, C.device(), "the result");
  check_operand_of_sum<T>(context, A, "the first operand", C);
  check_operand_of_sum<T>(context, B, "the second operand", C);
  on_target<targets_of<T>>(context.device(),
                           [&]<class Target>() { add_on<Target, T>(context, alpha, A, beta, B, C); });
}

template <class T>
void dot(Context& context, DenseView<const T> x, DenseView<const T> y, Dot<T>* result) {
  check_vectors(x, y);
  check_same_memory(x.device(), "x", y.device(), "y");
  check_context(context, x.device(), "x");
  on_target<targets_of<T>>(context.device(),
                           [&]<class Target>() { dot_on<Target, T>(context, x, y, result); });
}

template <class T>
Dot<T> dot(Context& context, DenseView<const T> x, DenseView<const T> y) {
  return returned<T>(context, [&](Dot<T>* result) { dot<T>(context, x, y, result); });
}

template <class T>
void sum(Context& context, DenseView<const T> x, Dot<T>* result) {
  check_vector(x);
  check_context(context, x.device(), "x");
  on_target<targets_of<T>>(context.device(), [&]<class Target>() { sum_on<Target, T>(context, x, result); });
}

template <class T>
Dot<T> sum(Context& context, DenseView<const T> x) {
  return returned<T>(context, [&](Dot<T>* result) { sum<T>(context, x, result); });
}

template <class T>
void norm1(Context& context, DenseView<const T> x, double* result) {
  store_norm(context, VectorNorm::norm1, x, result);
}

template <class T>
double norm1(Context& context, DenseView<const T> x) {
  return returned<double>(context, [&](double* result) { norm1<T>(context, x, result); });
}

template <class T>
void norm2(Context& context, DenseView<const T> x, double* result) {
  store_norm(context, VectorNorm::norm2, x, result);
}

template <class T>
double norm2(Context& context, DenseView<const T> x) {
  return returned<double>(context, [&](double* result) { norm2<T>(context, x, result); });
}

template <class T>
void norm_inf(Context& context, DenseView<const T> x, double* result) {
  store_norm(context, VectorNorm::norm_inf, x, result);
}

template <class T>
double norm_inf(Context& context, DenseView<const T> x) {
  return returned<double>(context, [&](double* result) { norm_inf<T>(context, x, result); });
}

template <class T>
double norm_inf(MatrixRef<T> A) {
  return on_target<targets_of<T>>(A.device(), [&]<class Target>() {
    return make_residual_check<Target, T>(A.device())->matrix(A).norm_inf;
  });
}

#define ECHELON_INSTANTIATE(T)                                                                       \
  template void multiply(Context&, Operation, T, MatrixRef<T>, DenseView<const T>, T, DenseView<T>); \
  template void gemm(Context&, T, DenseView<const T>, DenseView<const T>, T, DenseView<T>);          \
  template void add(Context&, T, DenseView<const T>, T, DenseView<const T>, DenseView<T>);           \
  template void dot(Context&, DenseView<const T>, DenseView<const T>, Dot<T>*);                      \
  template Dot<T> dot(Context&, DenseView<const T>, DenseView<const T>);                             \
  template void sum(Context&, DenseView<const T>, Dot<T>*);                                          \
  template Dot<T> sum(Context&, DenseView<const T>);                                                 \
  template void norm1(Context&, DenseView<const T>, double*);                                        \
  template double norm1(Context&, DenseView<const T>);                                               \
  template void norm2(Context&, DenseView<const T>, double*);                                        \
  template double norm2(Context&, DenseView<const T>);                                               \
  template void norm_inf(Context&, DenseView<const T>, double*);                                     \
  template double norm_inf(Context&, DenseView<const T>);                                            \
  template double norm_inf(MatrixRef<T>);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
