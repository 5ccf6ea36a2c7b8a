// SPDX-License-Identifier: BSD-3-Clause
/// Inverse for the coarsest Laplacian, on its device.
#pragma once

#include "backend/store.hpp"
#include "graph_laplacian/affinity_multigrid/coarsest.hpp"
#include "graph_laplacian/affinity_multigrid/elimination.hpp"
#include "graph_laplacian/affinity_multigrid/gauss_jordan.hpp"
#include "linalg/components.hpp"
#include "linalg/rows_of_elements.hpp"
#include "linalg/vector/functors.hpp"

#include <cstdint>

namespace echelon::affinity_multigrid {

/// Sum of the weights of the edges of a vertex, by the elements of its row.
template <class T>
struct WeightOfElement {
  LaplacianRows<T> L;
  const std::int32_t* rows;
  ECHELON_ANYWHERE Sum operator()(std::int64_t k) const {
    return {L.is_edge(rows[k], k) ? -static_cast<double>(L.values[k]) : 0};
  }
};
struct WeightOfMember {
  const std::int32_t* members;
  const Sum* weights;
  ECHELON_ANYWHERE Sum operator()(std::int64_t k) const { return weights[members[k]]; }
};
/// The shift of a component, as in ComponentShifts.
struct ShiftOfComponent {
  const std::int64_t* offsets;
  const Sum* weights;
  double* shift;
  ECHELON_ANYWHERE void operator()(std::int64_t c) const {
    const auto size = static_cast<double>(offsets[c + 1] - offsets[c]);
    shift[c] = weights[c].value > 0 ? weights[c].value / size / size : 1;
  }
};

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
/// Adds an edge of the Laplacian.
template <class T>
struct AddEdgeElement {
  LaplacianRows<T> L;
  const std::int32_t* rows;
  std::int64_t n;
  double* matrix;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    if (L.is_edge(rows[k], k)) matrix[rows[k] * n + L.columns[k]] += static_cast<double>(L.values[k]);
  }
};
/// Adds a diagonal element of the Laplacian, computed from the weights.
struct AddWeight {
  std::int64_t n;
  const Sum* weights;
  double* matrix;
  double* diagonal;  ///< of the sum
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    diagonal[i] = matrix[i * n + i] += weights[i].value;
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
  const std::int64_t* const offsets = L.row_offsets().data();
  const LaplacianRows<T> elements(L);
  const Array<std::int32_t> rows = rows_of_elements(backend, L);
  Array<Sum> weights(device, n);
  backend.segmented_reduce(n, offsets, WeightOfElement<T>{elements, rows.data()}, weights.data());
  const ConnectedComponents parts = find_components(backend, L);
  Array<Sum> weights_of_parts(device, parts.count);
  backend.segmented_reduce(parts.count, parts.offsets.data(),
                           WeightOfMember{parts.members.data(), weights.data()}, weights_of_parts.data());
  Array<double> shift(device, parts.count);
  backend.for_each(parts.count,
                   ShiftOfComponent{parts.offsets.data(), weights_of_parts.data(), shift.data()});
  Array<double> matrix(device, n * n);
  Array<double> diagonal(device, n);
  backend.for_each(n * n, WriteShift{n, parts.of_vertex.data(), shift.data(), matrix.data()});
  backend.for_each(L.nonzeros(), AddEdgeElement<T>{elements, rows.data(), n, matrix.data()});
  backend.for_each(n, AddWeight{n, weights.data(), matrix.data(), diagonal.data()});
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

}  // namespace echelon::affinity_multigrid
