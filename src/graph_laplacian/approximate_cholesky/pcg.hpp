// SPDX-License-Identifier: BSD-3-Clause
/// Conjugate gradients on K interleaved right-hand sides, preconditioned by an approximate factor: element i
/// of column c is at K i + c, so that each element of the matrix and of the factor is read once for all
/// columns.
#pragma once

#include "graph_laplacian/approximate_cholesky/factor.hpp"

#include <echelon/matrix/csr.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace echelon::graph_laplacian {

template <int K>
using ColumnSums = std::array<double, K>;

/// Overwrites z by (L D L^T)^-1 z.
template <int K, class F>
void apply_factor(const ApproximateFactor<F>& factor, double* z) {
  const std::int64_t n = factor.vertices();
  const std::int32_t* const order = factor.order.data();
  const std::int64_t* const offsets = factor.offsets.data();
  const std::int32_t* const rows = factor.rows.data();
  const F* const values = factor.values.data();
  for (std::int64_t k = 0; k < n; ++k) {
    const double* const own = z + K * std::int64_t{order[k]};
    ColumnSums<K> y;
    for (int c = 0; c < K; ++c) y[c] = own[c];
    for (std::int64_t e = offsets[k]; e < offsets[k + 1]; ++e) {
      double* const target = z + K * std::int64_t{rows[e]};
      for (int c = 0; c < K; ++c) target[c] += static_cast<double>(values[e]) * y[c];
    }
  }
  for (std::int64_t k = n; k-- > 0;) {
    double* const own = z + K * std::int64_t{order[k]};
    ColumnSums<K> y;
    for (int c = 0; c < K; ++c) y[c] = own[c] * factor.inverse_pivots[static_cast<std::size_t>(k)];
    for (std::int64_t e = offsets[k]; e < offsets[k + 1]; ++e) {
      const double* const source = z + K * std::int64_t{rows[e]};
      for (int c = 0; c < K; ++c) y[c] += static_cast<double>(values[e]) * source[c];
    }
    for (int c = 0; c < K; ++c) own[c] = y[c];
  }
}

/// Diagonal preconditioner.
struct InverseDiagonal {
  std::vector<double> values;  ///< 0 for a zero row
};
template <int K>
void apply_factor(const InverseDiagonal& diagonal, double* z) {
  for (std::size_t i = 0; i < diagonal.values.size(); ++i) {
    for (std::size_t c = 0; c < K; ++c) z[K * i + c] *= diagonal.values[i];
  }
}

/// q = A p; returns (p, q) of each column.
template <int K, class T>
ColumnSums<K> multiply_columns(const Csr<T>& A, const double* p, double* q) {
  const std::int64_t* const offsets = A.row_offsets().data();
  const std::int32_t* const columns = A.column_indices().data();
  const T* const values = A.values().data();
  ColumnSums<K> p_q{};
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    ColumnSums<K> sum{};
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      const double* const source = p + K * std::int64_t{columns[k]};
      for (int c = 0; c < K; ++c) sum[c] += static_cast<double>(values[k]) * source[c];
    }
    for (int c = 0; c < K; ++c) {
      q[K * i + c] = sum[c];
      p_q[c] += sum[c] * p[K * i + c];
    }
  }
  return p_q;
}

/// Vectors of n K elements each. r holds the right-hand sides on entry and the residuals later; x holds the
/// solutions.
struct PcgVectors {
  std::vector<double> x, r, z, p, q;
  void resize(std::size_t size) {
    for (std::vector<double>* vector : {&x, &r, &z, &p, &q}) vector->resize(size);
  }
  [[nodiscard]] std::size_t bytes() const { return 5 * x.capacity() * sizeof(double); }
};

/// Iteration on K columns at once. A column that is no longer active keeps its x.
template <int K, class M, class T>
class ColumnPcg {
 public:
  ColumnPcg(std::integral_constant<int, K> /*columns*/, const Csr<T>& A, const M& preconditioner,
            PcgVectors& vectors)
      : A_(&A), preconditioner_(&preconditioner), v_(&vectors), n_(A.rows()) {}

  /// Begins at x = 0; `active` selects the columns that are iterated.
  void start(const std::array<bool, K>& active) {
    active_ = active;
    std::fill(v_->x.begin(), v_->x.end(), 0.0);
    rho_ = precondition();
    v_->p = v_->z;
  }

  /// Does one iteration on the active columns; returns ||r||^2 of each column.
  ColumnSums<K> step() {
    const ColumnSums<K> p_q = multiply_columns<K>(*A_, v_->p.data(), v_->q.data());
    ColumnSums<K> alpha{};
    for (int c = 0; c < K; ++c) {
      if (active_[c] && !(p_q[c] > 0)) broken_[c] = true;
      alpha[c] = active_[c] && p_q[c] > 0 ? rho_[c] / p_q[c] : 0;
    }
    ColumnSums<K> r_r{};
    double* const x = v_->x.data();
    double* const r = v_->r.data();
    const double* const p = v_->p.data();
    const double* const q = v_->q.data();
    for (std::int64_t i = 0; i < n_; ++i) {
      for (int c = 0; c < K; ++c) {
        const std::int64_t k = K * i + c;
        x[k] += alpha[c] * p[k];
        r[k] -= alpha[c] * q[k];
        r_r[c] += r[k] * r[k];
      }
    }
    return r_r;
  }

  /// Computes the next direction, p = z + beta p, of the active columns.
  void update_direction() {
    const ColumnSums<K> r_z = precondition();
    ColumnSums<K> beta{};
    for (int c = 0; c < K; ++c) {
      beta[c] = active_[c] && rho_[c] > 0 ? r_z[c] / rho_[c] : 0;
      if (active_[c] && !(r_z[c] > 0)) broken_[c] = true;
    }
    rho_ = r_z;
    double* const p = v_->p.data();
    const double* const z = v_->z.data();
    for (std::int64_t i = 0; i < n_; ++i) {
      for (int c = 0; c < K; ++c) p[K * i + c] = z[K * i + c] + beta[c] * p[K * i + c];
    }
  }

  void end(int column) { active_[static_cast<std::size_t>(column)] = false; }
  [[nodiscard]] bool is_active(int column) const { return active_[static_cast<std::size_t>(column)]; }
  /// True if a scalar that is positive in exact arithmetic was not positive in this column.
  [[nodiscard]] bool is_broken(int column) const { return broken_[static_cast<std::size_t>(column)]; }

 private:
  /// z = M^-1 r; returns (r, z) of each column.
  ColumnSums<K> precondition() {
    v_->z = v_->r;
    apply_factor<K>(*preconditioner_, v_->z.data());
    ColumnSums<K> r_z{};
    const double* const r = v_->r.data();
    const double* const z = v_->z.data();
    for (std::int64_t i = 0; i < n_; ++i) {
      for (int c = 0; c < K; ++c) r_z[c] += r[K * i + c] * z[K * i + c];
    }
    return r_z;
  }

  const Csr<T>* A_;
  const M* preconditioner_;
  PcgVectors* v_;
  std::int64_t n_;
  ColumnSums<K> rho_{};
  std::array<bool, K> active_{};
  std::array<bool, K> broken_{};
};

}  // namespace echelon::graph_laplacian
