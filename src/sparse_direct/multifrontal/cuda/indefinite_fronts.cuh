// SPDX-License-Identifier: BSD-3-Clause
/// L D L^T and L D L^H factorisations of fronts, level by level, by the kernels of dense/tiles.
#pragma once

#include "backend/cuda/branches.cuh"
#include "backend/cuda/cuda.cuh"
#include "dense/tiles/indefinite_steps.cuh"
#include "sparse_direct/multifrontal/cuda/arrays.cuh"
#include "sparse_direct/multifrontal/cuda/front_plan.hpp"
#include "sparse_direct/multifrontal/cuda/large_front.cuh"
#include "sparse_direct/multifrontal/fronts/factor_facts.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

namespace echelon::sparse_direct::gpu {

/// Fronts of a list as the kernels see them.
template <class T>
struct IndefiniteFronts {
  FactorArrays<T> arrays;
  const std::int32_t* list;
  T* diagonal;
  std::int32_t* pivot_order;
  T* work;
  tiles::IndefiniteState<T>* states;
  TriangleMirror mirror;

  __device__ tiles::IndefiniteFront<T> operator()(int i) const {
    const Front& front = arrays.fronts[list[i]];
    return {.panel = arrays.factor + front.panel,
            .leading = front.rows,
            .rest = arrays.stack + front.update,
            .rows = front.rows,
            .pivots = front.pivots,
            .spare = front.spare,
            .first = front.first,
            .mirror = mirror,
            .diagonal = diagonal + std::int64_t{2} * front.first,
            .order = pivot_order + front.first,
            .inverses = nullptr,
            .work = work + front.work,
            .state = states + i};
  }
};

/// Inverts the order of the pivots of each front into `position`; one block for each front.
template <class T>
__global__ void invert_orders(FactorArrays<T> arrays, const std::int32_t* pivot_order) {
  const Front& front = arrays.fronts[blockIdx.x];
  for (int i = static_cast<int>(threadIdx.x); i < front.pivots; i += static_cast<int>(blockDim.x))
    arrays.position[front.first + pivot_order[front.first + i]] = i;
}

/// Solves x = D^-1 x in the first n elements of several right-hand sides. Queued.
template <class T>
void solve_with_diagonal(TriangleMirror mirror, std::int64_t n, std::int64_t columns, const T* diagonal, T* x,
                         std::int64_t leading) {
  if (n == 0) return;
  const dim3 grid(static_cast<unsigned>((n + tile_threads - 1) / tile_threads),
                  static_cast<unsigned>(columns));
  tiles::solve_indefinite_diagonal<<<grid, tile_threads, 0, stream()>>>(mirror, n, diagonal, x, leading);
  check(cudaGetLastError());
}

/// Working memory of factorisations by a plan.
template <class T>
class IndefiniteFactorization {
 public:
  IndefiniteFactorization(Cuda& backend, const FrontPlan& plan)
      : backend_(backend),
        plan_(plan),
        work_(backend.device(), plan.work_entries),
        states_(backend.device(), largest_level(plan)),
        facts_(backend.device(), 1) {
    tiles::allow_tiles<T, IndefiniteFronts<T>>();
  }

  /// Before the first level. Queued.
  void start() { backend_.fill(1, tiles::IndefiniteFacts{}, facts_.data()); }
  [[nodiscard]] std::size_t bytes() const { return work_.bytes() + states_.bytes() + facts_.bytes(); }

  /// Factors the fronts of a level, the batches at the same time. `order` lists the fronts of the plan.
  /// Queued.
  void factor_level(const FrontLevel& level, const FactorArrays<T>& arrays, const std::int32_t* order,
                    T* diagonal, std::int32_t* pivot_order, Branches& branches) {
    const std::int32_t first = level.small_begin[0];
    for_each_batch(level, [&](std::int32_t begin, std::int32_t end) {
      const bool is_last = end == level.large_end;
      factor_batch(begin, end,
                   {arrays, order + begin, diagonal, pivot_order, work_.data(),
                    states_.data() + (begin - first), TriangleMirror{is_hermitian(plan_.kind())}},
                   is_last || !branches.has_free() ? stream() : branches.branch());
    });
    branches.join();
  }

