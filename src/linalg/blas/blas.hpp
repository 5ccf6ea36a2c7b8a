// SPDX-License-Identifier: BSD-3-Clause
/// BLAS on the host, overloaded by the type of its numbers.
#pragma once

#include "linalg/blas/threads.hpp"

#include <echelon/error.hpp>

#include <cblas.h>

#include <complex>
#include <cstdint>
#include <limits>
#include <string>

namespace echelon::blas {

/// Converts n to the 32-bit integer type of BLAS. Throws InvalidMatrix.
inline int dimension(std::int64_t n) {
  if (n > std::numeric_limits<int>::max()) {
    throw InvalidMatrix("dimension " + std::to_string(n) + " exceeds what BLAS can count (2^31 - 1)");
  }
  return static_cast<int>(n);
}

inline void gemv(CBLAS_TRANSPOSE transpose, int rows, int columns, float alpha, const float* a, int leading,
                 const float* x, float beta, float* y) {
  cblas_sgemv(CblasColMajor, transpose, rows, columns, alpha, a, leading, x, 1, beta, y, 1);
}
inline void gemv(CBLAS_TRANSPOSE transpose, int rows, int columns, double alpha, const double* a, int leading,
                 const double* x, double beta, double* y) {
  cblas_dgemv(CblasColMajor, transpose, rows, columns, alpha, a, leading, x, 1, beta, y, 1);
}
inline void gemv(CBLAS_TRANSPOSE transpose, int rows, int columns, std::complex<float> alpha,
                 const std::complex<float>* a, int leading, const std::complex<float>* x,
                 std::complex<float> beta, std::complex<float>* y) {
  cblas_cgemv(CblasColMajor, transpose, rows, columns, &alpha, a, leading, x, 1, &beta, y, 1);
}
inline void gemv(CBLAS_TRANSPOSE transpose, int rows, int columns, std::complex<double> alpha,
                 const std::complex<double>* a, int leading, const std::complex<double>* x,
                 std::complex<double> beta, std::complex<double>* y) {
  cblas_zgemv(CblasColMajor, transpose, rows, columns, &alpha, a, leading, x, 1, &beta, y, 1);
}

inline void gemm(CBLAS_TRANSPOSE transpose_a, CBLAS_TRANSPOSE transpose_b, int rows, int columns, int terms,
                 float alpha, const float* a, int leading_a, const float* b, int leading_b, float beta,
                 float* c, int leading_c) {
  cblas_sgemm(CblasColMajor, transpose_a, transpose_b, rows, columns, terms, alpha, a, leading_a, b,
              leading_b, beta, c, leading_c);
}
inline void gemm(CBLAS_TRANSPOSE transpose_a, CBLAS_TRANSPOSE transpose_b, int rows, int columns, int terms,
                 double alpha, const double* a, int leading_a, const double* b, int leading_b, double beta,
                 double* c, int leading_c) {
  cblas_dgemm(CblasColMajor, transpose_a, transpose_b, rows, columns, terms, alpha, a, leading_a, b,
              leading_b, beta, c, leading_c);
}
inline void gemm(CBLAS_TRANSPOSE transpose_a, CBLAS_TRANSPOSE transpose_b, int rows, int columns, int terms,
                 std::complex<float> alpha, const std::complex<float>* a, int leading_a,
                 const std::complex<float>* b, int leading_b, std::complex<float> beta,
                 std::complex<float>* c, int leading_c) {
  cblas_cgemm(CblasColMajor, transpose_a, transpose_b, rows, columns, terms, &alpha, a, leading_a, b,
              leading_b, &beta, c, leading_c);
}
inline void gemm(CBLAS_TRANSPOSE transpose_a, CBLAS_TRANSPOSE transpose_b, int rows, int columns, int terms,
                 std::complex<double> alpha, const std::complex<double>* a, int leading_a,
                 const std::complex<double>* b, int leading_b, std::complex<double> beta,
                 std::complex<double>* c, int leading_c) {
  cblas_zgemm(CblasColMajor, transpose_a, transpose_b, rows, columns, terms, &alpha, a, leading_a, b,
              leading_b, &beta, c, leading_c);
}

/// Sum of the products of two vectors, in four partial sums.
template <class T>
T small_dot(int n, const T* x, const T* y) {
  T partial[4] = {};
  int i = 0;
  for (; i + 4 <= n; i += 4) {
#pragma omp simd
    for (int k = 0; k < 4; ++k) partial[k] += x[i + k] * y[i + k];
  }
  for (; i < n; ++i) partial[0] += x[i] * y[i];
  return (partial[0] + partial[1]) + (partial[2] + partial[3]);
}

/// Solves op(A) x = b in place for a small triangular A, in which calls of BLAS take longer than arithmetic.
template <class T>
void solve_small_triangle(CBLAS_UPLO part, CBLAS_TRANSPOSE transpose, CBLAS_DIAG diagonal, int n, const T* a,
                          int leading, T* x) {
  const bool lower = part == CblasLower;
  const bool transposed = transpose != CblasNoTrans;
  for (int k = 0; k < n; ++k) {
    const int j = lower != transposed ? k : n - 1 - k;
    const T* const column = a + static_cast<std::int64_t>(j) * leading;
    const int begin = lower ? j + 1 : 0;
    const int end = lower ? n : j;
    if (transposed) x[j] -= small_dot(end - begin, column + begin, x + begin);
    if (diagonal == CblasNonUnit) x[j] /= column[j];
    if (transposed) continue;
    const T value = x[j];
#pragma omp simd
    for (int i = begin; i < end; ++i) x[i] -= value * column[i];
  }
}

/// Rows up to which solve_small_triangle() takes less time than BLAS.
inline constexpr int small_triangle = 64;

/// Solves op(A) x = b in place for a triangular A.
inline void trsv(CBLAS_UPLO part, CBLAS_TRANSPOSE transpose, CBLAS_DIAG diagonal, int rows, const float* a,
                 int leading, float* x) {
  if (rows <= small_triangle) return solve_small_triangle(part, transpose, diagonal, rows, a, leading, x);
  cblas_strsv(CblasColMajor, part, transpose, diagonal, rows, a, leading, x, 1);
}
inline void trsv(CBLAS_UPLO part, CBLAS_TRANSPOSE transpose, CBLAS_DIAG diagonal, int rows, const double* a,
                 int leading, double* x) {
  if (rows <= small_triangle) return solve_small_triangle(part, transpose, diagonal, rows, a, leading, x);
  cblas_dtrsv(CblasColMajor, part, transpose, diagonal, rows, a, leading, x, 1);
}

/// Solves op(A) X = B in place for a triangular A, which stands on the left. One real column is solved by
/// trsv, which does not copy A.
inline void trsm(CBLAS_UPLO part, CBLAS_TRANSPOSE transpose, CBLAS_DIAG diagonal, int rows, int columns,
                 const float* a, int leading_a, float* b, int leading_b) {
  if (columns == 1) return trsv(part, transpose, diagonal, rows, a, leading_a, b);
  cblas_strsm(CblasColMajor, CblasLeft, part, transpose, diagonal, rows, columns, 1, a, leading_a, b,
              leading_b);
}
inline void trsm(CBLAS_UPLO part, CBLAS_TRANSPOSE transpose, CBLAS_DIAG diagonal, int rows, int columns,
                 const double* a, int leading_a, double* b, int leading_b) {
  if (columns == 1) return trsv(part, transpose, diagonal, rows, a, leading_a, b);
  cblas_dtrsm(CblasColMajor, CblasLeft, part, transpose, diagonal, rows, columns, 1, a, leading_a, b,
              leading_b);
}
inline void trsm(CBLAS_UPLO part, CBLAS_TRANSPOSE transpose, CBLAS_DIAG diagonal, int rows, int columns,
                 const std::complex<float>* a, int leading_a, std::complex<float>* b, int leading_b) {
  const std::complex<float> one = 1;
  cblas_ctrsm(CblasColMajor, CblasLeft, part, transpose, diagonal, rows, columns, &one, a, leading_a, b,
              leading_b);
}
inline void trsm(CBLAS_UPLO part, CBLAS_TRANSPOSE transpose, CBLAS_DIAG diagonal, int rows, int columns,
                 const std::complex<double>* a, int leading_a, std::complex<double>* b, int leading_b) {
  const std::complex<double> one = 1;
  cblas_ztrsm(CblasColMajor, CblasLeft, part, transpose, diagonal, rows, columns, &one, a, leading_a, b,
              leading_b);
}

/// Solves X op(A) = B in place for a triangular A, which stands on the right.
inline void trsm_right(CBLAS_UPLO part, CBLAS_TRANSPOSE transpose, CBLAS_DIAG diagonal, int rows, int columns,
                       const float* a, int leading_a, float* b, int leading_b) {
  cblas_strsm(CblasColMajor, CblasRight, part, transpose, diagonal, rows, columns, 1, a, leading_a, b,
              leading_b);
}
inline void trsm_right(CBLAS_UPLO part, CBLAS_TRANSPOSE transpose, CBLAS_DIAG diagonal, int rows, int columns,
                       const double* a, int leading_a, double* b, int leading_b) {
  cblas_dtrsm(CblasColMajor, CblasRight, part, transpose, diagonal, rows, columns, 1, a, leading_a, b,
              leading_b);
}

inline void trsm_right(CBLAS_UPLO part, CBLAS_TRANSPOSE transpose, CBLAS_DIAG diagonal, int rows, int columns,
                       const std::complex<float>* a, int leading_a, std::complex<float>* b, int leading_b) {
  const std::complex<float> one = 1;
  cblas_ctrsm(CblasColMajor, CblasRight, part, transpose, diagonal, rows, columns, &one, a, leading_a, b,
              leading_b);
}
inline void trsm_right(CBLAS_UPLO part, CBLAS_TRANSPOSE transpose, CBLAS_DIAG diagonal, int rows, int columns,
                       const std::complex<double>* a, int leading_a, std::complex<double>* b, int leading_b) {
  const std::complex<double> one = 1;
  cblas_ztrsm(CblasColMajor, CblasRight, part, transpose, diagonal, rows, columns, &one, a, leading_a, b,
              leading_b);
}

/// C = alpha A A^H + beta C for one triangle of a Hermitian C, n by n; A is n by `terms`.
inline void herk(CBLAS_UPLO part, int n, int terms, float alpha, const float* a, int leading_a, float beta,
                 float* c, int leading_c) {
  cblas_ssyrk(CblasColMajor, part, CblasNoTrans, n, terms, alpha, a, leading_a, beta, c, leading_c);
}
inline void herk(CBLAS_UPLO part, int n, int terms, double alpha, const double* a, int leading_a, double beta,
                 double* c, int leading_c) {
  cblas_dsyrk(CblasColMajor, part, CblasNoTrans, n, terms, alpha, a, leading_a, beta, c, leading_c);
}
inline void herk(CBLAS_UPLO part, int n, int terms, float alpha, const std::complex<float>* a, int leading_a,
                 float beta, std::complex<float>* c, int leading_c) {
  cblas_cherk(CblasColMajor, part, CblasNoTrans, n, terms, alpha, a, leading_a, beta, c, leading_c);
}
inline void herk(CBLAS_UPLO part, int n, int terms, double alpha, const std::complex<double>* a,
                 int leading_a, double beta, std::complex<double>* c, int leading_c) {
  cblas_zherk(CblasColMajor, part, CblasNoTrans, n, terms, alpha, a, leading_a, beta, c, leading_c);
}

}  // namespace echelon::blas
