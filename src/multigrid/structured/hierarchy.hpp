// SPDX-License-Identifier: BSD-3-Clause
/// Levels of multigrid for stencil matrices.
#pragma once

#include "backend/target.hpp"
#include "matrix/stencil/find_stencil.hpp"
#include "multigrid/structured/axis_interpolation.hpp"
#include "multigrid/structured/level_character.hpp"
#include "multigrid/structured/line_smoother.hpp"
#include "support/stopwatch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace echelon::multigrid {

/// Interpolation along one axis: from `fine`, in which the axes coarsened before are coarse already.
struct AxisTransfer {
  int axis = 0;
  Grid fine;
  Array<float> weights;
  /// The coarse points, on an axis that stays periodic with two points, too.
  [[nodiscard]] Grid coarse() const { return with_points(points() - between_points()); }
  [[nodiscard]] Grid between() const { return with_points(between_points()); }
  /// Whether two points of a periodic axis are left.
  [[nodiscard]] bool two_are_left() const { return is_periodic() && points() - between_points() == 2; }
  [[nodiscard]] AxisInterpolation<float> interpolation() const {
    return {weights.data(), GridNumbering(fine), GridNumbering(between())};
  }

 private:
  [[nodiscard]] std::int64_t points() const { return fine.points[static_cast<std::size_t>(axis)]; }
  [[nodiscard]] bool is_periodic() const { return fine.periodic[static_cast<std::size_t>(axis)]; }
  [[nodiscard]] std::int64_t between_points() const {
    return (points() + first_coarse(static_cast<std::int32_t>(points()), is_periodic())) / 2;
  }
  [[nodiscard]] Grid with_points(std::int64_t count) const {
    Grid result = fine;
    result.points[static_cast<std::size_t>(axis)] = count;
    return result;
  }
};

/// A level that is coarsened, in float. Its rows are divided by their diagonal elements; in the place of a
/// diagonal element is that element itself, times the factor of the hierarchy. The sum of a row, which may be
/// smaller than the rounding errors of its elements, is stored in addition: products are formed from it and
/// from differences of neighbours.
struct StencilLevel {
  StencilMatrix<float> A;
  Array<float> row_sums;                ///< of the divided rows
  double spectral_radius = 2;           ///< estimate for D^-1 A
  std::vector<LineFactors> lines;       ///< for smoothing by lines; none where points suffice
  float line_damping = 2.0F / 3;        ///< 4 / (3 lambda), lambda = 2 being the most that an M-matrix has
  std::vector<AxisTransfer> transfers;  ///< to the next level
  double seconds = 0;                   ///< of the coarsening
  [[nodiscard]] std::size_t bytes() const {
    std::size_t bytes = A.bytes() + row_sums.bytes();
    for (const AxisTransfer& transfer : transfers) bytes += transfer.weights.bytes();
    for (const LineFactors& factors : lines) bytes += factors.bytes();
    return bytes;
  }
};

template <class T>
struct StencilHierarchy {
  std::vector<StencilLevel> levels;  ///< those that are coarsened, finest first
  StencilMatrix<T> coarsest;
};

/// Calls f.template operator()<axis>() for an axis of the layout.
template <int axes, class F>
void with_axis(int axis, F&& f) {
  if (axis == 0) return f.template operator()<0>();
  if (axis == 1) return f.template operator()<1>();
  if constexpr (axes == 3) f.template operator()<2>();
}

/// Divides a row by its diagonal element, and rounds it and its sum.
template <class T, class Layout>
struct RoundStencilRow {
  const T* from;
  std::int64_t stride;
  double factor;  ///< of the diagonal elements
  float* to;
  float* row_sums;
  ECHELON_ANYWHERE void operator()(std::int64_t place) const {
    const auto diagonal = static_cast<double>(from[Layout::center * stride + place]);
    const double inverse = 1 / diagonal;
    double sum = diagonal;
    Layout::for_each_offset([&](int slot, int, int, int) {
      const auto value = static_cast<double>(from[slot * stride + place]);
      sum += value;
      to[slot * stride + place] = static_cast<float>(inverse * value);
    });
    to[Layout::center * stride + place] = static_cast<float>(factor * diagonal);
    row_sums[place] = static_cast<float>(inverse * sum);
  }
};
template <class T>
struct RoundWeight {
  const T* from;
  float* to;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { to[i] = static_cast<float>(from[i]); }
};

