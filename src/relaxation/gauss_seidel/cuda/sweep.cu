// SPDX-License-Identifier: BSD-3-Clause
// Gauss-Seidel sweeps on a GPU: selection of a strategy, and the sequence of launches of one call.
#include "backend/cuda/cuda.cuh"
#include "relaxation/gauss_seidel/cuda/clear_vectors.cuh"
#include "relaxation/gauss_seidel/cuda/launch_chunks.cuh"
#include "relaxation/gauss_seidel/cuda/launch_lines.cuh"
#include "relaxation/gauss_seidel/cuda/launch_regions.cuh"
#include "relaxation/gauss_seidel/cuda/line_length.cuh"
#include "relaxation/gauss_seidel/sweep.hpp"

#include <utility>

namespace echelon::gauss_seidel {

namespace {

/// First row whose sum left of the diagonal is stored. Only the later half is: for all rows the sums would
/// take as much memory as a vector.
std::int64_t first_stored_sum(std::int64_t rows) {
  return rows - rows / 2;
}

/// Grows `array` to n elements, all of them not ready.
template <class T>
void grow_cleared(Cuda& backend, std::int64_t n, Array<T>& array) {
  if (array.size() >= n) return;
  array = Array<T>(backend.device(), n);
  backend.for_each(n, ClearVector<T>{nullptr, 1, {array.data(), n}});
}

/// Strategies that one call may use, and where the device stores the selected one.
template <class T>
struct Strategies {
  bool may_have_lines = false;
  bool may_use_regions = false;
  RegionPlan<T> regions{};
  const std::int32_t* forward = nullptr;
  const std::int32_t* backward = nullptr;
};

/// Queues the kernels that select a strategy.
template <class T>
Strategies<T> select_strategies_for(Cuda& backend, const Sweeps<T>& sweeps, SweepWorkspace<Cuda, T>& scratch,
                                    const Gpu& gpu) {
  const Csr<T>& A = *sweeps.A;
  Strategies<T> strategies;
  strategies.may_have_lines = may_have_lines(sweeps, scratch.tuning.lines_from_rows, gpu);
  strategies.may_use_regions = may_use_regions(sweeps, scratch.tuning, gpu);
  if (strategies.may_have_lines) {
    find_line_length(sweeps, scratch.line_length.data());
    strategies.forward = strategies.backward = scratch.line_length.data();
  }
  if (!strategies.may_use_regions) return strategies;
  strategies.regions = plan_regions(sweeps, gpu);
  const std::int64_t bytes = bytes_of(strategies.regions, sweeps.right_hand_sides);
  if (scratch.deferred_rows.size() < bytes)
    scratch.deferred_rows = Array<unsigned char>(backend.device(), bytes);
  strategies.regions.deferred_rows = reinterpret_cast<DeferredRow<T>*>(scratch.deferred_rows.data());
  backend.fill(2, regions_selected, scratch.strategies.data());
  select_strategies<<<2 * RowSample::samples, 1024, 0, stream()>>>(
      RowSample{A.rows(), A.row_offsets().data(), A.column_indices().data()}, strategies.forward,
      scratch.tuning.always_regions, scratch.strategies.data());
  check(cudaGetLastError());
  strategies.forward = scratch.strategies.data();
  strategies.backward = scratch.strategies.data() + 1;
  return strategies;
}

/// Queues the half sweeps of one call, which alternate between the caller's vector and the second one.
template <class T>
class SweepQueue {
 public:
  SweepQueue(Cuda& backend, const Sweeps<T>& sweeps, SweepWorkspace<Cuda, T>& scratch, const Gpu& gpu,
             const Strategies<T>& strategies)
      : backend_(backend),
        sweeps_(sweeps),
        tuning_(scratch.tuning),
        gpu_(gpu),
        lower_sums_(scratch.lower_sums.data()),
        tickets_(scratch.tickets.data()),
        strategies_(strategies),
        source_{sweeps.x, sweeps.leading_x},
        target_{scratch.other.data(), sweeps.A->rows()} {}

  /// The only half sweep of a triangular solve writes x at once.
  void solve_triangular() {
    target_ = {sweeps_.x, sweeps_.leading_x};
    clear_target();
    half_sweep(sweeps_.kind == SweepKind::forward, false);
  }

