// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/cuda.cuh"
#include "backend/device/memory.hpp"
#include "dense/batched/factored_solve.cuh"
#include "dense/batched/operations.hpp"
#include "dense/batched/panel_factors.cuh"

#include <algorithm>
#include <cmath>

namespace echelon {

namespace {

/// Place of an element of a batch.
struct BatchPlace {
  std::int64_t row, column, matrix;
};

/// The elements of a DenseBatch for kernels.
template <class T>
struct BatchElements {
  T* data;
  std::int64_t rows, columns, leading, stride;

  explicit BatchElements(const DenseBatch<T>& batch)
      : data(batch.data()),
        rows(batch.rows()),
        columns(batch.columns()),
        leading(batch.leading()),
        stride(batch.stride()) {}
  [[nodiscard]] ECHELON_ANYWHERE T& operator()(const BatchPlace& at) const {
    return data[at.matrix * stride + at.column * leading + at.row];
  }
  /// Element e in the order of rows, columns and matrices.
  [[nodiscard]] ECHELON_ANYWHERE BatchPlace place(std::int64_t e) const {
    const std::int64_t line = e / rows;
    return {e % rows, line % columns, line / columns};
  }
};

/// Copies the elements of a batch; `From` is T or const T.
template <class From, class T>
struct CopyBatch {
  BatchElements<From> from;
  BatchElements<T> to;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const BatchPlace at = to.place(e);
    to(at) = from(at);
  }
};

/// Computes R = B - A X, a thread for each element of R.
template <class T>
struct BatchResidual {
  BatchElements<const T> A;
  BatchElements<T> B, X, R;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const BatchPlace at = R.place(e);
    T sum = B(at);
    for (std::int64_t k = 0; k < A.columns; ++k) {
      sum -= A({at.row, k, at.matrix}) * X({k, at.column, at.matrix});
    }
    R(at) = sum;
  }
};

template <class T>
struct AddBatch {
  BatchElements<T> from, to;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const BatchPlace at = to.place(e);
    to(at) += from(at);
  }
};

/// Sets the outcome not_a_number for regular matrices whose solutions are not finite.
template <class T>
struct FindOverflow {
  BatchElements<T> X;
  const BatchOutcome* of_factors;
  BatchOutcome* outcomes;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const BatchPlace at = X.place(e);
    const T x = X(at);
    if (of_factors[at.matrix].status == Status::direct && !(x - x == T{0})) {
      outcomes[at.matrix] = {Status::not_a_number, -1};
    }
  }
};

template <class T>
struct SetIdentity {
  BatchElements<T> A;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const BatchPlace at = A.place(e);
    A(at) = at.row == at.column ? T{1} : T{0};
  }
};

/// View of `count` matrices of a batch from number `first` on.
template <class T>
DenseBatch<T> part_of(const DenseBatch<T>& batch, std::int64_t first, std::int64_t count) {
  return {batch.data() + first * batch.stride(),
          batch.rows(),
          batch.columns(),
          count,
          batch.leading(),
          batch.stride(),
          batch.device()};
}

template <class T>
void solve_part(Cuda& backend, const DenseBatch<const T>& A, const DenseBatch<T>& solutions, double tolerance,
                std::int64_t refine, BatchOutcome* outcomes) {
  const Device& device = A.device();
  const std::int64_t n = A.rows();
  const std::int64_t count = A.count();
  const std::int64_t unknowns = n * solutions.columns() * count;
  Array<T> copies(device, n * n * count);
  Array<T> rights(device, unknowns);
  Array<T> residuals(device, unknowns);
  const DenseBatch<T> corrections(residuals.data(), n, solutions.columns(), count, device);
  const BatchElements<const T> matrices(A);
  const BatchElements<T> X(solutions);
  const BatchElements<T> R(corrections);
  const BatchElements<T> B(DenseBatch<T>(rights.data(), n, solutions.columns(), count, device));
  batch_detail::Factors<T> factors{.A = {copies.data(), n, n, count, device},
                                   .kind = BatchFactorization::lu,
                                   .pivots = {},
                                   .inverses = {},
                                   .outcomes = Array<BatchOutcome>(device, count)};
  backend.for_each(n * n * count, CopyBatch<const T, T>{matrices, BatchElements<T>(factors.A)});
  factor_batch_on<CudaTarget, T>(factors, tolerance);
  backend.copy(count, factors.outcomes.data(), outcomes);
  backend.for_each(unknowns, CopyBatch<T, T>{X, B});
  substitute_batch_on<CudaTarget, T>(factors, solutions);
  for (std::int64_t step = 0; step < refine; ++step) {
    backend.for_each(unknowns, BatchResidual<T>{matrices, B, X, R});
    substitute_batch_on<CudaTarget, T>(factors, corrections);
    backend.for_each(unknowns, AddBatch<T>{R, X});
  }
  backend.for_each(unknowns, FindOverflow<T>{X, factors.outcomes.data(), outcomes});
}

