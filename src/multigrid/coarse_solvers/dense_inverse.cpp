// SPDX-License-Identifier: BSD-3-Clause
#include "multigrid/coarse_solvers/dense_inverse.hpp"

#include "linalg/blas/blas.hpp"
#include "linalg/blas/decompositions.hpp"
#include "linalg/blas/lapack.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace echelon::multigrid {

namespace {

/// A square column-major matrix on the host.
struct Square {
  std::size_t n = 0;
  std::vector<double> elements;

  explicit Square(std::size_t size) : n(size), elements(size * size) {}
  double& operator()(std::size_t i, std::size_t j) { return elements[i + j * n]; }
  double operator()(std::size_t i, std::size_t j) const { return elements[i + j * n]; }
  [[nodiscard]] int size() const { return static_cast<int>(n); }
  double* data() { return elements.data(); }
};

template <class T>
Square to_square(const Csr<T>& A, bool symmetric) {
  const Csr<T> host = A.to(Device());
  Square a(static_cast<std::size_t>(A.rows()));
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = host.row_offsets()[i]; k < host.row_offsets()[i + 1]; ++k) {
      const auto row = static_cast<std::size_t>(i);
      const auto column = static_cast<std::size_t>(host.column_indices()[k]);
      const auto value = static_cast<double>(host.values()[k]);
      a(row, column) += symmetric ? value / 2 : value;
      if (symmetric) a(column, row) += value / 2;
    }
  }
  return a;
}

/// Indices of the zero rows; in a nonsymmetric matrix the column has to be zero as well.
std::vector<std::size_t> empty_rows(const Square& a) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < a.n; ++i) {
    bool empty = true;
    for (std::size_t j = 0; j < a.n && empty; ++j) empty = a(i, j) == 0 && a(j, i) == 0;
    if (empty) rows.push_back(i);
  }
  return rows;
}

void mirror_lower(Square& a) {
  for (std::size_t j = 0; j < a.n; ++j) {
    for (std::size_t i = j + 1; i < a.n; ++i) a(j, i) = a(i, j);
  }
}

double rounding_of(std::size_t n) {
  return 10 * static_cast<double>(n) * std::numeric_limits<double>::epsilon();
}

/// Largest a_ii (A^-1)_ii, which is 1 for a diagonal matrix, up to which an inverse is trusted. Rounding
/// errors can make a singular matrix slightly definite without a pivot that shows it.
constexpr double trusted_growth = 1e8;

/// Inverts A by Cholesky factorisation. Empty if a pivot is not positive beyond rounding, or A is so close to
/// a singular matrix that its eigenvalues must decide.
std::optional<Square> invert_definite(Square a) {
  std::vector<double> diagonal(a.n);
  for (std::size_t i = 0; i < a.n; ++i) diagonal[i] = a(i, i);
  if (lapack::potrf(a.size(), a.data(), a.size()) != 0) return {};
  for (std::size_t i = 0; i < a.n; ++i) {
    if (!(a(i, i) * a(i, i) > rounding_of(a.n) * diagonal[i])) return {};
  }
  lapack::invert_factored(a.size(), a.data());
  for (std::size_t i = 0; i < a.n; ++i) {
    if (!(diagonal[i] * a(i, i) <= trusted_growth)) return {};
  }
  mirror_lower(a);
  return a;
}

/// Inverts A by LU factorisation. Empty if A is singular to working precision.
std::optional<Square> invert_general(Square a) {
  const double norm = lapack::norm_one(a.size(), a.data());
  std::vector<int> pivots(a.n);
  if (lapack::getrf(a.size(), a.size(), a.data(), a.size(), pivots.data()) != 0) return {};
  if (!(lapack::reciprocal_condition(a.size(), a.data(), norm) > std::numeric_limits<double>::epsilon())) {
    return {};
  }
  Square inverse(a.n);
  for (std::size_t i = 0; i < a.n; ++i) inverse(i, i) = 1;
  lapack::getrs(false, a.size(), a.size(), a.data(), pivots.data(), inverse.data(), a.size());
  return inverse;
}

/// Pseudo-inverse: sum over k of left_k right_k^T / values_k for the values that are not negligible.
struct PseudoInverse {
  Square matrix;
  std::int64_t null_space = 0;
};
PseudoInverse pseudo_inverse(const Square& left, const Square& right_transposed,
                             const std::vector<double>& values) {
  const std::size_t n = left.n;
  PseudoInverse result{Square(n)};
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::fabs(value));
  Square scaled = left;
  for (std::size_t k = 0; k < n; ++k) {
    const bool kept = std::fabs(values[k]) > rounding_of(n) * largest;
    if (!kept) ++result.null_space;
    for (std::size_t i = 0; i < n; ++i) scaled(i, k) = kept ? scaled(i, k) / values[k] : 0;
  }
  const int size = scaled.size();
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, size, size, size, 1, scaled.data(), size,
              right_transposed.elements.data(), size, 0, result.matrix.data(), size);
  return result;
}

Square transpose_of(const Square& a) {
  Square result(a.n);
  for (std::size_t j = 0; j < a.n; ++j) {
    for (std::size_t i = 0; i < a.n; ++i) result(j, i) = a(i, j);
  }
  return result;
}

/// True if the rows of A sum to zero up to rounding.
bool maps_constants_to_zero(const Square& a) {
  double largest_sum = 0;
  double largest_row = 0;
  for (std::size_t i = 0; i < a.n; ++i) {
    double sum = 0;
    double magnitudes = 0;
    for (std::size_t j = 0; j < a.n; ++j) {
      sum += a(j, i);
      magnitudes += std::fabs(a(j, i));
    }
    largest_sum = std::max(largest_sum, std::fabs(sum));
    largest_row = std::max(largest_row, magnitudes);
  }
  return largest_sum <= rounding_of(a.n) * largest_row;
}

