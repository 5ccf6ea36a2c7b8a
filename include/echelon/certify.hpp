// SPDX-License-Identifier: BSD-3-Clause
/// Proven bounds on the error of a solution.
#pragma once

#include <echelon/cancellation.hpp>
#include <echelon/device.hpp>
#include <echelon/export.h>
#include <echelon/matrix/matrix.hpp>
#include <echelon/solve.hpp>

#include <optional>
#include <type_traits>

namespace echelon {

struct ECHELON_API CertifyOptions {
  /// Cancels the proof: it stops between factorisations, and within sparse ones, and the certificate has no
  /// bound.
  CancellationToken cancel = {};
  /// The only proof to try; if not set, every proof that suits A is tried.
  std::optional<Proof> proof = {};
  /// Device on which an approximate inverse is computed; default: the device of A.
  std::optional<Device> device = {};
  /// Makes solve_certified() correct X by refine_and_certify(); the report describes X before the correction.
  bool refine = false;
};

/// Bounds the error of X as a solution of A X = B if A can be proven to be nonsingular; otherwise the
/// certificate gives the reason. X may come from any computation.
///
/// A dense A is inverted approximately, on its device: 4 n^3 flops, in double also for float, and memory for
/// 3 n^2 elements. This proof fails where the condition number of A is near 1 / (n eps) or above, since R A
/// is not close enough to I. For such an A, and for a sparse one, the host then tries to prove that A is an
/// H-matrix, or symmetric positive definite: one to five sparse factorisations on all cores, with memory for
/// two copies of A and a sparse factor. A sparse A of order 4096 or less for which both proofs fail is
/// treated as dense.
///
/// The proofs assume rounding to nearest by IEEE 754. They assume nothing about the order in which BLAS adds,
/// or about fused operations, but they do assume that BLAS forms each product from n multiplications, without
/// fast (Strassen) algorithms or emulated arithmetic; cuBLAS is configured accordingly.
///
/// Throws DimensionMismatch, OutOfMemory, NotBuilt, NoDevice, and Error for an operator.
///
/// S. Rump, Verification of positive definiteness, BIT 46 (2006). A. Neumaier, Interval methods for systems
/// of equations (1990), section 3.7, for H-matrices. S. Oishi, S. Rump, Fast verification of solutions of
/// matrix equations, Numer. Math. 90 (2002), for approximate inverses.
template <class T>
[[nodiscard]] ECHELON_API ErrorCertificate certify(MatrixRef<T> A, std::type_identity_t<DenseView<const T>> B,
                                                   std::type_identity_t<DenseView<const T>> X,
                                                   const CertifyOptions& options = {});

/// Corrects X, and bounds its error as certify() does. If the proof is an approximate inverse, X is refined
/// with residuals in twice the precision until it is nearly x* rounded to T; otherwise X is unchanged. X is
/// in the memory of B; any initial guess is allowed, such as 0.
template <class T>
[[nodiscard]] ECHELON_API ErrorCertificate refine_and_certify(MatrixRef<T> A,
                                                              std::type_identity_t<DenseView<const T>> B,
                                                              std::type_identity_t<DenseView<T>> X,
                                                              const CertifyOptions& options = {});

/// A solution, how it was obtained, and a bound on its error.
template <class T>
struct ECHELON_API CertifiedSolution {
  Dense<T> x;
  Report report;
  ErrorCertificate certificate;
};

/// Solves A X = B by solve(), and bounds the error of X as `certify = true` of SolveOptions does, but with
/// options of the proof and the certificate as a value; on the device that solved unless
/// `certify_options.device` names another. If there is no X, the certificate has no bound and says so.
/// `options.cancel` stops both, unless `certify_options` has a token of its own. Shapes and exceptions are
/// those of solve() and certify().
template <class T>
[[nodiscard]] ECHELON_API CertifiedSolution<T> solve_certified(MatrixRef<T> A,
                                                               std::type_identity_t<DenseView<const T>> B,
                                                               const SolveOptions& options = {},
                                                               CertifyOptions certify_options = {});
template <class T>
[[nodiscard]] CertifiedSolution<T> solve_certified(const Csr<T>& A,
                                                   std::type_identity_t<DenseView<const T>> B,
                                                   const SolveOptions& options = {},
                                                   const CertifyOptions& certify_options = {}) {
  return solve_certified<T>(MatrixRef<T>(A), B, options, certify_options);
}
template <class T>
[[nodiscard]] CertifiedSolution<T> solve_certified(const Dense<T>& A,
                                                   std::type_identity_t<DenseView<const T>> B,
                                                   const SolveOptions& options = {},
                                                   const CertifyOptions& certify_options = {}) {
  return solve_certified<T>(MatrixRef<T>(A), B, options, certify_options);
}

}  // namespace echelon
