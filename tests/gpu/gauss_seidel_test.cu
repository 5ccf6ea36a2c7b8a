// SPDX-License-Identifier: BSD-3-Clause
// Sweeps on a GPU have the bits of a plain loop, whatever the pattern, and whatever else the GPU does.
#include "backend/cuda/cuda.cuh"
#include "gpu/gpu_fixture.hpp"
#include "relaxation/gauss_seidel_sweep.hpp"
#include "solver/iteration.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace echelon::test {
namespace {

using gauss_seidel::SkippedRows;
using gauss_seidel::Sweeps;
using gauss_seidel::SweepScratch;
using gauss_seidel::SweepTuning;

/// Ends the process when a sweep does not end: a GPU that waits for itself cannot be asked to stop.
class Watchdog {
 public:
  explicit Watchdog(std::chrono::seconds patience)
      : thread_([this, patience] {
          std::unique_lock lock(mutex_);
          if (fed_.wait_for(lock, patience, [this] { return done_; })) return;
          std::fputs("a sweep on the GPU does not end\n", stderr);
          std::_Exit(1);
        }) {}
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    fed_.notify_one();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable fed_;
  bool done_ = false;
  std::thread thread_;
};

__global__ void stir(float* data, int n) {
  for (int k = 0; k < 200; ++k) {
    for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < n;
         i += static_cast<int>(gridDim.x * blockDim.x)) {
      data[i] = data[(i + 4099 * k) % n] * 0.5f + 1;
    }
  }
}

/// Other work on the GPU, on a stream of its own: some of its multiprocessors are taken, at some times.
class Load {
 public:
  Load() : data_(Device::cuda(), 1 << 20) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  ~Load() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  void add(unsigned blocks) {
    stir<<<blocks, 256, 0, stream_>>>(data_.data(), static_cast<int>(data_.size()));
    check(cudaGetLastError());
  }

 private:
  cudaStream_t stream_ = nullptr;
  Array<float> data_;
};

/// The sum of one side of a row, elements listed from the far end, as documented.
template <class T>
T documented_sum(const std::vector<std::pair<T, T>>& elements) {
  std::array<T, 32> partial{};
  const std::size_t chains = elements.size() <= 32 ? 1 : 32;
  for (std::size_t e = 0; e < elements.size(); ++e) {
    T& sum = partial[e % chains];
    sum = std::fma(elements[e].first, elements[e].second, sum);
  }
  if (chains == 1) return partial[0];
  for (std::size_t width = 16; width > 0; width /= 2) {
    for (std::size_t l = 0; l < width; ++l) partial[l] += partial[l + width];
  }
  return partial[0];
}

/// A sweep by the book. Nothing here may be contracted: a product and a sum do not share an expression.
template <class T>
SkippedRows sweep_row_by_row(const Csr<T>& A, const T* b, T* x, bool forward, T omega) {
  const auto* offsets = A.row_offsets().data();
  SkippedRows skipped;
  std::vector<std::pair<T, T>> lower;
  std::vector<std::pair<T, T>> upper;
  for (std::int64_t step = 0; step < A.rows(); ++step) {
    const std::int64_t i = forward ? step : A.rows() - 1 - step;
    lower.clear();
    upper.clear();
    T a_ii = 0;
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      const std::int32_t j = A.column_indices()[k];
      if (j == i) a_ii = A.values()[k];
      if (j != i) (j < i ? lower : upper).emplace_back(A.values()[k], x[j]);
    }
    if (a_ii == 0) {
      ++skipped.count;
      skipped.first = std::min(skipped.first, i);
      continue;
    }
    std::reverse(upper.begin(), upper.end());
    const T first = documented_sum(forward ? upper : lower);
    const T second = documented_sum(forward ? lower : upper);
    T r = b[i] - first;
    r = r - second;
    const T scale = omega * (T{1} / a_ii);
    const T rest = (T{1} - omega) * x[i];
    x[i] = omega == T{1} ? r * scale : std::fma(r, scale, rest);
  }
  return skipped;
}

template <class T>
struct Request {
  SweepKind kind = SweepKind::forward;
  std::int64_t sweeps = 1;
  T omega = 1;
  std::int64_t right_hand_sides = 1;
};

