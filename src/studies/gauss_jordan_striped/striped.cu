// SPDX-License-Identifier: BSD-3-Clause
// The striped scheme on a GPU, with the division of work of the thesis. For each pivot and each stripe of
// rows three launches: a tile II or JI, the complete tiles IK or JK beside it, and the truncated last one.
// The stripes J other than that of the pivots are on separate streams. A block keeps the multipliers of its
// pivot column in shared memory.
#include "backend/cuda/cuda.cuh"
#include "backend/cuda/owned.cuh"
#include "matrix/assign.hpp"
#include "solver/instantiate.hpp"
#include "studies/gauss_jordan_striped/striped_loops.hpp"

#include <echelon/methods/dense/gauss_jordan_striped.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace echelon {

namespace {

constexpr int tile = 32;              // threads of a block in each direction
constexpr int largest_stripe = 1024;  // rows whose multipliers a block keeps

/// An m by n matrix row by row, and the multipliers, which may replace the eliminated elements.
template <class T>
struct StripedElements {
  T* a;
  T* multipliers;
  std::int64_t n;
};

/// Updates tiles II and JI: computes the multipliers of column p, and updates `columns` of `rows`, by one
/// block.
template <class T>
__global__ void __launch_bounds__(tile* tile)
    eliminate_pivot_tile(StripedElements<T> matrix, StripeRange rows, std::int64_t p, StripeRange columns) {
  __shared__ T pivot_column[largest_stripe];
  const T* pivot_row = matrix.a + p * matrix.n;
  for (std::int64_t y = rows.begin + threadIdx.y; y < rows.end; y += tile) {
    if (threadIdx.x != 0) continue;
    const T multiplier = matrix.a[y * matrix.n + p] / pivot_row[p];
    matrix.a[y * matrix.n + p] = 0;
    matrix.multipliers[y * matrix.n + p] = pivot_column[y - rows.begin] = multiplier;
  }
  __syncthreads();
  for (std::int64_t y = rows.begin + threadIdx.y; y < rows.end; y += tile) {
    const T multiplier = pivot_column[y - rows.begin];
    for (std::int64_t x = columns.begin + threadIdx.x; x < columns.end; x += tile)
      matrix.a[y * matrix.n + x] -= multiplier * pivot_row[x];
  }
}

/// Updates tiles IK and JK: one block for every 32 of the columns.
template <class T>
__global__ void __launch_bounds__(tile* tile)
    eliminate_beside(StripedElements<T> matrix, StripeRange rows, std::int64_t p, StripeRange columns) {
  __shared__ T pivot_column[largest_stripe];
  const std::int64_t thread = threadIdx.y * tile + threadIdx.x;
  for (std::int64_t y = rows.begin + thread; y < rows.end; y += tile * tile)
    pivot_column[y - rows.begin] = matrix.multipliers[y * matrix.n + p];
  __syncthreads();
  const std::int64_t x = columns.begin + std::int64_t{blockIdx.x} * tile + threadIdx.x;
  if (x >= columns.end) return;
  const T pivot = matrix.a[p * matrix.n + x];
  for (std::int64_t y = rows.begin + threadIdx.y; y < rows.end; y += tile)
    matrix.a[y * matrix.n + x] -= pivot_column[y - rows.begin] * pivot;
}

using OwnedStream = Owned<cudaStream_t, cudaStreamDestroy>;
using OwnedEvent = Owned<cudaEvent_t, cudaEventDestroy>;

OwnedEvent make_event() {
  return make_owned<OwnedEvent>(
      [](cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDisableTiming); });
}

/// Streams to which the stripes below a pivot stripe are assigned cyclically.
class Streams {
 public:
  explicit Streams(std::size_t count) : start_(make_event()) {
    for (std::size_t s = 0; s < count; ++s) {
      streams_.push_back(make_owned<OwnedStream>(
          [](cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking); }));
      ends_.push_back(make_event());
    }
  }
  [[nodiscard]] std::size_t count() const { return streams_.size(); }
  [[nodiscard]] cudaStream_t operator[](std::size_t s) const { return streams_[s].get(); }

  /// Makes these streams wait for the work queued on the calling thread's stream.
  void fork() {
    check(cudaEventRecord(start_.get(), stream()));
    for (const OwnedStream& one : streams_) check(cudaStreamWaitEvent(one.get(), start_.get(), 0));
  }
  /// Makes the calling thread's stream wait for these streams.
  void join() {
    for (std::size_t s = 0; s < count(); ++s) {
      check(cudaEventRecord(ends_[s].get(), streams_[s].get()));
      check(cudaStreamWaitEvent(stream(), ends_[s].get(), 0));
    }
  }

 private:
  OwnedEvent start_;
  std::vector<OwnedStream> streams_;
  std::vector<OwnedEvent> ends_;
};

/// The matrix and its elimination by kernels.
template <class T>
class StripedMatrixOnGpu : public StripedMatrix<T> {
 public:
  StripedMatrixOnGpu() = default;
  StripedMatrixOnGpu(const MatrixRef<T>& A, const GaussJordanStripedOptions& options)
      : StripedMatrix<T>(A, options), stripe_(options.stripe) {}

