// SPDX-License-Identifier: BSD-3-Clause
/// lamg on all cores or a GPU: hierarchy, iteration and description.
#pragma once

#include "graph_laplacian/lamg/engine.hpp"
#include "graph_laplacian/lamg/parallel/iteration.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace echelon::lamg::parallel {

template <class B, class T>
class ParallelEngine final : public Engine<B, T> {
  using Vectors = typename ParallelSolver<B, T>::Vectors;

 public:
  explicit ParallelEngine(const LamgOptions& options) : options_(options) {}

  Outcome setup(B& backend, const Csr<T>& L, const CancellationToken& cancel, bool update) override {
    if (!update) solver_.reset();
    const std::unique_ptr<ParallelSolver<B, T>> previous = std::move(solver_);
    on_host_ = L.device().on_host();
    solver_ = std::make_unique<ParallelSolver<B, T>>(backend, L, hierarchy_options(L.device()), cancel,
                                                     previous.get());
    return {};
  }
  [[nodiscard]] std::size_t bytes() const override { return solver_ ? solver_->bytes() : 0; }
  [[nodiscard]] std::unique_ptr<Workspace> make_vectors(const B& backend) const override {
    return solver_->make_vectors(backend.device());
  }

  [[nodiscard]] int idle_steps() const override { return solver_->preconditioner().idle_steps(); }
  /// More columns on a GPU, the smaller the graph: kernels for few vertices take as long for many columns.
  [[nodiscard]] std::size_t width() const override {
    constexpr std::int64_t elements_in_flight = std::int64_t{1} << 25;
    const std::int64_t n = solver_->vertices();
    if (on_host_ || n == 0) return usual_columns;
    return std::clamp(static_cast<std::size_t>(elements_in_flight / n), usual_columns, most_columns);
  }
  void start(B& backend, std::span<const StartedColumn<T>> columns) const override {
    solver_->start(backend, columns);
  }
  void step(B& backend, std::span<Workspace* const> vectors, std::int64_t steps,
            std::span<StepNorms> norms) const override {
    solver_->step(backend, VectorPointers(vectors).span(), steps, norms);
  }
  void finish(B& backend, std::span<const FinishedColumn<T>> columns) const override {
    solver_->finish(backend, columns);
  }
  void apply(B& backend, std::span<Workspace* const> vectors, const MultiVector<const T>& r,
             const MultiVector<T>& z) const override {
    solver_->apply(backend, VectorPointers(vectors).span(), r, z);
  }
  void share_memory(Workspace& first, Workspace& other) const override {
    auto& sharing = static_cast<Vectors&>(other);
    sharing.cycle = static_cast<Vectors&>(first).cycle;
    sharing.shares_cycle = true;
  }

  [[nodiscard]] std::optional<Csr<T>> level_matrix(std::size_t level) const override {
    const std::size_t stages = solver_->stages().size();
    return level < stages ? std::nullopt : solver_->preconditioner().level_matrix(level - stages);
  }
  [[nodiscard]] HierarchyDescription description() const override {
    HierarchyDescription description;
    description.coarsening = "affinity";
    for (const EliminationStage<T>& stage : solver_->stages()) {
      description.levels.push_back({.rows = stage.rows(),
                                    .nonzeros = stage.nonzeros,
                                    .prolongation_nonzeros = stage.transfer_nonzeros,
                                    .method = "elimination",
                                    .bytes = stage.bytes()});
    }
    solver_->preconditioner().describe(description);
    add_complexities(description);
    return description;
  }

 private:
  /// Casts vectors to those of the solver.
  class VectorPointers {
   public:
    explicit VectorPointers(std::span<Workspace* const> vectors) : count_(vectors.size()) {
      for (std::size_t c = 0; c < count_; ++c) columns_[c] = static_cast<Vectors*>(vectors[c]);
    }
    [[nodiscard]] std::span<Vectors* const> span() const { return {columns_.data(), count_}; }

   private:
    std::array<Vectors*, most_columns> columns_{};
    std::size_t count_;
  };

  static void add_complexities(HierarchyDescription& description) {
    double rows = 0;
    double nonzeros = 0;
    for (const LevelDescription& level : description.levels) {
      rows += static_cast<double>(level.rows);
      nonzeros += static_cast<double>(level.nonzeros);
    }
    const LevelDescription& finest = description.levels.front();
    description.grid_complexity = finest.rows > 0 ? rows / static_cast<double>(finest.rows) : 1;
    description.operator_complexity =
        finest.nonzeros > 0 ? nonzeros / static_cast<double>(finest.nonzeros) : 1;
  }

  [[nodiscard]] HierarchyOptions hierarchy_options(const Device& device) const {
    HierarchyOptions result;
    result.coarse_size = device.on_host() ? coarse_size_of_host : coarse_size_of_gpu;
    if (!device.on_host()) {
      result.first_krylov_size = 40'000;
      result.second_krylov_size = 200'000;
      result.large_finest_size = 500'000;
    }
    result.aggregation.strength = options_.strength;
    result.aggregation.veto = options_.veto;
    result.aggregation.energy_ratio = options_.energy_ratio;
    result.max_levels = static_cast<std::size_t>(options_.max_levels);
    result.test_sweeps = static_cast<int>(options_.test_sweeps);
    result.jacobi_iterations = options_.jacobi_iterations;
    return result;
  }

  LamgOptions options_;
  bool on_host_ = true;
  std::unique_ptr<ParallelSolver<B, T>> solver_;
};

}  // namespace echelon::lamg::parallel
