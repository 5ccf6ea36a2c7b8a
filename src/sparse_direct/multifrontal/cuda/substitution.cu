// SPDX-License-Identifier: BSD-3-Clause
/// Forward and backward substitution over the tree of fronts, one kernel each. Its thread blocks take tasks
/// in the order of a list, and a task waits until those that it depends on are done: fronts are handed to
/// their parents, and back, without a launch for each level of the tree.
///
/// Sums are always formed in the same order, whichever block forms them and whenever.
#include "backend/cuda/check.cuh"
#include "backend/cuda/cuda.cuh"
#include "sparse_direct/multifrontal/cuda/indefinite_fronts.cuh"
#include "sparse_direct/multifrontal/cuda/substitution_large.cuh"
#include "sparse_direct/multifrontal/cuda/substitution_small.cuh"

#include <algorithm>

namespace echelon::sparse_direct::gpu {

namespace {

/// Shared memory of a task.
template <class T>
struct SubstitutionScratch {
  union {
    SmallScratch<T> small;
    LargeScratch<T> large;
  };
};

/// Calls f(task, column) for the tasks that the calling block takes one after the other, until none is left
/// for any block. Each block takes its next task before it begins the current one, to hide the latency of the
/// atomic operation.
template <class F>
__device__ void for_each_task(const SubstitutionTasks& list, F f) {
  __shared__ unsigned long long shared_ticket;
  const auto total = static_cast<unsigned long long>(list.count * list.columns);
  unsigned long long next = 0;
  if (threadIdx.x == 0) next = atomicAdd(list.next, 1ULL);
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) shared_ticket = next;
    __syncthreads();
    const unsigned long long ticket = shared_ticket;
    if (ticket >= total) return;
    if (threadIdx.x == 0) next = atomicAdd(list.next, 1ULL);
    f(list.tasks[ticket / list.columns], static_cast<int>(ticket % list.columns));
  }
}

template <class T, TriangularFactor factor>
__global__ void __launch_bounds__(substitution_threads, substitution_blocks)
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
__global__ void __launch_bounds__(substitution_threads, substitution_blocks)
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
  int device = 0;
  int processors = 0;
  int blocks = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, substitution_threads, 0));
  const std::int64_t resident = std::int64_t{blocks} * processors;
  kernel<<<static_cast<unsigned>(std::min(list.count * list.columns, resident)), substitution_threads, 0,
           stream()>>>(arrays, list, kind);
  check(cudaGetLastError());
}

}  // namespace

template <class T>
void substitute(FactorKind kind, bool transposed, const SubstitutionArrays<T>& arrays,
                const SubstitutionTasks& forward, const SubstitutionTasks& backward) {
  constexpr auto lower = TriangularFactor::lower;
  constexpr auto upper = TriangularFactor::upper;
  if (kind == FactorKind::cholesky) {
    launch(substitute_forward<T, lower>, arrays, forward, {.unit_diagonal = false, .exchange = false});
    launch(substitute_backward<T, lower>, arrays, backward, {.unit_diagonal = false, .exchange = false});
  } else if (kind == FactorKind::ldlt) {
    launch(substitute_forward<T, lower>, arrays, forward, {.unit_diagonal = true, .exchange = true});
    solve_with_diagonal(arrays.interior, forward.columns, arrays.diagonal, arrays.y, arrays.leading_x);
    launch(substitute_backward<T, lower>, arrays, backward, {.unit_diagonal = true, .exchange = true});
  } else if (!transposed) {
    launch(substitute_forward<T, lower>, arrays, forward, {.unit_diagonal = true, .exchange = true});
    launch(substitute_backward<T, upper>, arrays, backward, {.unit_diagonal = false, .exchange = false});
  } else {
    launch(substitute_forward<T, upper>, arrays, forward, {.unit_diagonal = false, .exchange = false});
    launch(substitute_backward<T, lower>, arrays, backward, {.unit_diagonal = true, .exchange = true});
  }
}

template void substitute(FactorKind, bool, const SubstitutionArrays<double>&, const SubstitutionTasks&,
                         const SubstitutionTasks&);
template void substitute(FactorKind, bool, const SubstitutionArrays<float>&, const SubstitutionTasks&,
                         const SubstitutionTasks&);

}  // namespace echelon::sparse_direct::gpu
