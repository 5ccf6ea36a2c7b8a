// SPDX-License-Identifier: BSD-3-Clause
/// Operations on vectors and matrices.
///
/// Every operation has two forms. The form with a Context as first argument runs on the context's device and
/// keeps its scratch memory in the context for the next call. The form without runs on the device of its
/// first matrix operand (or first vector) and creates a temporary context, which on a GPU costs allocations:
/// use it where time does not matter.
///
/// Errors: DeviceMismatch, naming both, for operands in different memories; DimensionMismatch, naming the
/// shapes, when they do not fit; OverlappingOperands when a result shares memory with an operand and the
/// operation does not allow it; InvalidMatrix for a dimension above 2^31 - 1, the limit of BLAS on the host.
///
/// On a GPU an operation returns before its work is done, and later calls of the same thread see its result.
/// An operation waits only if it returns a number to the host, and its description says so. NaN and Inf
/// propagate as in the formula, except that a zero alpha or beta drops its term: the operands of that term
/// are not read.
///
/// Dense operands may be column-major or row-major views; neither is copied.
#pragma once

#include <echelon/context.hpp>
#include <echelon/export.h>
#include <echelon/matrix/matrix.hpp>
#include <echelon/matrix/operation.hpp>
#include <echelon/matrix/scalar.hpp>

