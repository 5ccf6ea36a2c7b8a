// SPDX-License-Identifier: BSD-3-Clause
/// A factorisation on a GPU: its plan, its arrays, and the launches of its kernels, level by level.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "backend/cuda/shared_memory.cuh"
#include "dense/tiles/indefinite_steps.cuh"
#include "linalg/blas/device_lapack.cuh"
#include "sparse_direct/multifrontal/cuda/device_elements.hpp"
#include "sparse_direct/multifrontal/cuda/front_plan.hpp"
#include "sparse_direct/multifrontal/cuda/indefinite_fronts.cuh"
#include "sparse_direct/multifrontal/cuda/inverses.cuh"
#include "sparse_direct/multifrontal/cuda/large_front.cuh"
#include "sparse_direct/multifrontal/cuda/small_front.cuh"
#include "sparse_direct/multifrontal/cuda/spare_pivots.hpp"
#include "sparse_direct/multifrontal/cuda/substitution_arrays.cuh"
#include "sparse_direct/multifrontal/cuda/vendor.cuh"
#include "sparse_direct/multifrontal/fronts/factor_facts.hpp"
#include "support/vector_bytes.hpp"

#include <echelon/array.hpp>
#include <echelon/cancellation.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace echelon::sparse_direct::gpu {

/// Most pivots of a large front that the kernels of this folder eliminate; fronts with more are factored by
/// cuSOLVER, one after the other.
inline constexpr int step_kernel_pivots = 768;
/// Least multiplications of a Schur complement for which cuBLAS is called for a single front.
inline constexpr double single_product = 5e7;

template <class V>
Array<V> to_device(const Device& device, std::span<const V> host) {
  return Array<V>(device, host);
}
/// Copies two lists, one after the other.
template <class V>
Array<V> to_device(const Device& device, const std::vector<V>& first, const std::vector<V>& second) {
  std::vector<V> both = first;
  both.insert(both.end(), second.begin(), second.end());
  return Array<V>(device, std::span<const V>(both));
}

/// Roots with rows in each border, border by border.
struct RootsOfBorders {
  std::vector<std::int32_t> fronts;
  std::vector<std::int32_t> begin{0};  ///< of each border
};

inline RootsOfBorders roots_of_borders(const FrontPlan& plan) {
  const SymbolicFactor& symbolic = plan.layout.tree;
  std::vector<std::vector<std::int32_t>> roots(plan.borders.size() - 1);
  for (std::int64_t s = 0; s < symbolic.supernodes(); ++s) {
    if (symbolic.parent[static_cast<std::size_t>(s)] >= 0 || symbolic.rows_of(s).empty()) continue;
    const auto row = static_cast<std::int32_t>(symbolic.rows_of(s).front() - symbolic.interior());
    const auto after = std::upper_bound(plan.borders.begin(), plan.borders.end(), row);
    roots[static_cast<std::size_t>(after - plan.borders.begin() - 1)].push_back(static_cast<std::int32_t>(s));
  }
  RootsOfBorders result;
  for (const std::vector<std::int32_t>& own : roots) {
    result.fronts.insert(result.fronts.end(), own.begin(), own.end());
    result.begin.push_back(static_cast<std::int32_t>(result.fronts.size()));
  }
  return result;
}

/// The fronts of the borders: they have no pivots, and their update matrices follow the stack.
inline std::vector<Front> border_fronts(const FrontPlan& plan, const RootsOfBorders& roots) {
  std::vector<Front> fronts;
  std::int64_t update = plan.stack_entries;
  for (std::size_t k = 0; k + 1 < plan.borders.size(); ++k) {
    Front& front = fronts.emplace_back();
    front.rows = plan.borders[k + 1] - plan.borders[k];
    front.child_begin = static_cast<std::int32_t>(plan.layout.children.size()) + roots.begin[k];
    front.child_end = static_cast<std::int32_t>(plan.layout.children.size()) + roots.begin[k + 1];
    front.update = update;
    update += std::int64_t{front.rows} * front.rows;
  }
  return fronts;
}

