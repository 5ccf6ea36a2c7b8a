// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "backend/store.hpp"
#include "linalg/spmv/multiply.hpp"
#include "linalg/vector/functors.hpp"
#include "matrix/rows.hpp"
#include "matrix/stencil/stencil_sums.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/matrix/scalar.hpp>

#include <cstdint>
#include <optional>
#include <type_traits>

namespace echelon {

/// Contributes to p^H A p, which is real for a Hermitian A, and |p|^T |A| |p|.
template <class Rows, class V>
struct CurvatureAndMagnitude {
  Rows A;
  const V* p;
  ECHELON_ANYWHERE TwoSums operator()(std::int64_t i) const {
    Dot<V> sum{};
    double magnitudes = 0;
    for (std::int64_t k = A.begin(i); k < A.end(i); ++k) {
      const auto term = static_cast<Dot<V>>(A.value(i, k)) * static_cast<Dot<V>>(p[A.column(k)]);
      sum += term;
      magnitudes += magnitude(term);
    }
    const auto value = static_cast<Dot<V>>(p[i]);
    return {real(conj(value) * sum), magnitude(value) * magnitudes};
  }
};

/// Computes p^T A p / (||A||_inf ||p||^2) for a stencil, by its product.
template <class B, class T>
double relative_curvature_of_stencil(B& backend, const MatrixRef<T>& A, const T* p) {
  const std::int64_t n = A.rows();
  Array<T> product(backend.device(), n);
  Array<double> sums(backend.device(), 2);
  multiply(backend, T{1}, A, p, T{0}, product.data());
  backend.reduce(n, Product<T>{p, product.data()}, StoreDouble{sums.data()});
  backend.reduce(n, Product<T>{p, p}, StoreDouble{sums.data() + 1});
  const double curvature = backend.read(sums.data());
  return curvature / (sums_of(*A.stencil()).largest * backend.read(sums.data() + 1));
}

/// Computes p^H A p / (|p|^T |A| |p|) from the elements of A, without the rounding errors of a recurrence, or
/// a ratio that is at most as large for a stencil; empty for an operator. Costs a product with A; waits.
template <class B, class T, class V>
std::optional<double> relative_curvature(B& backend, const MatrixRef<T>& A, const V* p) {
  if constexpr (std::is_same_v<T, V> && !is_complex<T>) {
    if (A.is_stencil()) return relative_curvature_of_stencil(backend, A, p);
  }
  if (A.is_operator()) return std::nullopt;
  Array<TwoSums> sums(backend.device(), 1);
  with_rows(A, [&]<class Rows>(const Rows& rows) {
    backend.reduce(A.rows(), CurvatureAndMagnitude<Rows, V>{rows, p}, Store<TwoSums>{sums.data()});
  });
  const TwoSums found = backend.read(sums.data());
  return found.first / found.second;
}

}  // namespace echelon
