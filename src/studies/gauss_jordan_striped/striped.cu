// SPDX-License-Identifier: BSD-3-Clause
// The striped scheme on a GPU, with the division of work of the thesis: one launch for each pivot and each
// tile II, JI, and one for each pivot and all tiles IK, JK beside it. The stripes J below a pivot stripe are
// on separate streams. The multipliers of a pivot column are kept in an array while its tile changes.
#include "backend/cuda/cuda.cuh"
#include "backend/cuda/owned.cuh"
#include "backend/store.hpp"
#include "matrix/assign.hpp"
#include "solver/instantiate.hpp"

#include <echelon/methods/dense/gauss_jordan_striped.hpp>

#include <algorithm>
#include <vector>

namespace echelon {

namespace {

struct Stripe {
  std::int64_t begin, end;
};

constexpr int tile = 32;  // threads of a block in each direction

/// Updates tiles II and JI: columns (p, end) of `rows`, by one block. The multipliers replace the eliminated
/// elements.
template <class T>
__global__ void __launch_bounds__(tile* tile)
    eliminate_pivot_tile(T* a, std::int64_t n, Stripe rows, std::int64_t p, std::int64_t end,
                         T* multipliers) {
  const T* pivot_row = a + p * n;
  for (std::int64_t y = rows.begin + threadIdx.y; y < rows.end; y += tile) {
    if (threadIdx.x == 0) a[y * n + p] = multipliers[y - rows.begin] = a[y * n + p] / pivot_row[p];
  }
  __syncthreads();
  for (std::int64_t y = rows.begin + threadIdx.y; y < rows.end; y += tile) {
    const T multiplier = multipliers[y - rows.begin];
    for (std::int64_t x = p + 1 + threadIdx.x; x < end; x += tile) a[y * n + x] -= multiplier * pivot_row[x];
  }
}

/// Updates tiles IK and JK: the columns from `first` on, one block for every 32 of them.
template <class T>
__global__ void __launch_bounds__(tile* tile)
    eliminate_beside(T* a, std::int64_t n, Stripe rows, std::int64_t p, std::int64_t first,
                     const T* multipliers) {
  const std::int64_t x = first + std::int64_t{blockIdx.x} * tile + threadIdx.x;
  if (x >= n) return;
  const T pivot = a[p * n + x];
  for (std::int64_t y = rows.begin + threadIdx.y; y < rows.end; y += tile) {
    a[y * n + x] -= multipliers[y - rows.begin] * pivot;
  }
}

/// Second pass for one pivot: its row is zero elsewhere, so that only the multipliers are computed.
template <class T>
struct DivideAbove {
  T* a;
  std::int64_t n, p;
  ECHELON_ANYWHERE void operator()(std::int64_t y) const { a[y * n + p] /= a[p * n + p]; }
};

/// Computes x[y] -= multiplier x[p], for y from `begin` on.
template <class T>
struct SubtractMultiples {
  const T* a;
  std::int64_t n, p, begin;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { x[begin + i] -= a[(begin + i) * n + p] * x[p]; }
};

template <class T>
struct DivideByPivots {
  const T* a;
  std::int64_t n;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t y) const { x[y] /= a[y * n + y]; }
};

template <class T>
struct ZeroPivot {
  const T* a;
  std::int64_t n;
  ECHELON_ANYWHERE FirstIndex operator()(std::int64_t p) const {
    return {a[p * n + p] == 0 ? p : FirstIndex::none};
  }
};

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

template <class T>
class StripedOnGpu final : public SolverImplementation<T> {
 public:
  StripedOnGpu(const Device& device, const GaussJordanStripedOptions& options)
      : SolverImplementation<T>(device), stripe_(options.stripe) {}