template <class T>
void invert_part(Cuda& backend, const DenseBatch<T>& A, double tolerance, BatchOutcome* outcomes) {
  const Device& device = A.device();
  const std::int64_t n = A.rows();
  const std::int64_t elements = n * n * A.count();
  Array<T> copies(device, elements);
  const BatchElements<T> inverses(A);
  batch_detail::Factors<T> factors{.A = {copies.data(), n, n, A.count(), device},
                                   .kind = BatchFactorization::lu,
                                   .pivots = Array<std::int32_t>(device, n * A.count()),
                                   .inverses = {},
                                   .outcomes = Array<BatchOutcome>(device, A.count())};
  backend.for_each(elements, CopyBatch<T, T>{inverses, BatchElements<T>(factors.A)});
  factor_batch_in_panels(factors, tolerance);
  backend.copy(A.count(), factors.outcomes.data(), outcomes);
  backend.for_each(elements, SetIdentity<T>{inverses});
  substitute_batch_in_panels(factors, A);
  backend.for_each(elements, FindOverflow<T>{inverses, factors.outcomes.data(), outcomes});
}

/// Calls f(first, count) for parts of a batch whose matrices need `elements` elements each. Parts have some
/// hundred megabytes, or two matrices for each multiprocessor if a quarter of the free memory has room for
/// them.
template <class T, class F>
void for_each_part(const DenseBatch<T>& A, std::int64_t elements, F f) {
  constexpr std::int64_t bytes_at_once = std::int64_t{1} << 29;
  constexpr std::int64_t busy = 264;
  const auto bytes = elements * static_cast<std::int64_t>(sizeof(T));
  const auto quarter = static_cast<std::int64_t>(memory(A.device()).available / 4);
  const std::int64_t room = std::max(bytes_at_once, std::min(quarter, busy * bytes));
  const std::int64_t at_once = std::max<std::int64_t>(room / bytes, 1);
  for (std::int64_t first = 0; first < A.count(); first += at_once)
    f(first, std::min(at_once, A.count() - first));
}

}  // namespace

template <class T>
void solve_batch_by_factors(const DenseBatch<const T>& A, const DenseBatch<T>& B, double tolerance,
                            std::int64_t refine, BatchOutcome* outcomes) {
  Cuda backend(A.device());
  for_each_part(A, A.rows() * (A.rows() + 2 * B.columns()), [&](std::int64_t first, std::int64_t count) {
    solve_part(backend, part_of(A, first, count), part_of(B, first, count), tolerance, refine,
               outcomes + first);
  });
}

template <class T>
void invert_batch_by_factors(const DenseBatch<T>& A, double tolerance, BatchOutcome* outcomes) {
  Cuda backend(A.device());
  for_each_part(A, A.rows() * A.rows(), [&](std::int64_t first, std::int64_t count) {
    invert_part(backend, part_of(A, first, count), tolerance, outcomes + first);
  });
}

template void invert_batch_by_factors(const DenseBatch<float>&, double, BatchOutcome*);
template void invert_batch_by_factors(const DenseBatch<double>&, double, BatchOutcome*);
template void solve_batch_by_factors(const DenseBatch<const float>&, const DenseBatch<float>&, double,
                                     std::int64_t, BatchOutcome*);
template void solve_batch_by_factors(const DenseBatch<const double>&, const DenseBatch<double>&, double,
                                     std::int64_t, BatchOutcome*);

}  // namespace echelon
