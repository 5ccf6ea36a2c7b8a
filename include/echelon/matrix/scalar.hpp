// SPDX-License-Identifier: BSD-3-Clause
/// Types of the elements of matrices, and the types that follow from them.
#pragma once

#include <complex>
#include <type_traits>

namespace echelon {

namespace scalar_detail {
template <class T>
struct RealOf {
  using Type = T;
};
template <class R>
struct RealOf<std::complex<R>> {
  using Type = R;
};
}  // namespace scalar_detail

/// Real numbers in the precision of T: double for double and for std::complex<double>.
template <class T>
using Real = typename scalar_detail::RealOf<T>::Type;

template <class T>
inline constexpr bool is_complex = !std::is_same_v<T, Real<T>>;

/// Numbers in which inner products of vectors of T are accumulated.
template <class T>
using Dot = std::conditional_t<is_complex<T>, std::complex<double>, double>;

}  // namespace echelon
