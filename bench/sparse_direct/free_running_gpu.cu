// SPDX-License-Identifier: BSD-3-Clause
// Reduction to mapped echelon form without rounds, as the slides of the method have it: each row runs its
// loop on. It claims its leading unknown by compare-and-swap, and where another row has that unknown it
// subtracts a multiple of that row, which no longer changes, and goes on with the next one. Which row claims
// an unknown first depends on timing, so that every run has another map. Compared with mapped-echelon, which
// works in rounds and has the same map in every run.
//   bench_free_running_gpu [--runs N]
// prints a Markdown table. Rows are dense here, one block of threads for each; times are medians of wall
// times. The last two columns: the copies of A to the host and back that an ordering there would take, and
// the elimination in slices, which are ordered on the GPU.
#include "backend/cuda/check.cuh"
#include "support/arguments.hpp"
#include "support/measure.cuh"

#include <echelon/echelon.hpp>

#include <cuda_runtime.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace ec = echelon;

namespace {

constexpr int threads = 256;
constexpr std::int32_t unclaimed = -1;

/// [A b] by rows, and the row of each unknown.
struct System {
  std::int64_t n;
  double* rows;  ///< n rows of n + 1 elements
  std::int32_t* row_of_unknown;
  unsigned long long* reductions;
};

/// The first column from `begin` on with a nonzero element, n if there is none. For all threads.
__device__ std::int64_t leading_unknown(const double* row, std::int64_t begin, std::int64_t n) {
  for (std::int64_t first = begin; first < n; first += threads) {
    const std::int64_t column = first + threadIdx.x;
    const bool found = column < n && row[column] != 0;
    __shared__ std::int64_t least;
    if (threadIdx.x == 0) least = n;
    __syncthreads();
    if (found) atomicMin(reinterpret_cast<long long*>(&least), static_cast<long long>(column));
    __syncthreads();
    const std::int64_t leading = least;
    __syncthreads();
    if (leading < n) return leading;
  }
  return n;
}

__global__ void __launch_bounds__(threads) reduce_freely(const System s) {
  __shared__ std::int32_t owner;
  double* const own = s.rows + std::int64_t{blockIdx.x} * (s.n + 1);
  std::int64_t leading = 0;
  unsigned long long reductions = 0;
  for (;;) {
    leading = leading_unknown(own, leading, s.n);
    if (leading == s.n) break;  // the row depends on others
    if (threadIdx.x == 0) {
      __threadfence();  // the row is complete before it is claimed
      owner = atomicCAS(s.row_of_unknown + leading, unclaimed, static_cast<std::int32_t>(blockIdx.x));
      __threadfence();
    }
    __syncthreads();
    if (owner == unclaimed) break;
    const double* const other = s.rows + std::int64_t{owner} * (s.n + 1);
    const double factor = own[leading] / __ldcg(other + leading);
    __syncthreads();
    for (std::int64_t c = leading + threadIdx.x; c <= s.n; c += threads)
      own[c] = c == leading ? 0 : own[c] - factor * __ldcg(other + c);  // from another multiprocessor
    ++reductions;
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(s.reductions, reductions);
}

/// Element i of x with A x = b by the rows of the map, from the last unknown on.
std::vector<double> substitute(std::int64_t n, const std::vector<double>& rows,
                               const std::vector<std::int32_t>& row_of_unknown) {
  std::vector<double> x(static_cast<std::size_t>(n));
  for (std::int64_t j = n - 1; j >= 0; --j) {
    if (row_of_unknown[j] == unclaimed) continue;
    const double* const row = rows.data() + row_of_unknown[j] * (n + 1);
    double sum = row[n];
    for (std::int64_t c = j + 1; c < n; ++c) sum -= row[c] * x[c];
    x[j] = sum / row[j];
  }
  return x;
}

struct Outcome {
  double seconds;
  unsigned long long reductions;
  double error;  ///< max |x - 1|
};

Outcome run_freely(const std::vector<double>& host, std::int64_t n, int runs) {
  const ec::Device gpu = ec::Device::cuda();
  Outcome outcome{};
  std::vector<double> seconds;
  const ec::Array<double> given(gpu, std::span<const double>(host));
  ec::Array<double> rows = given;
  ec::Array<std::int32_t> map(gpu, n);
  ec::Array<unsigned long long> reductions(gpu, 1);
  for (int run = 0; run <= runs; ++run) {
    rows = given;
    ec::check(cudaMemset(map.data(), 0xff, map.bytes()));
    ec::check(cudaMemset(reductions.data(), 0, reductions.bytes()));
    ec::check(cudaDeviceSynchronize());
    const auto start = std::chrono::steady_clock::now();
    reduce_freely<<<static_cast<unsigned>(n), threads, 0, ec::stream()>>>(
        System{n, rows.data(), map.data(), reductions.data()});
    ec::check(cudaGetLastError());
    ec::check(cudaDeviceSynchronize());
    if (run > 0)
      seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  outcome.seconds = ec::bench::median(std::move(seconds));
  outcome.reductions = reductions.to_vector()[0];
  for (const double value : substitute(n, rows.to_vector(), map.to_vector()))
    outcome.error = std::max(outcome.error, std::fabs(value - 1));
  return outcome;
}

struct Rounds {
  double seconds;
  std::int64_t rounds, reductions;
};

Rounds run_in_rounds(const ec::Csr<double>& A, const std::string& order, int runs) {
  std::vector<double> seconds;
  ec::Report report;
  for (int run = 0; run < runs; ++run) {
    ec::Solver<double> solver =
        ec::make_solver<double>("mapped-echelon", A.device(), {{"order", order}, {"claim", "first"}});
    const auto start = std::chrono::steady_clock::now();
    report = solver.setup(A);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  const auto count = [&](const char* name) {
    return std::get<std::int64_t>(report.find_statistic(name)->value);
  };
  return {ec::bench::median(std::move(seconds)), count("rounds"), count("reductions")};
}

double copy_seconds(const ec::Csr<double>& A) {
  const auto start = std::chrono::steady_clock::now();
  const ec::Csr<double> back = A.to(ec::Device()).to(A.device());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Elements of rows within `below` and `above` of the diagonal, in blocks of `block` rows that are coupled by
/// one element, or in a band where `block` is 0. Diagonals dominate.
ec::Csr<double> matrix(std::int64_t n, std::int64_t half_width, std::int64_t block) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<ec::Triplet<double>> elements;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t begin = block > 0 ? i / block * block : std::max<std::int64_t>(i - half_width, 0);
    const std::int64_t end = block > 0 ? std::min(begin + block + 1, n) : std::min(i + half_width + 1, n);
    for (std::int64_t j = begin; j < end; ++j) {
      const double value = uniform(random) + (i == j ? static_cast<double>(end - begin) : 0);
      elements.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), value});
    }
  }
  return ec::Csr<double>::from_triplets(n, n, elements);
}

