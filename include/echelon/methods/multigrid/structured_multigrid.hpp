// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API StructuredMultigridOptions {
  static constexpr std::string_view name = "structured-multigrid";
  static constexpr Targets targets = Targets::all;
  /// Stopping criteria.
  Stop stop = {};
  /// Points in each dimension, the dimension numbered fastest first: "100x80x60"; empty: derived from the
  /// first row of A.
  std::string grid = {};
  /// Largest number of points of a level that is solved directly, 1 to 1000.
  std::int64_t coarse_size = 100;

  /// Describes each option.
  static std::vector<Option<StructuredMultigridOptions>> table();
};

/// Conjugate gradients, or BiCGStab for an unsymmetric A, preconditioned by geometric multigrid on arrays of
/// coefficients, for an A that couples the points of a two- or three-dimensional box, whose axes may be
/// periodic, with their neighbours (5, 7, 9, 19 or 27 points). Interpolation follows from the coefficients,
/// coarse matrices are Galerkin's, axes with weak connections are not coarsened; where these are others from
/// place to place, and with convection, the smoother goes by lines; cycles are in float, the iteration in the
/// precision of A. Memory, without A and vectors: none for constant coefficients; else 7 elements a row for 7
/// points, 17 floats a row, and for lines 2 floats a row and axis. A may be a Stencil, whose coefficients are
/// used in place. For another A it is `amg`, with a warning that says why; for an unsuited Stencil the set-up
/// ends with `breakdown`, which says why. J. Dendy, J. Comput. Phys. 48 (1982); S. Ashby, R.
/// Falgout, Nucl. Sci. Eng. 124 (1996).
template <class T>
using StructuredMultigrid = SolverOf<T, StructuredMultigridOptions>;

}  // namespace echelon
