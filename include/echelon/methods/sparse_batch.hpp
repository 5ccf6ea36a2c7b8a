// SPDX-License-Identifier: BSD-3-Clause
/// Many sparse systems with one pattern at once, as of parameter studies, Monte Carlo methods and time steps
/// of many small models.
#pragma once

#include <echelon/batched.hpp>
#include <echelon/export.h>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/report.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace echelon {

/// Outcomes of the systems that SparseBatchSolver solved.
struct ECHELON_API SparseBatchReport {
  /// For each system, as `sparse-lu` would report it: `direct` if x was verified, or `singular`,
  /// `inconsistent`, `underdetermined`, `not_a_number` with the column, if one is known, that depends on
  /// others or has the NaN.
  std::vector<BatchOutcome> outcomes;
  /// For each system the largest componentwise backward error of its solutions, |b - A x| / (|A| |x| + |b|);
  /// for those that were solved one by one, the normwise one.
  std::vector<double> backward_errors;
  /// Systems that were solved one by one by `sparse-lu`, because the common order of pivots did not serve
  /// them.
  std::int64_t solved_singly = 0;
  /// Parts in which the batch was solved, one after another, so that its factors fit in memory.
  std::int64_t parts = 0;

  /// Whether every system is solved.
  [[nodiscard]] bool solved() const;
};

namespace batch_detail {
template <class T>
class PatternSystems;
}  // namespace batch_detail

/// Solves A_s X_s = B_s for square sparse A_s with the pattern of one matrix, on the host with 8 systems in
/// the registers of a core, on a GPU with a thread for each system, or for each row of each system.
///
/// The order of pivots is that by which `sparse-lu` factors the first system that it can; the others are
/// eliminated in the same order without a search. Each x is verified, and refined where that is needed: where
/// its componentwise backward error is above 10 sqrt(n) eps, or ||b - A x|| above 1e-8 ||b|| (1e-4 in float),
/// the system is solved once more by `sparse-lu`, which also decides on the outcome. Where the common factors
/// would be too large (10^8 multiplications), all are solved so.
template <class T>
class ECHELON_API SparseBatchSolver {
 public:
  /// For matrices with the pattern of `pattern`, on its device. Its values are not used. Throws
  /// DimensionMismatch if it is not square, OutOfMemory.
  explicit SparseBatchSolver(const Csr<T>& pattern);
  SparseBatchSolver(SparseBatchSolver&&) noexcept;
  SparseBatchSolver& operator=(SparseBatchSolver&&) noexcept;
  ~SparseBatchSolver();

  /// Solves all systems. Column s of `values` (nonzeros by count) has the elements of A_s in the order of the
  /// pattern; B and X (count matrices of n by k) may be the same memory. X is NaN where nothing was computed.
  /// The first call chooses the order of pivots, which later ones keep. Memory: see `bytes_per_system`; on
  /// the host a few systems for each thread, on a GPU at most half of what is free at a time. Not
  /// thread-safe. Throws DimensionMismatch, DeviceMismatch, OutOfMemory.
  [[nodiscard]] SparseBatchReport solve(DenseView<const T> values, const DenseBatch<const T>& B,
                                        const DenseBatch<T>& X);

  /// Memory of one system's elements, factors and vectors; 0 before the first call and where there are no
  /// common factors.
  [[nodiscard]] std::size_t bytes_per_system() const;

 private:
  std::unique_ptr<batch_detail::PatternSystems<T>> systems_;
};

extern template class SparseBatchSolver<float>;
extern template class SparseBatchSolver<double>;

}  // namespace echelon
