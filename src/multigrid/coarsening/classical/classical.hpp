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
enum class InterpolationFormula {
  direct,      ///< uses the strong coarse neighbours alone
  extended,    ///< uses paths of two steps, with the formula mm-ext
  extended_i,  ///< mm-ext+i: adds the element a_ki back to row i
  extended_e,  ///< mm-ext+e: replaces a_ki by a mean, which needs no search
};

/// Interpolation on levels with aggressive coarsening.
enum class AggressiveInterpolation {
  multipass,  ///< interpolates through neighbours that were interpolated in earlier passes
  two_stage,  ///< multiplies two prolongations by extended_e
};

struct CoarseningOptions {
  /// Elements larger than this fraction of the row's largest one are strong; 0 to 1.
  double threshold = 0.25;
  /// Rows whose sum exceeds this fraction of the diagonal element are not interpolated: relaxation suffices.
  double max_row_sum = 0.9;
  InterpolationFormula interpolation = InterpolationFormula::extended_e;
  AggressiveInterpolation aggressive_interpolation = AggressiveInterpolation::multipass;
  /// Largest number of elements in a row of a prolongation, 1 to 64.
  std::int64_t max_elements = 4;
  /// Number of levels, from the finest, that are coarsened aggressively.
  std::int64_t aggressive_levels = 1;
  /// Mean number of strong elements per row below which a level is not coarsened aggressively: the problem is
  /// then anisotropic, and aggressive coarsening would converge slowly. A 5-point stencil has nearly 4.
  double min_dependences = 3.5;
};

/// Makes a coarsening by strength of connection, PMIS and interpolation. Prolongations have the same bits on
/// every device and with any number of threads.
template <class Target, class T>
[[nodiscard]] std::unique_ptr<Coarsening<T>> make_coarsening(const Device& device,
                                                             const CoarseningOptions& options);

}  // namespace echelon::multigrid::classical
