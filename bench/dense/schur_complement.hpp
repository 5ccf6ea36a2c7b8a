// SPDX-License-Identifier: BSD-3-Clause
/// A matrix of domain decomposition for the benchmarks of dense methods.
#pragma once

#include <echelon/echelon.hpp>

#include <cstdint>
#include <cstdlib>
#include <vector>

namespace echelon::bench {

/// The Schur complement of the six-sided surface of a cube of `side` points a direction with the 7-point
/// Laplacian.
inline Dense<double> schur_complement(std::int64_t side) {
  const Csr<double> laplacian = generate::poisson_3d<double>(side, side, side);
  std::vector<std::int64_t> surface;
  std::vector<std::int64_t> interior;
  for (std::int64_t p = 0; p < laplacian.rows(); ++p) {
    const std::int64_t x = p % side;
    const std::int64_t y = p / side % side;
    const std::int64_t z = p / side / side;
    const auto on_side = [&](std::int64_t c) { return c == 0 || c == side - 1; };
    (on_side(x) || on_side(y) || on_side(z) ? surface : interior).push_back(p);
  }
  const Dense<double> all = to_dense(MatrixRef<double>(laplacian));
  const auto block = [&](const std::vector<std::int64_t>& rows, const std::vector<std::int64_t>& columns) {
    Dense<double> result(Device(), static_cast<std::int64_t>(rows.size()),
                         static_cast<std::int64_t>(columns.size()));
    for (std::size_t j = 0; j < columns.size(); ++j) {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        result(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)) = all(rows[i], columns[j]);
      }
    }
    return result;
  };
  Dense<double> complement = block(surface, surface);
  const Dense<double> coupling = block(interior, surface);
  Dense<double> solution(Device(), coupling.rows(), coupling.columns());
  const Dense<double> inner = block(interior, interior);
  LapackLu<double> lu;
  if (!lu.factor(inner).ready() || !lu.solve(coupling, solution, {.measure_error = false}).solved())
    std::abort();
  multiply_transposed<double>(-1, coupling, solution, 1, complement);
  return complement;
}

}  // namespace echelon::bench
