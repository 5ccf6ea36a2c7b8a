// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "backend/store.hpp"
#include "backend/target.hpp"
#include "linalg/spmv/row_products.hpp"
#include "support/hash.hpp"

#include <echelon/matrix/csr.hpp>

#include <cmath>
#include <cstdint>
#include <span>
#include <type_traits>

namespace echelon::multigrid {

/// Random numbers in (-1, 1), the same on every device.
template <class T>
struct FillRandom {
  std::uint64_t seed;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::uint64_t bits = hash_bits((static_cast<std::uint64_t>(i) + 1) * golden_ratio_64 + seed);
    x[i] = static_cast<T>(symmetric_number(bits));
  }
};
/// x_i y_i, and its magnitude.
template <class T>
struct ProductAndMagnitude {
  const T* x;
  const T* y;
  ECHELON_ANYWHERE TwoSums operator()(std::int64_t i) const {
    const double product = static_cast<double>(x[i]) * static_cast<double>(y[i]);
    return {product, std::fabs(product)};
  }
};

/// Tests whether A is symmetric up to rounding: (v, A u) = (u, A v) for two random vectors. An asymmetry that
/// the test misses is on average as small as rounding. Reads A once; waits.
template <class B, class T>
bool is_symmetric(B& backend, const Csr<T>& A) {
  struct Column {
    const T* x;
    T* product;
  };
  constexpr double tolerance = std::is_same_v<T, double> ? 1e-11 : 1e-5;
  const std::int64_t n = A.rows();
  Array<T> x(backend.device(), 2 * n);
  Array<T> products(backend.device(), 2 * n);
  Array<TwoSums> sums(backend.device(), 2);
  T* const u = x.data();
  T* const v = u + n;
  backend.for_each(n, FillRandom<T>{1, u});
  backend.for_each(n, FillRandom<T>{2, v});
  const Column columns[] = {{u, products.data()}, {v, products.data() + n}};
  for_column_products(backend, A, std::span<const Column>(columns), [](const Column& column) {
    return VectorProduct{column.x, PutElement<T>{column.product}};
  });
  backend.reduce(n, ProductAndMagnitude<T>{v, products.data()}, Store<TwoSums>{sums.data()});
  backend.reduce(n, ProductAndMagnitude<T>{u, products.data() + n}, Store<TwoSums>{sums.data() + 1});
  const TwoSums left = backend.read(sums.data());
  const TwoSums right = backend.read(sums.data() + 1);
  return std::fabs(left.first - right.first) <= tolerance * (left.second + right.second);
}

}  // namespace echelon::multigrid
