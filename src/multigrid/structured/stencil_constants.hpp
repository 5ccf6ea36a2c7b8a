// SPDX-License-Identifier: BSD-3-Clause
/// Null space of a symmetric stencil matrix: constants on its connected components.
#pragma once

#include "linalg/components.hpp"
#include "linalg/constant_modes.hpp"
#include "matrix/stencil/stencil_matrix.hpp"
#include "multigrid/null_space.hpp"
#include "multigrid/structured/hierarchy.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace echelon {

/// Joins the trees of a point and of its neighbours.
template <class T, class Layout, bool is_constant>
struct JoinStencilNeighbours {
  StencilCoefficients<T> A;
  GridNumbering grid;
  std::int32_t* parent;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const GridPoint p = grid.point(i);
    Layout::for_each_neighbour(p, [&](int place, std::int32_t j) {
      if (A.template at<is_constant>(place, p) != T{0}) join_trees(parent, p.index, j);
    });
  }
};
/// Counterpart of join_neighbours() for a Csr.
template <class B, class T>
void join_neighbours(B& backend, const StencilMatrix<T>& A, std::int32_t* parent) {
  backend.for_each(A.rows(), Iota{parent});
  with_layout(A, [&]<class Layout, bool constant>() {
    backend.for_each(A.rows(), JoinStencilNeighbours<T, Layout, constant>{A.coefficients(),
                                                                          GridNumbering(A.grid), parent});
  });
  backend.for_each(A.rows(), FindRoot{parent});
}

/// rows[i] = the sum of row i.
template <class T, class Layout, bool is_constant>
struct StoreStencilRowSum {
  StencilCoefficients<T> A;
  GridNumbering grid;
  RowSum* rows;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const GridPoint p = grid.point(i);
    ExactSum sum;
    RowSum row;
    int elements = 0;
    for (int place = 0; place < Layout::points; ++place) {
      const auto value = static_cast<double>(A.template at<is_constant>(place, p));
      const double magnitude = value < 0 ? -value : value;
      if (magnitude == 0) continue;
      ++elements;
      sum.add(value);
      row.magnitudes += magnitude;
      if (row.largest < magnitude) row.largest = magnitude;
      if (place == Layout::center) row.diagonal = value;
    }
    row.sum = sum.value();
    row.is_exact = sum.exact;
    row.rounding = machine_epsilon<T> * row.magnitudes * static_cast<double>(elements);
    rows[i] = row;
  }
};
/// Counterpart of sum_rows_exactly() for a Csr.
template <class B, class T>
Array<RowSum> sum_rows_exactly(B& backend, const StencilMatrix<T>& A) {
  Array<RowSum> rows(backend.device(), A.rows());
  with_layout(A, [&]<class Layout, bool constant>() {
    backend.for_each(A.rows(), StoreStencilRowSum<T, Layout, constant>{A.coefficients(),
                                                                       GridNumbering(A.grid), rows.data()});
  });
  return rows;
}

namespace multigrid {

/// The null space of a symmetric semidefinite stencil matrix without zero rows: constants on its connected
/// components, and of a small one what its inverse shows, too. Waits.
template <class B, class T>
NullSpace<B, T> find_null_space(B& backend, const StencilMatrix<T>& A, const StencilCharacter& character) {
  const Device& device = backend.device();
  const Dense<T> none(device, A.rows(), 0);
  const Array<std::int32_t> zero_rows;
  if (A.rows() <= largest_inverse) {
    const Csr<T> csr = to_csr(A).to(device);
    std::vector<HierarchyLevel<T>> finest(1);
    finest.front().A = &csr;
    return find_null_space(backend, finest, character.rows, zero_rows, none);
  }
  NullSpace<B, T> found{none};
  KnownConstants<B, T> constants = known_constants(backend, A);
  NullVectors<B, T, StencilMatrix<T>> vectors(backend, A, zero_rows);
  const CountedConstants counted = add_constants(
      constants, [&] { return character.asymmetry.value == 0; }, vectors);
  keep_null_vectors(vectors, counted, std::move(constants.weak), found);
  return found;
}

}  // namespace multigrid

}  // namespace echelon
