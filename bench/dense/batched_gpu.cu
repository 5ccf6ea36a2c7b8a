// SPDX-License-Identifier: BSD-3-Clause
// How fast are batches of small matrices on a GPU, compared with cuBLAS?
//   bench_batched_gpu [--large]
// Inverses compared with getrfBatched and getriBatched, and with matinvBatched; solutions, and factors with a
// solve, with getrfBatched and getrsBatched; Cholesky factors with cuSOLVER's potrfBatched and potrsBatched.
// With --large only matrices of 1024 to 8192 rows, without a comparison.
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

/// cuSOLVER's batched Cholesky factorisation, for float and double under one name.
struct BatchedPotrf {
  cusolverDnHandle_t handle;
  int n, count;
  int* info;
  static constexpr cublasFillMode_t lower = CUBLAS_FILL_MODE_LOWER;
  void factor(float** a) const { ec::check(cusolverDnSpotrfBatched(handle, lower, n, a, n, info, count)); }
  void factor(double** a) const { ec::check(cusolverDnDpotrfBatched(handle, lower, n, a, n, info, count)); }
  void solve(float** a, float** b) const {
    ec::check(cusolverDnSpotrsBatched(handle, lower, n, 1, a, n, b, n, info, count));
  }
  void solve(double** a, double** b) const {
    ec::check(cusolverDnDpotrsBatched(handle, lower, n, 1, a, n, b, n, info, count));
  }
};

/// Makes every matrix symmetric and positive definite.
template <class T>
struct MakePositiveDefinite {
  std::int64_t n;
  T* a;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    const std::int64_t i = k % n;
    const std::int64_t j = k / n % n;
    T* const matrix = a + k / (n * n) * n * n;
    if (i > j) matrix[j + i * n] = matrix[i + j * n];
    if (i == j) matrix[i + i * n] += static_cast<T>(2 * std::sqrt(static_cast<double>(n)));
  }
};

/// Times of BatchFactors and of the library's routines, which `factor_theirs` and `solve_theirs` call.
template <class T, class FactorTheirs, class SolveTheirs>
void compare_factors(ec::BatchFactorization kind, const ec::Dense<T>& a, std::int64_t n, ec::Dense<T>& copy,
                     ec::Dense<T>& right, const FactorTheirs& factor_theirs,
                     const SolveTheirs& solve_theirs) {
  constexpr int runs = 9;
  const std::int64_t count = a.columns();
  const ec::BatchOptions options{.tolerance = 0};  // of 100,000 random matrices some are nearly singular
  const auto prepare = [&] { restore(a, copy); };
  const ec::DenseBatch<T> batch(copy.data(), n, n, count, copy.device());
  const ec::DenseBatch<T> rights(right.data(), n, 1, count, right.device());
  const double factor = seconds(runs, prepare, [&] { ec::BatchFactors<T>(batch, kind, options); });
  prepare();
  const ec::BatchFactors<T> factors(batch, kind, options);
  const double solve = seconds(
      runs, [] {}, [&] { factors.solve(rights); });
  for (const ec::BatchOutcome& outcome : factors.outcomes().to_vector()) {
    insist(outcome.status == ec::Status::direct, "a matrix of the batch");
  }
  const double their_factor = seconds(runs, prepare, factor_theirs);
  const double their_solve = seconds(
      runs, [] {}, solve_theirs);
  std::printf("| %s | %lld | %lld | %.3f | %.3f | %.3f | %.3f | %.2f |\n",
              kind == ec::BatchFactorization::lu ? "LU" : "Cholesky", static_cast<long long>(n),
              static_cast<long long>(count), 1e3 * factor, 1e3 * solve, 1e3 * their_factor, 1e3 * their_solve,
              (their_factor + their_solve) / (factor + solve));
  std::fflush(stdout);
}

