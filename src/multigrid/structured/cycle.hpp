// SPDX-License-Identifier: BSD-3-Clause
/// V-cycle for stencil matrices, in float.
///
/// Vectors b of a level are divided by the diagonal elements, as its rows are. The smoother is the Chebyshev
/// polynomial of the fourth kind of degree 2 in D^-1 A, which needs no lower bound of the spectrum (J.
/// Lottes, arXiv 2202.08830):
///
///   y = x + c1 r(x),   z = y + (y - x) / 5 + c2 r(y),   c1 = 4 / (3 lambda),   c2 = 12 / (5 lambda)
///
/// with r(x) = b - A x for the scaled A and lambda its spectral radius. It comes before and after the coarse
/// correction, which makes the cycle symmetric for a symmetric A.
#pragma once

#include "backend/arena.hpp"
#include "backend/recording.hpp"
#include "linalg/spmv/row_products.hpp"
#include "matrix/stencil/stencil_matrix.hpp"
#include "multigrid/coarse_solvers/dense_inverse.hpp"
#include "multigrid/structured/hierarchy.hpp"
#include "solver/implementation.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace echelon::multigrid {

/// Interpolation between a level and the next coarser one, along one axis after another: P = P_x P_y P_z.
struct GridTransfer {
  AxisInterpolation<float> x, y, z;  ///< values are null for an axis that is not coarsened
  GridNumbering coarse;

  /// The element of P e at a point of the fine grid.
  template <bool is_constant>
  [[nodiscard]] ECHELON_ANYWHERE float interpolate(const GridPoint& p, const float* e) const {
    float sum = 0;
    std::int32_t at[3] = {p.at[0], p.at[1], p.at[2]};
    const CoarseNeighbours<float> in_x = neighbours<is_constant>(x, at);
    for (int i = 0; i < in_x.count; ++i) {
      at[0] = in_x.first + i;
      const CoarseNeighbours<float> in_y = neighbours<is_constant>(y, at);
      for (int j = 0; j < in_y.count; ++j) {
        at[1] = in_y.first + j;
        const CoarseNeighbours<float> in_z = neighbours<is_constant>(z, at);
        for (int k = 0; k < in_z.count; ++k) {
          at[2] = in_z.first + k;
          sum += in_x.weights[i] * in_y.weights[j] * in_z.weights[k] * e[coarse.index(at)];
        }
        at[2] = p.at[2];
      }
      at[1] = p.at[1];
    }
    return sum;
  }
  /// The element of P^T r at a point of the coarse grid.
  template <bool is_constant>
  [[nodiscard]] ECHELON_ANYWHERE float restrict_to(const std::int32_t* point, const GridNumbering& fine,
                                                   const float* r) const {
    float sum = 0;
    std::int32_t at[3] = {point[0], point[1], point[2]};
    const FinePoints in_z(z, fine, 2, point[2]);
    const FinePoints in_y(y, fine, 1, point[1]);
    const FinePoints in_x(x, fine, 0, point[0]);
    for (at[2] = in_z.begin; at[2] < in_z.end; ++at[2]) {
      at[0] = point[0];
      at[1] = point[1];
      const float of_z = weight<is_constant>(z, at, point[2]);
      for (at[1] = in_y.begin; at[1] < in_y.end; ++at[1]) {
        at[0] = point[0];
        const float of_y = of_z * weight<is_constant>(y, at, point[1]);
        for (at[0] = in_x.begin; at[0] < in_x.end; ++at[0]) {
          sum += of_y * weight<is_constant>(x, at, point[0]) * r[fine.index(at)];
        }
      }
    }
    return sum;
  }

