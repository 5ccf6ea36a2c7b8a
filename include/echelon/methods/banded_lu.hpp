// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/enum_words.hpp>
#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon {

/// Numbering of rows and columns, which determines the width of the band.
enum class BandOrdering {
  automatic,  ///< reverse Cuthill-McKee where the band is wide and becomes narrower, else natural
  natural,    ///< that of A
  rcm,        ///< reverse Cuthill-McKee
};
constexpr std::array<EnumWord<BandOrdering>, 3> words_of(BandOrdering) {
  return {
      {{BandOrdering::automatic, "auto"}, {BandOrdering::natural, "natural"}, {BandOrdering::rcm, "rcm"}}};
}

struct ECHELON_API BandedLuOptions {
  static constexpr std::string_view name = "banded-lu";
  static constexpr Targets targets = Targets::all;
  static constexpr bool takes_complex = true;
  static constexpr bool takes_complex_on_cuda = true;
  /// Numbering of rows and columns.
  BandOrdering ordering = BandOrdering::automatic;
  /// Largest number of steps of iterative refinement, 0 to 10.
  std::int64_t refine = 1;
  /// Estimate the condition number in every set-up: at most 12 substitutions.
  bool condition = true;
  /// Estimate it in every update of values, too, and not by the change of the pivots.
  bool condition_of_updates = false;
  /// Number of partitions that are eliminated independently; 0: as many as suit the device. The bits of the
  /// answer depend on this number, but not on the number of threads.
  std::int64_t partitions = 0;

  /// Describes each option.
  static std::vector<Option<BandedLuOptions>> table();
};

/// LU with partial pivoting of a band matrix, whose half-bandwidths kl and ku are found from A. The rows are
/// divided into partitions, whose interior columns are eliminated independently with a pivot in every column;
/// then the interfaces between neighbouring partitions are eliminated. Rows and columns are scaled by powers
/// of two if their magnitudes differ much, and renumbered if that narrows a wide band. About 2 n kl (kl + ku)
/// flops and 8 n (2 kl + ku) bytes in one or two partitions (double), up to four times the flops in more; 4 n
/// (kl + ku) flops a right-hand side. The host factors a complex A in one piece, by LAPACK's gbtrf. The
/// report has an estimate of the reciprocal condition number; below the machine epsilon the status is
/// `singular`.
template <class T>
class ECHELON_API BandedLu : public SolverOf<T, BandedLuOptions> {
 public:
  using SolverOf<T, BandedLuOptions>::SolverOf;

  /// Solves A^T X = B with the factors of A, for any number of right-hand sides, refined and reported like
  /// solve(). Forms A^T. Throws Error when there was no setup, and like solve().
  [[nodiscard]] Report solve_transposed(DenseView<const T> B, DenseView<T> X) const;
};

extern template class BandedLu<float>;
extern template class BandedLu<double>;

}  // namespace echelon