  Outcome setup(const MatrixRef<T>& A) override {
    n_ = A.rows();
    if (n_ == 0) return {};
    elements_ = Array<T>(this->device(), n_ * n_);
    const DenseView<T> by_row(elements_.data(), n_, n_, n_, this->device(), Layout::row_major);
    const Dense<T> all = A.is_sparse() ? to_dense(A) : Dense<T>();
    assign<T>(A.is_sparse() ? all.view() : A.dense(), by_row);
    const CurrentDevice current(this->device().id());
    constexpr std::int64_t most_streams = 32;
    Streams streams(static_cast<std::size_t>(std::min(most_streams, (n_ + stripe_ - 1) / stripe_)));
    multipliers_ = Array<T>(this->device(), static_cast<std::int64_t>(streams.count() + 1) * stripe_);
    for (std::int64_t i = 0; i < n_; i += stripe_) eliminate_below(streams, stripe_at(i));
    Cuda backend(this->device());
    for (std::int64_t p = n_; p-- > 0;) backend.for_each(p, DivideAbove<T>{elements_.data(), n_, p});
    return find_zero_pivot(backend);
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return std::make_unique<Workspace>();
  }
  [[nodiscard]] std::size_t bytes() const override { return elements_.bytes() + multipliers_.bytes(); }

  void solve(Workspace& /*workspace*/, DenseView<const T> rhs, DenseView<T> X,
             std::vector<Job>& /*jobs*/) const override {
    Cuda backend(this->device());
    const T* a = elements_.data();
    for (std::int64_t j = 0; j < rhs.columns(); ++j) {
      T* x = X.column(j);
      backend.copy(n_, rhs.column(j), x);
      for (std::int64_t p = 0; p < n_; ++p) {
        backend.for_each(n_ - p - 1, SubtractMultiples<T>{a, n_, p, p + 1, x});
      }
      for (std::int64_t p = n_; p-- > 0;) backend.for_each(p, SubtractMultiples<T>{a, n_, p, 0, x});
      backend.for_each(n_, DivideByPivots<T>{a, n_, x});
    }
  }

 private:
  [[nodiscard]] Stripe stripe_at(std::int64_t begin) const { return {begin, std::min(begin + stripe_, n_)}; }

  /// The first pass, for the pivots in stripe I.
  void eliminate_below(Streams& streams, Stripe I) {
    T* const multipliers = multipliers_.data();
    for (std::int64_t p = I.begin; p < I.end; ++p) update({p + 1, I.end}, p, I, multipliers, stream());
    streams.fork();
    std::size_t s = 0;
    for (std::int64_t j = I.end; j < n_; j += stripe_, s = (s + 1) % streams.count()) {
      for (std::int64_t p = I.begin; p < I.end; ++p) {
        update(stripe_at(j), p, I, multipliers + static_cast<std::int64_t>(s + 1) * stripe_, streams[s]);
      }
    }
    streams.join();
  }

  void update(Stripe rows, std::int64_t p, Stripe I, T* multipliers, cudaStream_t on) {
    if (rows.begin == rows.end) return;
    eliminate_pivot_tile<<<1, dim3(tile, tile), 0, on>>>(elements_.data(), n_, rows, p, I.end, multipliers);
    check(cudaGetLastError());
    if (I.end == n_) return;
    const auto blocks = static_cast<unsigned>((n_ - I.end + tile - 1) / tile);
    eliminate_beside<<<blocks, dim3(tile, tile), 0, on>>>(elements_.data(), n_, rows, p, I.end, multipliers);
    check(cudaGetLastError());
  }

  Outcome find_zero_pivot(Cuda& backend) const {
    Array<FirstIndex> first(this->device(), 1);
    backend.reduce(n_, ZeroPivot<T>{elements_.data(), n_}, Store<FirstIndex>{first.data()});
    const std::int64_t row = backend.read(first.data()).value;
    if (row == FirstIndex::none) return {};
    return {Status::breakdown,
            "without pivoting, every diagonal element has to differ from zero when it becomes the pivot: "
            "that of row " +
                std::to_string(row) + " (from 0) does not",
            row};
  }

  std::int64_t stripe_;
  std::int64_t n_ = 0;
  Array<T> elements_;     // row after row: the multipliers, and the pivots on the diagonal
  Array<T> multipliers_;  // of a pivot column: in the pivot stripe, and for each stream
};

}  // namespace

template <>
struct MethodWith<GaussJordanStripedOptions> {
  template <class B, class T>
  using Type = StripedOnGpu<T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<CudaTarget>(
    const Device&, const GaussJordanStripedOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<CudaTarget>(
    const Device&, const GaussJordanStripedOptions&);

}  // namespace echelon
