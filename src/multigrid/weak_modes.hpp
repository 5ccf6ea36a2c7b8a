// SPDX-License-Identifier: BSD-3-Clause
/// Exact treatment of constants that a symmetric A maps close to zero, as the Laplacian of a graph with a
/// weak ground: Galerkin products would lose their energy to rounding.
///
/// With v, e = A v and E = v^T e, which are known without cancellation, Q = I - v e^T / E projects along v,
/// orthogonally in the inner product of A. The operator v v^T / E + Q M Q^T is exact along v, and what M is
/// elsewhere; M sees right-hand sides with v^T r = 0 only. R. Nabben, C. Vuik, A comparison of deflation and
/// the balancing preconditioner, SIAM J. Sci. Comput. 27 (2006).
#pragma once

#include "backend/store.hpp"
#include "backend/target.hpp"
#include "linalg/vector/functors.hpp"

#include <echelon/matrix/dense.hpp>

#include <cstdint>
#include <utility>

namespace echelon::multigrid {

/// Stores a coefficient: v^T r / E.
struct StoreCoefficient {
  const double* energy;
  double* target;
  ECHELON_ANYWHERE void operator()(Sum product) const { *target = product.value / *energy; }
};
/// Subtracts from a coefficient: e^T z / E.
struct SubtractCoefficient {
  const double* energy;
  double* target;
  ECHELON_ANYWHERE void operator()(Sum product) const { *target -= product.value / *energy; }
};
/// Product of element i of a vector of doubles and one of T.
template <class T>
struct MixedProduct {
  const double* x;
  const T* y;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const { return {x[i] * static_cast<double>(y[i])}; }
};
/// to = from + factor times the combination of `columns` columns of `rows` elements.
struct AddCombination {
  const double* matrix;
  std::int64_t rows;
  std::int64_t columns;
  const double* coefficients;
  double factor;
  template <class T>
  ECHELON_ANYWHERE void apply(std::int64_t i, const T* from, T* to) const {
    double sum = 0;
    for (std::int64_t k = 0; k < columns; ++k) sum += coefficients[k] * matrix[i + k * rows];
    to[i] = static_cast<T>(static_cast<double>(from[i]) + factor * sum);
  }
};
template <class T>
struct CombineVectors {
  AddCombination combination;
  const T* from;
  T* to;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { combination.apply(i, from, to); }
};

template <class B, class T>
class WeakModes {
 public:
  WeakModes() = default;
  /// Columns v and e = A v, n by count, and the energies E = v^T e; on the device.
  WeakModes(Dense<double> vectors, Dense<double> products, Array<double> energies)
      : vectors_(std::move(vectors)), products_(std::move(products)), energies_(std::move(energies)) {}

  [[nodiscard]] std::int64_t count() const { return vectors_.columns(); }
  [[nodiscard]] const Dense<double>& vectors() const { return vectors_; }
  [[nodiscard]] std::size_t bytes() const { return vectors_.bytes() + products_.bytes() + energies_.bytes(); }

  /// balanced = Q^T r; `coefficients`, count() numbers, become V^T r / E. Queues its work without waiting.
  void balance(B& backend, double* coefficients, const T* r, T* balanced) const {
    const std::int64_t n = vectors_.rows();
    for (std::int64_t k = 0; k < count(); ++k) {
      backend.reduce(n, MixedProduct<T>{vectors_.data() + k * n, r},
                     StoreCoefficient{energies_.data() + k, coefficients + k});
    }
    backend.for_each(n, CombineVectors<T>{{products_.data(), n, count(), coefficients, -1}, r, balanced});
  }
  /// z = Q z + V coefficients, where balance() made the coefficients. Queues its work without waiting.
  void complete(B& backend, double* coefficients, T* z) const {
    const std::int64_t n = vectors_.rows();
    for (std::int64_t k = 0; k < count(); ++k) {
      backend.reduce(n, MixedProduct<T>{products_.data() + k * n, z},
                     SubtractCoefficient{energies_.data() + k, coefficients + k});
    }
    backend.for_each(n, CombineVectors<T>{{vectors_.data(), n, count(), coefficients, 1}, z, z});
  }

 private:
  Dense<double> vectors_{Device(), 0, 0};
  Dense<double> products_{Device(), 0, 0};
  Array<double> energies_;
};

}  // namespace echelon::multigrid
