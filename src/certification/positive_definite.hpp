// SPDX-License-Identifier: BSD-3-Clause
/// Error bounds for symmetric positive definite matrices.
#pragma once

#include <echelon/cancellation.hpp>
#include <echelon/device.hpp>
#include <echelon/matrix/csr.hpp>

#include <optional>
#include <string>
#include <vector>

namespace echelon::certification {

/// A lower bound on the smallest eigenvalue of D A D, for a diagonal matrix D of powers of two that makes its
/// diagonal elements lie between 1/2 and 4.
///
/// If the Cholesky factorisation of the matrix S = D A D - alpha I in floating-point arithmetic runs to its
/// end, its factor is the exact one of S + E, which is positive definite, with |e_ij| <= gamma / (1 - gamma)
/// sqrt(s_ii s_jj) at the places of L + L^T. The smallest eigenvalue of D A D is then at least alpha -
/// ||E||_2. The bound holds for every order of summation, so for a multifrontal factorisation. S. Rump,
/// Verification of positive definiteness, BIT 46 (2006).
struct EigenvalueBound {
  std::vector<double> scale;           ///< the diagonal of D
  std::optional<double> scaled_bound;  ///< positive; empty if there is no proof
  std::string reason;                  ///< why there is none

  /// Lower bound on the smallest eigenvalue of A.
  [[nodiscard]] double bound() const;
  /// Upper bounds of |A^-1 r| for |r| <= `residual`.
  [[nodiscard]] std::vector<double> bound_inverse_times(const std::vector<double>& residual) const;
};

/// Computes the bound for a symmetric A on the host with a positive diagonal. Cost: 2 to 5 sparse Cholesky
/// factorisations.
[[nodiscard]] EigenvalueBound bound_smallest_eigenvalue(const Csr<double>& A, const Device& device,
                                                        const CancellationToken& cancel);

}  // namespace echelon::certification
