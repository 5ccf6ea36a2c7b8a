// SPDX-License-Identifier: BSD-3-Clause
/// The grid on which the unknowns of a matrix lie.
#pragma once

#include "matrix/stencil/grid.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/matrix.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace echelon {

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
  const std::int64_t nonzeros = backend.read(A.csr()->row_offsets().data() + 1);
  if (nonzeros > largest_first_row) return {};
  std::vector<std::int32_t> columns;
  for (std::int64_t k = 0; k < nonzeros; ++k) {
    columns.push_back(backend.read(A.csr()->column_indices().data() + k));
  }
  return recognise_grid(n, columns);
}

}  // namespace echelon