/// Numbers of the fronts of the borders.
inline std::vector<std::int32_t> border_numbers(const FrontPlan& plan) {
  std::vector<std::int32_t> numbers(plan.borders.size() - 1);
  std::iota(numbers.begin(), numbers.end(), static_cast<std::int32_t>(plan.fronts.size()));
  return numbers;
}

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

/// Copies target[target_position[i]] = scale[i] * source[source_position[i]] for n elements of several
/// columns.
template <class T>
struct PermuteAndScale {
  std::int64_t n;
  const T* source;
  std::int64_t leading_source;
  const std::int32_t* source_position;  ///< nullptr: i
  T* target;
  std::int64_t leading_target;
  const std::int32_t* target_position;  ///< nullptr: i
  const T* scale;                       ///< nullptr: 1
  __device__ void operator()(std::int64_t index) const {
    const std::int64_t column = index / n;
    const std::int64_t i = index % n;
    const std::int64_t from = source_position == nullptr ? i : source_position[i];
    const std::int64_t to = target_position == nullptr ? i : target_position[i];
    const T element = source[from + column * leading_source];
    target[to + column * leading_target] = scale == nullptr ? element : scale[i] * element;
  }
};

inline int divide_up(int a, int b) {
  return (a + b - 1) / b;
}

inline dim3 grid(int x, std::int32_t fronts, int z = 1) {
  return {static_cast<unsigned>(std::max(x, 1)), static_cast<unsigned>(fronts), static_cast<unsigned>(z)};
}

/// Device memory of a factorisation by this plan.
template <class T>
DeviceFactorMemory memory_of(const FrontPlan& plan, std::int64_t nonzeros) {
  DeviceFactorMemory memory;
  memory.factor = static_cast<std::size_t>(plan.factor_entries + plan.inverse_entries) * sizeof(T);
  memory.stack =
      static_cast<std::size_t>(plan.stack_entries + plan.border_entries + plan.work_entries) * sizeof(T);
  const FrontLayout& layout = plan.layout;
  memory.maps =
      bytes_of(plan.fronts) + bytes_of(plan.forward) + bytes_of(plan.backward) + bytes_of(layout.children) +
      bytes_of(plan.order) + 2 * bytes_of(layout.position_in_parent) +
      static_cast<std::size_t>(nonzeros) * 8 +
      static_cast<std::size_t>(plan.n()) * (2 * sizeof(T) + 8 + (plan.kind() == FactorKind::lu ? 12 : 0) +
                                            (plan.kind() == FactorKind::ldlt ? 8 + 2 * sizeof(T) : 0));
  return memory;
}

template <class T>
struct FactorState {
  Cuda backend;
  FrontPlan plan;
  FactorFacts factor_facts;
  // Set by allocate().
  std::optional<DeviceFactorMemory> allocated;
  Array<Front> fronts;  ///< and those of the borders
  Array<std::int32_t> children, relative, border_rows, order, exchanges, position, pivot_order;
  Array<std::int32_t> row_places, column_places;
  Array<T> row_scale, column_scale;
  Array<std::int64_t> offsets;
  Array<SubstitutionTask> forward_tasks, backward_tasks;
  Array<T> factor, inverses, stack, scratch;
  Array<T> diagonal;  // of D, two elements a column: on the diagonal, and below it
  Array<PivotFacts> facts;
  std::optional<DeviceLapack<T>> lapack;

  FactorState(const Device& device, FrontPlan front_plan) : backend(device), plan(std::move(front_plan)) {}

  void allocate(std::span<const std::int64_t> row_offsets, std::span<const std::int32_t> column_indices,
                std::span<const T> row_scales, std::span<const T> column_scales);
  [[nodiscard]] FactorArrays<T> arrays() {
    return {fronts.data(), children.data(),  relative.data(), factor.data(),
            stack.data(),  exchanges.data(), position.data(), facts.data()};
  }
  [[nodiscard]] const Front& front_at(std::int32_t place) const {
    return plan.fronts[static_cast<std::size_t>(plan.order[static_cast<std::size_t>(place)])];
  }

