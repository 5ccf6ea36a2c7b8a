// SPDX-License-Identifier: BSD-3-Clause
#include "dense/factorization/orthogonal.hpp"

#include "dense/factorization/packed_factors.hpp"
#include "linalg/blas/blas.hpp"
#include "linalg/blas/lapack.hpp"
#include "linalg/determinant_product.hpp"
#include "linalg/vector/column_exponents.hpp"
#include "support/machine_epsilon.hpp"
#include "support/scalar.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace echelon::lu {

namespace {

/// A as a column-major matrix in host memory, or its adjoint.
template <class T>
Dense<T> host_copy(const MatrixRef<T>& A, bool adjoint) {
  Dense<T> given = to_dense(A).to(Device::serial());
  if (!adjoint) return given;
  Dense<T> result(Device::serial(), A.columns(), A.rows());
  for (std::int64_t j = 0; j < given.columns(); ++j) {
    for (std::int64_t i = 0; i < given.rows(); ++i) result(j, i) = conj(given(i, j));
  }
  return result;
}

/// Copies the rows of `target` from `source`.
template <class T>
void copy_rows(DenseView<const T> source, DenseView<T> target) {
  for (std::int64_t j = 0; j < target.columns(); ++j)
    std::copy(source.column(j), source.column(j) + target.rows(), target.column(j));
}

/// The first rows of a matrix.
template <class T>
DenseView<T> top(DenseView<T> Y, std::int64_t rows) {
  return {Y.data(), rows, Y.columns(), Y.leading(), Y.device()};
}

/// The triangle R of S = Q R, or its adjoint, as a full matrix.
template <class T>
Dense<T> triangle_of(const Dense<T>& outer, bool adjoint) {
  const std::int64_t n = outer.columns();
  const std::vector<T> zeros(static_cast<std::size_t>(n * n), T{0});
  Dense<T> core(n, n, Array<T>(Device::serial(), std::span<const T>(zeros)));
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i <= j; ++i)
      (adjoint ? core(j, i) : core(i, j)) = adjoint ? conj(outer(i, j)) : outer(i, j);
  }
  return core;
}

template <class T>
lapack::Reflections<T> reflections(const Dense<T>& vectors, std::int64_t count, const Array<T>& tau) {
  return {blas::dimension(count), vectors.data(), blas::dimension(std::max<std::int64_t>(vectors.rows(), 1)),
          tau.data()};
}

template <class T>
void multiply_by_q(bool adjoint, const Dense<T>& vectors, const Array<T>& tau, DenseView<T> Y) {
  lapack::multiply_by_q(adjoint, blas::dimension(vectors.rows()), blas::dimension(Y.columns()),
                        reflections(vectors, tau.size(), tau), Y.data(), blas::dimension(Y.leading()));
}

/// X = R^-1 X, or R^-H X, for the leading triangle of order n of `core`.
template <class T>
void solve_triangle(bool adjoint, std::int64_t n, const Dense<T>& core, DenseView<T> X) {
  blas::trsm(CblasUpper, adjoint ? CblasConjTrans : CblasNoTrans, CblasNonUnit, blas::dimension(n),
             blas::dimension(X.columns()), core.data(), blas::dimension(core.rows()), X.data(),
             blas::dimension(X.leading()));
}

/// Makes rows from `first` of Y zero.
template <class T>
void clear_rows(DenseView<T> Y, std::int64_t first) {
  for (std::int64_t j = 0; j < Y.columns(); ++j) std::fill(Y.column(j) + first, Y.column(j) + Y.rows(), T{0});
}

}  // namespace

