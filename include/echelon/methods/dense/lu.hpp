// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/dense_options.hpp>
#include <echelon/rref.hpp>
#include <echelon/solver.hpp>

#include <string_view>
#include <vector>

namespace echelon {

struct LuOptions {
  static constexpr std::string_view name = "lu";
  static constexpr Targets targets = Targets::both;
  /// Scale rows and columns first, by powers of two, where their sizes differ by more than a factor of ten.
  bool equilibrate = true;
  /// At most so many steps of iterative refinement, 0 to 10.
  std::int64_t refine = 1;
  /// Precision of the factorisation. A lower one than the working precision is refined by classical steps
  /// and by GMRES to a backward error of sqrt(n) times the unit roundoff, and replaced by a factorisation in
  /// the working precision where that is not reached.
  Precision factor_precision = Precision::working;

  static std::vector<Option<LuOptions>> table() {
    return with_refinement_options<LuOptions>(
        {factor_precision_option<LuOptions>()},
        "scale rows and columns first where their sizes differ by more than a factor of ten", 10);
  }
};

/// Dense LU with partial pivoting, P A = L U; a sparse A is densified. 2/3 n^3 flops and n^2 elements for the
/// factors; 2 n^2 flops a right-hand side (twice that with a step of refinement). Where elements grow so much
/// that refinement does not repair the answers, A is factored again between random butterflies, and after
/// that by QR. The report carries an estimate of the reciprocal condition number in the 1-norm; below the
/// unit roundoff the status is `singular`.
template <class T>
class Lu : public SolverOf<T, LuOptions> {
 public:
  using SolverOf<T, LuOptions>::SolverOf;

  /// det A by the factors of the last setup; zero when a pivot is. O(n). Throws Error when there was no setup
  /// or it was cancelled.
  [[nodiscard]] Determinant determinant() const;
  /// Solves A^T X = B as solve() does A X = B, with the same report. Reads A once more than solve().
  [[nodiscard]] Report solve_transposed(DenseView<const T> B, DenseView<T> X) const;
  /// X = A^-1, n by n, each column solved for and refined: 2 n^3 flops, twice that with a step of refinement,
  /// and n^2 elements more. RowReduction inverts in place, for 2 n^3 flops with the elimination.
  [[nodiscard]] Report inverse(DenseView<T> X) const;
};

extern template class Lu<float>;
extern template class Lu<double>;

}  // namespace echelon
