// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/enum_words.hpp>
#include <echelon/export.h>
#include <echelon/ordering.hpp>
#include <echelon/solver.hpp>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon {

/// Algorithm of a sparse LU factorisation on the host.
enum class LuFactorization {
  automatic,     ///< left_looking where few flops per entry of the factors are predicted, else multifrontal
  multifrontal,  ///< by dense fronts: quick where there are many flops, and it determines the rank
  left_looking,  ///< column by column, and each block of a block triangular form by itself
};
constexpr std::array<EnumWord<LuFactorization>, 3> words_of(LuFactorization) {
  return {{{LuFactorization::automatic, "auto"},
           {LuFactorization::multifrontal, "multifrontal"},
           {LuFactorization::left_looking, "left-looking"}}};
}

struct ECHELON_API SparseLuOptions {
  static constexpr std::string_view name = "sparse-lu";
  static constexpr Targets targets = Targets::both;
  static constexpr bool takes_complex = true;
  static constexpr bool takes_complex_on_cuda = true;
  /// Order of elimination, which determines the fill.
  Ordering ordering = Ordering::automatic;
  /// Algorithm on the host; a matrix that left_looking finds singular is factored again by multifrontal. A
  /// GPU always uses multifrontal.
  LuFactorization factorization = LuFactorization::automatic;
  /// On the host, an element may become a pivot if its magnitude is at least this fraction of the largest in
  /// its column, 0 < threshold <= 1. Smaller ones keep the fill smaller, and let elements grow more.
  double threshold = 0.1;
  /// Largest number of steps of iterative refinement, 0 to 20; on a GPU at most 5.
  std::int64_t refine = 10;
  /// Estimate the condition number in every set-up, which also detects a singular A: about ten substitutions.
  bool condition = true;
  /// Estimate it in every update of values, too. By default, and on the host, the last estimate is multiplied
  /// by the change of the ratio of the smallest to the largest pivot, unless that is more than tenfold or A
  /// comes near a singular matrix.
  bool condition_of_updates = false;

  /// Describes each option.
  static std::vector<Option<SparseLuOptions>> table();
};

/// P R A C Q = L U for sparse square A: large elements are matched to the diagonal (P) and rows and columns
/// scaled (R, C), Q keeps the fill small, and a multifrontal factorisation eliminates dense fronts, or, where
/// these would be tiny, a left-looking one the rows of a block triangular form. A dense A is converted.
///
/// On the host, pivots are compared with whole columns, and a column without a large enough pivot in its
/// front is delayed to the parent. For a singular A the rank is determined, and every right-hand side is
/// reported as `underdetermined`, with a solution, or `inconsistent`, with a row that says so. The analysis
/// is kept for update_values.
///
/// On a GPU, rows are exchanged within the pivot block of a front. The largest multiplier is reported, and
/// answers are refined if it is not small. If that does not suffice, or A is singular, the host factors.
/// P. Amestoy, I. Duff, J.-Y. L'Excellent, Multifrontal parallel distributed symmetric and unsymmetric
/// solvers, Comput. Methods Appl. Mech. Engrg. 184 (2000); I. Duff, J. Koster, On algorithms for permuting
/// large entries to the diagonal of a sparse matrix, SIAM J. Matrix Anal. Appl. 22 (2001).
template <class T>
class ECHELON_API SparseLu : public SolverOf<T, SparseLuOptions> {
 public:
  using SolverOf<T, SparseLuOptions>::SolverOf;

  /// Solves A^T X = B with the factors of A, for any number of right-hand sides, refined and reported like
  /// solve(). Forms A^T. Throws Error when there was no setup, and like solve().
  [[nodiscard]] Report solve_transposed(DenseView<const T> B, DenseView<T> X) const;
};

extern template class SparseLu<float>;
extern template class SparseLu<double>;

}  // namespace echelon
