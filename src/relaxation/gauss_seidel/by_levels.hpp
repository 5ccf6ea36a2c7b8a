// SPDX-License-Identifier: BSD-3-Clause
/// Gauss-Seidel sweeps level by level, in the loops of any backend, with the bits of every sweep; the
/// sweeps of backends without native ones, and of complex numbers on a GPU.
#pragma once

#include "backend/backend.hpp"
#include "backend/steps.hpp"
#include "backend/store.hpp"
#include "matrix/equal_arrays.hpp"
#include "matrix/rows.hpp"
#include "relaxation/gauss_seidel/level_schedule.hpp"
#include "relaxation/gauss_seidel/row.hpp"
#include "relaxation/gauss_seidel/sweep.hpp"
#include "solver/iteration/state.hpp"

#include <echelon/annotate.hpp>
#include <echelon/array.hpp>
#include <echelon/matrix/csr.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace echelon::gauss_seidel {

/// Rows of a matrix by levels, in the backend's memory. A level is a step of for_each_step().
class LevelOrder {
 public:
  LevelOrder() = default;
  /// Copies the pattern to the host, which finds the levels in O(nonzeros), and waits. See Levels.
  template <class T>
  LevelOrder(const Csr<T>& A, bool backward) {
    const std::vector<std::int64_t> offsets = A.row_offsets().to_vector();
    const std::vector<std::int32_t> columns = A.column_indices().to_vector();
    const Levels levels(A.rows(), offsets.data(), columns.data(), backward, 1);
    rows_ = Array<std::int32_t>(A.device(), levels.rows());
    steps_ = Steps(A.device(), {levels.ends().begin(), levels.ends().end()});
  }

  [[nodiscard]] const std::int32_t* rows() const { return rows_.data(); }
  [[nodiscard]] const Steps& steps() const { return steps_; }
  [[nodiscard]] std::size_t bytes() const { return rows_.bytes() + steps_.bytes(); }

 private:
  Array<std::int32_t> rows_;
  Steps steps_;
};

namespace by_levels {

template <class T>
struct ReadFrom {
  const T* x;
  ECHELON_ANYWHERE T operator()(std::int64_t j) const { return x[j]; }
};

/// Computes the rows of a list in one direction, from new values before them and old ones after them.
template <class T>
struct RelaxListed {
  const std::int32_t* list;
  SparseRows<T> A;
  Relaxation<T> relax;
  const IterationStateOf<Dot<T>>* state;
  bool backward;
  const T* b;
  const T* old_x;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t place) const {
    if (state != nullptr && !state->running()) return;
    const std::int64_t i = list[place];
    const RowSums<T> sums = row_sums(A.column_indices, A.values, A.begin(i), A.end(i), i,
                                     ReadFrom<T>{backward ? old_x : x}, ReadFrom<T>{backward ? x : old_x});
    const T first = backward ? sums.lower : sums.upper;
    const T second = backward ? sums.upper : sums.lower;
    const bool skipped = sums.diagonal == T{0};
    x[i] = canonical(skipped ? old_x[i] : relax(b[i], first, second, sums.diagonal, old_x[i]));
  }
};

/// Counts the rows whose diagonal element is zero or not stored.
template <class T>
struct FindSkipped {
  SparseRows<T> A;
  ECHELON_ANYWHERE SkippedRows operator()(std::int64_t i) const {
    return A.at(i, i) == T{0} ? SkippedRows{1, i} : SkippedRows{};
  }
};
template <class S>
struct StoreWhileRunning {
  const IterationStateOf<S>* state;
  SkippedRows* target;
  ECHELON_ANYWHERE void operator()(SkippedRows value) const {
    if (state == nullptr || state->running()) *target = value;
  }
};

}  // namespace by_levels

