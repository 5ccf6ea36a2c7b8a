// SPDX-License-Identifier: BSD-3-Clause
// A matrix at a glance, on a GPU.
#include "backend/cuda/cuda.cuh"
#include "dense/gauss_jordan/inspection.hpp"

#include <algorithm>
#include <cfloat>

namespace echelon {

namespace {

constexpr int look_warps = 16;
constexpr std::int64_t tall = 4096;

/// What a part of a row contributes.
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

/// A block for 32 `down` rows, `down` to a lane, and a share of the columns: warp w takes every 16th from the
/// w-th on. Reads A once. `column_parts`: for each block of rows, what it has of the products of the columns;
/// only with `multiplying`.
template <class T, int down, bool multiplying>
__global__ void __launch_bounds__(warp_size* look_warps)
    look_at_rows(DenseView<const T> A, std::int64_t share, const LookVectors<T> vectors, RowPart* parts,
                 double* column_parts) {
  __shared__ RowPart found[look_warps][warp_size];
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const std::int64_t first = std::int64_t{blockIdx.x} * warp_size * down + lane;
  const std::int64_t begin = share * blockIdx.y;
  const std::int64_t end = min(begin + share, A.columns());
  RowPart row[down];
  double left[down];
#pragma unroll
  for (int d = 0; d < down; ++d) {
    const std::int64_t i = first + d * warp_size;
    row[d] = {0, 0, 0, FirstIndex::none};
    left[d] = 0;
    if (multiplying && i < A.rows()) {
      left[d] = vectors.left == nullptr ? sign_at<double>(i) : static_cast<double>(vectors.left[i]);
    }
  }
#pragma unroll(8 / down)
  for (std::int64_t j = begin + warp; j < end; j += look_warps) {
    double right = 0;
    if (multiplying) {
      right = vectors.right == nullptr ? sign_at<double>(j) : static_cast<double>(vectors.right[j]);
    }
    double product = 0;
#pragma unroll
    for (int d = 0; d < down; ++d) {
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
  for (int d = 0; d < down; ++d) {
    __syncthreads();
    found[warp][lane] = row[d];
    __syncthreads();
    const std::int64_t i = first + d * warp_size;
    if (warp > 0 || i >= A.rows()) continue;
    RowPart all = row[d];
    for (int w = 1; w < look_warps; ++w) all = combine(all, found[w][lane]);
    parts[blockIdx.y * A.rows() + i] = all;
  }
}

/// `nonfinite` is row * columns + column.
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

struct LookOfRows {
  ScanOfRows scan;
  Distances distances;
  friend ECHELON_ANYWHERE LookOfRows combine(LookOfRows a, LookOfRows b) {
    return {combine(a.scan, b.scan), combine(a.distances, b.distances)};
  }
};

/// Row i and column i.
template <class T>
struct FinishRowAndColumn {
  RowParts rows;
  unsigned row_blocks;
  const double* column_parts;
  LookVectors<T> vectors;

  __device__ LookOfRows operator()(std::int64_t i) const {
    const RowPart row = rows.whole(i);
    double left = 0;
#pragma unroll 4
    for (unsigned b = 0; b < row_blocks; ++b) left += column_parts[b * rows.columns + i];
    if (vectors.right_product != nullptr) vectors.right_product[i] = static_cast<T>(row.product);
    if (vectors.left_product != nullptr) vectors.left_product[i] = static_cast<T>(left);
    return {rows.note(i, row), {distance_from_sign(row.product, i), distance_from_sign(left, i)}};
  }
};

struct StoreLook {
  std::int64_t columns;
  MatrixLook* result;
  const EliminationState* state;
  EliminationState* note;
  __device__ void operator()(const LookOfRows& found) const {
    *result = {found.scan.scan(columns), found.distances};
    if (state != nullptr) *note = *state;
  }
};

unsigned count_of(std::int64_t n, std::int64_t share) {
  return static_cast<unsigned>(std::max<std::int64_t>((n + share - 1) / share, 1));
}

/// How the work on a matrix is cut.
struct Cut {
  explicit Cut(const Device& device, std::int64_t rows, std::int64_t columns)
      : down(rows >= tall ? 4 : 1), row_blocks(count_of(rows, warp_size * down)) {
    constexpr std::int64_t enough_blocks = 512;
    const std::int64_t most_shares = std::max<std::int64_t>(columns / (2 * look_warps), 1);
    const std::int64_t wanted = std::clamp<std::int64_t>(enough_blocks / row_blocks, 1, most_shares);
    share = std::max<std::int64_t>((columns + wanted - 1) / wanted, 1);
    shares = count_of(columns, share);
    parts = Array<RowPart>(device, rows * shares);
  }
  [[nodiscard]] dim3 grid() const { return {row_blocks, shares}; }

  int down;
  unsigned row_blocks;
  std::int64_t share = 0;
  unsigned shares = 0;
  Array<RowPart> parts;
};

/// As Cuda::reduce, for terms that take some time each: one to a thread.
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
void look_at(const Cut& cut, DenseView<const T> A, const LookVectors<T>& vectors, RowPart* parts,
             double* column_parts) {
  const auto kernel = cut.down == 1 ? look_at_rows<T, 1, multiplying> : look_at_rows<T, 4, multiplying>;
  kernel<<<cut.grid(), warp_size * look_warps, 0, stream()>>>(A, cut.share, vectors, parts, column_parts);
  check(cudaGetLastError());
}

}  // namespace

template <class T>
void scan(Cuda& backend, DenseView<const T> A, double* row_sums, MatrixScan* result) {
  if (A.rows() == 0) {
    backend.fill(1, MatrixScan{}, result);
    return;
  }
  const CurrentDevice current(backend.device().id());
  Cut cut(A.device(), A.rows(), A.columns());
  look_at<false, T>(cut, A, {}, cut.parts.data(), nullptr);
  combine_rows(backend, A.rows(), FinishRow{{A.rows(), A.columns(), cut.shares, cut.parts.data(), row_sums}},
               StoreScan{A.columns(), result});
}

template <class T>
void look(Cuda& backend, DenseView<const T> A, const LookVectors<T>& vectors, double* row_sums,
          MatrixLook* result, const EliminationState* state, EliminationState* note) {
  if (A.rows() == 0) {
    backend.fill(1, MatrixLook{}, result);
    return;
  }
  const CurrentDevice current(backend.device().id());
  Cut cut(A.device(), A.rows(), A.columns());
  Array<double> column_parts(A.device(), A.columns() * cut.row_blocks);
  look_at<true, T>(cut, A, vectors, cut.parts.data(), column_parts.data());
  combine_rows(backend, A.rows(),
               FinishRowAndColumn<T>{{A.rows(), A.columns(), cut.shares, cut.parts.data(), row_sums},
                                     cut.row_blocks,
                                     column_parts.data(),
                                     vectors},
               StoreLook{A.columns(), result, state, note});
}

template void scan(Cuda&, DenseView<const float>, double*, MatrixScan*);
template void scan(Cuda&, DenseView<const double>, double*, MatrixScan*);
template void look(Cuda&, DenseView<const float>, const LookVectors<float>&, double*, MatrixLook*,
                   const EliminationState*, EliminationState*);
template void look(Cuda&, DenseView<const double>, const LookVectors<double>&, double*, MatrixLook*,
                   const EliminationState*, EliminationState*);

}  // namespace echelon
