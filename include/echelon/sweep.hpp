// SPDX-License-Identifier: BSD-3-Clause
/// Gauss-Seidel sweeps in natural order: exact, without colouring and without an analysis of the matrix.
#pragma once

#include <echelon/enum_words.hpp>
#include <echelon/export.h>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/matrix.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace echelon {

/// Orders in which a sweep may take the rows.
enum class SweepKind {
  forward,    ///< rows 0, 1, ..., n - 1
  backward,   ///< rows n - 1, ..., 0
  symmetric,  ///< forward, then backward: counts as one sweep
};
constexpr std::array<EnumWord<SweepKind>, 3> words_of(SweepKind) {
  return {{{SweepKind::forward, "forward"},
           {SweepKind::backward, "backward"},
           {SweepKind::symmetric, "symmetric"}}};
}

/// Options of a call of GaussSeidelSweep.
struct ECHELON_API SweepOptions {
  /// Order of the rows: ascending, descending, or one after the other.
  SweepKind kind = SweepKind::forward;
  /// Number of sweeps, at least 0; a symmetric one counts once.
  std::int64_t sweeps = 1;
  /// Relaxation factor, 0 < omega < 2: 1 is Gauss-Seidel, a smaller one damps, a larger one over-relaxes
  /// (SOR, SSOR).
  double omega = 1;
};

/// Outcome of sweeps.
struct ECHELON_API SweepReport {
  /// Rows whose diagonal element is zero or not stored: they keep their x.
  std::int64_t skipped_rows = 0;
  std::optional<std::int64_t> first_skipped_row;  ///< 0-based; empty if no row was skipped
};

/// Sweeps of Gauss-Seidel and successive over-relaxation: for i in the order of the sweep,
///
///   x_i <- (1 - omega) x_i + omega (b_i - sum over j != i of a_ij x_j) / a_ii,
///
/// each row with the newest values of the others, exactly as on one core: the same bits on every device and
/// for any number of threads. Nothing that depends on the values of A is kept between calls, so they may
/// change.
///
/// A sweep costs 2 flops a nonzero, and for CSR moves (4 + sizeof T) bytes a nonzero, 8 a row, and b and x.
/// D. M. Young, Iterative Solution of Large Linear Systems, 1971; Saad, Iterative Methods for Sparse Linear
/// Systems, section 4.1.
template <class T>
class ECHELON_API GaussSeidelSweep {
 public:
  /// Throws NotBuilt, NoDevice.
  explicit GaussSeidelSweep(const Device& device = {});
  GaussSeidelSweep(GaussSeidelSweep&&) noexcept;
  GaussSeidelSweep& operator=(GaussSeidelSweep&&) noexcept;
  ~GaussSeidelSweep();

  /// Sweeps over X (n by k) in place, for A X = B, in either layout. NaN and Inf propagate by the arithmetic;
  /// every NaN is written as the quiet NaN of std::numeric_limits. Memory is kept for later calls: on
  /// `openmp` at most 65,536 elements for each thread and right-hand side (of at most 8 at a time), for any
  /// size of A; on a GPU as much as X, and twice that for symmetric sweeps. Not thread-safe. Throws
  /// DimensionMismatch, DeviceMismatch, Error for options out of range, OutOfMemory.
  SweepReport sweep(const Csr<T>& A, DenseView<const T> B, DenseView<T> X, const SweepOptions& options = {});

  [[nodiscard]] const Device& device() const { return device_; }
  /// Memory kept for later calls, in bytes.
  [[nodiscard]] std::size_t bytes() const;

 private:
  class Workspace;

  Device device_;
  std::unique_ptr<Workspace> workspace_;
};

extern template class GaussSeidelSweep<float>;
extern template class GaussSeidelSweep<double>;

/// Dependencies of a sweep over a matrix: row i depends on every j < i (forward) or j > i (backward) whose
/// a_ij is stored. The level of a row is 1 if it depends on no other row, else 1 more than the highest level
/// among its dependencies; the rows of a level could be computed at the same time.
struct ECHELON_API Dependencies {
  std::int64_t levels = 0;          ///< the longest chain: no parallel sweep takes fewer steps
  std::int64_t total = 0;           ///< stored elements that are dependencies
  std::int64_t dependent_rows = 0;  ///< rows that depend on at least one other
  std::int64_t most = 0;            ///< largest number in one row
  std::int64_t largest_level = 0;   ///< largest number of rows in a level
  std::int64_t smallest_level = 0;
  /// Launches that method `gauss-seidel-relaunch` needs if no row sees another one finish within the same
  /// launch, which is the number of levels; otherwise an upper bound.
  std::int64_t launches = 0;

  /// Mean number of dependencies per row, over all rows.
  [[nodiscard]] double mean(std::int64_t rows) const {
    return rows > 0 ? static_cast<double>(total) / static_cast<double>(rows) : 0;
  }
};

struct ECHELON_API SweepDependencies {
  Dependencies forward;
  Dependencies backward;
};

/// Analyses the dependencies of a sweep. O(nonzeros) time on one core; 4 bytes a row and 4 a level. A on a
/// GPU is copied to the host. Throws DimensionMismatch unless A is square.
template <class T>
[[nodiscard]] ECHELON_API SweepDependencies analyze_dependencies(MatrixRef<T> A);

}  // namespace echelon
