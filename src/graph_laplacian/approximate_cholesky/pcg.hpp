// SPDX-License-Identifier: BSD-3-Clause
/// Conjugate gradients on K interleaved right-hand sides, preconditioned by an approximate factor: element i
/// of column c is at K i + c, so that each element of the matrix and of the factor is read once for all
/// columns. Sums are formed in an order that does not depend on the number of threads.
#pragma once

#include "backend/serial/host_sum.hpp"
#include "graph_laplacian/approximate_cholesky/factor.hpp"
#include "graph_laplacian/approximate_cholesky/for_nodes.hpp"

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

/// Sums f(begin, end) over blocks of rows, in their order.
template <int K, class B, class F>
ColumnSums<K> sum_over_rows(B& backend, std::int64_t rows, const F& f) {
  constexpr std::int64_t least_parallel_rows = 4 * reduction_block;
  const std::int64_t blocks = (rows + reduction_block - 1) / reduction_block;
  std::vector<ColumnSums<K>> partial(static_cast<std::size_t>(blocks));
  backend.parallel(rows * K > least_parallel_rows, [&](int part, int parts) {
    for (std::int64_t block = blocks * part / parts; block < blocks * (part + 1) / parts; ++block) {
      const std::int64_t begin = block * reduction_block;
      partial[static_cast<std::size_t>(block)] = f(begin, std::min(begin + reduction_block, rows));
    }
  });
  ColumnSums<K> total{};
  for (const ColumnSums<K>& sums : partial) {
    for (std::size_t c = 0; c < K; ++c) total[c] += sums[c];
  }
  return total;
}

/// Sums of f(k) over k = begin, ..., end - 1 for the columns k % K, in eight chains of additions.
template <int K, class F>
ColumnSums<K> sum_elements(std::int64_t begin, std::int64_t end, const F& f) {
  constexpr std::int64_t chains = 8;
  static_assert(chains % K == 0);
  std::array<double, chains> partial{};
  std::int64_t k = begin;
  for (; k + chains <= end; k += chains) {
    for (std::int64_t c = 0; c < chains; ++c) partial[static_cast<std::size_t>(c)] += f(k + c);
  }
  for (; k < end; ++k) partial[static_cast<std::size_t>((k - begin) % chains)] += f(k);
  ColumnSums<K> sums{};
  for (std::size_t c = 0; c < chains; ++c) sums[c % K] += partial[c];
  return sums;
}

/// Forward substitution in a node's block; `below` has the blocks of its children, or is null for a leaf.
template <int K, class F>
void substitute_forward(const ApproximateFactor<F>& factor, std::size_t n,
                        const std::array<std::int32_t, 2>* children, const double* r, double* blocks) {
  const FactorNode<F>& node = factor.nodes[n];
  double* const z = blocks + K * factor.block_offsets[n];
  const std::int64_t size = node.vertices();
  for (std::int64_t k = 0; k < size; ++k) {
    const double* const own = r + K * std::int64_t{node.order[static_cast<std::size_t>(k)]};
    for (int c = 0; c < K; ++c) z[K * k + c] = own[c];
  }
  std::fill(z + K * size, z + K * node.block_size(), 0.0);
  for (int side = 0; children != nullptr && side < 2; ++side) {
    const auto child = static_cast<std::size_t>((*children)[static_cast<std::size_t>(side)]);
    const FactorNode<F>& below = factor.nodes[child];
    const double* const source = blocks + K * (factor.block_offsets[child] + below.vertices());
    for (std::size_t j = 0; j < below.parent_rows.size(); ++j) {
      double* const target = z + K * std::int64_t{below.parent_rows[j]};
      for (int c = 0; c < K; ++c) target[c] += source[K * static_cast<std::int64_t>(j) + c];
    }
  }
  const std::int64_t* const offsets = node.offsets.data();
  const std::int32_t* const rows = node.rows.data();
  const F* const values = node.values.data();
  for (std::int64_t k = 0; k < size; ++k) {
    ColumnSums<K> y;
    for (int c = 0; c < K; ++c) y[c] = z[K * k + c];
    for (std::int64_t e = offsets[k]; e < offsets[k + 1]; ++e) {
      double* const target = z + K * std::int64_t{rows[e]};
      for (int c = 0; c < K; ++c) target[c] += static_cast<double>(values[e]) * y[c];
    }
  }
}