void measure(const std::string& name, const ec::Csr<double>& A, int runs) {
  const std::int64_t n = A.rows();
  std::vector<double> rows(static_cast<std::size_t>(n * (n + 1)));
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
      rows[i * (n + 1) + A.column_indices()[k]] = A.values()[k];
      rows[i * (n + 1) + n] += A.values()[k];
    }
  }
  const Outcome free = run_freely(rows, n, runs);
  const ec::Csr<double> there = A.to(ec::Device::cuda());
  const Rounds natural = run_in_rounds(there, "natural", runs);
  const Rounds slices = run_in_rounds(there, "slices", runs);
  std::printf("| %s | %.3f | %llu | %.1e | %.3f | %lld | %lld | %.3f | %.3f |\n", name.c_str(),
              1e3 * free.seconds, free.reductions, free.error, 1e3 * natural.seconds,
              static_cast<long long>(natural.rounds), static_cast<long long>(natural.reductions),
              1e3 * copy_seconds(there), 1e3 * slices.seconds);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[--runs N]");
  const int runs = arguments.option("--runs", 3);
  arguments.finish();
  std::printf("%s\n\n", ec::hardware(ec::Device::cuda()).c_str());
  std::printf(
      "| matrix | free ms | reductions | max abs(x - 1) | rounds ms | rounds | reductions | copies ms "
      "| slices ms |\n|---|---|---|---|---|---|---|---|---|\n");
  measure("band 20000 rows width 5", matrix(20000, 2, 0), runs);
  measure("band 5000 rows width 17", matrix(5000, 8, 0), runs);
  measure("20 coupled blocks of 25", matrix(500, 0, 25), runs);
  measure("100 coupled blocks of 50", matrix(5000, 0, 50), runs);
  measure("dense 300 rows", matrix(300, 300, 0), runs);
  measure("dense 1000 rows", matrix(1000, 1000, 0), runs);
}
