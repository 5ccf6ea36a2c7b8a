// SPDX-License-Identifier: BSD-3-Clause
/// A factorisation on a GPU: its plan and its arrays.
#pragma once

#include "backend/cuda/branches.cuh"
#include "backend/cuda/cuda.cuh"
#include "backend/recording.hpp"
#include "linalg/blas/device_lapack.cuh"
#include "sparse_direct/multifrontal/cuda/arrays.cuh"
#include "sparse_direct/multifrontal/cuda/border_fronts.hpp"
#include "sparse_direct/multifrontal/cuda/device_elements.hpp"
#include "sparse_direct/multifrontal/cuda/front_plan.hpp"
#include "sparse_direct/multifrontal/cuda/indefinite_fronts.cuh"
#include "sparse_direct/multifrontal/cuda/kept_pivots.cuh"
#include "sparse_direct/multifrontal/cuda/spare_pivots.hpp"
#include "sparse_direct/multifrontal/fronts/factor_facts.hpp"
#include "support/vector_bytes.hpp"

#include <echelon/array.hpp>
#include <echelon/cancellation.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace echelon::sparse_direct::gpu {

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

/// Device memory of a factorisation by this plan.
template <class T>
DeviceFactorMemory memory_of(const FrontPlan& plan, std::int64_t nonzeros) {
  DeviceFactorMemory memory;
  memory.factor = static_cast<std::size_t>(plan.factor_entries + plan.inverse_entries) * sizeof(T);
  memory.stack =
      static_cast<std::size_t>(plan.stack_entries + plan.border_entries + plan.work_entries) * sizeof(T);
  const FrontLayout& layout = plan.layout;
  const std::size_t copies = plan.kind() == FactorKind::lu ? 2 : 1;  // one for kept pivots
  memory.maps = bytes_of(plan.fronts) + bytes_of(plan.forward) + bytes_of(plan.backward) +
                bytes_of(layout.children) + bytes_of(plan.order) + bytes_of(plan.sources.begin) +
                bytes_of(plan.sources.elements) + (1 + copies) * bytes_of(layout.position_in_parent) +
                static_cast<std::size_t>(nonzeros) * (copies * 8 + 4) +
                static_cast<std::size_t>(plan.n()) *
                    (2 * sizeof(Real<T>) + 8 + (plan.kind() == FactorKind::lu ? 12 : 0) +
                     (has_block_diagonal(plan.kind()) ? 8 + 2 * sizeof(T) : 0));
  return memory;
}

template <class T>
struct FactorState {
  Cuda backend;
  FrontPlan plan;
  FactorFacts factor_facts;
  std::optional<std::int32_t> failed;  // the first column of the permuted matrix without a pivot
  // Set by allocate().
  std::optional<DeviceFactorMemory> allocated;
  Array<Front> fronts;  ///< and those of the borders
  Array<std::int32_t> children, relative, border_rows, order, exchanges, position, pivot_order;
  Array<std::int32_t> source_begin, sources;  // ContributionSources
  Array<std::int32_t> row_places, column_places;
  Array<std::int32_t> element_rows;  // row of each element of A; from the first factorisation on
  Array<Real<T>> row_scale, column_scale;
  Array<std::int64_t> offsets;
  Array<SubstitutionTask> forward_tasks, backward_tasks;
  Array<T> factor, inverses, stack, scratch;
  Array<T> diagonal;  // of D, two elements a column: on the diagonal, and below it
  Array<PivotFacts> facts;
  Array<unsigned> counters;  // of a factorisation by Cholesky's method or as L U, see arrays() and tickets()
  std::optional<DeviceLapack<T>> lapack;
  std::optional<IndefiniteFactorization<T>> indefinite;  // of factors with a D
  std::vector<std::int32_t> inverted_places;  // of the fronts with inverses, with their pivots descending
  Array<std::int32_t> inverted_fronts;
  std::optional<Branches> branches;  // for the size classes of a level
  // For changes of values in a factorisation without calls of libraries: its launches are recorded, its
  // working memory is kept, and LU has the pivots of earlier values.
  bool is_recordable = false;
  bool has_factors = false;
  Recording<Cuda> recording;
  KeptPivots kept;
  PivotChoice choice = PivotChoice::diagonal;
  double searched_multiplier = 1;  // the largest after the last search for pivots
  double diagonal_threshold = 1;   // see FactorArrays

