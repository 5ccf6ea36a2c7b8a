// SPDX-License-Identifier: BSD-3-Clause
/// LAPACK routines, overloaded for float and double, those of factorisations for complex numbers as well.
/// Matrices are n by n, column-major, with leading dimension n.
#pragma once

#include <complex>
#include <vector>

namespace echelon::lapack {

/// max column sum of magnitudes.
float norm_one(int n, const float* a);
double norm_one(int n, const double* a);
float norm_one(int n, const std::complex<float>* a);
double norm_one(int n, const std::complex<double>* a);

/// max |a_ij|, of the whole matrix or of its upper triangle; NaN if there is one.
float norm_max(int n, const float* a);
double norm_max(int n, const double* a);
float norm_max(int n, const std::complex<float>* a);
double norm_max(int n, const std::complex<double>* a);
float upper_norm_max(int n, const float* a);
double upper_norm_max(int n, const double* a);

/// Replaces the rows-by-columns matrix a by its LU factors; i > 0: the i-th pivot (from 1) is exactly zero.
int getrf(int rows, int columns, float* a, int leading, int* pivots);
int getrf(int rows, int columns, double* a, int leading, int* pivots);
int getrf(int rows, int columns, std::complex<float>* a, int leading, int* pivots);
int getrf(int rows, int columns, std::complex<double>* a, int leading, int* pivots);
/// Exchanges rows i and pivots[i] (from 1) of a for i = first, ..., last - 1.
void swap_rows(int columns, float* a, int leading, int first, int last, const int* pivots);
void swap_rows(int columns, double* a, int leading, int first, int last, const int* pivots);
void swap_rows(int columns, std::complex<float>* a, int leading, int first, int last, const int* pivots);
void swap_rows(int columns, std::complex<double>* a, int leading, int first, int last, const int* pivots);

/// Solves with the factors, or with those of the transpose, in place in b (n by columns).
void getrs(bool transposed, int n, int columns, const float* lu, const int* pivots, float* b, int leading);
void getrs(bool transposed, int n, int columns, const double* lu, const int* pivots, double* b, int leading);
void getrs(bool transposed, int n, int columns, const std::complex<float>* lu, const int* pivots,
           std::complex<float>* b, int leading);
void getrs(bool transposed, int n, int columns, const std::complex<double>* lu, const int* pivots,
           std::complex<double>* b, int leading);

/// Replaces a band by its LU factors: n columns of 2 lower + upper + 1 elements, of which the first `lower`
/// are spare and element lower + upper is that of the diagonal; i > 0: the i-th pivot (from 1) is exactly
/// zero.
int gbtrf(int n, int lower, int upper, std::complex<float>* band, int* pivots);
int gbtrf(int n, int lower, int upper, std::complex<double>* band, int* pivots);
/// Solves with the factors, or with those of the transpose, in place in b (n by columns).
void gbtrs(bool transposed, int n, int lower, int upper, int columns, const std::complex<float>* band,
           const int* pivots, std::complex<float>* b);
void gbtrs(bool transposed, int n, int lower, int upper, int columns, const std::complex<double>* band,
           const int* pivots, std::complex<double>* b);

/// Replaces the lower triangle of a by its Cholesky factor; i > 0: the leading minor of order i is not
/// positive, and the pivot, which is not positive, is in its place.
int potrf(int n, float* a, int leading);
int potrf(int n, double* a, int leading);
int potrf(int n, std::complex<float>* a, int leading);
int potrf(int n, std::complex<double>* a, int leading);

/// End of a step of a symmetric indefinite factorisation: the number of columns that it factored, and the
/// first zero pivot, from 1, or 0.
struct SymmetricStep {
  int columns;
  int zero_pivot;
};
/// Factors `block` or `block` - 1 columns of the lower triangle of a symmetric a as L D L^T with rook
/// pivoting and applies them to the rest. work: n * block elements, of complex numbers n more:
/// OpenBLAS's zgemv reads an element beyond vectors, without using it.
SymmetricStep lasyf_rook(int n, int block, float* a, int leading, int* pivots, float* work);
SymmetricStep lasyf_rook(int n, int block, double* a, int leading, int* pivots, double* work);
SymmetricStep lasyf_rook(int n, int block, std::complex<float>* a, int leading, int* pivots,
                         std::complex<float>* work);
SymmetricStep lasyf_rook(int n, int block, std::complex<double>* a, int leading, int* pivots,
                         std::complex<double>* work);
/// Factors all n columns, one after the other.
SymmetricStep sytf2_rook(int n, float* a, int leading, int* pivots);
SymmetricStep sytf2_rook(int n, double* a, int leading, int* pivots);
SymmetricStep sytf2_rook(int n, std::complex<float>* a, int leading, int* pivots);
SymmetricStep sytf2_rook(int n, std::complex<double>* a, int leading, int* pivots);
/// Solves with the factors of the lower triangle, in place in b (n by columns).
void sytrs_rook(int n, int columns, const float* ldl, const int* pivots, float* b, int leading);
void sytrs_rook(int n, int columns, const double* ldl, const int* pivots, double* b, int leading);
void sytrs_rook(int n, int columns, const std::complex<float>* ldl, const int* pivots, std::complex<float>* b,
                int leading);
void sytrs_rook(int n, int columns, const std::complex<double>* ldl, const int* pivots,
                std::complex<double>* b, int leading);
/// As lasyf_rook, sytf2_rook and sytrs_rook, for a Hermitian a: L D L^H. Imaginary parts of its diagonal are
/// not read.
SymmetricStep lahef_rook(int n, int block, std::complex<float>* a, int leading, int* pivots,
                         std::complex<float>* work);
SymmetricStep lahef_rook(int n, int block, std::complex<double>* a, int leading, int* pivots,
                         std::complex<double>* work);
SymmetricStep hetf2_rook(int n, std::complex<float>* a, int leading, int* pivots);
SymmetricStep hetf2_rook(int n, std::complex<double>* a, int leading, int* pivots);
void hetrs_rook(int n, int columns, const std::complex<float>* ldl, const int* pivots, std::complex<float>* b,
                int leading);
void hetrs_rook(int n, int columns, const std::complex<double>* ldl, const int* pivots,
                std::complex<double>* b, int leading);

/// Replaces the rows-by-columns matrix a by its QR factors, R above Householder vectors with factors tau.
void geqrf(int rows, int columns, float* a, int leading, float* tau);
void geqrf(int rows, int columns, double* a, int leading, double* tau);
void geqrf(int rows, int columns, std::complex<float>* a, int leading, std::complex<float>* tau);
void geqrf(int rows, int columns, std::complex<double>* a, int leading, std::complex<double>* tau);

/// Q as a product of reflections, which geqrf has left in this many columns.
template <class T>
struct Reflections {
  int count;
  const T* vectors;
  int leading;
  const T* tau;
};
/// b = Q^H b, or Q b, for b of n rows.
void multiply_by_q(bool adjoint, int n, int columns, const Reflections<float>& q, float* b, int leading);
void multiply_by_q(bool adjoint, int n, int columns, const Reflections<double>& q, double* b, int leading);
void multiply_by_q(bool adjoint, int n, int columns, const Reflections<std::complex<float>>& q,
                   std::complex<float>* b, int leading);
void multiply_by_q(bool adjoint, int n, int columns, const Reflections<std::complex<double>>& q,
                   std::complex<double>* b, int leading);

/// Replaces the rows-by-columns matrix a by the factors of A P = Q R, as geqrf does, with column pivoting:
/// column j of A P is column pivots[j] (from 1) of A. `pivots` is zero before.
void geqp3(int rows, int columns, float* a, int leading, int* pivots, float* tau);
void geqp3(int rows, int columns, double* a, int leading, int* pivots, double* tau);
void geqp3(int rows, int columns, std::complex<float>* a, int leading, int* pivots, std::complex<float>* tau);
void geqp3(int rows, int columns, std::complex<double>* a, int leading, int* pivots,
           std::complex<double>* tau);
/// Replaces the upper trapezoidal a, `rows` by `columns`, by the factors of [R 0] Z with an upper triangular
/// R.
void tzrzf(int rows, int columns, float* a, int leading, float* tau);
void tzrzf(int rows, int columns, double* a, int leading, double* tau);
void tzrzf(int rows, int columns, std::complex<float>* a, int leading, std::complex<float>* tau);
void tzrzf(int rows, int columns, std::complex<double>* a, int leading, std::complex<double>* tau);
/// b = Z b, or Z^H b, for the Z of order n that tzrzf has left in z.count rows of n elements.
void multiply_by_z(bool adjoint, int n, int columns, const Reflections<float>& z, float* b, int leading);
void multiply_by_z(bool adjoint, int n, int columns, const Reflections<double>& z, double* b, int leading);
void multiply_by_z(bool adjoint, int n, int columns, const Reflections<std::complex<float>>& z,
                   std::complex<float>* b, int leading);
void multiply_by_z(bool adjoint, int n, int columns, const Reflections<std::complex<double>>& z,
                   std::complex<double>* b, int leading);
/// Estimated 1 / (||R||_1 ||R^-1||_1) of an upper triangular R.
double triangular_reciprocal_condition(int n, const float* r, int leading);
double triangular_reciprocal_condition(int n, const double* r, int leading);
double triangular_reciprocal_condition(int n, const std::complex<float>* r, int leading);
double triangular_reciprocal_condition(int n, const std::complex<double>* r, int leading);

/// Estimated 1 / (||A||_1 ||A^-1||_1) from the factors and ||A||_1.
double reciprocal_condition(int n, const float* lu, float norm_one);
double reciprocal_condition(int n, const double* lu, double norm_one);

}  // namespace echelon::lapack
