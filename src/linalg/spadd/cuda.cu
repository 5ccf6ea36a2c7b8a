// SPDX-License-Identifier: BSD-3-Clause
// A logical warp merges a row: it loads a window of each operand, one element of each per lane, and each lane
// finds by bisection the position of its element among the other operand's. Rows that are long for a logical
// warp are merged by all warps of the block, one part each.
// Memory movement: the columns of A and B twice, their values once, C once. An update reads the columns of A,
// B and C once, and writes the values.
#include "backend/backend.hpp"
#include "backend/cuda/cuda.cuh"
#include "backend/lower_bound.hpp"
#include "backend/rounded.hpp"
#include "backend/targets.hpp"
#include "linalg/spadd/sum.hpp"

#include <cuda/std/limits>

namespace echelon {

namespace {

using cuda_kernels::block_size;

template <class T>
struct ScaledView {
  T factor;
  const std::int64_t* row_offsets;
  const std::int32_t* columns;
  const T* values;
  __device__ T value(std::int64_t k) const { return factor * values[k]; }
};

template <class T>
ScaledView<T> scaled_view_of(const ScaledCsr<T>& a) {
  return {a.factor, a.matrix.row_offsets().data(), a.matrix.column_indices().data(),
          a.matrix.values().data()};
}

/// Elements [k, k_end) of A and [l, l_end) of B, which belong to one row.
struct MergePart {
  std::int64_t k;
  std::int64_t k_end;
  std::int64_t l;
  std::int64_t l_end;
};

constexpr std::int64_t none = -1;
constexpr std::int32_t beyond = cuda::std::numeric_limits<std::int32_t>::max();  // larger than any column

/// The number of lanes whose `column` is less than `key`. The columns ascend from lane to lane.
template <class Group>
__device__ int rank_in(std::int32_t column, std::int32_t key) {
  int low = 0;
  for (int step = Group::lanes / 2; step > 0; step /= 2) {
    if (Group::shuffle(column, low + step - 1) < key) low += step;
  }
  return low + static_cast<int>(Group::shuffle(column, low) < key);
}

/// Mask of the lanes before `lane`, which may be warp_size.
__device__ unsigned below(int lane) {
  return lane < warp_size ? lanes_before(lane) : full_warp;
}

/// f(position, column, k, l) for each column that a or b stores, positions counting from 0. k is the element
/// of a and l that of b, or none. Returns the number of columns.
template <int lanes, class F>
__device__ std::int64_t merge(const std::int32_t* a, const std::int32_t* b, MergePart part, F f) {
  using Group = LogicalWarp<lanes>;
  const int lane = Group::lane();
  std::int64_t position = 0;
  while (part.k < part.k_end || part.l < part.l_end) {
    const std::int64_t k = part.k + lane;
    const std::int64_t l = part.l + lane;
    const std::int32_t from_a = k < part.k_end ? a[k] : beyond;
    const std::int32_t from_b = l < part.l_end ? b[l] : beyond;
    // Elements above the limit wait for the next window: smaller ones of the other operand may follow.
    const std::int32_t last_a = Group::shuffle(from_a, lanes - 1);
    const std::int32_t last_b = Group::shuffle(from_b, lanes - 1);
    const std::int32_t limit = min(min(last_a, last_b), beyond - 1);
    const bool takes_a = from_a <= limit;
    const bool takes_b = from_b <= limit;
    const int rank_a = rank_in<Group>(from_b, from_a);  // elements of b before this lane's element of a
    const int rank_b = rank_in<Group>(from_a, from_b);
    const bool a_in_b = Group::shuffle(from_b, min(rank_a, lanes - 1)) == from_a && rank_a < lanes;
    const bool b_in_a = Group::shuffle(from_a, min(rank_b, lanes - 1)) == from_b && rank_b < lanes;
    const unsigned alone = Group::ballot(takes_b && !b_in_a);
    if (takes_a) {
      f(position + lane + __popc(alone & below(rank_a)), from_a, k, a_in_b ? part.l + rank_a : none);
    }
    if (takes_b && !b_in_a) f(position + rank_b + __popc(alone & below(lane)), from_b, none, l);
    const int taken_a = __popc(Group::ballot(takes_a));
    part.k += taken_a;
    part.l += __popc(Group::ballot(takes_b));
    position += taken_a + __popc(alone);
  }
  return position;
}

template <class T>
__device__ T value_at(const ScaledView<T>& a, const ScaledView<T>& b, std::int64_t k, std::int64_t l) {
  if (l == none) return a.value(k);
  if (k == none) return b.value(l);
  return rounded_sum(a.value(k), b.value(l));
}

/// Writes nothing; merge() returns the count.
struct CountOnly {
  __device__ void operator()(std::int64_t, std::int32_t, std::int64_t, std::int64_t) const {}
};

/// Writes columns and, unless null, values to index `target` and following.
template <class T>
struct Write {
  ScaledView<T> a;
  ScaledView<T> b;
  std::int64_t target;
  std::int32_t* columns;
  T* values;
  __device__ void operator()(std::int64_t position, std::int32_t column, std::int64_t k,
                             std::int64_t l) const {
    columns[target + position] = column;
    if (values != nullptr) values[target + position] = value_at(a, b, k, l);
  }
};

/// Writes values to elements [target, end) of the sum; NaN where a column differs from that of the sum.
template <class T>
struct Update {
  ScaledView<T> a;
  ScaledView<T> b;
  std::int64_t target;
  std::int64_t end;
  const std::int32_t* columns;
  T* values;
  __device__ void operator()(std::int64_t position, std::int32_t column, std::int64_t k,
                             std::int64_t l) const {
    const std::int64_t place = target + position;
    if (place >= end) return;
    values[place] =
        columns[place] == column ? value_at(a, b, k, l) : cuda::std::numeric_limits<T>::quiet_NaN();
  }
};

enum class Output { count, all, values };

template <class T>
struct Merge {
  ScaledView<T> a;
  ScaledView<T> b;
  std::int64_t rows;
  const std::int64_t* offsets;  // of the sum
  const std::int32_t* columns;
  T* values;
  std::int64_t* counts;  // output of Output::count
  std::int32_t* new_columns;