  template <FactorKind kind>
  void factor_level(const FrontLevel& level);
  template <FactorKind kind>
  void factor_small(const FrontLevel& level, std::int32_t size_class);
  template <FactorKind kind>
  void factor_large(const FrontLevel& level);
  template <FactorKind kind>
  void eliminate_in_steps(std::int32_t begin, std::int32_t end);
  template <FactorKind kind>
  void eliminate_by_vendor(std::int32_t place);
  template <FactorKind kind>
  void invert(const FrontLevel& level);
  template <FactorKind kind>
  void subtract_products(std::int32_t begin, std::int32_t end);
  /// Number of the user's rows, without the spare ones of the permuted matrix.
  [[nodiscard]] std::int64_t rows() const { return row_places.size(); }
  [[nodiscard]] FactorResult run(const DeviceElements<T>& A, T* complements, const CancellationToken& cancel);
  void reserve();
  [[nodiscard]] bool factor_levels(const CancellationToken& cancel);
  [[nodiscard]] bool factor_indefinite(const CancellationToken& cancel, std::optional<std::int32_t>& failed);
  [[nodiscard]] std::optional<std::int32_t> take_facts();
  void assemble_borders(T* complements);
  void solve(bool transposed, std::int64_t columns, const T* B, std::int64_t leading_b, T* X,
             std::int64_t leading_x, T* workspace, Equilibrated equilibrated) const;
};

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

/// Copies the lists of the plan to the device, and releases those that the host does not need any more.
template <class T>
void FactorState<T>::allocate(std::span<const std::int64_t> row_offsets,
                              std::span<const std::int32_t> column_indices, std::span<const T> row_scales,
                              std::span<const T> column_scales) {
  const Device& device = backend.device();
  const FactorKind kind = plan.kind();
  const std::int64_t n = std::ssize(row_offsets) - 1;
  allocated = memory_of<T>(plan, std::ssize(column_indices));
  const std::vector<T> ones(row_scales.empty() ? static_cast<std::size_t>(n) : 0, T{1});
  FrontLayout& layout = plan.layout;
  const RootsOfBorders roots = roots_of_borders(plan);
  fronts = to_device(device, plan.fronts, border_fronts(plan, roots));
  children = to_device(device, layout.children, roots.fronts);
  relative = to_device<std::int32_t>(device, layout.position_in_parent);
  border_rows = to_device<std::int32_t>(device, layout.tree.rows);
  order = to_device(device, plan.order, border_numbers(plan));
  exchanges = Array<std::int32_t>(device, kind == FactorKind::lu ? plan.n() : 0);
  position = Array<std::int32_t>(device, kind == FactorKind::cholesky ? 0 : plan.n());
  pivot_order = Array<std::int32_t>(device, kind == FactorKind::cholesky ? 0 : plan.n());
  const std::vector<std::int32_t> rows_at = places_in(layout.row_permutation, n);
  const std::vector<std::int32_t> columns_at = places_in(layout.tree.permutation, n);
  row_places = to_device<std::int32_t>(device, rows_at);
  column_places = to_device<std::int32_t>(device, columns_at);
  row_scale = to_device<T>(device, row_scales.empty() ? ones : row_scales);
  column_scale = to_device<T>(device, column_scales.empty() ? ones : column_scales);
  offsets = to_device<std::int64_t>(device,
                                    element_offsets(plan, row_offsets, column_indices, rows_at, columns_at));
  forward_tasks = to_device<SubstitutionTask>(device, plan.forward);
  backward_tasks = to_device<SubstitutionTask>(device, plan.backward);
  factor = Array<T>(device, plan.factor_entries);
  inverses = Array<T>(device, plan.inverse_entries);
  diagonal = Array<T>(device, kind == FactorKind::ldlt ? 2 * plan.n() : 0);
  facts = Array<PivotFacts>(device, 1);
  lapack.emplace(device);
  layout.position_in_parent = {};
  layout.tree.rows = {};
  layout.row_permutation = {};
  plan.forward = plan.backward = {};
}