  void half_sweep(bool forward, bool reuse_lower_sums) {
    const Csr<T>& A = *sweeps_.A;
    // A triangular solve loads old values, but does not use them: b is in the cache.
    const VectorBlock<const T> old_x = sweeps_.triangular
                                           ? VectorBlock<const T>{sweeps_.b, sweeps_.leading_b}
                                           : VectorBlock<const T>{source_.data, source_.leading};
    const DeviceSweep<T> task{.rows = A.rows(),
                              .row_offsets = A.row_offsets().data(),
                              .column_indices = A.column_indices().data(),
                              .values = A.values().data(),
                              .right_hand_sides = static_cast<unsigned>(sweeps_.right_hand_sides),
                              .b = sweeps_.b,
                              .leading_b = sweeps_.leading_b,
                              .old = old_x.data,
                              .leading_old = old_x.leading,
                              .x = target_.data,
                              .leading_x = target_.leading,
                              .lower_sums = reuse_lower_sums ? lower_sums_ : nullptr,
                              .first_stored_sum = first_stored_sum(A.rows()),
                              .relaxation = Relaxation<T>(sweeps_.omega),
                              .state = sweeps_.state,
                              .skipped = first_ ? sweeps_.skipped : nullptr,
                              .tickets = tickets_,
                              .line_length = forward ? strategies_.forward : strategies_.backward};
    if (forward) {
      launch_all_strategies<true>(task);
    } else {
      launch_all_strategies<false>(task);
    }
    first_ = false;
    std::swap(source_, target_);
  }

  /// Clears the vector that the previous half sweep read: the next one writes it.
  void clear_target() {
    launch_vector_kernel(gpu_, sweeps_.A->rows(),
                         ClearVector<T>{sweeps_.state, sweeps_.right_hand_sides, target_});
  }

  /// Called after the last half sweep. Moves the result to x if necessary and clears the second vector.
  void finish() {
    if (source_.data == sweeps_.x) {
      clear_target();
    } else {
      launch_vector_kernel(gpu_, sweeps_.A->rows(),
                           CopyAndClear<T>{sweeps_.state, sweeps_.right_hand_sides, source_, target_});
    }
  }

 private:
  /// Queues one kernel for each possible strategy; all but the selected one return at once.
  template <bool forward>
  void launch_all_strategies(const DeviceSweep<T>& task) {
    if (strategies_.may_have_lines) launch_line_sweep<T, forward>(task, sweeps_, gpu_);
    if (strategies_.may_use_regions) launch_region_sweep<T, forward>(task, strategies_.regions);
    launch_chunk_sweep<T, forward>(task, sweeps_, tuning_, gpu_);
  }

  Cuda& backend_;
  const Sweeps<T>& sweeps_;
  const SweepTuning& tuning_;
  const Gpu& gpu_;
  T* lower_sums_;
  unsigned* tickets_;
  const Strategies<T>& strategies_;
  VectorBlock<T> source_;
  VectorBlock<T> target_;
  bool first_ = true;
};

}  // namespace

template <class T>
requires(!is_complex<T>) void sweep(Cuda& backend, const Sweeps<T>& sweeps,
                                    SweepWorkspace<Cuda, T>& scratch) {
  const std::int64_t elements = sweeps.A->rows() * sweeps.right_hand_sides;
  if (elements == 0 || sweeps.sweeps == 0) return;
  const CurrentDevice current(backend.device().id());
  const bool symmetric = sweeps.kind == SweepKind::symmetric;
  // Region sweeps store no sums, since these and the deferred rows would take too much memory.
  const Gpu gpu(backend.device());
  const bool reuse_lower_sums =
      symmetric && scratch.tuning.reuse_lower_sums && !may_use_regions(sweeps, scratch.tuning, gpu);
  if (!sweeps.triangular) grow_cleared(backend, elements, scratch.other);
  const std::int64_t kept = (sweeps.A->rows() - first_stored_sum(sweeps.A->rows())) * sweeps.right_hand_sides;
  if (reuse_lower_sums && scratch.lower_sums.size() < kept)
    scratch.lower_sums = Array<T>(backend.device(), kept);
  if (scratch.tickets.size() == 0) {
    scratch.tickets = Array<unsigned>(backend.device(), 1);
    backend.fill(1, 0u, scratch.tickets.data());
    scratch.line_length = Array<std::int32_t>(backend.device(), 1);
    scratch.strategies = Array<std::int32_t>(backend.device(), 2);
  }
  const Strategies<T> strategies = select_strategies_for(backend, sweeps, scratch, gpu);
  if (sweeps.skipped != nullptr) backend.for_each(1, ResetSkipped{sweeps.state, sweeps.skipped});
  SweepQueue<T> queue(backend, sweeps, scratch, gpu, strategies);
  if (sweeps.triangular) {
    queue.solve_triangular();
    return;
  }
  for (std::int64_t k = 0; k < sweeps.sweeps; ++k) {
    if (k > 0) queue.clear_target();
    queue.half_sweep(sweeps.kind != SweepKind::backward, reuse_lower_sums);
    if (!symmetric) continue;
    queue.clear_target();
    queue.half_sweep(false, reuse_lower_sums);
  }
  queue.finish();
}

template void sweep(Cuda&, const Sweeps<float>&, SweepWorkspace<Cuda, float>&);
template void sweep(Cuda&, const Sweeps<double>&, SweepWorkspace<Cuda, double>&);

}  // namespace echelon::gauss_seidel
