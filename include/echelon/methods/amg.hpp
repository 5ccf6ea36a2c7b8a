// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/enum_words.hpp>
#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace echelon {

enum class AmgCoarsening {
  automatic,             ///< chosen by the matrix
  smoothed_aggregation,  ///< aggregates, and a Jacobi step on their prolongation
  aggregation,           ///< aggregates alone, for K-cycles
  classical,             ///< Ruge and Stueben's: a subset of the points, selected by PMIS
};
constexpr std::array<EnumWord<AmgCoarsening>, 4> words_of(AmgCoarsening) {
  return {{{AmgCoarsening::automatic, "auto"},
           {AmgCoarsening::smoothed_aggregation, "smoothed-aggregation"},
           {AmgCoarsening::aggregation, "aggregation"},
           {AmgCoarsening::classical, "classical"}}};
}

/// Interpolation of classical coarsening, by the formulas of Li, Sjoegreen and Yang (2021).
enum class AmgInterpolation {
  direct,      ///< from strong coarse neighbours only
  extended,    ///< from coarse points at a distance of up to two
  extended_i,  ///< as extended, with the elements that lead back to the row (ext+i)
  extended_e,  ///< with a mean of these elements (ext+e)
};
constexpr std::array<EnumWord<AmgInterpolation>, 4> words_of(AmgInterpolation) {
  return {{{AmgInterpolation::direct, "direct"},
           {AmgInterpolation::extended, "extended"},
           {AmgInterpolation::extended_i, "extended+i"},
           {AmgInterpolation::extended_e, "extended+e"}}};
}

enum class CycleKind {
  v,  ///< one visit of each level
  w,  ///< two visits from each level to the next
  f,  ///< an F-cycle, then a V-cycle
  k,  ///< two steps of conjugate gradients on the first coarse levels; not linear
};
constexpr std::array<EnumWord<CycleKind>, 4> words_of(CycleKind) {
  return {{{CycleKind::v, "v"}, {CycleKind::w, "w"}, {CycleKind::f, "f"}, {CycleKind::k, "k"}}};
}

enum class SmootherKind {
  automatic,  ///< chosen by the matrix and the device
  jacobi,
  l1_jacobi,
  chebyshev,
  gauss_seidel,            ///< forward before, backward after the coarse correction
  symmetric_gauss_seidel,  ///< forward and backward, each time
  ilu0,
  ic0,
};
constexpr std::array<EnumWord<SmootherKind>, 8> words_of(SmootherKind) {
  return {{{SmootherKind::automatic, "auto"},
           {SmootherKind::jacobi, "jacobi"},
           {SmootherKind::l1_jacobi, "l1-jacobi"},
           {SmootherKind::chebyshev, "chebyshev"},
           {SmootherKind::gauss_seidel, "gauss-seidel"},
           {SmootherKind::symmetric_gauss_seidel, "symmetric-gauss-seidel"},
           {SmootherKind::ilu0, "ilu0"},
           {SmootherKind::ic0, "ic0"}}};
}

enum class HierarchyPrecision {
  automatic,  ///< float, unless elements of A differ too much in magnitude
  working,    ///< that of A
  single,     ///< float
};
constexpr std::array<EnumWord<HierarchyPrecision>, 3> words_of(HierarchyPrecision) {
  return {{{HierarchyPrecision::automatic, "auto"},
           {HierarchyPrecision::working, "working"},
           {HierarchyPrecision::single, "single"}}};
}

struct ECHELON_API AmgOptions {
  static constexpr std::string_view name = "amg";
  static constexpr Targets targets = Targets::all;
  static constexpr bool takes_complex = true;
  /// Stopping criteria.
  Stop stop = {};
  /// How coarse levels are made; automatic: classical for scalar matrices close to an M-matrix, smoothed
  /// aggregation for others.
  AmgCoarsening coarsening = AmgCoarsening::automatic;
  /// Order in which the levels are visited.
  CycleKind cycle = CycleKind::v;
  /// Smoother of every level but the coarsest; automatic: Jacobi or Chebyshev, by coarsening and symmetry.
  SmootherKind smoother = SmootherKind::automatic;
  /// Smoothing steps before, and after, the coarse correction, 1 to 100.
  std::int64_t sweeps = 1;
  /// Weight of the Jacobi smoother, 0 < weight < 2; not set: 3 / (2 lambda) with the largest eigenvalue
  /// lambda of D^-1 A.
  std::optional<double> weight = {};
  /// Degree of the Chebyshev smoother, 1 to 16.
  std::int64_t degree = 2;
  /// Factor of symmetric-gauss-seidel, 0 < omega < 2: other than 1 it is SSOR.
  double omega = 1;
  /// Unknowns per node of a system of equations, 1 to 16; divides the number of rows. 0: derived from the
  /// pattern, up to 6.
  std::int64_t block_size = 0;
  /// Threshold of strong connections, 0 to 1: relative to the largest elements of both rows for aggregation
  /// (0.08), to that of one row for classical coarsening (0.25).
  std::optional<double> strength = {};
  /// Interpolation formula of classical coarsening.
  AmgInterpolation interpolation = AmgInterpolation::extended_e;
  /// Largest number of elements per row of the prolongation of classical coarsening, 1 to 64.
  std::int64_t max_elements = 4;
  /// Number of levels, from the finest, that classical coarsening coarsens twice, unless connections are few,
  /// 0 to 10.
  std::int64_t aggressive_levels = 1;
  /// Largest number of rows of a level that is solved directly, 1 to 10000.
  std::int64_t coarse_size = 128;
  /// Largest number of levels, 1 to 50.
  std::int64_t max_levels = 25;
  /// Precision in which cycles are applied.
  HierarchyPrecision precision = HierarchyPrecision::automatic;

  /// Describes each option.
  static std::vector<Option<AmgOptions>> table();
};

/// Algebraic multigrid: x <- x + M (b - A x) with a cycle M over a hierarchy that is constructed from A
/// alone. As a preconditioner it applies one cycle. A is sparse, and symmetric positive (semi)definite or
/// close to an M-matrix. Set-up and a cycle cost O(n) for discretised elliptic equations, where the number of
/// iterations is nearly independent of n. W. Briggs, V. Henson, S. McCormick, A Multigrid Tutorial (SIAM
/// 2000); P. Vanek, J. Mandel, M. Brezina, Computing 56 (1996).
template <class T>
using Amg = SolverOf<T, AmgOptions>;

}  // namespace echelon