/// Plan of a factorisation with an assembly tree, with spare pivots where the kind has them.
template <class T>
FrontPlan plan_tree(FactorKind kind, SymbolicFactor tree, std::span<const std::int32_t> row_permutation,
                    std::span<const std::int32_t> borders = {}) {
  tree = without_border_front(std::move(tree));
  std::vector<std::int32_t> spare;
  if (kind == FactorKind::ldlt) {
    SpareSymbolic with_spare = add_spare_pivots(std::move(tree));
    tree = std::move(with_spare.symbolic);
    spare = std::move(with_spare.spare);
  }
  return plan_fronts(lay_out(std::move(tree), kind, row_permutation, Device().threads()), sizeof(T), spare,
                     borders);
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

/// Offsets of a solve's arrays in its workspace.
template <class T>
struct SolveSpace {
  unsigned long long* next;  ///< tasks, forward and backward
  unsigned* counters;
  T* x;
  T* y;
  T* V;

  SolveSpace(const FrontPlan& plan, std::int64_t columns, T* workspace)
      : next(reinterpret_cast<unsigned long long*>(workspace)),
        counters(reinterpret_cast<unsigned*>(next + 2)),
        x(workspace + counter_bytes(plan, columns) / sizeof(T)),
        y(x + plan.n() * columns),
        V(y + plan.n() * columns) {}

  /// Number of bytes that must be zero at the beginning of a solve.
  static std::size_t counter_bytes(const FrontPlan& plan, std::int64_t columns) {
    constexpr std::size_t alignment = 256;
    const std::size_t bytes =
        2 * sizeof(unsigned long long) + static_cast<std::size_t>(plan.counters * columns) * sizeof(unsigned);
    return (bytes + alignment - 1) / alignment * alignment;
  }
  static std::int64_t size(const FrontPlan& plan, std::int64_t columns) {
    return static_cast<std::int64_t>(counter_bytes(plan, columns) / sizeof(T)) +
           (plan.vector_entries + 2 * plan.n()) * columns;
  }
};

template <class T>
void FactorState<T>::solve(bool transposed, std::int64_t columns, const T* B, std::int64_t leading_b, T* X,
                           std::int64_t leading_x, T* workspace, Equilibrated equilibrated) const {
  const std::int64_t n = plan.n();
  if (n == 0 || columns == 0) return;
  const CurrentDevice current(backend.device().id());
  Cuda own(backend.device());
  const SolveSpace<T> space(plan, columns, workspace);
  check(cudaMemsetAsync(space.next, 0, space.counter_bytes(plan, columns), stream()));
  const Array<std::int32_t>& in = transposed ? column_places : row_places;
  const Array<std::int32_t>& out = transposed ? row_places : column_places;
  const bool scaled = equilibrated == Equilibrated::no;
  const T* const in_scale = scaled ? (transposed ? column_scale : row_scale).data() : nullptr;
  const T* const out_scale = scaled ? (transposed ? row_scale : column_scale).data() : nullptr;
  if (n > rows()) own.fill(n * columns, T{}, space.x);
  own.for_each(rows() * columns,
               PermuteAndScale<T>{rows(), B, leading_b, nullptr, space.x, n, in.data(), in_scale});
  const SubstitutionArrays<T> arrays{.fronts = fronts.data(),
                                     .order = order.data(),
                                     .children = children.data(),
                                     .relative = relative.data(),
                                     .border_rows = border_rows.data(),
                                     .position = position.data(),
                                     .pivot_order = pivot_order.data(),
                                     .factor = factor.data(),
                                     .inverses = inverses.data(),
                                     .diagonal = diagonal.data(),
                                     .x = space.x,
                                     .y = space.y,
                                     .V = space.V,
                                     .counters = space.counters,
                                     .interior = n - plan.border(),
                                     .leading_x = n,
                                     .leading_v = plan.vector_entries,
                                     .leading_counters = plan.counters};
  const SubstitutionTasks forward{forward_tasks.data(), forward_tasks.size(), columns, space.next};
  const SubstitutionTasks backward{backward_tasks.data(), backward_tasks.size(), columns, space.next + 1};
  substitute(plan.kind(), transposed, arrays, forward, backward);
  own.for_each(rows() * columns,
               PermuteAndScale<T>{rows(), space.x, n, out.data(), X, leading_x, nullptr, out_scale});
}

}  // namespace echelon::sparse_direct::gpu
