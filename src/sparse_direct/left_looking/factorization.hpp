// SPDX-License-Identifier: BSD-3-Clause
/// Left-looking LU factorisation, column by column, with partial pivoting.
#pragma once

#include "sparse_direct/left_looking/block_order.hpp"
#include "sparse_direct/left_looking/factors.hpp"
#include "sparse_direct/matching/scaling.hpp"
#include "support/setup_control.hpp"

#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <limits>

namespace echelon::sparse_direct {

struct LeftLookingOptions {
  /// A diagonal element becomes the pivot if its magnitude is at least this fraction of the largest in its
  /// row; else the largest does.
  double threshold = 0.1;
  /// Fill at which the factorisation ends: entries of L and U.
  double most_entries = std::numeric_limits<double>::infinity();
  SetupControl control = {};
};

enum class LeftLookingEnd {
  finished,
  no_pivot,       ///< a row has no elements that differ from zero, or one that overflowed
  too_much_fill,  ///< more than most_entries
  cancelled,
};

/// Least magnitude of a pivot, whose reciprocal is finite.
template <class T>
inline constexpr T least_pivot = std::numeric_limits<T>::min();

/// Number of columns between two checks of the stop token.
inline constexpr std::int64_t check_every = 1024;
[[nodiscard]] inline double share_of_columns(std::int64_t done, std::int64_t all) {
  return static_cast<double>(done) / static_cast<double>(all);
}

/// Factors R A C for the scale factors R, C. Each row of A is a column of the transposed matrix: a sparse
/// triangular system with the columns of L so far, whose pattern depth-first searches find in time
/// proportional to the flops. Searches skip entries of L that others make superfluous (symmetric pruning).
/// Serial. Unless it finishes, the factors are unusable. Throws OutOfMemory. J. Gilbert, T. Peierls, Sparse
/// partial pivoting in time proportional to arithmetic operations, SIAM J. Sci. Stat. Comput. 9 (1988); S.
/// Eisenstat, J. Liu, Exploiting structural symmetry in unsymmetric sparse symbolic factorization, SIAM J.
/// Matrix Anal. Appl. 13 (1992).
template <class T>
LeftLookingEnd factor_left_looking(const Csr<T>& a, const Scaling& scaling, const BlockOrder& order,
                                   const LeftLookingOptions& options, LeftLookingFactors<T>& factors);

/// Factors new values in the pattern that was factored last, with its pivots, and therefore without searches;
/// no_pivot if one of them is less than `threshold` times the largest element of its row. The first call
/// after a factorisation makes a schedule, which holds the scale factors: later calls with others need
/// factors.schedule to be reset. Where the schedule would take much more memory than the factors, there is
/// none, and elimination is by columns. Serial. Throws OutOfMemory.
template <class T>
LeftLookingEnd refactor_left_looking(const Csr<T>& a, const Scaling& scaling,
                                     const LeftLookingOptions& options, LeftLookingFactors<T>& factors);

}  // namespace echelon::sparse_direct
