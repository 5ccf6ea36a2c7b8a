// SPDX-License-Identifier: BSD-3-Clause
/// A batch on the host: each thread solves groups of systems, one after another, in the vector registers of
/// its core.
#pragma once

#include "sparse_direct/batched/device_program.hpp"
#include "sparse_direct/batched/host_kernels.hpp"
#include "sparse_direct/batched/steps.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace echelon::sparse_direct {

template <class B, class T>
class HostBatchElimination final : public BatchElimination<T> {
 public:
  HostBatchElimination(const Device& device, const BatchPattern& A, const EliminationProgram& program)
      : backend_(device),
        program_(device, A, program),
        memory_(device, backend_.threads() * lanes * program_.elements()) {}

  void solve(const BatchOfSystems<T>& systems, std::int64_t first, std::int64_t count,
             SystemResidual* residuals) override {
    const std::int64_t groups = (count + lanes - 1) / lanes;
    const bool worth_threads = count * program_.elements() > least_elements;
    backend_.parallel(worth_threads, [&](std::int64_t thread, std::int64_t threads) {
      for (std::int64_t group = groups * thread / threads; group < groups * (thread + 1) / threads; ++group) {
        const std::int64_t begin = first + group * lanes;
        solve_group(part_of(systems, begin), std::min<std::int64_t>(lanes, first + count - begin), thread,
                    residuals + begin);
      }
    });
  }
  [[nodiscard]] std::int64_t most_systems() const override {
    return std::numeric_limits<std::int64_t>::max();
  }
  [[nodiscard]] std::size_t bytes_per_system() const override {
    return static_cast<std::size_t>(program_.elements()) * sizeof(T);
  }

 private:
  static constexpr int lanes = host_lanes;
  /// Elements of all systems from which threads are woken.
  static constexpr std::int64_t least_elements = 20000;

  /// The first `count` of these systems, at most `lanes`, in the memory of this thread.
  void solve_group(const BatchOfSystems<T>& part, std::int64_t count, std::int64_t thread,
                   SystemResidual* residuals) {
    const HostArrays<T> batch =
        program_.arrays<T, lanes>(memory_.data() + thread * lanes * program_.elements(), lanes);
    std::fill_n(residuals, count, SystemResidual{});
    kernels_->load(batch, part.values.data(), part.values.leading(), count);
    kernels_->eliminate(batch, program_.forward_rows());
    for (std::int64_t column = 0; column < part.B.columns(); ++column) {
      PartialResidual sums[lanes];
      kernels_->load_rhs(batch, part.B, column, count);
      correct(batch, sums);
      const auto needs_refinement = [](const PartialResidual& of) {
        return !(of.error <= refined_batch_error<T>);
      };
      if (std::any_of(sums, sums + count, needs_refinement)) correct(batch, sums);
      const StoreBatchRow<kernels::Portable, T, lanes, lanes> store{
          batch, part.X.data() + column * part.X.leading(), part.X.stride(), count};
      for (std::int64_t row = 0; row < batch.n; ++row) store(row, 0);
      for (std::int64_t lane = 0; lane < count; ++lane) {
        residuals[lane] = with_column(residuals[lane], sums[lane], batch.n);
      }
    }
  }
  /// Adds the solution for the residual to x, and measures.
  void correct(const HostArrays<T>& batch, PartialResidual* sums) const {
    kernels_->solve_lower(batch, program_.forward_rows());
    kernels_->solve_upper(batch, program_.backward_rows());
    kernels_->measure(batch, sums);
  }

  B backend_;
  const BatchKernels<T>* kernels_ = &batch_kernels<T>();
  DeviceProgram program_;
  Array<T> memory_;
};

}  // namespace echelon::sparse_direct
