// SPDX-License-Identifier: BSD-3-Clause
/// Types of the elements of matrices, and the types that follow from them.
#pragma once

#include <complex>
#include <type_traits>

namespace echelon {

/// Real numbers in the precision of T: double for double and for std::complex<double>.
template <class T>
using Real = decltype(std::real(T{}));

template <class T>
inline constexpr bool is_complex = !std::is_same_v<T, Real<T>>;

/// Numbers in which inner products of vectors of T are accumulated.
template <class T>
using Dot = std::conditional_t<is_complex<T>, std::complex<double>, double>;

}  // namespace echelon