template <class T>
void batched_factors() {
  std::printf(
      "\n### Factors, %s\n\n| factors | n | count | factor ms | solve ms | their factor | their solve | "
      "ratio "
      "|\n|---|---|---|---|---|---|---|---|\n",
      type_name<T>);
  struct Size {
    std::int64_t n, count;
  };
  for (const Size size : {Size{2, 100'000},
                          {4, 100'000},
                          {8, 100'000},
                          {16, 100'000},
                          {32, 100'000},
                          {64, 10'000},
                          {128, 2'000},
                          {256, 1'000},
                          {512, 500}}) {
    const auto [n, count] = size;
    ec::Dense<T> a = uniform<T>(n * n, count, 1);
    ec::Dense<T> copy = a;
    ec::Dense<T> right = uniform<T>(n, count, 2);
    ec::Cuda backend(a.device());
    ec::Array<int> pivots(a.device(), n * count);
    ec::Array<int> info(a.device(), count);
    ec::Array<T*> as = pointers(copy, n * n, count);
    ec::Array<T*> bs = pointers(right, n, count);
    const BatchedBlas blas{backend.blas(), static_cast<int>(n), static_cast<int>(count), pivots.data(),
                           info.data()};
    compare_factors(
        ec::BatchFactorization::lu, a, n, copy, right, [&] { blas.factor(as.data()); },
        [&] { blas.solve(as.data(), bs.data()); });
    const auto handle = ec::make_owned<ec::Owned<cusolverDnHandle_t, cusolverDnDestroy>>(cusolverDnCreate);
    ec::check(cusolverDnSetStream(handle.get(), ec::stream()));
    const BatchedPotrf potrf{handle.get(), static_cast<int>(n), static_cast<int>(count), info.data()};
    backend.for_each(n * n * count, MakePositiveDefinite<T>{n, a.data()});
    compare_factors(
        ec::BatchFactorization::cholesky, a, n, copy, right, [&] { potrf.factor(as.data()); },
        [&] { potrf.solve(as.data(), bs.data()); });
  }
}

/// Factors, solutions and inverses of batches of large matrices.
template <class T>
void large() {
  std::printf(
      "\n### Large matrices, %s\n\n| n | count | LU ms | Tflop/s | solve ms | Cholesky ms | solution ms | "
      "inverse "
      "ms |\n|---|---|---|---|---|---|---|---|\n",
      type_name<T>);
  struct Size {
    std::int64_t n, count;
  };
  for (const Size size : {Size{1024, 1024}, {2048, 64}, {4096, 32}, {8192, 16}}) {
    const auto [n, count] = size;
    constexpr int runs = 3;
    ec::Dense<T> a = uniform<T>(n * n, count, 1);
    ec::Dense<T> copy = a;
    ec::Dense<T> right = uniform<T>(n, count, 2);
    const auto prepare = [&] { restore(a, copy); };
    const ec::DenseBatch<T> batch(copy.data(), n, n, count, copy.device());
    const ec::DenseBatch<T> rights(right.data(), n, 1, count, right.device());
    const ec::BatchOptions options{.tolerance = 0};
    const double lu =
        seconds(runs, prepare, [&] { ec::BatchFactors<T>(batch, ec::BatchFactorization::lu, options); });
    prepare();
    const ec::BatchFactors<T> factors(batch, ec::BatchFactorization::lu, options);
    const double substitution = seconds(
        runs, [] {}, [&] { factors.solve(rights); });
    for (const ec::BatchOutcome& outcome : factors.outcomes().to_vector())
      insist(outcome.status == ec::Status::direct, "a matrix of the batch");
    const ec::DenseBatch<const T> given(a.data(), n, n, count, a.device());
    const double solution = seconds(
        runs, [] {}, [&] { static_cast<void>(ec::solve_batch<T>(given, rights, options)); });
    const double inverse =
        seconds(runs, prepare, [&] { static_cast<void>(ec::invert_batch<T>(batch, options)); });
    ec::Cuda backend(a.device());
    backend.for_each(n * n * count, MakePositiveDefinite<T>{n, a.data()});
    const double cholesky = seconds(
        runs, prepare, [&] { ec::BatchFactors<T>(batch, ec::BatchFactorization::cholesky, options); });
    const double flops = 2.0 / 3.0 * static_cast<double>(n * n) * static_cast<double>(n * count);
    std::printf("| %lld | %lld | %.1f | %.1f | %.2f | %.1f | %.1f | %.1f |\n", static_cast<long long>(n),
                static_cast<long long>(count), 1e3 * lu, 1e-12 * flops / lu, 1e3 * substitution,
                1e3 * cholesky, 1e3 * solution, 1e3 * inverse);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments(argc, argv, "[--large]");
  const bool only_large = arguments.flag("--large");
  arguments.finish();
  std::printf("%s\n", hardware(ec::Device::cuda()).c_str());
  if (only_large) {
    large<double>();
    return 0;
  }
  batched<double>();
  batched<float>();
  batched_factors<double>();
  batched_factors<float>();
}
