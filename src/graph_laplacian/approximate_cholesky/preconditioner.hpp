// SPDX-License-Identifier: BSD-3-Clause
/// An approximate Cholesky factor as a preconditioner: vertices of low degree are eliminated exactly, and the
/// matrix of the others, the core, is factored approximately.
#pragma once

#include "graph_laplacian/approximate_cholesky/factor.hpp"
#include "graph_laplacian/approximate_cholesky/low_degree.hpp"
#include "graph_laplacian/approximate_cholesky/substitution.hpp"
#include "solver/implementation.hpp"

#include <echelon/methods/approximate_cholesky.hpp>
#include <echelon/solver.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace echelon::graph_laplacian {

/// Ratio of the largest to the smallest weight up to which the factor is kept in float. Beyond it, rounding
/// errors of heavy edges could exceed the weights of light edges that alone connect a part of the graph.
inline constexpr double float_weight_ratio = 1e5;

/// Range of the nonzero off-diagonal magnitudes; empty if there are none.
struct WeightRange {
  double smallest = INFINITY;
  double largest = 0;
  friend WeightRange combine(WeightRange a, WeightRange b) {
    return {std::min(a.smallest, b.smallest), std::max(a.largest, b.largest)};
  }
};
struct RowWeights {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const double* values;
  WeightRange operator()(std::int64_t i) const {
    WeightRange range;
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      const double weight = std::abs(values[k]);
      if (columns[k] != i && weight != 0) range = combine(range, {weight, weight});
    }
    return range;
  }
};
template <class B>
WeightRange weight_range(B& backend, const Csr<double>& A) {
  WeightRange range;
  backend.reduce(A.rows(), RowWeights{A.row_offsets().data(), A.column_indices().data(), A.values().data()},
                 [&range](WeightRange all) { range = all; });
  return range;
}

/// A vector r of the core and its z = M^-1 r.
struct CoreColumn {
  const double* r;
  double* z;
};

class ApproximateCholeskyPreconditioner {
  /// Calls f with the factor in its precision.
  template <class Function>
  auto with_factor(const Function& f) const {
    return in_double_ ? f(double_) : f(single_);
  }

 public:
  /// Interleaved vectors of an application.
  struct Scratch {
    std::vector<double> r, z, blocks;
    [[nodiscard]] std::size_t bytes() const {
      return (r.capacity() + z.capacity() + blocks.capacity()) * sizeof(double);
    }
  };

  /// Factors A, whose rows sum to `excess`; false when asked to stop. A has to outlive the preconditioner.
  template <class B>
  [[nodiscard]] bool setup(B& backend, const Csr<double>& A, const std::vector<double>& excess,
                           const ApproximateCholeskyOptions& options, const SetupControl& control) {
    A_ = &A;
    reduction_ = eliminate_low_degrees(backend, A, excess);
    const std::vector<double>& core_excess = is_reduced() ? reduction_.core_excess : excess;
    const WeightRange range = weight_range(backend, core());
    in_double_ = range.largest > float_weight_ratio * range.smallest;
    const SamplingOptions sampling{static_cast<std::uint64_t>(options.seed), static_cast<int>(options.split),
                                   range.largest > 0 ? std::ldexp(1.0, -std::ilogb(range.largest)) : 1.0};
    const EliminationTree tree = dissect(backend, core());
    if (in_double_) {
      double_ = eliminate_by_degree<double>(backend, core(), core_excess.data(), tree, sampling, control);
    } else {
      single_ = eliminate_by_degree<float>(backend, core(), core_excess.data(), tree, sampling, control);
    }
    return with_factor([](const auto& f) { return f.vertices(); }) == core().rows();
  }

  /// Schur complement of the vertices of low degree.
  [[nodiscard]] const Csr<double>& core() const { return is_reduced() ? reduction_.core : *A_; }
  [[nodiscard]] bool is_reduced() const { return !reduction_.steps.empty(); }
  [[nodiscard]] const LowDegreeElimination& reduction() const { return reduction_; }
  [[nodiscard]] std::vector<Statistic> statistics() const {
    const std::int64_t nonzeros = with_factor([](const auto& f) { return f.nonzeros(); });
    const std::int64_t edges = (core().nonzeros() - core().rows()) / 2;
    return {{"eliminated", static_cast<std::int64_t>(reduction_.steps.size())},
            {"factor_nonzeros", nonzeros},
            {"fill", edges > 0 ? static_cast<double>(nonzeros) / static_cast<double>(edges) : 0.0}};
  }
  [[nodiscard]] std::size_t bytes() const { return reduction_.bytes() + single_.bytes() + double_.bytes(); }

  /// z = M^-1 r on the core for at most `usual_columns` columns, which are interleaved, so that each element
  /// of the factor is read once for all. A column has the bits that it has alone.
  template <class B>
  void apply(B& backend, Scratch& scratch, std::span<const CoreColumn> columns) const {
    if (columns.size() == 1) {
      with_factor([&](const auto& factor) {
        apply_factor<1>(backend, factor, columns[0].r, columns[0].z, scratch.blocks);
      });
    } else if (columns.size() == 2) {
      apply_interleaved<2>(backend, scratch, columns);
    } else if (columns.size() <= 4) {
      apply_interleaved<4>(backend, scratch, columns);
    } else {
      apply_interleaved<static_cast<int>(usual_columns)>(backend, scratch, columns);
    }
  }

 private:
  template <int K, class B>
  void apply_interleaved(B& backend, Scratch& scratch, std::span<const CoreColumn> columns) const {
    const std::int64_t n = core().rows();
    const auto size = static_cast<std::size_t>(K * n);
    if (scratch.r.size() < size) {
      scratch.r.resize(size);
      scratch.z.resize(size);
    }
    std::array<const double*, K> source;  // columns after the last one are the last one
    std::array<double*, K> target;
    for (std::size_t c = 0; c < K; ++c) {
      const CoreColumn& column = columns[std::min(c, columns.size() - 1)];
      source[c] = column.r;
      target[c] = column.z;
    }
    double* const r = scratch.r.data();
    double* const z = scratch.z.data();
    backend.for_each(n, [=](std::int64_t i) { interleave<K>(i, source, r); });
    with_factor([&](const auto& factor) { apply_factor<K>(backend, factor, r, z, scratch.blocks); });
    backend.for_each(n, [=](std::int64_t i) { separate<K>(i, z, target); });
  }

  /// Copies element i of K vectors, without a loop.
  template <int K>
  static void interleave(std::int64_t i, const std::array<const double*, K>& from, double* to) {
    [&]<std::size_t... c>(std::index_sequence<c...>) {
      ((to[K * i + static_cast<std::int64_t>(c)] = from[c][i]), ...);
    }
    (std::make_index_sequence<K>());
  }
  template <int K>
  static void separate(std::int64_t i, const double* from, const std::array<double*, K>& to) {
    [&]<std::size_t... c>(std::index_sequence<c...>) {
      ((to[c][i] = from[K * i + static_cast<std::int64_t>(c)]), ...);
    }
    (std::make_index_sequence<K>());
  }

  const Csr<double>* A_ = nullptr;
  LowDegreeElimination reduction_;
  bool in_double_ = false;
  ApproximateFactor<float> single_;
  ApproximateFactor<double> double_;
};

}  // namespace echelon::graph_laplacian
