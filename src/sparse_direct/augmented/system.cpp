// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/augmented/system.hpp"

#include "linalg/vector/column_exponents.hpp"

#include <echelon/matrix/transform.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

namespace echelon::augmented {

namespace {

/// Largest sum of magnitudes of a row.
double norm_inf(const Csr<double>& A) {
  double largest = 0;
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    double sum = 0;
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) sum += std::abs(A.values()[k]);
    largest = std::max(largest, sum);
  }
  return largest;
}

template <class T>
Csr<double> in_double(const Csr<T>& A) {
  std::vector<double> values(static_cast<std::size_t>(A.nonzeros()));
  std::copy(A.values().data(), A.values().data() + A.nonzeros(), values.begin());
  return Csr<double>::unchecked(A.rows(), A.columns(), A.row_offsets(), A.column_indices(),
                                Array<double>(Device::serial(), std::span<const double>(values)));
}

}  // namespace

namespace {

double factor_of(const std::vector<int>& exponents, std::int64_t j) {
  return exponents.empty() ? 1 : std::ldexp(1.0, -exponents[static_cast<std::size_t>(j)]);
}

}  // namespace

double TallMatrix::scale(std::int64_t j) const {
  return factor_of(exponents, j);
}

double TallMatrix::row_scale(std::int64_t i) const {
  return factor_of(row_exponents, i);
}

template <class T>
TallMatrix make_tall(const MatrixRef<T>& A, bool scales_rows) {
  TallMatrix S;
  S.wide = A.rows() < A.columns();
  Csr<double> given = in_double((A.is_sparse() ? *A.csr() : to_csr(A)).to(Device::serial()));
  if (scales_rows) S.row_exponents = exponents_of(row_sizes(given));
  for (std::int64_t i = 0; i < given.rows() && !S.row_exponents.empty(); ++i) {
    for (std::int64_t k = given.row_offsets()[i]; k < given.row_offsets()[i + 1]; ++k)
      given.values()[k] *= S.row_scale(i);
  }
  S.transpose = S.wide ? given : transpose(given);
  S.exponents = exponents_of(row_sizes(S.transpose));
  double* const values = S.transpose.values().data();
  for (std::int64_t j = 0; j < S.transpose.rows(); ++j) {
    const double scale = S.scale(j);
    for (std::int64_t k = S.transpose.row_offsets()[j]; k < S.transpose.row_offsets()[j + 1]; ++k) {
      values[k] *= scale;
      S.largest = std::max(S.largest, std::abs(values[k]));
    }
  }
  S.matrix = transpose(S.transpose);
  S.norm = std::sqrt(norm_inf(S.matrix)) * std::sqrt(norm_inf(S.transpose));
  return S;
}
template TallMatrix make_tall(const MatrixRef<float>&, bool);
template TallMatrix make_tall(const MatrixRef<double>&, bool);

Csr<double> make_augmented(const TallMatrix& S, double s, double damping, double shift) {
  const std::int64_t m = S.matrix.rows();
  const std::int64_t n = S.matrix.columns();
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::int32_t> columns;
  std::vector<double> values;
  const auto count = static_cast<std::size_t>(m + n + 2 * S.matrix.nonzeros());
  columns.reserve(count);
  values.reserve(count);
  const auto add = [&](std::int64_t column, double value) {
    columns.push_back(static_cast<std::int32_t>(column));
    values.push_back(value);
  };
  const auto add_row = [&](const Csr<double>& A, std::int64_t i, std::int64_t first) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
      add(first + A.column_indices()[k], A.values()[k]);
  };
  for (std::int64_t i = 0; i < m; ++i) {
    if (s != 0) add(i, s);
    add_row(S.matrix, i, m);
    offsets.push_back(std::ssize(columns));
  }
  for (std::int64_t j = 0; j < n; ++j) {
    add_row(S.transpose, j, 0);
    const double penalty = damping * S.scale(j);
    if (damping > 0 || shift != 0) add(m + j, -(penalty * penalty + shift) / s);
    offsets.push_back(std::ssize(columns));
  }
  const Device host = Device::serial();
  return {m + n, m + n, Array<std::int64_t>(host, std::span<const std::int64_t>(offsets)),
          Array<std::int32_t>(host, std::span<const std::int32_t>(columns)),
          Array<double>(host, std::span<const double>(values))};
}

}  // namespace echelon::augmented
