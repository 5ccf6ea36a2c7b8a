// SPDX-License-Identifier: BSD-3-Clause
/// Interpolation along one axis of a grid whose weights follow from the stencil.
///
/// Every other point of the axis is a coarse one: coarse point j is fine point 2j + 1. A fine point between
/// two of them interpolates with the weights l / (l + u) and u / (l + u) of its connections to the points
/// before and after it, each summed over the other axes: constants are interpolated exactly, and fluxes
/// through a jump of the coefficients are continuous. At an end of the axis that has one coarse neighbour the
/// excess of the row, which a Dirichlet boundary leaves, takes the place of the other connection. J. Dendy,
/// Black box multigrid, J. Comput. Phys. 48 (1982); S. Ashby, R. Falgout, Nucl. Sci. Eng. 124 (1996).
#pragma once

#include "matrix/stencil/stencil_matrix.hpp"

#include <cstdint>

namespace echelon::multigrid {

/// Weights of the fine points of an axis that are no coarse ones, those with even coordinates: of the coarse
/// point before it; where there is one coarse point beside it, of that one.
template <class V>
struct AxisInterpolation {
  const V* values;
  GridNumbering fine;     ///< grid before the coarsening along this axis
  GridNumbering between;  ///< its points with even coordinates
  int axis;

  /// Weight at a point of the fine grid with an even coordinate.
  template <bool is_constant>
  [[nodiscard]] ECHELON_ANYWHERE V at(const std::int32_t* point) const {
    if constexpr (is_constant) {
      return values[fine.region(point)];
    } else {
      std::int32_t own[3] = {point[0], point[1], point[2]};
      own[axis] /= 2;
      return values[between.index(own)];
    }
  }
};

/// Coarse points beside a point of the fine grid along an axis, in ascending order, with their weights.
template <class V>
struct CoarseNeighbours {
  std::int32_t first;
  int count;
  V weights[2];
};
template <bool is_constant, class V>
ECHELON_ANYWHERE CoarseNeighbours<V> coarse_neighbours(const AxisInterpolation<V>& weights,
                                                       const std::int32_t* point) {
  const std::int32_t own = point[weights.axis];
  const std::int32_t half = own / 2;
  if (own % 2 == 1) return {half, 1, {V{1}, V{0}}};
  const V weight = weights.template at<is_constant>(point);
  const bool has_before = own > 0;
  const bool has_after = own + 1 < weights.fine.points[weights.axis];
  if (has_before && has_after) return {half - 1, 2, {weight, V{1} - weight}};
  return {has_before ? half - 1 : half, has_before || has_after ? 1 : 0, {weight, V{0}}};
}

/// Computes the weights along an axis.
template <class T, class Layout, bool is_constant>
struct ComputeAxisInterpolation {
  StencilCoefficients<T> A;
  GridNumbering fine;
  GridNumbering between;
  int axis;
  T* values;
  ECHELON_ANYWHERE void operator()(std::int64_t place) const {
    std::int32_t at[3];
    if constexpr (is_constant) {
      fine.coordinates_in_region(place, at);
    } else {
      between.coordinates(place, at);
      at[axis] *= 2;
    }
    const GridPoint p = fine.point(at);
    T connections[2] = {T{0}, T{0}};  // to the points before and after
    T row_sum{0};
    for (int number = 0; number < 27; ++number) {
      const NeighbourOffset offset(number);
      const int slot = Layout::place(offset.x, offset.y, offset.z);
      if (slot < 0) continue;
      const T value = A.template at<is_constant>(slot, p);
      const int along = axis == 0 ? offset.x : axis == 1 ? offset.y : offset.z;
      row_sum += value;
      if (along != 0) connections[along > 0 ? 1 : 0] -= value;
    }
    values[place] = weight(p, connections[0], connections[1], row_sum);
  }