template <class T>
SkippedRows sweep_host(const Csr<T>& A, const Dense<T>& b, Dense<T>& x, const Request<T>& request) {
  SkippedRows skipped;
  for (std::int64_t k = 0; k < request.right_hand_sides; ++k) {
    T* column = x.data() + k * x.leading();
    for (std::int64_t s = 0; s < request.sweeps; ++s) {
      const bool forward = request.kind != SweepKind::backward;
      skipped = sweep_row_by_row(A, b.data() + k * b.leading(), column, forward, request.omega);
      if (request.kind == SweepKind::symmetric) {
        sweep_row_by_row(A, b.data() + k * b.leading(), column, false, request.omega);
      }
    }
  }
  return skipped;
}

template <class T>
Csr<T> from_entries(std::int64_t n, std::vector<Triplet<T>> entries) {
  return Csr<T>::from_triplets(n, n, entries);
}

/// Patterns by name; values are random, diagonals large enough to keep x in range.
template <class T>
Csr<T> make_case(const std::string& pattern, std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<Triplet<T>> entries;
  const auto add = [&](std::int64_t i, std::int64_t j) {
    if (i < 0 || j < 0 || i >= n || j >= n || i == j) return;
    entries.push_back(
        {static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), static_cast<T>(value(random) / 40)});
  };
  const auto any = [&] { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n)); };
  for (std::int64_t i = 0; i < n; ++i) {
    const auto here = static_cast<std::int32_t>(i);
    const bool bad = pattern == "holes" && random() % 10 == 0;
    if (!bad || random() % 2 == 0)
      entries.push_back({here, here, static_cast<T>(bad ? 0 : 2 + value(random))});
    if (pattern == "tridiagonal") add(i, i - 1), add(i, i + 1);
    if (pattern == "random" || pattern == "holes") {
      for (int k = 0; k < 6; ++k) add(i, any());
    }
    if (pattern == "banded") {
      for (std::int64_t d = 1; d <= 40; ++d) add(i, i - d), add(i, i + d);
    }
    if (pattern == "arrow") add(i, n - 1), add(n - 1, i);
    if (pattern == "star") add(i, 0), add(0, i);
    if (pattern == "lengths") {
      for (std::uint32_t k = random() % 8 == 0 ? 150 : 2; k > 0; --k) add(i, any());
    }
    if (pattern == "long") {
      for (std::uint32_t k = random() % 160; k > 0; --k) add(i, any());
    }
    if (pattern == "unsymmetric") {
      for (int k = 0; k < 4; ++k) add(i, i + 1 + static_cast<std::int64_t>(random() % 60));
      add(i, i - static_cast<std::int64_t>(random() % 5));
    }
    if (pattern == "lower") {
      for (int k = 0; k < 3; ++k) add(i, i - 1 - static_cast<std::int64_t>(random() % 300));
    }
  }
  return from_entries<T>(n, std::move(entries));
}

template <class T>
Dense<T> random_vectors(std::int64_t n, std::int64_t columns, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  Dense<T> result(Device(), n, columns);
  for (std::int64_t k = 0; k < n * columns; ++k) result.data()[k] = static_cast<T>(value(random));
  return result;
}

template <class T>
bool same_bits(T a, T b) {
  return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0;
}

template <class T>
class GpuSweeps : public GpuTest {
 protected:
  /// The GPU's sweeps, queued.
  void queue(const Csr<T>& A, const Dense<T>& b, Dense<T>& x, const Request<T>& request,
             const IterationState* state = nullptr, SkippedRows* skipped = nullptr) {
    gauss_seidel::sweep(*backend,
                        Sweeps<T>{&A, request.right_hand_sides, b.data(), b.leading(), x.data(), x.leading(),
                                  request.kind, request.sweeps, request.omega, state, skipped},
                        *scratch);
  }

