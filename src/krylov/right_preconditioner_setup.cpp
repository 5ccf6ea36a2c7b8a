// SPDX-License-Identifier: BSD-3-Clause
#include "krylov/right_preconditioner_setup.hpp"

#include "backend/target.hpp"
#include "linalg/blas/blas.hpp"
#include "linalg/blas/lapack.hpp"
#include "linalg/blas/threads.hpp"
#include "linalg/spgemm/product.hpp"
#include "matrix/host_copy.hpp"
#include "matrix/views/adjoint.hpp"
#include "support/machine_epsilon.hpp"
#include "support/scalar.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <array>
#include <vector>

namespace echelon::krylov {

namespace {

template <class T>
Dense<T> identity(std::int64_t n, std::int64_t order) {
  Dense<T> I(Device::serial(), n, n);
  std::fill(I.data(), I.data() + n * n, T{0});
  for (std::int64_t i = 0; i < order; ++i) I(i, i) = T{1};
  return I;
}

/// The upper triangle of the first n rows of `factors`, above zeros.
template <class T>
Dense<T> upper_triangle(const Dense<T>& factors) {
  const std::int64_t n = factors.columns();
  Dense<T> R(Device::serial(), n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) R(i, j) = i <= j ? factors(i, j) : T{0};
  }
  return R;
}

/// X = T^-1 X for the leading upper triangle T of the given order.
template <class T>
void solve_upper(std::int64_t order, const Dense<T>& triangle, Dense<T>& X) {
  blas::trsm(CblasUpper, CblasNoTrans, CblasNonUnit, blas::dimension(order), blas::dimension(order),
             triangle.data(), blas::dimension(triangle.rows()), X.data(), blas::dimension(X.rows()));
}

/// Pi Z^H T^-1 for a triangular R that is singular to working precision; R is overwritten.
template <class T>
SketchInverse<T> invert_deficient(Dense<T>& R) {
  const std::int64_t n = R.columns();
  const int order = blas::dimension(n);
  std::vector<int> pivots(static_cast<std::size_t>(n), 0);
  std::vector<T> tau(static_cast<std::size_t>(n));
  lapack::geqp3(order, order, R.data(), order, pivots.data(), tau.data());
  const double smallest = static_cast<double>(n) * machine_epsilon<T> * magnitude(R(0, 0));
  std::int64_t rank = 0;
  while (rank < n && magnitude(R(rank, rank)) > smallest) ++rank;
  Dense<T> X = identity<T>(n, rank);
  const int r = blas::dimension(rank);
  if (rank > 0 && rank < n) lapack::tzrzf(r, order, R.data(), order, tau.data());
  solve_upper(rank, R, X);
  if (rank > 0 && rank < n)
    lapack::multiply_by_z(true, order, r, {r, R.data(), order, tau.data()}, X.data(), order);
  SketchInverse<T> result{Dense<T>(Device::serial(), n, n), rank};
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t row = pivots[static_cast<std::size_t>(i)] - 1;
    for (std::int64_t j = 0; j < n; ++j) result.inverse(row, j) = X(i, j);
  }
  return result;
}

}  // namespace

template <class T>
SketchInverse<T> invert_sketch(const Device& device, Dense<T>& sketch) {
  const std::int64_t n = sketch.columns();
  const blas::Threads threads(device, n);
  const int rows = blas::dimension(sketch.rows());
  std::vector<T> tau(static_cast<std::size_t>(n));
  lapack::geqrf(rows, blas::dimension(n), sketch.data(), rows, tau.data());
  Dense<T> R = upper_triangle(sketch);
  const double reciprocal =
      lapack::triangular_reciprocal_condition(blas::dimension(n), R.data(), blas::dimension(n));
  if (!(reciprocal > static_cast<double>(n) * machine_epsilon<T>)) return invert_deficient(R);
  SketchInverse<T> result{identity<T>(n, n), n};
  solve_upper(n, R, result.inverse);
  return result;
}

template <class T>
Csr<T> normal_matrix(const MatrixRef<T>& A, double damping) {
  const HostCopy<T> copy(A);
  const Csr<T>& matrix = *copy.matrix().csr();
  const Csr<T> adjoint_matrix = adjoint(matrix);
  Csr<T> normal = product_on<HostTarget, T>(std::array{&adjoint_matrix, &matrix});
  if (damping == 0) return normal;
  for (std::int64_t i = 0; i < normal.rows(); ++i) {
    for (std::int64_t k = normal.row_offsets()[i]; k < normal.row_offsets()[i + 1]; ++k) {
      if (normal.column_indices()[k] == i) normal.values()[k] += static_cast<Real<T>>(damping * damping);
    }
  }
  return normal;
}

#define ECHELON_INSTANTIATE(T)                                       \
  template SketchInverse<T> invert_sketch(const Device&, Dense<T>&); \
  template Csr<T> normal_matrix(const MatrixRef<T>&, double);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::krylov
