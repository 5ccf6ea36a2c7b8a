// SPDX-License-Identifier: BSD-3-Clause
/// The grid on which the unknowns of a matrix lie.
#pragma once

#include "matrix/stencil/find_stencil.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/matrix.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace echelon {

/// Columns of the first row of a matrix, if it has few.
struct FirstRowColumns {
  std::int64_t nonzeros;
  std::int32_t columns[largest_first_row];
};
template <class T>
struct CopyFirstRow {
  SparseRows<T> A;
  FirstRowColumns* row;
  ECHELON_ANYWHERE void operator()(std::int64_t) const {
    row->nonzeros = A.end(0) - A.begin(0);
    for (std::int64_t k = 0; k < largest_first_row && k < row->nonzeros; ++k) {
      row->columns[k] = static_cast<std::int32_t>(A.column(A.begin(0) + k));
    }
  }
};

/// The first of the grids on which the rows that stand for the regions couple neighbours only, if there is
/// one. Waits.
template <class B, class T>
[[nodiscard]] std::optional<Grid> first_that_fits(B& backend, const Csr<T>& A,
                                                  const std::vector<Grid>& grids) {
  if (grids.size() == 1) return grids.front();
  Array<FirstIndex> outside(backend.device(), 1);
  for (const Grid& grid : grids) {
    backend.reduce(grid_regions, CheckRegionRow<T>{SparseRows<T>(A), GridNumbering(grid)},
                   Store<FirstIndex>{outside.data()});
    if (backend.read(outside.data()).value == FirstIndex::none) return grid;
  }
  return {};
}

/// The grid that the option `grid` gives, or, if that is empty, the one that the first row of A shows; none
/// if that cannot be recognised. Throws BadOption if the option has another form, or the grid another number
/// of points than A has rows. Waits.
template <class B, class T>
[[nodiscard]] std::optional<Grid> find_grid(B& backend, const std::string& option, const MatrixRef<T>& A) {
  const std::int64_t n = A.rows();
  if (!option.empty()) {
    const std::optional<Grid> grid = parse_grid(option);
    if (grid && grid->size() == n) return grid;
    throw BadOption("grid", grid ? "a grid of " + option + " has " + std::to_string(grid->size()) +
                                       " points, A has " + std::to_string(n) + " rows"
                                 : "a grid is of the form 100, 100x80 or 100x80x60, not '" + option + "'");
  }
  if (!A.is_sparse() || n == 0) return {};
  Array<FirstRowColumns> first(backend.device(), 1);
  backend.for_each(1, CopyFirstRow<T>{SparseRows<T>(*A.csr()), first.data()});
  const FirstRowColumns row = backend.read(first.data());
  if (row.nonzeros > largest_first_row) return {};
  return first_that_fits(backend, *A.csr(), recognise_grids(n, {row.columns, row.columns + row.nonzeros}));
}

}  // namespace echelon
