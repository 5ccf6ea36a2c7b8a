// SPDX-License-Identifier: BSD-3-Clause
// Reductions and sums of vectors on the GPU, compared with cuBLAS and with a copy.
//   bench_vectors_gpu [ELEMENTS]
// prints a table in Markdown for vectors of ELEMENTS elements (default: 2^28). All results stay on the GPU.
// Times are medians of 15 measurements, each the mean over as many operations as take a millisecond.
#include "backend/cuda/owned.cuh"
#include "support/arguments.hpp"
#include "support/measure.cuh"

#include <echelon/echelon.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace ec = echelon;

namespace {

using Blas = ec::Owned<cublasHandle_t, cublasDestroy>;

Blas make_blas() {
  Blas blas = ec::make_owned<Blas>(cublasCreate);
  ec::check(cublasSetStream(blas.get(), ec::stream()));
  ec::check(cublasSetPointerMode(blas.get(), CUBLAS_POINTER_MODE_DEVICE));
  return blas;
}

void cublas_dot(cublasHandle_t handle, std::int64_t n, const float* x, const float* y, float* result) {
  ec::check(cublasSdot_64(handle, n, x, 1, y, 1, result));
}
void cublas_dot(cublasHandle_t handle, std::int64_t n, const double* x, const double* y, double* result) {
  ec::check(cublasDdot_64(handle, n, x, 1, y, 1, result));
}
void cublas_norm2(cublasHandle_t handle, std::int64_t n, const float* x, float* result) {
  ec::check(cublasSnrm2_64(handle, n, x, 1, result));
}
void cublas_norm2(cublasHandle_t handle, std::int64_t n, const double* x, double* result) {
  ec::check(cublasDnrm2_64(handle, n, x, 1, result));
}
void cublas_axpy(cublasHandle_t handle, std::int64_t n, const float* alpha, const float* x, float* y) {
  ec::check(cublasSaxpy_64(handle, n, alpha, x, 1, y, 1));
}
void cublas_axpy(cublasHandle_t handle, std::int64_t n, const double* alpha, const double* x, double* y) {
  ec::check(cublasDaxpy_64(handle, n, alpha, x, 1, y, 1));
}

void print(const char* name, std::size_t element, std::int64_t n, double passes, double ours, double theirs,
           double bandwidth) {
  const double bytes = passes * static_cast<double>(element) * static_cast<double>(n);
  std::printf("| %s | %s | %lld | %.1f | %.0f | %.0f %% |", name, element == 8 ? "double" : "float",
              static_cast<long long>(n), 1e6 * ours, bytes / ours / 1e9, 100 * bytes / ours / bandwidth);
  if (theirs > 0) {
    std::printf(" %.1f | %.2f |\n", 1e6 * theirs, theirs / ours);
  } else {
    std::printf(" - | - |\n");
  }
  std::fflush(stdout);
}

template <class T>
void compare(std::int64_t n, double bandwidth) {
  const ec::Device gpu = ec::Device::cuda();
  std::vector<T> host(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<T>(1 + i % 17) / T{17};
  const ec::Dense<T> x(gpu, std::span<const T>(host));
  ec::Dense<T> y = x;
  ec::Context context(gpu);
  ec::Array<double> result(gpu, 1);
  ec::Array<T> theirs(gpu, 1);
  const Blas blas = make_blas();
  const auto seconds = [](auto f) { return ec::bench::gpu_seconds(f); };
  print("dot", sizeof(T), n, 2, seconds([&] { ec::dot<T>(context, x, y, result.data()); }),
        seconds([&] { cublas_dot(blas.get(), n, x.data(), y.data(), theirs.data()); }), bandwidth);
  print("norm2", sizeof(T), n, 1, seconds([&] { ec::norm2<T>(context, x, result.data()); }),
        seconds([&] { cublas_norm2(blas.get(), n, x.data(), theirs.data()); }), bandwidth);
  print("norm1", sizeof(T), n, 1, seconds([&] { ec::norm1<T>(context, x, result.data()); }), 0, bandwidth);
  print("norm_inf", sizeof(T), n, 1, seconds([&] { ec::norm_inf<T>(context, x, result.data()); }), 0,
        bandwidth);
  const ec::Array<T> alpha(gpu, std::span<const T>(std::vector<T>{T(1e-9)}));
  print("axpy", sizeof(T), n, 3, seconds([&] { ec::axpy<T>(context, T(1e-9), x, y); }),
        seconds([&] { cublas_axpy(blas.get(), n, alpha.data(), x.data(), y.data()); }), bandwidth);
  ec::Dense<T> z(gpu, n, 1);
  print("add", sizeof(T), n, 3, seconds([&] { ec::add<T>(context, T(0.5), x, T(2), y, z); }), 0, bandwidth);
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "[ELEMENTS]");
  const auto n = arguments.positional("ELEMENTS", std::int64_t{1} << 28);
  arguments.finish();
  const double bandwidth = ec::bench::copy_bandwidth();
  std::printf(
      "%s, copy %.0f GB/s\n\n| operation | type | elements | echelon us | GB/s | of copy | cuBLAS us | "
      "cuBLAS / "
      "echelon |\n|---|---|---|---|---|---|---|---|\n",
      hardware(ec::Device::cuda()).c_str(), bandwidth / 1e9);
  for (const std::int64_t size : {n / 256, n}) {
    compare<double>(size, bandwidth);
    compare<float>(size, bandwidth);
  }
}
