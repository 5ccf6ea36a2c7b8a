// SPDX-License-Identifier: BSD-3-Clause
// Sweeps on a GPU compared bit for bit with a plain loop: patterns, tunings, load, memory and misuse.
#include "gpu/relaxation/gauss_seidel_sweeps.cuh"

namespace echelon::test::sweeping {
namespace {

TYPED_TEST_SUITE(GpuSweeps, Reals);

/// Tunings that together reach every kernel.
std::vector<SweepTuning> tunings() {
  std::vector<SweepTuning> result;
  for (const int rows_per_thread : {1, 2, 4}) {
    for (const int threads : {32, 256, 1024}) {
      for (const std::int64_t staged : {0, 100}) {
        SweepTuning tuning;
        tuning.threads = threads;
        tuning.rows_per_thread = rows_per_thread;
        tuning.staged_per_row = staged;
        tuning.reuse_lower_sums = rows_per_thread != 2;
        result.push_back(tuning);
      }
    }
  }
  SweepTuning long_rows;
  long_rows.long_rows_from = 0;
  result.push_back(long_rows);
  result.push_back(region_tuning());
  SweepTuning selecting = region_tuning();
  selecting.always_regions = false;
  result.push_back(selecting);
  return result;
}

TYPED_TEST(GpuSweeps, AllPatterns_SerialBits) {
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

TYPED_TEST(GpuSweeps, AnyTuning_SerialBits) {
  for (const SweepTuning& tuning : tunings()) {
    this->scratch->tuning = tuning;
    for (const std::string& pattern : patterns) {
      const auto A = make_case<TypeParam>(pattern, 9001, 3);
      const std::string what = pattern + " with " + std::to_string(tuning.rows_per_thread) +
                               " rows_per_thread of " + std::to_string(tuning.threads);
      this->expect_same(A, {SweepKind::symmetric, 1, 1, 1}, what);
      this->expect_same(A, {SweepKind::symmetric, 1, static_cast<TypeParam>(0.8), 1}, what);
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(GpuSweeps, BusyGpu_SerialBits) {
  Load load;
  for (const std::string& pattern : patterns) {
    const auto A = make_case<TypeParam>(pattern, 30'011, 8);
    for (const int rows_per_thread : {1, 4}) {
      this->scratch->tuning.rows_per_thread = rows_per_thread;
      for (const SweepKind kind : kinds) this->expect_same(A, {kind, 2, 1, 1}, pattern, 20, &load);
    }
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(GpuSweeps, Grids_SerialBits) {
  using T = TypeParam;
  for (const SweepKind kind : kinds) {
    this->expect_same(generate::poisson_2d<T>(301, 257), {kind, 2, 1, 1}, "5 points", 3);
    this->expect_same(generate::poisson_3d<T>(61, 47, 53), {kind, 2, 1, 1}, "7 points", 3);
    this->expect_same(generate::poisson_3d<T>(31, 37, 29, 27), {kind, 2, 1, 1}, "27 points", 3);
    this->expect_same(generate::published_triangle<T>(300'000), {kind, 2, 1, 1}, "the published statistics",
                      3);
  }
}

/// Chunks of equal weight, including chunks that hold less than a row or exceed shared memory.
TYPED_TEST(GpuSweeps, LongRows_SerialBits) {
  using T = TypeParam;
  this->scratch->tuning.long_rows_from = 0;
  this->scratch->tuning.lines_from_rows = INT64_MAX;
  for (const SweepKind kind : kinds) {
    this->expect_same(make_case<T>("long", 4000, 2), {kind, 1, 1, 1}, "long", 3);
    this->expect_same(make_case<T>("long", 777, 3), {kind, 2, static_cast<T>(0.9), 3}, "long, relaxed");
    this->expect_same(make_case<T>("arrow", 40'000, 1), {kind, 1, 1, 1}, "one of 40,000 elements");
    this->expect_same(make_case<T>("lower", 150'000, 1), {kind, 1, 1, 1}, "as many rows as blocks hold");
  }
}

/// The rows need several times the resident blocks of the GPU.
TYPED_TEST(GpuSweeps, MoreRowsThanResident_SerialBits) {
  using T = TypeParam;
  this->scratch->tuning.lines_from_rows = INT64_MAX;
  for (const int rows_per_thread : {1, 4}) {
    this->scratch->tuning.rows_per_thread = rows_per_thread;
    this->expect_same(generate::poisson_3d<T>(130, 120, 110), {SweepKind::symmetric, 1, 1, 1}, "7 points");
  }
}

TYPED_TEST(GpuSweeps, ManyRightHandSides_SerialBits) {
  for (const std::int64_t columns : {2, 7, 32, 33, 64}) {
    for (const SweepKind kind : kinds) {
      this->expect_same(make_case<TypeParam>("random", 1025, 4), {kind, 2, 1, columns}, "random");
      this->expect_same(make_case<TypeParam>("lengths", 333, 4),
                        {kind, 1, static_cast<TypeParam>(1.5), columns}, "lengths");
    }
  }
}

TYPED_TEST(GpuSweeps, SpecialValues_SerialBits) {
  using T = TypeParam;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  T all_ones;
  std::memset(&all_ones, 0xff, sizeof all_ones);  // the mark of elements without a value
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

/// A matrix built on a GPU is not validated. Sweeps must terminate all the same, with NaN in the result.
TYPED_TEST(GpuSweeps, UnsortedColumns_EndWithNan) {
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
  for (const std::int64_t long_rows_from : {0, 64}) {
    this->scratch->tuning.long_rows_from = long_rows_from;
    for (const SweepKind kind : kinds) {
      Dense<T> x = random_vectors<T>(4, 1, 2).to(this->gpu);
      this->queue(A, b, x, {kind, 1, 1, 1});
      const Dense<T> result = x.to(Device());
      EXPECT_TRUE(std::any_of(result.data(), result.data() + 4, [](T v) { return std::isnan(v); }));
    }
  }
}

TYPED_TEST(GpuSweeps, StoppedIteration_NothingChanges) {
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

TYPED_TEST(GpuSweeps, Repeated_NoAllocationAndCapturable) {
  using T = TypeParam;
  const Watchdog watchdog(std::chrono::seconds(60));
  this->scratch->tuning.lines_from_rows = 0;
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

TYPED_TEST(GpuSweeps, Memory_AsDocumented) {
  using T = TypeParam;
  const std::int64_t n = 10'000;
  this->expect_same(make_case<T>("random", n, 1), {SweepKind::forward, 2, 1, 1}, "forward");
  EXPECT_LE(this->scratch->bytes(), static_cast<std::size_t>(n) * sizeof(T) + 64);
  this->expect_same(make_case<T>("random", n, 1), {SweepKind::symmetric, 2, 1, 1}, "symmetric");
  EXPECT_LE(this->scratch->bytes(), static_cast<std::size_t>(n) * sizeof(T) * 3 / 2 + 64);
}

TYPED_TEST(GpuSweeps, NewMatrices_SerialBits) {
  for (unsigned seed = 1; seed <= 4; ++seed) {
    const std::int64_t n = seed % 2 == 0 ? 500 : 4000;
    this->expect_same(make_case<TypeParam>("random", n, seed), {SweepKind::symmetric, 2, 1, 1}, "random");
  }
}

}  // namespace
}  // namespace echelon::test::sweeping
