// SPDX-License-Identifier: BSD-3-Clause
/// Facts about a stencil matrix that decide how it is coarsened and smoothed.
#pragma once

#include "backend/store.hpp"
#include "matrix/stencil/stencil_matrix.hpp"
#include "multigrid/estimates/character.hpp"

#include <cmath>
#include <cstdint>

namespace echelon::multigrid {

/// Axes are strong whose connections are at least this share of the strongest. Point smoothers leave errors
/// that are smooth along strong connections only.
inline constexpr double strong_axis = 0.3;

/// Sums and extremes over the rows of a stencil matrix.
struct StencilCharacter {
  MatrixCharacter rows;             ///< without a hash of the pattern
  double strengths[3] = {0, 0, 0};  ///< sums of the connections along each axis
  double weak_rows[3] = {0, 0, 0};  ///< numbers of rows whose connections along each axis are weak
  double largest_nonpositive = 0;   ///< 1 if a diagonal element is not positive
  Largest spectral_radius;          ///< estimate for D^-1 A
  Largest asymmetry;                ///< |a_ij - a_ji| / (|a_ij| + |a_ji|)

  friend ECHELON_ANYWHERE StencilCharacter combine(const StencilCharacter& a, const StencilCharacter& b) {
    return {
        combine(a.rows, b.rows),
        {a.strengths[0] + b.strengths[0], a.strengths[1] + b.strengths[1], a.strengths[2] + b.strengths[2]},
        {a.weak_rows[0] + b.weak_rows[0], a.weak_rows[1] + b.weak_rows[1], a.weak_rows[2] + b.weak_rows[2]},
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
template <class T, class Layout, bool is_constant, bool finds_asymmetry>
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
    double sums[8] = {};  // of coefficients, by the axes along which the neighbours lie apart
    MatrixCharacter& own = found.rows;
    own.largest.value = std::fabs(diagonal);
    Layout::for_each_offset([&](int slot, int x, int y, int z) {
      const auto value = static_cast<double>(A.template at<is_constant>(slot, p));
      const double magnitude = std::fabs(value);
      sum += value;
      magnitudes += magnitude;
      own.largest.value = magnitude > own.largest.value ? magnitude : own.largest.value;
      own.same_sign += value > 0 ? count * value : 0;
      sums[(x != 0 ? 1 : 0) + (y != 0 ? 2 : 0) + (z != 0 ? 4 : 0)] += value;
      if (finds_asymmetry && value != 0) {
        const std::int32_t other[3] = {grid.moved(0, at[0], x), grid.moved(1, at[1], y),
                                       grid.moved(2, at[2], z)};
        const auto transposed =
            static_cast<double>(A.template at<is_constant>(Layout::points - 1 - slot, grid.point(other)));
        found.asymmetry = combine(
            found.asymmetry, Largest{std::fabs(value - transposed) / (magnitude + std::fabs(transposed))});
      }
    });
    double strengths[3] = {0, 0, 0};
    for (int axis = 0; axis < 3; ++axis) {
      for (int apart = 0; apart < 8; ++apart) strengths[axis] -= (apart >> axis & 1) != 0 ? sums[apart] : 0;
    }
    for (int axis = 0; axis < 3; ++axis) {
      const double along_others = std::fmax(strengths[(axis + 1) % 3], strengths[(axis + 2) % 3]);
      found.strengths[axis] = count * strengths[axis];
      found.weak_rows[axis] = strengths[axis] < strong_axis * along_others ? count : 0;
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
    const double bound = diagonal + magnitudes;
    const double wave = margin * largest_wave(diagonal, sums);
    found.spectral_radius.value = (Layout::box && wave < bound ? wave : bound) / diagonal;
    return found;
  }

 private:
  /// Largest magnitude of the stencil's eigenvalues for waves that change their sign from point to point
  /// along some axes. (-1)^(number of these axes along which a neighbour lies apart) is the sign of its
  /// coefficient.
  ECHELON_ANYWHERE static double largest_wave(double diagonal, const double* sums) {
    double largest = 0;
    for (int wave = 0; wave < 8; ++wave) {
      double value = diagonal;
      for (int apart = 1; apart < 8; ++apart) {
        const int changes = wave & apart;
        const bool is_odd = ((changes ^ changes >> 1 ^ changes >> 2) & 1) != 0;
        value += is_odd ? -sums[apart] : sums[apart];
      }
      value = std::fabs(value);
      largest = value > largest ? value : largest;
    }
    return largest;
  }
};

/// Describes A; without its asymmetry, unless `finds_asymmetry`. Reads its coefficients once; waits.
template <bool finds_asymmetry, class B, class T>
[[nodiscard]] StencilCharacter describe_stencil(B& backend, const StencilMatrix<T>& A) {
  Array<StencilCharacter> found(backend.device(), 1);
  with_layout(A, [&]<class Layout, bool constant>() {
    backend.reduce(
        constant ? grid_regions : A.rows(),
        DescribeStencilRow<T, Layout, constant, finds_asymmetry>{A.coefficients(), GridNumbering(A.grid)},
        Store<StencilCharacter>{found.data()});
  });
  return backend.read(found.data());
}

}  // namespace echelon::multigrid
