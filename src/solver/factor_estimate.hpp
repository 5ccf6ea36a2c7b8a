// SPDX-License-Identifier: BSD-3-Clause
/// Estimated cost of a sparse factorisation of a large matrix, for the choice of a method.
#pragma once

#include <echelon/matrix/csr.hpp>
#include <echelon/solver.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace echelon {

/// Estimates the cost of a sparse factorisation of a large square A on the host from those of two principal
/// submatrices, of rows that are near each other in A's graph: flops and bytes are taken to grow with the
/// same power of the order as between these. Some 0.05 s, whatever the order of A. Within a factor of about 3
/// for meshes. `symmetric`: of L alone, else of L and U. Defined with the methods.
template <class T>
[[nodiscard]] CostPrediction estimate_factor_cost(const Csr<T>& A, bool symmetric);

/// Estimates the same from a quarter of the rows, for an A of moderate size, if that is at least this many
/// flops; none otherwise. The width of A's graph tells for most other matrices in O(nonzeros), a quarter of
/// an ordering for the rest. Too low for expanders, and too high by a factor of 10 for some graphs with hubs.
template <class T>
[[nodiscard]] std::optional<CostPrediction> estimate_long_factorization(const Csr<T>& A, bool symmetric,
                                                                        double flops);

/// Estimates the cost of a sparse factorisation of a matrix that couples the points of a grid in three
/// dimensions with their neighbours, by the planes that dissect it. Within a factor of 3. O(1).
[[nodiscard]] CostPrediction estimate_grid_factorization(std::array<std::int64_t, 3> points, bool symmetric,
                                                         std::size_t element_size);

/// d if about s^d rows are within s steps of a row in A's graph: 2 and 3 for meshes in two and three
/// dimensions, more for expanders. From at most 4,096 rows around the middle one.
template <class T>
[[nodiscard]] double growth_exponent(const Csr<T>& A);

}  // namespace echelon
