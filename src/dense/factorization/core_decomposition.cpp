// SPDX-License-Identifier: BSD-3-Clause
#include "dense/factorization/core_decomposition.hpp"

#include "dense/factorization/packed_factors.hpp"
#include "linalg/blas/blas.hpp"
#include "linalg/blas/lapack.hpp"
#include "support/scalar.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace echelon::lu {

namespace {

/// The adjoint of a square matrix.
template <class T>
Dense<T> adjoint_of(const Dense<T>& R) {
  Dense<T> result(R.device(), R.rows(), R.columns());
  for (std::int64_t j = 0; j < R.columns(); ++j) {
    for (std::int64_t i = 0; i < R.rows(); ++i) result(j, i) = conj(R(i, j));
  }
  return result;
}

template <class T>
lapack::Reflections<T> reflections_of(const Dense<T>& vectors, const Array<T>& tau) {
  return {blas::dimension(tau.size()), vectors.data(),
          blas::dimension(std::max<std::int64_t>(vectors.rows(), 1)), tau.data()};
}

/// Makes rows from `first` of Y zero.
template <class T>
void clear_rows_of(DenseView<T> Y, std::int64_t first) {
  for (std::int64_t j = 0; j < Y.columns(); ++j) std::fill(Y.column(j) + first, Y.column(j) + Y.rows(), T{0});
}

template <class T>
double norm_of_column(const Dense<T>& R, std::int64_t j) {
  double squares = 0;
  for (std::int64_t i = 0; i <= j; ++i) squares += squared_magnitude(R(i, j));
  return std::sqrt(squares);
}

template <class T>
double reciprocal_condition_of(std::int64_t order, const Dense<T>& triangle) {
  return lapack::triangular_reciprocal_condition(blas::dimension(order), triangle.data(),
                                                 blas::dimension(triangle.rows()));
}

}  // namespace

template <class T>
void CoreDecomposition<T>::clear() {
  *this = CoreDecomposition();
}

template <class T>
void CoreDecomposition<T>::factor_triangle(Dense<T> R, bool adjoint, const CoreTask& task) {
  clear();
  device_ = task.device;
  core_ = std::move(R);
  reciprocal_condition_ = reciprocal_condition_of(core_.columns(), core_);
  adjoint_ = adjoint;
  if (is_clearly_regular(task.tolerance)) return take_triangle(task.tolerance);
  factor(adjoint ? adjoint_of(core_) : std::move(core_), task);
}

/// Whether column pivoting would find the full rank without doubt: the ratio of its last pivot to the first
/// is at least 1 / kappa_2, and kappa_2 at most n times the condition number in the 1-norm, which is
/// estimated to a factor of ten.
template <class T>
bool CoreDecomposition<T>::is_clearly_regular(double tolerance) const {
  const double bound = reciprocal_condition_ / (10 * static_cast<double>(core_.columns()));
  return bound > clear_rank_gap * tolerance;
}

template <class T>
void CoreDecomposition<T>::take_triangle(double tolerance) {
  pivoted_ = false;
  rank_ = {.rank = core_.columns(), .tolerance = tolerance};
  double smallest = std::numeric_limits<double>::infinity();
  for (std::int64_t j = 0; j < core_.columns(); ++j) {
    largest_pivot_ = std::max(largest_pivot_, norm_of_column(core_, j));
    smallest = std::min(smallest, magnitude(core_(j, j)));
  }
  rank_.smallest_accepted = smallest / largest_pivot_;
}

template <class T>
void CoreDecomposition<T>::factor(Dense<T> C, const CoreTask& task) {
  clear();
  device_ = task.device;
  core_ = std::move(C);
  const blas::Threads threads(device_, core_.columns());
  const int rows = blas::dimension(core_.rows());
  const int columns = blas::dimension(core_.columns());
  core_tau_ = Array<T>(Device::serial(), std::min(core_.rows(), core_.columns()));
  pivots_.assign(static_cast<std::size_t>(core_.columns()), 0);
  lapack::geqp3(rows, columns, core_.data(), rows, pivots_.data(), core_tau_.data());
  decide_rank(task.tolerance);
  const std::int64_t k = rank_.rank;
  if (k > 0 && k < core_.columns() && !task.basic) {
    z_tau_ = Array<T>(Device::serial(), k);
    lapack::tzrzf(blas::dimension(k), columns, core_.data(), rows, z_tau_.data());
  }
  if (k > 0) reciprocal_condition_ = reciprocal_condition_of(k, core_);
}

template <class T>
void CoreDecomposition<T>::decide_rank(double tolerance) {
  rank_.tolerance = tolerance;
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
DenseView<T> CoreDecomposition<T>::unknowns(DenseView<T> Y) const {
  return {Y.data(), core_.columns(), Y.columns(), Y.leading(), Y.device()};
}

/// Y = T11^-1 Y, or T11^-H Y.
template <class T>
void CoreDecomposition<T>::solve_triangle(bool adjoint, DenseView<T> Y) const {
  blas::trsm(CblasUpper, adjoint != adjoint_ ? CblasConjTrans : CblasNoTrans, CblasNonUnit,
             blas::dimension(rank_.rank), blas::dimension(Y.columns()), core_.data(),
             blas::dimension(core_.rows()), Y.data(), blas::dimension(Y.leading()));
}

template <class T>
void CoreDecomposition<T>::permute(DenseView<T> Y, bool back) const {
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

namespace {

/// Y = Z Y, or Z^H Y; no change where there is no Z.
template <class T>
void multiply_by_z_of(bool adjoint, const Dense<T>& core, const Array<T>& tau, DenseView<T> Y) {
  if (tau.size() == 0) return;
  lapack::multiply_by_z(adjoint, blas::dimension(Y.rows()), blas::dimension(Y.columns()),
                        reflections_of(core, tau), Y.data(), blas::dimension(Y.leading()));
}

}  // namespace

template <class T>
void CoreDecomposition<T>::solve(DenseView<T> Y) const {
  const blas::Threads threads(device_, core_.columns());
  if (!pivoted_) return solve_triangle(false, Y);
  lapack::multiply_by_q(true, blas::dimension(core_.rows()), blas::dimension(Y.columns()),
                        reflections_of(core_, core_tau_), Y.data(), blas::dimension(Y.leading()));
  solve_triangle(false, Y);
  clear_rows_of(unknowns(Y), rank_.rank);
  multiply_by_z_of(true, core_, z_tau_, unknowns(Y));
  permute(unknowns(Y), true);
}

template <class T>
void CoreDecomposition<T>::solve_normal(DenseView<T> Y) const {
  const blas::Threads threads(device_, core_.columns());
  if (pivoted_) permute(unknowns(Y), false);
  multiply_by_z_of(false, core_, z_tau_, unknowns(Y));
  solve_triangle(true, Y);
  solve_triangle(false, Y);
  if (!pivoted_) return;
  clear_rows_of(unknowns(Y), rank_.rank);
  multiply_by_z_of(true, core_, z_tau_, unknowns(Y));
  permute(unknowns(Y), true);
}

template <class T>
void CoreDecomposition<T>::multiply_by_determinant(DeterminantProduct& product) const {
  multiply_by_diagonal(product, core_);
  if (!pivoted_) return;
  multiply_by_reflections(product, core_tau_.to_vector());
  std::vector<int> order = pivots_;
  for (int& column : order) --column;
  product.permute(order);
}

#define ECHELON_INSTANTIATE(T) template class CoreDecomposition<T>;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::lu
