// SPDX-License-Identifier: BSD-3-Clause
/// Singular values and eigenvalues by LAPACK.
#pragma once

#include <echelon/matrix/dense.hpp>

#include <lapacke.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace echelon::test {

/// A column-major copy, which LAPACK may overwrite.
inline std::vector<double> elements_of(const Dense<double>& a) {
  std::vector<double> elements;
  elements.reserve(static_cast<std::size_t>(a.rows() * a.columns()));
  for (std::int64_t j = 0; j < a.columns(); ++j) {
    for (std::int64_t i = 0; i < a.rows(); ++i) elements.push_back(a(i, j));
  }
  return elements;
}

/// Singular values, descending.
inline std::vector<double> singular_values(const Dense<double>& a) {
  std::vector<double> elements = elements_of(a);
  const auto m = static_cast<lapack_int>(a.rows());
  const auto n = static_cast<lapack_int>(a.columns());
  std::vector<double> values(static_cast<std::size_t>(std::min(m, n)));
  if (LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'N', m, n, elements.data(), std::max(m, 1), values.data(), nullptr, 1,
                     nullptr, 1) != 0) {
    throw std::runtime_error("dgesdd failed");
  }
  return values;
}

/// Eigenvalues of a symmetric matrix, ascending.
inline std::vector<double> symmetric_eigenvalues(const Dense<double>& a) {
  std::vector<double> elements = elements_of(a);
  const auto n = static_cast<lapack_int>(a.rows());
  std::vector<double> values(static_cast<std::size_t>(n));
  if (LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'N', 'L', n, elements.data(), std::max(n, 1), values.data()) != 0) {
    throw std::runtime_error("dsyevd failed");
  }
  return values;
}

}  // namespace echelon::test
