// SPDX-License-Identifier: BSD-3-Clause
/// The table of the steps for one instruction set. Included between avx2_begin.hpp or avx512_begin.hpp and
/// end.hpp.
#pragma once

#include "sparse_direct/batched/host_kernels.hpp"
#include "sparse_direct/batched/steps.hpp"

namespace echelon::sparse_direct {

template <class Isa, class T>
void measure_group(const HostArrays<T>& batch, PartialResidual* sums) {
  constexpr int lanes = host_lanes;
  const MeasureBatchRow<Isa, T, lanes, lanes> step{batch};
  double figures[5][lanes] = {};  // those of PartialResidual
  for (std::int64_t i = 0; i < batch.n; ++i) {
    T error[lanes];
    step.measure(i, 0, error);
    for (int lane = 0; lane < lanes; ++lane) {
      const auto e = static_cast<double>(error[lane]);
      const double r = std::fabs(static_cast<double>(batch.residual[i * lanes + lane]));
      const double b = std::fabs(static_cast<double>(batch.b[i * lanes + lane]));
      // Not std::max: a NaN stays.
      figures[0][lane] = figures[0][lane] >= e ? figures[0][lane] : e + figures[0][lane] * 0;
      figures[1][lane] = figures[1][lane] >= r ? figures[1][lane] : r + figures[1][lane] * 0;
      figures[2][lane] = figures[2][lane] >= b ? figures[2][lane] : b + figures[2][lane] * 0;
      figures[3][lane] += r * r;
      figures[4][lane] += b * b;
    }
  }
  for (int lane = 0; lane < lanes; ++lane) {
    sums[lane] = {figures[0][lane], figures[1][lane], figures[2][lane], figures[3][lane], figures[4][lane]};
  }
}

/// A step for all rows of a group, in this order.
template <class Step>
void for_rows(const Step& step, std::int64_t n, const std::int32_t* rows) {
  for (std::int64_t i = 0; i < n; ++i) step(rows[i], 0);
}

template <class Isa, class T>
const BatchKernels<T>* batch_kernels_of() {
  constexpr int lanes = host_lanes;
  using Arrays = HostArrays<T>;
  using Rows = typename BatchKernels<T>::Rows;
  static constexpr BatchKernels<T> table = {
      [](const Arrays& batch, const T* values, std::int64_t leading, std::int64_t count) {
        const LoadBatchRow<Isa, T, lanes, lanes> step{batch, values, leading, count};
        for (std::int64_t i = 0; i < batch.n; ++i) step(i, 0);
      },
      [](const Arrays& batch, Rows rows) {
        for_rows(EliminateRow<Isa, T, lanes, lanes>{batch}, batch.n, rows);
      },
      [](const Arrays& batch, Rows rows) {
        for_rows(SolveLowerRow<Isa, T, lanes, lanes>{batch}, batch.n, rows);
      },
      [](const Arrays& batch, Rows rows) {
        for_rows(SolveUpperRow<Isa, T, lanes, lanes>{batch}, batch.n, rows);
      },
      [](const Arrays& batch, const DenseBatch<const T>& B, std::int64_t column, std::int64_t count) {
        const LoadRhs<Isa, T, lanes, lanes> step{batch, B.data() + column * B.leading(), B.stride(), count};
        for (std::int64_t i = 0; i < batch.n; ++i) step(i, 0);
      },
      measure_group<Isa, T>};
  return &table;
}

}  // namespace echelon::sparse_direct