/// Scaling by the pivots and backward substitution in a node's block, given its parent's (null for the root).
template <int K, class F>
void substitute_backward(const ApproximateFactor<F>& factor, std::size_t n, const double* parent,
                         double* blocks, double* result) {
  const FactorNode<F>& node = factor.nodes[n];
  double* const z = blocks + K * factor.block_offsets[n];
  const std::int64_t size = node.vertices();
  for (std::size_t j = 0; j < node.parent_rows.size(); ++j) {
    const double* const source = parent + K * std::int64_t{node.parent_rows[j]};
    for (int c = 0; c < K; ++c) z[K * (size + static_cast<std::int64_t>(j)) + c] = source[c];
  }
  const std::int64_t* const offsets = node.offsets.data();
  const std::int32_t* const rows = node.rows.data();
  const F* const values = node.values.data();
  for (std::int64_t k = size; k-- > 0;) {
    ColumnSums<K> y;
    for (int c = 0; c < K; ++c) y[c] = z[K * k + c] * node.inverse_pivots[static_cast<std::size_t>(k)];
    for (std::int64_t e = offsets[k]; e < offsets[k + 1]; ++e) {
      const double* const source = z + K * std::int64_t{rows[e]};
      for (int c = 0; c < K; ++c) y[c] += static_cast<double>(values[e]) * source[c];
    }
    double* const own = result + K * std::int64_t{node.order[static_cast<std::size_t>(k)]};
    for (int c = 0; c < K; ++c) own[c] = z[K * k + c] = y[c];
  }
}

/// z = (L D L^T)^-1 r. `blocks` is scratch.
template <int K, class B, class F>
void apply_factor(B& backend, const ApproximateFactor<F>& factor, const double* r, double* z,
                  std::vector<double>& blocks) {
  const EliminationTree shape{factor.levels, {}, {}, {}, {}, {}};
  blocks.resize(std::size_t{K} * static_cast<std::size_t>(factor.block_elements()));
  for (int level = 0; level < factor.levels; ++level) {
    for_nodes(backend, shape.width(level), [&](std::int32_t k) {
      const std::int32_t node = shape.first_node(level) + k;
      const std::array<std::int32_t, 2> children =
          level > 0 ? shape.children(node, level) : std::array<std::int32_t, 2>{};
      substitute_forward<K>(factor, static_cast<std::size_t>(node), level > 0 ? &children : nullptr, r,
                            blocks.data());
    });
  }
  for (int level = factor.levels; level-- > 0;) {
    for_nodes(backend, shape.width(level), [&](std::int32_t k) {
      const std::int32_t node = shape.first_node(level) + k;
      const double* parent = nullptr;
      if (level + 1 < factor.levels) {
        const std::int32_t above = shape.first_node(level + 1) + k / 2;
        parent = blocks.data() + K * factor.block_offsets[static_cast<std::size_t>(above)];
      }
      substitute_backward<K>(factor, static_cast<std::size_t>(node), parent, blocks.data(), z);
    });
  }
}

/// Diagonal preconditioner.
struct InverseDiagonal {
  std::vector<double> values;  ///< 0 for a zero row
};
template <int K, class B>
void apply_factor(B& backend, const InverseDiagonal& diagonal, const double* r, double* z,
                  std::vector<double>& /*blocks*/) {
  const double* const values = diagonal.values.data();
  backend.for_each(static_cast<std::int64_t>(diagonal.values.size()), [=](std::int64_t i) {
    for (int c = 0; c < K; ++c) z[K * i + c] = values[i] * r[K * i + c];
  });
}

/// Elements [begin, end) of a row times the columns of p.
template <int K>
ColumnSums<K> multiply_row(const std::int32_t* columns, const double* values, std::int64_t begin,
                           std::int64_t end, const double* p) {
  // The additions of one chain wait for each other, which shows in long rows of a single column.
  constexpr std::int64_t chains = K == 1 ? 4 : 1;
  constexpr std::int64_t long_row = 4 * chains;
  ColumnSums<K * chains> partial{};
  std::int64_t k = begin;
  if (chains > 1 && end - begin >= long_row) {
    for (; k + chains <= end; k += chains) {
      for (std::int64_t c = 0; c < chains; ++c) {
        partial[static_cast<std::size_t>(c)] += values[k + c] * p[columns[k + c]];
      }
    }
    for (std::size_t c = 1; c < chains; ++c) partial[0] += partial[c];
  }
  for (; k < end; ++k) {
    const double* const source = p + K * std::int64_t{columns[k]};
    for (std::size_t c = 0; c < K; ++c) partial[c] += values[k] * source[c];
  }
  ColumnSums<K> sums;
  std::copy_n(partial.begin(), K, sums.begin());
  return sums;
}