 private:
  /// Coordinates of the fine points that interpolate from a coarse one.
  struct FinePoints {
    std::int32_t begin, end;
    ECHELON_ANYWHERE FinePoints(const AxisInterpolation<float>& weights, const GridNumbering& fine, int axis,
                                std::int32_t j)
        : begin(weights.values == nullptr ? j : 2 * j), end(weights.values == nullptr ? j + 1 : 2 * j + 3) {
      if (end > fine.points[axis]) end = fine.points[axis];
    }
  };
  template <bool is_constant>
  [[nodiscard]] ECHELON_ANYWHERE static CoarseNeighbours<float> neighbours(
      const AxisInterpolation<float>& weights, const std::int32_t* point) {
    if (weights.values == nullptr) return {point[weights.axis], 1, {1.0F, 0.0F}};
    return coarse_neighbours<is_constant>(weights, point);
  }
  template <bool is_constant>
  [[nodiscard]] ECHELON_ANYWHERE static float weight(const AxisInterpolation<float>& weights,
                                                     const std::int32_t* point, std::int32_t j) {
    const CoarseNeighbours<float> found = neighbours<is_constant>(weights, point);
    return j == found.first ? found.weights[0] : found.weights[1];
  }
};

/// Vectors between the levels during a transfer along one axis after another.
struct TransferScratch {
  float* vectors[2];
};

/// Vectors and coefficients of a level that are constant during a cycle.
template <class Layout, bool is_constant>
struct SmoothedLevel {
  StencilCoefficients<float> A;
  const float* row_sums;
  const float* b;
  /// The element of A x, from differences of x: exact for constants, and accurate where A x is small.
  [[nodiscard]] ECHELON_ANYWHERE float product(const GridPoint& p, const float* x) const {
    return row_sums[is_constant ? p.region : p.index] * x[p.index] +
           difference_sum<Layout, is_constant>(A, p, x);
  }
  [[nodiscard]] ECHELON_ANYWHERE float residual(const GridPoint& p, const float* x) const {
    return b[p.index] - product(p, x);
  }
};

/// Both steps of the smoother from x = 0: x = alpha b - beta A b.
template <class Layout, bool is_constant>
struct SmoothFromZero {
  SmoothedLevel<Layout, is_constant> level;
  float alpha, beta;
  float* x;
  ECHELON_ANYWHERE void operator()(const GridPoint& p) const {
    x[p.index] = alpha * level.b[p.index] - beta * level.product(p, level.b);
  }
};
/// y = x + c1 r(x).
template <class Layout, bool is_constant>
struct FirstSmoothing {
  SmoothedLevel<Layout, is_constant> level;
  float c1;
  const float* x;
  float* y;
  ECHELON_ANYWHERE void operator()(const GridPoint& p) const {
    y[p.index] = x[p.index] + c1 * level.residual(p, x);
  }
};
/// x = y + (y - x) / 5 + c2 r(y).
template <class Layout, bool is_constant>
struct SecondSmoothing {
  SmoothedLevel<Layout, is_constant> level;
  float c2;
  const float* y;
  float* x;
  ECHELON_ANYWHERE void operator()(const GridPoint& p) const {
    const float own = y[p.index];
    x[p.index] = own + 0.2F * (own - x[p.index]) + c2 * level.residual(p, y);
  }
};
/// r = D r(x): the residual of the rows that are not divided.
template <class Layout, bool is_constant>
struct FormStencilResidual {
  SmoothedLevel<Layout, is_constant> level;
  const float* x;
  float* r;
  ECHELON_ANYWHERE void operator()(const GridPoint& p) const {
    r[p.index] = level.A.template at<is_constant>(Layout::center, p) * level.residual(p, x);
  }
};
/// b = P^T r at a coarse point, divided by the diagonal element if there is one.
template <bool is_constant>
struct RestrictResidual {
  GridTransfer transfer;
  GridNumbering fine;
  const float* r;
  const float* diagonal;  ///< of the coarse level, or null
  float* b;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    std::int32_t at[3];
    transfer.coarse.coordinates(i, at);
    const float sum = transfer.restrict_to<is_constant>(at, fine, r);
    b[i] = diagonal == nullptr ? sum : sum / diagonal[is_constant ? transfer.coarse.region(at) : i];
  }
};
/// x += P e.
template <bool is_constant>
struct AddInterpolation {
  GridTransfer transfer;
  const float* e;
  float* x;
  ECHELON_ANYWHERE void operator()(const GridPoint& p) const {
    x[p.index] += transfer.interpolate<is_constant>(p, e);
  }
};

