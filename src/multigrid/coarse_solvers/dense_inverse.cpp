// SPDX-License-Identifier: BSD-3-Clause
#include "multigrid/coarse_solvers/dense_inverse.hpp"

#include "linalg/blas/blas.hpp"
#include "linalg/blas/decompositions.hpp"
#include "linalg/blas/lapack.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
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

std::vector<double> diagonal_of(const Square& a) {
  std::vector<double> diagonal(a.n);
  for (std::size_t i = 0; i < a.n; ++i) diagonal[i] = a(i, i);
  return diagonal;
}

/// Inverts A by Cholesky factorisation. Empty if a pivot is not positive beyond rounding, or A is so close to
/// a singular matrix that its eigenvalues must decide.
std::optional<Square> invert_definite(Square a) {
  const std::vector<double> diagonal = diagonal_of(a);
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

/// Inverse or pseudo-inverse, and an orthonormal basis of the null space, column by column.
struct SquareInverse {
  Square matrix;
  std::vector<double> null_space = {};
};

/// Pseudo-inverse: sum over k of left_k right_k^T / values_k for the values above `rounding` times the
/// largest. Columns of `left` with other values span the null space.
SquareInverse pseudo_inverse(const Square& left, const Square& right_transposed,
                             const std::vector<double>& values, double rounding) {
  const std::size_t n = left.n;
  SquareInverse result{Square(n)};
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::fabs(value));
  Square scaled = left;
  for (std::size_t k = 0; k < n; ++k) {
    const bool kept = std::fabs(values[k]) > rounding * largest;
    const double* column = left.elements.data() + k * n;
    if (!kept) result.null_space.insert(result.null_space.end(), column, column + n);
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
std::optional<SquareInverse> invert_beside_constants(Square a) {
  if (!maps_constants_to_zero(a)) return {};
  double shift = 0;  // a / n
  for (std::size_t i = 0; i < a.n; ++i) shift = std::max(shift, a(i, i));
  if (!(shift > 0)) return {};
  const auto n = static_cast<double>(a.n);
  shift /= n;
  std::vector<double> constant(a.n, 1 / std::sqrt(n));
  for (double& element : a.elements) element += shift;
  std::optional<Square> inverse = invert_definite(std::move(a));
  if (!inverse) return {};
  const double part = 1 / (shift * n * n);
  for (double& element : inverse->elements) element -= part;
  return SquareInverse{std::move(*inverse), std::move(constant)};
}

/// Pseudo-inverse of a symmetric A, whose eigenvalues up to `rounding` times the largest count as zero. Empty
/// if the iteration for eigenvectors does not converge.
std::optional<SquareInverse> invert_semidefinite(Square a, double rounding) {
  if (std::optional<SquareInverse> inverse = invert_beside_constants(a)) return inverse;
  std::vector<double> values(a.n);
  if (!lapack::symmetric_eigenvectors(a.size(), a.data(), values.data())) return {};
  SquareInverse result = pseudo_inverse(a, transpose_of(a), values, rounding);
  mirror_lower(result.matrix);
  return result;
}

/// Pseudo-inverse by singular vectors. Empty if the iteration for them does not converge.
std::optional<SquareInverse> invert_by_singular_vectors(Square a) {
  std::vector<double> values(a.n);
  Square u(a.n);
  Square v_transposed(a.n);
  if (!lapack::singular_vectors(a.size(), a.data(), values.data(), u.data(), v_transposed.data())) return {};
  return pseudo_inverse(transpose_of(v_transposed), transpose_of(u), values, rounding_of(a.n));
}

/// Largest |a_ii b_ii|.
double largest_product(const std::vector<double>& diagonal, const Square& b) {
  double largest = 0;
  for (std::size_t i = 0; i < b.n; ++i) largest = std::max(largest, std::fabs(diagonal[i] * b(i, i)));
  return largest;
}

/// Inverts A after giving each empty row a diagonal element: invert_square(a) returns the inverse if there is
/// one.
template <class T, class InvertSquare>
HostInverse invert_nonempty_rows(const Csr<T>& A, bool symmetric, const InvertSquare& invert_square) {
  if (A.rows() == 0) return {};                                // LAPACK refuses a leading dimension of 0
  const blas::Threads one_thread(Device::serial(), A.rows());  // bits do not depend on the thread count
  Square a = to_square(A, symmetric);
  double largest = 0;
  for (const double element : a.elements) {
    if (!std::isfinite(element)) return {};
    largest = std::max(largest, std::fabs(element));
  }
  const std::vector<std::size_t> empty = empty_rows(a);
  for (const std::size_t i : empty) a(i, i) = largest > 0 ? largest : 1;
  const std::vector<double> diagonal = diagonal_of(a);
  std::optional<SquareInverse> inverse = invert_square(std::move(a));
  if (!inverse) return {};
  for (const std::size_t i : empty) inverse->matrix(i, i) = 0;
  if (!symmetric) inverse->matrix = transpose_of(inverse->matrix);
  const auto dimension = static_cast<std::int64_t>(inverse->null_space.size()) / A.rows();
  const auto on_host = [](const std::vector<double>& elements) {
    return Array<double>(Device(), std::span<const double>(elements));
  };
  return {Dense<double>(A.rows(), A.rows(), on_host(inverse->matrix.elements)),
          Dense<double>(A.rows(), dimension, on_host(inverse->null_space)),
          largest_product(diagonal, inverse->matrix)};
}

/// The real matrix (Re A, -Im A; Im A, Re A), whose inverse, or pseudo-inverse, is that of the inverse of A.
template <class T>
Csr<double> real_form(const Csr<T>& A) {
  const Csr<T> host = A.to(Device());
  const auto n = static_cast<std::int32_t>(A.rows());
  std::vector<Triplet<double>> elements;
  elements.reserve(static_cast<std::size_t>(4 * A.nonzeros()));
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int64_t k = host.row_offsets()[i]; k < host.row_offsets()[i + 1]; ++k) {
      const std::int32_t j = host.column_indices()[k];
      const auto value = static_cast<std::complex<double>>(host.values()[k]);
      elements.insert(elements.end(), {{i, j, value.real()},
                                       {i, j + n, -value.imag()},
                                       {i + n, j, value.imag()},
                                       {i + n, j + n, value.real()}});
    }
  }
  return Csr<double>::from_triplets(2 * A.rows(), 2 * A.rows(), elements);
}

}  // namespace

