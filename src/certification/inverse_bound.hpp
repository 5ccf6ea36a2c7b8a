// SPDX-License-Identifier: BSD-3-Clause
/// Error bounds from an approximate inverse.
#pragma once

#include "certification/inverse_operations.hpp"

#include <echelon/cancellation.hpp>

#include <memory>
#include <string>
#include <vector>

namespace echelon::certification {

/// Proof that S = D A E (see InverseOperations) is invertible, and bounds on |S^-1 r| for any r.
///
/// Let G >= |I - R S|, elementwise, v > 0, and rho = max_i (G v)_i / v_i. If rho < 1, S and R are invertible,
/// and e = S^-1 r = R r + (I - R S) e satisfies |e| <= d + G |e| for any d >= |R r|. Then |e| <= w = v max_i
/// (d_i / v_i) / (1 - rho), and with any such bound w, also |e| <= d + G w. G is |F| + gamma_{n+2} (|R| |S| +
/// I) with a term for underflow, for F = I - R S as computed, and is not formed. How v and R were found does
/// not matter to the proof.
class InverseProof {
 public:
  /// Inverts A, on its device, and searches for v.
  InverseProof(std::unique_ptr<InverseOperations> operations, const CancellationToken& cancel);

  /// Whether rho < 1 was found.
  [[nodiscard]] bool proven() const { return proven_; }
  /// Text for the certificate: the value of rho, or the reason why no rho below 1 was found.
  [[nodiscard]] const std::string& reason() const { return reason_; }

  /// Upper bounds of |x_i - x*_i| for the solution x* of A x* = b, where x and b are finite; infinite where
  /// they exceed the range of double. Cost: two matrix-vector products in twice the precision of double, and
  /// a few in double.
  [[nodiscard]] std::vector<double> bound_error(const std::vector<double>& b, const std::vector<double>& x);
  /// x + R (b - A x), with residuals of twice the precision, repeated until it changes little.
  [[nodiscard]] std::vector<double> refine(const std::vector<double>& b, std::vector<double> x);

 private:
  struct ScaledColumn;

  void find_proof(const CancellationToken& cancel);
  bool try_inverse(InverseAlgorithm how);
  bool has_unusable_row();
  void minimise_contraction();
  [[nodiscard]] std::vector<double> multiply_by_g(const std::vector<double>& v);
  [[nodiscard]] ScaledColumn scale(const std::vector<double>& b, const std::vector<double>& x) const;
  [[nodiscard]] DoubledVector correction(const ScaledColumn& column);

  std::unique_ptr<InverseOperations> operations_;
  double gamma_;
  double underflow_;
  bool proven_ = false;
  std::string reason_;
  double contraction_;         ///< rho
  double computed_share_ = 0;  ///< the part of rho that comes from F; the rest bounds rounding errors
  std::vector<double> v_;
};

}  // namespace echelon::certification
