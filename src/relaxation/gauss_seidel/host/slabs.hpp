// SPDX-License-Identifier: BSD-3-Clause
/// Sweeps over grids on several cores.
#pragma once

#include "relaxation/gauss_seidel/host/rows.hpp"
#include "relaxation/gauss_seidel/sweep.hpp"

#include <cstdint>

namespace echelon::gauss_seidel {

/// How the rows of a grid are shared out: each thread has a slab of each plane, always the same one. (The
/// planes of a grid in two dimensions are its lines.)
struct Slabs {
  std::int64_t plane;  ///< rows of a plane
  int threads;         ///< so many at most; fewer than two: this is no grid, or too small a one
};

/// Looks at a few rows of the matrix. What it finds decides on speed, never on results.
template <Direction direction, class T>
Slabs find_slabs(const HalfSweep<T>& half, int threads);

/// Half a sweep, with the bits of the sweep on one core, whatever the pattern.
template <Direction direction, class T>
SkippedRows sweep_slabs(const Slabs& slabs, const HalfSweep<T>& half, SweepScratch<OpenMp, T>& scratch);

}  // namespace echelon::gauss_seidel
