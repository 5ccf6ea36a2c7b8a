// SPDX-License-Identifier: BSD-3-Clause
// Scans and inspections of matrices on a GPU.
#include "backend/cuda/cuda.cuh"
#include "dense/gauss_jordan/inspection.hpp"
#include "dense/gauss_jordan/inspection_by_products.hpp"
#include "dense/panels/panel_loops.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cfloat>

namespace echelon {

namespace {

constexpr int inspection_warps = 16;
constexpr std::int64_t tall = 4096;

/// Contribution of a part of a row.
struct RowPart {
  double sum;  // of magnitudes
  double largest;
  double product;
  std::int64_t nonfinite;  // column, or FirstIndex::none

  friend __device__ RowPart combine(const RowPart& a, const RowPart& b) {
    return {a.sum + b.sum, a.largest > b.largest ? a.largest : b.largest, a.product + b.product,
            min(a.nonfinite, b.nonfinite)};
  }
};

__device__ double sum_of_warp(double x) {
  return LogicalWarp<>::all_reduce(x, Plus());
}

/// Scans and multiplies. Each block has 32 rows_per_lane rows and a share of the columns, of which warp w
/// reads columns w, w + 16, .... Reads A once. `column_parts`: contributions of each block of rows to the
/// products with the columns; only with `multiplying`.
template <class T, int rows_per_lane, bool multiplying>
__global__ void __launch_bounds__(warp_size* inspection_warps)
    inspect_rows(DenseView<const T> A, std::int64_t share, const InspectionVectors<T> vectors, RowPart* parts,
                 double* column_parts) {
  __shared__ RowPart found[inspection_warps][warp_size];
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const std::int64_t first = std::int64_t{blockIdx.x} * warp_size * rows_per_lane + lane;
  const std::int64_t begin = share * blockIdx.y;
  const std::int64_t end = min(begin + share, A.columns());
  RowPart row[rows_per_lane];
  double left[rows_per_lane];
#pragma unroll
  for (int d = 0; d < rows_per_lane; ++d) {
    const std::int64_t i = first + d * warp_size;
    row[d] = {0, 0, 0, FirstIndex::none};
    left[d] = 0;
    if (multiplying && i < A.rows()) {
      left[d] = vectors.left == nullptr ? test_vector_at<double>(i) : static_cast<double>(vectors.left[i]);
    }
  }
#pragma unroll(8 / rows_per_lane)
  for (std::int64_t j = begin + warp; j < end; j += inspection_warps) {
    double right = 0;
    if (multiplying) {
      right = vectors.right == nullptr ? test_vector_at<double>(j) : static_cast<double>(vectors.right[j]);
    }
    double product = 0;
#pragma unroll
    for (int d = 0; d < rows_per_lane; ++d) {
      const std::int64_t i = first + d * warp_size;
      const double element = i < A.rows() ? static_cast<double>(A.data()[j * A.leading() + i]) : 0.0;
      const double magnitude = fabs(element);
      row[d].sum += magnitude;
      row[d].largest = magnitude > row[d].largest ? magnitude : row[d].largest;
      if (!(magnitude <= DBL_MAX) && row[d].nonfinite == FirstIndex::none) row[d].nonfinite = j;
      row[d].product += element * right;
      product += element * left[d];
    }
    if (!multiplying) continue;
    product = sum_of_warp(product);
    if (lane == 0) column_parts[blockIdx.x * A.columns() + j] = product;
  }
#pragma unroll
  for (int d = 0; d < rows_per_lane; ++d) {
    __syncthreads();
    found[warp][lane] = row[d];
    __syncthreads();
    const std::int64_t i = first + d * warp_size;
    if (warp > 0 || i >= A.rows()) continue;
    RowPart all = row[d];
    for (int w = 1; w < inspection_warps; ++w) all = combine(all, found[w][lane]);
    parts[blockIdx.y * A.rows() + i] = all;
  }
}

/// Combines the scans of all rows; `nonfinite` is row * columns + column.
struct ScanOfRows {
  Largest largest;
  Largest norm_inf;
  FirstIndex nonfinite;
  friend ECHELON_ANYWHERE ScanOfRows combine(ScanOfRows a, ScanOfRows b) {
    return {combine(a.largest, b.largest), combine(a.norm_inf, b.norm_inf),
            combine(a.nonfinite, b.nonfinite)};
  }
  [[nodiscard]] ECHELON_ANYWHERE MatrixScan scan(std::int64_t columns) const {
    const bool finite = nonfinite.value == FirstIndex::none;
    return {largest.value, norm_inf.value, finite ? -1 : nonfinite.value / columns,
            finite ? -1 : nonfinite.value % columns};
  }
};

struct RowParts {
  std::int64_t rows, columns;
  unsigned shares;
  const RowPart* parts;
  double* row_sums;

