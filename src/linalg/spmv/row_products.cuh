// SPDX-License-Identifier: BSD-3-Clause
/// The product of a sparse matrix with a vector on a GPU, for any use of its elements.
#pragma once

#include "linalg/spmv/staged_rows.cuh"
#include "linalg/spmv/stencil_rows.cuh"

#include <echelon/matrix/scalar.hpp>

namespace echelon {

namespace row_sums {

/// products[padded_index(k - begin)] = values[k] x[columns[k]] for k in
/// [begin, min(end, begin + row_block_size)).
template <class T, class X>
__device__ void stage_products(std::int64_t begin, std::int64_t end, std::int64_t nonzeros,
                               const std::int32_t* __restrict__ columns, const T* __restrict__ values, X x,
                               T* products) {
  using Nonzeros = BlockNonzeros<T>;
  constexpr int size = Nonzeros::P::size;
  Nonzeros block;
  block.load(begin, end, nonzeros, columns, values);
#pragma unroll
  for (int p = 0; p < Nonzeros::packs; ++p) {
#pragma unroll
    for (int i = 0; i < size; ++i) block.values[p].at[i] *= x[block.columns[p].at[i]];
  }
#pragma unroll
  for (int p = 0; p < Nonzeros::packs; ++p) {
#pragma unroll
    for (int i = 0; i < size; ++i) products[padded_index<T>(Nonzeros::index(p, i))] = block.values[p].at[i];
  }
}

/// The sum of products [begin, end) by `lanes` consecutive threads; valid in the first of them. All threads
/// of the warp call this.
template <class T>
__device__ T sum_products(const T* products, int begin, int end, int lanes) {
  T sum = 0;
  for (int k = begin + static_cast<int>(threadIdx.x) % lanes; k < end; k += lanes)
    sum += products[padded_index<T>(k)];
  return warp_sum(sum, lanes);
}

/// use(i, (A x)_i) for one block of rows per thread block (CSR-stream: Greathouse and Daga, SC14). The
/// products are staged in shared memory in one contiguous pass, independently of the rows' lengths, and
/// summed from there. Blocks have about the same number of nonzeros. A row is summed by as many lanes as the
/// block's threads suffice for; a row much longer than the others, by a warp. Memory movement: values,
/// columns and offsets are read once, x from the caches or once per block. 8 products per thread and 6 to 8
/// blocks per multiprocessor keep about 100 KB of loads in flight on each, which the bandwidth of HBM needs.
/// The arrays of A are parameters, not members of a struct: nvcc heeds __restrict__, and loads through the
/// read-only cache, for parameters alone.
template <class T, class X, class Use>
__global__ void __launch_bounds__(block_size, sizeof(T) == 8 ? 6 : 8)
    multiply_blocks(const RowDivision division, std::int64_t nonzeros,
                    const std::int64_t* __restrict__ row_offsets, const std::int32_t* __restrict__ columns,
                    const T* __restrict__ values, X x, Use use, const PieceSums sums) {
  __shared__ T products[padded_size<T>];
  __shared__ int3 long_rows[row_block_size / max_per_lane];  // row, begin, end
  __shared__ int long_count;
  if (blockIdx.x < division.piece_count) {
    const RowBlocks::Piece piece = division.pieces[blockIdx.x];
    multiply_piece(piece, columns, values, x, use, sums);
    return;
  }
  const longlong2 start = division.starts[blockIdx.x - division.piece_count];
  const longlong2 end = division.starts[blockIdx.x - division.piece_count + 1];
  const std::int64_t begin = start.y / row_block_alignment * row_block_alignment;
  const int rows = static_cast<int>(end.x - start.x) - (fits_row_block(start.y, end.y) ? 0 : 1);
  const int lanes = lanes_for(rows);
  if (threadIdx.x == 0) long_count = 0;
  stage_products<T>(begin, end.y, nonzeros, columns, values, x, products);
  __syncthreads();
  const bool first_lane = threadIdx.x % lanes == 0;
  for (int next = 0; next < rows; next += block_size / lanes) {
    const int row = next + static_cast<int>(threadIdx.x) / lanes;
    const std::int64_t* offset = row_offsets + start.x + row;
    const int row_begin = row < rows ? static_cast<int>(offset[0] - begin) : 0;
    const int row_end = row < rows ? static_cast<int>(offset[1] - begin) : 0;
    const bool is_long = lanes < warp_size && row_end - row_begin > max_per_lane * lanes;
    const T sum = sum_products(products, row_begin, is_long ? row_begin : row_end, lanes);
    if (is_long && first_lane) long_rows[atomicAdd(&long_count, 1)] = {row, row_begin, row_end};
    if (row < rows && !is_long && first_lane) use(start.x + row, sum);
  }
  __syncthreads();
  for (int k = static_cast<int>(threadIdx.x) / warp_size; k < long_count; k += block_size / warp_size) {
    const T sum = sum_products(products, long_rows[k].y, long_rows[k].z, warp_size);
    if (threadIdx.x % warp_size == 0) use(start.x + long_rows[k].x, sum);
  }
}

/// Elements of the vectors from `first` on; those from `count` on are zero.
template <class T, class X, class Use>
struct LoadEach {
  const FunctorArray<VectorProduct<X, Use>>& products;
  int first;
  template <int width>
  __device__ void load(std::int64_t row, T (&elements)[width]) const {
#pragma unroll
    for (int c = 0; c < width; ++c) {
      elements[c] = first + c < products.count ? products.at[first + c].x[row] : T{0};
    }
  }
};
template <class T, class X, class Use>
struct UseEach {
  const FunctorArray<VectorProduct<X, Use>>& products;
  int first;
  __device__ void operator()(std::int64_t row, int c, T sum) const {
    if (first + c < products.count) products.at[first + c].use(row, sum);
  }
};

/// Vectors that are multiplied in one pass over the matrix, at most.
inline constexpr int most_per_pass = 8;

/// Elements of most_per_pass vectors that are interleaved: those of row i are [i width, (i + 1) width).
template <class T>
struct LoadInterleaved {
  const T* interleaved;
  template <int width>
  __device__ void load(std::int64_t row, T (&elements)[width]) const {
    static_assert(width == most_per_pass);
    using Values = typename Pack<T>::Values;
    constexpr int size = Pack<T>::size;
    const auto* const packs = reinterpret_cast<const Values*>(interleaved + row * width);
#pragma unroll
    for (int p = 0; p < width / size; ++p) {
      const Values pack = packs[p];
#pragma unroll
      for (int i = 0; i < size; ++i) elements[p * size + i] = pack.at[i];
    }
  }
};

/// The elements of one pack of the interleaved vectors.
template <class T>
struct LoadPack {
  const T* interleaved;  ///< from the first element of the pack on
  template <int width>
  __device__ void load(std::int64_t row, T (&elements)[width]) const {
    static_assert(width == Pack<T>::size);
    const auto pack = *reinterpret_cast<const typename Pack<T>::Values*>(interleaved + row * most_per_pass);
#pragma unroll
    for (int i = 0; i < width; ++i) elements[i] = pack.at[i];
  }
};

/// Rows of staged nonzeros times most_per_pass interleaved vectors. Consecutive threads load the packs of one
/// row of the vectors, which is one or two sectors, and each sums one pack: a thread that loaded a whole row
/// would need as many accesses to the cache for each nonzero as there are packs.
template <class T, class X, class Use>
struct InterleavedRows {
  static constexpr int size = Pack<T>::size;
  static constexpr int across = most_per_pass / size;  ///< threads with the same nonzero
  static constexpr int slots = warp_size / across;     ///< nonzeros that a warp loads at once

