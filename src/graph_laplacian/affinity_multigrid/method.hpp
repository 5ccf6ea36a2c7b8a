// SPDX-License-Identifier: BSD-3-Clause
/// Flexible conjugate gradients with cycles over levels by affinity, on all cores or a GPU.
#pragma once

#include "graph_laplacian/affinity_multigrid/reduced_system.hpp"
#include "graph_laplacian/multilevel_method.hpp"
#include "linalg/vector/column_list.hpp"

#include <echelon/methods/lamg.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace echelon::affinity_multigrid {

template <class B, class T>
class AffinityMultigrid final : public graph_laplacian::MultilevelMethod<B, T> {
  using Base = graph_laplacian::MultilevelMethod<B, T>;
  using System = ReducedSystem<B, T>;
  using GivenColumn = typename System::GivenColumn;
  using SolvedColumn = typename System::SolvedColumn;

  struct Vectors final : Base::Vectors {
    explicit Vectors(const AffinityMultigrid& method)
        : Base::Vectors(method), system(method.system_->make_vectors(method.device())) {}
    [[nodiscard]] std::size_t bytes() const override { return Base::Vectors::bytes() + system->bytes(); }
    std::unique_ptr<typename System::Vectors> system;
  };
  using Group = std::span<typename Base::Vectors* const>;

 public:
  AffinityMultigrid(const Device& device, const LamgOptions& options)
      : Base(device, options.stop), options_(options) {}

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return this->complete_workspace(std::make_unique<Vectors>(*this));
  }
  [[nodiscard]] std::size_t bytes() const override {
    return Base::bytes() + (system_ ? system_->bytes() : 0);
  }
  [[nodiscard]] std::optional<Csr<T>> level_matrix(std::size_t level) const override {
    if (!system_) return std::nullopt;
    const std::size_t stages = system_->stages().size();
    return level < stages ? std::nullopt : system_->preconditioner().level_matrix(level - stages);
  }

 private:
  /// The columns as those of the system: the right-hand side is y, which the solution overwrites.
  static ColumnList<GivenColumn> given(Group columns) {
    return {columns.size(), [&](std::size_t c) {
              auto& v = static_cast<Vectors&>(*columns[c]);
              return GivenColumn{v.system.get(), v.state(), v.y.data()};
            }};
  }
  static ColumnList<SolvedColumn> solved(Group columns) {
    return {columns.size(), [&](std::size_t c) {
              auto& v = static_cast<Vectors&>(*columns[c]);
              return SolvedColumn{v.system.get(), v.y.data()};
            }};
  }

  Outcome make_levels(const Csr<T>& L, bool update) override {
    if (!update) system_.reset();
    const std::unique_ptr<System> previous = std::move(system_);
    system_ = std::make_unique<System>(this->setup_backend(), L, hierarchy_options(L.device()),
                                       this->control(), previous.get());
    return {};
  }
  void drop_levels() override { system_.reset(); }
  [[nodiscard]] HierarchyDescription describe_levels() const override {
    HierarchyDescription description;
    description.coarsening = "affinity";
    for (const EliminationStage<T>& stage : system_->stages()) {
      description.levels.push_back({.rows = stage.rows(),
                                    .nonzeros = stage.nonzeros,
                                    .prolongation_nonzeros = stage.transfer_nonzeros,
                                    .method = "elimination",
                                    .bytes = stage.bytes()});
    }
    system_->preconditioner().describe(description);
    add_complexities(description);
    return description;
  }

  [[nodiscard]] std::int64_t idle_steps() const override { return system_->preconditioner().idle_steps(); }
  /// More columns on a GPU, the smaller the graph: kernels for few vertices take as long for many columns.
  [[nodiscard]] std::int64_t columns_together() const override {
    constexpr std::int64_t elements_in_flight = std::int64_t{1} << 25;
    constexpr auto usual = static_cast<std::int64_t>(usual_columns);
    const std::int64_t n = system_->vertices();
    if (this->device().on_host() || n == 0) return usual;
    return std::clamp(elements_in_flight / n, usual, static_cast<std::int64_t>(most_columns));
  }

  void share_memory(typename Base::SolveWorkspace& first,
                    typename Base::SolveWorkspace& added) const override {
    Base::share_memory(first, added);
    auto& own = *static_cast<Vectors&>(added).system;
    own.cycle = static_cast<Vectors&>(first).system->cycle;
    own.shares_cycle = true;
  }

  void start_lifted(Group columns) const override {
    system_->start(columns.front()->backend, given(columns).span());
  }
  void step_lifted(Group columns) const override {
    system_->step(columns.front()->backend, given(columns).span());
  }
  void finish_lifted(Group columns) const override {
    system_->finish(columns.front()->backend, solved(columns).span());
  }
  void apply_lifted(Group columns) const override {
    system_->apply(columns.front()->backend, given(columns).span(), solved(columns).span());
  }

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
  std::unique_ptr<System> system_;
};

}  // namespace echelon::affinity_multigrid
