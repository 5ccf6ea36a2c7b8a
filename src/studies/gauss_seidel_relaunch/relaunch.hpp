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

/// A sum that may have ended at an unfinished row.
template <class T>
struct ReadySum {
  T sum;
  bool complete;
};

/// part_sum() in one pass that ends at the first unknown whose row is not finished; with the same bits.
template <class T>
ECHELON_ANYWHERE ReadySum<T> sum_while_ready(const std::int32_t* column_indices, const T* values,
                                             const RowSide& part, const T* x, std::int32_t* finished) {
  T partial[chain_limit] = {};
  const bool is_short = part.count <= chain_limit;
  for (std::int64_t e = 0; e < part.count; ++e) {
    const std::int64_t k = part.first + e * part.step;
    if (!is_finished(finished + column_indices[k])) return {T{0}, false};
    T& sum = partial[is_short ? 0 : e % chain_limit];
    sum = multiply_add(values[k], x[column_indices[k]], sum);
  }
  return {is_short ? partial[0] : tree_sum(partial), true};
}

/// Finishes a row if all rows that it depends on are finished, which are those before it in the order of the
/// sweep; sets *unfinished otherwise.
template <class T>
struct FinishRowIfReady {
  bool backward;
  bool one_pass;  ///< sums dependencies while it looks at their flags
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
    const RowSide dependencies = backward ? parts.upper_part() : parts.lower_part();
    const ReadySum<T> ready = one_pass ? sum_while_ready(column_indices, values, dependencies, y, finished)
                                       : sum_if_ready(dependencies);
    if (!ready.complete) return set_flag(unfinished);
    y[i] = canonical(new_value(i, parts, ready.sum));
    set_flag(finished + i);
  }

  /// A pass over the flags, then one over the elements.
  ECHELON_ANYWHERE ReadySum<T> sum_if_ready(const RowSide& part) const {
    for (std::int64_t e = 0; e < part.count; ++e) {
      if (!is_finished(finished + column_indices[part.first + e * part.step])) return {T{0}, false};
    }
    return {part_sum(column_indices, values, part, Read{y}), true};
  }

  /// `new_part`: the sum over the unknowns that the sweep has passed.
  ECHELON_ANYWHERE T new_value(std::int64_t i, const RowSplit& parts, T new_part) const {
    const T a_ii = parts.has_diagonal() ? values[parts.diagonal] : T{0};
    if (a_ii == T{0}) return x[i];
    const RowSide others = backward ? parts.lower_part() : parts.upper_part();
    const T old_part = part_sum(column_indices, values, others, Read{x});
    return Relaxation<T>(T{1})(b[i], old_part, new_part, a_ii, x[i]);
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

/// How launches go over the rows.
struct LaunchSettings {
  bool one_pass = false;                 ///< sums dependencies while it looks at their flags
  std::int64_t threads_per_block = 256;  ///< on an NVIDIA GPU
};

/// f(i) for i < n, in blocks of a number of threads where the backend has such blocks.
template <class B, class F>
void for_each_in_blocks(B& backend, std::int64_t n, std::int64_t threads, F f) {
  if constexpr (requires { backend.for_each(n, f, 1U); }) {
    backend.for_each(n, f, static_cast<unsigned>(threads));
  } else {
    backend.for_each(n, f);
  }
}

/// Forward or backward sweep over x. Returns the number of launches; the host waits after each of them.
template <class B, class T>
std::int64_t relaunch_sweep(B& backend, const Csr<T>& A, const IterationState* state, const T* b, T* x,
                            RelaunchWorkspace<T>& scratch, bool backward = false,
                            const LaunchSettings& settings = {}) {
  const FinishRowIfReady<T> finish_row{.backward = backward,
                                       .one_pass = settings.one_pass,
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
    for_each_in_blocks(backend, A.rows(), settings.threads_per_block, finish_row);
    again = backend.read(scratch.unfinished.data()) != 0;
    ++launches;
  }
  backend.for_each(A.rows(), CopyIfRunning<T>{state, scratch.y.data(), x});
  return launches;
}

}  // namespace echelon::gauss_seidel
