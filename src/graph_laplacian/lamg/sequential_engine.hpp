// SPDX-License-Identifier: BSD-3-Clause
/// lamg on one core: Gauss-Seidel sweeps, and recombined iterates.
#pragma once

#include "graph_laplacian/lamg/cycle.hpp"
#include "graph_laplacian/lamg/engine.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace echelon::lamg {

inline SetupOptions setup_options(const LamgOptions& options) {
  SetupOptions result;
  result.aggregation.ratio = result.work_guard / options.cycle_index;
  result.aggregation.strength = options.strength;
  result.aggregation.veto = options.veto;
  result.aggregation.energy_ratio = options.energy_ratio;
  result.coarse_size = static_cast<std::int32_t>(options.coarse_size);
  result.max_levels = static_cast<std::size_t>(options.max_levels);
  result.test_sweeps = static_cast<int>(options.test_sweeps);
  result.cycle_index = options.cycle_index;
  result.caliber = static_cast<int>(options.caliber);
  return result;
}

inline CycleOptions cycle_options(const LamgOptions& options) {
  return {.pre_sweeps = static_cast<int>(options.pre_sweeps),
          .post_sweeps = static_cast<int>(options.post_sweeps),
          .combined_iterates = static_cast<std::size_t>(options.combined_iterates)};
}

/// Describes the hierarchy; each elimination is listed as a level of its own.
template <class T>
HierarchyDescription describe(const Hierarchy<T>& hierarchy) {
  HierarchyDescription description;
  description.coarsening = "affinity";
  description.end = hierarchy.end;
  description.null_space = hierarchy.coarsest.components();
  double rows = 0;
  double nonzeros = 0;
  for (const Level<T>& level : hierarchy.levels) {
    const auto add = [&](std::int64_t n, std::int64_t edges, std::int64_t prolongation, std::string method) {
      description.levels.push_back({.rows = n,
                                    .nonzeros = n + 2 * edges,
                                    .prolongation_nonzeros = prolongation,
                                    .method = std::move(method)});
      rows += static_cast<double>(n);
      nonzeros += static_cast<double>(n + 2 * edges);
    };
    const Elimination<T>& elimination = level.elimination;
    if (!elimination.vertices.empty()) {
      const auto coefficients =
          static_cast<std::int64_t>(elimination.coefficients.size() + elimination.kept.size());
      add(elimination.fine, level.fine_edges, coefficients, "elimination");
      description.levels.back().bytes = elimination.bytes();
    }
    const bool coarsest = &level == &hierarchy.levels.back();
    if (level.matrix.n == 0 && !description.levels.empty()) {
      description.levels.back().seconds = level.seconds;
      continue;
    }
    add(level.matrix.n, level.edges, level.aggregate.size(),
        coarsest && hierarchy.direct ? "dense elimination" : "gauss-seidel");
    description.levels.back().bytes = level.matrix.bytes() + level.aggregate.bytes();
    description.levels.back().seconds = level.seconds;
  }
  if (description.levels.empty()) return description;
  const LevelDescription& finest = description.levels.front();
  description.grid_complexity = finest.rows > 0 ? rows / static_cast<double>(finest.rows) : 1;
  description.operator_complexity = finest.nonzeros > 0 ? nonzeros / static_cast<double>(finest.nonzeros) : 1;
  return description;
}

/// Makes the Laplacian of a lower triangle.
template <class T>
Csr<T> laplacian_of(const LowerTriangle<T>& A) {
  std::vector<Triplet<T>> elements;
  for (std::int32_t i = 0; i < A.n; ++i) {
    for (std::int32_t k = A.offsets[i]; k < A.offsets[i + 1]; ++k) {
      const std::int32_t j = A.neighbours[k];
      const T weight = A.weights[k];
      elements.insert(elements.end(), {{i, j, -weight}, {j, i, -weight}, {i, i, weight}, {j, j, weight}});
    }
  }
  return Csr<T>::from_triplets(A.n, A.n, elements);
}

