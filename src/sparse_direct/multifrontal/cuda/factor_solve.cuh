// SPDX-License-Identifier: BSD-3-Clause
/// Substitution with factors on a GPU: the arrays of a solve, and its launches.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "sparse_direct/multifrontal/cuda/device_elements.hpp"
#include "sparse_direct/multifrontal/cuda/factor_state.cuh"
#include "sparse_direct/multifrontal/cuda/front_plan.hpp"
#include "sparse_direct/multifrontal/cuda/substitution_arrays.cuh"

#include <echelon/array.hpp>

#include <cstddef>
#include <cstdint>

namespace echelon::sparse_direct::gpu {

/// Copies target[target_position[i]] = scale[i] * source[source_position[i]], or its conjugate, for n
/// elements of several columns.
template <class T>
struct PermuteAndScale {
  std::int64_t n;
  const T* source;
  std::int64_t leading_source;
  const std::int32_t* source_position;  ///< nullptr: i
  T* target;
  std::int64_t leading_target;
  const std::int32_t* target_position;  ///< nullptr: i
  const Real<T>* scale;                 ///< nullptr: 1
  bool conjugates = false;
  __device__ void operator()(std::int64_t index) const {
    const std::int64_t column = index / n;
    const std::int64_t i = index % n;
    const std::int64_t from = source_position == nullptr ? i : source_position[i];
    const std::int64_t to = target_position == nullptr ? i : target_position[i];
    const T given = source[from + column * leading_source];
    const T element = conjugates ? conj(given) : given;
    target[to + column * leading_target] = scale == nullptr ? element : scale[i] * element;
  }
};

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
  const Real<T>* const in_scale = scaled ? (transposed ? column_scale : row_scale).data() : nullptr;
  const Real<T>* const out_scale = scaled ? (transposed ? row_scale : column_scale).data() : nullptr;
  // The transpose of a Hermitian matrix is its conjugate. substitute() leaves the conjugate of x = A^-1 b.
  const bool hermitian = is_hermitian(plan.kind());
  if (n > rows()) own.fill(n * columns, T{}, space.x);
  own.for_each(rows() * columns, PermuteAndScale<T>{rows(), B, leading_b, nullptr, space.x, n, in.data(),
                                                    in_scale, hermitian && transposed});
  const SubstitutionArrays<T> arrays{.fronts = fronts.data(),
                                     .order = order.data(),
                                     .source_begin = source_begin.data(),
                                     .sources = sources.data(),
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
  own.for_each(rows() * columns, PermuteAndScale<T>{rows(), space.x, n, out.data(), X, leading_x, nullptr,
                                                    out_scale, hermitian && !transposed});
}

}  // namespace echelon::sparse_direct::gpu
