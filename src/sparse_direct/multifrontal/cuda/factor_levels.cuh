// SPDX-License-Identifier: BSD-3-Clause
/// Numerical factorisation on a GPU: the launches of its kernels, level by level.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "backend/cuda/shared_memory.cuh"
#include "sparse_direct/multifrontal/cuda/device_elements.hpp"
#include "sparse_direct/multifrontal/cuda/factor_state.cuh"
#include "sparse_direct/multifrontal/cuda/front_plan.hpp"
#include "sparse_direct/multifrontal/cuda/indefinite_fronts.cuh"
#include "sparse_direct/multifrontal/cuda/inverses.cuh"
#include "sparse_direct/multifrontal/cuda/large_front.cuh"
#include "sparse_direct/multifrontal/cuda/small_front.cuh"
#include "sparse_direct/multifrontal/cuda/vendor.cuh"

#include <echelon/array.hpp>
#include <echelon/cancellation.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

namespace echelon::sparse_direct::gpu {

/// Most pivots of a large front that the kernels of this folder eliminate; fronts with more are factored by
/// cuSOLVER, one after the other.
inline constexpr int step_kernel_pivots = 768;
/// Least multiplications of a Schur complement for which cuBLAS is called for a single front.
inline constexpr double single_product = 5e7;

/// Stores factor[offset] = row scale * value * column scale, for all elements of row i.
template <class T>
struct ScatterRow {
  const std::int64_t* row_offsets;
  const std::int32_t* columns;
  const T* values;
  const std::int64_t* offsets;
  const T* row_scale;
  const T* column_scale;
  T* factor;
  __device__ void operator()(std::int64_t i) const {
    for (std::int64_t e = row_offsets[i]; e < row_offsets[i + 1]; ++e) {
      if (offsets[e] >= 0) factor[offsets[e]] = row_scale[i] * values[e] * column_scale[columns[e]];
    }
  }
};

inline int divide_up(int a, int b) {
  return (a + b - 1) / b;
}

inline dim3 grid(int x, std::int32_t fronts, int z = 1) {
  return {static_cast<unsigned>(std::max(x, 1)), static_cast<unsigned>(fronts), static_cast<unsigned>(z)};
}

/// Adds the update matrices of the roots in the fronts of the borders.
template <class T>
void FactorState<T>::assemble_borders(T* complements) {
  if (plan.border() == 0) return;
  std::int32_t largest = 0;
  for (std::size_t k = 0; k + 1 < plan.borders.size(); ++k)
    largest = std::max(largest, plan.borders[k + 1] - plan.borders[k]);
  const auto kernel = is_symmetric(plan.kind()) ? assemble_large_fronts<T, FactorKind::cholesky>
                                                : assemble_large_fronts<T, FactorKind::lu>;
  kernel<<<grid(divide_up(largest, assembly_columns), static_cast<std::int32_t>(plan.borders.size()) - 1),
           tile_threads, 0, stream()>>>(arrays(), order.data() + plan.order.size());
  check(cudaGetLastError());
  backend.copy(plan.border_entries, stack.data() + plan.stack_entries, complements);
}

template <class T>
template <FactorKind kind>
void FactorState<T>::factor_small(const FrontLevel& level, std::int32_t size_class) {
  const std::int32_t begin = level.small_begin[static_cast<std::size_t>(size_class)];
  const std::int32_t end = level.small_begin[static_cast<std::size_t>(size_class) + 1];
  if (begin == end) return;
  std::int32_t largest = 0;
  for (std::int32_t place = begin; place < end; ++place) largest = std::max(largest, front_at(place).rows);
  const int leading = largest | 1;  // an odd leading dimension avoids conflicts of memory banks
  const std::size_t bytes = static_cast<std::size_t>(leading) * static_cast<std::size_t>(largest) * sizeof(T);
  const auto kernel = factor_small_fronts<T, kind>;
  allow_shared_memory(kernel);
  constexpr int threads[] = {64, 128, 256, 512};
  kernel<<<static_cast<unsigned>(end - begin), threads[size_class], bytes, stream()>>>(
      arrays(), order.data() + begin, leading);
  check(cudaGetLastError());
}

/// Largest value of f(front) for fronts [begin, end) of the order.
template <class State, class F>
int largest_of(const State& state, std::int32_t begin, std::int32_t end, F f) {
  int largest = 0;
  for (std::int32_t place = begin; place < end; ++place)
    largest = std::max(largest, f(state.front_at(place)));
  return largest;
}

template <class T>
template <FactorKind kind>
void FactorState<T>::eliminate_in_steps(std::int32_t begin, std::int32_t end) {
  if (begin == end) return;
  const int pivots = front_at(begin).pivots;  // of the front with the most: large fronts are sorted
  const FactorArrays<T> a = arrays();
  const std::int32_t* const list = order.data() + begin;
  for (int p = 0; p < pivots; p += step_columns) {
    while (front_at(end - 1).pivots <= p) --end;
    const std::int32_t count = end - begin;
    const int rows = largest_of(*this, begin, end, [](const Front& f) { return f.rows; }) - p;
    const int border = largest_of(*this, begin, end, [](const Front& f) { return f.rows - f.pivots; });
    if constexpr (kind == FactorKind::cholesky) {
      factor_diagonal_blocks<<<grid(1, count), warp_size, 0, stream()>>>(a, list, p);
      solve_below_diagonal<<<grid(divide_up(rows, solve_rows_per_block), count), solve_rows_per_block, 0,
                             stream()>>>(a, list, p);
    } else {
      const std::size_t bytes = static_cast<std::size_t>(pivots - p) * step_columns * sizeof(T);
      allow_shared_memory(factor_pivot_rows<T>);
      const unsigned threads = pivots - p > 256 ? 512 : 256;
      factor_pivot_rows<<<grid(1, count), threads, bytes, stream()>>>(a, list, p);
      exchange_pivot_rows<<<grid(divide_up(pivots, solve_rows_per_block), count), solve_rows_per_block, 0,
                            stream()>>>(a, list, p);
      if (border > 0) {
        solve_borders<<<grid(divide_up(border, solve_rows_per_block), count, 2), solve_rows_per_block, 0,
                        stream()>>>(a, list, p);
      }
    }
    const int tiles = divide_up(pivots - p, tile_order) * divide_up(rows, tile_order);
    if (p + step_columns < pivots) {
      update_panels<T, kind>
          <<<grid(tiles, count, kind == FactorKind::lu ? 2 : 1), tile_threads, 0, stream()>>>(a, list, p);
    }
    check(cudaGetLastError());
  }
}

template <class T>
template <FactorKind kind>
void FactorState<T>::eliminate_by_vendor(std::int32_t place) {
  const Front& front = front_at(place);
  const std::int64_t border = front.rows - front.pivots;
  T* const panel = factor.data() + front.panel;
  T* const below = panel + front.pivots;
  if constexpr (kind == FactorKind::cholesky) {
    lapack->potrf(front.pivots, panel, front.rows);
    record_vendor_failure<<<1, 1, 0, stream()>>>(arrays(), lapack->info(), front.first);
    lapack->trsm_right(true, false, border, front.pivots, panel, front.rows, below, front.rows);
  } else {
    T* const row_panel = factor.data() + front.row_panel;
    lapack->getrf(front.pivots, panel, front.rows, exchanges.data() + front.first);
    record_vendor_failure<<<1, 1, 0, stream()>>>(arrays(), lapack->info(), front.first);
    lapack->trsm_right(false, false, border, front.pivots, panel, front.rows, below, front.rows);
    count_from_zero<<<divide_up(front.pivots, tile_threads), tile_threads, 0, stream()>>>(
        front.pivots, exchanges.data() + front.first);
    find_positions<<<1, tile_threads, 0, stream()>>>(arrays(), order.data() + place, pivot_order.data());
    if (border == 0) return;
    exchange_columns<<<dim3(static_cast<unsigned>(divide_up(static_cast<int>(border), tile_threads)),
                            static_cast<unsigned>(front.pivots)),
                       tile_threads, 0, stream()>>>(border, row_panel, pivot_order.data() + front.first,
                                                    scratch.data());
    backend.copy(border * front.pivots, scratch.data(), row_panel);
    lapack->trsm_right(true, true, border, front.pivots, panel, front.rows, row_panel, border);
    record_multipliers<<<grid(64, 1), tile_threads, 0, stream()>>>(arrays(), order.data() + place);
  }
  check(cudaGetLastError());
}

template <class T>
template <FactorKind kind>
void FactorState<T>::subtract_products(std::int32_t begin, std::int32_t end) {
  std::int32_t batch = begin;  // fronts [batch, place) wait for the kernel
  const auto flush = [&](std::int32_t place) {
    if (batch == place) return;
    const int border = largest_of(*this, batch, place, [](const Front& f) { return f.rows - f.pivots; });
    const int tiles = divide_up(border, tile_order);
    if (tiles > 0) {
      update_schur_complements<T, kind>
          <<<grid(tiles * tiles, place - batch), tile_threads, 0, stream()>>>(arrays(), order.data() + batch);
      check(cudaGetLastError());
    }
  };
  for (std::int32_t place = begin; place < end; ++place) {
    const Front& front = front_at(place);
    const std::int64_t border = front.rows - front.pivots;
    if (static_cast<double>(border) * static_cast<double>(border) * front.pivots < single_product) continue;
    flush(place);
    batch = place + 1;
    const T* const left = factor.data() + front.panel + front.pivots;
    const bool symmetric = kind == FactorKind::cholesky;
    lapack->subtract_product(symmetric, border, front.pivots, left, front.rows,
                             symmetric ? left : factor.data() + front.row_panel,
                             symmetric ? front.rows : border, stack.data() + front.update);
  }
  flush(end);
}

template <class T>
template <FactorKind kind>
void FactorState<T>::invert(const FrontLevel& level) {
  const int pivots = front_at(level.large_begin).pivots;
  const std::int32_t* const list = order.data() + level.large_begin;
  const std::int32_t count = level.large_end - level.large_begin;
  const int triangles = kind == FactorKind::lu ? 2 : 1;
  constexpr std::size_t bytes = sizeof(T) * smallest_inverse_order * smallest_inverse_order;
  const auto kernel = invert_diagonal_blocks<T, kind>;
  allow_shared_memory(kernel);
  kernel<<<grid(divide_up(pivots, smallest_inverse_order), count, triangles), smallest_inverse_order, bytes,
           stream()>>>(arrays(), list, inverses.data());
  check(cudaGetLastError());
  std::int32_t larger = 0;  // fronts, which come first, whose blocks are larger
  while (larger < count &&
         InverseBlocks(front_at(level.large_begin + larger).pivots).order > smallest_inverse_order)
    ++larger;
  if (larger == 0) return;
  complete_inverses<<<grid(divide_up(pivots, inverse_columns), larger, triangles), inverse_threads, 0,
                      stream()>>>(arrays(), list, inverses.data());
  check(cudaGetLastError());
}

template <class T>
template <FactorKind kind>
void FactorState<T>::factor_large(const FrontLevel& level) {
  if (level.large_begin == level.large_end) return;
  const std::int32_t count = level.large_end - level.large_begin;
  const int rows =
      largest_of(*this, level.large_begin, level.large_end, [](const Front& f) { return f.rows; });
  assemble_large_fronts<T, kind>
      <<<grid(divide_up(rows, assembly_columns), count), tile_threads, 0, stream()>>>(
          arrays(), order.data() + level.large_begin);
  check(cudaGetLastError());
  std::int32_t place = level.large_begin;
  while (place < level.large_end && front_at(place).pivots > step_kernel_pivots) {
    eliminate_by_vendor<kind>(place++);
  }
  eliminate_in_steps<kind>(place, level.large_end);
  if (kind == FactorKind::lu && place < level.large_end) {
    find_positions<<<static_cast<unsigned>(level.large_end - place), tile_threads, 0, stream()>>>(
        arrays(), order.data() + place, pivot_order.data());
    check(cudaGetLastError());
  }
  invert<kind>(level);
  subtract_products<kind>(level.large_begin, level.large_end);
}

template <class T>
template <FactorKind kind>
void FactorState<T>::factor_level(const FrontLevel& level) {
  for (std::int32_t c = 0; c < small_classes; ++c) factor_small<kind>(level, c);
  factor_large<kind>(level);
}

/// Computes factors of kind L D L^T, with all fronts in global memory; false when cancelled. Waits.
template <class T>
bool FactorState<T>::factor_indefinite(const CancellationToken& cancel, std::optional<std::int32_t>& failed) {
  IndefiniteFactorization<T> factorization(backend, plan);
  for (const FrontLevel& level : plan.levels) {
    if (cancel.stop_requested()) return false;
    factorization.factor_level(level, arrays(), order.data(), diagonal.data(), pivot_order.data());
    if (level.large_begin < level.large_end) invert<FactorKind::ldlt>(level);
  }
  if (!plan.fronts.empty()) {
    const auto count = static_cast<unsigned>(plan.fronts.size());
    invert_orders<<<count, tile_threads, 0, stream()>>>(arrays(), pivot_order.data());
    check(cudaGetLastError());
  }
  failed = factorization.take_facts(factor_facts);
  return true;
}

/// Factors by Cholesky's method or as L U; false when cancelled. Queued.
template <class T>
bool FactorState<T>::factor_levels(const CancellationToken& cancel) {
  for (const FrontLevel& level : plan.levels) {
    if (cancel.stop_requested()) return false;
    if (plan.kind() == FactorKind::cholesky) {
      factor_level<FactorKind::cholesky>(level);
    } else {
      factor_level<FactorKind::lu>(level);
    }
  }
  return true;
}

/// Takes the facts about the pivots, and returns the first column of the permuted matrix without one, if any.
/// Waits.
template <class T>
std::optional<std::int32_t> FactorState<T>::take_facts() {
  const PivotFacts found = backend.read(facts.data());
  double multiplier = 0;
  std::memcpy(&multiplier, &found.largest_multiplier, sizeof multiplier);
  factor_facts.largest_multiplier = multiplier <= 1 ? 1 : multiplier;  // NaN stays
  if (found.first_failure == PivotFacts::none) return std::nullopt;
  return found.first_failure;
}

/// Allocates the working memory of a factorisation.
template <class T>
void FactorState<T>::reserve() {
  const Device& device = backend.device();
  std::int64_t exchanged = 0;  // elements of the largest row panel whose columns are exchanged
  int pivots = 0;              // of the largest front that cuSOLVER factors
  for (const Front& front : plan.fronts) {
    if (front.rows <= small_orders[small_classes - 1] || front.pivots <= step_kernel_pivots) continue;
    pivots = std::max(pivots, front.pivots);
    exchanged = std::max(exchanged, std::int64_t{front.rows - front.pivots} * front.pivots);
  }
  if (plan.kind() == FactorKind::cholesky) lapack->reserve_potrf(pivots);
  if (plan.kind() == FactorKind::lu) lapack->reserve_getrf(pivots);
  stack = Array<T>(device, plan.stack_entries + plan.border_entries);
  scratch = Array<T>(device, is_symmetric(plan.kind()) ? 0 : exchanged);
}

template <class T>
FactorResult FactorState<T>::run(const DeviceElements<T>& A, T* complements,
                                 const CancellationToken& cancel) {
  const CurrentDevice current(backend.device().id());
  reserve();
  backend.fill(1, PivotFacts{}, facts.data());
  backend.fill(plan.factor_entries, T{}, factor.data());
  backend.for_each(rows(), ScatterRow<T>{A.row_offsets, A.columns, A.values, offsets.data(), row_scale.data(),
                                         column_scale.data(), factor.data()});
  factor_facts = {};
  std::optional<std::int32_t> failed;
  const bool indefinite = plan.kind() == FactorKind::ldlt;
  const bool complete = indefinite ? factor_indefinite(cancel, failed) : factor_levels(cancel);
  if (complete && complements != nullptr) assemble_borders(complements);
  if (!indefinite) failed = take_facts();
  stack = Array<T>();
  scratch = Array<T>();
  if (!complete) return {FactorEnd::cancelled};
  if (failed) {
    const std::int32_t column = plan.layout.tree.permutation[static_cast<std::size_t>(*failed)];
    return {FactorEnd::no_pivot, FailedPivot{column}};
  }
  factor_facts.rank = rows() - plan.border();
  factor_facts.positive = is_symmetric(plan.kind()) ? factor_facts.rank - factor_facts.negative : 0;
  return {};
}

}  // namespace echelon::sparse_direct::gpu
