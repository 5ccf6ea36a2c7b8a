// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/rref.hpp>
#include <echelon/solver.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API LuOptions {
  static constexpr std::string_view name = "lu";
  static constexpr Targets targets = Targets::all;
  static constexpr bool takes_complex = true;
  static constexpr bool takes_complex_on_cuda = true;
  /// Scale rows and columns first, by powers of two, if their magnitudes differ by more than a factor of ten.
  bool equilibrate = true;
  /// Largest number of steps of iterative refinement, 0 to 10.
  std::int64_t refine = 1;
  /// Precision of the factorisation. With a lower precision than the working precision, answers are refined
  /// by classical steps and by GMRES to a backward error of sqrt(n) times the unit roundoff; if that is not
  /// reached, A is factored again in the working precision.
  Precision factor_precision = Precision::working;

  /// Describes each option.
  static std::vector<Option<LuOptions>> table();
};

/// Dense LU with partial pivoting, P A = L U; a sparse A is densified. 2/3 n^3 flops and n^2 elements for the
/// factors; 2 n^2 flops a right-hand side (twice that with a step of refinement). If element growth is so
/// large that refinement does not repair the answers, A is factored again after random butterfly
/// transformations, and if that fails by QR. The report carries an estimate of the reciprocal condition
/// number in the 1-norm; below the machine epsilon the status is `singular`.
template <class T>
class ECHELON_API Lu : public SolverOf<T, LuOptions> {
 public:
  using SolverOf<T, LuOptions>::SolverOf;

  /// Solves A^T X = B, with a report like that of solve(). Reads A once more than solve().
  [[nodiscard]] Report solve_transposed(DenseView<const T> B, DenseView<T> X) const;
  /// Computes X = A^-1, n by n, by solving for each column and refining it: 2 n^3 flops, twice that with a
  /// step of refinement, and n^2 additional elements. RowReduction inverts in place, for 2 n^3 flops
  /// including the elimination.
  [[nodiscard]] Report inverse(DenseView<T> X) const;
};

extern template class Lu<float>;
extern template class Lu<double>;

}  // namespace echelon
