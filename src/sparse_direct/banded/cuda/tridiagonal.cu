// SPDX-License-Identifier: BSD-3-Clause
// Tridiagonal systems on a GPU. The first kernel reads the matrix and leaves a pair of equations for each
// chunk of rows, further kernels reduce the pairs to one and find the unknowns at the ends of the chunks, and
// the last kernel reads the matrix again and solves within the chunks. Each chunk belongs to two threads,
// which begin at its ends. The first and the last kernel copy all rows of a block to shared memory at once.
#include "backend/cuda/cuda.cuh"
#include "backend/cuda/shared_memory.cuh"
#include "backend/cuda/warp.cuh"
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

/// Rows of half a chunk, which belong to one thread, and of a chunk.
inline constexpr int half_rows = 16;
inline constexpr int chunk_rows = 2 * half_rows;
/// Threads, chunks and rows of a block of the kernels that work on rows, and its blocks on a multiprocessor.
inline constexpr int chunk_threads = 64;
inline constexpr int block_chunks = chunk_threads / 2;
inline constexpr int block_rows = block_chunks * chunk_rows;
inline constexpr int chunk_blocks = 6;
/// Leaves of the tree in which a block reduces pairs to one, one for each thread, blocks on a multiprocessor,
/// and pairs of a leaf.
inline constexpr int tree_leaves = 256;
inline constexpr int tree_blocks = 2;
inline constexpr int leaf_pairs = 4;
inline constexpr int block_pairs = tree_leaves * leaf_pairs;
inline constexpr int pair_elements = 10;

template <class T>
inline constexpr T not_a_number = std::numeric_limits<T>::quiet_NaN();

/// Elements that are copied at once.
template <class T>
struct alignas(2 * sizeof(T)) TwoElements {
  T elements[2];
};

template <class T>
struct TridiagonalMatrix {
  TridiagonalMatrix(const BandElements<T>& elements, std::int64_t order)
      : band(elements),
        n(order),
        is_contiguous(band.lower == 1 && band.upper == 1 && band.row_stride == 1 && band.column_stride == 2 &&
                      reinterpret_cast<std::uintptr_t>(band.data - 1) % sizeof(TwoElements<T>) == 0) {}

  /// Element (j + offset, j).
  __device__ const T* element(std::int64_t j, int offset) const {
    return band.data + (j + offset) * band.row_stride + j * band.column_stride;
  }

  BandElements<T> band;
  std::int64_t n;
  bool is_contiguous;  ///< three elements for each column, from an address on that allows TwoElements
};

/// Places before and after the columns of a block for a column of each neighbour.
inline constexpr int halo = 6;
inline constexpr int element_places = halo + 3 * block_rows + chunk_gap * block_chunks + halo;
inline constexpr int right_side_places = block_rows + chunk_gap * block_chunks;
template <class T>
inline constexpr std::size_t chunk_bytes = (element_places + right_side_places) * sizeof(T);
static_assert(pair_elements * chunk_threads <= element_places);

/// Places in the gaps before column or row j of a block, from -1 on.
__device__ int gaps_before(int j) {
  return chunk_gap * ((j + chunk_rows) / chunk_rows - 1);
}
/// Place of the first of the three elements of column j of a block, those in rows j - 1, j and j + 1.
__device__ int column_place(int j) {
  return 3 * j + gaps_before(j);
}
__device__ int row_place(int j) {
  return j + gaps_before(j);
}

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

/// Queues copies of the columns of a block, all of which exist and are contiguous, and of the elements of its
/// rows in the columns before and after.
template <class T>
__device__ void copy_contiguous(const TridiagonalMatrix<T>& A, std::int64_t first, T* elements) {
  constexpr int chunk_copies = 3 * chunk_rows / 2;
  const T* const source = A.element(first, -1);
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll 8
  for (int step = 0; step < chunk_copies / 2; ++step) {
    const int number = step * chunk_threads + thread;
    const int place = 2 * number + chunk_gap * (number / chunk_copies);
    __pipeline_memcpy_async(elements + place, source + 2 * number, sizeof(TwoElements<T>));
  }
  if (thread == 0) copy_or_store(elements + column_place(-1) + 2, A.element(first - 1, 1), first > 0, T{0});
  if (thread == 1) {
    const std::int64_t next = first + block_rows;
    copy_or_store(elements + column_place(block_rows), A.element(next, -1), next < A.n, T{0});
  }
}