  __device__ MergePart row(std::int64_t i) const {
    return {a.row_offsets[i], a.row_offsets[i + 1], b.row_offsets[i], b.row_offsets[i + 1]};
  }
};

/// Merges a part of row i, whose first element is element number `before` of the row. Returns its size.
template <Output output, int lanes, class T>
__device__ std::int64_t merge_part(const Merge<T>& work, std::int64_t i, const MergePart& part,
                                   std::int64_t before) {
  const auto with = [&](auto f) { return merge<lanes>(work.a.columns, work.b.columns, part, f); };
  if constexpr (output == Output::count) {
    return with(CountOnly{});
  } else if constexpr (output == Output::all) {
    return with(Write<T>{work.a, work.b, work.offsets[i] + before, work.new_columns, work.values});
  } else {
    return with(
        Update<T>{work.a, work.b, work.offsets[i] + before, work.offsets[i + 1], work.columns, work.values});
  }
}

/// Completes row i once its size is known, by one of `threads` threads: stores the count, or writes NaN to
/// the elements of a known pattern that no operand has.
template <Output output, class T>
__device__ void finish_row(const Merge<T>& work, std::int64_t i, std::int64_t size, int thread, int threads) {
  if constexpr (output == Output::count) {
    if (thread == 0) work.counts[i] = size;
  } else if constexpr (output == Output::values) {
    for (std::int64_t e = work.offsets[i] + size + thread; e < work.offsets[i + 1]; e += threads) {
      work.values[e] = cuda::std::numeric_limits<T>::quiet_NaN();
    }
  }
}

/// First elements (k, l) of part `part` of `parts` of a row: parts have equally many elements of the longer
/// operand.
template <class T>
__device__ void split(const Merge<T>& work, const MergePart& row, int part, int parts, std::int64_t& k,
                      std::int64_t& l) {
  const std::int64_t size_a = row.k_end - row.k;
  const std::int64_t size_b = row.l_end - row.l;
  if (part == parts) {
    k = row.k_end;
    l = row.l_end;
  } else if (size_a >= size_b) {
    k = row.k + size_a * part / parts;
    l = lower_bound(work.b.columns, row.l, row.l_end, work.a.columns[k]);
  } else {
    l = row.l + size_b * part / parts;
    k = lower_bound(work.a.columns, row.k, row.k_end, work.b.columns[l]);
  }
  if (part == 0) {
    k = row.k;
    l = row.l;
  }
}

/// Merges a long row by all warps of the block, one part per warp.
template <Output output, class T>
__device__ void merge_long_row(const Merge<T>& work, std::int64_t i) {
  constexpr int warps = block_size / warp_size;
  __shared__ std::int64_t sizes[warps];
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  MergePart part;
  split(work, work.row(i), warp, warps, part.k, part.l);
  split(work, work.row(i), warp + 1, warps, part.k_end, part.l_end);
  const std::int64_t size = merge_part<Output::count, warp_size>(work, i, part, 0);
  if (threadIdx.x % warp_size == 0) sizes[warp] = size;
  __syncthreads();
  std::int64_t before = 0;
  std::int64_t total = 0;
  for (int w = 0; w < warps; ++w) {
    if (w < warp) before += sizes[w];
    total += sizes[w];
  }
  if constexpr (output != Output::count) merge_part<output, warp_size>(work, i, part, before);
  finish_row<output>(work, i, total, static_cast<int>(threadIdx.x), block_size);
  __syncthreads();
}

constexpr std::int64_t max_group_row = 2048;  // elements of both operands that a logical warp merges

template <Output output, int lanes, class T>
__global__ void __launch_bounds__(block_size) merge_rows(Merge<T> work) {
  constexpr int groups = block_size / lanes;
  const std::int64_t first = std::int64_t{blockIdx.x} * groups;
  const std::int64_t end = min(first + groups, work.rows);
  const auto is_long = [&](std::int64_t i) {
    const MergePart row = work.row(i);
    return row.k_end - row.k + row.l_end - row.l > max_group_row;
  };
  const std::int64_t i = first + static_cast<int>(threadIdx.x) / lanes;
  const bool is_deferred = i < end && is_long(i);
  if (i < end && !is_deferred) {
    const std::int64_t size = merge_part<output, lanes>(work, i, work.row(i), 0);
    finish_row<output>(work, i, size, LogicalWarp<lanes>::lane(), lanes);
  }
  if (__syncthreads_or(static_cast<int>(is_deferred)) == 0) return;
  for (std::int64_t row = first; row < end; ++row) {
    if (is_long(row)) merge_long_row<output>(work, row);
  }
}

template <Output output, class T>
void launch(const Merge<T>& work, std::int64_t elements) {
  if (work.rows == 0) return;
  const auto blocks = [&](int lanes) {
    const std::int64_t groups = block_size / lanes;
    return static_cast<unsigned>((work.rows + groups - 1) / groups);
  };
  if (elements <= 32 * work.rows) {
    merge_rows<output, 8><<<blocks(8), block_size, 0, stream()>>>(work);
  } else {
    merge_rows<output, warp_size><<<blocks(warp_size), block_size, 0, stream()>>>(work);
  }
  check(cudaGetLastError());
}

}  // namespace

template <class Target, class T>
SumArrays<T> sum_on(ScaledCsr<T> A, ScaledCsr<T> B, bool with_values) {
  const Device& device = A.matrix.device();
  const CurrentDevice current(device.id());
  const std::int64_t rows = A.matrix.rows();
  const std::int64_t elements = A.matrix.nonzeros() + B.matrix.nonzeros();
  SumArrays<T> sum{Array<std::int64_t>(device, rows + 1), {}, {}};
  std::int64_t* offsets = sum.row_offsets.data();
  Merge<T> work{scaled_view_of(A), scaled_view_of(B), rows, offsets, nullptr, nullptr, offsets, nullptr};
  launch<Output::count>(work, elements);
  const std::int64_t nonzeros = Cuda(device).exclusive_scan(rows, offsets, offsets);
  sum.column_indices = Array<std::int32_t>(device, nonzeros);
  if (with_values) sum.values = Array<T>(device, nonzeros);
  work.new_columns = sum.column_indices.data();
  work.values = sum.values.data();
  launch<Output::all>(work, elements);
  return sum;
}

template <class Target, class T>
bool update_sum_on(ScaledCsr<T> A, ScaledCsr<T> B, const Array<std::int64_t>& row_offsets,
                   const Array<std::int32_t>& column_indices, T* values) {
  const CurrentDevice current(A.matrix.device().id());
  launch<Output::values>(Merge<T>{scaled_view_of(A), scaled_view_of(B), A.matrix.rows(), row_offsets.data(),
                                  column_indices.data(), values, nullptr, nullptr},
                         A.matrix.nonzeros() + B.matrix.nonzeros());
  return true;
}

template SumArrays<float> sum_on<CudaTarget>(ScaledCsr<float>, ScaledCsr<float>, bool);
template SumArrays<double> sum_on<CudaTarget>(ScaledCsr<double>, ScaledCsr<double>, bool);
template bool update_sum_on<CudaTarget>(ScaledCsr<float>, ScaledCsr<float>, const Array<std::int64_t>&,
                                        const Array<std::int32_t>&, float*);
template bool update_sum_on<CudaTarget>(ScaledCsr<double>, ScaledCsr<double>, const Array<std::int64_t>&,
                                        const Array<std::int32_t>&, double*);

}  // namespace echelon