  const FunctorArray<VectorProduct<X, Use>>& products;
  int first;  ///< of the vectors
  const T* interleaved;

  __device__ UseEach<T, X, Use> use_of(int group) const { return {products, first + group * size}; }
  __device__ LoadPack<T> x_of(int group) const { return {interleaved + group * size}; }

  /// Sums a row by a warp, in the order of slots * turns lanes: the thread takes the place of `turns` of
  /// them.
  template <int turns>
  __device__ void multiply_by_warp(const Staged<T>& staged, Span span, std::int64_t row) const {
    const int slot = lane_id() / across;
    const int group = lane_id() % across;
    const LoadPack<T> x = x_of(group);
    T sums[turns][size] = {};
    for (int begin = span.begin + slot; begin < span.end; begin += turns * slots) {
#pragma unroll
      for (int t = 0; t < turns; ++t) {
        const int k = begin + t * slots;
        if (k >= span.end) continue;
        T elements[size];
        x.load(staged.columns[padded_index<std::int32_t>(k)], elements);
        const T value = staged.values[padded_index<T>(k)];
#pragma unroll
        for (int c = 0; c < size; ++c) sums[t][c] += rounded_product(value, elements[c]);
      }
    }
#pragma unroll
    for (int half = turns / 2; half > 0; half /= 2) {
#pragma unroll
      for (int t = 0; t < half; ++t) {
#pragma unroll
        for (int c = 0; c < size; ++c) sums[t][c] += sums[t + half][c];
      }
    }
    const UseEach<T, X, Use> use = use_of(group);
#pragma unroll
    for (int c = 0; c < size; ++c) {
      T sum = sums[0][c];
#pragma unroll
      for (int delta = slots / 2; delta > 0; delta /= 2) sum += shuffle_down(sum, delta * across);
      if (slot == 0) use(row, c, sum);
    }
  }

