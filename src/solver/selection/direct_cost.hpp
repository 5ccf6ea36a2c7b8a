// SPDX-License-Identifier: BSD-3-Clause
/// Predicted times of direct methods.
#pragma once

#include "solver/selection/method_selection.hpp"

#include <cstdint>

namespace echelon {

/// Cost of a sparse factorisation on a device: a rough time estimate, and whether its factors fit into
/// memory.
struct DirectCost {
  double seconds = 0;
  bool fits = false;
};

/// Whether a share of the available memory of a device holds this many bytes. The system is asked only for
/// more than a small amount.
[[nodiscard]] bool fits_memory(double bytes, const Device& device, double share);

/// Rate of dense factorisations.
[[nodiscard]] double dense_flops_per_second(const Device& device);

/// Seconds of dense elimination.
[[nodiscard]] double dense_seconds(std::int64_t rows, const Device& device);

/// Whether its factors fit into memory. Asks the system, which takes as long as to choose a method for a
/// small A.
[[nodiscard]] bool dense_fits(const MethodSelection& selection);

/// Number of rows from which ldlt is faster than lu on one thread, see docs/benchmarks/lu.md; on several
/// threads it is slower up to 2000 rows, since LAPACK's panels run on one.
inline constexpr std::int64_t ldlt_rows = 1500;
/// Largest time of dense LU for which Gauss-Jordan elimination is tried on a singular matrix.
inline constexpr double most_elimination_seconds = 2;

/// Seconds that a fill-reducing ordering and the symbolic factorisation take.
[[nodiscard]] double ordering_seconds(const MethodSelection& selection);

/// Cost with memory for the factor, and about as much again for update matrices and copies.
[[nodiscard]] DirectCost sparse_cost(const MethodSelection& selection, const Device& device);

/// Whether dense elimination comes first whatever a sparse factorisation takes: a quick one, of few rows or
/// of a matrix with a good part of its elements stored.
[[nodiscard]] bool is_nearly_full(const MethodSelection& selection);

/// Whether dense elimination takes at most direct_first_seconds, and no longer than the flops of a sparse
/// factorisation, whose factor is then nearly full.
[[nodiscard]] bool has_full_factor(const MethodSelection& selection);

/// Whether a sparse factorisation takes more than the given time even if `factor` is an estimate, five times
/// too large.
[[nodiscard]] bool is_certainly_slow(const MethodSelection& selection, double seconds);
/// Whether it fits and takes at most the given time even if `factor` is an estimate, five times too small.
[[nodiscard]] bool is_certainly_quick(const MethodSelection& selection, double seconds);

/// Device of a sparse factorisation: the host if it is faster there, or if the factor exceeds the GPU's
/// memory.
[[nodiscard]] Device factor_device(const MethodSelection& selection);

}  // namespace echelon
