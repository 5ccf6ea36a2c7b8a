// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/qr/decomposition.hpp"

#include "backend/device/memory_limits.hpp"
#include "linalg/blas/blas.hpp"
#include "linalg/blas/lapack.hpp"
#include "linalg/vector/column_exponents.hpp"
#include "sparse_direct/pattern/analysis_cancelled.hpp"
#include "support/machine_epsilon.hpp"
#include "support/scalar.hpp"

#include <echelon/matrix/transform.hpp>

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

namespace echelon::sparse_direct {

namespace {

/// Vectors that inverse iteration looks for, and its steps for each.
constexpr std::size_t most_vectors = 32;
constexpr int inverse_steps = 3;
/// Factorisations with nearly dependent columns last.
constexpr int most_repetitions = 3;

template <class T>
double norm_of(const std::vector<T>& x) {
  double squares = 0;
  for (const T element : x) squares += squared_magnitude(element);
  return std::sqrt(squares);
}

/// Makes a vector of norm one orthogonal to others of norm one.
template <class T>
void orthonormalize(const std::vector<std::vector<T>>& others, std::vector<T>& v) {
  for (const std::vector<T>& other : others) {
    T product{0};
    for (std::size_t k = 0; k < v.size(); ++k) product += conj(other[k]) * v[k];
    for (std::size_t k = 0; k < v.size(); ++k) v[k] -= product * other[k];
  }
  const auto inverse = static_cast<Real<T>>(1 / norm_of(v));
  for (T& element : v) element *= inverse;
}

}  // namespace

/// S by rows and by columns: A and its transpose, or the reverse.
template <class T>
struct SparseDecomposition<T>::System {
  System(const MatrixRef<T>& A, const MatrixRef<T>* A_transpose, bool wide) {
    if (!A.is_sparse()) converted = to_csr(A);
    const Csr<T>& given = A.is_sparse() ? *A.csr() : converted;
    const bool known = A_transpose != nullptr && A_transpose->is_sparse();
    if (!known) transposed = transpose(given);
    const Csr<T>& other = known ? *A_transpose->csr() : transposed;
    by_rows = wide ? &other : &given;
    by_columns = wide ? &given : &other;
  }
  System(const System&) = delete;
  System& operator=(const System&) = delete;

