// SPDX-License-Identifier: BSD-3-Clause
/// Facts about a stencil matrix that decide how it is coarsened and smoothed.
#pragma once

#include "backend/store.hpp"
#include "matrix/stencil/stencil_matrix.hpp"
#include "multigrid/estimates/character.hpp"

#include <cmath>
#include <cstdint>

namespace echelon::multigrid {

/// Sums and extremes over the rows of a stencil matrix.
struct StencilCharacter {
  MatrixCharacter rows;             ///< without a hash of the pattern
  double strengths[3] = {0, 0, 0};  ///< sums of the connections along each axis
  double largest_nonpositive = 0;   ///< 1 if a diagonal element is not positive
  Largest spectral_radius;          ///< estimate for D^-1 A
  Largest asymmetry;                ///< |a_ij - a_ji| / (|a_ij| + |a_ji|)

  friend ECHELON_ANYWHERE StencilCharacter combine(const StencilCharacter& a, const StencilCharacter& b) {
    return {
        combine(a.rows, b.rows),
        {a.strengths[0] + b.strengths[0], a.strengths[1] + b.strengths[1], a.strengths[2] + b.strengths[2]},
        a.largest_nonpositive > b.largest_nonpositive ? a.largest_nonpositive : b.largest_nonpositive,
        combine(a.spectral_radius, b.spectral_radius),
        combine(a.asymmetry, b.asymmetry)};
  }
};

/// Describes the row of a point, or for constant coefficients all rows of a region.
///
/// The spectral radius of D^-1 A is at most the largest sum of magnitudes in a row of it. For smooth
/// coefficients it is the largest eigenvalue of the stencil on an unbounded grid, which oscillates from point
/// to point along some axes: a row's estimate is that with a margin, or the sum if that is smaller.
template <class T, class Layout, bool is_constant>
struct DescribeStencilRow {
  StencilCoefficients<T> A;
  GridNumbering grid;
  ECHELON_ANYWHERE StencilCharacter operator()(std::int64_t place) const {
    constexpr double margin = 1.05;
    StencilCharacter found;
    std::int64_t rows = 1;
    std::int32_t at[3];
    if constexpr (is_constant) {
      rows = grid.region_size(place);
      if (rows == 0) return found;
      grid.coordinates_in_region(place, at);
    } else {
      grid.coordinates(place, at);
    }
    const GridPoint p = grid.point(at);
    const auto count = static_cast<double>(rows);
    const auto diagonal = static_cast<double>(A.template at<is_constant>(Layout::center, p));
    double magnitudes = 0;
    double sum = diagonal;
    double waves[8] = {};  // eigenvalues for the signs (-1)^(x, y, z) along the axes of the bits
    MatrixCharacter& own = found.rows;
    own.largest.value = std::fabs(diagonal);
    for (int number = 0; number < 27; ++number) {
      const NeighbourOffset offset(number);
      const int slot = Layout::place(offset.x, offset.y, offset.z);
      if (slot < 0 || slot == Layout::center) continue;
      const auto value = static_cast<double>(A.template at<is_constant>(slot, p));
      if (value == 0) continue;
      const double magnitude = std::fabs(value);
      sum += value;
      magnitudes += magnitude;
      own.largest = combine(own.largest, Largest{magnitude});
      if (value > 0) own.same_sign += count * magnitude;
      found.strengths[0] -= offset.x != 0 ? count * value : 0;
      found.strengths[1] -= offset.y != 0 ? count * value : 0;
      found.strengths[2] -= offset.z != 0 ? count * value : 0;
      for (int wave = 0; wave < 8; ++wave) {
        const int changes = offset.x * (wave & 1) + offset.y * (wave >> 1 & 1) + offset.z * (wave >> 2 & 1);
        waves[wave] += changes % 2 == 0 ? value : -value;
      }
      const std::int32_t other[3] = {at[0] + offset.x, at[1] + offset.y, at[2] + offset.z};
      const auto transposed =
          static_cast<double>(A.template at<is_constant>(Layout::points - 1 - slot, grid.point(other)));
      found.asymmetry = combine(found.asymmetry,
                                Largest{std::fabs(value - transposed) / (magnitude + std::fabs(transposed))});
    }
    own.off_diagonal = count * magnitudes;
    own.largest_diagonal = std::fabs(diagonal);
    own.least_diagonal = own.largest_diagonal > 0 ? own.largest_diagonal : HUGE_VAL;
    own.largest_row_sum.value = std::fabs(sum);
    own.row_sums = count * std::fabs(sum);
    if (!(diagonal > 0)) {
      found.largest_nonpositive = 1;
      return found;
    }
    double largest_wave = 0;
    for (const double wave : waves) {
      const double magnitude = std::fabs(diagonal + wave);
      largest_wave = magnitude > largest_wave ? magnitude : largest_wave;
    }
    const double bound = diagonal + magnitudes;
    found.spectral_radius.value = (margin * largest_wave < bound ? margin * largest_wave : bound) / diagonal;
    return found;
  }
};

/// Describes A. Reads its coefficients once; waits.
template <class B, class T>
[[nodiscard]] StencilCharacter describe_stencil(B& backend, const StencilMatrix<T>& A) {
  Array<StencilCharacter> found(backend.device(), 1);
  with_layout(A, [&]<class Layout, bool constant>() {
    backend.reduce(constant ? grid_regions : A.rows(),
                   DescribeStencilRow<T, Layout, constant>{A.coefficients(), GridNumbering(A.grid)},
                   Store<StencilCharacter>{found.data()});
  });
  return backend.read(found.data());
}

}  // namespace echelon::multigrid
