// SPDX-License-Identifier: BSD-3-Clause
/// BLAS on the host, overloaded by the type of its numbers, and the number of its threads.
#pragma once

#include <echelon/device.hpp>
#include <echelon/error.hpp>

#include <cblas.h>
#include <omp.h>

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

/// Solves op(A) X = B in place for a triangular A, which stands on the left.
inline void trsm(CBLAS_UPLO part, CBLAS_TRANSPOSE transpose, CBLAS_DIAG diagonal, int rows, int columns,
                 const float* a, int leading_a, float* b, int leading_b) {
  cblas_strsm(CblasColMajor, CblasLeft, part, transpose, diagonal, rows, columns, 1, a, leading_a, b,
              leading_b);
}
inline void trsm(CBLAS_UPLO part, CBLAS_TRANSPOSE transpose, CBLAS_DIAG diagonal, int rows, int columns,
                 const double* a, int leading_a, double* b, int leading_b) {
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

/// Sets the number of threads of BLAS within a scope; OpenBLAS over OpenMP takes it from the calling thread's
/// OpenMP setting. Operations on small matrices run on one thread, which is faster than waking the others.
class Threads {
 public:
  Threads(const Device& device, std::int64_t dimension) : before_(omp_get_max_threads()) {
    constexpr std::int64_t parallel_threshold = 192;
    omp_set_num_threads(dimension < parallel_threshold ? 1 : device.threads());
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() { omp_set_num_threads(before_); }

 private:
  int before_;
};

}  // namespace echelon::blas
