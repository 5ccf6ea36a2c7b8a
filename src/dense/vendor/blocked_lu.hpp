// SPDX-License-Identifier: BSD-3-Clause
/// LU factorisation on the host in steps short enough to be interrupted.
#pragma once

#include "linalg/blas/blas.hpp"
#include "linalg/blas/lapack.hpp"

#include <algorithm>
#include <cstddef>
#include <stop_token>

namespace echelon {

struct BlockedLuResult {
  int zero_pivot = 0;  ///< the first pivot, from 1, that is exactly zero; 0: none
  bool cancelled = false;
};

/// P A = L U with partial pivoting in place of the column-major n-by-n matrix a, as by LAPACK's getrf:
/// right-looking, panels of getrf and updates by trsm and gemm. Asks `cancel` between the steps, each of
/// which is at most about 10^10 flops. 2/3 n^3 flops.
template <class T>
[[nodiscard]] BlockedLuResult factor_blocked_lu(int n, T* a, int* pivots, const std::stop_token& cancel) {
  // Smaller matrices take LAPACK less than 0.1 s, and wider panels leave less of the work to gemm.
  constexpr int direct_size = 1024;
  constexpr int panel = 256;
  constexpr double step_flops = 1e10;
  if (cancel.stop_requested()) return {0, true};
  if (n <= direct_size) return {lapack::getrf(n, n, a, n, pivots), false};
  BlockedLuResult result;
  const auto at = [&](int i, int j) { return a + i + static_cast<std::ptrdiff_t>(j) * n; };
  for (int k = 0; k < n; k += panel) {
    const int width = std::min(panel, n - k);
    const int below = n - k - width;
    if (cancel.stop_requested()) return {0, true};
    const int zero = lapack::getrf(n - k, width, at(k, k), n, pivots + k);
    if (zero > 0 && result.zero_pivot == 0) result.zero_pivot = zero + k;
    for (int i = k; i < k + width; ++i) pivots[i] += k;
    lapack::swap_rows(k, a, n, k, k + width, pivots);
    const int chunk = std::max(panel, static_cast<int>(step_flops / (2.0 * (below + 1) * width)));
    for (int j = k + width; j < n; j += chunk) {
      if (cancel.stop_requested()) return {0, true};
      const int columns = std::min(chunk, n - j);
      lapack::swap_rows(columns, at(0, j), n, k, k + width, pivots);
      blas::trsm(CblasLower, CblasNoTrans, CblasUnit, width, columns, at(k, k), n, at(k, j), n);
      if (below == 0) continue;
      blas::gemm(CblasNoTrans, CblasNoTrans, below, columns, width, T{-1}, at(k + width, k), n, at(k, j), n,
                 T{1}, at(k + width, j), n);
    }
  }
  return result;
}

}  // namespace echelon
