// SPDX-License-Identifier: BSD-3-Clause
// Tridiagonal systems on a GPU. The first kernel reads the matrix and leaves a pair of equations for each
// chunk of rows, further kernels reduce the pairs to one and find the unknowns at the ends of the chunks, and
// the last kernel reads the matrix again and solves within the chunks. Each chunk belongs to one thread. In
// the first kernel the thread reads its rows tile by tile; in the last one it keeps all of them, for back
// substitution.
#include "backend/cuda/cuda.cuh"
#include "backend/cuda/shared_memory.cuh"
#include "sparse_direct/banded/cuda/shared_memory.cuh"
#include "sparse_direct/banded/cuda/tridiagonal.cuh"
#include "sparse_direct/banded/tridiagonal.hpp"

#include <echelon/array.hpp>

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

namespace echelon::banded {

namespace {

/// Rows of a chunk, and of a part of it.
inline constexpr int chunk_rows = 32;
inline constexpr int tile_rows = 8;
/// Threads of a block, one for each chunk: in the kernel that reduces chunks tile by tile, and in the one
/// that solves.
inline constexpr int reducing_threads = 128;
inline constexpr int solving_threads = 64;
/// Pairs that a block reduces to one, one for each thread.
inline constexpr int tree_leaves = 256;

template <class T>
inline constexpr T not_a_number = std::numeric_limits<T>::quiet_NaN();

template <class T>
struct TridiagonalMatrix {
  BandElements<T> band;
  std::int64_t n;