namespace echelon {

/// Y = alpha op(A) X + beta Y for a sparse or a dense A. Y overlaps neither X nor a dense A.
/// Sparse: A is read once for every eight columns of X; each column of Y has the bits that it would have
/// alone. Bytes moved: (4 + sizeof T) a nonzero and 8 a row for every eight columns; X and Y once (Y twice
/// unless beta = 0).
/// Dense: BLAS, gemv for one column and gemm for several.
/// A stencil: one product for each column, which is copied where X or Y is row-major; the first product with
/// a transposed one transposes its coefficients, which are kept. Another operator is refused.
///
/// A transposed sparse A is read once for every column of X. The host fills up to 16 vectors of A.columns()
/// elements and adds them in an order that depends on A alone; a product takes up to twice as long as one
/// with A. A GPU first forms the transpose, and waits: memory for a second A, and about twenty times the time
/// of a product. For repeated products, keep a transpose (<echelon/matrix/transform.hpp>) instead. The
/// adjoint of a complex A takes a copy of X in addition.
template <class T>
ECHELON_API void multiply(Context& context, Operation operation, T alpha, MatrixRef<T> A,
                          DenseView<const T> X, T beta, DenseView<T> Y);
template <class T>
void multiply(Operation operation, T alpha, MatrixRef<T> A, DenseView<const T> X, T beta, DenseView<T> Y) {
  Context context(A.device());
  multiply<T>(context, operation, alpha, A, X, beta, Y);
}

/// Y = alpha A X + beta Y.
template <class T>
void multiply(Context& context, T alpha, MatrixRef<T> A, DenseView<const T> X, T beta, DenseView<T> Y) {
  multiply<T>(context, Operation::none, alpha, A, X, beta, Y);
}
template <class T>
void multiply(T alpha, MatrixRef<T> A, DenseView<const T> X, T beta, DenseView<T> Y) {
  Context context(A.device());
  multiply<T>(context, alpha, A, X, beta, Y);
}

/// Y = alpha A^T X + beta Y.
template <class T>
void multiply_transposed(Context& context, T alpha, MatrixRef<T> A, DenseView<const T> X, T beta,
                         DenseView<T> Y) {
  multiply<T>(context, Operation::transpose, alpha, A, X, beta, Y);
}
template <class T>
void multiply_transposed(T alpha, MatrixRef<T> A, DenseView<const T> X, T beta, DenseView<T> Y) {
  Context context(A.device());
  multiply_transposed<T>(context, alpha, A, X, beta, Y);
}

/// C = alpha A B + beta C; `transposed` makes the other three forms. C overlaps neither A nor B.
/// 2 m n k flops for an m-by-n result of sums of k terms. On the host (OpenBLAS, by tiles of fixed size) the
/// bits do not depend on the number of threads; a GPU's are cuBLAS's.
template <class T>
ECHELON_API void gemm(Context& context, T alpha, DenseView<const T> A, DenseView<const T> B, T beta,
                      DenseView<T> C);
template <class T>
void gemm(T alpha, DenseView<const T> A, DenseView<const T> B, T beta, DenseView<T> C) {
  Context context(A.device());
  gemm<T>(context, alpha, A, B, beta, C);
}

/// C = alpha A + beta B, element by element. C may be A or B itself; any other overlap is refused.
/// Bytes moved: 3 sizeof(T) an element.
template <class T>
ECHELON_API void add(Context& context, T alpha, DenseView<const T> A, T beta, DenseView<const T> B,
                     DenseView<T> C);
template <class T>
void add(T alpha, DenseView<const T> A, T beta, DenseView<const T> B, DenseView<T> C) {
  Context context(A.device());
  add<T>(context, alpha, A, beta, B, C);
}

/// y = alpha x + beta y, for vectors or matrices of one shape.
template <class T>
void axpby(Context& context, T alpha, DenseView<const T> x, T beta, DenseView<T> y) {
  add<T>(context, alpha, x, beta, y, y);
}
template <class T>
void axpby(T alpha, DenseView<const T> x, T beta, DenseView<T> y) {
  add<T>(alpha, x, beta, y, y);
}
/// y = y + alpha x.
template <class T>
void axpy(Context& context, T alpha, DenseView<const T> x, DenseView<T> y) {
  add<T>(context, alpha, x, T{1}, y, y);
}
template <class T>
void axpy(T alpha, DenseView<const T> x, DenseView<T> y) {
  add<T>(alpha, x, T{1}, y, y);
}
/// x = alpha x; alpha = 0 sets zeros.
template <class T>
void scal(Context& context, T alpha, DenseView<T> x) {
  add<T>(context, alpha, x, T{0}, x, x);
}
template <class T>
void scal(T alpha, DenseView<T> x) {
  add<T>(alpha, x, T{0}, x, x);
}

/// Reductions of single columns, accumulated in double (complex ones in std::complex<double>). On the host
/// every 4096 elements are summed in eight interleaved chains, and these sums are added in order, so that the
/// bits are the same for any number of threads and on `serial`. On a GPU they are the same on every run on
/// the same model.
///
/// Each has three forms: the form with the parameter `result` stores the number there, in the memory of x,
/// and does not wait; the others wait and return the number.
///
/// x^H y = conj(x_0) y_0 + conj(x_1) y_1 + ... Bytes moved: 2 sizeof(T) an element.
template <class T>
ECHELON_API void dot(Context& context, DenseView<const T> x, DenseView<const T> y, Dot<T>* result);
template <class T>
[[nodiscard]] ECHELON_API Dot<T> dot(Context& context, DenseView<const T> x, DenseView<const T> y);
template <class T>
[[nodiscard]] Dot<T> dot(DenseView<const T> x, DenseView<const T> y) {
  Context context(x.device());
  return dot<T>(context, x, y);
}
/// x_0 + x_1 + ...
template <class T>
ECHELON_API void sum(Context& context, DenseView<const T> x, Dot<T>* result);
template <class T>
[[nodiscard]] ECHELON_API Dot<T> sum(Context& context, DenseView<const T> x);
template <class T>
[[nodiscard]] Dot<T> sum(DenseView<const T> x) {
  Context context(x.device());
  return sum<T>(context, x);
}
/// |x_0| + |x_1| + ...
template <class T>
ECHELON_API void norm1(Context& context, DenseView<const T> x, double* result);
template <class T>
[[nodiscard]] ECHELON_API double norm1(Context& context, DenseView<const T> x);
template <class T>
[[nodiscard]] double norm1(DenseView<const T> x) {
  Context context(x.device());
  return norm1<T>(context, x);
}
/// sqrt(|x_0|^2 + |x_1|^2 + ...), with neither overflow nor underflow on the way: large and small numbers are
/// squared after scaling (Blue, ACM TOMS 4, 1978), in a second pass over x that is made only if needed.
template <class T>
ECHELON_API void norm2(Context& context, DenseView<const T> x, double* result);
template <class T>
[[nodiscard]] ECHELON_API double norm2(Context& context, DenseView<const T> x);
template <class T>
[[nodiscard]] double norm2(DenseView<const T> x) {
  Context context(x.device());
  return norm2<T>(context, x);
}
/// max |x_i|; NaN if there is one.
template <class T>
ECHELON_API void norm_inf(Context& context, DenseView<const T> x, double* result);
template <class T>
[[nodiscard]] ECHELON_API double norm_inf(Context& context, DenseView<const T> x);

/// max over rows of the sum of |a_ij|, which for a single column is max |x_i|; NaN if there is one.
/// Synchronises.
template <class T>
[[nodiscard]] ECHELON_API double norm_inf(MatrixRef<T> A);

}  // namespace echelon
