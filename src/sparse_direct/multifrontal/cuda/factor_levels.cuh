// SPDX-License-Identifier: BSD-3-Clause
/// Numerical factorisation on a GPU: the launches of its kernels, level by level.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "backend/cuda/grid.cuh"
#include "backend/cuda/shared_memory.cuh"
#include "linalg/rows_of_elements.hpp"
#include "sparse_direct/multifrontal/cuda/device_elements.hpp"
#include "sparse_direct/multifrontal/cuda/factor_state.cuh"
#include "sparse_direct/multifrontal/cuda/front_plan.hpp"
#include "sparse_direct/multifrontal/cuda/indefinite_fronts.cuh"
#include "sparse_direct/multifrontal/cuda/inverses.cuh"
#include "sparse_direct/multifrontal/cuda/kept_pivots.cuh"
#include "sparse_direct/multifrontal/cuda/large_front.cuh"
#include "sparse_direct/multifrontal/cuda/pivot_sizes.cuh"
#include "sparse_direct/multifrontal/cuda/small_front.cuh"
#include "sparse_direct/multifrontal/cuda/vendor.cuh"

#include <echelon/array.hpp>
#include <echelon/cancellation.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>

namespace echelon::sparse_direct::gpu {

/// Most pivots of a large front that the kernels of this folder eliminate; fronts with more are factored by
/// cuSOLVER, one after the other.
template <class T>
inline constexpr int step_kernel_pivots = is_complex<T> ? 384 : 768;
/// Least multiplications of a Schur complement for which cuBLAS is called for a single front.
inline constexpr double single_product = 5e7;

/// Stores factor[offset] = row scale * value * column scale for an element. By elements rather than rows,
/// since rows may have very different lengths.
template <class T>
struct ScatterElement {
  const std::int32_t* rows;
  const std::int32_t* columns;
  const T* values;
  const std::int64_t* offsets;
  const Real<T>* row_scale;
  const Real<T>* column_scale;
  T* factor;
  __device__ void operator()(std::int64_t e) const {
    if (offsets[e] >= 0) factor[offsets[e]] = row_scale[rows[e]] * values[e] * column_scale[columns[e]];
  }
};

inline int divide_up(int a, int b) {
  return (a + b - 1) / b;
}

inline dim3 grid(int x, std::int32_t fronts, int z = 1) {
  return {static_cast<unsigned>(std::max(x, 1)), static_cast<unsigned>(fronts), static_cast<unsigned>(z)};
}

/// Calls f(first, count) for parts of `count` items, each of which has at most as many as the second
/// dimension of a grid.
template <class F>
void for_each_grid(std::int32_t count, F f) {
  constexpr std::int32_t most = 65535;
  for (std::int32_t first = 0; first < count; first += most) f(first, std::min(most, count - first));
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

/// Threads of a block that factors a front of a size class: many for few fronts, each of which should take
/// little time, and few for more fronts than multiprocessors, which then work on several at the same time.
inline unsigned small_front_threads(std::size_t size_class, std::int32_t fronts, unsigned multiprocessors) {
  constexpr unsigned least[] = {64, 128, 256, 512};
  constexpr unsigned most[] = {256, 256, 512, 512};
  const unsigned for_each_processor = static_cast<unsigned>(fronts) / multiprocessors + 1;
  return std::max(least[size_class], most[size_class] / std::bit_floor(for_each_processor));
}

/// Largest value of f(front) for fronts [begin, end) of the order.
template <class State, class F>
int largest_of(const State& state, std::int32_t begin, std::int32_t end, F f) {
  int largest = 0;
  for (std::int32_t place = begin; place < end; ++place)
    largest = std::max(largest, f(state.front_at(place)));
  return largest;
}

/// Factors the small fronts [begin, end) of the order, with `threads` threads in a block. `ticket`: number of
/// the counter of those that blocks have taken.
template <class T>
template <FactorKind kind, PivotChoice of>
void FactorState<T>::factor_small(std::int32_t begin, std::int32_t end, unsigned threads, std::size_t ticket,
                                  cudaStream_t on) {
  const int largest = largest_of(*this, begin, end, [](const Front& front) { return front.rows; });
  const int leading = largest | 1;  // an odd leading dimension avoids conflicts of memory banks
  const std::size_t bytes = static_cast<std::size_t>(leading) * static_cast<std::size_t>(largest) * sizeof(T);
  const auto kernel = factor_small_fronts<T, kind, of>;
  allow_shared_memory(kernel);
  const auto count = static_cast<unsigned>(end - begin);
  const SmallFrontList list{order.data() + begin, count, tickets() + ticket};
  kernel<<<std::min(count, resident_blocks(kernel, threads, bytes)), threads, bytes, on>>>(arrays(), list,
                                                                                           leading);
  check(cudaGetLastError());
}

/// Calls f(p, count, pivots, rows) for the steps of fronts [begin, end) of the order, in which `count` fronts
/// have pivots, at most `pivots` and at most `rows` rows from column p on.
template <class State, class F>
void for_each_step(const State& state, std::int32_t begin, std::int32_t end, F f) {
  if (begin == end) return;
  const int pivots = state.front_at(begin).pivots;  // of the front with the most: large fronts are sorted
  for (int p = 0; p < pivots; p += step_columns) {
    while (state.front_at(end - 1).pivots <= p) --end;
    const int rows = largest_of(state, begin, end, [](const Front& front) { return front.rows; }) - p;
    f(p, end - begin, pivots - p, rows);
  }
}

/// Number of tiles of the columns right of a step.
inline int tiles_of_step(int pivots, int rows) {
  return divide_up(pivots, tile_order) * divide_up(rows, tile_order);
}

template <class T>
template <FactorKind kind>
void FactorState<T>::eliminate_on_diagonal(std::int32_t begin, std::int32_t end) {
  if (begin == end) return;
  constexpr int panels = kind == FactorKind::lu ? 2 : 1;
  const FactorArrays<T> a = arrays();
  const std::int32_t* const list = order.data() + begin;
  factor_first_diagonal_blocks<T, kind><<<grid(1, end - begin), warp_size, 0, stream()>>>(a, list);
  for_each_step(*this, begin, end, [&](int p, std::int32_t count, int pivots, int rows) {
    solve_beside_diagonal<T, kind>
        <<<grid(divide_up(rows, solve_rows_per_block), count, panels), solve_rows_per_block, 0, stream()>>>(
            a, list, p);
    if (pivots > step_columns) {
      update_panels<T, kind, PivotChoice::diagonal>
          <<<grid(tiles_of_step(pivots, rows), count, panels), tile_threads, 0, stream()>>>(a, list, p);
    }
    check(cudaGetLastError());
  });
}

template <class T>
template <FactorKind kind>
void FactorState<T>::eliminate_with_exchanges(std::int32_t begin, std::int32_t end) {
  const FactorArrays<T> a = arrays();
  const std::int32_t* const list = order.data() + begin;
  for_each_step(*this, begin, end, [&](int p, std::int32_t count, int pivots, int rows) {
    const int border =
        largest_of(*this, begin, begin + count, [](const Front& f) { return f.rows - f.pivots; });
    const std::size_t bytes = static_cast<std::size_t>(pivots) * step_columns * sizeof(T);
    allow_shared_memory(factor_pivot_rows<T>);
    const unsigned threads = pivots > 256 ? 512 : 256;
    factor_pivot_rows<<<grid(1, count), threads, bytes, stream()>>>(a, list, p);
    exchange_pivot_rows<<<grid(divide_up(p + pivots, solve_rows_per_block), count), solve_rows_per_block, 0,
                          stream()>>>(a, list, p);
    if (border > 0) {
      solve_borders<<<grid(divide_up(border, solve_rows_per_block), count, 2), solve_rows_per_block, 0,
                      stream()>>>(a, list, p);
    }
    if (pivots > step_columns) {
      update_panels<T, kind, PivotChoice::largest>
          <<<grid(tiles_of_step(pivots, rows), count, 2), tile_threads, 0, stream()>>>(a, list, p);
    }
    check(cudaGetLastError());
  });
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
    lapack->trsm_right(Operation::adjoint, false, border, front.pivots, panel, front.rows, below, front.rows);
  } else {
    T* const row_panel = factor.data() + front.row_panel;
    lapack->getrf(front.pivots, panel, front.rows, exchanges.data() + front.first);
    record_vendor_failure<<<1, 1, 0, stream()>>>(arrays(), lapack->info(), front.first);
    lapack->trsm_right(Operation::none, false, border, front.pivots, panel, front.rows, below, front.rows);
    count_from_zero<<<divide_up(front.pivots, tile_threads), tile_threads, 0, stream()>>>(
        front.pivots, exchanges.data() + front.first);
    find_positions<<<1, tile_threads, 0, stream()>>>(arrays(), order.data() + place, pivot_order.data());
    if (border == 0) return;
    exchange_columns<<<dim3(static_cast<unsigned>(divide_up(static_cast<int>(border), tile_threads)),
                            static_cast<unsigned>(front.pivots)),
                       tile_threads, 0, stream()>>>(border, row_panel, pivot_order.data() + front.first,
                                                    scratch.data());
    backend.copy(border * front.pivots, scratch.data(), row_panel);
    lapack->trsm_right(Operation::transpose, true, border, front.pivots, panel, front.rows, row_panel,
                       border);
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

/// Inverts the diagonal blocks of the fronts whose substitutions need that.
template <class T>
template <FactorKind kind>
void FactorState<T>::invert() {
  if (inverted_places.empty()) return;
  const auto pivots_of = [&](std::size_t k) { return front_at(inverted_places[k]).pivots; };
  const int pivots = pivots_of(0);
  const auto count = static_cast<std::int32_t>(inverted_places.size());
  const int triangles = kind == FactorKind::lu ? 2 : 1;
  constexpr std::size_t bytes =
      has_shared_inverse<T> ? sizeof(T) * smallest_inverse_order * smallest_inverse_order : 0;
  const auto kernel = invert_diagonal_blocks<T, kind>;
  allow_shared_memory(kernel);
  allow_shared_memory(complete_inverses<T>);
  for_each_grid(count, [&](std::int32_t first, std::int32_t fronts) {
    kernel<<<grid(divide_up(pivots, smallest_inverse_order), fronts, triangles), smallest_inverse_order,
             bytes, stream()>>>(arrays(), inverted_fronts.data() + first, inverses.data());
    check(cudaGetLastError());
  });
  std::int32_t larger = 0;  // fronts, which come first, whose blocks are larger
  while (larger < count &&
         InverseBlocks(pivots_of(static_cast<std::size_t>(larger))).order > smallest_inverse_order)
    ++larger;
  for_each_grid(larger, [&](std::int32_t first, std::int32_t fronts) {
    complete_inverses<<<grid(divide_up(pivots, inverse_columns), fronts, triangles), inverse_threads,
                        sizeof(InverseScratch<T>), stream()>>>(arrays(), inverted_fronts.data() + first,
                                                               inverses.data());
    check(cudaGetLastError());
  });
}

template <class T>
template <FactorKind kind, PivotChoice of>
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
  while (place < level.large_end && front_at(place).pivots > step_kernel_pivots<T>) {
    eliminate_by_vendor<kind>(place++);
  }
  if constexpr (of == PivotChoice::diagonal) {
    eliminate_on_diagonal<kind>(place, level.large_end);
  } else if (place < level.large_end) {
    eliminate_with_exchanges<kind>(place, level.large_end);
    find_positions<<<static_cast<unsigned>(level.large_end - place), tile_threads, 0, stream()>>>(
        arrays(), order.data() + place, pivot_order.data());
    check(cudaGetLastError());
  }
  subtract_products<kind>(level.large_begin, level.large_end);
}

/// Factors the fronts of a level, those of all size classes at the same time.
template <class T>
template <FactorKind kind, PivotChoice of>
void FactorState<T>::factor_level(std::int32_t number) {
  const FrontLevel& level = plan.levels[static_cast<std::size_t>(number)];
  bool main_is_free = level.large_begin == level.large_end;
  for (std::size_t c = small_classes; c-- > 0;) {
    const std::int32_t begin = level.small_begin[c];
    const std::int32_t end = level.small_begin[c + 1];
    if (begin == end) continue;
    const unsigned threads = small_front_threads(c, end - begin, multiprocessors(backend.device()));
    factor_small<kind, of>(begin, end, threads, static_cast<std::size_t>(number) * small_classes + c,
                           main_is_free ? stream() : branches->branch());
    main_is_free = false;
  }
  factor_large<kind, of>(level);
  branches->join();
}

/// Factors the fronts of a run.
template <class T>
template <FactorKind kind, PivotChoice of>
void FactorState<T>::factor_run(const LevelRun& run) {
  if (run.end - run.begin == 1) return factor_level<kind, of>(run.begin);
  const std::int32_t begin = plan.levels[static_cast<std::size_t>(run.begin)].small_begin[0];
  const std::int32_t end = plan.levels[static_cast<std::size_t>(run.end) - 1].large_end;
  const int largest = largest_of(*this, begin, end, [](const Front& front) { return front.rows; });
  factor_small<kind, of>(begin, end, largest > small_orders[1] ? 512 : 256,
                         static_cast<std::size_t>(run.begin) * small_classes, stream());
}

/// Computes factors of kind L D L^T, with all fronts in global memory; false when cancelled. Queued.
template <class T>
bool FactorState<T>::factor_indefinite(const CancellationToken& cancel) {
  indefinite->start();
  for (const FrontLevel& level : plan.levels) {
    if (cancel.stop_requested()) return false;
    indefinite->factor_level(level, arrays(), order.data(), diagonal.data(), pivot_order.data(), *branches);
  }
  if (!plan.fronts.empty()) {
    const auto count = static_cast<unsigned>(plan.fronts.size());
    invert_orders<<<count, tile_threads, 0, stream()>>>(arrays(), pivot_order.data());
    check(cudaGetLastError());
  }
  invert<FactorKind::ldlt>();
  return true;
}

/// Factors by Cholesky's method or as L U; false when cancelled. Queued.
template <class T>
bool FactorState<T>::factor_levels(const CancellationToken& cancel) {
  constexpr auto diagonal_pivots = PivotChoice::diagonal;
  backend.fill(counters.size(), 0U, counters.data());
  for (const LevelRun& run : plan.runs) {
    if (cancel.stop_requested()) return false;
    if (plan.kind() == FactorKind::cholesky) {
      factor_run<FactorKind::cholesky, diagonal_pivots>(run);
    } else if (choice == diagonal_pivots) {
      factor_run<FactorKind::lu, diagonal_pivots>(run);
    } else {
      factor_run<FactorKind::lu, PivotChoice::largest>(run);
    }
  }
  if (plan.kind() == FactorKind::cholesky) {
    invert<FactorKind::cholesky>();
  } else {
    invert<FactorKind::lu>();
  }
  return true;
}

/// Queued.
template <class T>
void FactorState<T>::measure_pivots() {
  if (plan.fronts.empty()) return;
  const auto kernel = plan.kind() == FactorKind::cholesky ? record_pivot_sizes<T, FactorKind::cholesky>
                      : plan.kind() == FactorKind::lu     ? record_pivot_sizes<T, FactorKind::lu>
                      : plan.kind() == FactorKind::ldlt   ? record_pivot_sizes<T, FactorKind::ldlt>
                                                          : record_pivot_sizes<T, FactorKind::hermitian_ldlt>;
  kernel<<<static_cast<unsigned>(plan.fronts.size()), warp_size, 0, stream()>>>(arrays(), diagonal.data());
  check(cudaGetLastError());
}

/// Factors the elements that have been stored in the fronts; false when cancelled. The launches of a change
/// of values are recorded, unless libraries are called or pivots are searched. Queued.
template <class T>
bool FactorState<T>::eliminate(const CancellationToken& cancel) {
  bool complete = true;
  const auto queue = [&](const CancellationToken& token) {
    complete = has_block_diagonal(plan.kind()) ? factor_indefinite(token) : factor_levels(token);
    if (complete) measure_pivots();
  };
  if (is_recordable && has_factors && choice == PivotChoice::diagonal) {
    if (cancel.stop_requested()) return false;
    recording.run(backend, {factor.data(), stack.data(), kept.rows()}, [&] { queue({}); });
  } else {
    queue(cancel);
  }
  return complete;
}

/// Takes the facts about the pivots. Waits.
template <class T>
void FactorState<T>::take_facts() {
  factor_facts = {};
  const PivotFacts found = backend.read(facts.data());
  factor_facts.pivot_ratio = pivot_ratio(found);
  factor_facts.kept_pivots = keeps_pivots();
  if (indefinite) {
    failed = indefinite->take_facts(factor_facts);
    return;
  }
  double multiplier = 0;
  std::memcpy(&multiplier, &found.largest_multiplier, sizeof multiplier);
  factor_facts.largest_multiplier = multiplier <= 1 ? 1 : multiplier;  // NaN stays
  failed.reset();
  if (found.first_failure != PivotFacts::none) failed = found.first_failure;
}

/// Whether new values may have the pivots of earlier ones.
template <class T>
bool FactorState<T>::stands() const {
  constexpr double most_growth = 16;  // of the largest multiplier
  return !failed && factor_facts.largest_multiplier <= most_growth * searched_multiplier;
}

/// Whether cuSOLVER or cuBLAS take part in the factorisation.
template <class T>
bool FactorState<T>::calls_libraries() const {
  if (has_block_diagonal(plan.kind())) return false;
  return std::any_of(plan.fronts.begin(), plan.fronts.end(), [](const Front& front) {
    const double border = front.rows - front.pivots;
    return front.rows > small_orders[small_classes - 1] &&
           (front.pivots > step_kernel_pivots<T> || border * border * front.pivots >= single_product);
  });
}

/// Allocates the working memory of a factorisation.
template <class T>
void FactorState<T>::reserve() {
  if (stack.size() == 0) stack = Array<T>(backend.device(), plan.stack_entries + plan.border_entries);
  if (has_block_diagonal(plan.kind())) {
    if (!indefinite) indefinite.emplace(backend, plan);
    return;
  }
  std::int64_t exchanged = 0;  // elements of the largest row panel whose columns are exchanged
  int pivots = 0;              // of the largest front that cuSOLVER factors
  for (const Front& front : plan.fronts) {
    if (front.rows <= small_orders[small_classes - 1] || front.pivots <= step_kernel_pivots<T>) continue;
    pivots = std::max(pivots, front.pivots);
    exchanged = std::max(exchanged, std::int64_t{front.rows - front.pivots} * front.pivots);
  }
  if (plan.kind() == FactorKind::cholesky) {
    lapack->reserve_potrf(pivots);
  } else {
    lapack->reserve_getrf(pivots);
    scratch = Array<T>(backend.device(), exchanged);
  }
}

/// Releases the working memory, unless the next change of values is to find it where it was.
template <class T>
void FactorState<T>::release() {
  if (is_recordable && has_factors) return;
  stack = Array<T>();
  scratch = Array<T>();
  indefinite.reset();
}

/// Bytes of device memory that are kept between factorisations.
template <class T>
std::size_t FactorState<T>::bytes() const {
  if (!allocated) return 0;
  return allocated->factor + allocated->maps + stack.bytes() + (indefinite ? indefinite->bytes() : 0);
}

/// Factors A with a choice of pivots; false when cancelled. Waits.
template <class T>
bool FactorState<T>::try_pivots(PivotChoice of, const DeviceElements<T>& A, const CancellationToken& cancel) {
  choice = of;
  if (keeps_pivots()) kept.take(backend, arrays(), std::ssize(plan.fronts), offsets, relative);
  backend.fill(1, PivotFacts{}, facts.data());
  backend.fill(plan.factor_entries, T{}, factor.data());
  if (element_rows.size() != offsets.size()) {
    element_rows = Array<std::int32_t>(backend.device(), offsets.size());
    backend.segmented_for_each(rows(), A.row_offsets, WriteRowOfElement{element_rows.data()});
  }
  backend.for_each(offsets.size(), ScatterElement<T>{element_rows.data(), A.columns, A.values,
                                                     keeps_pivots() ? kept.offsets() : offsets.data(),
                                                     row_scale.data(), column_scale.data(), factor.data()});
  if (!eliminate(cancel)) return false;
  take_facts();
  return true;
}

/// New values of LU keep the pivots of earlier ones, unless these have become useless.
template <class T>
FactorResult FactorState<T>::run(const DeviceElements<T>& A, T* complements,
                                 const CancellationToken& cancel) {
  const CurrentDevice current(backend.device().id());
  reserve();
  const bool searches = plan.kind() == FactorKind::lu;
  bool complete = true;
  bool stood = false;
  if (!searches || (is_recordable && has_factors)) {
    complete = try_pivots(PivotChoice::diagonal, A, cancel);
    stood = !searches || stands();
  }
  if (complete && !stood) {
    kept.forget();
    complete = try_pivots(PivotChoice::largest, A, cancel);
    searched_multiplier = factor_facts.largest_multiplier;
  }
  if (complete && complements != nullptr) assemble_borders(complements);
  release();
  if (!complete) return {FactorEnd::cancelled};
  has_factors = !failed;
  if (failed) {
    const std::int32_t column = plan.layout.tree.permutation[static_cast<std::size_t>(*failed)];
    return {FactorEnd::no_pivot, FailedPivot{column}};
  }
  factor_facts.rank = rows() - plan.border();
  factor_facts.positive = is_symmetric(plan.kind()) ? factor_facts.rank - factor_facts.negative : 0;
  return {};
}

}  // namespace echelon::sparse_direct::gpu
