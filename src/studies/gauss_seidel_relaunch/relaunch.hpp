// SPDX-License-Identifier: BSD-3-Clause
/// Relaunch scheme for GPUs (Fiorentini, 2022): kernels over all rows are launched until every row is
/// finished.
#pragma once

#include "backend/atomic.hpp"
#include "backend/target.hpp"
#include "relaxation/gauss_seidel/row.hpp"
#include "solver/iteration/iterative_method.hpp"

#include <echelon/matrix/csr.hpp>

namespace echelon::gauss_seidel {

/// Flags of rows. A thread that reads a set flag also reads the row's new value.
ECHELON_ANYWHERE inline bool is_finished(std::int32_t* flag) {
  return load_acquire(flag) != 0;
}
ECHELON_ANYWHERE inline void set_flag(std::int32_t* flag) {
  store_release(flag, 1);
}

/// Finishes a row if all rows that it depends on are finished, which are those before it in the order of the
/// sweep; sets *unfinished otherwise.
template <class T>
struct FinishRowIfReady {
  bool backward;
  std::int64_t rows;
  const IterationState* state;
  const std::int64_t* row_offsets;
  const std::int32_t* column_indices;
  const T* values;
  const T* b;
  const T* x;
  T* y;
  std::int32_t* finished;
  std::int32_t* unfinished;  ///< one flag for all rows

  struct Read {
    const T* from;
    ECHELON_ANYWHERE T operator()(std::int32_t j) const { return from[j]; }
  };

  /// `place`: that of the row in the order of the sweep.
  ECHELON_ANYWHERE void operator()(std::int64_t place) const {
    const std::int64_t i = backward ? rows - 1 - place : place;
    if ((state != nullptr && !state->running()) || is_finished(finished + i)) return;
    const RowSplit parts = split_row(column_indices, row_offsets[i], row_offsets[i + 1], i);
    const std::int64_t end = backward ? parts.end : parts.diagonal;
    for (std::int64_t k = backward ? parts.upper : parts.begin; k < end; ++k) {
      if (is_finished(finished + column_indices[k])) continue;
      set_flag(unfinished);
      return;
    }
    y[i] = canonical(new_value(i, parts));
    set_flag(finished + i);
  }

  ECHELON_ANYWHERE T new_value(std::int64_t i, const RowSplit& parts) const {
    const T a_ii = parts.has_diagonal() ? values[parts.diagonal] : T{0};
    if (a_ii == T{0}) return x[i];
    const T upper = part_sum(column_indices, values, parts.upper_part(), Read{backward ? y : x});
    const T lower = part_sum(column_indices, values, parts.lower_part(), Read{backward ? x : y});
    return backward ? Relaxation<T>(T{1})(b[i], lower, upper, a_ii, x[i])
                    : Relaxation<T>(T{1})(b[i], upper, lower, a_ii, x[i]);
  }
};

template <class T>
struct CopyIfRunning {
  const IterationState* state;
  const T* y;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (state == nullptr || state->running()) x[i] = y[i];
  }
};

/// Second vector, and a flag for each row.
template <class T>
struct RelaunchWorkspace {
  RelaunchWorkspace(const Device& device, std::int64_t n)
      : y(device, n), finished(device, n), unfinished(device, 1) {}
  [[nodiscard]] std::size_t bytes() const { return y.bytes() + finished.bytes(); }
  Array<T> y;
  Array<std::int32_t> finished;
  Array<std::int32_t> unfinished;
};

/// Forward or backward sweep over x. Returns the number of launches; the host waits after each of them.
template <class B, class T>
std::int64_t relaunch_sweep(B& backend, const Csr<T>& A, const IterationState* state, const T* b, T* x,
                            RelaunchWorkspace<T>& scratch, bool backward = false) {
  const FinishRowIfReady<T> finish_row{.backward = backward,
                                       .rows = A.rows(),
                                       .state = state,
                                       .row_offsets = A.row_offsets().data(),
                                       .column_indices = A.column_indices().data(),
                                       .values = A.values().data(),
                                       .b = b,
                                       .x = x,
                                       .y = scratch.y.data(),
                                       .finished = scratch.finished.data(),
                                       .unfinished = scratch.unfinished.data()};
  backend.fill(A.rows(), std::int32_t{0}, scratch.finished.data());
  std::int64_t launches = 0;
  bool again = A.rows() > 0;
  while (again) {
    backend.write(std::int32_t{0}, scratch.unfinished.data());
    backend.for_each(A.rows(), finish_row);
    again = backend.read(scratch.unfinished.data()) != 0;
    ++launches;
  }
  backend.for_each(A.rows(), CopyIfRunning<T>{state, scratch.y.data(), x});
  return launches;
}

}  // namespace echelon::gauss_seidel