template <class T>
bool OrthogonalDecomposition<T>::factor(const DecompositionTask<T>& task) {
  device_ = task.device;
  rows_ = task.A.rows();
  columns_ = task.A.columns();
  basic_ = task.basic;
  wide_ = rows_ < columns_ && !basic_;
  rank_ = {};
  reciprocal_condition_ = 1;
  exponents_.clear();
  outer_ = core_ = Dense<T>();
  if (std::min(rows_, columns_) == 0) return true;
  Dense<T> S = host_copy(task.A, wide_);
  const auto m = static_cast<std::size_t>(S.rows());
  exponents_ = column_exponents(S.data(), m, static_cast<std::size_t>(S.columns()));
  for (std::size_t j = 0; j < exponents_.size(); ++j) {
    for (std::size_t i = j * m; i < (j + 1) * m; ++i)
      S.data()[i] = scaled_by_power(S.data()[i], -exponents_[j]);
  }
  const blas::Threads threads(device_, std::max(rows_, columns_));
  if (task.control.stops_at(0)) return false;
  if (S.rows() < S.columns()) {
    core_ = std::move(S);
  } else {
    outer_ = std::move(S);
    outer_tau_ = Array<T>(Device::serial(), outer_.columns());
    lapack::geqrf(blas::dimension(outer_.rows()), blas::dimension(outer_.columns()), outer_.data(),
                  blas::dimension(outer_.rows()), outer_tau_.data());
    core_ = triangle_of(outer_, wide_);
  }
  if (task.control.stops_at(0.7)) return false;
  factor_core();
  decide_rank(task.tolerance, std::max(rows_, columns_));
  const std::int64_t k = rank_.rank;
  if (k > 0 && k < core_.columns() && !basic_) {
    z_tau_ = Array<T>(Device::serial(), k);
    lapack::tzrzf(blas::dimension(k), blas::dimension(core_.columns()), core_.data(),
                  blas::dimension(core_.rows()), z_tau_.data());
  }
  if (k > 0)
    reciprocal_condition_ = lapack::triangular_reciprocal_condition(blas::dimension(k), core_.data(),
                                                                    blas::dimension(core_.rows()));
  return !task.control.stops_at(1);
}

template <class T>
void OrthogonalDecomposition<T>::factor_core() {
  z_tau_ = Array<T>();
  core_tau_ = Array<T>(Device::serial(), std::min(core_.rows(), core_.columns()));
  pivots_.assign(static_cast<std::size_t>(core_.columns()), 0);
  lapack::geqp3(blas::dimension(core_.rows()), blas::dimension(core_.columns()), core_.data(),
                blas::dimension(core_.rows()), pivots_.data(), core_tau_.data());
}

template <class T>
void OrthogonalDecomposition<T>::decide_rank(std::optional<double> tolerance, std::int64_t larger_side) {
  const double epsilon = machine_epsilon<T>;
  rank_.tolerance = tolerance.value_or(static_cast<double>(larger_side) * epsilon);
  largest_pivot_ = magnitude(core_(0, 0));
  const double largest = largest_pivot_;
  const std::int64_t full = core_tau_.size();
  if (!(largest > 0)) return;
  while (rank_.rank < full) {
    const double pivot = magnitude(core_(rank_.rank, rank_.rank)) / largest;
    if (!(pivot > rank_.tolerance)) {
      rank_.largest_rejected = pivot;
      break;
    }
    rank_.smallest_accepted = pivot;
    ++rank_.rank;
  }
  const double below = rank_.rank < full ? rank_.largest_rejected : rank_.tolerance;
  rank_.doubtful = rank_.smallest_accepted < clear_rank_gap * below;
}

template <class T>
void OrthogonalDecomposition<T>::scale_rows(DenseView<T> Y) const {
  for (std::size_t i = 0; i < exponents_.size(); ++i) {
    for (std::int64_t j = 0; j < Y.columns(); ++j) {
      T& element = Y(static_cast<std::int64_t>(i), j);
      element = scaled_by_power(element, -exponents_[i]);
    }
  }
}

template <class T>
void OrthogonalDecomposition<T>::permute(DenseView<T> Y, bool back) const {
  std::vector<T> copy(pivots_.size());
  for (std::int64_t c = 0; c < Y.columns(); ++c) {
    T* const y = Y.column(c);
    std::copy(y, y + copy.size(), copy.begin());
    for (std::size_t j = 0; j < copy.size(); ++j) {
      const auto pivot = static_cast<std::size_t>(pivots_[j] - 1);
      if (back) {
        y[pivot] = copy[j];
      } else {
        y[j] = copy[pivot];
      }
    }
  }
}

