// SPDX-License-Identifier: BSD-3-Clause
/// One tridiagonal matrix on a GPU.
#pragma once

#include "sparse_direct/banded/factors.hpp"
#include "sparse_direct/banded/operations.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace echelon {
class Cuda;
}

namespace echelon::banded {

/// Whether a backend has these kernels.
template <class B>
inline constexpr bool has_tridiagonal_kernels = false;
template <>
inline constexpr bool has_tridiagonal_kernels<Cuda> = true;

/// Least order for which the kernels for one tridiagonal matrix are faster.
inline constexpr std::int64_t least_tridiagonal_order = 1024;

/// True if these kernels apply to a matrix of this shape.
[[nodiscard]] inline bool is_tridiagonal(std::int64_t n, std::int64_t lower, std::int64_t upper) {
  return n >= least_tridiagonal_order && lower <= 1 && upper <= 1;
}
template <class T>
[[nodiscard]] bool is_tridiagonal(const BandBatch<const T>& A) {
  return A.count() == 1 && is_tridiagonal(A.n(), A.lower(), A.upper());
}

/// Facts about an elimination.
struct TridiagonalOutcome {
  double largest_pivot = 0;       ///< magnitude; NaN if an element was or became NaN or infinite
  std::int64_t zero_column = -1;  ///< the first column without a pivot in the order of elimination, or -1
};

/// Gaussian elimination of tridiagonal matrices of one order, by partial pivoting of A with its columns
/// permuted. Each solve eliminates anew, at 9 elements of memory traffic a row, which is less than reading
/// factors would take. All is queued, but `outcome` waits.
template <class T>
class TridiagonalElimination {
 public:
  TridiagonalElimination() = default;
  TridiagonalElimination(const TridiagonalElimination&) = delete;
  TridiagonalElimination& operator=(const TridiagonalElimination&) = delete;
  virtual ~TridiagonalElimination() = default;

  /// Eliminates without a solve, for the outcome. A is on the device, with at most one diagonal below and
  /// above.
  virtual void eliminate(const BandElements<T>& A) = 0;
  /// Computes x = A^-1 b, or NaN if A has no factors; x may be b.
  virtual void solve(const BandElements<T>& A, const T* b, T* x) = 0;
  /// Facts about the last call of eliminate() or solve().
  [[nodiscard]] virtual TridiagonalOutcome outcome() = 0;
  virtual void store_outcome(BatchOutcome* outcome) = 0;
  [[nodiscard]] virtual std::int64_t n() const = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;
};

template <class T>
[[nodiscard]] std::unique_ptr<TridiagonalElimination<T>> make_tridiagonal_elimination(const Device& device,
                                                                                      std::int64_t n);

/// Makes factors that consist of a copy of A.
template <class T>
[[nodiscard]] std::unique_ptr<BandFactors<T>> make_tridiagonal_factors(const Device& device);

/// Computes B = A^-1 B without a copy of A.
template <class T>
void solve_tridiagonal(const BandBatch<const T>& A, const DenseBatch<T>& B, BatchOutcome* outcome);

}  // namespace echelon::banded
