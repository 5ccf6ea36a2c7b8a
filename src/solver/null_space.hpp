// SPDX-License-Identifier: BSD-3-Clause
/// Projections along the null space of a singular symmetric matrix, and onto its nonzero rows.
#pragma once

#include "backend/target.hpp"
#include "linalg/vector/functors.hpp"
#include "solver/inconsistent.hpp"
#include "support/hypotenuse.hpp"

#include <echelon/matrix/dense.hpp>

#include <cmath>
#include <cstdint>

namespace echelon {

/// Computes x -= sum of parts[k] times column k.
template <class T>
struct SubtractColumns {
  const T* basis;
  std::int64_t rows;
  std::int64_t columns;
  const double* parts;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    double sum = 0;
    for (std::int64_t k = 0; k < columns; ++k) sum += parts[k] * static_cast<double>(basis[i + k * rows]);
    x[i] = static_cast<T>(static_cast<double>(x[i]) - sum);
  }
};

/// Computes x -= N N^T x for the orthonormal columns of N. `parts`, N.columns() numbers in the backend's
/// memory, becomes N^T x. Queues its work without waiting; reads N and x twice.
template <class B, class T>
void project_out(B& backend, const Dense<T>& basis, double* parts, T* x) {
  const std::int64_t n = basis.rows();
  for (std::int64_t k = 0; k < basis.columns(); ++k) {
    backend.reduce(n, Product<T>{basis.data() + k * n, x}, StoreDouble{parts + k});
  }
  backend.for_each(n, SubtractColumns<T>{basis.data(), n, basis.columns(), parts, x});
}

/// Projects as project_out does, and returns the norms of the parts removed, of which those along the first
/// `proven` columns are proven. Waits.
template <class B, class T>
OutsideRange remove_null_space(B& backend, const Dense<T>& basis, std::int64_t proven, double* parts, T* x) {
  project_out(backend, basis, parts, x);
  OutsideRange removed;
  for (std::int64_t k = 0; k < basis.columns(); ++k) {
    double& norm = k < proven ? removed.proven : removed.rounded;
    norm = hypotenuse(norm, backend.read(parts + k));
  }
  return removed;
}

/// Square of element k of a list of elements of x.
template <class T>
struct SquareOfListed {
  const std::int32_t* list;
  const T* x;
  ECHELON_ANYWHERE Sum operator()(std::int64_t k) const {
    const auto value = static_cast<double>(x[list[k]]);
    return {value * value};
  }
};
template <class T>
struct ClearListed {
  const std::int32_t* list;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const { x[list[k]] = 0; }
};

/// Makes the listed elements of x zero, and returns the norm that they had. `sum` is in the backend's memory.
/// Waits.
template <class B, class T>
double remove_elements(B& backend, const Array<std::int32_t>& list, double* sum, T* x) {
  if (list.size() == 0) return 0;
  backend.reduce(list.size(), SquareOfListed<T>{list.data(), x}, StoreDouble{sum});
  backend.for_each(list.size(), ClearListed<T>{list.data(), x});
  return std::sqrt(backend.read(sum));
}

}  // namespace echelon
