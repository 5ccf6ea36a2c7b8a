// SPDX-License-Identifier: BSD-3-Clause
/// Begins code that is compiled for AVX2 and ends with end.hpp.
#if !defined(__clang__)
// GCC 12 takes the undefined vectors of its own intrinsics for a fault (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <echelon/matrix/scalar.hpp>

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define ECHELON_SIMD_AVX2