/// Makes the Laplacian of a level as describe() counts them; without a value for an elimination.
template <class T>
std::optional<Csr<T>> level_matrix(const Hierarchy<T>& hierarchy, std::size_t wanted) {
  std::size_t next = 0;
  for (const Level<T>& level : hierarchy.levels) {
    if (!level.elimination.vertices.empty()) ++next;
    if (level.matrix.n == 0 && next > 0) continue;
    if (next++ == wanted) return laplacian_of(level.matrix);
  }
  return {};
}

/// Hierarchy and cycles on the host, in one thread.
template <class B, class T>
class SequentialEngine final : public Engine<B, T> {
  struct Vectors final : Workspace {
    Vectors(const Hierarchy<T>& hierarchy, const CycleOptions& options) : cycle(hierarchy, options) {}
    [[nodiscard]] std::size_t bytes() const override { return cycle.bytes(); }
    CycleVectors<T> cycle;
  };

 public:
  explicit SequentialEngine(const LamgOptions& options) : options_(options) {}

  Outcome setup(B& /*backend*/, const Csr<T>& L, const CancellationToken& cancel, bool update) override {
    const std::optional<Hierarchy<T>> previous = std::exchange(hierarchy_, std::nullopt);
    if (L.nonzeros() > std::numeric_limits<std::int32_t>::max()) {
      return {Status::out_of_memory, "lamg has 32-bit indices on one core, and A has " +
                                         std::to_string(L.nonzeros()) +
                                         " nonzeros: use amg, or approximate-cholesky"};
    }
    hierarchy_ = make_hierarchy(graph_of(L), setup_options(options_), cancel,
                                update && previous ? &*previous : nullptr);
    return {};
  }
  [[nodiscard]] HierarchyDescription description() const override { return describe(*hierarchy_); }
  [[nodiscard]] std::optional<Csr<T>> level_matrix(std::size_t level) const override {
    return lamg::level_matrix(*hierarchy_, level);
  }
  [[nodiscard]] std::size_t bytes() const override { return hierarchy_ ? hierarchy_->bytes() : 0; }
  [[nodiscard]] std::unique_ptr<Workspace> make_vectors(const B& /*backend*/) const override {
    return std::make_unique<Vectors>(*hierarchy_, cycle_options(options_));
  }

  [[nodiscard]] int idle_steps() const override { return 5; }
  [[nodiscard]] std::size_t width() const override { return 1; }
  void start(B& /*backend*/, std::span<const StartedColumn<T>> columns) const override {
    for (const StartedColumn<T>& column : columns) cycle().start(vectors_of(*column.vectors), column.b);
  }
  /// Does one cycle, after which the residual is known.
  void step(B& /*backend*/, std::span<Workspace* const> vectors, std::int64_t /*steps*/,
            std::span<StepNorms> norms) const override {
    for (std::size_t c = 0; c < vectors.size(); ++c) {
      norms[c].at[0] = cycle().step(vectors_of(*vectors[c]));
      norms[c].count = 1;
    }
  }
  void finish(B& /*backend*/, std::span<const FinishedColumn<T>> columns) const override {
    for (const FinishedColumn<T>& column : columns) cycle().finish(vectors_of(*column.vectors), column.x);
  }
  void apply(B& /*backend*/, std::span<Workspace* const> vectors, const MultiVector<const T>& r,
             const MultiVector<T>& z) const override {
    for (int c = 0; c < r.columns(); ++c) {
      CycleVectors<T>& own = vectors_of(*vectors[static_cast<std::size_t>(c)]);
      cycle().start(own, r[c]);
      cycle().step(own);
      cycle().finish(own, z[c]);
    }
  }

 private:
  static CycleVectors<T>& vectors_of(Workspace& workspace) { return static_cast<Vectors&>(workspace).cycle; }
  [[nodiscard]] Cycle<T> cycle() const { return Cycle<T>(*hierarchy_, cycle_options(options_)); }

  LamgOptions options_;
  std::optional<Hierarchy<T>> hierarchy_;
};

}  // namespace echelon::lamg
