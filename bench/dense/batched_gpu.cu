// SPDX-License-Identifier: BSD-3-Clause
// How fast are batches of small matrices on a GPU, compared with cuBLAS?
//   bench_batched_gpu
// Inverses compared with getrfBatched and getriBatched, and with matinvBatched; solutions with getrfBatched
// and getrsBatched.
#include "dense/batched/operations.hpp"
#include "dense_gpu.cuh"

#include <echelon/echelon.hpp>

#include <cublas_v2.h>

#include <cmath>
#include <cstdio>
#include <span>
#include <vector>

namespace ec = echelon;
using namespace echelon::bench;

namespace {

/// cuBLAS' batches, for float and double under one name.
struct BatchedBlas {
  cublasHandle_t handle;
  int n, count;
  int* pivots;
  int* info;
  void factor(float** a) const { ec::check(cublasSgetrfBatched(handle, n, a, n, pivots, info, count)); }
  void factor(double** a) const { ec::check(cublasDgetrfBatched(handle, n, a, n, pivots, info, count)); }
  void invert(float** a, float** c) const {
    ec::check(cublasSgetriBatched(handle, n, a, n, pivots, c, n, info, count));
  }
  void invert(double** a, double** c) const {
    ec::check(cublasDgetriBatched(handle, n, a, n, pivots, c, n, info, count));
  }
  void solve(float** a, float** b) const {
    int host_info = 0;
    ec::check(cublasSgetrsBatched(handle, CUBLAS_OP_N, n, 1, a, n, pivots, b, n, &host_info, count));
  }
  void solve(double** a, double** b) const {
    int host_info = 0;
    ec::check(cublasDgetrsBatched(handle, CUBLAS_OP_N, n, 1, a, n, pivots, b, n, &host_info, count));
  }
  void invert_small(float** a, float** c) const {
    ec::check(cublasSmatinvBatched(handle, n, a, n, c, n, info, count));
  }
  void invert_small(double** a, double** c) const {
    ec::check(cublasDmatinvBatched(handle, n, a, n, c, n, info, count));
  }
};

template <class T>
ec::Array<T*> pointers(ec::Dense<T>& all, std::int64_t stride, std::int64_t count) {
  std::vector<T*> here;
  for (std::int64_t b = 0; b < count; ++b) here.push_back(all.data() + b * stride);
  return ec::Array<T*>(all.device(), std::span<T* const>(here));
}

template <class T>
void batched() {
  std::printf(
      "\n### Batches, %s\n\n| n | count | inverse ms | getrf + getri | ratio | matinv | ratio | solve ms | "
      "getrf + "
      "getrs | ratio | GB/s of the inverse |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
      type_name<T>);
  struct Size {
    std::int64_t n, count;
  };
  for (const Size size : {Size{8, 200'000}, {16, 100'000}, {32, 50'000}, {64, 10'000}, {128, 2'000}}) {
    const auto [n, count] = size;
    const ec::Dense<T> a = uniform<T>(n * n, count, 1);
    const ec::Dense<T> b = uniform<T>(n, count, 2);
    ec::Dense<T> copy = a;
    ec::Dense<T> result = a;
    ec::Dense<T> right = b;
    const ec::DenseBatch<T> batch(copy.data(), n, n, count, copy.device());
    const ec::DenseBatch<const T> given(a.data(), n, n, count, a.device());
    const ec::DenseBatch<T> rights(right.data(), n, 1, count, right.device());
    ec::Array<ec::BatchOutcome> outcomes(a.device(), count);
    const double tolerance = 0;
    constexpr int runs = 9;
    const double inverse = seconds(
        runs, [&] { restore(a, copy); },
        [&] { ec::invert_batch_on<ec::CudaTarget, T>(batch, tolerance, outcomes.data()); });
    const double solve = seconds(
        runs, [&] { restore(b, right); },
        [&] { ec::solve_batch_on<ec::CudaTarget, T>(given, rights, tolerance, 1, outcomes.data()); });
    for (const ec::BatchOutcome& outcome : outcomes.to_vector()) {
      insist(outcome.status == ec::Status::direct, "a matrix of the batch");
    }
    ec::Cuda backend(a.device());
    ec::Array<int> pivots(a.device(), n * count);
    ec::Array<int> info(a.device(), count);
    const BatchedBlas blas{backend.blas(), static_cast<int>(n), static_cast<int>(count), pivots.data(),
                           info.data()};
    ec::Array<T*> as = pointers(copy, n * n, count);
    ec::Array<T*> cs = pointers(result, n * n, count);
    ec::Array<T*> bs = pointers(right, n, count);
    const double theirs = seconds(
        runs, [&] { restore(a, copy); }, [&] { blas.factor(as.data()), blas.invert(as.data(), cs.data()); });
    const double their_solve = seconds(
        runs, [&] { restore(a, copy), restore(b, right); },
        [&] { blas.factor(as.data()), blas.solve(as.data(), bs.data()); });
    const double small =
        n > 32 ? NAN
               : seconds(
                     runs, [&] { restore(a, copy); }, [&] { blas.invert_small(as.data(), cs.data()); });
    std::printf("| %lld | %lld | %.3f | %.3f | %.2f | %.3f | %.2f | %.3f | %.3f | %.2f | %.0f |\n",
                static_cast<long long>(n), static_cast<long long>(count), 1e3 * inverse, 1e3 * theirs,
                theirs / inverse, 1e3 * small, small / inverse, 1e3 * solve, 1e3 * their_solve,
                their_solve / solve, 2e-9 * static_cast<double>(a.bytes()) / inverse);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Arguments(argc, argv, "").finish();
  std::printf("%s\n", hardware(ec::Device::cuda()).c_str());
  batched<double>();
  batched<float>();
}
