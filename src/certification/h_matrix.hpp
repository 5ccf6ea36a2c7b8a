// SPDX-License-Identifier: BSD-3-Clause
/// Error bounds for H-matrices.
#pragma once

#include <echelon/cancellation.hpp>
#include <echelon/device.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/solver.hpp>

#include <vector>

namespace echelon::certification {

/// The comparison matrix <A>, with |a_ii| on the diagonal and -|a_ij| elsewhere, and its factorisation.
///
/// A is an H-matrix if there is a vector v > 0 with u = <A> v > 0. Then |A^-1 r| <= <A>^-1 |r|, elementwise,
/// and for any w, |<A>^-1 |r|| <= |w| + <A>^-1 | |r| - <A> w | <= |w| + v max_i | |r| - <A> w |_i / u_i. How
/// v and w were found does not matter to the proof: they are computed approximations of <A>^-1 diag(A) and
/// <A>^-1 |r|.
class ComparisonMatrix {
 public:
  ComparisonMatrix(const Csr<double>& A, bool symmetric, const Device& device,
                   const CancellationToken& cancel);

  /// Whether v was found.
  [[nodiscard]] bool is_h_matrix() const { return is_h_matrix_; }
  /// Upper bounds of |A^-1 r| for an H-matrix and |r| <= `residual`.
  [[nodiscard]] std::vector<double> bound_inverse_times(const std::vector<double>& residual) const;

 private:
  Csr<double> matrix_;
  Solver<double> solver_;
  std::vector<double> v_;
  std::vector<double> u_;  ///< lower bounds of <A> v
  bool is_h_matrix_ = false;
};

}  // namespace echelon::certification
