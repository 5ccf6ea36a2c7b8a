// SPDX-License-Identifier: BSD-3-Clause
/// The Hermitian matrix whose factors solve least-squares problems.
#pragma once

#include "linalg/vector/column_exponents.hpp"
#include "matrix/views/adjoint.hpp"
#include "support/scalar.hpp"

#include <echelon/matrix/matrix.hpp>
#include <echelon/matrix/scalar.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace echelon::augmented {

namespace system_detail {

/// Largest sum of magnitudes of a row.
template <class W>
double norm_inf(const Csr<W>& A) {
  double largest = 0;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    double sum = 0;
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
      sum += magnitude(A.values()[k]);
    largest = std::max(largest, sum);
  }
  return largest;
}

template <class T>
Csr<Dot<T>> in_double(const Csr<T>& A) {
  std::vector<Dot<T>> values(static_cast<std::size_t>(A.nonzeros()));
  std::copy(A.values().data(), A.values().data() + A.nonzeros(), values.begin());
  return Csr<Dot<T>>::unchecked(A.rows(), A.columns(), A.row_offsets(), A.column_indices(),
                                Array<Dot<T>>(Device::serial(), std::span<const Dot<T>>(values)));
}

inline double factor_of(const std::vector<int>& exponents, std::int64_t j) {
  return exponents.empty() ? 1 : std::ldexp(1.0, -exponents[static_cast<std::size_t>(j)]);
}

}  // namespace system_detail

/// A tall matrix S = A E, or A^H E for a wide A, whose columns E scales by powers of two if their sizes
/// differ by more than six decades. S = D A E if the residual need not be the least one, where D scales the
/// rows first in the same way. Its elements W are double or std::complex<double>.
template <class W>
struct TallMatrix {
  Csr<W> matrix, adjoint;
  std::vector<int> exponents;      ///< of the columns; empty: E = I
  std::vector<int> row_exponents;  ///< empty: D = I
  bool wide = false;               ///< S = A^H E
  double largest = 0;              ///< magnitude of an element
  double norm = 0;                 ///< upper bound of ||S||_2

  [[nodiscard]] std::int64_t order() const { return matrix.rows() + matrix.columns(); }
  /// Factor of column j.
  [[nodiscard]] double scale(std::int64_t j) const { return system_detail::factor_of(exponents, j); }
  /// Factor of row i.
  [[nodiscard]] double row_scale(std::int64_t i) const { return system_detail::factor_of(row_exponents, i); }
};

/// The tall matrix of a finite A in host memory.
template <class T>
[[nodiscard]] TallMatrix<Dot<T>> make_tall(const MatrixRef<T>& A, bool scales_rows) {
  TallMatrix<Dot<T>> S;
  S.wide = A.rows() < A.columns();
  Csr<Dot<T>> given = system_detail::in_double((A.is_sparse() ? *A.csr() : to_csr(A)).to(Device::serial()));
  if (scales_rows) S.row_exponents = exponents_of(row_sizes(given));
  for (std::int64_t i = 0; i < given.rows() && !S.row_exponents.empty(); ++i) {
    for (std::int64_t k = given.row_offsets()[i]; k < given.row_offsets()[i + 1]; ++k)
      given.values()[k] *= S.row_scale(i);
  }
  S.adjoint = S.wide ? given : echelon::adjoint(given);
  S.exponents = exponents_of(row_sizes(S.adjoint));
  Dot<T>* const values = S.adjoint.values().data();
  for (std::int64_t j = 0; j < S.adjoint.rows(); ++j) {
    const double scale = S.scale(j);
    for (std::int64_t k = S.adjoint.row_offsets()[j]; k < S.adjoint.row_offsets()[j + 1]; ++k) {
      values[k] *= scale;
      S.largest = std::max(S.largest, magnitude(values[k]));
    }
  }
  S.matrix = echelon::adjoint(S.adjoint);
  S.norm = std::sqrt(system_detail::norm_inf(S.matrix)) * std::sqrt(system_detail::norm_inf(S.adjoint));
  return S;
}

/// The matrix [s I, S; S^H, -(d^2 E^2 + shift I) / s] with d the damping; with s = 0 both of
/// its diagonal blocks are zero.
template <class W>
[[nodiscard]] Csr<W> make_augmented(const TallMatrix<W>& S, double s, double damping, double shift) {
  const std::int64_t m = S.matrix.rows();
  const std::int64_t n = S.matrix.columns();
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::int32_t> columns;
  std::vector<W> values;
  const auto count = static_cast<std::size_t>(m + n + 2 * S.matrix.nonzeros());
  columns.reserve(count);
  values.reserve(count);
  const auto add = [&](std::int64_t column, W value) {
    columns.push_back(static_cast<std::int32_t>(column));
    values.push_back(value);
  };
  const auto add_row = [&](const Csr<W>& A, std::int64_t i, std::int64_t first) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
      add(first + A.column_indices()[k], A.values()[k]);
  };
  for (std::int64_t i = 0; i < m; ++i) {
    if (s != 0) add(i, W{s});
    add_row(S.matrix, i, m);
    offsets.push_back(std::ssize(columns));
  }
  for (std::int64_t j = 0; j < n; ++j) {
    add_row(S.adjoint, j, 0);
    const double penalty = damping * S.scale(j);
    if (damping > 0 || shift != 0) add(m + j, W{-(penalty * penalty + shift) / s});
    offsets.push_back(std::ssize(columns));
  }
  const Device host = Device::serial();
  return {m + n, m + n, Array<std::int64_t>(host, std::span<const std::int64_t>(offsets)),
          Array<std::int32_t>(host, std::span<const std::int32_t>(columns)),
          Array<W>(host, std::span<const W>(values))};
}

}  // namespace echelon::augmented