  FactorState(const Device& device, FrontPlan front_plan) : backend(device), plan(std::move(front_plan)) {}

  void allocate(std::span<const std::int64_t> row_offsets, std::span<const std::int32_t> column_indices,
                std::span<const Real<T>> row_scales, std::span<const Real<T>> column_scales);
  /// Whether LU keeps the pivots of earlier values.
  [[nodiscard]] bool keeps_pivots() const {
    return plan.kind() == FactorKind::lu && choice == PivotChoice::diagonal;
  }
  [[nodiscard]] FactorArrays<T> arrays() {
    return {
        fronts.data(), children.data(),    relative.data(),  keeps_pivots() ? kept.rows() : relative.data(),
        factor.data(), stack.data(),       exchanges.data(), position.data(),
        facts.data(),  diagonal_threshold, counters.data(),  counters.data() + fronts.size()};
  }
  /// Counters of the fronts that blocks have taken, for each level and size class.
  [[nodiscard]] unsigned* tickets() { return arrays().assembled + plan.levels.size(); }
  [[nodiscard]] const Front& front_at(std::int32_t place) const {
    return plan.fronts[static_cast<std::size_t>(plan.order[static_cast<std::size_t>(place)])];
  }

  template <FactorKind kind, PivotChoice of>
  void factor_run(const LevelRun& run);
  template <FactorKind kind, PivotChoice of>
  void factor_level(std::int32_t number);
  template <FactorKind kind, PivotChoice of>
  void factor_small(std::int32_t begin, std::int32_t end, unsigned threads, std::size_t ticket,
                    cudaStream_t on);
  template <FactorKind kind, PivotChoice of>
  void factor_large(const FrontLevel& level);
  template <FactorKind kind>
  void eliminate_with_exchanges(std::int32_t begin, std::int32_t end);
  template <FactorKind kind>
  void eliminate_on_diagonal(std::int32_t begin, std::int32_t end);
  template <FactorKind kind>
  void eliminate_by_vendor(std::int32_t place);
  template <FactorKind kind>
  void invert();
  template <FactorKind kind>
  void subtract_products(std::int32_t begin, std::int32_t end);
  /// Number of the user's rows, without the spare ones of the permuted matrix.
  [[nodiscard]] std::int64_t rows() const { return row_places.size(); }
  [[nodiscard]] FactorResult run(const DeviceElements<T>& A, T* complements, const CancellationToken& cancel);
  void list_inverted_fronts();
  void reserve();
  void release();
  [[nodiscard]] bool try_pivots(PivotChoice of, const DeviceElements<T>& A, const CancellationToken& cancel);
  [[nodiscard]] bool eliminate(const CancellationToken& cancel);
  [[nodiscard]] bool factor_levels(const CancellationToken& cancel);
  [[nodiscard]] bool factor_indefinite(const CancellationToken& cancel);
  void measure_pivots();
  void take_facts();
  [[nodiscard]] bool stands() const;
  [[nodiscard]] bool calls_libraries() const;
  [[nodiscard]] std::size_t bytes() const;
  void assemble_borders(T* complements);
  void solve(bool transposed, std::int64_t columns, const T* B, std::int64_t leading_b, T* X,
             std::int64_t leading_x, T* workspace, Equilibrated equilibrated) const;
};