template <class T>
void OrthogonalDecomposition<T>::solve_core(DenseView<T> Y) const {
  const DenseView<T> unknowns = top(Y, core_.columns());
  multiply_by_q(true, core_, core_tau_, top(Y, core_.rows()));
  solve_triangle(false, rank_.rank, core_, Y);
  clear_rows(unknowns, rank_.rank);
  if (z_tau_.size() > 0)
    lapack::multiply_by_z(true, blas::dimension(unknowns.rows()), blas::dimension(Y.columns()),
                          reflections(core_, z_tau_.size(), z_tau_), Y.data(), blas::dimension(Y.leading()));
  permute(unknowns, true);
}

template <class T>
void OrthogonalDecomposition<T>::solve_normal_core(DenseView<T> Y) const {
  const DenseView<T> unknowns = top(Y, core_.columns());
  permute(unknowns, false);
  const auto multiply_by_z = [&](bool adjoint) {
    if (z_tau_.size() == 0) return;
    lapack::multiply_by_z(adjoint, blas::dimension(unknowns.rows()), blas::dimension(Y.columns()),
                          reflections(core_, z_tau_.size(), z_tau_), Y.data(), blas::dimension(Y.leading()));
  };
  multiply_by_z(false);
  solve_triangle(true, rank_.rank, core_, Y);
  solve_triangle(false, rank_.rank, core_, Y);
  clear_rows(unknowns, rank_.rank);
  multiply_by_z(true);
  permute(unknowns, true);
}

template <class T>
void OrthogonalDecomposition<T>::solve(Space& /*space*/, DenseView<const T> B, DenseView<T> X) const {
  if (X.columns() == 0 || columns_ == 0) return;
  if (rank_.rank == 0) return clear_rows(X, 0);
  const blas::Threads threads(device_, std::max(rows_, columns_));
  Dense<T> Y(Device::serial(), std::max(rows_, columns_), B.columns());
  copy_rows<T>(B, top(Y.view(), rows_));
  if (wide_) {
    scale_rows(top(Y.view(), rows_));
    solve_core(Y.view());
    clear_rows(Y.view(), rows_);
    multiply_by_q(false, outer_, outer_tau_, Y.view());
  } else {
    if (outer_.rows() > 0) multiply_by_q(true, outer_, outer_tau_, Y.view());
    solve_core(Y.view());
    scale_rows(top(Y.view(), columns_));
  }
  copy_rows<T>(Y.view(), X);
}

template <class T>
void OrthogonalDecomposition<T>::solve_normal(Space& /*space*/, DenseView<const T> G, DenseView<T> D) const {
  if (D.columns() == 0 || columns_ == 0) return;
  if (rank_.rank == 0) return clear_rows(D, 0);
  const blas::Threads threads(device_, std::max(rows_, columns_));
  Dense<T> Y(Device::serial(), columns_, G.columns());
  copy_rows<T>(G, Y.view());
  scale_rows(Y.view());
  solve_normal_core(Y.view());
  scale_rows(Y.view());
  copy_rows<T>(Y.view(), D);
}

template <class T>
Determinant OrthogonalDecomposition<T>::determinant() const {
  if (rank_.rank < columns_) return {};
  DeterminantProduct product;
  if (columns_ == 0) return product.value();
  multiply_by_diagonal(product, core_);
  multiply_by_reflections(product, outer_tau_.to_vector());
  multiply_by_reflections(product, core_tau_.to_vector());
  std::vector<int> order = pivots_;
  for (int& column : order) --column;
  product.permute(order);
  for (const int exponent : exponents_) product.multiply_by_power_of_two(exponent);
  return product.value();
}

#define ECHELON_INSTANTIATE(T) template class OrthogonalDecomposition<T>;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::lu
