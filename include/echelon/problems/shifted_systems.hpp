// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/device.hpp>
#include <echelon/export.h>
#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/report.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace echelon {

struct ECHELON_API ShiftedOptions {
  /// Stop when ||b - (A + shift I) x|| <= rtol ||b||, 0 < rtol <= 1.
  double rtol = 1e-8;
  /// Vectors of the basis, at least 1, after which the method restarts: n times as many elements of memory.
  std::int64_t basis = 300;
  /// Maximum number of products with A.
  std::int64_t max_products = 3000;
};

template <class T>
struct ECHELON_API ShiftedSolution {
  Dense<T> X;  ///< n by the number of shifts
  /// Outcome for each shift: `converged`, or `max_iterations`, `breakdown` with the best x that was reached.
  std::vector<Status> statuses;
  std::vector<double> relative_residuals;  ///< ||b - (A + shift I) x|| / ||b||, computed from x
  std::int64_t products = 0;               ///< with A

  [[nodiscard]] bool solved() const {
    for (const Status status : statuses) {
      if (status != Status::converged) return false;
    }
    return true;
  }
};

/// Solves (A + shift_k I) x_k = b for all shifts with one Krylov basis, which does not depend on them: the
/// projected matrix H + shift_k I is solved for each. The residuals of all shifts are multiples of the next
/// vector of the basis, from which the method restarts (FOM with restarts). A symmetric or Hermitian A takes
/// two vectors for each orthogonalisation (Lanczos), any other A, or an operator, all of them (Arnoldi).
/// There is no preconditioner, which would have to be the same polynomial for all shifts. On the host.
///
/// Cost: a product with A for each vector, their orthogonalisation, and 2 n flops for each vector and shift.
/// A real A has real shifts; pass to_complex(A) for complex ones.
///
/// Throws DimensionMismatch unless A is square with as many rows as b has elements, BadOption, OutOfMemory.
/// V. Simoncini, Restarted full orthogonalization method for shifted linear systems, BIT 43 (2003).
template <class T>
[[nodiscard]] ECHELON_API ShiftedSolution<T> solve_shifted(const MatrixRef<T>& A, std::span<const T> b,
                                                           std::span<const T> shifts,
                                                           const ShiftedOptions& options = {});

}  // namespace echelon