/// Pseudo-inverse of a symmetric semidefinite A that maps constants, and no other vectors, to zero: with
/// v = (1, ..., 1) / sqrt(n) and any a > 0 it is (A + a v v^T)^-1 - v v^T / a. Empty for other matrices. It
/// takes a third of the time of one by eigenvectors.
std::optional<PseudoInverse> invert_beside_constants(Square a) {
  if (!maps_constants_to_zero(a)) return {};
  double shift = 0;  // a / n
  for (std::size_t i = 0; i < a.n; ++i) shift = std::max(shift, a(i, i));
  if (!(shift > 0)) return {};
  const auto n = static_cast<double>(a.n);
  shift /= n;
  for (double& element : a.elements) element += shift;
  std::optional<Square> inverse = invert_definite(std::move(a));
  if (!inverse) return {};
  const double part = 1 / (shift * n * n);
  for (double& element : inverse->elements) element -= part;
  return PseudoInverse{std::move(*inverse), 1};
}

std::optional<PseudoInverse> invert_singular(Square a, bool symmetric) {
  std::vector<double> values(a.n);
  if (symmetric) {
    if (std::optional<PseudoInverse> inverse = invert_beside_constants(a)) return inverse;
    if (!lapack::symmetric_eigenvectors(a.size(), a.data(), values.data())) return {};
    PseudoInverse result = pseudo_inverse(a, transpose_of(a), values);
    mirror_lower(result.matrix);
    return result;
  }
  Square u(a.n);
  Square v_transposed(a.n);
  if (!lapack::singular_vectors(a.size(), a.data(), values.data(), u.data(), v_transposed.data())) return {};
  return pseudo_inverse(transpose_of(v_transposed), transpose_of(u), values);
}

}  // namespace

template <class To, class T>
DenseInverse<To> dense_inverse(const Csr<T>& A, double scale, bool symmetric) {
  DenseInverse<To> result;
  if (A.rows() == 0) return result;                            // LAPACK refuses a leading dimension of 0
  const blas::Threads one_thread(Device::serial(), A.rows());  // bits do not depend on the thread count
  Square a = to_square(A, symmetric);
  double largest = 0;
  for (const double element : a.elements) {
    if (!std::isfinite(element)) return result;
    largest = std::max(largest, std::fabs(element));
  }
  const std::vector<std::size_t> empty = empty_rows(a);
  for (const std::size_t i : empty) a(i, i) = largest > 0 ? largest : 1;
  std::optional<Square> inverse = symmetric ? invert_definite(a) : invert_general(a);
  if (!inverse) {
    std::optional<PseudoInverse> pseudo = invert_singular(std::move(a), symmetric);
    if (!pseudo) return result;
    result.null_space = pseudo->null_space;
    inverse = std::move(pseudo->matrix);
  }
  for (const std::size_t i : empty) (*inverse)(i, i) = 0;
  if (!symmetric) inverse = transpose_of(*inverse);
  std::vector<To> elements(inverse->elements.size());
  std::transform(inverse->elements.begin(), inverse->elements.end(), elements.begin(),
                 [scale](double element) { return static_cast<To>(element / scale); });
  result.transpose = Dense<To>(A.rows(), A.rows(), Array<To>(A.device(), std::span<const To>(elements)));
  return result;
}

template <class T>
Dense<double> null_space(const Csr<T>& A) {
  Dense<double> none(Device(), A.rows(), 0);
  if (A.rows() == 0) return none;
  const blas::Threads one_thread(Device::serial(), A.rows());
  Square a = to_square(A, true);
  double largest = 0;
  for (const double element : a.elements) {
    if (!std::isfinite(element)) return none;
    largest = std::max(largest, std::fabs(element));
  }
  for (const std::size_t i : empty_rows(a)) a(i, i) = largest > 0 ? largest : 1;
  if (invert_beside_constants(a)) {
    const std::vector<double> constant(a.n, 1 / std::sqrt(static_cast<double>(a.n)));
    return Dense<double>(A.rows(), 1, Array<double>(Device(), std::span<const double>(constant)));
  }
  std::vector<double> values(a.n);
  if (!lapack::symmetric_eigenvectors(a.size(), a.data(), values.data())) return none;
  const double spectral_norm = std::max(std::fabs(values.front()), std::fabs(values.back()));
  const double rounding =
      std::max(rounding_of(a.n), 4 * static_cast<double>(std::numeric_limits<T>::epsilon()));
  std::vector<double> basis;
  std::int64_t dimension = 0;
  for (std::size_t k = 0; k < a.n; ++k) {
    if (std::fabs(values[k]) > rounding * spectral_norm) continue;
    basis.insert(basis.end(), a.data() + k * a.n, a.data() + (k + 1) * a.n);
    ++dimension;
  }
  return Dense<double>(A.rows(), dimension, Array<double>(Device(), std::span<const double>(basis)));
}

template Dense<double> null_space(const Csr<float>&);
template Dense<double> null_space(const Csr<double>&);

template DenseInverse<float> dense_inverse(const Csr<float>&, double, bool);
template DenseInverse<float> dense_inverse(const Csr<double>&, double, bool);
template DenseInverse<double> dense_inverse(const Csr<double>&, double, bool);

}  // namespace echelon::multigrid
