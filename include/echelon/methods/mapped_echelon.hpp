// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/enum_words.hpp>
#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace echelon {

/// Rule by which one of the rows that claim an unknown becomes its owner.
enum class ClaimRule {
  largest,  ///< the claimant with the largest leading element relative to the norm of its original row; a
            ///< later claimant replaces the owner if its element is larger
  ordered,  ///< as largest, but one unknown at a time: partial pivoting
  first,    ///< the first claimant; with several threads the result depends on their timing
};
constexpr std::array<EnumWord<ClaimRule>, 3> words_of(ClaimRule) {
  return {{{ClaimRule::largest, "largest"}, {ClaimRule::ordered, "ordered"}, {ClaimRule::first, "first"}}};
}

/// Order in which unknowns are eliminated.
enum class UnknownOrder {
  natural,  ///< as they are numbered
  slices,   ///< those that occur in one slice of rows only before those that separate slices, repeatedly; for
            ///< bands. Natural order where slices do not help
};
constexpr std::array<EnumWord<UnknownOrder>, 2> words_of(UnknownOrder) {
  return {{{UnknownOrder::natural, "natural"}, {UnknownOrder::slices, "slices"}}};
}

struct ECHELON_API MappedEchelonOptions {
  static constexpr std::string_view name = "mapped-echelon";
  static constexpr Targets targets = Targets::all;
  /// Rule that selects the owner of an unknown among several claimants.
  ClaimRule claim = ClaimRule::largest;
  /// Order in which unknowns are eliminated.
  UnknownOrder order = UnknownOrder::natural;
  /// "real", or "mod:p" for exact arithmetic modulo a prime p < 2^31.
  std::string field = "real";
  /// Threshold below which an element counts as zero, relative to the sum of the magnitudes of the terms that
  /// it was computed from. Default: 32 times the machine epsilon, and small pivots are then also tested for
  /// being amplified rounding errors.
  std::optional<double> tolerance = {};
  /// Largest number of steps of iterative refinement, 0 to 10.
  std::int64_t refine = 5;

  /// Describes each option.
  static std::vector<Option<MappedEchelonOptions>> table();
};

/// Gaussian elimination to mapped echelon form, for sparse A of any shape and rank.
///
/// Every row claims the unknown of its leading element in a map from unknowns to rows. A row whose unknown
/// has an owner is reduced by the owner and claims again; a row that becomes zero depends on others. Back
/// substitution uses the map. The elimination proceeds in rounds: all claims by compare-and-swap, then one
/// reduction of every row whose claim failed. At most m n reductions, each of the length of two rows; no
/// reordering for fill. Memory: 20 (double) or 12 (float) bytes for each element of a row, up to twice that
/// as rows are replaced, 16 (12) bytes for each reduction. OutOfMemory is reported as a status, with the
/// bytes that the next round needs.
///
/// `claim = largest` and `claim = ordered` give the same bits on every run and on every device, for any
/// number of threads. `largest` is pairwise pivoting: multipliers are bounded by the ratio of the rows'
/// norms, but errors can grow along the chain of owners that reduce a row. If a test solve shows such growth,
/// A is eliminated again with `ordered`, which is partial pivoting and takes as many rounds as there are
/// unknowns.
///
/// Statuses are those of `gauss-jordan`: every right-hand side is `direct`, `underdetermined` with a
/// particular solution, or `inconsistent` with the equations that contradict each other. The record of the
/// reductions is reused for later right-hand sides. With `field = mod:p` the arithmetic is exact, x has
/// residues 0 to p - 1, and the relative residual is that of A x - b modulo p; see also rank_modulo in
/// <echelon/rank_modulo.hpp>.
///
/// R. Murri, A novel parallel algorithm for Gaussian elimination of sparse unsymmetric matrices (Rheinfall),
/// arXiv:1105.4136; D. C. Sorensen, Analysis of pairwise pivoting in Gaussian elimination, IEEE Trans.
/// Comput. C-34 (1985).
template <class T>
using MappedEchelon = SolverOf<T, MappedEchelonOptions>;

}  // namespace echelon
