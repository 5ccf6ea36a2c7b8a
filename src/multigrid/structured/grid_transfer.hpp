// SPDX-License-Identifier: BSD-3-Clause
/// Interpolation and restriction along all axes in one loop, as a GPU does them: each vector moves once.
#pragma once

#include "backend/read_only.hpp"
#include "backend/unroll.hpp"
#include "multigrid/structured/hierarchy.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::multigrid {

/// Interpolation between a level and the next coarser one, along one axis after another: P = P_x P_y P_z.
struct GridTransfer {
  AxisInterpolation<float> axes[3];  ///< values are null for an axis that is not coarsened
  GridNumbering fine, coarse;
  GridNumbering cells;  ///< see add_to_cell()

  GridTransfer(const Grid& grid, const std::vector<AxisTransfer>& transfers)
      : axes{unchanged(grid), unchanged(grid), unchanged(grid)},
        fine(grid),
        coarse(transfers.back().coarse()),
        cells(cells_of(grid, transfers)) {
    for (const AxisTransfer& along : transfers) axes[along.axis] = along.interpolation();
  }

  [[nodiscard]] ECHELON_ANYWHERE bool coarsens(int axis) const { return axes[axis].values != nullptr; }

  /// The element of P^T r at a point of the coarse grid.
  template <bool is_constant>
  [[nodiscard]] ECHELON_ANYWHERE float restrict_to(const std::int32_t* point, const float* r) const {
    const Support along[3] = {support<is_constant>(0, point[0]), support<is_constant>(1, point[1]),
                              support<is_constant>(2, point[2])};
    std::int32_t at[3] = {point[0], point[1], point[2]};
    float sum = 0;
    ECHELON_UNROLL
    for (int k = 0; k < 3; ++k) {
      if (k >= along[2].count) continue;
      at[2] = along[2].at[k];
      float of_plane = 0;
      ECHELON_UNROLL
      for (int j = 0; j < 3; ++j) {
        if (j >= along[1].count) continue;
        at[1] = along[1].at[j];
        float of_line = 0;
        ECHELON_UNROLL
        for (int i = 0; i < 3; ++i) {
          if (i >= along[0].count) continue;
          at[0] = along[0].at[i];
          of_line += weight_in<is_constant>(0, along[0], i, at) * read_only(r + fine.index(at));
        }
        at[0] = point[0];
        of_plane += weight_in<is_constant>(1, along[1], j, at) * of_line;
      }
      at[1] = point[1];
      sum += weight_in<is_constant>(2, along[2], k, at) * of_plane;
    }
    return sum;
  }

  /// x += P e at the fine points of a cell: along an axis that is coarsened coarse point c, and the fine
  /// point before it that is no coarse one; the point c along another one.
  template <bool is_constant>
  ECHELON_ANYWHERE void add_to_cell(const std::int32_t* cell, const float* e, float* x) const {
    const Cell along[3] = {cell_along<is_constant>(0, cell[0]), cell_along<is_constant>(1, cell[1]),
                           cell_along<is_constant>(2, cell[2])};
    float values[2][2][2];  // of coarse points c - 1 and c along each axis, then of the fine points
    for_each_corner([&](int i, int j, int k) {
      const bool exists = along[0].has_coarse[i] && along[1].has_coarse[j] && along[2].has_coarse[k];
      const std::int32_t at[3] = {along[0].coarse[i], along[1].coarse[j], along[2].coarse[k]};
      values[i][j][k] = exists ? read_only(e + coarse.index(at)) : 0.0F;
    });
    ECHELON_UNROLL
    for (int j = 0; j < 2; ++j) {
      ECHELON_UNROLL
      for (int i = 0; i < 2; ++i) {
        if (!along[0].has_coarse[i] || !along[1].has_coarse[j]) continue;
        const std::int32_t at[3] = {along[0].coarse[i], along[1].coarse[j], along[2].fine[0]};
        interpolate<is_constant>(2, at, along[2], values[i][j][0], values[i][j][1]);
      }
    }
    ECHELON_UNROLL
    for (int k = 0; k < 2; ++k) {
      ECHELON_UNROLL
      for (int i = 0; i < 2; ++i) {
        if (!along[0].has_coarse[i] || !along[2].has_fine[k]) continue;
        const std::int32_t at[3] = {along[0].coarse[i], along[1].fine[0], along[2].fine[k]};
        interpolate<is_constant>(1, at, along[1], values[i][0][k], values[i][1][k]);
      }
    }
    ECHELON_UNROLL
    for (int k = 0; k < 2; ++k) {
      ECHELON_UNROLL
      for (int j = 0; j < 2; ++j) {
        if (!along[1].has_fine[j] || !along[2].has_fine[k]) continue;
        const std::int32_t at[3] = {along[0].fine[0], along[1].fine[j], along[2].fine[k]};
        interpolate<is_constant>(0, at, along[0], values[0][j][k], values[1][j][k]);
      }
    }
    for_each_corner([&](int i, int j, int k) {
      if (!along[0].has_fine[i] || !along[1].has_fine[j] || !along[2].has_fine[k]) return;
      const std::int32_t at[3] = {along[0].fine[i], along[1].fine[j], along[2].fine[k]};
      x[fine.index(at)] += values[i][j][k];
    });
  }

 private:
  static AxisInterpolation<float> unchanged(const Grid& grid) {
    return {nullptr, GridNumbering(grid), GridNumbering(grid)};
  }
  static Grid cells_of(Grid grid, const std::vector<AxisTransfer>& transfers) {
    for (const AxisTransfer& along : transfers) {
      auto& points = grid.points[static_cast<std::size_t>(along.axis)];
      points = (points + 1) / 2;
    }
    return grid;
  }
  [[nodiscard]] ECHELON_ANYWHERE std::int32_t first_coarse_along(int axis) const {
    return first_coarse(fine.points[axis], fine.periodic[axis]);
  }

