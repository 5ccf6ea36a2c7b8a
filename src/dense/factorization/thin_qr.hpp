// SPDX-License-Identifier: BSD-3-Clause
/// Thin QR factorisation of a dense matrix with at least as many rows as columns, one for each backend.
#pragma once

#include "linalg/determinant_product.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon {
class Host;
class Cuda;
}  // namespace echelon

namespace echelon::lu {

/// Binary exponents by which columns of a matrix are scaled; empty if they are of about equal size.
template <class T>
[[nodiscard]] std::vector<int> exponents_of_columns(Host& backend, const Dense<T>& S);
template <class T>
[[nodiscard]] std::vector<int> exponents_of_columns(Cuda& backend, const Dense<T>& S);

/// S = Q R for an m by n S with m >= n > 0. `ThinQr<B, T>` has
///   factor(backend, S)              keeps Q, and returns R above zeros, n by n in host memory; waits;
///   multiply_adjoint(backend, B, Y, scratch) Y = Q^H B for a column-major B on the device and Y in host
///     memory;
///   multiply(backend, Y, X, scratch) X = Q Y for Y in host memory and X on the device; Y is overwritten;
///   multiply_by_determinant(product), bytes().
template <class B, class T>
class ThinQr;

/// By Householder reflections of LAPACK. 2 m n^2 - 2/3 n^3 flops, 4 m n for a column of a product.
template <class T>
class ThinQr<Host, T> {
 public:
  Dense<T> factor(Host& backend, Dense<T> S);
  void multiply_adjoint(Host& backend, DenseView<const T> B, DenseView<T> Y, Array<T>& scratch) const;
  void multiply(Host& backend, DenseView<T> Y, DenseView<T> X, Array<T>& scratch) const;
  void multiply_by_determinant(DeterminantProduct& product) const;
  [[nodiscard]] std::size_t bytes() const { return vectors_.bytes() + tau_.bytes(); }

 private:
  void multiply_by_q(bool adjoint, DenseView<T> Y) const;

  Dense<T> vectors_;  // of the reflections, below R
  Array<T> tau_;
};

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
  void multiply_adjoint(Cuda& backend, DenseView<const T> B, DenseView<T> Y, Array<T>& scratch) const;
  void multiply(Cuda& backend, DenseView<T> Y, DenseView<T> X, Array<T>& scratch) const;
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

}  // namespace echelon::lu