  Csr<T> converted, transposed;
  const Csr<T>* by_rows = nullptr;
  const Csr<T>* by_columns = nullptr;
};

template <class T>
void SparseDecomposition<T>::scale(const System& system, bool equilibrates) {
  const int widest_spread = equilibrates ? 3 : 20;  // a decade, or six
  const Csr<T>& S = *system.by_rows;
  row_exponents_ = equilibrates ? exponents_of(row_sizes(S), widest_spread) : std::vector<int>();
  values_.resize(static_cast<std::size_t>(S.nonzeros()));
  for (std::int64_t i = 0; i < S.rows(); ++i) {
    for (std::int64_t k = S.row_offsets()[i]; k < S.row_offsets()[i + 1]; ++k) {
      const T value = wide_ ? conj(S.values()[k]) : S.values()[k];
      values_[k] = row_exponents_.empty() ? value : scaled_by_power(value, -row_exponents_[i]);
    }
  }
  scale_columns(system, widest_spread);
  std::vector<double> squares(static_cast<std::size_t>(columns_), 0);
  std::vector<double> sums(squares.size(), 0);
  double largest_row = 0;
  for (std::int64_t i = 0; i < S.rows(); ++i) {
    double sum = 0;
    for (std::int64_t k = S.row_offsets()[i]; k < S.row_offsets()[i + 1]; ++k) {
      const double size = magnitude(values_[k]);
      squares[S.column_indices()[k]] += size * size;
      sums[S.column_indices()[k]] += size;
      sum += size;
    }
    largest_row = std::max(largest_row, sum);
  }
  largest_norm_ = std::sqrt(*std::max_element(squares.begin(), squares.end()));
  bound_ = std::sqrt(*std::max_element(sums.begin(), sums.end())) * std::sqrt(largest_row);
}

template <class T>
void SparseDecomposition<T>::scale_columns(const System& system, int widest_spread) {
  // Squares of elements of this size, and their sums, neither overflow nor underflow.
  constexpr int safe = std::numeric_limits<Real<T>>::max_exponent / 4;
  const auto indices = system.by_rows->column_indices().span();
  std::vector<Real<T>> sizes(static_cast<std::size_t>(columns_), 0);
  for (std::size_t k = 0; k < values_.size(); ++k)
    sizes[indices[k]] = std::max(sizes[indices[k]], std::abs(values_[k]));
  exponents_ = exponents_of(sizes, widest_spread);
  uneven_ = !exponents_.empty();
  const Real<T> largest = *std::max_element(sizes.begin(), sizes.end());
  if (!uneven_ && largest > 0 && std::abs(std::ilogb(largest)) > safe)
    exponents_.assign(sizes.size(), std::ilogb(largest));
  if (exponents_.empty()) return;
  for (std::size_t k = 0; k < values_.size(); ++k)
    values_[k] = scaled_by_power(values_[k], -exponents_[indices[k]]);
}

template <class T>
void SparseDecomposition<T>::analyze(const System& system, const SetupControl& control) {
  const double least = std::max(rank_.tolerance * largest_norm_, 0.0);
  const auto is_large = [&](std::int64_t element) { return magnitude(values_[element]) > least; };
  const PatternKey key = pattern_key(*system.by_rows);
  if (!(key == key_)) {
    last_.clear();
  } else if (analyzed_last_ == last_.size() &&
             std::all_of(analysis_.singletons.begin(), analysis_.singletons.end(),
                         [&](const ColumnSingleton& s) { return is_large(s.element); })) {
    return;
  }
  key_ = {};
  const RectangularPattern rows = rectangular_pattern_of(*system.by_rows);
  analysis_ = analyze_qr(
      rows, find_column_singletons(rows, rectangular_pattern_of(*system.by_columns), last_, is_large),
      {.last = last_, .cancel = control});
  analyzed_last_ = last_.size();
  key_ = key;
}

/// Throws OutOfMemory if large factors do not fit.
template <class T>
void SparseDecomposition<T>::require_memory() const {
  constexpr std::size_t small = std::size_t{1} << 28;
  const std::size_t bytes =
      sizeof(T) * static_cast<std::size_t>(analysis_.factor_entries + analysis_.reflection_entries +
                                           analysis_.largest_front);
  if (bytes > small && bytes > host_memory().info.available) throw host_out_of_memory(bytes);
}

template <class T>
bool SparseDecomposition<T>::factor_columns(const System& system, double tolerance,
                                            const SetupControl& control) {
  try {
    analyze(system, control);
  } catch (const AnalysisCancelled&) {
    return false;
  }
  constexpr std::int64_t divided_front = 512;  // columns of a front whose products several threads share
  require_memory();
  const bool divides = analysis_.most_columns >= divided_front;
  const blas::Threads threads(divides ? device_ : Device::serial(), analysis_.most_columns);
  return factors_.factor(analysis_, {rectangular_pattern_of(*system.by_rows), values_}, tolerance, control);
}

template <class T>
bool SparseDecomposition<T>::factor(const DecompositionTask<T>& task) {
  const std::int64_t m = task.A.rows();
  const std::int64_t n = task.A.columns();
  basic_ = task.basic;
  wide_ = m < n && !basic_;
  rows_ = wide_ ? n : m;
  columns_ = wide_ ? m : n;
  rank_ = {};
  reciprocal_condition_ = 1;
  null_space_.reset();
  if (std::min(m, n) == 0) return true;
  const System system(task.A, &task.transpose, wide_);
  device_ = task.device;
  scale(system, m == n);
  if (!find_rank(system, task.tolerance, task.control)) return false;
  if (m != n || rank_.rank == n || (row_exponents_.empty() && !uneven_)) return true;
  scale(system, false);
  return find_rank(system, task.tolerance, task.control);
}

template <class T>
bool SparseDecomposition<T>::find_rank(const System& system, std::optional<double> tolerance,
                                       const SetupControl& control) {
  rank_ = {};
  null_space_.reset();
  rank_.tolerance = tolerance.value_or(static_cast<double>(std::max(rows_, columns_)) * machine_epsilon<T>);
  const blas::Threads threads(Device::serial(), 1);  // but for large fronts
  const double least = rank_.tolerance * largest_norm_;
  double smallest = 0;
  for (int repetition = 0;; ++repetition) {
    if (!factor_columns(system, least, control)) return false;
    const std::vector<std::int32_t> columns = nearly_dependent(least, smallest);
    if (columns.empty() || repetition == most_repetitions) break;
    last_.insert(last_.end(), columns.begin(), columns.end());
  }
  rank_.rank = factors_.rank();
  if (rank_.rank > 0) {
    const double accepted = std::min(factors_.smallest_pivot(), smallest);
    rank_.smallest_accepted = accepted / largest_norm_;
    reciprocal_condition_ = std::min(1.0, smallest / bound_);
  }
  rank_.largest_rejected = largest_norm_ > 0 ? factors_.largest_dropped() / largest_norm_ : 0;
  const bool full = rank_.rank == std::min(rows_, columns_);
  rank_.doubtful = rank_.rank > 0 && rank_.smallest_accepted <
                                         clear_rank_gap * (full ? rank_.tolerance : rank_.largest_rejected);
  return basic_ || factors_.dependent().empty() || factor_null_space(control);
}

/// One vector by inverse iteration with R11^H R11, orthogonal to those found; returns the singular value.
template <class T>
double SparseDecomposition<T>::near_null_vector(const std::vector<std::vector<T>>& found,
                                                std::vector<T>& v) const {
  std::vector<bool> is_pivot(static_cast<std::size_t>(columns_), true);
  for (const std::int32_t k : factors_.dependent()) is_pivot[k] = false;
  v.resize(is_pivot.size());
  for (std::size_t k = 0; k < v.size(); ++k) {
    const double wave = std::cos(static_cast<double>((found.size() + 1) * (k + 1)));
    v[k] = is_pivot[k] ? T(static_cast<Real<T>>(1 + wave)) : T{0};
  }
  orthonormalize(found, v);
  std::vector<T> g(v.size());
  std::vector<T> y(static_cast<std::size_t>(rows_));
  Space space;
  double growth = 1;
  for (int step = 0; step < inverse_steps; ++step) {
    g = v;
    factors_.solve_adjoint(g.data(), y.data(), space);
    factors_.solve(y.data(), v.data(), space);
    growth = norm_of(v);
    if (!std::isfinite(growth)) return 0;
    orthonormalize(found, v);
  }
  return 1 / std::sqrt(growth);
}

/// Columns of S that other pivots of R11 nearly determine, and the smallest singular value of R11.
template <class T>
std::vector<std::int32_t> SparseDecomposition<T>::nearly_dependent(double tolerance, double& smallest) const {
  std::vector<std::vector<T>> vectors;
  std::vector<T> v;
  smallest = 0;
  const auto most = std::min(most_vectors, static_cast<std::size_t>(factors_.rank()));
  while (vectors.size() < most) {
    // A dependent element of v is zero, and stays so.
    const double value = near_null_vector(vectors, v);
    if (vectors.empty()) smallest = value;
    if (!(value <= tolerance) || !std::isfinite(norm_of(v))) break;
    vectors.push_back(v);
  }
  if (vectors.empty()) return {};
  const auto count = blas::dimension(std::ssize(vectors));
  const auto n = blas::dimension(columns_);
  std::vector<T> rows(vectors.size() * static_cast<std::size_t>(n));
  for (std::size_t k = 0; k < vectors.size(); ++k) {
    for (std::size_t j = 0; j < static_cast<std::size_t>(n); ++j)
      rows[k + j * vectors.size()] = conj(vectors[k][j]);
  }
  std::vector<int> pivots(static_cast<std::size_t>(n), 0);
  std::vector<T> tau(vectors.size());
  lapack::geqp3(count, n, rows.data(), count, pivots.data(), tau.data());
  std::vector<std::int32_t> columns;
  for (std::size_t k = 0; k < vectors.size(); ++k)
    columns.push_back(analysis_.order[static_cast<std::size_t>(pivots[k] - 1)]);
  std::erase_if(columns,
                [&](std::int32_t j) { return std::find(last_.begin(), last_.end(), j) != last_.end(); });
  return columns;
}

template <class T>
bool SparseDecomposition<T>::factor_null_space(const SetupControl& control) {
  const std::vector<std::int32_t>& dependent = factors_.dependent();
  std::vector<std::int64_t> column_begin = {0};
  std::vector<std::int32_t> rows;
  std::vector<T> elements;
  std::vector<T> y(static_cast<std::size_t>(rows_));
  std::vector<T> x(static_cast<std::size_t>(columns_));
  Space space;
  for (const std::int32_t column : dependent) {
    if (control.stop_requested()) return false;
    std::fill(y.begin(), y.end(), T{0});
    std::fill(x.begin(), x.end(), T{0});
    x[column] = T{1};
    factors_.solve(y.data(), x.data(), space);
    for (std::int32_t k = 0; k < columns_; ++k) {
      if (x[k] == T{0}) continue;
      rows.push_back(k);
      elements.push_back(x[k]);
    }
    column_begin.push_back(std::ssize(rows));
  }
  const Device host = Device::serial();
  const Csr<T> adjoint(std::ssize(dependent), columns_,
                       Array<std::int64_t>(host, std::span<const std::int64_t>(column_begin)),
                       Array<std::int32_t>(host, std::span<const std::int32_t>(rows)),
                       Array<T>(host, std::span<const T>(elements)));
  const Csr<T> N = transpose(adjoint);
  const RectangularPattern pattern = rectangular_pattern_of(N);
  null_space_ = std::make_unique<NullSpace>();
  const auto is_large = [](std::int64_t) { return true; };
  null_space_->analysis =
      analyze_qr(pattern, find_column_singletons(pattern, rectangular_pattern_of(adjoint), {}, is_large),
                 {.cancel = control});
  const std::span<const T> values(N.values().data(), static_cast<std::size_t>(N.nonzeros()));
  return null_space_->factors.factor(null_space_->analysis, {pattern, values}, 0, control.without_progress());
}

/// Replaces x, in the order of R, by its projection on the complement of the null space.
template <class T>
void SparseDecomposition<T>::project(T* x, Space& space) const {
  if (!null_space_) return;
  null_space_->factors.multiply_by_q(true, x, space);
  null_space_->factors.clear_pivots(x);
  null_space_->factors.multiply_by_q(false, x, space);
}

/// x = E x for x by columns of S, in the order of R.
template <class T>
void SparseDecomposition<T>::gather(const T* of_columns, std::vector<T>& x) const {
  x.resize(static_cast<std::size_t>(columns_));
  for (std::size_t k = 0; k < x.size(); ++k) {
    const std::int32_t j = analysis_.order[k];
    x[k] = exponents_.empty() ? of_columns[j] : scaled_by_power(of_columns[j], -exponents_[j]);
  }
}

/// The reverse: E x by columns of S.
template <class T>
void SparseDecomposition<T>::scatter(const std::vector<T>& x, T* of_columns) const {
  for (std::size_t k = 0; k < x.size(); ++k) {
    const std::int32_t j = analysis_.order[k];
    of_columns[j] = exponents_.empty() ? x[k] : scaled_by_power(x[k], -exponents_[j]);
  }
}

template <class T>
void SparseDecomposition<T>::solve(Space& space, DenseView<const T> B, DenseView<T> X) const {
  const std::int64_t unknowns = wide_ ? rows_ : columns_;
  std::vector<T>& y = space.y;
  for (std::int64_t c = 0; c < X.columns(); ++c) {
    const T* const b = B.column(c);
    if (rank_.rank == 0) {
      std::fill_n(X.column(c), unknowns, T{0});
    } else if (wide_) {
      gather(b, space.x);
      project(space.x.data(), space);
      y.assign(static_cast<std::size_t>(rows_), T{0});
      factors_.solve_adjoint(space.x.data(), y.data(), space);
      factors_.multiply_by_q(false, y.data(), space);
      std::copy(y.begin(), y.end(), X.column(c));
    } else {
      space.x.assign(static_cast<std::size_t>(columns_), T{0});
      y.resize(static_cast<std::size_t>(rows_));
      for (std::size_t i = 0; i < y.size(); ++i)
        y[i] = row_exponents_.empty() ? b[i] : scaled_by_power(b[i], -row_exponents_[i]);
      factors_.multiply_by_q(true, y.data(), space);
      factors_.solve(y.data(), space.x.data(), space);
      project(space.x.data(), space);
      scatter(space.x, X.column(c));
    }
  }
}

template <class T>
void SparseDecomposition<T>::solve_normal(Space& space, DenseView<const T> G, DenseView<T> D) const {
  std::vector<T>& x = space.x;
  for (std::int64_t c = 0; c < D.columns(); ++c) {
    if (rank_.rank == 0) {
      std::fill_n(D.column(c), columns_, T{0});
      continue;
    }
    gather(G.column(c), x);
    project(x.data(), space);
    space.y.resize(static_cast<std::size_t>(rows_));
    factors_.solve_adjoint(x.data(), space.y.data(), space);
    std::fill(x.begin(), x.end(), T{0});
    factors_.solve(space.y.data(), x.data(), space);
    project(x.data(), space);
    scatter(x, D.column(c));
  }
}

template <class T>
Determinant SparseDecomposition<T>::determinant() const {
  if (rank_.rank < columns_) return {};
  DeterminantProduct product;
  if (columns_ == 0) return product.value();
  factors_.multiply_determinant(product);
  for (const int exponent : exponents_) product.multiply_by_power_of_two(exponent);
  for (const int exponent : row_exponents_) product.multiply_by_power_of_two(exponent);
  return product.value();
}

template <class T>
std::optional<CostPrediction> SparseDecomposition<T>::predict_cost(const MatrixRef<T>& A) {
  wide_ = A.rows() < A.columns();
  rows_ = std::max(A.rows(), A.columns());
  columns_ = std::min(A.rows(), A.columns());
  if (columns_ == 0) return CostPrediction{};
  const System system(A, nullptr, wide_);
  scale(system, A.rows() == A.columns());
  rank_ = {};
  analyze(system, {});
  const auto entries = static_cast<double>(analysis_.factor_entries + analysis_.reflection_entries);
  return CostPrediction{analysis_.flops, static_cast<std::size_t>(entries * sizeof(T))};
}

template <class T>
double SparseDecomposition<T>::column_spread() const {
  if (exponents_.empty()) return 1;
  const auto range = std::minmax_element(exponents_.begin(), exponents_.end());
  return std::ldexp(1.0, *range.second - *range.first);
}

template <class T>
std::vector<Statistic> SparseDecomposition<T>::statistics() const {
  return {{"singletons", analysis_.core_begin()},
          {"supernodes", analysis_.fronts.supernodes()},
          {"largest_front", analysis_.most_columns},
          {"factor_entries", analysis_.factor_entries},
          {"reflection_entries", analysis_.reflection_entries},
          {"flops", analysis_.flops}};
}

template <class T>
std::size_t SparseDecomposition<T>::bytes() const {
  return factors_.bytes() + (null_space_ ? null_space_->factors.bytes() : 0) + sizeof(T) * values_.size() +
         sizeof(std::int32_t) *
             (analysis_.order.size() + 2 * analysis_.rows.size() + analysis_.fronts.rows.size());
}

#define ECHELON_INSTANTIATE(T) template class SparseDecomposition<T>;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::sparse_direct