/// The level of A without transfers.
template <class B, class T>
StencilLevel scaled_level(B& backend, const StencilMatrix<T>& A, double factor, double spectral_radius) {
  const Device& device = backend.device();
  StencilLevel level;
  level.A = {A.grid, A.axes, A.box, A.constant, A.points, Array<float>(device, A.values.size())};
  level.row_sums = Array<float>(device, A.stride());
  level.spectral_radius = spectral_radius;
  with_layout(A, [&]<class Layout, bool constant>() {
    backend.for_each(A.stride(), RoundStencilRow<T, Layout>{A.values.data(), A.stride(), factor,
                                                            level.A.values.data(), level.row_sums.data()});
  });
  return level;
}

/// Coarsens A along an axis; the interpolation is added to `transfers`. `symmetric_part`: see
/// ComputeAxisInterpolation.
template <class B, class T>
StencilMatrix<T> coarsen_along(B& backend, const StencilMatrix<T>& A, int axis,
                               std::vector<AxisTransfer>& transfers, bool symmetric_part = false) {
  AxisTransfer transfer{axis, A.grid, {}};
  const GridNumbering fine(A.grid);
  const GridNumbering between(transfer.between());
  const GridNumbering coarse(transfer.coarse());
  const std::int64_t count = A.constant ? grid_regions : between.size();
  Array<T> weights(backend.device(), count);
  StencilMatrix<T> result{transfer.coarse(), A.axes, true, A.constant, A.axes == 3 ? 27 : 9, {}};
  const bool two_are_left = transfer.two_are_left();
  if (two_are_left) result.grid.periodic[static_cast<std::size_t>(axis)] = false;
  const std::int64_t stride = A.constant ? grid_regions : coarse.size();
  result.values = Array<T>(backend.device(), result.points * stride);
  const AxisInterpolation<T> interpolation{weights.data(), fine, between};
  with_layout(A, [&]<class Layout, bool constant>() {
    for_each_place<constant>(backend, constant ? fine : between,
                             ComputeAxisInterpolation<T, Layout, constant>{A.coefficients(), fine, axis,
                                                                           symmetric_part, weights.data()});
    with_axis<Layout::axes>(axis, [&]<int along>() {
      for_each_place<constant>(
          backend, coarse,
          CoarsenAlongAxis<T, Layout, constant, along>{A.coefficients(), interpolation, stride,
                                                       result.values.data(), two_are_left});
    });
  });
  transfer.weights = Array<float>(backend.device(), count);
  backend.for_each(count, RoundWeight<T>{weights.data(), transfer.weights.data()});
  transfers.push_back(std::move(transfer));
  return result;
}

/// How a level is smoothed and coarsened.
struct LevelPlan {
  std::vector<int> coarsened;  ///< axes
  std::vector<int> lines;      ///< axes along whose lines it is smoothed; none: by points
};

/// The axes whose connections, summed over the rows, are strong.
[[nodiscard]] inline std::vector<int> strong_axes(const Grid& grid, const StencilCharacter& character) {
  std::array<double, 3> strengths{};
  int strongest = -1;
  for (int a = 0; a < 3; ++a) {
    const auto points = static_cast<double>(grid.points[static_cast<std::size_t>(a)]);
    double& strength = strengths[static_cast<std::size_t>(a)];
    if (points == 1) continue;
    // A line that is not periodic has one connection less than points.
    const double connections = grid.periodic[static_cast<std::size_t>(a)] ? points : points - 1;
    strength = character.strengths[a] * points / connections;
    if (strongest < 0 || strength > strengths[static_cast<std::size_t>(strongest)]) strongest = a;
  }
  std::vector<int> axes;
  for (int a = 0; a < 3; ++a) {
    const bool is_strong = strengths[static_cast<std::size_t>(a)] >=
                           strong_axis * strengths[static_cast<std::size_t>(strongest)];
    if (grid.points[static_cast<std::size_t>(a)] > 1 && (a == strongest || is_strong)) axes.push_back(a);
  }
  return axes;
}

