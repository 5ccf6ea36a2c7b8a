// SPDX-License-Identifier: BSD-3-Clause
/// A batch on a GPU: a thread for each system, or for each row of a level of each system.
#pragma once

#include "backend/backend.hpp"
#include "sparse_direct/batched/device_program.hpp"
#include "sparse_direct/batched/steps.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace echelon::sparse_direct {

/// All rows of a system, in an order in which each comes after those on which it depends.
template <class Step>
struct AllRows {
  Step step;
  const std::int32_t* rows;
  std::int64_t n;
  ECHELON_ANYWHERE void operator()(std::int64_t system) const {
    for (std::int64_t i = 0; i < n; ++i) step(rows[i], system);
  }
};

/// A row of one of several systems. Neighbouring threads have neighbouring systems, whose elements are
/// neighbours.
template <class Step>
struct RowOfSystem {
  Step step;
  const std::int32_t* rows;  ///< null: 0, 1, ...
  std::int64_t systems;
  ECHELON_ANYWHERE void operator()(std::int64_t index) const {
    const std::int64_t i = index / systems;
    step(rows == nullptr ? i : rows[i], index % systems);
  }
};

/// A step in those systems whose backward error is above a limit, or in all.
template <class Step>
struct WhereInaccurate {
  Step step;
  const PartialResidual* sums;  ///< of each system; null: all systems
  double limit;
  ECHELON_ANYWHERE void operator()(std::int64_t row, std::int64_t system) const {
    if (sums == nullptr || !(sums[system].error <= limit)) step(row, system);
  }
};

template <class B, class T>
class DeviceBatchElimination final : public BatchElimination<T> {
 public:
  DeviceBatchElimination(const Device& device, const BatchPattern& A, const EliminationProgram& program)
      : backend_(device),
        program_(device, A, program),
        forward_(program.forward.offsets),
        backward_(program.backward.offsets),
        chunks_((program.n() + Combine::chunk - 1) / Combine::chunk) {}

  void solve(const BatchOfSystems<T>& systems, std::int64_t first, std::int64_t count,
             SystemResidual* residuals) override {
    using kernels::Portable;
    reserve(count);
    const BatchOfSystems<T> part = part_of(systems, first);
    const BatchArrays<T, width> batch = program_.arrays<T, width>(memory_.data(), groups_ * width);
    over_rows(LoadBatchRow<Portable, T, width, 1>{batch, part.values.data(), part.values.leading(), count},
              count);
    by_levels(EliminateRow<Portable, T, width, 1>{batch}, program_.forward_rows(), forward_, count);
    for (std::int64_t column = 0; column < part.B.columns(); ++column) {
      over_rows(LoadRhs<Portable, T, width, 1>{batch, part.B.data() + column * part.B.leading(),
                                               part.B.stride(), count},
                count);
      correct(batch, count, nullptr);
      correct(batch, count, sums_.data());  // one step of refinement
      backend_.for_each(count, AddColumn{sums_.data(), batch.n, column == 0, measured_.data()});
      over_rows(StoreBatchRow<Portable, T, width, 1>{batch, part.X.data() + column * part.X.leading(),
                                                     part.X.stride(), count},
                count);
    }
    memory_detail::copy(Device(), residuals + first, backend_.device(), measured_.data(),
                        static_cast<std::size_t>(count) * sizeof(SystemResidual));
  }

  [[nodiscard]] std::int64_t most_systems() const override {
    const std::size_t available = memory(backend_.device()).available + memory_.bytes();
    return std::max<std::int64_t>(width, static_cast<std::int64_t>(available / 2 / bytes_per_system()));
  }
  [[nodiscard]] std::size_t bytes_per_system() const override {
    return static_cast<std::size_t>(program_.elements()) * sizeof(T) +
           static_cast<std::size_t>(chunks_ + 1) * sizeof(PartialResidual) + sizeof(SystemResidual);
  }

 private:
  static constexpr int width = 32;  // a warp reads consecutive elements
  using Combine = CombineRows<T, width>;
  /// Systems that fill a GPU without a thread for each row.
  static constexpr std::int64_t enough_systems = 65536;

  /// Memory for this many systems, rounded up to whole groups.
  void reserve(std::int64_t count) {
    const std::int64_t groups = (count + width - 1) / width;
    if (groups <= groups_) return;
    groups_ = 0;
    memory_ = Array<T>();
    memory_ = Array<T>(backend_.device(), groups * width * program_.elements());
    partial_ = Array<PartialResidual>(backend_.device(), groups * width * chunks_);
    sums_ = Array<PartialResidual>(backend_.device(), groups * width);
    measured_ = Array<SystemResidual>(backend_.device(), groups * width);
    groups_ = groups;
  }

  /// Adds the solution for the residual to x, and measures; where `sums` are given, only in systems whose
  /// backward error needs that.
  void correct(const BatchArrays<T, width>& batch, std::int64_t count, const PartialResidual* sums) {
    using kernels::Portable;
    const auto guarded = [&]<class Step>(const Step& step) {
      return WhereInaccurate<Step>{step, sums, refined_batch_error<T>};
    };
    by_levels(guarded(SolveLowerRow<Portable, T, width, 1>{batch}), program_.forward_rows(), forward_, count);
    by_levels(guarded(SolveUpperRow<Portable, T, width, 1>{batch}), program_.backward_rows(), backward_,
              count);
    over_rows(guarded(MeasureBatchRow<Portable, T, width, 1>{batch}), count);
    backend_.for_each(count * chunks_, Combine{batch, count, partial_.data()});
    backend_.for_each(count, CombineChunks{partial_.data(), chunks_, count, sums_.data()});
  }

  /// A step for all rows, which do not depend on each other.
  template <class Step>
  void over_rows(const Step& step, std::int64_t systems) {
    backend_.for_each(systems * program_.n(), RowOfSystem<Step>{step, nullptr, systems});
  }
  template <class Step>
  void by_levels(const Step& step, const std::int32_t* rows, const std::vector<std::int64_t>& levels,
                 std::int64_t systems) {
    if (systems >= enough_systems) {
      return backend_.for_each(systems, AllRows<Step>{step, rows, program_.n()});
    }
    for (std::size_t level = 0; level + 1 < levels.size(); ++level) {
      const std::int64_t size = levels[level + 1] - levels[level];
      backend_.for_each(size * systems, RowOfSystem<Step>{step, rows + levels[level], systems});
    }
  }

  B backend_;
  DeviceProgram program_;
  std::vector<std::int64_t> forward_, backward_;
  std::int64_t chunks_;
  Array<T> memory_;
  Array<PartialResidual> partial_;  // by chunks of rows, then by systems
  Array<PartialResidual> sums_;     // of a right-hand side of each system
  Array<SystemResidual> measured_;
  std::int64_t groups_ = 0;
};

}  // namespace echelon::sparse_direct
