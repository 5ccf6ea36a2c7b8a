// SPDX-License-Identifier: BSD-3-Clause
/// Interpolation along one axis of a grid whose weights follow from the stencil.
///
/// Every other point of the axis is a coarse one: coarse point j is fine point 2j + 1, and on a periodic axis
/// with an odd number of points fine point 2j, so that the last coarse point lies beside the first one. A
/// fine point between two of them interpolates with the weights l / (l + u) and u / (l + u) of its
/// connections to the points before and after it, each summed over the other axes: constants are interpolated
/// exactly, and fluxes through a jump of the coefficients are continuous. At an end of the axis that has one
/// coarse neighbour the excess of the row, which a Dirichlet boundary leaves, takes the place of the other
/// connection. J. Dendy, Black box multigrid, J. Comput. Phys. 48 (1982); S. Ashby, R. Falgout, Nucl. Sci.
/// Eng. 124 (1996).
#pragma once

#include "matrix/stencil/stencil_matrix.hpp"

#include <cstdint>

namespace echelon::multigrid {

/// Coordinate of the first coarse point along an axis.
ECHELON_ANYWHERE inline std::int32_t first_coarse(std::int32_t points, bool periodic) {
  return periodic && points % 2 == 1 ? 0 : 1;
}

/// Weights of the fine points of an axis that are no coarse ones: of the coarse point before it; where there
/// is one coarse point beside it, of that one. Negative for a point without any connection, as one that a
/// mask takes out of the grid: it does not interpolate.
template <class V>
struct AxisInterpolation {
  const V* values;
  GridNumbering fine;     ///< grid before the coarsening along this axis
  GridNumbering between;  ///< its points that are no coarse ones, of which k has a fine coordinate of half k
};

/// Weights with which the fine points before and after a coarse one interpolate along the axis, from coarse
/// coordinate j and from the ones before and after it. On an odd periodic axis the points before the first
/// coarse one and after the last one are coarse.
template <class V>
struct WeightsAround {
  V of_first, of_first_before;  ///< weights of j, and of j - 1, for the fine point before
  V of_last, of_last_after;     ///< weights of j, and of j + 1, for the fine point after
};

/// Fine points around a coarse point p along the axis: the one before, the coarse point itself, and the one
/// after. The grid of p is periodic along the axis if the fine one is.
template <class V, int axis, bool is_constant>
struct FinePoints {
  const AxisInterpolation<V>& weights;
  bool has_before, has_after;  ///< coarse points beside
  bool has_first, has_last;    ///< fine points beside that are no coarse ones
  std::int32_t steps[3];       ///< from the middle one to each, in coordinates; 0 to one outside of the grid
  std::int32_t at[3];          ///< coordinates of the middle one

  ECHELON_ANYWHERE FinePoints(const AxisInterpolation<V>& w, const GridPoint& p)
      : weights(w),
        has_before(p.before[axis] != 0),
        has_after(p.after[axis] != 0),
        steps{-1, 0, 1},
        at{p.at[0], p.at[1], p.at[2]} {
    const std::int32_t points = w.fine.points[axis];
    const bool is_periodic = w.fine.periodic[axis];
    const std::int32_t offset = first_coarse(points, is_periodic);
    at[axis] = 2 * at[axis] + offset;
    has_first = offset == 1 || p.before[axis] < 0;
    has_last = p.after[axis] > 0 || (is_periodic ? offset == 1 : points % 2 == 1);
    if (!has_first) steps[0] = points - 1;
    if (p.after[axis] <= 0) steps[2] = is_periodic ? 1 - points : has_last ? 1 : 0;
  }
  [[nodiscard]] ECHELON_ANYWHERE std::int64_t index(int k) const {
    return weights.fine.index(at) + std::int64_t{steps[k]} * weights.fine.strides[axis];
  }
  /// Place of the coefficients in the line at this offset across the axis.
  [[nodiscard]] ECHELON_ANYWHERE std::int64_t place(int k, const std::int32_t* across) const {
    std::int32_t own[3] = {at[0] + across[0], at[1] + across[1], at[2] + across[2]};
    own[axis] += steps[k];
    return is_constant ? weights.fine.region(own) : weights.fine.index(own);
  }
  /// Weights in the line at this offset across the axis.
  [[nodiscard]] ECHELON_ANYWHERE WeightsAround<V> weights_at(const std::int32_t* across) const {
    const V first = has_first ? weight(0, across) : V{1};
    const V last = has_last ? weight(2, across) : V{0};
    const bool is_first_alone = !is_constant && first < V{0};
    const bool is_last_alone = !is_constant && last < V{0};
    return {is_first_alone ? V{0}
            : has_before   ? V{1} - first
                           : first,
            is_first_alone || !has_before ? V{0} : first, is_last_alone ? V{0} : last,
            is_last_alone || !has_after ? V{0} : V{1} - last};
  }