/// Sweeps over matrices with one pattern, of which this keeps a copy, and the levels from the first sweep in
/// a direction on; in addition n elements of memory.
template <class B, class T>
class LevelSweeps {
 public:
  explicit LevelSweeps(const Csr<T>& A)
      : row_offsets_(A.row_offsets()), column_indices_(A.column_indices()), old_x_(A.device(), A.rows()) {}
  [[nodiscard]] std::size_t bytes() const {
    return row_offsets_.bytes() + column_indices_.bytes() + (forward_ ? forward_->bytes() : 0) +
           (backward_ ? backward_->bytes() : 0) + old_x_.bytes();
  }
  /// Whether A has the pattern. Waits.
  [[nodiscard]] bool has_pattern_of(B& backend, const Csr<T>& A) const {
    return are_equal(backend, A.row_offsets(), row_offsets_) &&
           are_equal(backend, A.column_indices(), column_indices_);
  }

  /// Queues the sweeps over a matrix with the pattern.
  void sweep(B& backend, const Sweeps<T>& sweeps) {
    const std::int64_t n = sweeps.A->rows();
    for (std::int64_t c = 0; c < sweeps.right_hand_sides; ++c) {
      const T* const b = sweeps.b + c * sweeps.leading_b;
      T* const x = sweeps.x + c * sweeps.leading_x;
      for (std::int64_t s = 0; s < sweeps.sweeps; ++s) {
        if (sweeps.kind != SweepKind::backward) run(backend, sweeps, false, b, x);
        if (sweeps.kind != SweepKind::forward) run(backend, sweeps, true, b, x);
      }
    }
    if (sweeps.skipped == nullptr || sweeps.sweeps == 0 || sweeps.right_hand_sides == 0) return;
    backend.reduce(n, by_levels::FindSkipped<T>{SparseRows<T>(*sweeps.A)},
                   by_levels::StoreWhileRunning<Dot<T>>{sweeps.state, sweeps.skipped});
  }

 private:
  void run(B& backend, const Sweeps<T>& sweeps, bool backward, const T* b, T* x) {
    std::optional<LevelOrder>& order = backward ? backward_ : forward_;
    if (!order) order.emplace(*sweeps.A, backward);
    backend.copy(sweeps.A->rows(), x, old_x_.data());
    for_each_step(backend, order->steps(),
                  by_levels::RelaxListed<T>{.list = order->rows(),
                                            .A = SparseRows<T>(*sweeps.A),
                                            .relax = Relaxation<T>(sweeps.omega),
                                            .state = sweeps.state,
                                            .backward = backward,
                                            .b = b,
                                            .old_x = old_x_.data(),
                                            .x = x});
  }

  Array<std::int64_t> row_offsets_;
  Array<std::int32_t> column_indices_;
  std::optional<LevelOrder> forward_, backward_;
  Array<T> old_x_;
};

/// Workspace for a backend without native sweeps. Keeps the levels of the latest two patterns, such as those
/// of two triangles.
template <class B, class T>
class SweepWorkspace {
 public:
  explicit SweepWorkspace(const Device& /*device*/) {}
  [[nodiscard]] std::size_t bytes() const {
    std::size_t sum = 0;
    for (const auto& sweeps : kept_) sum += sweeps->bytes();
    return sum;
  }
  /// The sweeps over matrices with the pattern of A. Waits.
  [[nodiscard]] LevelSweeps<B, T>& of(B& backend, const Csr<T>& A) {
    const auto found = std::find_if(kept_.begin(), kept_.end(),
                                    [&](const auto& sweeps) { return sweeps->has_pattern_of(backend, A); });
    if (found != kept_.end()) return **found;
    if (kept_.size() == most_kept) kept_.erase(kept_.begin());
    return *kept_.emplace_back(std::make_unique<LevelSweeps<B, T>>(A));
  }

 private:
  static constexpr std::size_t most_kept = 2;
  std::vector<std::unique_ptr<LevelSweeps<B, T>>> kept_;
};

/// Queues the sweeps of a backend without native ones.
template <class B, class T>
void sweep(B& backend, const Sweeps<T>& sweeps, SweepWorkspace<B, T>& scratch) {
  scratch.of(backend, *sweeps.A).sweep(backend, sweeps);
}

}  // namespace echelon::gauss_seidel
