// SPDX-License-Identifier: BSD-3-Clause
/// LAPACK routines, overloaded for float and double. Matrices are n by n, column-major,
/// with leading dimension n.
#pragma once

#include <vector>

namespace echelon::lapack {

/// max column sum of magnitudes.
float norm_one(int n, const float* a);
double norm_one(int n, const double* a);

/// Replaces a by its LU factors; i > 0: the i-th pivot (from 1) is exactly zero.
int getrf(int n, float* a, int* pivots);
int getrf(int n, double* a, int* pivots);

/// Solves with the factors, in place in b (n by columns).
void getrs(int n, int columns, const float* lu, const int* pivots, float* b, int leading);
void getrs(int n, int columns, const double* lu, const int* pivots, double* b, int leading);

/// Estimated 1 / (||A||_1 ||A^-1||_1) from the factors and ||A||_1.
double reciprocal_condition(int n, const float* lu, float norm_one);
double reciprocal_condition(int n, const double* lu, double norm_one);

/// Scales a by rows and columns where geequ and laqge advise it, and says how: a vector that is not used is
/// emptied. i > 0: row i, or column i - n, is zero (from 1).
int equilibrate(int n, float* a, std::vector<float>& rows, std::vector<float>& columns);
int equilibrate(int n, double* a, std::vector<double>& rows, std::vector<double>& columns);

}  // namespace echelon::lapack