  [[nodiscard]] __device__ RowPart whole(std::int64_t i) const {
    RowPart row = parts[i];
    for (unsigned s = 1; s < shares; ++s) row = combine(row, parts[s * rows + i]);
    return row;
  }
  __device__ ScanOfRows note(std::int64_t i, const RowPart& row) const {
    row_sums[i] = row.sum;
    const bool finite = row.nonfinite == FirstIndex::none;
    return {{row.largest}, {row.sum}, {finite ? FirstIndex::none : i * columns + row.nonfinite}};
  }
};

struct FinishRow {
  RowParts rows;
  __device__ ScanOfRows operator()(std::int64_t i) const { return rows.note(i, rows.whole(i)); }
};

struct StoreScan {
  std::int64_t columns;
  MatrixScan* result;
  __device__ void operator()(const ScanOfRows& found) const { *result = found.scan(columns); }
};

struct InspectionOfRows {
  ScanOfRows scan;
  Distances distances;
  friend ECHELON_ANYWHERE InspectionOfRows combine(InspectionOfRows a, InspectionOfRows b) {
    return {combine(a.scan, b.scan), combine(a.distances, b.distances)};
  }
};

/// Completes row i and column i.
template <class T>
struct FinishRowAndColumn {
  RowParts rows;
  unsigned row_blocks;
  const double* column_parts;
  InspectionVectors<T> vectors;

  __device__ InspectionOfRows operator()(std::int64_t i) const {
    const RowPart row = rows.whole(i);
    double left = 0;
#pragma unroll 4
    for (unsigned b = 0; b < row_blocks; ++b) left += column_parts[b * rows.columns + i];
    if (vectors.right_product != nullptr) vectors.right_product[i] = static_cast<T>(row.product);
    if (vectors.left_product != nullptr) vectors.left_product[i] = static_cast<T>(left);
    return {rows.note(i, row),
            {distance_from_test_vector(row.product, i), distance_from_test_vector(left, i)}};
  }
};

struct StoreInspection {
  std::int64_t columns;
  MatrixInspection* result;
  const EliminationState* state;
  EliminationState* state_copy;
  __device__ void operator()(const InspectionOfRows& found) const {
    *result = {found.scan.scan(columns), found.distances};
    if (state != nullptr) *state_copy = *state;
  }
};

unsigned count_of(std::int64_t n, std::int64_t share) {
  return static_cast<unsigned>(std::max<std::int64_t>((n + share - 1) / share, 1));
}

/// Division of a matrix among thread blocks.
struct GridPartition {
  explicit GridPartition(const Device& device, std::int64_t rows, std::int64_t columns)
      : rows_per_lane(rows >= tall ? 4 : 1), row_blocks(count_of(rows, warp_size * rows_per_lane)) {
    constexpr std::int64_t enough_blocks = 512;
    const std::int64_t most_shares = std::max<std::int64_t>(columns / (2 * inspection_warps), 1);
    const std::int64_t wanted = std::clamp<std::int64_t>(enough_blocks / row_blocks, 1, most_shares);
    share = std::max<std::int64_t>((columns + wanted - 1) / wanted, 1);
    shares = count_of(columns, share);
    parts = Array<RowPart>(device, rows * shares);
  }
  [[nodiscard]] dim3 grid() const { return {row_blocks, shares}; }