/// Queues copies of the columns of a block and of its neighbours element by element. Rows beyond the end of
/// the matrix are those of the identity.
template <class T>
__device__ void copy_columns(const TridiagonalMatrix<T>& A, std::int64_t first, T* elements) {
  for (int j = static_cast<int>(threadIdx.x) - 1; j <= block_rows; j += chunk_threads) {
    const std::int64_t column = first + j;
    T* const target = elements + column_place(j);
    const bool inside = column >= 0 && column < A.n;
    copy_or_store(target, A.element(column, -1), inside && column > 0 && A.band.upper > 0, T{0});
    copy_or_store(target + 1, A.element(column, 0), inside, T{1});
    copy_or_store(target + 2, A.element(column, 1), inside && column + 1 < A.n && A.band.lower > 0, T{0});
  }
}

/// Copies the rows of the block and their right-hand sides, zero if b is null or past its end, to shared
/// memory. Returns those of the calling thread.
template <class T>
__device__ HalfRows<T> load_rows(const TridiagonalMatrix<T>& A, const T* b, T* memory) {
  const std::int64_t first = blockIdx.x * std::int64_t{block_rows};
  T* const elements = memory + halo;
  T* const right_side = memory + element_places;
  if (A.is_contiguous && first + block_rows <= A.n) {
    copy_contiguous(A, first, elements);
  } else {
    copy_columns(A, first, elements);
  }
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll 8
  for (int j = thread; j < block_rows; j += chunk_threads) {
    const bool exists = b != nullptr && first + j < A.n;
    copy_or_store(right_side + row_place(j), exists ? b + first + j : nullptr, exists, T{0});
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  const bool ascends = thread % 2 == 0;
  const int outermost = thread / 2 * chunk_rows + (ascends ? 0 : chunk_rows - 1);
  return {elements + column_place(outermost) + 1, right_side + row_place(outermost), ascends ? 1 : -1};
}

/// The pairs of all runs, element by element, so that neighbouring threads use neighbouring addresses.
template <class T>
struct PairArray {
  T* data;
  std::int64_t count;

  __device__ EquationPair<T> get(std::int64_t i) const {
    EquationPair<T> pair;
#pragma unroll
    for (int e = 0; e < pair_elements; ++e) pair.elements[e / 5][e % 5] = data[e * count + i];
    return pair;
  }
  __device__ void set(std::int64_t i, const EquationPair<T>& pair) const {
#pragma unroll
    for (int e = 0; e < pair_elements; ++e) data[e * count + i] = pair.elements[e / 5][e % 5];
  }
};

/// Computes the pair of each chunk.
template <class T>
__global__ void __launch_bounds__(chunk_threads, chunk_blocks)
    reduce_chunks(TridiagonalMatrix<T> A, const T* b, PairArray<T> pairs, TridiagonalFacts* facts) {
  T* const memory = dynamic_shared_memory<T>();
  const HalfRows<T> rows = load_rows(A, b, memory);
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t first_chunk = blockIdx.x * std::int64_t{block_chunks};
  const std::int64_t outermost =
      (first_chunk + thread / 2) * chunk_rows + (rows.direction > 0 ? 0 : chunk_rows - 1);
  PivotCheck<T> check(0);
  HalfElimination<T> elimination;
  elimination.start(rows);
#pragma unroll 2
  for (int r = 2; r < half_rows; ++r) elimination.add(rows, r, outermost + rows.direction * (r - 1), check);
  __syncthreads();
  const PairArray<T> halves{memory, chunk_threads};
  halves.set(thread, elimination.pair(rows.direction));
  __syncthreads();
  check.next_stage();
  const std::int64_t chunk = first_chunk + thread;
  if (thread < block_chunks && chunk < pairs.count) {
    const std::int64_t middle = chunk * chunk_rows + half_rows - 1;
    pairs.set(chunk, merge(halves.get(2 * thread), halves.get(2 * thread + 1), middle, check));
  }
  check.record(facts);
}

/// Solves the equations that the two halves of a chunk leave. Called by both threads, lanes 2 c and 2 c + 1.
template <class T>
__device__ SharedValues<T> solve_middle(const HalfSolution<half_rows, T>& half) {
  const int first = lane_id() & ~1;
  const int second = first + 1;
  T m[4][3];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
#pragma unroll
    for (int j = 0; j < 3; ++j) {
      m[i][j] = __shfl_sync(full_warp, half.equation(i, j), first);
      // The innermost unknown of the second half is the second of the two.
      m[2 + i][j] = __shfl_sync(full_warp, half.equation(i, j == 2 ? 2 : 1 - j), second);
    }
  }
  return solve_shared(m);
}