/// x = M b by one V-cycle. Read-only after set-up; queues its work without waiting.
template <class B>
class StencilCycle {
 public:
  /// Vectors of all levels.
  struct Scratch final : Workspace {
    struct Vectors {
      float *b, *x, *y;
      TransferScratch transfer;  ///< on the host
    };
    [[nodiscard]] std::size_t bytes() const override { return size; }
    Arena memory;
    std::size_t size = 0;
    std::vector<Vectors> levels;
    Recording<B> recording;
  };

  StencilCycle(std::vector<StencilLevel> levels, std::int64_t coarsest_rows, DenseInverse<float> inverse)
      : levels_(std::move(levels)), coarsest_rows_(coarsest_rows), inverse_(std::move(inverse)) {}

  [[nodiscard]] const std::vector<StencilLevel>& levels() const { return levels_; }
  [[nodiscard]] const DenseInverse<float>& inverse() const { return inverse_; }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t bytes = inverse_.transpose.bytes();
    for (const StencilLevel& level : levels_) bytes += level.bytes();
    return bytes;
  }
  /// Diagonal of the finest level, by which b is divided; null if that is the coarsest.
  [[nodiscard]] const float* diagonal() const { return levels_.empty() ? nullptr : diagonal_of(0); }

  [[nodiscard]] std::unique_ptr<Scratch> make_scratch(const Device& device) const {
    auto scratch = std::make_unique<Scratch>();
    std::int64_t bytes = 2 * Arena::bytes<float>(coarsest_rows_);
    for (const StencilLevel& level : levels_) {
      bytes += 3 * Arena::bytes<float>(level.A.rows()) + 2 * Arena::bytes<float>(size_of_transfer(level));
    }
    scratch->memory = Arena(device, bytes);
    scratch->size = static_cast<std::size_t>(bytes);
    const auto take = [&](std::int64_t n) { return scratch->memory.template take<float>(n); };
    for (const StencilLevel& level : levels_) {
      const std::int64_t n = level.A.rows();
      const std::int64_t between = size_of_transfer(level);
      scratch->levels.push_back({take(n), take(n), take(n), {take(between), take(between)}});
    }
    scratch->levels.push_back({take(coarsest_rows_), take(coarsest_rows_), nullptr, {}});
    return scratch;
  }

  /// From b of the scratch memory's first level to its x.
  void apply(B& backend, Scratch& scratch) const {
    scratch.recording.run(backend, {scratch.levels.front().b}, [&] { visit(backend, scratch, 0); });
  }

 private:
  [[nodiscard]] const float* diagonal_of(std::size_t l) const {
    const StencilMatrix<float>& A = levels_[l].A;
    return A.values.data() + A.places() / 2 * A.stride();
  }

  void visit(B& backend, Scratch& scratch, std::size_t l) const {
    const auto& own = scratch.levels[l];
    if (l == levels_.size()) {
      for_dense_column_products(backend, coarsest_rows_, inverse_.transpose.data(), 1, [&](int) {
        return VectorProduct{static_cast<const float*>(own.b), PutElement<float>{own.x}};
      });
      return;
    }
    const StencilLevel& level = levels_[l];
    with_layout(level.A, [&]<class Layout, bool constant>() {
      const GridNumbering grid(level.A.grid);
      const SmoothedLevel<Layout, constant> smoothed{level.A.coefficients(), level.row_sums.data(), own.b};
      const auto c1 = static_cast<float>(4 / (3 * level.spectral_radius));
      const auto c2 = static_cast<float>(12 / (5 * level.spectral_radius));
      const auto& next = scratch.levels[l + 1];
      const float* const diagonal = l + 1 < levels_.size() ? diagonal_of(l + 1) : nullptr;
      for_each_point(backend, grid,
                     SmoothFromZero<Layout, constant>{smoothed, 1.2F * c1 + c2, c1 * c2, own.x});
      for_each_point(backend, grid, FormStencilResidual<Layout, constant>{smoothed, own.x, own.y});
      restrict_residual<constant>(backend, level, own, diagonal, next.b);
      visit(backend, scratch, l + 1);
      add_interpolation<constant>(backend, level, own, next.x);
      for_each_point(backend, grid, FirstSmoothing<Layout, constant>{smoothed, c1, own.x, own.y});
      for_each_point(backend, grid, SecondSmoothing<Layout, constant>{smoothed, c2, own.y, own.x});
    });
  }

  /// Elements of a vector between a level and the next one.
  static std::int64_t size_of_transfer(const StencilLevel& level) {
    return B::on_host && level.transfers.size() > 1 ? level.transfers.front().coarse().size() : 0;
  }

  /// b = P^T y: on a GPU in one loop, which moves the fewest bytes; on the host along one axis after another,
  /// in loops that are vectorised.
  template <bool constant>
  static void restrict_residual(B& backend, const StencilLevel& level, const typename Scratch::Vectors& own,
                                const float* diagonal, float* b) {
    if constexpr (!B::on_host) {
      const GridTransfer transfer = transfer_of(level);
      backend.for_each(transfer.coarse.size(),
                       RestrictResidual<constant>{transfer, GridNumbering(level.A.grid), own.y, diagonal, b});
    } else {
      const float* from = own.y;
      for (std::size_t t = 0; t < level.transfers.size(); ++t) {
        const AxisTransfer& along = level.transfers[t];
        const bool is_last = t + 1 == level.transfers.size();
        float* const to = is_last ? b : own.transfer.vectors[t % 2];
        const float* const divisors = is_last ? diagonal : nullptr;
        with_axis<3>(along.axis, [&]<int axis>() {
          for_each_point(backend, GridNumbering(along.coarse()),
                         RestrictAlongAxis<constant, axis>{interpolation_of(along), from, divisors, to});
        });
        from = to;
      }
    }
  }

  /// x += P e.
  template <bool constant>
  static void add_interpolation(B& backend, const StencilLevel& level, const typename Scratch::Vectors& own,
                                const float* e) {
    if constexpr (!B::on_host) {
      for_each_point(backend, GridNumbering(level.A.grid),
                     AddInterpolation<constant>{transfer_of(level), e, own.x});
    } else {
      const float* from = e;
      for (std::size_t t = level.transfers.size(); t-- > 0;) {
        const AxisTransfer& along = level.transfers[t];
        float* const to = t == 0 ? own.x : own.transfer.vectors[(t - 1) % 2];
        with_axis<3>(along.axis, [&]<int axis>() {
          const GridNumbering coarse(along.coarse());
          if (t == 0) {
            for_each_point(backend, coarse,
                           InterpolateAlongAxis<constant, axis, true>{interpolation_of(along), from, to});
          } else {
            for_each_point(backend, coarse,
                           InterpolateAlongAxis<constant, axis, false>{interpolation_of(along), from, to});
          }
        });
        from = to;
      }
    }
  }

  static AxisInterpolation<float> interpolation_of(const AxisTransfer& along) {
    return {along.weights.data(), GridNumbering(along.fine), GridNumbering(along.between()), along.axis};
  }

  /// The transfers of a level as one.
  static GridTransfer transfer_of(const StencilLevel& level) {
    const GridNumbering unused(level.A.grid);
    const auto none = [&](int axis) { return AxisInterpolation<float>{nullptr, unused, unused, axis}; };
    GridTransfer transfer{none(0), none(1), none(2), GridNumbering(level.transfers.back().coarse())};
    for (const AxisTransfer& along : level.transfers) {
      AxisInterpolation<float>& weights = along.axis == 0   ? transfer.x
                                          : along.axis == 1 ? transfer.y
                                                            : transfer.z;
      weights = interpolation_of(along);
    }
    return transfer;
  }

  std::vector<StencilLevel> levels_;
  std::int64_t coarsest_rows_;
  DenseInverse<float> inverse_;
};

}  // namespace echelon::multigrid
