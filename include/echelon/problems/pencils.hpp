// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/device.hpp>
#include <echelon/export.h>
#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/report.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace echelon {

struct ECHELON_API PencilOptions {
  /// A direct method, or "auto": sparse-ldlt if every A + shift B is symmetric or Hermitian, else sparse-lu.
  std::string method = "auto";
  Device device = {};
};

template <class T>
struct ECHELON_API PencilSolution {
  Dense<T> X;                   ///< n by the number of shifts, on the host
  std::vector<Report> reports;  ///< of each shift
  std::string method;           ///< of the factorisations
  std::int64_t analyses = 0;  ///< of the pattern: more than one where pivots of earlier shifts did not serve

  [[nodiscard]] bool solved() const {
    for (const Report& report : reports) {
      if (!report.solved()) return false;
    }
    return true;
  }
};

/// Solves (A + shift_k B) x_k = b for all shifts by a sparse factorisation for each of them, with one
/// analysis of the union of both patterns: frequency sweeps K - omega^2 M + i omega C, rational Krylov
/// methods, contour integrals. Elements of A and B that sum to zero stay in the pattern. A real pencil has
/// real shifts; pass to_complex(A) and to_complex(B) for complex ones. Dense matrices are converted.
///
/// Cost: an analysis, and a numerical factorisation and a solve with refinement for each shift; A + shift B
/// is held in addition to A and B. `solve_shifted` takes a Krylov basis for B = I in place of factors.
///
/// Throws DimensionMismatch unless A and B are square and of the order of b, BadOption, OutOfMemory.
template <class T>
[[nodiscard]] ECHELON_API PencilSolution<T> solve_pencil(const MatrixRef<T>& A, const MatrixRef<T>& B,
                                                         std::span<const T> b, std::span<const T> shifts,
                                                         const PencilOptions& options = {});

}  // namespace echelon
