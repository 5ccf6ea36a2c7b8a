// SPDX-License-Identifier: BSD-3-Clause
/// Parts of dense factors that are stored in place of a matrix, as those of LAPACK's getrf and geqrf.
#pragma once

#include "backend/backend.hpp"
#include "linalg/determinant_product.hpp"
#include "support/scalar.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace echelon {

/// PackedTriangle of packed factors.
struct PackedTriangle {
  bool lower = true;
  bool unit_diagonal = true;  ///< its diagonal is 1, and is not stored
};

/// Copies a triangle of the factors, with zeros in the place of the other.
template <class T>
struct CopyTriangle {
  DenseView<const T> factors;
  PackedTriangle triangle;
  DenseView<T> to;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % to.rows();
    const std::int64_t j = e / to.rows();
    const bool stored = i == j ? !triangle.unit_diagonal : (i > j) == triangle.lower;
    const T other = i == j ? T{1} : T{0};
    to.data()[j * to.leading() + i] = stored ? factors.data()[j * factors.leading() + i] : other;
  }
};

/// A triangle of column-major m by n factors: m by k for a lower one, k by n for an upper one, with k =
/// min(m, n), on the backend's device. Waits.
template <class B, class T>
Dense<T> copy_triangle(B& backend, DenseView<const T> factors, PackedTriangle triangle) {
  const std::int64_t k = std::min(factors.rows(), factors.columns());
  Dense<T> copy(factors.device(), triangle.lower ? factors.rows() : k,
                triangle.lower ? k : factors.columns());
  backend.for_each(copy.rows() * copy.columns(), CopyTriangle<T>{factors, triangle, copy.view()});
  backend.synchronize();
  return copy;
}

/// copy_triangle() in host memory.
template <class B, class T>
Dense<T> triangle_on_host(B& backend, DenseView<const T> factors, PackedTriangle triangle) {
  Dense<T> copy = copy_triangle(backend, factors, triangle);
  return copy.device().on_host() ? std::move(copy) : copy.to(Device());
}

/// Copies to[i] = from[i step].
template <class T>
struct CopyStrided {
  const T* from;
  std::int64_t step;
  double* to;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { to[i] = static_cast<double>(from[i * step]); }
};

/// Diagonal of square real factors on the backend's device. Waits.
template <class B, class T>
std::vector<double> diagonal_on_host(B& backend, const Dense<T>& factors) {
  const std::int64_t n = factors.rows();
  Array<double> diagonal(backend.device(), n);
  backend.for_each(n, CopyStrided<T>{factors.data(), n + 1, diagonal.data()});
  backend.synchronize();
  return diagonal.to_vector();
}

/// Row k of the permuted matrix is row result[k] of the given one, of `rows` rows: row k was exchanged with
/// row exchanges[k] - first, for k = 0, 1, ... in this order.
template <class Index>
std::vector<std::int64_t> permutation_by_exchanges(std::int64_t rows, const std::vector<Index>& exchanges,
                                                   std::int64_t first = 0) {
  std::vector<std::int64_t> origins(static_cast<std::size_t>(rows));
  std::iota(origins.begin(), origins.end(), std::int64_t{0});
  for (std::size_t k = 0; k < exchanges.size(); ++k)
    std::swap(origins[k], origins[static_cast<std::size_t>(exchanges[k] - first)]);
  return origins;
}

/// Counts those exchanges that exchange two rows.
template <class Index>
void count_exchanges(DeterminantProduct& product, const std::vector<Index>& exchanges,
                     std::int64_t first = 0) {
  for (std::size_t k = 0; k < exchanges.size(); ++k) {
    if (exchanges[k] - first != static_cast<std::int64_t>(k)) product.exchange();
  }
}

/// Multiplies by the determinants of the reflections I - tau v v^H of a Q: -tau / conj(tau), as they are
/// unitary; -1 of a real one.
template <class T>
void multiply_by_reflections(DeterminantProduct& product, const std::vector<T>& tau) {
  for (const T factor : tau) {
    if (factor == T{0}) continue;
    product.exchange();
    if constexpr (is_complex<T>) product.multiply(static_cast<Dot<T>>(factor / conj(factor)));
  }
}

/// Multiplies by the diagonal of square factors on the host.
template <class T>
void multiply_by_diagonal(DeterminantProduct& product, const Dense<T>& factors) {
  for (std::int64_t k = 0; k < factors.rows(); ++k) product.multiply(static_cast<Dot<T>>(factors(k, k)));
}

}  // namespace echelon