/// Coarsens along strong axes, and smooths by points, unless one of these axes is weak in more than a small
/// part of the rows: then the strong axis changes from place to place, and the level is smoothed along the
/// lines of all axes, and coarsened along those that are strong in such a part. A level with convection is
/// smoothed along lines, too, and coarsened along all axes: with each semicoarsening upwind differences come
/// closer to central ones.
[[nodiscard]] inline LevelPlan plan_level(const Grid& grid, const StencilCharacter& character, bool constant,
                                          bool convects) {
  constexpr double small_part = 0.02;
  LevelPlan plan{strong_axes(grid, character), {}};
  const auto rows = static_cast<double>(grid.size());
  const bool suits_points = std::all_of(plan.coarsened.begin(), plan.coarsened.end(), [&](int axis) {
    return character.weak_rows[axis] <= small_part * rows;
  });
  if (constant || (suits_points && !convects)) return plan;
  plan.coarsened.clear();
  for (int a = 0; a < 3; ++a) {
    if (grid.points[static_cast<std::size_t>(a)] == 1) continue;
    plan.lines.push_back(a);
    if (convects || rows - character.weak_rows[a] > small_part * rows) plan.coarsened.push_back(a);
  }
  if (plan.coarsened.empty()) plan.coarsened = strong_axes(grid, character);
  return plan;
}

template <class T>
struct ExpandRow {
  const T* from;
  GridNumbering grid;
  int places;
  T* to;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const GridPoint p = grid.point(i);
    for (int place = 0; place < places; ++place) {
      to[place * grid.size() + i] = from[place * grid_regions + p.region];
    }
  }
};
/// A, of constant coefficients, with coefficients by points.
template <class B, class T>
[[nodiscard]] StencilMatrix<T> expanded(B& backend, const StencilMatrix<T>& A) {
  StencilMatrix<T> result{A.grid, A.axes, A.box, false, A.points, {}};
  result.values = Array<T>(backend.device(), A.places() * A.rows());
  backend.for_each(A.rows(),
                   ExpandRow<T>{A.values.data(), GridNumbering(A.grid), A.places(), result.values.data()});
  return result;
}

/// Makes the levels of A, of several points, down to one of at most `coarse_size` points, whose matrix stays
/// in T. `convects`: A is far from symmetric, and of variable coefficients. Diagonal elements are multiplied
/// by `factor` before they are rounded. Waits once for each level.
template <class B, class T>
StencilHierarchy<T> coarsen_stencil(B& backend, const StencilMatrix<T>& A, const StencilCharacter& character,
                                    double factor, std::int64_t coarse_size, bool convects = false) {
  StencilHierarchy<T> hierarchy;
  StencilCharacter own = character;
  const StencilMatrix<T>* current = &A;
  while (current->rows() > coarse_size) {
    const Stopwatch stopwatch;
    StencilLevel level = scaled_level(backend, *current, factor, own.spectral_radius.value);
    const LevelPlan plan = plan_level(current->grid, own, current->constant, convects);
    for (const int axis : plan.lines) level.lines.push_back(factor_lines(backend, *current, axis));
    // With convection, lines of three axes in turn diverge for more than this at a cell Peclet number of 100.
    if (convects && plan.lines.size() == 3) level.line_damping = 0.5F;
    StencilMatrix<T> next;
    for (const int axis : plan.coarsened) {
      const StencilMatrix<T>& from = level.transfers.empty() ? *current : next;
      StencilMatrix<T> coarser = coarsen_along(backend, from, axis, level.transfers, convects);
      next = std::move(coarser);
    }
    own = describe_stencil<false>(backend, next);
    level.seconds = stopwatch.seconds();
    hierarchy.levels.push_back(std::move(level));
    hierarchy.coarsest = std::move(next);
    current = &hierarchy.coarsest;
  }
  if (current == &A) hierarchy.coarsest = A;
  return hierarchy;
}

extern template StencilCharacter describe_stencil<true>(ThisTarget::Backend&, const StencilMatrix<float>&);
extern template StencilCharacter describe_stencil<true>(ThisTarget::Backend&, const StencilMatrix<double>&);
extern template StencilMatrix<float> expanded(ThisTarget::Backend&, const StencilMatrix<float>&);
extern template StencilMatrix<double> expanded(ThisTarget::Backend&, const StencilMatrix<double>&);
extern template StencilHierarchy<float> coarsen_stencil(ThisTarget::Backend&, const StencilMatrix<float>&,
                                                        const StencilCharacter&, double, std::int64_t, bool);
extern template StencilHierarchy<double> coarsen_stencil(ThisTarget::Backend&, const StencilMatrix<double>&,
                                                         const StencilCharacter&, double, std::int64_t, bool);

}  // namespace echelon::multigrid

namespace echelon {

extern template std::optional<StencilMatrix<float>> find_stencil(ThisTarget::Backend&, const Csr<float>&,
                                                                 const Grid&, std::string&);
extern template std::optional<StencilMatrix<double>> find_stencil(ThisTarget::Backend&, const Csr<double>&,
                                                                  const Grid&, std::string&);

}  // namespace echelon
