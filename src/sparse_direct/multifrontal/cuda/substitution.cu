// SPDX-License-Identifier: BSD-3-Clause
/// Forward and backward substitution over the tree of fronts, one kernel each. Its thread blocks take tasks
/// in the order of a list, and a task waits until those that it depends on are done: fronts are handed to
/// their parents, and back, without a launch for each level of the tree.
///
/// Sums are always formed in the same order, whichever block forms them and whenever.
#include "backend/cuda/check.cuh"
#include "backend/cuda/cuda.cuh"
#include "backend/cuda/grid.cuh"
#include "sparse_direct/multifrontal/cuda/indefinite_fronts.cuh"
#include "sparse_direct/multifrontal/cuda/substitution_large.cuh"
#include "sparse_direct/multifrontal/cuda/substitution_small.cuh"

#include <support/scalar_list.hpp>

#include <algorithm>

namespace echelon::sparse_direct::gpu {

namespace {

/// Shared memory of a task.
template <class T>
union SubstitutionScratch {
  SmallScratch<T> small;
  LargeScratch<T> large;
  __device__ SubstitutionScratch() {}
};

/// Calls f(task, column) for the tasks that the calling block takes one after the other.
template <class F>
__device__ void for_each_task(const SubstitutionTasks& list, F f) {
  const auto total = static_cast<unsigned long long>(list.count * list.columns);
  for_each_ticket(total, list.next, [&](unsigned long long ticket) {
    f(list.tasks[ticket / list.columns], static_cast<int>(ticket % list.columns));
  });
}

template <class T, TriangularFactor factor>
__global__ void __launch_bounds__(substitution_threads, substitution_blocks<T>)
    substitute_forward(SubstitutionArrays<T> all, SubstitutionTasks list, SubstitutionKind kind) {
  __shared__ SubstitutionScratch<T> scratch;
  for_each_task(list, [&](const SubstitutionTask& task, int column) {
    const SubstitutionArrays<T> arrays = all.column(column);
    if (task.kind == SubstitutionTask::small_fronts)
      return SmallFronts<T, factor, Direction::forward>(arrays, task, kind, scratch.small).substitute();
    const LargeFront<T, factor, Direction::forward> front(arrays, task, kind, scratch.large);
    switch (task.kind) {
      case SubstitutionTask::whole_front:
        return front.forward_whole();
      case SubstitutionTask::gather:
        return front.gather(task.part);
      case SubstitutionTask::pivot_rows:
        return front.forward_pivots(task.part);
      default:
        return front.forward_border(task.part);
    }
  });
}

template <class T, TriangularFactor factor>
__global__ void __launch_bounds__(substitution_threads, substitution_blocks<T>)
    substitute_backward(SubstitutionArrays<T> all, SubstitutionTasks list, SubstitutionKind kind) {
  __shared__ SubstitutionScratch<T> scratch;
  for_each_task(list, [&](const SubstitutionTask& task, int column) {
    const SubstitutionArrays<T> arrays = all.column(column);
    if (task.kind == SubstitutionTask::small_fronts)
      return SmallFronts<T, factor, Direction::backward>(arrays, task, kind, scratch.small).substitute();
    const LargeFront<T, factor, Direction::backward> front(arrays, task, kind, scratch.large);
    if (task.kind == SubstitutionTask::whole_front) return front.backward_whole();
    front.backward_pivots(task.part);
  });
}

/// Launches as many blocks as can be resident, or one for each task if that is less; a factor without columns
/// has no tasks.
template <class T, class Kernel>
void launch(Kernel kernel, const SubstitutionArrays<T>& arrays, const SubstitutionTasks& list,
            SubstitutionKind kind) {
  if (list.count * list.columns == 0) return;
  const std::int64_t resident = resident_blocks(kernel, substitution_threads, 0);
  kernel<<<static_cast<unsigned>(std::min(list.count * list.columns, resident)), substitution_threads, 0,
           stream()>>>(arrays, list, kind);
  check(cudaGetLastError());
}

/// Conjugates the solution of the forward substitution, and the values of x in a border. blockIdx.y: number
/// of the right-hand side.
template <class T>
__global__ void conjugate_solutions(SubstitutionArrays<T> all) {
  const SubstitutionArrays<T> arrays = all.column(static_cast<int>(blockIdx.y));
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= arrays.leading_x) return;
  T& element = (i < arrays.interior ? arrays.y : arrays.x)[i];
  element = conj(element);
}

/// Prepares the backward substitution with L^T in place of L^H, which leaves the conjugate of x. Real numbers
/// stay as they are. Queued.
template <class T>
void conjugate_between(const SubstitutionArrays<T>& arrays, std::int64_t columns) {
  if constexpr (is_complex<T>) {
    if (arrays.leading_x == 0) return;
    const dim3 grid(static_cast<unsigned>((arrays.leading_x + tile_threads - 1) / tile_threads),
                    static_cast<unsigned>(columns));
    conjugate_solutions<<<grid, tile_threads, 0, stream()>>>(arrays);
    check(cudaGetLastError());
  }
}

}  // namespace

template <class T>
void substitute(FactorKind kind, bool transposed, const SubstitutionArrays<T>& arrays,
                const SubstitutionTasks& forward, const SubstitutionTasks& backward) {
  constexpr auto lower = TriangularFactor::lower;
  constexpr auto upper = TriangularFactor::upper;
  if (kind == FactorKind::cholesky) {
    launch(substitute_forward<T, lower>, arrays, forward, {.unit_diagonal = false, .exchange = false});
    conjugate_between(arrays, forward.columns);
    launch(substitute_backward<T, lower>, arrays, backward, {.unit_diagonal = false, .exchange = false});
  } else if (has_block_diagonal(kind)) {
    launch(substitute_forward<T, lower>, arrays, forward, {.unit_diagonal = true, .exchange = true});
    solve_with_diagonal({.conjugates = is_hermitian(kind)}, arrays.interior, forward.columns, arrays.diagonal,
                        arrays.y, arrays.leading_x);
    if (is_hermitian(kind)) conjugate_between(arrays, forward.columns);
    launch(substitute_backward<T, lower>, arrays, backward, {.unit_diagonal = true, .exchange = true});
  } else if (!transposed) {
    launch(substitute_forward<T, lower>, arrays, forward, {.unit_diagonal = true, .exchange = true});
    launch(substitute_backward<T, upper>, arrays, backward, {.unit_diagonal = false, .exchange = false});
  } else {
    launch(substitute_forward<T, upper>, arrays, forward, {.unit_diagonal = false, .exchange = false});
    launch(substitute_backward<T, lower>, arrays, backward, {.unit_diagonal = true, .exchange = true});
  }
}

#define ECHELON_INSTANTIATE(T)                                                                       \
  template void substitute(FactorKind, bool, const SubstitutionArrays<T>&, const SubstitutionTasks&, \
                           const SubstitutionTasks&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::sparse_direct::gpu
