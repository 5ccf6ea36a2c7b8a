// SPDX-License-Identifier: BSD-3-Clause
/// Test fixture of sweeps on a GPU: a plain loop as oracle, matrices by pattern, and load for the GPU.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "gpu/gpu_fixture.hpp"
#include "relaxation/gauss_seidel/sweep.hpp"
#include "solver/iteration/iterative_method.hpp"

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

namespace echelon::test::sweeping {

using gauss_seidel::SkippedRows;
using gauss_seidel::Sweeps;
using gauss_seidel::SweepTuning;
using gauss_seidel::SweepWorkspace;

/// Ends the process if a sweep does not terminate: a deadlocked kernel cannot be cancelled.
class Watchdog {
 public:
  explicit Watchdog(std::chrono::seconds limit)
      : thread_([this, limit] {
          std::unique_lock lock(mutex_);
          if (finished_.wait_for(lock, limit, [this] { return done_; })) return;
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
    finished_.notify_one();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable finished_;
  bool done_ = false;
  std::thread thread_;
};

static __global__ void occupy(float* data, int n) {
  for (int k = 0; k < 200; ++k) {
    for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < n;
         i += static_cast<int>(gridDim.x * blockDim.x)) {
      data[i] = data[(i + 4099 * k) % n] * 0.5f + 1;
    }
  }
}

/// Load on another stream, which occupies some multiprocessors at times.
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
    occupy<<<blocks, 256, 0, stream_>>>(data_.data(), static_cast<int>(data_.size()));
    check(cudaGetLastError());
  }

 private:
  cudaStream_t stream_ = nullptr;
  Array<float> data_;
};

/// Sum of one side of a row in the documented order; elements are listed from the far end.
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

/// Sweep as documented. No expression has both a product and a sum, so that the compiler cannot contract any.
template <class T>
SkippedRows sweep_as_documented(const Csr<T>& A, const T* b, T* x, bool forward, T omega) {
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
      skipped = sweep_as_documented(A, b.data() + k * b.leading(), column, forward, request.omega);
      if (request.kind == SweepKind::symmetric) {
        sweep_as_documented(A, b.data() + k * b.leading(), column, false, request.omega);
      }
    }
  }
  return skipped;
}

template <class T>
Csr<T> from_entries(std::int64_t n, std::vector<Triplet<T>> entries) {
  return Csr<T>::from_triplets(n, n, entries);
}

/// Matrix with the pattern of this name, random values, and diagonals large enough to keep x in range.
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
  /// Queues sweeps on the GPU.
  void queue(const Csr<T>& A, const Dense<T>& b, Dense<T>& x, const Request<T>& request,
             const IterationState* state = nullptr, SkippedRows* skipped = nullptr) {
    gauss_seidel::sweep(*backend,
                        Sweeps<T>{&A, request.right_hand_sides, b.data(), b.leading(), x.data(), x.leading(),
                                  request.kind, request.sweeps, request.omega, state, skipped},
                        *scratch);
  }

  /// Expects the bits of the host, `runs` times.
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
    scratch = std::make_unique<SweepWorkspace<Cuda, T>>(gpu);
  }

  std::unique_ptr<Cuda> backend;
  std::unique_ptr<SweepWorkspace<Cuda, T>> scratch;
};
using Reals = testing::Types<float, double>;

inline const std::vector<std::string> patterns = {"tridiagonal", "random",  "banded", "arrow",
                                                  "star",        "lengths", "holes",  "lower",
                                                  "unsymmetric", "diagonal"};
inline constexpr SweepKind kinds[] = {SweepKind::forward, SweepKind::backward, SweepKind::symmetric};

/// Uses regions wherever they are possible.
inline SweepTuning region_tuning() {
  SweepTuning tuning;
  tuning.staged_per_row = 1000;
  tuning.regions_from_rows = 0;
  tuning.always_regions = true;
  return tuning;
}

}  // namespace echelon::test::sweeping
