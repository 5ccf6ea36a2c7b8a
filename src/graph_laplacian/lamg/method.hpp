// SPDX-License-Identifier: BSD-3-Clause
/// Lean algebraic multigrid as published, on one core: Gauss-Seidel sweeps, and recombined iterates.
/// O. Livne, A. Brandt, SIAM J. Sci. Comput. 34 (2012).
#pragma once

#include "graph_laplacian/lamg/cycle.hpp"
#include "graph_laplacian/multilevel_method.hpp"

#include <echelon/methods/lamg.hpp>

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
HierarchyDescription describe(const LamgHierarchy<T>& hierarchy) {
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
    const EliminatedVertices<T>& elimination = level.elimination;
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
std::optional<Csr<T>> level_matrix(const LamgHierarchy<T>& hierarchy, std::size_t wanted) {
  std::size_t next = 0;
  for (const Level<T>& level : hierarchy.levels) {
    if (!level.elimination.vertices.empty()) ++next;
    if (level.matrix.n == 0 && next > 0) continue;
    if (next++ == wanted) return laplacian_of(level.matrix);
  }
  return {};
}

/// Hierarchy and cycles on the host, in one thread. A step is a cycle, whose iterates are recombined.
template <class B, class T>
class LeanMultigrid final : public graph_laplacian::MultilevelMethod<B, T> {
  using Base = graph_laplacian::MultilevelMethod<B, T>;

  struct Vectors final : Base::Vectors {
    explicit Vectors(const LeanMultigrid& method)
        : Base::Vectors(method), cycle(*method.hierarchy_, cycle_options(method.options_)) {}
    [[nodiscard]] std::size_t bytes() const override { return Base::Vectors::bytes() + cycle.bytes(); }
    CycleVectors<T> cycle;
  };
  using Group = std::span<typename Base::Vectors* const>;

 public:
  LeanMultigrid(const Device& device, const LamgOptions& options)
      : Base(device, options.stop), options_(options) {}

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return this->complete_workspace(std::make_unique<Vectors>(*this));
  }
  [[nodiscard]] std::size_t bytes() const override {
    return Base::bytes() + (hierarchy_ ? hierarchy_->bytes() : 0);
  }
  [[nodiscard]] std::optional<Csr<T>> level_matrix(std::size_t level) const override {
    return hierarchy_ ? lamg::level_matrix(*hierarchy_, level) : std::nullopt;
  }

 private:
  Outcome make_levels(const Csr<T>& L, bool update) override {
    const std::optional<LamgHierarchy<T>> previous = std::exchange(hierarchy_, std::nullopt);
    if (L.nonzeros() > std::numeric_limits<std::int32_t>::max()) {
      return {Status::out_of_memory, "lamg has 32-bit indices on one core, and A has " +
                                         std::to_string(L.nonzeros()) +
                                         " nonzeros: use amg, or approximate-cholesky"};
    }
    hierarchy_ = make_hierarchy(graph_of(L), setup_options(options_), this->control(),
                                update && previous ? &*previous : nullptr);
    return {};
  }
  void drop_levels() override { hierarchy_.reset(); }
  [[nodiscard]] HierarchyDescription describe_levels() const override { return describe(*hierarchy_); }

  [[nodiscard]] std::int64_t columns_together() const override { return 1; }
  [[nodiscard]] std::int64_t idle_steps() const override { return 5; }

  static CycleVectors<T>& of(typename Base::Vectors* column) { return static_cast<Vectors&>(*column).cycle; }
  [[nodiscard]] LamgCycle<T> cycle() const { return LamgCycle<T>(*hierarchy_, cycle_options(options_)); }

  void start_lifted(Group columns) const override {
    for (typename Base::Vectors* column : columns) cycle().start(of(column), column->y.data());
  }
  void step_lifted(Group columns) const override {
    for (typename Base::Vectors* column : columns) {
      IterationState& state = *column->state();
      if (state.running()) state.record(cycle().step(of(column)));
    }
  }
  void finish_lifted(Group columns) const override {
    for (typename Base::Vectors* column : columns) cycle().finish(of(column), column->y.data());
  }
  /// y = M^-1 y by one cycle.
  void apply_lifted(Group columns) const override {
    start_lifted(columns);
    for (typename Base::Vectors* column : columns) cycle().step(of(column));
    finish_lifted(columns);
  }

  LamgOptions options_;
  std::optional<LamgHierarchy<T>> hierarchy_;
};

}  // namespace echelon::lamg