 private:
  [[nodiscard]] ECHELON_ANYWHERE V weight(int k, const std::int32_t* across) const {
    std::int32_t own[3] = {at[0] + across[0], at[1] + across[1], at[2] + across[2]};
    own[axis] += steps[k];
    if constexpr (is_constant) {
      return weights.values[weights.fine.region(own)];
    } else {
      own[axis] /= 2;
      return weights.values[weights.between.index(own)];
    }
  }
};

/// Computes the weights along an axis, at a point of the grid between the coarse ones; for constant
/// coefficients at the point that stands for a region of the fine grid. The latter are those in the interior
/// of the other axes: they must not depend on the place along these, or coarse coefficients would not be
/// constant. `symmetric_part`: connections are those of (A + A^T) / 2, as convection asks for (J. Dendy,
/// Black box multigrid for nonsymmetric problems, Appl. Math. Comput. 13, 1983).
template <class T, class Layout, bool is_constant>
struct ComputeAxisInterpolation {
  StencilCoefficients<T> A;
  GridNumbering fine;
  int axis;
  bool symmetric_part;
  T* values;
  ECHELON_ANYWHERE void operator()(const GridPoint& between) const {
    std::int32_t at[3] = {between.at[0], between.at[1], between.at[2]};
    if constexpr (is_constant) {
      for (int a = 0; a < 3; ++a) {
        if (a != axis) at[a] = fine.points[a] > 2 ? 1 : 0;
      }
    } else {
      at[axis] = 2 * at[axis] + 1 - first_coarse(fine.points[axis], fine.periodic[axis]);
    }
    const GridPoint p = fine.point(at);
    T connections[3] = {T{0}, T{0}, T{0}};  // to the neighbours along each axis
    T before{0};                            // to those before the point along the axis
    T row_sum = A.template at<is_constant>(Layout::center, p);
    Layout::for_each_offset([&](int slot, int x, int y, int z) {
      T value = A.template at<is_constant>(slot, p);
      if (symmetric_part) value = (value + transposed(p, slot, x, y, z)) / 2;
      const int along = axis == 0 ? x : axis == 1 ? y : z;
      row_sum += value;
      before -= along < 0 ? value : T{0};
      connections[0] -= x != 0 ? value : T{0};
      connections[1] -= y != 0 ? value : T{0};
      connections[2] -= z != 0 ? value : T{0};
    });
    values[is_constant ? between.region : between.index] = weight(p, before, connections, row_sum);
  }

 private:
  /// The element of the neighbour at these distances in the column of p; 0 if there is none.
  ECHELON_ANYWHERE T transposed(const GridPoint& p, int slot, int x, int y, int z) const {
    const std::int32_t at[3] = {fine.moved(0, p.at[0], x), fine.moved(1, p.at[1], y),
                                fine.moved(2, p.at[2], z)};
    for (int a = 0; a < 3; ++a) {
      if (at[a] < 0 || at[a] >= fine.points[a]) return T{0};
    }
    return A.template at<is_constant>(Layout::points - 1 - slot, fine.point(at));
  }
  ECHELON_ANYWHERE T weight(const GridPoint& p, T before, const T* connections, T row_sum) const {
    const T own = connections[axis];
    const bool is_alone = connections[0] == T{0} && connections[1] == T{0} && connections[2] == T{0};
    if (is_alone) return T{-1};
    if (p.before[axis] != 0 && p.after[axis] != 0) {
      const T share = before / own;
      return share >= T{0} && share <= T{1} ? share : T{0.5};
    }
    // The excess of the row belongs to all sides on which the grid ends, in proportion to the connections.
    T of_ends{0};
    for (int a = 0; a < 3; ++a) {
      const bool has_end = fine.points[a] > 1 && (p.before[a] == 0 || p.after[a] == 0);
      of_ends += has_end && connections[a] > T{0} ? connections[a] : T{0};
    }
    const T weight = of_ends > T{0} && row_sum > T{0} ? of_ends / (of_ends + row_sum) : T{1};
    return own > T{0} ? weight : T{0};
  }
};

/// Galerkin product with the interpolation along an axis: coefficients of P^T A P, of 9 or 27 points, at a
/// coarse point. Where a periodic axis keeps two points, both neighbours of one are the other: its
/// coefficients are added up, and the axis is no longer periodic.
template <class T, class Layout, bool is_constant, int axis>
struct CoarsenAlongAxis {
  StencilCoefficients<T> A;
  AxisInterpolation<T> weights;
  std::int64_t stride;  ///< of the coarse coefficients
  T* values;
  bool two_are_left;  ///< of a periodic axis
  using Coarse = StencilLayout<true, Layout::axes>;

