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

/// Which x of least residual is computed where there are several.
enum class QrSolution {
  minimum_norm,  ///< the one of least norm
  basic,         ///< one with at most as many elements other than zero as the rank of A
};
constexpr std::array<EnumWord<QrSolution>, 2> words_of(QrSolution) {
  return {{{QrSolution::minimum_norm, "minimum-norm"}, {QrSolution::basic, "basic"}}};
}

struct ECHELON_API QrOptions {
  static constexpr std::string_view name = "qr";
  static constexpr Targets targets = Targets::both;
  static constexpr bool takes_complex = true;
  static constexpr bool takes_complex_on_cuda = true;
  /// Scale rows and columns first where their sizes differ by more than a factor of ten.
  bool equilibrate = true;
  /// Largest number of steps of iterative refinement, 0 to 10.
  std::int64_t refine = 1;
  /// The solution of an A that is not square and of deficient rank, or that has more columns than rows.
  QrSolution solution = QrSolution::minimum_norm;
  /// Pivots of an A that is not square count as zero up to this many times the largest one, 0 to 1; default:
  /// max(m, n) times the machine epsilon.
  std::optional<double> tolerance = {};

  /// Describes each option.
  static std::vector<Option<QrOptions>> table();
};

/// Dense QR factorisation by Householder reflections, backward stable for every A; a sparse A is densified.
/// An m by n A that is not square is solved in the sense of least squares, by a complete orthogonal
/// decomposition with column pivoting, which tells its rank: 2 m n^2 + 2/3 n^3 flops and m n + n^2 elements
/// for m > n, and the same with m and n exchanged otherwise. A square A, by LAPACK's geqrf: 4/3 n^3 flops and
/// n^2 + n elements for the factor, 4 n^2 flops a right-hand side, and 6 n^2 with a step of refinement. The
/// report carries an estimate of the reciprocal condition number; below the machine epsilon the status is
/// `singular`. A complex A is always solved by the orthogonal decomposition.
template <class T>
using Qr = SolverOf<T, QrOptions>;

}  // namespace echelon