  /// Fine points that interpolate from a coarse one along an axis.
  struct Support {
    std::int32_t at[3];
    int count;
    bool has_before;           ///< coarse point
    bool has_first, has_last;  ///< fine points beside that are no coarse ones
    float weights[3];          ///< if they are constant
  };
  template <bool is_constant>
  [[nodiscard]] ECHELON_ANYWHERE Support support(int axis, std::int32_t j) const {
    if (!coarsens(axis)) return {{j, j, j}, 1, false, false, false, {1, 1, 1}};
    const std::int32_t points = fine.points[axis];
    const bool is_periodic = fine.periodic[axis];
    const std::int32_t offset = first_coarse_along(axis);
    const std::int32_t own = 2 * j + offset;
    Support found{{fine.moved(axis, own, -1), own, fine.moved(axis, own, 1)},
                  is_periodic || own + 1 < points ? 3 : 2,
                  is_periodic || j > 0,
                  offset == 1 || j > 0,
                  offset == 1 || own + 1 < points,
                  {1, 1, 1}};
    if constexpr (is_constant) {
      found.weights[0] = weight_of_first(found, constant_weight(axis, found.at[0]));
      if (found.count == 3) found.weights[2] = found.has_last ? constant_weight(axis, found.at[2]) : 0;
    }
    return found;
  }
  [[nodiscard]] ECHELON_ANYWHERE static float weight_of_first(const Support& own, float weight) {
    return !own.has_first || weight < 0 ? 0 : own.has_before ? 1 - weight : weight;
  }
  /// Weight of the coarse point for the k-th fine point of its support.
  template <bool is_constant>
  [[nodiscard]] ECHELON_ANYWHERE float weight_in(int axis, const Support& own, int k,
                                                 const std::int32_t* at) const {
    if (is_constant || own.count == 1 || k == 1) return own.weights[k];
    if (k == 0 ? !own.has_first : !own.has_last) return 0;
    const float weight = varying_weight(axis, at);
    return k == 0 ? weight_of_first(own, weight) : weight > 0 ? weight : 0;
  }
  /// Neighbours of a cell along an axis.
  struct Cell {
    bool coarsens;
    bool has_coarse[2];
    bool has_fine[2];
    std::int32_t coarse[2];
    std::int32_t fine[2];
    float weight;  ///< of coarse point c - 1 for the first fine point, if it is constant
  };
  template <bool is_constant>
  [[nodiscard]] ECHELON_ANYWHERE Cell cell_along(int axis, std::int32_t c) const {
    if (!coarsens(axis)) return {false, {false, true}, {false, true}, {c, c}, {c, c}, 0};
    const std::int32_t offset = first_coarse_along(axis);
    const std::int32_t first = 2 * c + offset - 1;
    const bool has_second = first + 1 < fine.points[axis];
    const bool wraps = c == 0 && fine.periodic[axis];
    return {true,
            {c > 0 || wraps, has_second},
            {first >= 0, has_second},
            {wraps ? coarse.points[axis] - 1 : c - 1, c},
            {first, first + 1},
            is_constant && first >= 0 ? constant_weight(axis, first) : 0};
  }
  template <class F>
  ECHELON_ANYWHERE static void for_each_corner(F f) {
    ECHELON_UNROLL
    for (int k = 0; k < 2; ++k) {
      ECHELON_UNROLL
      for (int j = 0; j < 2; ++j) {
        ECHELON_UNROLL
        for (int i = 0; i < 2; ++i) f(i, j, k);
      }
    }
  }
  /// Weight at the fine points with this coordinate along the axis.
  [[nodiscard]] ECHELON_ANYWHERE float constant_weight(int axis, std::int32_t at) const {
    return read_only(axes[axis].values + axes[axis].fine.region_along(axis, at));
  }
  /// Weight at a fine point that is no coarse one along the axis. Its coordinates along the axes before are
  /// coarse ones.
  [[nodiscard]] ECHELON_ANYWHERE float varying_weight(int axis, const std::int32_t* at) const {
    std::int32_t own[3] = {at[0], at[1], at[2]};
    own[axis] /= 2;
    return read_only(axes[axis].values + axes[axis].between.index(own));
  }
  /// Turns the value of coarse point c - 1 into that of the cell's first fine point.
  template <bool is_constant>
  ECHELON_ANYWHERE void interpolate(int axis, const std::int32_t* at, const Cell& along, float& before,
                                    float after) const {
    if (!along.coarsens || !along.has_fine[0]) return;
    const float weight = is_constant ? along.weight : varying_weight(axis, at);
    const float other = along.has_coarse[0] ? 1 - weight : weight;
    before = weight < 0 ? 0 : weight * before + other * after;
  }
};

/// b = P^T r at a coarse point, divided by the diagonal element if there is one.
template <bool is_constant>
struct RestrictResidual {
  GridTransfer transfer;
  const float* r;
  const float* diagonal;  ///< of the coarse level, or null
  float* b;
  ECHELON_ANYWHERE void operator()(const GridPoint& p) const {
    const float sum = transfer.restrict_to<is_constant>(p.at, r);
    b[p.index] = diagonal == nullptr ? sum : sum / read_only(diagonal + (is_constant ? p.region : p.index));
  }
};
/// x += P e in a cell.
template <bool is_constant>
struct AddInterpolation {
  GridTransfer transfer;
  const float* e;
  float* x;
  ECHELON_ANYWHERE void operator()(const GridPoint& cell) const {
    transfer.add_to_cell<is_constant>(cell.at, e, x);
  }
};

}  // namespace echelon::multigrid