  /// Element (j + offset, j).
  __device__ const T* element(std::int64_t j, int offset) const {
    return band.data + (j + offset) * band.row_stride + j * band.column_stride;
  }
};

/// Number of elements of each array of ChunkRows, whose four arrays follow each other in dynamic shared
/// memory: `rows` for each thread.
template <int threads, int rows>
inline constexpr int row_array = threads*(rows + 1);
template <class T, int threads, int rows>
inline constexpr std::size_t row_bytes = 4 * row_array<threads, rows> * sizeof(T);
template <class T>
constexpr std::size_t tree_bytes(int leaves) {
  return std::size_t{2} * static_cast<std::size_t>(leaves) * sizeof(EquationPair<T>);
}

/// Queues a copy to shared memory, or stores a value where there is nothing to copy.
template <class T>
__device__ void copy_or_store(T* target, const T* source, bool exists, T otherwise) {
  if (exists) {
    __pipeline_memcpy_async(target, source, sizeof(T));
  } else {
    *target = otherwise;
  }
}

/// Copies `count` rows of each chunk of the block to shared memory, from row `offset` of the chunk on. Rows
/// beyond the end of the matrix are those of the identity.
template <int threads, int count, class T>
__device__ ChunkRows<T> load_rows(const TridiagonalMatrix<T>& A, const T* b, int offset, T* memory) {
  constexpr int size = row_array<threads, count>;
  const ChunkRows<T> rows{memory, memory + size, memory + 2 * size, memory + 3 * size};
  const std::int64_t first = blockIdx.x * std::int64_t{threads} * chunk_rows + offset;
#pragma unroll 8
  for (int step = 0; step < count; ++step) {
    const int number = step * threads + static_cast<int>(threadIdx.x);
    const int chunk = number / count;
    const int r = number % count;
    const std::int64_t i = first + chunk * chunk_rows + r;
    const int place = chunk * (count + 1) + r;
    const bool inside = i < A.n;
    copy_or_store(rows.lower + place, A.element(i - 1, 1), inside && i > 0 && A.band.lower > 0, T{0});
    copy_or_store(rows.diagonal + place, A.element(i, 0), inside, T{1});
    copy_or_store(rows.upper + place, A.element(i + 1, -1), i + 1 < A.n && A.band.upper > 0, T{0});
    copy_or_store(rows.rhs + place, b == nullptr ? nullptr : b + i, inside && b != nullptr, T{0});
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  return rows;
}

/// Returns those of the `count` loaded rows of each chunk that belong to the calling thread.
template <int count, class T>
__device__ ChunkRows<T> own_rows(const ChunkRows<T>& rows) {
  const int place = static_cast<int>(threadIdx.x) * (count + 1);
  return {rows.lower + place, rows.diagonal + place, rows.upper + place, rows.rhs + place};
}

/// Stores the pairs of the block's threads from place blockIdx.x reducing_threads of `count` in global memory
/// on, through shared memory, so that neighbouring threads write neighbouring elements.
template <class T>
__device__ void store_pairs(const EquationPair<T>& pair, std::int64_t count, T* memory,
                            EquationPair<T>* pairs) {
  constexpr int elements = sizeof(EquationPair<T>) / sizeof(T);
  reinterpret_cast<EquationPair<T>*>(memory)[threadIdx.x] = pair;
  __syncthreads();
  const std::int64_t first = blockIdx.x * std::int64_t{reducing_threads} * elements;
  T* const target = reinterpret_cast<T*>(pairs) + first;
#pragma unroll
  for (int k = 0; k < elements; ++k) {
    const int place = k * reducing_threads + static_cast<int>(threadIdx.x);
    if (first + place < count * elements) target[place] = memory[place];
  }
}

/// Computes the pair of each of the `count` chunks.
template <class T>
__global__ void __launch_bounds__(reducing_threads, 5)
    reduce_chunks(TridiagonalMatrix<T> A, const T* b, std::int64_t count, EquationPair<T>* pairs,
                  TridiagonalFacts* facts) {
  T* const memory = dynamic_shared_memory<T>();
  const std::int64_t chunk = blockIdx.x * std::int64_t{reducing_threads} + threadIdx.x;
  PivotCheck check(0);
  ChunkElimination<T> elimination;
  for (int tile = 0; tile < chunk_rows; tile += tile_rows) {
    const ChunkRows<T> rows = own_rows<tile_rows>(load_rows<reducing_threads, tile_rows>(A, b, tile, memory));
    if (tile == 0) elimination.start(rows);
#pragma unroll 1
    for (int r = tile == 0 ? 2 : 0; r < tile_rows; ++r)
      elimination.add(rows, r, chunk * chunk_rows + tile + r - 1, check);
    __syncthreads();
  }
  store_pairs(elimination.pair(), count, memory, pairs);
  check.record(facts);
}

/// Solves within the chunks; x is NaN if the facts say that A has no factors. `values`: unknowns around each
/// of the `count` chunks.
template <class T>
__global__ void __launch_bounds__(solving_threads)
    solve_chunks(TridiagonalMatrix<T> A, const T* b, std::int64_t count, const BoundaryValues<T>* values,
                 const TridiagonalFacts* facts, T* x) {
  const ChunkRows<T> rows = load_rows<solving_threads, chunk_rows>(A, b, 0, dynamic_shared_memory<T>());
  const std::int64_t chunk = blockIdx.x * std::int64_t{solving_threads} + threadIdx.x;
  if (chunk < count) solve_chunk<chunk_rows>(own_rows<chunk_rows>(rows), values[chunk]);
  __syncthreads();
  const bool factored = facts->zero_column == TridiagonalFacts::none && facts->not_finite == 0;
  const std::int64_t first = blockIdx.x * std::int64_t{solving_threads} * chunk_rows;
#pragma unroll 8
  for (int step = 0; step < chunk_rows; ++step) {
    const int r = step * solving_threads + static_cast<int>(threadIdx.x);
    if (first + r < A.n) x[first + r] = factored ? rows.rhs[r + r / chunk_rows] : not_a_number<T>;
  }
}

/// Reduces up to tree_leaves of the `count` pairs in a tree; beyond the last pair, equations set the unknowns
/// to zero. `width`: columns of a pair.
template <class T>
__device__ PairTree<T> reduce_tree(const EquationPair<T>* pairs, std::int64_t count, std::int64_t width,
                                   PivotCheck& check) {
  const PairTree<T> tree{dynamic_shared_memory<EquationPair<T>>(), tree_leaves};
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t first = blockIdx.x * std::int64_t{tree_leaves};
  EquationPair<T> leaf{{{0, 1, 0, 0, 0}, {0, 0, 1, 0, 0}}};
  if (first + thread < count) leaf = pairs[first + thread];
  tree.nodes[tree_leaves + thread] = leaf;
  tree.reduce(first * width, width, check);
  return tree;
}

template <class T>
__global__ void __launch_bounds__(tree_leaves)
    reduce_pairs(const EquationPair<T>* pairs, std::int64_t count, std::int64_t width, int stage,
                 EquationPair<T>* reduced, TridiagonalFacts* facts) {
  PivotCheck check(stage);
  const PairTree<T> tree = reduce_tree(pairs, count, width, check);
  if (threadIdx.x == 0) reduced[blockIdx.x] = tree.nodes[1];
  check.record(facts);
}

/// Computes the `values` of the pairs from those of the blocks, or at the root of the tree without them.
template <class T>
__global__ void __launch_bounds__(tree_leaves)
    substitute_pairs(const EquationPair<T>* pairs, std::int64_t count, std::int64_t width, int stage,
                     std::int64_t n, const BoundaryValues<T>* of_blocks, BoundaryValues<T>* values,
                     TridiagonalFacts* facts) {
  PivotCheck check(stage);
  const PairTree<T> tree = reduce_tree(pairs, count, width, check);
  BoundaryValues<T> root{};
  if (threadIdx.x == 0)
    root = of_blocks != nullptr ? of_blocks[blockIdx.x] : solve_root(tree.nodes[1], n, check);
  __syncthreads();
  const BoundaryValues<T> own = tree.substitute(root);
  const std::int64_t place = blockIdx.x * std::int64_t{tree_leaves} + threadIdx.x;
  if (place < count) values[place] = own;
  if (of_blocks == nullptr) check.record(facts);
}

__global__ void set_outcome(const TridiagonalFacts* facts, BatchOutcome* outcome) {
  BatchOutcome result;
  if (facts->not_finite != 0) {
    result.status = Status::not_a_number;
  } else if (facts->zero_column != TridiagonalFacts::none) {
    result = {Status::singular, static_cast<std::int32_t>(facts->zero_column & 0xffffffffU)};
  }
  *outcome = result;
}

std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Memory and launches for matrices of one order.
template <class T>
class Elimination final : public TridiagonalElimination<T> {
 public:
  Elimination(const Device& device, std::int64_t n) : backend_(device), n_(n), facts_(device, 1) {
    std::int64_t width = chunk_rows;
    for (std::int64_t count = divide_up(n, chunk_rows);; count = divide_up(count, tree_leaves)) {
      levels_.push_back(
          {count, width, Array<EquationPair<T>>(device, count), Array<BoundaryValues<T>>(device, count)});
      if (count <= tree_leaves) break;
      width *= tree_leaves;
    }
    const CurrentDevice current(backend_.device().id());
    allow_shared_memory(reduce_chunks<T>);
    allow_shared_memory(solve_chunks<T>);
    allow_shared_memory(reduce_pairs<T>);
    allow_shared_memory(substitute_pairs<T>);
  }

  void eliminate(const BandElements<T>& A) override { reduce({A, n_}, nullptr); }

  void solve(const BandElements<T>& A, const T* b, T* x) override {
    reduce({A, n_}, b);
    substitute({A, n_}, b, x);
  }

  [[nodiscard]] TridiagonalOutcome outcome() override {
    const TridiagonalFacts facts = backend_.read(facts_.data());
    TridiagonalOutcome result;
    std::memcpy(&result.largest_pivot, &facts.largest_pivot, sizeof result.largest_pivot);
    if (facts.not_finite != 0) result.largest_pivot = std::numeric_limits<double>::quiet_NaN();
    if (facts.zero_column != TridiagonalFacts::none)
      result.zero_column = static_cast<std::int64_t>(facts.zero_column & 0xffffffffU);
    return result;
  }

  void store_outcome(BatchOutcome* outcome) override {
    const CurrentDevice current(backend_.device().id());
    set_outcome<<<1, 1, 0, stream()>>>(facts_.data(), outcome);
    check(cudaGetLastError());
  }

  [[nodiscard]] std::int64_t n() const override { return n_; }
  [[nodiscard]] std::size_t bytes() const override {
    std::size_t sum = facts_.bytes();
    for (const Level& level : levels_) sum += level.pairs.bytes() + level.values.bytes();
    return sum;
  }

 private:
  /// Computes the unknowns at the ends of the blocks, and the facts. Without b: the facts alone.
  void reduce(const TridiagonalMatrix<T>& A, const T* b) {
    const CurrentDevice current(backend_.device().id());
    backend_.fill(1, TridiagonalFacts{}, facts_.data());
    const std::int64_t chunks = levels_[0].count;
    reduce_chunks<<<blocks_for(chunks, reducing_threads), reducing_threads, reducing_bytes, stream()>>>(
        A, b, chunks, levels_[0].pairs.data(), facts_.data());
    check(cudaGetLastError());
    for (std::size_t l = 0; l + 1 < levels_.size(); ++l) {
      const Level& level = levels_[l];
      reduce_pairs<<<blocks(l + 1), tree_leaves, tree_bytes<T>(tree_leaves), stream()>>>(
          level.pairs.data(), level.count, level.width, first_stage(l), levels_[l + 1].pairs.data(),
          facts_.data());
      check(cudaGetLastError());
    }
    for (std::size_t l = levels_.size(); l-- > 0;) {
      Level& level = levels_[l];
      const bool is_root = l + 1 == levels_.size();
      substitute_pairs<<<is_root ? 1 : blocks(l + 1), tree_leaves, tree_bytes<T>(tree_leaves), stream()>>>(
          level.pairs.data(), level.count, level.width, first_stage(l), n_,
          is_root ? nullptr : levels_[l + 1].values.data(), level.values.data(), facts_.data());
      check(cudaGetLastError());
      if (b == nullptr) break;
    }
  }

  /// Computes x = A^-1 b after reduce(A, b); x may be b.
  void substitute(const TridiagonalMatrix<T>& A, const T* b, T* x) {
    const CurrentDevice current(backend_.device().id());
    const Level& level = levels_[0];
    solve_chunks<<<blocks_for(level.count, solving_threads), solving_threads, solving_bytes, stream()>>>(
        A, b, level.count, level.values.data(), facts_.data(), x);
    check(cudaGetLastError());
  }

  struct Level {
    std::int64_t count;
    std::int64_t width;  ///< columns of a pair
    Array<EquationPair<T>> pairs;
    Array<BoundaryValues<T>> values;
  };

  static constexpr std::size_t reducing_bytes = row_bytes<T, reducing_threads, tile_rows>;
  static constexpr std::size_t solving_bytes = row_bytes<T, solving_threads, chunk_rows>;

  /// Stage number above all stages of the preceding level: a tree has fewer than 32 levels.
  [[nodiscard]] static int first_stage(std::size_t level) { return 32 * (static_cast<int>(level) + 1); }
  /// Number of blocks that reduce the preceding level.
  [[nodiscard]] unsigned blocks(std::size_t level) const {
    return static_cast<unsigned>(levels_[level].count);
  }
  [[nodiscard]] static unsigned blocks_for(std::int64_t items, std::int64_t items_of_block) {
    return static_cast<unsigned>(divide_up(items, items_of_block));
  }

  Cuda backend_;
  std::int64_t n_;
  Array<TridiagonalFacts> facts_;
  std::vector<Level> levels_;
};

template <class T>
BandElements<T> elements_of(const BandBatch<const T>& A) {
  return {A.data() + A.upper(), 1, A.leading() - 1, A.lower(), A.upper()};
}

template <class T>
class TridiagonalFactors final : public BandFactors<T> {
 public:
  explicit TridiagonalFactors(const Device& device) : backend_(device) {}

  void factor(const BandBatch<const T>& A, BatchOutcome* outcomes) override {
    if (elimination_ == nullptr || elimination_->n() != A.n())
      elimination_ = std::make_unique<Elimination<T>>(backend_.device(), A.n());
    const std::int64_t size = A.leading() * (A.n() - 1) + A.lower() + A.upper() + 1;
    if (elements_.size() != size) elements_ = Array<T>(backend_.device(), size);
    backend_.copy(size, A.data(), elements_.data());
    matrix_ = elements_of(A);
    matrix_.data = elements_.data() + A.upper();
    elimination_->eliminate(matrix_);
    elimination_->store_outcome(outcomes);
  }

  void solve(const DenseBatch<T>& B) override {
    for (std::int64_t j = 0; j < B.columns(); ++j) {
      T* const b = B.data() + j * B.leading();
      elimination_->solve(matrix_, b, b);
    }
  }

  [[nodiscard]] std::int64_t n() const override { return elimination_ == nullptr ? 0 : elimination_->n(); }
  [[nodiscard]] std::int64_t count() const override { return 1; }
  [[nodiscard]] std::size_t bytes() const override {
    return elements_.bytes() + (elimination_ == nullptr ? 0 : elimination_->bytes());
  }

 private:
  Cuda backend_;
  Array<T> elements_;
  BandElements<T> matrix_;
  std::unique_ptr<Elimination<T>> elimination_;
};

}  // namespace

template <class T>
std::unique_ptr<TridiagonalElimination<T>> make_tridiagonal_elimination(const Device& device,
                                                                        std::int64_t n) {
  return std::make_unique<Elimination<T>>(device, n);
}

template <class T>
std::unique_ptr<BandFactors<T>> make_tridiagonal_factors(const Device& device) {
  return std::make_unique<TridiagonalFactors<T>>(device);
}

template <class T>
void solve_tridiagonal(const BandBatch<const T>& A, const DenseBatch<T>& B, BatchOutcome* outcome) {
  Elimination<T> elimination(A.device(), A.n());
  const BandElements<T> elements = elements_of(A);
  if (B.columns() == 0) elimination.eliminate(elements);
  for (std::int64_t j = 0; j < B.columns(); ++j) {
    T* const b = B.data() + j * B.leading();
    elimination.solve(elements, b, b);
  }
  elimination.store_outcome(outcome);
}

template std::unique_ptr<TridiagonalElimination<float>> make_tridiagonal_elimination(const Device&,
                                                                                     std::int64_t);
template std::unique_ptr<TridiagonalElimination<double>> make_tridiagonal_elimination(const Device&,
                                                                                      std::int64_t);
template std::unique_ptr<BandFactors<float>> make_tridiagonal_factors(const Device&);
template std::unique_ptr<BandFactors<double>> make_tridiagonal_factors(const Device&);
template void solve_tridiagonal(const BandBatch<const float>&, const DenseBatch<float>&, BatchOutcome*);
template void solve_tridiagonal(const BandBatch<const double>&, const DenseBatch<double>&, BatchOutcome*);

}  // namespace echelon::banded