/// q = A p; returns (p, q) of each column.
template <int K, class B>
ColumnSums<K> multiply_columns(B& backend, const Csr<double>& A, const double* p, double* q) {
  const std::int64_t* const offsets = A.row_offsets().data();
  const std::int32_t* const columns = A.column_indices().data();
  const double* const values = A.values().data();
  return sum_over_rows<K>(backend, A.rows(), [=](std::int64_t begin, std::int64_t end) {
    ColumnSums<K> p_q{};
    for (std::int64_t i = begin; i < end; ++i) {
      const ColumnSums<K> sum = multiply_row<K>(columns, values, offsets[i], offsets[i + 1], p);
      for (int c = 0; c < K; ++c) {
        q[K * i + c] = sum[c];
        p_q[c] += sum[c] * p[K * i + c];
      }
    }
    return p_q;
  });
}

/// Vectors of n K elements each. r holds the right-hand sides on entry and the residuals later; x holds the
/// solutions.
struct PcgVectors {
  std::vector<double> x, r, z, p, q;
  std::vector<double> blocks;  ///< scratch of the factor
  void resize(std::size_t size) {
    for (std::vector<double>* vector : {&x, &r, &z, &p, &q}) vector->resize(size);
  }
  [[nodiscard]] std::size_t bytes() const { return (5 * x.capacity() + blocks.capacity()) * sizeof(double); }
};

/// Iteration on K columns at once. A column that is no longer active keeps its x.
template <int K, class B, class M>
class ColumnPcg {
 public:
  ColumnPcg(std::integral_constant<int, K> /*columns*/, B& backend, const Csr<double>& A,
            const M& preconditioner, PcgVectors& vectors)
      : backend_(&backend), A_(&A), preconditioner_(&preconditioner), v_(&vectors), n_(A.rows()) {}

  /// Begins at x = 0; `active` selects the columns that are iterated.
  void start(const std::array<bool, K>& active) {
    active_ = active;
    backend_->fill(n_ * K, 0.0, v_->x.data());
    rho_ = precondition();
    backend_->copy(n_ * K, v_->z.data(), v_->p.data());
  }

  /// Does one iteration on the active columns; returns ||r||^2 of each column.
  ColumnSums<K> step() {
    const ColumnSums<K> p_q = multiply_columns<K>(*backend_, *A_, v_->p.data(), v_->q.data());
    ColumnSums<K> alpha{};
    for (int c = 0; c < K; ++c) {
      if (active_[c] && !(p_q[c] > 0)) broken_[c] = true;
      alpha[c] = active_[c] && p_q[c] > 0 ? rho_[c] / p_q[c] : 0;
    }
    double* const x = v_->x.data();
    double* const r = v_->r.data();
    const double* const p = v_->p.data();
    const double* const q = v_->q.data();
    return sum_over_rows<K>(*backend_, n_, [=](std::int64_t begin, std::int64_t end) {
      return sum_elements<K>(K * begin, K * end, [=](std::int64_t k) {
        x[k] += alpha[static_cast<std::size_t>(k % K)] * p[k];
        r[k] -= alpha[static_cast<std::size_t>(k % K)] * q[k];
        return r[k] * r[k];
      });
    });
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
    backend_->for_each(n_, [=](std::int64_t i) {
      for (int c = 0; c < K; ++c) p[K * i + c] = z[K * i + c] + beta[c] * p[K * i + c];
    });
  }

  void end(int column) { active_[static_cast<std::size_t>(column)] = false; }
  [[nodiscard]] bool is_active(int column) const { return active_[static_cast<std::size_t>(column)]; }
  /// True if a scalar that is positive in exact arithmetic was not positive in this column.
  [[nodiscard]] bool is_broken(int column) const { return broken_[static_cast<std::size_t>(column)]; }

 private:
  /// z = M^-1 r; returns (r, z) of each column.
  ColumnSums<K> precondition() {
    const double* const r = v_->r.data();
    double* const z = v_->z.data();
    apply_factor<K>(*backend_, *preconditioner_, r, z, v_->blocks);
    return sum_over_rows<K>(*backend_, n_, [=](std::int64_t begin, std::int64_t end) {
      return sum_elements<K>(K * begin, K * end, [=](std::int64_t k) { return r[k] * z[k]; });
    });
  }

  B* backend_;
  const Csr<double>* A_;
  const M* preconditioner_;
  PcgVectors* v_;
  std::int64_t n_;
  ColumnSums<K> rho_{};
  std::array<bool, K> active_{};
  std::array<bool, K> broken_{};
};

}  // namespace echelon::graph_laplacian
