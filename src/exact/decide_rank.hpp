// SPDX-License-Identifier: BSD-3-Clause
/// Exact ranks of matrices that are small enough, to decide what rounding errors leave open.
#pragma once

#include "exact/inspection/regular.hpp"

#include <echelon/matrix/matrix.hpp>
#include <echelon/matrix/scalar.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace echelon {

/// Most operations of an elimination modulo a prime that decides a rank: some tenths of a second.
inline constexpr double most_exact_operations = 4e7;

/// Operations of the elimination of an m by n matrix without zeros.
[[nodiscard]] inline double dense_operations(std::int64_t m, std::int64_t n) {
  return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(std::min(m, n)) / 3;
}

/// Ratio of the smallest accepted pivot to the largest rejected one, or to a tolerance, up to which a rank is
/// doubtful.
inline constexpr double doubtful_gap = 1000;

/// Multiples of the tolerance for pivots at which a gap is looked for before an exact rank takes the place of
/// a smaller one that was found: rounding errors may have grown beyond the tolerance.
inline constexpr std::array<double, 3> multiples_of_tolerance = {16, 256, 4096};

/// Rank that an elimination in floating point has found.
struct NumericalRank {
  std::int64_t rank = 0;
  bool doubtful = false;
};

/// The exact rank of a finite A, with its elements as they are stored, where it decides: if A is triangular,
/// or the rank found is doubtful or not full. Empty: the rank found stands, to working precision.
///
/// An A that is_regular_by_inspection() has full rank, whatever gap its pivots show. Otherwise the exact rank
/// is the larger one modulo two primes near 2^31, or of one where that is full. It is at most the rank over
/// the rational numbers, so that full rank is proven. A rank that is not full is too small only if both
/// primes divide all minors of the next order, which has a probability below 1e-9 for primes that were chosen
/// without regard to A. It is not computed if that takes more than `most_exact_operations`; `operations`:
/// estimate for an elimination.
///
/// A rank that is not doubtful also stands if it is less than the exact rank. Rounding errors of A's elements
/// make a product of smaller rank, or a matrix with measured elements, one of full rank.
template <class T>
[[nodiscard]] std::optional<std::int64_t> decide_rank(const MatrixRef<T>& A, const NumericalRank& found,
                                                      double operations);
/// Exact ranks are those of real matrices.
template <class T>
requires is_complex<T>
[[nodiscard]] std::optional<std::int64_t> decide_rank(const MatrixRef<T>& /*A*/,
                                                      const NumericalRank& /*found*/, double /*operations*/) {
  return std::nullopt;
}
template <class T>
[[nodiscard]] std::optional<std::int64_t> decide_rank(const MatrixRef<T>& A, const NumericalRank& found) {
  return decide_rank(A, found, dense_operations(A.rows(), A.columns()));
}

/// A copy of A for `decide_rank`, for an elimination in place: empty if that would not compute an exact rank,
/// or if A is a large matrix on a GPU.
template <class T>
[[nodiscard]] Dense<T> copy_for_exact_rank(DenseView<const T> A);
template <class T>
requires is_complex<T>
[[nodiscard]] Dense<T> copy_for_exact_rank(DenseView<const T> /*A*/) {
  return {};
}

}  // namespace echelon
