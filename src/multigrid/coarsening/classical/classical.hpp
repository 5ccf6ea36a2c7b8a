// SPDX-License-Identifier: BSD-3-Clause
/// Classical (Ruge-Stueben) coarsening: some of the points become the points of the coarser level, and the
/// others are interpolated from them.
#pragma once

#include "backend/targets.hpp"
#include "multigrid/coarsening/coarsening.hpp"

#include <echelon/device.hpp>

#include <cstdint>
#include <memory>

namespace echelon::multigrid::classical {

/// Interpolation of the fine points.
enum class Interpolation {
  direct,      ///< from the strong coarse neighbours alone
  extended,    ///< over two steps, with the formula mm-ext
  extended_i,  ///< with the element back to the row: mm-ext+i
  extended_e,  ///< with a mean instead, which needs no search: mm-ext+e
};

/// Interpolation on levels with aggressive coarsening.
enum class AggressiveInterpolation {
  multipass,  ///< through neighbours that were interpolated before
  two_stage,  ///< the product of two prolongations by extended_e
};

struct CoarseningOptions {
  /// Elements of more than this fraction of the row's largest are strong; 0 to 1.
  double threshold = 0.25;
  /// Rows whose sum is more than this, relative to the diagonal, are left to relaxation.
  double max_row_sum = 0.9;
  Interpolation interpolation = Interpolation::extended_e;
  AggressiveInterpolation aggressive_interpolation = AggressiveInterpolation::multipass;
  /// Elements of a row of a prolongation, 1 to 64.
  std::int64_t max_elements = 4;
  /// Number of levels, from the finest, that are coarsened aggressively.
  std::int64_t aggressive_levels = 1;
  /// Strong elements per row, in the mean, below which a level is not coarsened aggressively: with fewer the
  /// problem is anisotropic, and aggressive coarsening converges slowly. A 5-point stencil has nearly 4.
  double min_dependences = 3.5;
};

/// Strength of connection, PMIS and interpolation. The prolongations have the same bits on every device and
/// with any number of threads.
template <class Target, class T>
[[nodiscard]] std::unique_ptr<Coarsening<T>> make_coarsening(const Device& device,
                                                             const CoarseningOptions& options);

}  // namespace echelon::multigrid::classical