  ECHELON_ANYWHERE void operator()(const GridPoint& p) const {
    constexpr int second = axis == 0 ? 1 : 0;  // the other axes
    constexpr int third = axis == 2 ? 1 : 2;
    constexpr int last = third < Layout::axes ? 1 : 0;
    const FinePoints<T, axis, is_constant> fine(weights, p);
    ECHELON_UNROLL
    for (int v = -last; v <= last; ++v) {
      ECHELON_UNROLL
      for (int u = -1; u <= 1; ++u) {
        int offset[3] = {0, 0, 0};
        offset[second] = u;
        offset[third] = v;
        add_line(p, fine, offset);
      }
    }
  }

 private:
  /// Stores the coefficients of the coarse neighbours in the line at this offset across the axis.
  ECHELON_ANYWHERE void add_line(const GridPoint& p, const FinePoints<T, axis, is_constant>& fine,
                                 const int* offset) const {
    // Coefficients of neighbours in a line outside of the grid are zero: the weights of the own line do.
    constexpr std::int32_t own_line[3] = {0, 0, 0};
    std::int32_t across[3];
    for (int a = 0; a < 3; ++a) {
      const std::int32_t step = offset[a] < 0 ? p.before[a] : offset[a] > 0 ? p.after[a] : 0;
      const std::int32_t around = weights.fine.points[a] - 1;
      across[a] = step == 0 ? 0 : (step > 0) == (offset[a] > 0) ? offset[a] : -offset[a] * around;
    }
    const WeightsAround<T> row = fine.weights_at(own_line);
    const WeightsAround<T> column = fine.weights_at(across);
    const auto element = [&](int k, int along) {
      int distance[3] = {offset[0], offset[1], offset[2]};
      distance[axis] = along;
      const int slot = Layout::place(distance[0], distance[1], distance[2]);
      return slot < 0 ? T{0} : A.values[slot * A.stride + fine.place(k, own_line)];
    };
    const T r0 = row.of_first;
    const T r2 = row.of_last;
    const T at_first = r0 * element(0, 0) + element(1, -1);
    const T at_middle = r0 * element(0, 1) + element(1, 0) + r2 * element(2, -1);
    const T at_last = element(1, 1) + r2 * element(2, 0);
    T before = r0 * element(0, -1) + at_first * column.of_first_before;
    T after = at_last * column.of_last_after + r2 * element(2, 1);
    if (two_are_left) {
      const T both = before + after;
      before = p.at[axis] == 0 ? T{0} : both;
      after = p.at[axis] == 0 ? both : T{0};
    }
    store(p, offset, -1, before);
    store(p, offset, 0, at_first * column.of_first + at_middle + at_last * column.of_last);
    store(p, offset, 1, after);
  }
  ECHELON_ANYWHERE void store(const GridPoint& p, const int* offset, int along, T value) const {
    int distance[3] = {offset[0], offset[1], offset[2]};
    distance[axis] = along;
    const int slot = Coarse::place(distance[0], distance[1], distance[2]);
    values[slot * stride + (is_constant ? p.region : p.index)] = value;
  }
};

/// to = P^T from along an axis, at a coarse point.
template <bool is_constant, int axis>
struct RestrictAlongAxis {
  AxisInterpolation<float> weights;
  const float* from;
  const float* divisors;  ///< of the elements of to, or null
  float* to;
  ECHELON_ANYWHERE void operator()(const GridPoint& p) const {
    constexpr std::int32_t own_line[3] = {0, 0, 0};
    const FinePoints<float, axis, is_constant> fine(weights, p);
    const WeightsAround<float> w = fine.weights_at(own_line);
    const float sum =
        w.of_first * from[fine.index(0)] + from[fine.index(1)] + w.of_last * from[fine.index(2)];
    to[p.index] = divisors == nullptr ? sum : sum / divisors[is_constant ? p.region : p.index];
  }
};

/// to = P from, or to += P from, along an axis: stores or adds coarse point p and the fine points between the
/// coarse point before it and p, and for the last coarse point those up to the end of the line.
template <bool is_constant, int axis, bool adds>
struct InterpolateAlongAxis {
  AxisInterpolation<float> weights;
  const float* from;
  float* to;
  ECHELON_ANYWHERE void operator()(const GridPoint& p) const {
    constexpr std::int32_t own_line[3] = {0, 0, 0};
    const FinePoints<float, axis, is_constant> fine(weights, p);
    const WeightsAround<float> w = fine.weights_at(own_line);
    const float own = from[p.index];
    if (fine.has_first) {
      put(fine.index(0), w.of_first_before * from[p.index + p.before[axis]] + w.of_first * own);
    }
    put(fine.index(1), own);
    if (!fine.has_after && fine.has_last) put(fine.index(2), w.of_last * own);
  }

 private:
  ECHELON_ANYWHERE void put(std::int64_t i, float value) const { to[i] = adds ? to[i] + value : value; }
};

}  // namespace echelon::multigrid
