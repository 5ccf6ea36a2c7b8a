// SPDX-License-Identifier: BSD-3-Clause
/// Sweeps over grids on several cores.
#pragma once

#include "relaxation/gauss_seidel/host/rows.hpp"
#include "relaxation/gauss_seidel/sweep.hpp"

#include <cstdint>

namespace echelon::gauss_seidel {

/// Partition of a grid: each plane is cut into slabs, and a thread computes the same slab of every plane. In
/// two dimensions the planes are lines.
struct SlabPlan {
  std::int64_t plane;  ///< rows of a plane
  int threads;         ///< at most; fewer than two: no grid, or too small a one
};

/// Plans the slabs from a few rows of the matrix. Affects speed, never results.
template <SweepDirection direction, class T>
SlabPlan plan_slabs(const HalfSweep<T>& half, int threads);

/// One half sweep, with the bits of the serial sweep for every pattern.
template <SweepDirection direction, class T>
SkippedRows sweep_slabs(const SlabPlan& slabs, const HalfSweep<T>& half, SweepWorkspace<Host, T>& scratch);

}  // namespace echelon::gauss_seidel
