// SPDX-License-Identifier: BSD-3-Clause
#include "backend/check_same_memory.hpp"
#include "backend/dispatch.hpp"
#include "linalg/operations.hpp"
#include "linalg/residual_check.hpp"
#include "matrix/view_checks.hpp"

#include <echelon/error.hpp>
#include <echelon/linalg.hpp>

#include <fmt/format.h>

#include <functional>

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
void reduce(Context& context, VectorReduction reduction, DenseView<const T> x, double* result) {
  check_vector(x);
  check_context(context, x.device(), "x");
  on_target(context.device(), [&]<class Target>() { reduce_on<Target, T>(context, reduction, x, result); });
}

/// Returns the number that f(address) writes to the address.
template <class F>
double returned(Context& context, F&& f) {
  return on_target(context.device(), [&]<class Target>() {
    double* result = result_on<Target>(context);
    f(result);
    return read_on<Target>(context, result);
  });
}

}  // namespace

template <class T>
void multiply(Context& context, T alpha, MatrixRef<T> A, DenseView<const T> X, T beta, DenseView<T> Y) {
  check_product<T>("A", A.rows(), A.columns(), "X", X, "Y", Y);
  check_same_memory(A.device(), "A", X.device(), "X");
  check_same_memory(A.device(), "A", Y.device(), "Y");
  check_context(context, A.device(), "A");
  check_apart<T>(X, "X", Y, "Y");
  if (!A.is_sparse()) {
    check_view(A.dense(), "A");
    check_apart<T>(A.dense(), "A", Y, "Y");
  }
  if (alpha == T{0}) {
    scal<T>(context, beta, Y);
    return;
  }
  on_target(context.device(), [&]<class Target>() { multiply_on<Target, T>(context, alpha, A, X, beta, Y); });
}

template <class T>
void multiply_transposed(Context& context, T alpha, MatrixRef<T> A, DenseView<const T> X, T beta,
                         DenseView<T> Y) {
  if (!A.is_sparse()) {
    multiply<T>(context, alpha, transposed(A.dense()), X, beta, Y);
    return;
  }
  check_product<T>("A^T", A.columns(), A.rows(), "X", X, "Y", Y);
  check_same_memory(A.device(), "A", X.device(), "X");
  check_same_memory(A.device(), "A", Y.device(), "Y");
  check_context(context, A.device(), "A");
  check_apart<T>(X, "X", Y, "Y");
  if (alpha == T{0}) {
    scal<T>(context, beta, Y);
    return;
  }
  on_target(context.device(),
            [&]<class Target>() { multiply_transposed_on<Target, T>(context, alpha, *A.csr(), X, beta, Y); });
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
  on_target(context.device(), [&]<class Target>() { gemm_on<Target, T>(context, alpha, A, B, beta, C); });
}

template <class T>
void add(Context& context, T alpha, DenseView<const T> A, T beta, DenseView<const T> B, DenseView<T> C) {
  check_context(context, C.device(), "the result");
  check_operand_of_sum<T>(context, A, "the first operand", C);
  check_operand_of_sum<T>(context, B, "the second operand", C);
  on_target(context.device(), [&]<class Target>() { add_on<Target, T>(context, alpha, A, beta, B, C); });
}

template <class T>
void dot(Context& context, DenseView<const T> x, DenseView<const T> y, double* result) {
  check_vectors(x, y);
  check_same_memory(x.device(), "x", y.device(), "y");
  check_context(context, x.device(), "x");
  on_target(context.device(), [&]<class Target>() { dot_on<Target, T>(context, x, y, result); });
}

template <class T>
double dot(Context& context, DenseView<const T> x, DenseView<const T> y) {
  return returned(context, [&](double* result) { dot<T>(context, x, y, result); });
}

template <class T>
void sum(Context& context, DenseView<const T> x, double* result) {
  reduce(context, VectorReduction::sum, x, result);
}

template <class T>
double sum(Context& context, DenseView<const T> x) {
  return returned(context, [&](double* result) { sum<T>(context, x, result); });
}

template <class T>
void norm1(Context& context, DenseView<const T> x, double* result) {
  reduce(context, VectorReduction::norm1, x, result);
}

template <class T>
double norm1(Context& context, DenseView<const T> x) {
  return returned(context, [&](double* result) { norm1<T>(context, x, result); });
}

template <class T>
void norm2(Context& context, DenseView<const T> x, double* result) {
  reduce(context, VectorReduction::norm2, x, result);
}

template <class T>
double norm2(Context& context, DenseView<const T> x) {
  return returned(context, [&](double* result) { norm2<T>(context, x, result); });
}

template <class T>
void norm_inf(Context& context, DenseView<const T> x, double* result) {
  reduce(context, VectorReduction::norm_inf, x, result);
}

template <class T>
double norm_inf(Context& context, DenseView<const T> x) {
  return returned(context, [&](double* result) { norm_inf<T>(context, x, result); });
}

template <class T>
double norm_inf(MatrixRef<T> A) {
  return on_target(A.device(), [&]<class Target>() {
    return make_residual_check<Target, T>(A.device())->matrix(A).norm_inf;
  });
}

template void multiply(Context&, float, MatrixRef<float>, DenseView<const float>, float, DenseView<float>);
template void multiply_transposed(Context&, float, MatrixRef<float>, DenseView<const float>, float,
                                  DenseView<float>);
template void gemm(Context&, float, DenseView<const float>, DenseView<const float>, float, DenseView<float>);
template void add(Context&, float, DenseView<const float>, float, DenseView<const float>, DenseView<float>);
template void dot(Context&, DenseView<const float>, DenseView<const float>, double*);
template double dot(Context&, DenseView<const float>, DenseView<const float>);
template void sum(Context&, DenseView<const float>, double*);
template double sum(Context&, DenseView<const float>);
template void norm1(Context&, DenseView<const float>, double*);
template double norm1(Context&, DenseView<const float>);
template void norm2(Context&, DenseView<const float>, double*);
template double norm2(Context&, DenseView<const float>);
template void norm_inf(Context&, DenseView<const float>, double*);
template double norm_inf(Context&, DenseView<const float>);
template double norm_inf(MatrixRef<float>);
template void multiply(Context&, double, MatrixRef<double>, DenseView<const double>, double,
                       DenseView<double>);
template void multiply_transposed(Context&, double, MatrixRef<double>, DenseView<const double>, double,
                                  DenseView<double>);
template void gemm(Context&, double, DenseView<const double>, DenseView<const double>, double,
                   DenseView<double>);
template void add(Context&, double, DenseView<const double>, double, DenseView<const double>,
                  DenseView<double>);
template void dot(Context&, DenseView<const double>, DenseView<const double>, double*);
template double dot(Context&, DenseView<const double>, DenseView<const double>);
template void sum(Context&, DenseView<const double>, double*);
template double sum(Context&, DenseView<const double>);
template void norm1(Context&, DenseView<const double>, double*);
template double norm1(Context&, DenseView<const double>);
template void norm2(Context&, DenseView<const double>, double*);
template double norm2(Context&, DenseView<const double>);
template void norm_inf(Context&, DenseView<const double>, double*);
template double norm_inf(Context&, DenseView<const double>);
template double norm_inf(MatrixRef<double>);

}  // namespace echelon