  /// The rows of a block by warps, in the order of 16 or 32 lanes. Rows too long for their lanes are listed.
  template <int lanes>
  __device__ void multiply_by_warps(Staged<T>& staged, const BlockRows& rows) const {
    for (int row = static_cast<int>(threadIdx.x) / warp_size; row < rows.count;
         row += block_size / warp_size) {
      const Span span = rows.span(row);
      if (lanes < warp_size && span.end - span.begin > max_per_lane * lanes) {
        if (lane_id() == 0) {
          staged.long_rows[atomicAdd(&staged.long_count, 1)] = {row, span.begin, span.end};
        }
      } else {
        multiply_by_warp<lanes / slots>(staged, span, rows.first + row);
      }
    }
  }

  __device__ void multiply(Staged<T>& staged, const BlockRows& rows) const {
    const int lanes = lanes_for(rows.count);
    if (lanes <= slots) {
      const RowThreads threads(false, lanes, across);
      multiply_rows<size>(staged, rows, threads, x_of(threads.group), use_of(threads.group));
    } else if (lanes < warp_size) {
      multiply_by_warps<warp_size / 2>(staged, rows);
    } else {
      multiply_by_warps<warp_size>(staged, rows);
    }
    __syncthreads();
    for (int k = static_cast<int>(threadIdx.x) / warp_size; k < staged.long_count;
         k += block_size / warp_size) {
      const int3 row = staged.long_rows[k];
      multiply_by_warp<warp_size / slots>(staged, {row.y, row.z}, rows.first + row.x);
    }
  }
};

/// Access to the elements of vectors from `first` on: in `interleaved`, or in arrays of their own.
template <int width, bool is_interleaved, class T, class X, class Use>
__device__ auto load_each(const FunctorArray<VectorProduct<X, Use>>& products, int first,
                          const T* interleaved, std::int64_t vector_size) {
  if constexpr (is_interleaved) {
    static_assert(width == most_per_pass);
    return LoadInterleaved<T>{interleaved + vector_size * first};
  } else {
    return LoadEach<T, X, Use>{products, first};
  }
}

/// Interleaves vectors [width y, width (y + 1)) of n elements each, where y is the block's second index, from
/// n width y on.
template <class T, class X, class Use>
__global__ void __launch_bounds__(block_size)
    interleave(std::int64_t n, const __grid_constant__ FunctorArray<VectorProduct<X, Use>> products,
               T* interleaved) {
  constexpr int width = most_per_pass;
  using Values = typename Pack<T>::Values;
  constexpr int size = Pack<T>::size;
  const int first = static_cast<int>(blockIdx.y) * width;
  const LoadEach<T, X, Use> x{products, first};
  const std::int64_t stride = std::int64_t{gridDim.x} * block_size;
  auto* const packs = reinterpret_cast<Values*>(interleaved + n * first);
  for (std::int64_t row = std::int64_t{blockIdx.x} * block_size + threadIdx.x; row < n; row += stride) {
    T elements[width];
    x.load(row, elements);
#pragma unroll
    for (int p = 0; p < width / size; ++p) {
      Values pack;
#pragma unroll
      for (int i = 0; i < size; ++i) pack.at[i] = elements[p * size + i];
      packs[row * (width / size) + p] = pack;
    }
  }
}

/// The products of a block of rows with vectors [width y, width (y + 1)), where y is the block's second
/// index; see multiply_blocks. Values and column indices are staged instead of products, and a thread sums a
/// row for all of these vectors, or for one pack of them if they are interleaved.
/// Memory movement: values, columns and offsets are read once for `width` vectors, their elements from the
/// caches or once per block.
template <int width, bool is_interleaved, class T, class X, class Use>
__global__ void __launch_bounds__(block_size, sizeof(T) == 8 ? 5 : 6)
    multiply_several_blocks(const longlong2* __restrict__ starts, std::int64_t nonzeros,
                            const std::int64_t* __restrict__ row_offsets,
                            const std::int32_t* __restrict__ columns, const T* __restrict__ values,
                            const __grid_constant__ FunctorArray<VectorProduct<X, Use>> products,
                            const T* __restrict__ interleaved, std::int64_t vector_size) {
  __shared__ Staged<T> staged;
  const BlockRows rows = stage_block_rows(starts, nonzeros, row_offsets, columns, values, staged);
  const int first = static_cast<int>(blockIdx.y) * width;
  if constexpr (is_interleaved) {
    InterleavedRows<T, X, Use>{products, first, interleaved + vector_size * first}.multiply(staged, rows);
  } else {
    const LoadEach<T, X, Use> x{products, first};
    const UseEach<T, X, Use> use{products, first};
    multiply_rows<width>(staged, rows, RowThreads(true, lanes_for(rows.count), 1), x, use);
    __syncthreads();
    multiply_long_rows<width>(staged, rows, x, use);
  }
}

/// Sums of a piece of a row for several vectors.
template <int width>
struct SumOfEach {
  double at[width] = {};
  friend __device__ SumOfEach combine(SumOfEach a, const SumOfEach& b) {
#pragma unroll
    for (int c = 0; c < width; ++c) a.at[c] += b.at[c];
    return a;
  }
};

/// Rows that do not fit into a block: thread block (p, g) computes piece p for vectors
/// [width g, width (g + 1)), in the order of multiply_piece. Their elements are loaded from `interleaved`
/// unless it is null.
template <int width, bool is_interleaved, class T, class X, class Use>
__global__ void __launch_bounds__(block_size)
    multiply_several_pieces(const RowBlocks::Piece* __restrict__ pieces,
                            const std::int32_t* __restrict__ columns, const T* __restrict__ values,
                            const __grid_constant__ FunctorArray<VectorProduct<X, Use>> products,
                            const T* __restrict__ interleaved, std::int64_t vector_size,
                            SumOfEach<width>* partial, unsigned* finished) {
  const RowBlocks::Piece piece = pieces[blockIdx.x];
  const int first = static_cast<int>(blockIdx.y) * width;
  const auto x = load_each<width, is_interleaved>(products, first, interleaved, vector_size);
  SumOfEach<width> sums;
  for (std::int64_t k = piece.begin + threadIdx.x; k < piece.end; k += block_size) {
    T elements[width];
    x.load(columns[k], elements);
    const auto value = static_cast<double>(values[k]);
#pragma unroll
    for (int c = 0; c < width; ++c) sums.at[c] = fma(value, static_cast<double>(elements[c]), sums.at[c]);
  }
  const std::int64_t places = std::int64_t{blockIdx.y} * gridDim.x + piece.first;
  const auto number = static_cast<unsigned>(blockIdx.x - piece.first);
  if (!cuda_kernels::combine_blocks(sums, number, static_cast<unsigned>(piece.count), partial + places,
                                    finished + places)) {
    return;
  }
  const UseEach<T, X, Use> use{products, first};
#pragma unroll
  for (int c = 0; c < width; ++c) use(piece.row, c, static_cast<T>(sums.at[c]));
}

/// use(i, (M x)_i) for a dense matrix, one row per warp.
template <class T, class Use>
__global__ void __launch_bounds__(block_size)
    multiply_dense_rows(int n, const T* __restrict__ rows, const T* __restrict__ x, Use use) {
  const int row = static_cast<int>((blockIdx.x * block_size + threadIdx.x) / warp_size);
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  if (row >= n) return;
  const T* const own = rows + std::int64_t{row} * n;
  T sum = 0;
#pragma unroll 8  // loads in flight together
  for (int j = lane; j < n; j += warp_size) sum += own[j] * x[j];
  sum = warp_sum(sum);
  if (lane == 0) use(row, sum);
}

/// multiply_dense_rows for most_per_pass vectors, of which a row of the grid reads M once.
template <class T, class X, class Use>
__global__ void __launch_bounds__(block_size)
    multiply_dense_rows_by_several(int n, const T* __restrict__ rows,
                                   const __grid_constant__ FunctorArray<VectorProduct<X, Use>> products) {
  constexpr int width = most_per_pass;
  const int row = static_cast<int>((blockIdx.x * block_size + threadIdx.x) / warp_size);
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int first = static_cast<int>(blockIdx.y) * width;
  if (row >= n) return;
  const T* const own = rows + std::int64_t{row} * n;
  T sums[width] = {};
#pragma unroll 2
  for (int j = lane; j < n; j += warp_size) {
    const T element = own[j];
#pragma unroll
    for (int c = 0; c < width; ++c) {
      if (first + c < products.count) sums[c] += element * products.at[first + c].x[j];
    }
  }
#pragma unroll
  for (int c = 0; c < width; ++c) {
    const T sum = warp_sum(sums[c]);
    if (lane == 0 && first + c < products.count) products.at[first + c].use(row, sum);
  }
}

/// a_k x_j for element k of A, which is in column j.
template <class T, class X>
struct ElementProduct {
  const std::int32_t* columns;
  const T* values;
  X x;
  __device__ SumOf<T> operator()(std::int64_t k) const { return {values[k] * x[columns[k]]}; }
};

/// use(i, (A x)_i) for each row and for the vector of the block's second index, for complex numbers: several
/// lanes sum a row, or a block does that is long. An element takes 20 bytes, which the lanes of a row read
/// from consecutive places. Memory movement: A is read once per vector.
template <class T, class X, class Use>
__global__ void __launch_bounds__(block_size)
    multiply_segments(std::int64_t rows, const std::int64_t* __restrict__ row_offsets,
                      const std::int32_t* __restrict__ columns, const T* __restrict__ values,
                      const __grid_constant__ FunctorArray<VectorProduct<X, Use>> products) {
  const VectorProduct<X, Use>& product = products.at[blockIdx.y];
  cuda_kernels::reduce_segments_in_row<SumOf<T>>(
      rows, row_offsets, ElementProduct<T, X>{columns, values, product.x},
      [&](std::int64_t i, const SumOf<T>& sum) { product.use(i, sum.value); });
}

template <class T, class X, class Use>
void launch_segments(Cuda& backend, const Csr<T>& A, const FunctorArray<VectorProduct<X, Use>>& products) {
  const CurrentDevice current(backend.device().id());
  const dim3 grid(backend.blocks_for_segments(A.rows()), static_cast<unsigned>(products.count));
  multiply_segments<T><<<grid, block_size, 0, stream()>>>(
      A.rows(), A.row_offsets().data(), A.column_indices().data(), A.values().data(), products);
  check(cudaGetLastError());
}

/// Passes over the matrix for `count` vectors, `width` of them at a time.
inline unsigned passes(int count, int width) {
  return static_cast<unsigned>((count + width - 1) / width);
}

/// The use of a product with an empty matrix.
template <class T, class Use>
struct UseZero {
  Use use;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { use(i, T{0}); }
};

}  // namespace row_sums

/// The products with one vector of a matrix of real numbers that is not empty.
template <class T, class X, class Use>
void for_real_row_products(Cuda& backend, const Csr<T>& A, X x, Use use) {
  const CurrentDevice current(backend.device().id());
  const RowBlocks& row_blocks = CsrAccess::row_blocks(A);
  const std::int64_t pieces = row_blocks.pieces.size();
  const std::int64_t blocks = pieces + row_blocks.starts.size() / 2 - 1;
  auto* partial = static_cast<Sum*>(backend.scratch(static_cast<std::size_t>(pieces) * sizeof(Sum)));
  const row_sums::RowDivision division{
      .pieces = row_blocks.pieces.data(),
      .piece_count = static_cast<unsigned>(pieces),
      .starts = reinterpret_cast<const longlong2*>(row_blocks.starts.data())};
  const row_sums::PieceSums sums{.partial = partial, .finished = backend.counters(pieces)};
  const auto grid = static_cast<unsigned>(blocks);
  if (const RowStencils* stencils = CsrAccess::stencils(A)) {
    row_sums::multiply_stencil_blocks<T><<<grid, row_sums::block_size, 0, stream()>>>(
        division, A.nonzeros(), A.row_offsets().data(), A.column_indices().data(), A.values().data(),
        stencils->rows.data(), stencils->differences.data(), x, use, sums);
  } else {
    row_sums::multiply_blocks<T><<<grid, row_sums::block_size, 0, stream()>>>(
        division, A.nonzeros(), A.row_offsets().data(), A.column_indices().data(), A.values().data(), x, use,
        sums);
  }
  check(cudaGetLastError());
}

/// use(i, (A x)_i) for each row i; see the versions for the host.
template <class T, class X, class Use>
void for_row_products(Cuda& backend, const Csr<T>& A, X x, Use use) {
  if (A.rows() == 0) return;
  if (A.nonzeros() == 0) {
    backend.for_each(A.rows(), row_sums::UseZero<T, Use>{use});
    return;
  }
  if constexpr (is_complex<T>) {
    const VectorProduct<X, Use> product{x, use};
    row_sums::launch_segments(backend, A, make_functors(1, [&](int) { return product; }));
  } else {
    for_real_row_products(backend, A, x, use);
  }
}

/// Memory of products with several vectors: these interleaved, or null, and sums of pieces of long rows.
template <class T>
struct SeveralMemory {
  const T* interleaved;
  row_sums::SumOfEach<row_sums::most_per_pass>* partial;
};

/// Products of rows that fit into blocks, then of the pieces of the others.
template <int width, bool is_interleaved, class T, class X, class Use>
void launch_several(Cuda& backend, const Csr<T>& A, const FunctorArray<VectorProduct<X, Use>>& products,
                    const SeveralMemory<T>& memory) {
  const RowBlocks& row_blocks = CsrAccess::row_blocks(A);
  const std::int64_t blocks = row_blocks.starts.size() / 2 - 1;
  const std::int64_t pieces = row_blocks.pieces.size();
  dim3 grid(static_cast<unsigned>(blocks), row_sums::passes(products.count, width));
  row_sums::multiply_several_blocks<width, is_interleaved, T><<<grid, row_sums::block_size, 0, stream()>>>(
      reinterpret_cast<const longlong2*>(row_blocks.starts.data()), A.nonzeros(), A.row_offsets().data(),
      A.column_indices().data(), A.values().data(), products, memory.interleaved, A.columns());
  check(cudaGetLastError());
  if (pieces == 0) return;
  grid.x = static_cast<unsigned>(pieces);
  row_sums::multiply_several_pieces<width, is_interleaved, T><<<grid, row_sums::block_size, 0, stream()>>>(
      row_blocks.pieces.data(), A.column_indices().data(), A.values().data(), products, memory.interleaved,
      A.columns(), reinterpret_cast<row_sums::SumOfEach<width>*>(memory.partial),
      backend.counters(pieces * grid.y));
  check(cudaGetLastError());
}

/// Whether interleaved vectors pay: elements are loaded several times from scattered places, and the kernel
/// that interleaves them takes less time than it saves.
template <class T, class X, class Use>
bool interleaves(const Csr<T>& A, const FunctorArray<VectorProduct<X, Use>>& products) {
  constexpr std::int64_t least_nonzeros = 100000;
  constexpr std::int64_t least_uses = 3;
  return products.count > row_sums::most_per_pass / 2 && A.nonzeros() >= least_nonzeros &&
         A.nonzeros() >= least_uses * A.columns();
}

/// The products with several vectors of a matrix of real numbers that is not empty.
template <class T, class X, class Use>
void for_several_real_row_products(Cuda& backend, const Csr<T>& A,
                                   const FunctorArray<VectorProduct<X, Use>>& products) {
  constexpr int width = row_sums::most_per_pass;
  using Sums = row_sums::SumOfEach<width>;
  const CurrentDevice current(backend.device().id());
  const std::int64_t pieces = CsrAccess::row_blocks(A).pieces.size();
  const unsigned passes = row_sums::passes(products.count, width);
  const bool interleaved = interleaves(A, products);
  // The vectors come first, which keeps them aligned, and the sums of pieces after them.
  const std::size_t vector_bytes =
      interleaved ? std::size_t{passes} * width * static_cast<std::size_t>(A.columns()) * sizeof(T) : 0;
  const std::size_t partial_bytes = std::size_t{passes} * static_cast<std::size_t>(pieces) * sizeof(Sums);
  auto* const memory = static_cast<unsigned char*>(backend.scratch(vector_bytes + partial_bytes));
  auto* const partial = reinterpret_cast<Sums*>(memory + vector_bytes);
  if (interleaved) {
    auto* const vectors = reinterpret_cast<T*>(memory);
    const dim3 grid(backend.blocks_for(A.columns(), 1), passes);
    row_sums::interleave<<<grid, row_sums::block_size, 0, stream()>>>(A.columns(), products, vectors);
    check(cudaGetLastError());
    launch_several<width, true>(backend, A, products, SeveralMemory<T>{vectors, partial});
  } else if (products.count > width / 2) {
    launch_several<width, false>(backend, A, products, SeveralMemory<T>{nullptr, partial});
  } else if (products.count > width / 4) {
    launch_several<width / 2, false>(backend, A, products, SeveralMemory<T>{nullptr, partial});
  } else {
    launch_several<width / 4, false>(backend, A, products, SeveralMemory<T>{nullptr, partial});
  }
}

/// See the version for the host.
template <class T, class X, class Use>
void for_several_row_products(Cuda& backend, const Csr<T>& A,
                              const FunctorArray<VectorProduct<X, Use>>& products) {
  if (A.rows() == 0) return;
  if (A.nonzeros() == 0) {
    for (int c = 0; c < products.count; ++c) {
      backend.for_each(A.rows(), row_sums::UseZero<T, Use>{products.at[c].use});
    }
    return;
  }
  if constexpr (is_complex<T>) {
    row_sums::launch_segments(backend, A, products);
  } else {
    for_several_real_row_products(backend, A, products);
  }
}

/// See the version for the host.
template <class T, class Use>
void for_dense_row_products(Cuda& backend, std::int64_t n, const T* rows, const T* x, Use use) {
  if (n == 0) return;
  const CurrentDevice current(backend.device().id());
  constexpr std::int64_t rows_per_block = row_sums::block_size / warp_size;
  const auto blocks = static_cast<unsigned>((n + rows_per_block - 1) / rows_per_block);
  row_sums::multiply_dense_rows<<<blocks, row_sums::block_size, 0, stream()>>>(static_cast<int>(n), rows, x,
                                                                               use);
  check(cudaGetLastError());
}
template <class T, class X, class Use>
void for_several_dense_row_products(Cuda& backend, std::int64_t n, const T* rows,
                                    const FunctorArray<VectorProduct<X, Use>>& products) {
  if (n == 0) return;
  const CurrentDevice current(backend.device().id());
  constexpr std::int64_t rows_per_block = row_sums::block_size / warp_size;
  const dim3 grid(static_cast<unsigned>((n + rows_per_block - 1) / rows_per_block),
                  row_sums::passes(products.count, row_sums::most_per_pass));
  row_sums::multiply_dense_rows_by_several<<<grid, row_sums::block_size, 0, stream()>>>(static_cast<int>(n),
                                                                                        rows, products);
  check(cudaGetLastError());
}

}  // namespace echelon