/// Solves within the chunks; x is NaN if the facts say that A has no factors. `values`: unknowns around each
/// of the `count` chunks.
template <class T>
__global__ void __launch_bounds__(chunk_threads, chunk_blocks)
    solve_chunks(TridiagonalMatrix<T> A, const T* b, std::int64_t count, const BoundaryValues<T>* values,
                 const TridiagonalFacts* facts, T* x) {
  T* const memory = dynamic_shared_memory<T>();
  const HalfRows<T> rows = load_rows(A, b, memory);
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t chunk = blockIdx.x * std::int64_t{block_chunks} + thread / 2;
  const bool ascends = rows.direction > 0;
  BoundaryValues<T> around{};
  if (chunk < count) around = values[chunk];
  const HalfSolution<half_rows, T> half(rows, ascends ? around.before : around.after,
                                        ascends ? around.first : around.last);
  const SharedValues<T> middle = solve_middle(half);
  half.substitute(rows, ascends ? middle.last_of_first : middle.first_of_second,
                  ascends ? middle.first_of_second : middle.last_of_first);
  __syncthreads();
  const bool factored = facts->zero_column == TridiagonalFacts::none && facts->not_finite == 0;
  const std::int64_t first = blockIdx.x * std::int64_t{block_rows};
  const T* const solution = memory + element_places;
#pragma unroll 8
  for (int j = thread; j < block_rows; j += chunk_threads) {
    if (first + j < A.n) x[first + j] = factored ? solution[row_place(j)] : not_a_number<T>;
  }
}

/// Pairs of a leaf of a tree of pairs; beyond the last pair, equations set the unknowns to zero. They are
/// read again for the substitution, since more blocks fit on a multiprocessor if they are not kept in
/// registers.
template <class T>
class LeafPairs {
 public:
  __device__ LeafPairs(const PairArray<T>& pairs, std::int64_t first) : pairs_(pairs), first_(first) {}

  /// Returns the pair of the leaf. `width`: columns of a pair.
  __device__ EquationPair<T> reduce(std::int64_t width, PivotCheck<T>& check) {
    const std::int64_t column = first_ * width;
    left_ = merge(pair(0), pair(1), column + width - 1, check);
    right_ = merge(pair(2), pair(3), column + 3 * width - 1, check);
    check.next_stage();
    return merge(left_, right_, column + 2 * width - 1, check);
  }

  /// Computes the values around the pairs from those around the leaf.
  __device__ void substitute(const BoundaryValues<T>& around, BoundaryValues<T>* values) const {
    const SharedValues<T> middle = solve_shared(left_, right_, around);
    substitute_two(0, around_first(around, middle), values);
    substitute_two(2, around_second(around, middle), values);
  }

 private:
  __device__ EquationPair<T> pair(int k) const {
    if (first_ + k < pairs_.count) return pairs_.get(first_ + k);
    return {{{0, 1, 0, 0, 0}, {0, 0, 1, 0, 0}}};
  }
  __device__ void substitute_two(int k, const BoundaryValues<T>& around, BoundaryValues<T>* values) const {
    const SharedValues<T> shared = solve_shared(pair(k), pair(k + 1), around);
    const std::int64_t place = first_ + k;
    if (place < pairs_.count) values[place] = around_first(around, shared);
    if (place + 1 < pairs_.count) values[place + 1] = around_second(around, shared);
  }

  PairArray<T> pairs_;
  std::int64_t first_;
  EquationPair<T> left_, right_;
};
static_assert(leaf_pairs == 4);

/// First of the pairs that belong to the calling thread.
__device__ std::int64_t first_pair() {
  return (blockIdx.x * std::int64_t{tree_leaves} + threadIdx.x) * leaf_pairs;
}

/// Reduces the leaves of the block in a tree.
template <class T>
__device__ PairTree<T> reduce_tree(LeafPairs<T>& leaf, std::int64_t width, PivotCheck<T>& check) {
  const PairTree<T> tree{dynamic_shared_memory<EquationPair<T>>(), tree_leaves};
  tree.nodes[tree_leaves + threadIdx.x] = leaf.reduce(width, check);
  tree.reduce(blockIdx.x * std::int64_t{block_pairs} * width, leaf_pairs * width, check);
  return tree;
}

template <class T>
__global__ void __launch_bounds__(tree_leaves, tree_blocks)
    reduce_pairs(PairArray<T> pairs, std::int64_t width, int stage, PairArray<T> reduced,
                 TridiagonalFacts* facts) {
  PivotCheck<T> check(stage);
  LeafPairs<T> leaf(pairs, first_pair());
  const PairTree<T> tree = reduce_tree(leaf, width, check);
  if (threadIdx.x == 0) reduced.set(blockIdx.x, tree.nodes[1]);
  check.record(facts);
}

