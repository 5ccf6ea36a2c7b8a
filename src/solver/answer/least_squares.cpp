// SPDX-License-Identifier: BSD-3-Clause
#include "solver/answer/least_squares.hpp"

#include "backend/dispatch.hpp"
#include "linalg/blas/decompositions.hpp"
#include "linalg/vector/column_exponents.hpp"
#include "matrix/host_copy.hpp"
#include "solver/answer/column_products.hpp"
#include "support/hypotenuse.hpp"
#include "support/machine_epsilon.hpp"
#include "support/scalar.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace echelon {

namespace {

/// ColumnProducts of a sparse A on the host.
template <class T>
ColumnProducts<T> products_of_columns(const Csr<T>& A, const std::vector<T>& r) {
  const auto n = static_cast<std::size_t>(A.columns());
  ColumnProducts<T> sums{std::vector<double>(n, 0), std::vector<double>(n, 0), std::vector<Dot<T>>(n, 0)};
  const auto for_each_element = [&](const auto& f) {
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
        f(static_cast<std::size_t>(i), static_cast<std::size_t>(A.column_indices()[k]),
          static_cast<Dot<T>>(A.values()[k]));
    }
  };
  for_each_element(
      [&](std::size_t, std::size_t j, Dot<T> a) { sums.size[j] = std::max(sums.size[j], magnitude(a)); });
  for_each_element([&](std::size_t i, std::size_t j, Dot<T> a) {
    if (sums.size[j] == 0) return;
    sums.square[j] += squared_magnitude(a / sums.size[j]);
    sums.product[j] += conj(a / sums.size[j]) * static_cast<Dot<T>>(r[i]);
  });
  return sums;
}

/// ColumnProducts of a matrix: of a dense one where it is, if that is the host or an NVIDIA GPU.
template <class T>
ColumnProducts<T> products_of_columns(const MatrixRef<T>& A, const Array<T>& r) {
  if (!A.is_sparse() && A.device().kind() == DeviceKind::cuda) {
    constexpr Targets targets = has_cuda(targets_of<T>) ? Targets::both : Targets::host;
    return on_target<targets>(
        A.device(), [&]<class Target>() { return column_products<Target, T>(A.dense(), r.data()); });
  }
  const HostCopy<T> copy(A);
  if (A.is_sparse()) return products_of_columns(*copy.matrix().csr(), r.to_vector());
  return column_products<HostTarget, T>(copy.matrix().dense(), r.to(Device()).data());
}

/// The normal residual of an operator, whose columns are not known.
template <class T>
NormalResidual of_operator(const LinearOperator<T>& A, const Array<T>& r, const std::vector<T>& x,
                           double damping, double matrix_norm) {
  if (!A.has_transpose() || !(matrix_norm > 0)) return {};
  Array<T> product(A.device(), A.columns());
  // A^H r is the conjugate of A^T conj(r).
  Array<T> conjugated;
  if constexpr (is_complex<T>) {
    std::vector<T> elements = r.to_vector();
    std::transform(elements.begin(), elements.end(), elements.begin(), [](T value) { return conj(value); });
    conjugated = Array<T>(A.device(), std::span<const T>(elements));
  }
  A.apply_transposed(is_complex<T> ? conjugated.data() : r.data(), product.data());
  double squares = 0;
  const std::vector<T> elements = product.to_vector();
  for (std::size_t j = 0; j < x.size(); ++j)
    squares += squared_magnitude(conj(static_cast<Dot<T>>(elements[j])) -
                                 damping * damping * static_cast<Dot<T>>(x[j]));
  return {std::sqrt(squares) / matrix_norm, std::sqrt(squares), matrix_norm};
}

}  // namespace

template <class T>
NormalResidual normal_residual(const MatrixRef<T>& A, const Array<T>& r, const std::vector<T>& x,
                               double damping, double matrix_norm) {
  if (A.is_operator()) return of_operator(*A.linear_operator(), r, x, damping, matrix_norm);
  const auto [size, square, product] = products_of_columns(A, r);
  NormalResidual found{0, 0, 0};
  for (std::size_t j = 0; j < size.size(); ++j) {
    if (size[j] == 0) continue;
    const double length = std::sqrt(square[j]);
    const Dot<T> penalty = damping / size[j] * damping * static_cast<Dot<T>>(x[j]);
    const double remaining = magnitude(product[j] - penalty);
    if (!(remaining / length <= found.largest)) found.largest = remaining / length;  // NaN, too
    found.norm2 = hypotenuse(found.norm2, remaining * size[j]);
    found.matrix_norm = hypotenuse(found.matrix_norm, length * size[j]);
  }
  return found;
}

template <class T>
bool is_decomposable(const MatrixRef<T>& A) {
  constexpr auto most = static_cast<double>(most_decomposed_rows);
  const auto less = static_cast<double>(std::min(A.rows(), A.columns()));
  const auto more = static_cast<double>(std::max(A.rows(), A.columns()));
  return !is_complex<T> && !A.is_operator() && less > 0 && more * more <= 4 * most * most &&
         less * less * more <= most * most * most;
}

template <class T>
std::optional<LeastSquaresSolution<T>> solve_least_squares(const MatrixRef<T>& A, const Dense<T>& B) {
  const std::vector<T> elements = to_dense(A).to_vector();
  const std::vector<T> rhs = B.to_vector();
  const auto m = static_cast<std::size_t>(A.rows());
  const auto n = static_cast<std::size_t>(A.columns());
  const auto k = static_cast<std::size_t>(B.columns());
  const std::size_t leading = std::max(m, n);

  std::vector<double> a(elements.begin(), elements.end());
  const std::vector<int> exponents = column_exponents(a.data(), m, n);
  for (std::size_t j = 0; j < exponents.size(); ++j) {
    for (std::size_t i = j * m; i < (j + 1) * m; ++i) a[i] = std::ldexp(a[i], -exponents[j]);
  }
  std::vector<double> x(leading * k, 0);
  for (std::size_t j = 0; j < k; ++j) {
    for (std::size_t i = 0; i < m; ++i) x[j * leading + i] = static_cast<double>(rhs[j * m + i]);
  }
  const double tolerance = static_cast<double>(leading) * machine_epsilon<T>;
  const std::optional<int> rank = lapack::least_squares(static_cast<int>(m), static_cast<int>(n),
                                                        static_cast<int>(k), a.data(), x.data(), tolerance);
  if (!rank) return std::nullopt;

  std::vector<T> result(n * k);
  for (std::size_t j = 0; j < k; ++j) {
    for (std::size_t i = 0; i < n; ++i) {
      const int exponent = exponents.empty() ? 0 : -exponents[i];
      result[j * n + i] = static_cast<T>(std::ldexp(x[j * leading + i], exponent));
    }
  }
  const Array<T> array(Device::serial(), std::span<const T>(result));
  return LeastSquaresSolution<T>{Dense<T>(A.columns(), B.columns(), array), *rank, exponents.empty()};
}

#define ECHELON_INSTANTIATE(T)                                                                         \
  template bool is_decomposable(const MatrixRef<T>&);                                                  \
  template NormalResidual normal_residual(const MatrixRef<T>&, const Array<T>&, const std::vector<T>&, \
                                          double, double);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

template std::optional<LeastSquaresSolution<float>> solve_least_squares(const MatrixRef<float>&,
                                                                        const Dense<float>&);
template std::optional<LeastSquaresSolution<double>> solve_least_squares(const MatrixRef<double>&,
                                                                         const Dense<double>&);

}  // namespace echelon
