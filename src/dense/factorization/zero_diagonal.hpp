// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "backend/store.hpp"
#include "exact/decide_rank.hpp"
#include "linalg/vector/functors.hpp"
#include "solver/factor_status.hpp"
#include "support/machine_epsilon.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/matrix.hpp>

#include <cstdint>

namespace echelon::lu {

/// The first zero on the diagonal of contiguous columns.
template <class T>
struct ZeroDiagonal {
  const T* factors;
  std::int64_t n;
  ECHELON_ANYWHERE FirstIndex operator()(std::int64_t i) const {
    return {factors[i * (n + 1)] == T{0} ? i : FirstIndex::none};
  }
};

/// Index of the first zero on the diagonal of a square matrix, -1 if there is none. Waits.
template <class B, class T>
std::int64_t first_zero_on_diagonal(B& backend, const Dense<T>& A) {
  Array<FirstIndex> zero(backend.device(), 1);
  backend.reduce(A.rows(), ZeroDiagonal<T>{A.data(), A.rows()}, Store<FirstIndex>{zero.data()});
  const std::int64_t index = backend.read(zero.data()).value;
  return index == FirstIndex::none ? -1 : index;
}

/// Counts zeros on the diagonal.
template <class T>
struct ZeroOnDiagonal {
  const T* factors;
  std::int64_t n;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const { return {factors[i * (n + 1)] == T{0} ? 1.0 : 0.0}; }
};
template <class T>
struct ReplaceZeroPivot {
  T* factors;
  std::int64_t n;
  T pivot;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (factors[i * (n + 1)] == T{0}) factors[i * (n + 1)] = pivot;
  }
};

/// Takes the place of a pivot that is exactly zero: a rounding error of the largest element of A, as another
/// order of summation leaves it there. Systems are solved, and answers accepted, alike whatever kernels
/// round.
template <class T>
T zero_pivot_replacement(double largest) {
  return static_cast<Real<T>>(machine_epsilon<T> * largest);
}

/// Outcome for a singular A after some pivots, `first` the first of them, were replaced. Its rank is the
/// exact one where that is known, else the number of the other pivots, which is at most the rank; none where
/// the exact one is full: rounding errors cancelled.
template <class T>
Outcome replaced_pivots_outcome(const MatrixRef<T>& A, std::int64_t first, std::int64_t replaced) {
  const std::int64_t n = A.rows();
  Outcome outcome = zero_pivot(first);
  outcome.row.reset();
  const std::int64_t rank = decide_rank(A, {n - replaced, true}).value_or(n - replaced);
  if (rank != n) outcome.rank = rank;
  return outcome;
}

/// Replaces zeros on the diagonal of a triangular factor, `first` the first of them, as pivots. Waits.
template <class B, class T>
Outcome replace_zero_pivots(B& backend, const MatrixRef<T>& A, Dense<T>& factors, std::int64_t first,
                            double largest) {
  const std::int64_t n = factors.rows();
  Array<Sum> count(backend.device(), 1);
  backend.reduce(n, ZeroOnDiagonal<T>{factors.data(), n}, Store<Sum>{count.data()});
  const auto zeros = static_cast<std::int64_t>(backend.read(count.data()).value);
  backend.for_each(n, ReplaceZeroPivot<T>{factors.data(), n, zero_pivot_replacement<T>(largest)});
  return replaced_pivots_outcome(A, first, zeros);
}

}  // namespace echelon::lu