  /// Both passes.
  Outcome eliminate(Cuda& backend) {
    if (pivots() == 0) return {};
    const CurrentDevice current(backend.device().id());
    constexpr std::int64_t most_streams = 32;
    Streams streams(static_cast<std::size_t>(std::min(most_streams, (m_ + stripe_ - 1) / stripe_)));
    for (std::int64_t i = 0; i < pivots(); i += stripe_) eliminate_below(streams, pivot_stripe(i));
    if (second_pass_ == SecondPass::published) {
      for (std::int64_t i = (pivots() - 1) / stripe_ * stripe_; i >= 0; i -= stripe_)
        eliminate_above(streams, pivot_stripe(i));
    } else {
      clear_above(backend);
    }
    return find_zero_pivot(backend, elements_.data(), pivots(), n_);
  }

 private:
  using StripedMatrix<T>::elements_;
  using StripedMatrix<T>::m_;
  using StripedMatrix<T>::n_;
  using StripedMatrix<T>::pivots;
  using StripedMatrix<T>::second_pass_;

  [[nodiscard]] StripeRange pivot_stripe(std::int64_t begin) const {
    return {begin, std::min(begin + stripe_, pivots())};
  }
  [[nodiscard]] StripedElements<T> view() { return {elements_.data(), this->multipliers(), n_}; }

  /// The first pass, for the pivots in stripe I.
  void eliminate_below(Streams& streams, StripeRange I) {
    const auto update = [&](StripeRange rows, std::int64_t p, cudaStream_t on) {
      update_tile(rows, p, {p + 1, I.end}, on);
      update_beside(rows, p, {I.end, n_}, on);
    };
    for (std::int64_t p = I.begin; p < I.end; ++p) update({p + 1, I.end}, p, stream());
    streams.fork();
    std::size_t s = 0;
    for (std::int64_t j = I.end; j < m_; j += stripe_, s = (s + 1) % streams.count()) {
      for (std::int64_t p = I.begin; p < I.end; ++p) update({j, std::min(j + stripe_, m_)}, p, streams[s]);
    }
    streams.join();
  }

  /// The second pass as published, for the pivots in stripe I: to the left of the pivots, and right of all.
  void eliminate_above(Streams& streams, StripeRange I) {
    const auto update = [&](StripeRange rows, std::int64_t p, cudaStream_t on) {
      update_tile(rows, p, {I.begin, p}, on);
      update_beside(rows, p, {0, I.begin}, on);
      update_beside(rows, p, {pivots(), n_}, on);
    };
    for (std::int64_t p = I.end; p-- > I.begin;) update({I.begin, p}, p, stream());
    streams.fork();
    std::size_t s = 0;
    for (std::int64_t j = 0; j < I.begin; j += stripe_, s = (s + 1) % streams.count()) {
      for (std::int64_t p = I.end; p-- > I.begin;) update({j, j + stripe_}, p, streams[s]);
    }
    streams.join();
  }

  /// The second pass without what is known to be zero.
  void clear_above(Cuda& backend) {
    T* const a = elements_.data();
    for (std::int64_t p = pivots(); p-- > 0;) {
      backend.for_each(p, MultiplierOfRow<T>{a, a, n_, p, 0});
      const std::int64_t columns = n_ - pivots();
      backend.for_each(p * columns, SubtractPivotRow<T>{a, a, n_, p, 0, pivots(), columns});
    }
  }

  void update_tile(StripeRange rows, std::int64_t p, StripeRange columns, cudaStream_t on) {
    if (rows.begin == rows.end) return;
    eliminate_pivot_tile<<<1, dim3(tile, tile), 0, on>>>(view(), rows, p, columns);
    check(cudaGetLastError());
  }

  /// Complete tiles in one launch, and the truncated last one in another.
  void update_beside(StripeRange rows, std::int64_t p, StripeRange columns, cudaStream_t on) {
    if (rows.begin == rows.end) return;
    const std::int64_t complete = (columns.end - columns.begin) / tile;
    const std::int64_t rest = columns.begin + complete * tile;
    if (complete > 0) {
      eliminate_beside<<<static_cast<unsigned>(complete), dim3(tile, tile), 0, on>>>(
          view(), rows, p, StripeRange{columns.begin, rest});
      check(cudaGetLastError());
    }
    if (rest == columns.end) return;
    eliminate_beside<<<1, dim3(tile, tile), 0, on>>>(view(), rows, p, StripeRange{rest, columns.end});
    check(cudaGetLastError());
  }

  std::int64_t stripe_ = 1;
};

}  // namespace

template <>
struct MethodWith<GaussJordanStripedOptions> {
  template <class B, class T>
  using Type = StripedSolver<B, T, StripedMatrixOnGpu<T>>;
};

template <class Target, class T>
StripedForm<T> reduce_striped_on(const Dense<T>& A, const GaussJordanStripedOptions& options) {
  return reduce_striped_with<Cuda, StripedMatrixOnGpu<T>>(A, options);
}

template StripedForm<float> reduce_striped_on<CudaTarget>(const Dense<float>&,
                                                          const GaussJordanStripedOptions&);
template StripedForm<double> reduce_striped_on<CudaTarget>(const Dense<double>&,
                                                           const GaussJordanStripedOptions&);

template std::unique_ptr<SolverImplementation<float>> make_implementation<CudaTarget>(
    const Device&, const GaussJordanStripedOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<CudaTarget>(
    const Device&, const GaussJordanStripedOptions&);

}  // namespace echelon