/// Copies the lists of the plan to the device, and releases those that the host does not need any more.
template <class T>
void FactorState<T>::allocate(std::span<const std::int64_t> row_offsets,
                              std::span<const std::int32_t> column_indices,
                              std::span<const Real<T>> row_scales, std::span<const Real<T>> column_scales) {
  const Device& device = backend.device();
  const FactorKind kind = plan.kind();
  const std::int64_t n = std::ssize(row_offsets) - 1;
  allocated = memory_of<T>(plan, std::ssize(column_indices));
  const std::vector<Real<T>> ones(row_scales.empty() ? static_cast<std::size_t>(n) : 0, 1);
  FrontLayout& layout = plan.layout;
  const RootsOfBorders roots = roots_of_borders(plan);
  fronts = to_device(device, plan.fronts, border_fronts(plan, roots));
  children = to_device(device, layout.children, roots.fronts);
  relative = to_device<std::int32_t>(device, layout.position_in_parent);
  border_rows = to_device<std::int32_t>(device, layout.tree.rows);
  source_begin = to_device<std::int32_t>(device, plan.sources.begin);
  sources = to_device<std::int32_t>(device, plan.sources.elements);
  order = to_device(device, plan.order, border_numbers(plan));
  exchanges = Array<std::int32_t>(device, kind == FactorKind::lu ? plan.n() : 0);
  position = Array<std::int32_t>(device, kind == FactorKind::cholesky ? 0 : plan.n());
  pivot_order = Array<std::int32_t>(device, kind == FactorKind::cholesky ? 0 : plan.n());
  const std::vector<std::int32_t> rows_at = places_in(layout.row_permutation, n);
  const std::vector<std::int32_t> columns_at = places_in(layout.tree.permutation, n);
  row_places = to_device<std::int32_t>(device, rows_at);
  column_places = to_device<std::int32_t>(device, columns_at);
  row_scale = to_device<Real<T>>(device, row_scales.empty() ? ones : row_scales);
  column_scale = to_device<Real<T>>(device, column_scales.empty() ? ones : column_scales);
  offsets = to_device<std::int64_t>(device,
                                    element_offsets(plan, row_offsets, column_indices, rows_at, columns_at));
  forward_tasks = to_device<SubstitutionTask>(device, plan.forward);
  backward_tasks = to_device<SubstitutionTask>(device, plan.backward);
  factor = Array<T>(device, plan.factor_entries);
  inverses = Array<T>(device, plan.inverse_entries);
  diagonal = Array<T>(device, has_block_diagonal(kind) ? 2 * plan.n() : 0);
  facts = Array<PivotFacts>(device, 1);
  const auto levels = std::ssize(plan.levels);
  counters =
      Array<unsigned>(device, has_block_diagonal(kind) ? 0 : fronts.size() + levels + levels * small_classes);
  list_inverted_fronts();
  lapack.emplace(device);
  branches.emplace(small_classes);
  is_recordable = !calls_libraries();
  layout.position_in_parent = {};
  layout.tree.rows = {};
  layout.row_permutation = {};
  plan.forward = plan.backward = {};
  plan.sources = {};
}

template <class T>
void FactorState<T>::list_inverted_fronts() {
  for (const FrontLevel& level : plan.levels) {
    for (std::int32_t place = level.inverted_begin; place < level.large_end; ++place)
      inverted_places.push_back(place);
  }
  std::stable_sort(inverted_places.begin(), inverted_places.end(),
                   [&](std::int32_t a, std::int32_t b) { return front_at(a).pivots > front_at(b).pivots; });
  std::vector<std::int32_t> numbers;
  for (const std::int32_t place : inverted_places)
    numbers.push_back(plan.order[static_cast<std::size_t>(place)]);
  inverted_fronts = to_device<std::int32_t>(backend.device(), numbers);
}

/// Plan of a factorisation with an assembly tree, with spare pivots where the kind has them.
template <class T>
FrontPlan plan_tree(FactorKind kind, SymbolicFactor tree, std::span<const std::int32_t> row_permutation,
                    std::span<const std::int32_t> borders = {}) {
  tree = without_border_front(std::move(tree));
  std::vector<std::int32_t> spare;
  if (has_block_diagonal(kind)) {
    SpareSymbolic with_spare = add_spare_pivots(std::move(tree));
    tree = std::move(with_spare.symbolic);
    spare = std::move(with_spare.spare);
  }
  return plan_fronts(lay_out(std::move(tree), kind, row_permutation, Device().threads()), sizeof(T), spare,
                     borders);
}

}  // namespace echelon::sparse_direct::gpu