template <class T>
HostInverse host_inverse(const Csr<T>& A, bool symmetric) {
  return invert_nonempty_rows(A, symmetric, [symmetric](Square a) -> std::optional<SquareInverse> {
    std::optional<Square> inverse = symmetric ? invert_definite(a) : invert_general(a);
    if (inverse) return SquareInverse{std::move(*inverse)};
    const double rounding = rounding_of(a.n);
    return symmetric ? invert_semidefinite(std::move(a), rounding) : invert_by_singular_vectors(std::move(a));
  });
}

template <class T>
HostInverse semidefinite_inverse(const Csr<T>& A) {
  return invert_nonempty_rows(A, true, [](Square a) {
    const double rounding =
        std::max(rounding_of(a.n), 4 * static_cast<double>(std::numeric_limits<T>::epsilon()));
    return invert_semidefinite(std::move(a), rounding);
  });
}

template <class To>
DenseInverse<To> rounded_inverse(const HostInverse& inverse, double scale, const Device& device) {
  constexpr std::int64_t parts = is_complex<To> ? 2 : 1;
  const std::int64_t order = inverse.transpose.rows();
  const std::int64_t n = order / parts;
  std::vector<To> elements(static_cast<std::size_t>(n * n));
  const double* const real = inverse.transpose.data();
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      To& element = elements[static_cast<std::size_t>(j + i * n)];
      if constexpr (is_complex<To>) {
        element = {static_cast<Real<To>>(real[j + i * order] / scale),
                   static_cast<Real<To>>(real[j + (n + i) * order] / scale)};
      } else {
        element = static_cast<To>(real[j + i * order] / scale);
      }
    }
  }
  return {Dense<To>(n, n, Array<To>(device, std::span<const To>(elements))),
          inverse.null_space.columns() / parts};
}

template <class To, class T>
DenseInverse<To> dense_inverse(const Csr<T>& A, double scale, bool hermitian) {
  if constexpr (is_complex<T>) {
    return rounded_inverse<To>(host_inverse(real_form(A), hermitian), scale, A.device());
  } else {
    return rounded_inverse<To>(host_inverse(A, hermitian), scale, A.device());
  }
}

template HostInverse host_inverse(const Csr<float>&, bool);
template HostInverse host_inverse(const Csr<double>&, bool);

template HostInverse semidefinite_inverse(const Csr<float>&);
template HostInverse semidefinite_inverse(const Csr<double>&);

template DenseInverse<float> rounded_inverse(const HostInverse&, double, const Device&);
template DenseInverse<double> rounded_inverse(const HostInverse&, double, const Device&);

template DenseInverse<float> dense_inverse(const Csr<float>&, double, bool);
template DenseInverse<float> dense_inverse(const Csr<double>&, double, bool);
template DenseInverse<double> dense_inverse(const Csr<double>&, double, bool);

#define ECHELON_INSTANTIATE(T)                                                         \
  template DenseInverse<T> rounded_inverse(const HostInverse&, double, const Device&); \
  template DenseInverse<T> dense_inverse(const Csr<T>&, double, bool);
ECHELON_FOR_EACH_COMPLEX(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::multigrid
