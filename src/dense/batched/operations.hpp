// SPDX-License-Identifier: BSD-3-Clause
/// The operations of <echelon/batched.hpp>, instantiated for HostTarget and CudaTarget.
#pragma once

#include "backend/targets.hpp"
#include "dense/panels/pivot.hpp"

#include <echelon/annotate.hpp>
#include <echelon/batched.hpp>

#include <complex>

namespace echelon {

template <class T>
struct batch_detail::Factors {
  DenseBatch<T> A;  // replaced by factors
  BatchFactorization kind;
  Array<std::int32_t> pivots;  // n for each matrix: LAPACK's on the host, see block_factors.cuh and
                               // lane_factors.cuh for a GPU
  Array<T> inverses;           // of diagonal blocks, on a GPU from 33 rows on
  Array<BatchOutcome> outcomes;
};

/// Factors the matrices of `factors.A`; makes the pivots and inverses, and fills in the outcomes.
template <class Target, class T>
void factor_batch_on(batch_detail::Factors<T>& factors, double tolerance);
/// Replaces B by the solutions.
template <class Target, class T>
void substitute_batch_on(const batch_detail::Factors<T>& factors, const DenseBatch<T>& B);

// `tolerance`: relative to ||A||_inf. `outcomes`: one for each matrix, in the memory of A.
template <class Target, class T>
void invert_batch_on(const DenseBatch<T>& A, double tolerance, BatchOutcome* outcomes);
template <class Target, class T>
void solve_batch_on(const DenseBatch<const T>& A, const DenseBatch<T>& B, double tolerance,
                    std::int64_t refine, BatchOutcome* outcomes);

// Complex matrices on a GPU have kernels of their own, in complex_batches.cu.
template <>
void factor_batch_on<CudaTarget>(batch_detail::Factors<std::complex<double>>& factors, double tolerance);
template <>
void substitute_batch_on<CudaTarget>(const batch_detail::Factors<std::complex<double>>& factors,
                                     const DenseBatch<std::complex<double>>& B);
template <>
void invert_batch_on<CudaTarget>(const DenseBatch<std::complex<double>>& A, double tolerance,
                                 BatchOutcome* outcomes);
template <>
void solve_batch_on<CudaTarget>(const DenseBatch<const std::complex<double>>& A,
                                const DenseBatch<std::complex<double>>& B, double tolerance,
                                std::int64_t refine, BatchOutcome* outcomes);

/// Outcome for a matrix of n columns from the state after its elimination. `column`: the first column without
/// a pivot. `finite`: true if the result is finite.
ECHELON_ANYWHERE inline BatchOutcome batch_outcome(const EliminationState& state, std::int64_t n,
                                                   std::int64_t column, bool finite) {
  if (state.overflow_column >= 0) {
    return {Status::not_a_number, static_cast<std::int32_t>(state.overflow_column)};
  }
  if (state.rank < n) return {Status::singular, static_cast<std::int32_t>(column)};
  return {finite ? Status::direct : Status::not_a_number, -1};
}

}  // namespace echelon
