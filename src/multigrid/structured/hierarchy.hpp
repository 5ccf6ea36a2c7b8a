// SPDX-License-Identifier: BSD-3-Clause
/// Levels of multigrid for stencil matrices.
#pragma once

#include "multigrid/structured/axis_interpolation.hpp"
#include "multigrid/structured/level_character.hpp"
#include "support/stopwatch.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace echelon::multigrid {

/// Interpolation along one axis: from `fine`, in which the axes coarsened before are coarse already.
struct AxisTransfer {
  int axis = 0;
  Grid fine;
  Array<float> weights;
  [[nodiscard]] Grid coarse() const {
    Grid result = fine;
    auto& points = result.points[static_cast<std::size_t>(axis)];
    points /= 2;
    return result;
  }
  [[nodiscard]] Grid between() const {
    Grid result = fine;
    auto& points = result.points[static_cast<std::size_t>(axis)];
    points = (points + 1) / 2;
    return result;
  }
  [[nodiscard]] AxisInterpolation<float> interpolation() const {
    return {weights.data(), GridNumbering(fine), GridNumbering(between())};
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
  std::vector<AxisTransfer> transfers;  ///< to the next level
  double seconds = 0;                   ///< of the coarsening
  [[nodiscard]] std::size_t bytes() const {
    std::size_t bytes = A.bytes() + row_sums.bytes();
    for (const AxisTransfer& transfer : transfers) bytes += transfer.weights.bytes();
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
  StencilLevel level{{A.grid, A.axes, A.box, A.constant, A.points, Array<float>(device, A.values.size())},
                     Array<float>(device, A.stride()),
                     spectral_radius,
                     {}};
  with_layout(A, [&]<class Layout, bool constant>() {
    backend.for_each(A.stride(), RoundStencilRow<T, Layout>{A.values.data(), A.stride(), factor,
                                                            level.A.values.data(), level.row_sums.data()});
  });
  return level;
}

/// Coarsens A along an axis; the interpolation is added to `transfers`.
template <class B, class T>
StencilMatrix<T> coarsen_along(B& backend, const StencilMatrix<T>& A, int axis,
                               std::vector<AxisTransfer>& transfers) {
  AxisTransfer transfer{axis, A.grid, {}};
  const GridNumbering fine(A.grid);
  const GridNumbering between(transfer.between());
  const GridNumbering coarse(transfer.coarse());
  const std::int64_t count = A.constant ? grid_regions : between.size();
  Array<T> weights(backend.device(), count);
  StencilMatrix<T> result{transfer.coarse(), A.axes, true, A.constant, A.axes == 3 ? 27 : 9, {}};
  const std::int64_t stride = A.constant ? grid_regions : coarse.size();
  result.values = Array<T>(backend.device(), result.points * stride);
  const AxisInterpolation<T> interpolation{weights.data(), fine, between};
  with_layout(A, [&]<class Layout, bool constant>() {
    for_each_place<constant>(
        backend, constant ? fine : between,
        ComputeAxisInterpolation<T, Layout, constant>{A.coefficients(), fine, axis, weights.data()});
    with_axis<Layout::axes>(axis, [&]<int along>() {
      for_each_place<constant>(backend, coarse,
                               CoarsenAlongAxis<T, Layout, constant, along>{A.coefficients(), interpolation,
                                                                            stride, result.values.data()});
    });
  });
  transfer.weights = Array<float>(backend.device(), count);
  backend.for_each(count, RoundWeight<T>{weights.data(), transfer.weights.data()});
  transfers.push_back(std::move(transfer));
  return result;
}

/// Axes along which a level is coarsened: those whose connections are at least this share of the strongest.
/// Point smoothers leave errors that are smooth along strong connections only.
inline constexpr double strong_axis = 0.3;

[[nodiscard]] inline std::vector<int> strong_axes(const Grid& grid, const StencilCharacter& character) {
  std::array<double, 3> strengths{};
  int strongest = -1;
  for (int a = 0; a < 3; ++a) {
    const auto points = static_cast<double>(grid.points[static_cast<std::size_t>(a)]);
    double& strength = strengths[static_cast<std::size_t>(a)];
    if (points == 1) continue;
    strength = character.strengths[a] * points / (points - 1);  // a line has one connection less than points
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

/// Makes the levels of A, of several points, down to one of at most `coarse_size` points, whose matrix stays
/// in T. Diagonal elements are multiplied by `factor` before they are rounded. Waits once for each level.
template <class B, class T>
StencilHierarchy<T> coarsen_stencil(B& backend, const StencilMatrix<T>& A, const StencilCharacter& character,
                                    double factor, std::int64_t coarse_size) {
  StencilHierarchy<T> hierarchy;
  StencilCharacter own = character;
  const StencilMatrix<T>* current = &A;
  while (current->rows() > coarse_size) {
    const Stopwatch stopwatch;
    StencilLevel level = scaled_level(backend, *current, factor, own.spectral_radius.value);
    StencilMatrix<T> next;
    for (const int axis : strong_axes(current->grid, own)) {
      const StencilMatrix<T>& from = level.transfers.empty() ? *current : next;
      StencilMatrix<T> coarser = coarsen_along(backend, from, axis, level.transfers);
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

}  // namespace echelon::multigrid
