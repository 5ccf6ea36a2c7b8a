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
#include "multigrid/structured/grid_transfer.hpp"
#include "multigrid/structured/hierarchy.hpp"
#include "solver/implementation.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace echelon::multigrid {

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
    return read_only(row_sums + (is_constant ? p.region : p.index)) * read_only(x + p.index) +
           difference_sum<Layout, is_constant>(A, p, x);
  }
  [[nodiscard]] ECHELON_ANYWHERE float residual(const GridPoint& p, const float* x) const {
    return read_only(b + p.index) - product(p, x);
  }
};

/// Both steps of the smoother from x = 0: x = alpha b - beta A b.
template <class Layout, bool is_constant>
struct SmoothFromZero {
  SmoothedLevel<Layout, is_constant> level;
  float alpha, beta;
  float* x;
  ECHELON_ANYWHERE void operator()(const GridPoint& p) const {
    x[p.index] = alpha * read_only(level.b + p.index) - beta * level.product(p, level.b);
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
    y[p.index] = read_only(x + p.index) + c1 * level.residual(p, x);
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
    const float own = read_only(y + p.index);
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
      for_each_point<constant>(backend, grid,
                               SmoothFromZero<Layout, constant>{smoothed, 1.2F * c1 + c2, c1 * c2, own.x});
      for_each_point<constant>(backend, grid, FormStencilResidual<Layout, constant>{smoothed, own.x, own.y});
      restrict_residual<constant>(backend, level, own, diagonal, next.b);
      visit(backend, scratch, l + 1);
      add_interpolation<constant>(backend, level, own, next.x);
      for_each_point<constant>(backend, grid, FirstSmoothing<Layout, constant>{smoothed, c1, own.x, own.y});
      for_each_point<constant>(backend, grid, SecondSmoothing<Layout, constant>{smoothed, c2, own.y, own.x});
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
      const GridTransfer transfer(level.A.grid, level.transfers);
      for_each_point(backend, transfer.coarse, RestrictResidual<constant>{transfer, own.y, diagonal, b});
    } else {
      const float* from = own.y;
      for (std::size_t t = 0; t < level.transfers.size(); ++t) {
        const AxisTransfer& along = level.transfers[t];
        const bool is_last = t + 1 == level.transfers.size();
        float* const to = is_last ? b : own.transfer.vectors[t % 2];
        const float* const divisors = is_last ? diagonal : nullptr;
        with_axis<3>(along.axis, [&]<int axis>() {
          for_each_point(backend, GridNumbering(along.coarse()),
                         RestrictAlongAxis<constant, axis>{along.interpolation(), from, divisors, to});
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
      const GridTransfer transfer(level.A.grid, level.transfers);
      for_each_point(backend, transfer.cells, AddInterpolation<constant>{transfer, e, own.x});
    } else {
      const float* from = e;
      for (std::size_t t = level.transfers.size(); t-- > 0;) {
        const AxisTransfer& along = level.transfers[t];
        float* const to = t == 0 ? own.x : own.transfer.vectors[(t - 1) % 2];
        with_axis<3>(along.axis, [&]<int axis>() {
          const GridNumbering coarse(along.coarse());
          if (t == 0) {
            for_each_point(backend, coarse,
                           InterpolateAlongAxis<constant, axis, true>{along.interpolation(), from, to});
          } else {
            for_each_point(backend, coarse,
                           InterpolateAlongAxis<constant, axis, false>{along.interpolation(), from, to});
          }
        });
        from = to;
      }
    }
  }

  std::vector<StencilLevel> levels_;
  std::int64_t coarsest_rows_;
  DenseInverse<float> inverse_;
};

}  // namespace echelon::multigrid