 private:
  ECHELON_ANYWHERE T weight(const GridPoint& p, T before, T after, T row_sum) const {
    before = before > T{0} ? before : T{0};
    after = after > T{0} ? after : T{0};
    if (p.before[axis] != 0 && p.after[axis] != 0) {
      return before + after > T{0} ? before / (before + after) : T{0.5};
    }
    // The excess of the row belongs to all sides on which the grid ends.
    int ends = 0;
    for (int a = 0; a < 3; ++a) {
      if (fine.points[a] > 1) ends += (p.before[a] == 0 ? 1 : 0) + (p.after[a] == 0 ? 1 : 0);
    }
    const T excess = row_sum > T{0} ? row_sum / static_cast<T>(ends) : T{0};
    const T own = before + after;
    return own + excess > T{0} ? own / (own + excess) : T{0};
  }
};

/// Galerkin product with the interpolation along an axis: coefficients of P^T A P, of 9 or 27 points.
template <class T, class Layout, bool is_constant>
struct CoarsenAlongAxis {
  StencilCoefficients<T> A;
  AxisInterpolation<T> weights;
  GridNumbering coarse;
  std::int64_t stride;  ///< of the coarse coefficients
  T* values;
  using Coarse = StencilLayout<true, Layout::axes>;

  ECHELON_ANYWHERE void operator()(std::int64_t place) const {
    std::int32_t at[3];
    if constexpr (is_constant) {
      coarse.coordinates_in_region(place, at);
    } else {
      coarse.coordinates(place, at);
    }
    const int second = weights.axis == 0 ? 1 : 0;  // the other axes
    const int third = weights.axis == 2 ? 1 : 2;
    for (int v = -1; v <= 1; ++v) {
      for (int u = -1; u <= 1; ++u) {
        int offset[3] = {0, 0, 0};
        offset[second] = u;
        offset[third] = v;
        if (Coarse::place(offset[0], offset[1], offset[2]) < 0) continue;
        T sums[3] = {T{0}, T{0}, T{0}};
        add_products(at, offset, sums);
        for (int along = -1; along <= 1; ++along) {
          offset[weights.axis] = along;
          values[Coarse::place(offset[0], offset[1], offset[2]) * stride + place] = sums[along + 1];
        }
      }
    }
  }

 private:
  /// Adds what the three fine points of coarse point `at` contribute for its coarse neighbours before, at,
  /// and after it, in the line at this offset across the axis.
  ECHELON_ANYWHERE void add_products(const std::int32_t* at, const int* across, T* sums) const {
    const int axis = weights.axis;
    std::int32_t row[3] = {at[0], at[1], at[2]};
    for (int k = 0; k < 3; ++k) {
      row[axis] = 2 * at[axis] + k;
      if (row[axis] >= weights.fine.points[axis]) return;
      const GridPoint p = weights.fine.point(row);
      const T restriction = weight_of(row, at[axis]);
      for (int along = -1; along <= 1; ++along) {
        int offset[3] = {across[0], across[1], across[2]};
        offset[axis] = along;
        const int slot = Layout::place(offset[0], offset[1], offset[2]);
        const T value = slot < 0 ? T{0} : A.template at<is_constant>(slot, p);
        if (value == T{0}) continue;
        const std::int32_t column[3] = {row[0] + offset[0], row[1] + offset[1], row[2] + offset[2]};
        const CoarseNeighbours<T> found = coarse_neighbours<is_constant>(weights, column);
        for (int c = 0; c < found.count; ++c) {
          sums[found.first + c - at[axis] + 1] += restriction * value * found.weights[c];
        }
      }
    }
  }
  /// Weight with which a fine point interpolates from coarse coordinate j beside it.
  [[nodiscard]] ECHELON_ANYWHERE T weight_of(const std::int32_t* point, std::int32_t j) const {
    const CoarseNeighbours<T> found = coarse_neighbours<is_constant>(weights, point);
    return j == found.first ? found.weights[0] : found.weights[1];
  }
};

}  // namespace echelon::multigrid
