// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "dense/factorization/thin_qr.hpp"

namespace echelon::lu {

/// Q as its n columns, by Cholesky QR: with G = S^H S + D = L L^H, S becomes S L^-H, which is repeated until
/// it is orthonormal. D is zero unless G is singular to working precision, and adds a few rounding errors to
/// its diagonal otherwise, which makes the condition of S smaller with each repetition. An S that this does
/// not make orthonormal is factored by cuSOLVER's Householder reflections. 4 m n^2 flops for a
/// well-conditioned S, in products of matrices; 4 m n for a column of a product.
///
/// Y. Yamamoto, Y. Nakatsukasa, Y. Yanagisawa, T. Fukaya, Roundoff error analysis of the CholeskyQR2
/// algorithm, ETNA 44 (2015). T. Fukaya, R. Kannan, Y. Nakatsukasa, Y. Yamamoto, Y. Yanagisawa, Shifted
/// Cholesky QR for computing the QR factorization of ill-conditioned matrices, SIAM J. Sci. Comput. 42
/// (2020).
template <class T>
class ThinQr<Cuda, T> {
 public:
  Dense<T> factor(Cuda& backend, Dense<T> S);
  void multiply_adjoint(Cuda& backend, DenseView<const T> B, DenseView<T> Y) const;
  void multiply(Cuda& backend, DenseView<T> Y, DenseView<T> X) const;
  /// Throws Error: the phase of det Q is not known.
  void multiply_by_determinant(DeterminantProduct& product) const;
  [[nodiscard]] std::size_t bytes() const { return q_.bytes(); }
  /// Number of Cholesky factorisations that Q is made of; 0: of reflections.
  [[nodiscard]] int repetitions() const { return repetitions_; }

 private:
  Dense<T> factor_by_reflections(Cuda& backend, Dense<T> S);

  Dense<T> q_;
  int repetitions_ = 0;
};

template <class T>
[[nodiscard]] std::vector<int> exponents_of_columns(Cuda& backend, const Dense<T>& S);

}  // namespace echelon::lu
