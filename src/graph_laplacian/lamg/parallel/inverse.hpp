// SPDX-License-Identifier: BSD-3-Clause
/// Inverse for the coarsest Laplacian, on its device.
#pragma once

#include "backend/store.hpp"
#include "graph_laplacian/lamg/parallel/coarsest.hpp"
#include "graph_laplacian/lamg/parallel/elimination.hpp"
#include "graph_laplacian/lamg/parallel/gauss_jordan.hpp"
#include "linalg/vector/functors.hpp"

#include <cstdint>
#include <span>

namespace echelon::lamg::parallel {

/// Writes the shifts of the components into a dense matrix.
struct WriteShift {
  std::int64_t n;
  const std::int32_t* component;
  const double* shift;
  double* matrix;
  ECHELON_ANYWHERE void operator()(std::int64_t place) const {
    const std::int32_t c = component[place / n];
    matrix[place] = c == component[place % n] ? shift[c] : 0;
  }
};
/// Adds a row of the Laplacian, with a diagonal element that is computed from the weights.
template <class T>
struct AddLaplacianRow {
  LaplacianRows<T> L;
  std::int64_t n;
  double* matrix;
  double* diagonal;  ///< of the sum
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    double* row = matrix + i * n;
    double sum = row[i];
    for (std::int64_t k = L.offsets[i]; k < L.offsets[i + 1]; ++k) {
      if (!L.is_edge(i, k)) continue;
      row[L.columns[k]] += static_cast<double>(L.values[k]);
      sum -= static_cast<double>(L.values[k]);
    }
    row[i] = sum;
    diagonal[i] = sum;
  }
};

/// a_ii (A^-1)_ii, which is at least 1 for a symmetric positive definite A; infinite for any other value.
struct GrowthOfInverse {
  std::int64_t n;
  const double* diagonal;
  const double* inverse;
  ECHELON_ANYWHERE Largest operator()(std::int64_t i) const {
    constexpr double infinite = 1.7e308;
    const double growth = diagonal[i] * inverse[i * n + i];
    return {growth > 0 && growth < infinite ? growth : infinite};
  }
};
/// Rounds the mean of an element and the one on the other side of the diagonal.
template <class T>
struct RoundSymmetric {
  std::int64_t n;
  const double* inverse;
  T* rounded;
  ECHELON_ANYWHERE void operator()(std::int64_t place) const {
    const std::int64_t i = place / n;
    const std::int64_t j = place % n;
    rounded[place] = static_cast<T>((inverse[place] + inverse[j * n + i]) / 2);
  }
};

/// regularised_inverse by Gauss-Jordan elimination on the device of L; by that function if rounding errors
/// would leave few digits. Waits.
template <class B, class T>
multigrid::DenseInverse<T> parallel_inverse(B& backend, const Csr<T>& L) {
  constexpr double trusted_growth = 1e11;  // rounding errors of 1e-5, below those of the cycle
  const Device& device = L.device();
  const std::int64_t n = L.rows();
  const ComponentShifts shifts = component_shifts(L.to(Device()));
  const Array<std::int32_t> component(device, std::span<const std::int32_t>(shifts.component));
  const Array<double> shift(device, std::span<const double>(shifts.shift));
  Array<double> matrix(device, n * n);
  Array<double> diagonal(device, n);
  backend.for_each(n * n, WriteShift{n, component.data(), shift.data(), matrix.data()});
  backend.for_each(n, AddLaplacianRow<T>{LaplacianRows<T>(L), n, matrix.data(), diagonal.data()});
  invert_in_place(backend, n, matrix);
  Array<Largest> growth(device, 1);
  backend.reduce(n, GrowthOfInverse{n, diagonal.data(), matrix.data()}, Store<Largest>{growth.data()});
  multigrid::DenseInverse<T> inverse{Dense<T>(device, n, n)};
  backend.for_each(n * n, RoundSymmetric<T>{n, matrix.data(), inverse.transpose.data()});
  if (backend.read(growth.data()).value <= trusted_growth) return inverse;
  return regularised_inverse(L);
}

/// The inverse on the device of L: a core has LAPACK.
template <class B, class T>
multigrid::DenseInverse<T> coarsest_inverse(B& backend, const Csr<T>& L) {
  if (L.rows() == 0 || L.device().on_host()) return regularised_inverse(L);
  return parallel_inverse(backend, L);
}

}  // namespace echelon::lamg::parallel