/// Computes the `values` of the pairs from those of the blocks, or at the root of the tree without them.
template <class T>
__global__ void __launch_bounds__(tree_leaves, tree_blocks)
    substitute_pairs(PairArray<T> pairs, std::int64_t width, int stage, std::int64_t n,
                     const BoundaryValues<T>* of_blocks, BoundaryValues<T>* values, TridiagonalFacts* facts) {
  PivotCheck<T> check(stage);
  LeafPairs<T> leaf(pairs, first_pair());
  const PairTree<T> tree = reduce_tree(leaf, width, check);
  BoundaryValues<T> root{};
  if (threadIdx.x == 0)
    root = of_blocks != nullptr ? of_blocks[blockIdx.x] : solve_root(tree.nodes[1], n, check);
  __syncthreads();
  leaf.substitute(tree.substitute(root), values);
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
class CudaTridiagonalElimination final : public TridiagonalElimination<T> {
 public:
  CudaTridiagonalElimination(const Device& device, std::int64_t n)
      : backend_(device), n_(n), facts_(device, 1) {
    std::int64_t width = chunk_rows;
    for (std::int64_t count = divide_up(n, chunk_rows);; count = divide_up(count, block_pairs)) {
      levels_.push_back(
          {count, width, Array<T>(device, pair_elements * count), Array<BoundaryValues<T>>(device, count)});
      if (count <= block_pairs) break;
      width *= block_pairs;
    }
    const CurrentDevice current(backend_.device().id());
    allow_shared_memory(reduce_chunks<T>);
    allow_shared_memory(solve_chunks<T>);
    allow_shared_memory(reduce_pairs<T>);
    allow_shared_memory(substitute_pairs<T>);
  }

  void eliminate(const BandElements<T>& A) override { reduce(TridiagonalMatrix<T>(A, n_), nullptr); }

  void solve(const BandElements<T>& A, const T* b, T* x) override {
    const TridiagonalMatrix<T> matrix(A, n_);
    reduce(matrix, b);
    substitute(matrix, b, x);
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
    reduce_chunks<<<row_blocks(), chunk_threads, chunk_bytes<T>, stream()>>>(A, b, levels_[0].pair_array(),
                                                                             facts_.data());
    check(cudaGetLastError());
    for (std::size_t l = 0; l + 1 < levels_.size(); ++l) {
      Level& level = levels_[l];
      reduce_pairs<<<blocks(l + 1), tree_leaves, tree_bytes<T>(tree_leaves), stream()>>>(
          level.pair_array(), level.width, first_stage(l), levels_[l + 1].pair_array(), facts_.data());
      check(cudaGetLastError());
    }
    for (std::size_t l = levels_.size(); l-- > 0;) {
      Level& level = levels_[l];
      const bool is_root = l + 1 == levels_.size();
      substitute_pairs<<<is_root ? 1 : blocks(l + 1), tree_leaves, tree_bytes<T>(tree_leaves), stream()>>>(
          level.pair_array(), level.width, first_stage(l), n_,
          is_root ? nullptr : levels_[l + 1].values.data(), level.values.data(), facts_.data());
      check(cudaGetLastError());
      if (b == nullptr) break;
    }
  }

  /// Computes x = A^-1 b after reduce(A, b); x may be b.
  void substitute(const TridiagonalMatrix<T>& A, const T* b, T* x) {
    const CurrentDevice current(backend_.device().id());
    const Level& level = levels_[0];
    solve_chunks<<<row_blocks(), chunk_threads, chunk_bytes<T>, stream()>>>(
        A, b, level.count, level.values.data(), facts_.data(), x);
    check(cudaGetLastError());
  }

  struct Level {
    std::int64_t count;
    std::int64_t width;  ///< columns of a pair
    Array<T> pairs;
    Array<BoundaryValues<T>> values;

    [[nodiscard]] PairArray<T> pair_array() { return {pairs.data(), count}; }
  };

  /// Stage number above all stages of the preceding level: a tree has fewer than 32 levels.
  [[nodiscard]] static int first_stage(std::size_t level) { return 32 * (static_cast<int>(level) + 1); }
  /// Number of blocks that reduce the preceding level.
  [[nodiscard]] unsigned blocks(std::size_t level) const {
    return static_cast<unsigned>(levels_[level].count);
  }
  /// Number of blocks of the kernels that work on rows.
  [[nodiscard]] unsigned row_blocks() const { return static_cast<unsigned>(divide_up(n_, block_rows)); }

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
      elimination_ = std::make_unique<CudaTridiagonalElimination<T>>(backend_.device(), A.n());
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
  std::unique_ptr<CudaTridiagonalElimination<T>> elimination_;
};

}  // namespace

template <class T>
std::unique_ptr<TridiagonalElimination<T>> make_tridiagonal_elimination(const Device& device,
                                                                        std::int64_t n) {
  return std::make_unique<CudaTridiagonalElimination<T>>(device, n);
}

template <class T>
std::unique_ptr<BandFactors<T>> make_tridiagonal_factors(const Device& device) {
  return std::make_unique<TridiagonalFactors<T>>(device);
}

template <class T>
void solve_tridiagonal(const BandBatch<const T>& A, const DenseBatch<T>& B, BatchOutcome* outcome) {
  CudaTridiagonalElimination<T> elimination(A.device(), A.n());
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