  /// The same bits as on the host, `runs` times.
  void expect_same(const Csr<T>& A, const Request<T>& request, const std::string& what, int runs = 1,
                   Load* load = nullptr) {
    const Watchdog watchdog(std::chrono::seconds(60));
    const Dense<T> b = random_vectors<T>(A.rows(), request.right_hand_sides, 5);
    const Dense<T> start = random_vectors<T>(A.rows(), request.right_hand_sides, 6);
    Dense<T> expected = start;
    const SkippedRows skipped = sweep_host(A, b, expected, request);
    const Csr<T> A_gpu = A.to(gpu);
    const Dense<T> b_gpu = b.to(gpu);
    Array<SkippedRows> skipped_gpu(gpu, 1);
    for (int run = 0; run < runs; ++run) {
      Dense<T> x_gpu = start.to(gpu);
      if (load != nullptr) load->add(static_cast<unsigned>(40 + 60 * (run % 10)));
      queue(A_gpu, b_gpu, x_gpu, request, nullptr, skipped_gpu.data());
      const Dense<T> x = x_gpu.to(Device());
      for (std::int64_t k = 0; k < expected.rows() * expected.columns(); ++k) {
        ASSERT_TRUE(same_bits(x.data()[k], expected.data()[k]))
            << what << ", run " << run << ", element " << k << ": " << x.data()[k] << " for "
            << expected.data()[k];
      }
      if (A.rows() == 0 || request.sweeps == 0) continue;
      const SkippedRows reported = backend->read(skipped_gpu.data());
      EXPECT_EQ(reported.count, skipped.count) << what;
      EXPECT_EQ(reported.first, skipped.first) << what;
    }
  }

  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    backend = std::make_unique<Cuda>(gpu);
    scratch = std::make_unique<SweepScratch<Cuda, T>>(gpu);
  }

  std::unique_ptr<Cuda> backend;
  std::unique_ptr<SweepScratch<Cuda, T>> scratch;
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(GpuSweeps, Reals);

const std::vector<std::string> patterns = {"tridiagonal", "random", "banded", "arrow",       "star",
                                           "lengths",     "holes",  "lower",  "unsymmetric", "diagonal"};
constexpr SweepKind kinds[] = {SweepKind::forward, SweepKind::backward, SweepKind::symmetric};

/// Walks wherever it can.
SweepTuning walking() {
  SweepTuning tuning;
  tuning.staged_per_row = 1000;
  tuning.walk_from = 0;
  tuning.walk_always = true;
  return tuning;
}

/// Every way to share rows out.
std::vector<SweepTuning> tunings() {
  std::vector<SweepTuning> result;
  for (const int slots : {1, 2, 4}) {
    for (const int threads : {32, 256, 1024}) {
      for (const std::int64_t staged : {0, 100}) {
        SweepTuning tuning;
        tuning.threads = threads;
        tuning.slots = slots;
        tuning.staged_per_row = staged;
        tuning.keep_lower = slots != 2;
        result.push_back(tuning);
      }
    }
  }
  SweepTuning warps;
  warps.warps_from = 0;
  result.push_back(warps);
  result.push_back(walking());
  SweepTuning choosing = walking();
  choosing.walk_always = false;
  result.push_back(choosing);
  return result;
}

