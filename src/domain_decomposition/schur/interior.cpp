// SPDX-License-Identifier: BSD-3-Clause
#include "domain_decomposition/schur/interior.hpp"

#include "support/scalar.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace echelon::schur {

namespace {

using sparse_direct::factor_at;

/// Calls f(i, j, k) for the elements k of A with row i and column j.
template <class T, class F>
void for_each_element(const Csr<T>& A, const F& f) {
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) f(i, A.column_indices()[k], k);
  }
}

/// 1 / magnitude as a power of two, or 1 for zero and for what is not finite.
double reciprocal_power(double magnitude) {
  return magnitude > 0 && std::isfinite(magnitude) ? std::ldexp(1.0, -std::ilogb(magnitude)) : 1.0;
}

}  // namespace

template <class T>
Csr<T> interior_block(const Csr<T>& A, const InterfacePartition& partition) {
  const auto size = static_cast<std::int64_t>(partition.interior.size());
  Array<std::int64_t> offsets(Device::serial(), size + 1);
  offsets[0] = 0;
  const auto for_row = [&](std::int64_t r, const auto& take) {
    const std::int32_t i = partition.interior[static_cast<std::size_t>(r)];
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      if (partition.is_interior(A.column_indices()[k])) take(k);
    }
  };
  for (std::int64_t r = 0; r < size; ++r) {
    offsets[r + 1] = offsets[r];
    for_row(r, [&](std::int64_t) { ++offsets[r + 1]; });
  }
  Array<std::int32_t> columns(Device::serial(), offsets[size]);
  Array<T> values(Device::serial(), offsets[size]);
  std::int64_t at = 0;
  for (std::int64_t r = 0; r < size; ++r) {
    for_row(r, [&](std::int64_t k) {
      columns[at] = partition.number[static_cast<std::size_t>(A.column_indices()[k])];
      values[at++] = A.values()[k];
    });
  }
  return Csr<T>::unchecked(size, size, std::move(offsets), std::move(columns), std::move(values));
}

std::vector<std::int32_t> in_all_rows(const InterfacePartition& partition,
                                      std::span<const std::int32_t> of_interior) {
  if (of_interior.empty()) return {};
  std::vector<std::int32_t> result(partition.number.size());
  std::iota(result.begin(), result.end(), 0);
  for (std::size_t k = 0; k < of_interior.size(); ++k) {
    result[static_cast<std::size_t>(partition.interior[k])] =
        partition.interior[static_cast<std::size_t>(of_interior[k])];
  }
  return result;
}

template <class T>
sparse_direct::Scaling with_border_scaling(const Csr<T>& A, const InterfacePartition& partition,
                                           const sparse_direct::Scaling& of_interior) {
  const std::size_t n = partition.number.size();
  sparse_direct::Scaling scaling{std::vector<double>(n, 0), std::vector<double>(n, 0)};
  for (std::size_t k = 0; k < partition.interior.size(); ++k) {
    const auto i = static_cast<std::size_t>(partition.interior[k]);
    scaling.rows[i] = of_interior.rows[k];
    scaling.columns[i] = of_interior.columns[k];
  }
  // Factors of the interface are the largest magnitudes at first.
  for_each_element(A, [&](std::int64_t row, std::int64_t column, std::int64_t k) {
    if (partition.is_interior(row) == partition.is_interior(column)) return;
    const double size = magnitude(A.values()[k]);
    const auto i = static_cast<std::size_t>(row);
    const auto j = static_cast<std::size_t>(column);
    if (partition.is_interior(column)) {
      scaling.rows[i] = std::max(scaling.rows[i], size * scaling.columns[j]);
    } else {
      scaling.columns[j] = std::max(scaling.columns[j], size * scaling.rows[i]);
    }
  });
  for (const std::int32_t b : partition.interface) {
    double& row = scaling.rows[static_cast<std::size_t>(b)];
    double& column = scaling.columns[static_cast<std::size_t>(b)];
    row = reciprocal_power(row);
    column = reciprocal_power(column);
  }
  return scaling;
}

template <class T>
std::vector<double> unit_diagonal_scale(const Csr<T>& A) {
  std::vector<double> scale(static_cast<std::size_t>(A.rows()), 1);
  for_each_element(A, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
    const double diagonal = real(A.values()[k]);
    if (i == j && diagonal > 0)
      scale[static_cast<std::size_t>(i)] = std::ldexp(1.0, -std::ilogb(diagonal) / 2);
  });
  return scale;
}

template <class T>
double interior_norm_one(const Csr<T>& A, const InterfacePartition& partition,
                         const std::vector<double>& rows, const std::vector<double>& columns) {
  std::vector<double> sums(static_cast<std::size_t>(A.columns()), 0);
  for_each_element(A, [&](std::int64_t i, std::int64_t j, std::int64_t k) {
    if (!partition.is_interior(i) || !partition.is_interior(j)) return;
    sums[static_cast<std::size_t>(j)] +=
        factor_at(rows, i) * magnitude(A.values()[k]) * factor_at(columns, j);
  });
  return sums.empty() ? 0 : *std::max_element(sums.begin(), sums.end());
}

template <class T>
void remove_scaling(const InterfacePartition& partition, const sparse_direct::Scaling& scaling, Dense<T>& S) {
  for (std::int64_t j = 0; j < S.columns(); ++j) {
    const double column = factor_at(scaling.columns, partition.interface[static_cast<std::size_t>(j)]);
    for (std::int64_t i = 0; i < S.rows(); ++i) {
      const double row = factor_at(scaling.rows, partition.interface[static_cast<std::size_t>(i)]);
      S(i, j) = static_cast<T>(static_cast<Dot<T>>(S(i, j)) / (row * column));
    }
  }
}

template <class T>
void mirror_lower_triangle(Dense<T>& S, bool conjugates) {
  constexpr std::int64_t tile = 32;
  for (std::int64_t j0 = 0; j0 < S.columns(); j0 += tile) {
    for (std::int64_t i0 = j0; i0 < S.rows(); i0 += tile) {
      for (std::int64_t j = j0; j < std::min(j0 + tile, S.columns()); ++j) {
        for (std::int64_t i = std::max(i0, j + 1); i < std::min(i0 + tile, S.rows()); ++i)
          S(j, i) = conjugates ? conj(S(i, j)) : S(i, j);
      }
    }
  }
}

#define ECHELON_INSTANTIATE(T)                                                                            \
  template Csr<T> interior_block(const Csr<T>&, const InterfacePartition&);                               \
  template sparse_direct::Scaling with_border_scaling(const Csr<T>&, const InterfacePartition&,           \
                                                      const sparse_direct::Scaling&);                     \
  template std::vector<double> unit_diagonal_scale(const Csr<T>&);                                        \
  template double interior_norm_one(const Csr<T>&, const InterfacePartition&, const std::vector<double>&, \
                                    const std::vector<double>&);                                          \
  template void remove_scaling(const InterfacePartition&, const sparse_direct::Scaling&, Dense<T>&);      \
  template void mirror_lower_triangle(Dense<T>&, bool);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::schur