  /// Adds the facts about the pivots, and returns the first column of the permuted matrix without one, if
  /// any. Waits.
  [[nodiscard]] std::optional<std::int32_t> take_facts(FactorFacts& facts) const {
    const tiles::IndefiniteFacts found = backend_.read(facts_.data());
    float multiplier = 0;
    std::memcpy(&multiplier, &found.largest_multiplier, sizeof multiplier);
    facts.largest_multiplier = multiplier <= 1 ? 1 : static_cast<double>(multiplier);  // NaN stays
    facts.negative = found.negative;
    facts.two_by_two_pivots = found.pairs;
    const int failed = std::min(found.zero_column, found.crowded_column);
    if (failed == tiles::IndefiniteFacts::none) return std::nullopt;
    return failed;
  }

 private:
  /// Most fronts of one launch, which is the largest grid in the second dimension.
  static constexpr std::int32_t most_fronts = 65535;

  /// Divides fronts into batches of similar sizes: two of small ones and one of large ones, or more beyond
  /// most_fronts.
  template <class F>
  static void for_each_batch(const FrontLevel& level, F f) {
    const std::int32_t bounds[] = {level.small_begin[0], level.small_begin[2], level.large_begin,
                                   level.large_end};
    for (int b = 0; b < 3; ++b) {
      for (std::int32_t begin = bounds[b]; begin < bounds[b + 1]; begin += most_fronts)
        f(begin, std::min(begin + most_fronts, bounds[b + 1]));
    }
  }

  static std::int64_t largest_level(const FrontPlan& plan) {
    std::int64_t largest = 0;
    for (const FrontLevel& level : plan.levels)
      largest = std::max<std::int64_t>(largest, level.large_end - level.small_begin[0]);
    return largest;
  }

  [[nodiscard]] const Front& front_at(std::int32_t place) const {
    return plan_.fronts[static_cast<std::size_t>(plan_.order[static_cast<std::size_t>(place)])];
  }

  void factor_batch(std::int32_t begin, std::int32_t end, const IndefiniteFronts<T>& fronts,
                    cudaStream_t on) {
    tiles::IndefiniteBatch batch{end - begin, 0, 0};
    for (std::int32_t place = begin; place < end; ++place) {
      batch.rows = std::max(batch.rows, front_at(place).rows);
      batch.pivots = std::max(batch.pivots, front_at(place).pivots);
    }
    const dim3 grid(static_cast<unsigned>((batch.rows + assembly_columns - 1) / assembly_columns),
                    static_cast<unsigned>(batch.count));
    assemble_large_fronts<T, FactorKind::ldlt><<<grid, tile_threads, 0, on>>>(fronts.arrays, fronts.list);
    check(cudaGetLastError());
    tiles::start_fronts<T>(fronts, batch, on);
    for (int p = 0; p < batch.pivots; p += tiles::indefinite_width) {
      const tiles::IndefiniteStep step = step_at(begin, end, p);
      tiles::eliminate_blocks<T>(fronts, batch, step, facts_.data(), on);
      tiles::update_rest<T>(fronts, batch, step, on);
    }
  }

  [[nodiscard]] tiles::IndefiniteStep step_at(std::int32_t begin, std::int32_t end, int p) const {
    tiles::IndefiniteStep step{p, 0, false, false};
    for (std::int32_t place = begin; place < end; ++place) {
      const Front& front = front_at(place);
      const int width = std::min(front.pivots - p, static_cast<int>(tiles::indefinite_width));
      if (width <= 0) continue;
      step.rows_below = std::max(step.rows_below, front.rows - p - width);
      (width <= tiles::narrow ? step.has_narrow : step.has_wide) = true;
    }
    return step;
  }

  Cuda& backend_;
  const FrontPlan& plan_;
  Array<T> work_;
  Array<tiles::IndefiniteState<T>> states_;
  Array<tiles::IndefiniteFacts> facts_;
};

}  // namespace echelon::sparse_direct::gpu
