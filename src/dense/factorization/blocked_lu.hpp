// SPDX-License-Identifier: BSD-3-Clause
/// LU factorisation on the host in steps short enough to be interrupted.
#pragma once

#include "dense/factorization/recursive_lu.hpp"
#include "support/setup_control.hpp"

#include <cstddef>

namespace echelon {

struct BlockedLuResult {
  int zero_pivot = 0;  ///< the first pivot, from 1, that is exactly zero; 0: none
  bool cancelled = false;
};

/// P A = L U with partial pivoting in place of the column-major n-by-n matrix a, as by LAPACK's getrf, but in
/// steps of at most about 10^10 flops, between which `control` is checked. 2/3 n^3 flops.
/// Gustavson, IBM J. Res. Dev. 41 (1997); Toledo, SIAM J. Matrix Anal. Appl. 18 (1997).
template <class T>
[[nodiscard]] BlockedLuResult factor_blocked_lu(int n, T* a, int* pivots, const SetupControl& control) {
  constexpr int direct_size = 1024;  // LAPACK takes less than 0.1 s
  constexpr int panel = 256;
  if (control.stops_at(0)) return {0, true};
  if (n <= direct_size) return {lapack::getrf(n, n, a, n, pivots), false};
  int zero_pivot = 0;
  const auto factor_panel = [&](int first, int last) {
    T* const corner = a + first + static_cast<std::ptrdiff_t>(first) * n;
    const int zero = lapack::getrf(n - first, last - first, corner, n, pivots + first);
    if (zero > 0 && zero_pivot == 0) zero_pivot = zero + first;
    for (int i = first; i < last; ++i) pivots[i] += first;
    return true;
  };
  const bool complete = RecursiveLu(n, a, n, pivots, CblasLower, panel, control, factor_panel).factor(0, n);
  return {zero_pivot, !complete};
}

}  // namespace echelon
