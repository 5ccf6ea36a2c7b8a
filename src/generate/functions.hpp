// SPDX-License-Identifier: BSD-3-Clause
/// Elementary functions with the same bits on every machine, which the C library does not guarantee: they use
/// + - * / and exact scalings only. Relative errors of a few units in the last place.
#pragma once

namespace echelon::generate {

/// Natural logarithm of a finite x > 0.
double log(double x);
/// Exponential function; 0 or infinity if the result underflows or overflows.
double exp(double x);
/// Computes base^exponent for base > 0.
double power(double base, double exponent);
/// Computes base^n by repeated squaring.
double power(double base, int n);
/// sin(pi x) and cos(pi x), exact where they are 0 or +-1; |x| < 2^50.
double sin_pi(double x);
double cos_pi(double x);

}  // namespace echelon::generate