TYPED_TEST(GpuSweeps, HaveTheBitsOfTheSerialSweep) {
  for (const std::int64_t n : {0, 1, 2, 31, 32, 33, 1023, 1025, 5000}) {
    for (const std::string& pattern : patterns) {
      const auto A = make_case<TypeParam>(pattern, n, static_cast<unsigned>(n));
      for (const SweepKind kind : kinds) {
        this->expect_same(A, {kind, 1, 1, 1}, pattern + " " + std::to_string(n));
        this->expect_same(A, {kind, 3, static_cast<TypeParam>(1.3), 2},
                          pattern + ", relaxed " + std::to_string(n));
      }
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(GpuSweeps, HaveTheseBitsHoweverRowsAreSharedOut) {
  for (const SweepTuning& tuning : tunings()) {
    this->scratch->tuning = tuning;
    for (const std::string& pattern : patterns) {
      const auto A = make_case<TypeParam>(pattern, 9001, 3);
      const std::string what =
          pattern + " with " + std::to_string(tuning.slots) + " slots of " + std::to_string(tuning.threads);
      this->expect_same(A, {SweepKind::symmetric, 1, 1, 1}, what);
      this->expect_same(A, {SweepKind::symmetric, 1, static_cast<TypeParam>(0.8), 1}, what);
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(GpuSweeps, HaveTheseBitsWhateverElseTheGpuDoes) {
  Load load;
  for (const std::string& pattern : patterns) {
    const auto A = make_case<TypeParam>(pattern, 30'011, 8);
    for (const int slots : {1, 4}) {
      this->scratch->tuning.slots = slots;
      for (const SweepKind kind : kinds) this->expect_same(A, {kind, 2, 1, 1}, pattern, 20, &load);
    }
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(GpuSweeps, FollowTheLongestChainsAndTheWidestFronts) {
  using T = TypeParam;
  for (const SweepKind kind : kinds) {
    this->expect_same(generate::poisson_2d<T>(301, 257), {kind, 2, 1, 1}, "5 points", 3);
    this->expect_same(generate::poisson_3d<T>(61, 47, 53), {kind, 2, 1, 1}, "7 points", 3);
    this->expect_same(generate::poisson_3d<T>(31, 37, 29, 27), {kind, 2, 1, 1}, "27 points", 3);
    this->expect_same(generate::gauss_seidel_seed<T>(300'000), {kind, 2, 1, 1}, "the published statistics",
                      3);
  }
}

/// Chunks of equal work, also such as hold less than a row, or more than there is shared memory for.
TYPED_TEST(GpuSweeps, TakeLongRows) {
  using T = TypeParam;
  this->scratch->tuning.warps_from = 0;
  this->scratch->tuning.lines_from = INT64_MAX;
  for (const SweepKind kind : kinds) {
    this->expect_same(make_case<T>("long", 4000, 2), {kind, 1, 1, 1}, "long", 3);
    this->expect_same(make_case<T>("long", 777, 3), {kind, 2, static_cast<T>(0.9), 3}, "long, relaxed");
    this->expect_same(make_case<T>("arrow", 40'000, 1), {kind, 1, 1, 1}, "one of 40,000 elements");
    this->expect_same(make_case<T>("lower", 150'000, 1), {kind, 1, 1, 1}, "as many rows as blocks hold");
  }
}

/// The rows need several times the blocks that the GPU can run at a time.
TYPED_TEST(GpuSweeps, TakeMoreRowsThanFitOntoTheGpu) {
  using T = TypeParam;
  this->scratch->tuning.lines_from = INT64_MAX;
  for (const int slots : {1, 4}) {
    this->scratch->tuning.slots = slots;
    this->expect_same(generate::poisson_3d<T>(130, 120, 110), {SweepKind::symmetric, 1, 1, 1}, "7 points");
  }
}

TYPED_TEST(GpuSweeps, TakeManyRightHandSides) {
  for (const std::int64_t columns : {2, 7, 32, 33, 64}) {
    for (const SweepKind kind : kinds) {
      this->expect_same(make_case<TypeParam>("random", 1025, 4), {kind, 2, 1, columns}, "random");
      this->expect_same(make_case<TypeParam>("lengths", 333, 4),
                        {kind, 1, static_cast<TypeParam>(1.5), columns}, "lengths");
    }
  }
}

TYPED_TEST(GpuSweeps, PublishEveryKindOfNumber) {
  using T = TypeParam;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  T all_ones;
  std::memset(&all_ones, 0xff, sizeof all_ones);  // the NaN that stands for "no value yet"
  const Watchdog watchdog(std::chrono::seconds(60));
  const auto A = make_case<T>("holes", 3000, 9);
  for (const T odd : {all_ones, std::numeric_limits<T>::quiet_NaN(), infinity, -infinity,
                      std::numeric_limits<T>::max(), std::numeric_limits<T>::denorm_min(), -T{0}}) {
    Dense<T> b = random_vectors<T>(3000, 1, 1);
    Dense<T> x = random_vectors<T>(3000, 1, 2);
    for (std::int64_t i = 7; i < 3000; i += 500) b.data()[i] = x.data()[i + 3] = odd;
    for (const SweepKind kind : kinds) {
      Dense<T> expected = x;
      Dense<T> x_gpu = x.to(this->gpu);
      sweep_host(A, b, expected, Request<T>{kind, 2, 1, 1});
      const Csr<T> A_gpu = A.to(this->gpu);
      const Dense<T> b_gpu = b.to(this->gpu);
      this->queue(A_gpu, b_gpu, x_gpu, Request<T>{kind, 2, 1, 1});
      const Dense<T> result = x_gpu.to(Device());
      for (std::int64_t i = 0; i < 3000; ++i) {
        ASSERT_TRUE(same_bits(result.data()[i], expected.data()[i])) << odd << ", row " << i;
        ASSERT_NE(std::memcmp(result.data() + i, &all_ones, sizeof(T)), 0) << odd << ", row " << i;
      }
    }
  }
}

/// Nobody checks a matrix that was built on a GPU; a sweep must end all the same, and say that something is
/// wrong.
TYPED_TEST(GpuSweeps, EndWhenColumnsAreNotSorted) {
  using T = TypeParam;
  const Watchdog watchdog(std::chrono::seconds(60));
  const std::vector<std::int64_t> offsets = {0, 1, 4, 6, 9};
  const std::vector<std::int32_t> columns = {0, 3, 0, 1, 2, 0, 1, 3, 2};
  const std::vector<T> values(9, T{1});
  const auto A =
      Csr<T>::unchecked(4, 4, Array<std::int64_t>(this->gpu, std::span<const std::int64_t>(offsets)),
                        Array<std::int32_t>(this->gpu, std::span<const std::int32_t>(columns)),
                        Array<T>(this->gpu, std::span<const T>(values)));
  const Dense<T> b = random_vectors<T>(4, 1, 1).to(this->gpu);
  for (const std::int64_t warps_from : {0, 64}) {
    this->scratch->tuning.warps_from = warps_from;
    for (const SweepKind kind : kinds) {
      Dense<T> x = random_vectors<T>(4, 1, 2).to(this->gpu);
      this->queue(A, b, x, {kind, 1, 1, 1});
      const Dense<T> result = x.to(Device());
      EXPECT_TRUE(std::any_of(result.data(), result.data() + 4, [](T v) { return std::isnan(v); }));
    }
  }
}

TYPED_TEST(GpuSweeps, ChangeNothingWhenTheIterationHasStopped) {
  using T = TypeParam;
  const Csr<T> A = make_case<T>("random", 1025, 1).to(this->gpu);
  const Dense<T> b = random_vectors<T>(1025, 1, 1).to(this->gpu);
  const Dense<T> start = random_vectors<T>(1025, 1, 2);
  Array<IterationState> state(this->gpu, 1);
  Array<SkippedRows> skipped(this->gpu, 1);
  for (const std::int64_t sweeps : {1, 2}) {
    Dense<T> x = start.to(this->gpu);
    IterationState stopped;
    stopped.phase = Phase::converged;
    this->backend->write(stopped, state.data());
    this->backend->write(SkippedRows{17, 4}, skipped.data());
    this->backend->synchronize();
    this->queue(A, b, x, {SweepKind::symmetric, sweeps, 1, 1}, state.data(), skipped.data());
    this->queue(A, b, x, {SweepKind::forward, sweeps, 1, 1}, state.data(), skipped.data());
    const Dense<T> result = x.to(Device());
    EXPECT_TRUE(std::equal(start.data(), start.data() + 1025, result.data()));
    EXPECT_EQ(this->backend->read(skipped.data()).count, 17);
  }
  this->expect_same(make_case<T>("random", 1025, 1), {SweepKind::forward, 1, 1, 1}, "afterwards");
}

TYPED_TEST(GpuSweeps, AllocateNothingWhenRepeatedAndCanBeCaptured) {
  using T = TypeParam;
  const Watchdog watchdog(std::chrono::seconds(60));
  this->scratch->tuning.lines_from = 0;
  for (const bool grid : {false, true}) {
    const Csr<T> A = grid ? generate::poisson_2d<T>(60, 70) : make_case<T>("banded", 4097, 1);
    const std::int64_t n = A.rows();
    const Csr<T> A_gpu = A.to(this->gpu);
    const Dense<T> b = random_vectors<T>(n, 3, 1);
    const Dense<T> b_gpu = b.to(this->gpu);
    Dense<T> expected = random_vectors<T>(n, 3, 2);
    Dense<T> x_gpu = expected.to(this->gpu);
    for (const SweepKind kind : kinds) {
      const Request<T> request{kind, 1, static_cast<T>(1.1), 3};
      sweep_host(A, b, expected, request);
      this->queue(A_gpu, b_gpu, x_gpu, request);
      this->backend->synchronize();
      const std::size_t bytes = this->scratch->bytes();
      const T* other = this->scratch->other.data();
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t executable = nullptr;
      // An allocation would make the capture fail.
      check(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeThreadLocal));
      this->queue(A_gpu, b_gpu, x_gpu, request);
      check(cudaStreamEndCapture(stream(), &graph));
      check(cudaGraphInstantiate(&executable, graph, 0));
      for (int replay = 0; replay < 3; ++replay) {
        sweep_host(A, b, expected, request);
        check(cudaGraphLaunch(executable, stream()));
      }
      this->backend->synchronize();
      cudaGraphExecDestroy(executable);
      cudaGraphDestroy(graph);
      EXPECT_EQ(this->scratch->bytes(), bytes);
      EXPECT_EQ(this->scratch->other.data(), other);
      const Dense<T> x = x_gpu.to(Device());
      for (std::int64_t k = 0; k < 3 * n; ++k) {
        ASSERT_TRUE(same_bits(x.data()[k], expected.data()[k])) << "element " << k;
      }
    }
  }
}

/// A grid's matrix with values of no symmetry, and, where `change` says so, other elements.
template <class T, class Change>
Csr<T> disturb(const Csr<T>& grid, unsigned seed, Change change) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<Triplet<T>> entries;
  const auto n = static_cast<std::int32_t>(grid.rows());
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int64_t k = grid.row_offsets().data()[i]; k < grid.row_offsets().data()[i + 1]; ++k) {
      const std::int32_t j = grid.column_indices().data()[k];
      entries.push_back({i, j, static_cast<T>(i == j ? 3 + value(random) : value(random) / 20)});
    }
  }
  change(n, entries);
  return from_entries<T>(n, std::move(entries));
}

template <class T>
void leave_alone(std::int32_t /*n*/, std::vector<Triplet<T>>& /*entries*/) {}

TYPED_TEST(GpuSweeps, GoAlongTheLinesOfGrids) {
  using T = TypeParam;
  this->scratch->tuning.lines_from = 0;
  struct Grid {
    std::string name;
    Csr<T> matrix;
    std::int32_t length;
  };
  const std::vector<Grid> grids = {{"5 points", generate::poisson_2d<T>(301, 257), 301},
                                   {"5 points, long lines", generate::poisson_2d<T>(1000, 70), 1000},
                                   {"9 points", generate::poisson_2d<T>(100, 150, 9), 100},
                                   {"7 points", generate::poisson_3d<T>(61, 47, 53), 61},
                                   {"7 points, short lines", generate::poisson_3d<T>(17, 12, 50), 17},
                                   {"27 points", generate::poisson_3d<T>(35, 37, 29, 27), 35}};
  unsigned seed = 0;
  for (const Grid& grid : grids) {
    const Csr<T> A = disturb(grid.matrix, ++seed, leave_alone<T>);
    for (const SweepKind kind : kinds) {
      this->expect_same(A, {kind, 2, 1, 1}, grid.name, 3);
      EXPECT_EQ(this->backend->read(this->scratch->line_length.data()), grid.length) << grid.name;
      this->expect_same(A, {kind, 1, static_cast<T>(1.4), 3}, grid.name + ", relaxed");
    }
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(GpuSweeps, GoAlongLinesWhateverElseTheGpuDoes) {
  using T = TypeParam;
  Load load;
  this->scratch->tuning.lines_from = 0;
  for (const int points : {7, 27}) {
    const auto A = disturb(generate::poisson_3d<T>(41, 37, 30, points), 5, leave_alone<T>);
    this->expect_same(A, {SweepKind::symmetric, 2, 1, 1}, "grid", 20, &load);
  }
}

/// Rows for which lines are of no help, or which have no diagonal element, among those of a grid.
TYPED_TEST(GpuSweeps, GoAlongLinesWhateverThePattern) {
  using T = TypeParam;
  using Entries = std::vector<Triplet<T>>;
  this->scratch->tuning.lines_from = 0;
  const auto add = [](Entries& entries, std::int32_t i, std::int32_t j) {
    entries.push_back({i, j, static_cast<T>(0.03)});
  };
  const auto check = [&](const std::string& name, auto change) {
    const auto A = disturb(generate::poisson_3d<T>(40, 20, 24), 3, change);
    for (const SweepKind kind : kinds) {
      this->expect_same(A, {kind, 2, 1, 1}, name);
      this->expect_same(A, {kind, 1, static_cast<T>(0.7), 2}, name + ", relaxed");
    }
    EXPECT_EQ(this->backend->read(this->scratch->line_length.data()), 40) << name;
  };
  check("no diagonal", [](std::int32_t, Entries& entries) {
    std::erase_if(entries, [](const auto& e) { return e.row == e.column && e.row % 7 == 0; });
    for (auto& e : entries) {
      if (e.row == e.column && e.row % 11 == 0) e.value = 0;
    }
  });
  check("periodic in x", [&](std::int32_t n, Entries& entries) {
    for (std::int32_t i = 0; i < n; i += 40) add(entries, i, i + 39), add(entries, i + 39, i);
  });
  check("far along the line before", [&](std::int32_t n, Entries& entries) {
    for (std::int32_t i = 40; i + 80 < n; i += 40) add(entries, i, i - 1), add(entries, i + 39, i + 40);
  });
  check("unsymmetric", [&](std::int32_t n, Entries& entries) {
    for (std::int32_t i = 0; i + 30 < n; i += 3) add(entries, i, i + 30), add(entries, i, (i * 7) % n);
  });
  check("more elements than are held at hand", [&](std::int32_t n, Entries& entries) {
    for (std::int32_t i = 100; i + 100 < n; i += 5) {
      for (std::int32_t j = 2; j < 12; ++j) add(entries, i, i - 3 * j), add(entries, i, i + 3 * j);
    }
  });
  check("long rows", [&](std::int32_t n, Entries& entries) {
    for (const std::int32_t i : {0, 1, n / 3, n - 1}) {
      for (std::int32_t j = 0; j < n; j += 2) {
        if (std::abs(i - j) != 1 && std::abs(i - j) != 40 && std::abs(i - j) != 800 && i != j)
          add(entries, i, j);
      }
    }
  });
}

TYPED_TEST(GpuSweeps, GoAlongMoreLinesThanFitOntoTheGpu) {
  using T = TypeParam;
  this->expect_same(generate::poisson_3d<T>(20, 250, 220), {SweepKind::symmetric, 2, 1, 1}, "7 points", 2);
  EXPECT_EQ(this->backend->read(this->scratch->line_length.data()), 20);
}

TYPED_TEST(GpuSweeps, FindNoLinesWhereThereAreNone) {
  this->scratch->tuning.lines_from = 0;
  for (const char* pattern : {"random", "banded", "lengths", "unsymmetric"}) {
    this->expect_same(make_case<TypeParam>(pattern, 9'200, 4), {SweepKind::symmetric, 2, 1, 1}, pattern);
    if (this->scratch->line_length.size() == 0) continue;
    EXPECT_EQ(this->backend->read(this->scratch->line_length.data()), 0) << pattern;
  }
}

TYPED_TEST(GpuSweeps, NeedAsMuchMemoryAsDocumented) {
  using T = TypeParam;
  const std::int64_t n = 10'000;
  this->expect_same(make_case<T>("random", n, 1), {SweepKind::forward, 2, 1, 1}, "forward");
  EXPECT_LE(this->scratch->bytes(), static_cast<std::size_t>(n) * sizeof(T) + 64);
  this->expect_same(make_case<T>("random", n, 1), {SweepKind::symmetric, 2, 1, 1}, "symmetric");
  EXPECT_LE(this->scratch->bytes(), static_cast<std::size_t>(n) * sizeof(T) * 3 / 2 + 64);
}

TYPED_TEST(GpuSweeps, NeedFourBytesARowMoreToWalk) {
  using T = TypeParam;
  const std::int64_t n = 1'000'000;
  this->scratch->tuning = walking();
  this->expect_same(generate::gauss_seidel_seed<T>(n), {SweepKind::symmetric, 1, 1, 1}, "symmetric");
  EXPECT_LE(this->scratch->bytes(), static_cast<std::size_t>(n) * (sizeof(T) + 4) + 64);
}

TYPED_TEST(GpuSweeps, WalkThroughRegionsWhateverThePattern) {
  Load load;
  this->scratch->tuning = walking();
  for (const std::string& pattern : patterns) {
    for (const std::int64_t n : {2048, 2049, 8191, 20'011}) {
      const auto A = make_case<TypeParam>(pattern, n, static_cast<unsigned>(n));
      this->expect_same(A, {SweepKind::forward, 2, 1, 1}, pattern, 5, &load);
      this->expect_same(A, {SweepKind::symmetric, 1, static_cast<TypeParam>(1.3), 3}, pattern, 2);
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(GpuSweeps, WalkToTheEndWhenColumnsAreNotSorted) {
  using T = TypeParam;
  const Watchdog watchdog(std::chrono::seconds(60));
  constexpr std::int32_t n = 3000;
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::int32_t> columns;
  for (std::int32_t i = 0; i < n; ++i) {
    // Rows of two groups, and two of one, that wait for each other.
    if (i == 500) columns.insert(columns.end(), {2500, 3});
    if (i == 2500) columns.insert(columns.end(), {500});
    if (i == 1000) columns.insert(columns.end(), {1001});
    if (i == 1001) columns.insert(columns.end(), {1000});
    columns.push_back(i);
    offsets.push_back(static_cast<std::int64_t>(columns.size()));
  }
  const std::vector<T> values(columns.size(), T{1});
  const auto A =
      Csr<T>::unchecked(n, n, Array<std::int64_t>(this->gpu, std::span<const std::int64_t>(offsets)),
                        Array<std::int32_t>(this->gpu, std::span<const std::int32_t>(columns)),
                        Array<T>(this->gpu, std::span<const T>(values)));
  const Dense<T> b = random_vectors<T>(n, 1, 1).to(this->gpu);
  this->scratch->tuning = walking();
  Dense<T> x = random_vectors<T>(n, 1, 2).to(this->gpu);
  this->queue(A, b, x, {SweepKind::forward, 1, 1, 1});
  const Dense<T> result = x.to(Device());
  EXPECT_TRUE(std::isnan(result.data()[500]) && std::isnan(result.data()[1000]));
}

/// Of each 32 rows one has three neighbours far away and the others two; one has no diagonal element. So the
/// tiles in which a warp walks have more of these than there is room for, some of them more elements, too.
TYPED_TEST(GpuSweeps, WalkOverTilesThatHaveTooManyNeighboursFarAway) {
  using T = TypeParam;
  constexpr std::int32_t n = 9000;
  std::vector<std::int64_t> offsets = {0};
  std::vector<std::int32_t> columns;
  for (std::int32_t i = 0; i < n; ++i) {
    if (i >= 3000) columns.insert(columns.end(), {i - 3000, i - 1500});
    if (i >= 3000 && i % 32 == 0) columns.push_back(i - 1000);
    if (i % 32 != 31) columns.push_back(i);
    offsets.push_back(static_cast<std::int64_t>(columns.size()));
  }
  std::vector<T> values;
  for (std::size_t k = 0; k < columns.size(); ++k) values.push_back(T{1} + static_cast<T>(k % 7) / T{8});
  const auto A =
      Csr<T>::unchecked(n, n, Array<std::int64_t>(Device(), std::span<const std::int64_t>(offsets)),
                        Array<std::int32_t>(Device(), std::span<const std::int32_t>(columns)),
                        Array<T>(Device(), std::span<const T>(values)));
  this->scratch->tuning = walking();
  this->expect_same(A, {SweepKind::symmetric, 2, 1, 2}, "far away", 5);
  this->expect_same(A, {SweepKind::forward, 1, static_cast<T>(1.3), 1}, "far away, relaxed", 5);
}

TYPED_TEST(GpuSweeps, WalkThroughMoreRegionsThanFitOntoTheGpu) {
  using T = TypeParam;
  this->scratch->tuning = walking();
  const auto A = generate::gauss_seidel_seed<T>(2'000'000);
  this->expect_same(A, {SweepKind::symmetric, 1, 1, 1}, "the published statistics", 5);
  this->expect_same(A, {SweepKind::forward, 1, 1, 9}, "of many right-hand sides");
}

TYPED_TEST(GpuSweeps, WalkWhereFewRowsWouldBeLeftOver) {
  using T = TypeParam;
  this->scratch->tuning.walk_from = 0;
  const auto way = [&](int direction) { return this->backend->read(this->scratch->ways.data() + direction); };
  this->expect_same(generate::gauss_seidel_seed<T>(300'000), {SweepKind::symmetric, 1, 1, 1}, "published");
  EXPECT_EQ(way(0), -1);
  EXPECT_EQ(way(1), 0) << "nearly all elements are known before a backward sweep";
  this->expect_same(make_case<T>("tridiagonal", 50'000, 1), {SweepKind::symmetric, 1, 1, 1}, "tridiagonal");
  EXPECT_EQ(way(0), 0);
  EXPECT_EQ(way(1), 0);
}

TYPED_TEST(GpuSweeps, FollowNewValuesAndNewMatrices) {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    const std::int64_t n = seed % 2 == 0 ? 500 : 4000;
    this->expect_same(make_case<TypeParam>("random", n, seed), {SweepKind::symmetric, 2, 1, 1}, "random");
  }
}

}  // namespace
}  // namespace echelon::test
