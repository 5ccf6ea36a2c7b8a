// SPDX-License-Identifier: BSD-3-Clause
// The loops of the V-cycle.
#include "multigrid/structured/cycle.hpp"

#include "linalg/spmv/row_products.hpp"
#include "multigrid/structured/grid_transfer.hpp"

namespace echelon::multigrid {

namespace {

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
/// y = r(x).
template <class Layout, bool is_constant>
struct FormDividedResidual {
  SmoothedLevel<Layout, is_constant> level;
  const float* x;
  float* y;
  ECHELON_ANYWHERE void operator()(const GridPoint& p) const { y[p.index] = level.residual(p, x); }
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
/// b = factor r, divided by the diagonal elements in float.
template <class T, bool is_constant>
struct RoundResidual {
  const FloatScale* scale;
  const float* diagonal;  ///< or null
  const T* r;
  float* b;
  ECHELON_ANYWHERE void operator()(const GridPoint& p) const {
    const auto rounded = static_cast<float>(scale->factor * static_cast<double>(r[p.index]));
    b[p.index] = diagonal == nullptr ? rounded : rounded / diagonal[is_constant ? p.region : p.index];
  }
};

template <class Layout, class B>
void smooth_lines(B& backend, const StencilLevel& level, std::size_t k, const GridNumbering& grid,
                  const SmoothedLevel<Layout, false>& smoothed, const LevelVectors& own) {
  for_each_point<false>(backend, grid, FormDividedResidual<Layout, false>{smoothed, own.x, own.y});
  solve_lines<Layout, true>(backend, level.A, level.lines[k], level.line_damping, own.y, own.x);
}

template <class Layout, bool constant, class B>
void smooth_from_zero(B& backend, const StencilLevel& level, const GridNumbering& grid,
                      const SmoothedLevel<Layout, constant>& smoothed, const LevelVectors& own) {
  if constexpr (!constant) {
    if (!level.lines.empty()) {
      backend.copy(level.A.rows(), static_cast<const float*>(own.b), own.y);
      solve_lines<Layout, false>(backend, level.A, level.lines.front(), level.line_damping, own.y, own.x);
      for (std::size_t k = 1; k < level.lines.size(); ++k)
        smooth_lines(backend, level, k, grid, smoothed, own);
      return;
    }
  }
  const auto c1 = static_cast<float>(4 / (3 * level.spectral_radius));
  const auto c2 = static_cast<float>(12 / (5 * level.spectral_radius));
  for_each_point<constant>(backend, grid,
                           SmoothFromZero<Layout, constant>{smoothed, 1.2F * c1 + c2, c1 * c2, own.x});
}
template <class Layout, bool constant, class B>
void smooth(B& backend, const StencilLevel& level, const GridNumbering& grid,
            const SmoothedLevel<Layout, constant>& smoothed, const LevelVectors& own) {
  if constexpr (!constant) {
    for (std::size_t k = level.lines.size(); k-- > 0;) smooth_lines(backend, level, k, grid, smoothed, own);
    if (!level.lines.empty()) return;
  }
  const auto c1 = static_cast<float>(4 / (3 * level.spectral_radius));
  const auto c2 = static_cast<float>(12 / (5 * level.spectral_radius));
  for_each_point<constant>(backend, grid, FirstSmoothing<Layout, constant>{smoothed, c1, own.x, own.y});
  for_each_point<constant>(backend, grid, SecondSmoothing<Layout, constant>{smoothed, c2, own.y, own.x});
}
/// b = P^T y: on a GPU in one loop, which moves the fewest bytes; on the host along one axis after another,
/// in loops that are vectorised.
template <bool constant, class B>
void restrict_residual(B& backend, const StencilLevel& level, const LevelVectors& own, const float* diagonal,
                       float* b) {
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
template <bool constant, class B>
void add_interpolation(B& backend, const StencilLevel& level, const LevelVectors& own, const float* e) {
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

}  // namespace

template <class B>
void StencilCycle<B>::visit(B& backend, Scratch& scratch, std::size_t l) const {
  const LevelVectors& own = scratch.levels[l];
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
    const LevelVectors& next = scratch.levels[l + 1];
    const float* const diagonal = l + 1 < levels_.size() ? diagonal_of(l + 1) : nullptr;
    smooth_from_zero(backend, level, grid, smoothed, own);
    for_each_point<constant>(backend, grid, FormStencilResidual<Layout, constant>{smoothed, own.x, own.y});
    restrict_residual<constant>(backend, level, own, diagonal, next.b);
    visit(backend, scratch, l + 1);
    add_interpolation<constant>(backend, level, own, next.x);
    smooth(backend, level, grid, smoothed, own);
  });
}

template <class B>
void StencilCycle<B>::apply(B& backend, Scratch& scratch) const {
  scratch.recording.run(backend, {scratch.levels.front().b}, [&] { visit(backend, scratch, 0); });
}

template <class B>
template <class T>
void StencilCycle<B>::round_residual(
    B& backend, const Grid& points, const FloatScale* scale, const T* r,
    float* b) const {  // NOLINT(readability-non-const-parameter): the loop writes b
  const GridNumbering grid(points);
  if (!levels_.empty() && levels_.front().A.constant) {
    for_each_point(backend, grid, RoundResidual<T, true>{scale, diagonal(), r, b});
  } else {
    for_each_point(backend, grid, RoundResidual<T, false>{scale, diagonal(), r, b});
  }
}

using ThisBackend = ThisTarget::Backend;
template void StencilCycle<ThisBackend>::apply(ThisBackend&, Scratch&) const;
template void StencilCycle<ThisBackend>::round_residual(ThisBackend&, const Grid&, const FloatScale*,
                                                        const float*, float*) const;
template void StencilCycle<ThisBackend>::round_residual(ThisBackend&, const Grid&, const FloatScale*,
                                                        const double*, float*) const;

}  // namespace echelon::multigrid