  int rows_per_lane;
  unsigned row_blocks;
  std::int64_t share = 0;
  unsigned shares = 0;
  Array<RowPart> parts;
};

/// Counterpart of Cuda::reduce for terms that are expensive to compute: one term for each thread.
template <class F, class Finish>
void combine_rows(Cuda& backend, std::int64_t n, const F& f, const Finish& finish) {
  using V = decltype(f(n));
  const unsigned blocks = count_of(n, cuda_kernels::block_size);
  auto* const partial = static_cast<V*>(backend.scratch(blocks * sizeof(V)));
  cuda_kernels::reduce<V>
      <<<blocks, cuda_kernels::block_size, 0, stream()>>>(n, f, finish, partial, backend.counters(1));
  check(cudaGetLastError());
}

template <bool multiplying, class T>
void launch_inspection(const GridPartition& partition, DenseView<const T> A,
                       const InspectionVectors<T>& vectors, RowPart* parts, double* column_parts) {
  const auto kernel =
      partition.rows_per_lane == 1 ? inspect_rows<T, 1, multiplying> : inspect_rows<T, 4, multiplying>;
  kernel<<<partition.grid(), warp_size * inspection_warps, 0, stream()>>>(A, partition.share, vectors, parts,
                                                                          column_parts);
  check(cudaGetLastError());
}

}  // namespace

template <class T>
void scan(Cuda& backend, DenseView<const T> A, double* row_sums, MatrixScan* result) {
  if (A.rows() == 0) {
    backend.fill(1, MatrixScan{}, result);
    return;
  }
  if constexpr (is_complex<T>) {
    scan_by_rows(backend, A, row_sums, result);
  } else {
    const CurrentDevice current(backend.device().id());
    GridPartition partition(A.device(), A.rows(), A.columns());
    launch_inspection<false, T>(partition, A, {}, partition.parts.data(), nullptr);
    combine_rows(backend, A.rows(),
                 FinishRow{{A.rows(), A.columns(), partition.shares, partition.parts.data(), row_sums}},
                 StoreScan{A.columns(), result});
  }
}

template <class T>
void inspect(Cuda& backend, DenseView<const T> A, const InspectionVectors<T>& vectors, double* row_sums,
             MatrixInspection* result, const EliminationState* state, EliminationState* state_copy) {
  if (A.rows() == 0) {
    backend.fill(1, MatrixInspection{}, result);
    return;
  }
  if constexpr (is_complex<T>) {
    inspect_by_products(backend, A, vectors, row_sums, result, state, state_copy);
  } else {
    const CurrentDevice current(backend.device().id());
    GridPartition partition(A.device(), A.rows(), A.columns());
    Array<double> column_parts(A.device(), A.columns() * partition.row_blocks);
    launch_inspection<true, T>(partition, A, vectors, partition.parts.data(), column_parts.data());
    combine_rows(
        backend, A.rows(),
        FinishRowAndColumn<T>{{A.rows(), A.columns(), partition.shares, partition.parts.data(), row_sums},
                              partition.row_blocks,
                              column_parts.data(),
                              vectors},
        StoreInspection{A.columns(), result, state, state_copy});
  }
}

#define ECHELON_INSTANTIATE(T)                                                                              \
  template void scan(Cuda&, DenseView<const T>, double*, MatrixScan*);                                      \
  template void inspect(Cuda&, DenseView<const T>, const InspectionVectors<T>&, double*, MatrixInspection*, \
                        const EliminationState*, EliminationState*);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon
