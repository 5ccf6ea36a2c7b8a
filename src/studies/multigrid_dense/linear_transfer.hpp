// SPDX-License-Identifier: BSD-3-Clause
/// Linear interpolation on a line: coarse unknown j is fine unknown 2j + 1, and fine unknown 2j takes half of
/// each of its coarse neighbours j - 1 and j, where they exist. The restriction is the transpose.
#pragma once

#include "matrix/rows.hpp"

#include <echelon/annotate.hpp>

#include <cstdint>

namespace echelon::multigrid {

/// Number of unknowns on the coarse level.
constexpr std::int64_t linear_coarse_size(std::int64_t n) {
  return n / 2;
}

/// Weight of the fine unknown 2j + 1 + distance, -1 <= distance <= 1, in coarse unknown j.
template <class T>
ECHELON_ANYWHERE T linear_weight(int distance) {
  return distance == 0 ? T{1} : T{0.5};
}

/// coarse = P^T r.
template <class T>
struct RestrictLinearly {
  std::int64_t n;
  const T* r;
  T* coarse;
  ECHELON_ANYWHERE void operator()(std::int64_t j) const {
    const std::int64_t i = 2 * j + 1;
    const T after = i + 1 < n ? r[i + 1] : T{0};
    coarse[j] = r[i] + (r[i - 1] + after) / 2;
  }
};

/// x += P coarse.
template <class T>
struct AddLinearInterpolation {
  std::int64_t coarse_n;
  const T* coarse;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::int64_t j = i / 2;
    if (i % 2 == 1) {
      x[i] += coarse[j];
    } else {
      const T before = j > 0 ? coarse[j - 1] : T{0};
      const T after = j < coarse_n ? coarse[j] : T{0};
      x[i] += (before + after) / 2;
    }
  }
};

/// The elements of P^T A P, column by column, for a dense A of n rows.
template <class T>
struct CoarsenLinearly {
  std::int64_t n;
  DenseRows<T> fine;
  std::int64_t coarse_n;
  T* coarse;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    const std::int64_t row = 2 * (k % coarse_n) + 1;
    const std::int64_t column = 2 * (k / coarse_n) + 1;
    T sum = 0;
    for (int t = -1; t <= 1 && column + t < n; ++t) {
      T of_column = 0;
      for (int s = -1; s <= 1 && row + s < n; ++s) {
        of_column += linear_weight<T>(s) * fine.at(row + s, column + t);
      }
      sum += linear_weight<T>(t) * of_column;
    }
    coarse[k] = sum;
  }
};

}  // namespace echelon::multigrid
