// SPDX-License-Identifier: BSD-3-Clause
/// Proven bounds on the error of a solution.
#pragma once

#include <echelon/enum_words.hpp>
#include <echelon/matrix/matrix.hpp>

#include <array>
#include <limits>
#include <optional>
#include <stop_token>
#include <string>
#include <type_traits>

namespace echelon {

/// The property of A that a bound on the error was derived from.
enum class Proof {
  none,               ///< there is no bound
  h_matrix,           ///< a vector v > 0 with <A> v > 0, where <A> is the comparison matrix of A
  positive_definite,  ///< a lower bound on the smallest eigenvalue
};

constexpr auto words_of(Proof /*of*/) {
  return std::to_array<EnumWord<Proof>>({{Proof::none, "none"},
                                         {Proof::h_matrix, "h-matrix"},
                                         {Proof::positive_definite, "positive-definite"}});
}

/// A bound on the distance between x and the exact solution x* of A x* = b, for the elements of A, b and x as
/// they are stored. All rounding errors of the computation of the bound are accounted for.
struct ErrorCertificate {
  Proof proof = Proof::none;
  /// The property that was proven and how, or why there is no bound.
  std::string reason;
  /// max |x_i - x*_i| over all columns is at most this.
  double error_bound = std::numeric_limits<double>::infinity();
  /// max |x_i - x*_i| / max |x*_i| is at most this, for each column.
  double relative_error_bound = std::numeric_limits<double>::infinity();
  /// The smallest eigenvalue of A is at least this; given by Proof::positive_definite alone.
  std::optional<double> smallest_eigenvalue;

  [[nodiscard]] bool proven() const { return proof != Proof::none; }
};

struct CertifyOptions {
  /// Stops between factorisations, and within them; the certificate then has no bound.
  std::stop_token cancel = {};
};

/// Bounds the error of X as a solution of A X = B, if it can be proven that A is an H-matrix or symmetric
/// positive definite, and says otherwise why not. It need not matter how X was computed.
///
/// A is square, with elements; it is copied to the host, where one to five sparse factorisations take place
/// on all cores. Memory: A twice in double, and a sparse factor. Throws DimensionMismatch, OutOfMemory, and
/// Error for an operator.
///
/// S. Rump, Verification of positive definiteness, BIT 46 (2006). A. Neumaier, Interval methods for systems
/// of equations (1990), section 3.7, for H-matrices.
template <class T>
[[nodiscard]] ErrorCertificate certify(MatrixRef<T> A, std::type_identity_t<DenseView<const T>> B,
                                       std::type_identity_t<DenseView<const T>> X,
                                       const CertifyOptions& options = {});

}  // namespace echelon
