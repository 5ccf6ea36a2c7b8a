// SPDX-License-Identifier: BSD-3-Clause
// How fast is Gauss-Jordan elimination on a GPU, beside cuSOLVER's LU, cuBLAS' batches and the published
// scheme?
//   bench_gauss_jordan_gpu [tune|compare|batched|published|mixed|largest]... [--from N]
//     [--up-to N]
// Everything but `mixed` and `largest` unless parts are named. Uniform random matrices in [-1, 1]; medians,
// each run on a fresh copy of the matrix that is not timed.
//   tune       ways to cut the panels, for the inverse without report: ms, and microseconds a column
//   compare    inverse, solve and reduced form beside Xgetrf with Xgetrs in the same run
//   batched    beside getrfBatched with getriBatched, and matinvBatched
//   published  figures 8 to 11 of the thesis: one core, the striped scheme, ours and cuSOLVER's LU;
//              plot_table draws it
//   mixed      lower precisions of the elimination beside the working precision, n = 4096 and more
//   largest    one inverse of N by N doubles
#include "backend/cuda/cuda.cuh"
#include "backend/cuda/owned.cuh"
#include "dense/batched/operations.hpp"
#include "dense/gauss_jordan/operations.hpp"
#include "dense/panels/workspace.cuh"
#include "solver/implementation.hpp"
#include "solver/make.hpp"
#include "support/measure.cuh"

#include <echelon/echelon.hpp>

#include <cublas_v2.h>
#include <cusolverDn.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace ec = echelon;

namespace {

struct Request {
  std::set<std::string> parts;
  std::int64_t smallest = 256;  // of tune and compare
  std::int64_t largest = 16384;
  [[nodiscard]] bool wants(const char* part) const { return parts.empty() || parts.contains(part); }
};

template <class T>
constexpr const char* type_name = sizeof(T) == 8 ? "double" : "float";

/// The same numbers on every run, made where they are used.
template <class T>
struct Uniform {
  T* target;
  std::uint64_t seed;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    std::uint64_t bits = (static_cast<std::uint64_t>(i) + seed * 0x632be59bd9b4e019U) * 0x9e3779b97f4a7c15U;
    bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
    target[i] = static_cast<T>(static_cast<double>((bits ^ (bits >> 31U)) >> 11U) * 0x1p-52 - 1.0);
  }
};

template <class T>
ec::Dense<T> uniform(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  ec::Dense<T> a(ec::Device::cuda(), rows, columns);
  ec::Cuda(a.device()).for_each(rows * columns, Uniform<T>{a.data(), seed});
  return a;
}

void insist(bool good, const char* what) {
  if (good) return;
  std::printf("failed: %s\n", what);
  std::exit(1);
}

int runs_for(std::int64_t n) {
  return n <= 2048 ? 11 : (n <= 4096 ? 7 : (n <= 8192 ? 5 : 3));
}

/// Seconds of work() on the GPU, and on the host where it waits: median of runs, each after prepare().
template <class Prepare, class Work>
double seconds(int runs, const Prepare& prepare, const Work& work) {
  std::vector<double> all;
  ec::bench::Event start;
  ec::bench::Event end;
  for (int run = 0; run < runs + 1; ++run) {
    prepare();
    ec::check(cudaStreamSynchronize(ec::stream()));
    start.record();
    work();
    end.record();
    if (run > 0) all.push_back(end.seconds_since(start));
  }
  return ec::bench::median(std::move(all));
}

template <class T>
void restore(const ec::Dense<T>& a, ec::Dense<T>& copy) {
  ec::check(cudaMemcpyAsync(copy.data(), a.data(), a.bytes(), cudaMemcpyDeviceToDevice, ec::stream()));
}

/// cuSOLVER's LU with room for it.
template <class T>
class Lu {
 public:
  explicit Lu(std::int64_t n) : n_(n), pivots_(ec::Device::cuda(), n), info_(ec::Device::cuda(), 1) {
    handle_ = ec::make_owned<ec::Owned<cusolverDnHandle_t, cusolverDnDestroy>>(cusolverDnCreate);
    parameters_ =
        ec::make_owned<ec::Owned<cusolverDnParams_t, cusolverDnDestroyParams>>(cusolverDnCreateParams);
    ec::check(cusolverDnSetStream(handle_.get(), ec::stream()));
    std::size_t there = 0;
    std::size_t here = 0;
    ec::check(cusolverDnXgetrf_bufferSize(handle_.get(), parameters_.get(), n, n, type, nullptr, n, type,
                                          &there, &here));
    on_gpu_ = ec::Array<unsigned char>(ec::Device::cuda(), static_cast<std::int64_t>(there) + 1);
    on_host_.resize(here + 1);
  }
  void factor(ec::Dense<T>& a) {
    ec::check(cusolverDnXgetrf(handle_.get(), parameters_.get(), n_, n_, type, a.data(), n_, pivots_.data(),
                               type, on_gpu_.data(), on_gpu_.bytes(), on_host_.data(), on_host_.size(),
                               info_.data()));
  }
  void substitute(const ec::Dense<T>& a, ec::Dense<T>& b) {
    ec::check(cusolverDnXgetrs(handle_.get(), parameters_.get(), CUBLAS_OP_N, n_, b.columns(), type, a.data(),
                               n_, pivots_.data(), type, b.data(), n_, info_.data()));
  }

 private:
  static constexpr cudaDataType type = sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F;
  std::int64_t n_;
  ec::Owned<cusolverDnHandle_t, cusolverDnDestroy> handle_;
  ec::Owned<cusolverDnParams_t, cusolverDnDestroyParams> parameters_;
  ec::Array<std::int64_t> pivots_;
  ec::Array<int> info_;
  ec::Array<unsigned char> on_gpu_;
  std::vector<unsigned char> on_host_;
};

template <class T>
struct SetIdentity {
  ec::DenseView<T> a;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    a.data()[e] = e / a.rows() == e % a.rows() ? T{1} : T{0};
  }
};

/// The elimination that an inverse needs, with nothing around it.
template <class T>
class BareElimination {
 public:
  BareElimination(std::int64_t n, std::int64_t block)
      : block_(block),
        backend_(ec::Device::cuda()),
        state_(ec::Device::cuda(), 1),
        ranks_(ec::Device::cuda(), n / block + 2),
        rows_(ec::Device::cuda(), n),
        columns_(ec::Device::cuda(), n),
        values_(ec::Device::cuda(), n),
        scratch_{ec::Array<T>(ec::Device::cuda(), block * n), ec::Array<T>(ec::Device::cuda(), block * n)} {}
  void prepare() {
    backend_.write(ec::EliminationState{}, state_.data());
    backend_.fill(1, std::int64_t{0}, ranks_.data());
  }
  void run(ec::Dense<T>& a, bool inverse, const ec::PanelTuning& tuning, ec::SideStream* side) {
    ec::eliminate<T>(backend_, a.view(), block_, inverse, state_.data(), ranks_.data(),
                     {rows_.data(), columns_.data(), values_.data()}, scratch_, tuning, side);
  }
  std::int64_t rank() { return backend_.read(state_.data()).rank; }

 private:
  std::int64_t block_;
  ec::Cuda backend_;
  ec::Array<ec::EliminationState> state_;
  ec::Array<std::int64_t> ranks_, rows_, columns_;
  ec::Array<T> values_;
  ec::PanelScratch<T> scratch_;
};

template <class T>
void tune(const Request& request) {
  ec::SideStream side(ec::Device::cuda());
  const ec::Cuda backend(ec::Device::cuda());
  std::printf(
      "\n### Ways to cut panels, %s\n\n| n | panel | leaf | ahead | inverse ms | us a column | "
      "reduced form ms |\n|---|---|---|---|---|---|---|\n",
      type_name<T>);
  for (std::int64_t n = request.smallest; n <= request.largest; n *= 2) {
    const ec::Dense<T> a = uniform<T>(n, n, 1);
    ec::Dense<T> copy = a;
    for (const std::int64_t block : {64, 96, 128, 256, 512}) {
      if (block > n) continue;
      BareElimination<T> bare(n, block);
      for (const int leaf : {16, 32, 48, 64, 96, 128, 256}) {
        const ec::PanelTuning tuning{leaf, 0};
        const int widest = ec::plan_leaves<T>(backend, n, block, {}).width;
        const bool narrow = 2 * leaf < widest && leaf < 64;  // never the best where more fits
        if (leaf > block || narrow || ec::plan_leaves<T>(backend, n, block, tuning).width < leaf) continue;
        for (const bool ahead : {false, true}) {
          if (ahead ? block == n : n > 1024) continue;
          double times[2];
          for (const bool inverse : {true, false}) {
            times[inverse ? 0 : 1] = seconds(
                n > 2048 ? 2 : 5, [&] { bare.prepare(), restore(a, copy); },
                [&] { bare.run(copy, inverse, tuning, ahead ? &side : nullptr); });
            insist(bare.rank() == n, "a regular matrix has full rank");
          }
          std::printf("| %lld | %lld | %d | %s | %.3f | %.3f | %.3f |\n", static_cast<long long>(n),
                      static_cast<long long>(block), leaf, ahead ? "yes" : "no", 1e3 * times[0],
                      1e6 * times[0] / static_cast<double>(n), 1e3 * times[1]);
          std::fflush(stdout);
        }
      }
    }
  }
}

/// For a large random matrix of floats it is fair to answer that its rank is not full in this precision.
void insist_on_answer(const ec::Report& report, const char* what) {
  insist(report.solved() || report.status == ec::Status::singular ||
             report.status == ec::Status::underdetermined || report.status == ec::Status::inconsistent,
         what);
}

template <class T>
double inverse_seconds(const ec::Dense<T>& a, double& backward_error) {
  ec::Dense<T> copy = a;
  const ec::GaussJordan<T> method(a.device());
  return seconds(
      runs_for(a.rows()), [&] { restore(a, copy); },
      [&] {
        const ec::Report report = method.invert(copy);
        insist_on_answer(report, "the inverse");
        backward_error = report.backward_error;
      });
}

template <class T>
double solve_seconds(const ec::Dense<T>& a, const ec::Dense<T>& b) {
  const ec::GaussJordan<T> method(a.device(), {.refine = 0});
  return seconds(
      runs_for(a.rows()), [] {}, [&] { insist_on_answer(method.solve(a, b).report, "the solution"); });
}

template <class T>
double reduce_seconds(const ec::Dense<T>& a, std::int64_t rank) {
  const ec::GaussJordan<T> method(a.device());
  std::unique_ptr<ec::Dense<T>> copy;
  return seconds(
      runs_for(a.rows()), [&] { copy = std::make_unique<ec::Dense<T>>(a); },
      [&] {
        const auto form = method.reduce(std::move(*copy));
        insist(sizeof(T) == 4 || form.facts.rank == rank, "the rank");
      });
}

template <class T>
void compare(const Request& request) {
  std::printf(
      "\n### Beside cuSOLVER, %s\n\n| n | inverse ms | backward error | elimination alone | getrf + getrs(I) "
      "| "
      "ratio | solve ms | getrf + getrs(b) | ratio | RREF of rank n/2 | to inverse | gemm n n n |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|\n",
      type_name<T>);
  ec::SideStream side(ec::Device::cuda());
  for (std::int64_t n = request.smallest; n <= request.largest; n *= 2) {
    const ec::Dense<T> a = uniform<T>(n, n, 1);
    const ec::Dense<T> b = uniform<T>(n, 1, 2);
    ec::Dense<T> copy = a;
    ec::Cuda backend(a.device());
    const int runs = runs_for(n);
    double error = 0;
    const double inverse = inverse_seconds(a, error);
    const std::int64_t block = ec::fastest_panel<T>(backend, n, n);
    auto bare = std::make_unique<BareElimination<T>>(n, block);
    const double alone = seconds(
        runs, [&] { bare->prepare(), restore(a, copy); },
        [&] { bare->run(copy, true, {}, n > block ? &side : nullptr); });
    bare.reset();
    const double solve = solve_seconds(a, b);
    ec::Dense<T> right(a.device(), n, n);
    Lu<T> lu(n);
    const double lu_inverse = seconds(
        runs,
        [&] {
          restore(a, copy);
          backend.for_each(n * n, SetIdentity<T>{right});
        },
        [&] { lu.factor(copy), lu.substitute(copy, right); });
    ec::Dense<T> one = b;
    const double lu_solve = seconds(
        runs, [&] { restore(a, copy), restore(b, one); }, [&] { lu.factor(copy), lu.substitute(copy, one); });
    const ec::Dense<T> left = uniform<T>(n, n / 2, 3);
    const ec::Dense<T> top = uniform<T>(n / 2, n, 4);
    ec::Context context(a.device());
    ec::multiply<T>(context, T{1}, ec::MatrixRef<T>(left), top, T{0}, copy);
    const double reduce = reduce_seconds(copy, n / 2);
    const double product = seconds(
        runs, [] {}, [&] { ec::multiply<T>(context, T{1}, ec::MatrixRef<T>(a), right, T{0}, copy); });
    std::printf("| %lld | %.3f | %.1e | %.3f | %.3f | %.2f | %.3f | %.3f | %.2f | %.3f | %.2f | %.3f |\n",
                static_cast<long long>(n), 1e3 * inverse, error, 1e3 * alone, 1e3 * lu_inverse,
                lu_inverse / inverse, 1e3 * solve, 1e3 * lu_solve, lu_solve / solve, 1e3 * reduce,
                reduce / inverse, 1e3 * product);
    std::fflush(stdout);
  }
}

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

template <class T>
double method_seconds(int runs, const ec::Dense<T>& a, ec::SolverImplementation<T>& method) {
  return seconds(
      runs, [] {}, [&] { insist(method.setup(a).ok(), "a method"); });
}

template <class T>
struct AddToDiagonal {
  ec::DenseView<T> a;
  T shift;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { a.data()[i * a.leading() + i] += shift; }
};

template <class T>
void published(const Request& request) {
  std::printf(
      "\n### The published scheme, %s\n\n| n | one core ms | striped | ours | cuSOLVER LU | one core / "
      "striped | "
      "striped / ours | striped / LU |\n|---|---|---|---|---|---|---|---|\n",
      type_name<T>);
  for (const std::int64_t n : {128, 256, 512, 1024, 2048, 4096}) {
    if (n > request.largest) continue;
    ec::Dense<T> a = uniform<T>(n, n, 1);
    // Dominant in its rows, since the scheme does not pivot.
    ec::Cuda(a.device()).for_each(n, AddToDiagonal<T>{a, static_cast<T>(n)});
    const ec::GaussJordanStripedOptions options;
    const int runs = n > 1024 ? 1 : 3;
    auto striped = ec::make_implementation<ec::CudaTarget, T>(a.device(), options);
    const double on_gpu = method_seconds(runs, a, *striped);
    const ec::Dense<T> here = a.to(ec::Device::serial());
    double on_host = NAN;
    if (n <= 1024) {
      auto serial = ec::make_implementation<ec::HostTarget, T>(ec::Device::serial(), options);
      on_host = ec::bench::median_seconds(1, [&] { insist(serial->setup(here).ok(), "the host"); });
    }
    auto blocked = ec::make_implementation<ec::CudaTarget, T>(a.device(), ec::GaussJordanOptions{});
    const double ours = method_seconds(5, a, *blocked);
    ec::Dense<T> copy = a;
    Lu<T> lu(n);
    const double theirs = seconds(
        5, [&] { restore(a, copy); }, [&] { lu.factor(copy); });
    std::printf("| %lld | %.2f | %.2f | %.3f | %.3f | %.1f | %.1f | %.1f |\n", static_cast<long long>(n),
                1e3 * on_host, 1e3 * on_gpu, 1e3 * ours, 1e3 * theirs, on_host / on_gpu, on_gpu / ours,
                on_gpu / theirs);
    std::fflush(stdout);
  }
}

/// What came of a wish for a precision: its time, and what the report says.
struct MixedRun {
  double seconds = 0;
  ec::Report report;
};

std::string said(const ec::Report& report) {
  if (!report.factor_precision) return "working";
  const ec::FactorPrecision& precision = *report.factor_precision;
  return precision.used == precision.asked ? precision.used : precision.used + ": " + precision.why;
}

void print(const char* type, const char* matrix, std::int64_t n, const char* task, const char* asked,
           const MixedRun& run, double working) {
  std::printf("| %s | %s | %lld | %s | %s | %.3f | %.2f | %lld | %.1e | %s |\n", type, matrix,
              static_cast<long long>(n), task, asked, 1e3 * run.seconds, working / run.seconds,
              static_cast<long long>(run.report.iterations), run.report.backward_error,
              said(run.report).c_str());
  std::fflush(stdout);
}

template <class T>
void mixed(const Request& request, const char* matrix, double diagonal) {
  for (std::int64_t n = 4096; n <= request.largest; n *= 2) {
    ec::Dense<T> a = uniform<T>(n, n, 1);
    ec::Cuda(a.device()).for_each(n, AddToDiagonal<T>{a, static_cast<T>(diagonal * std::sqrt(n))});
    const ec::Dense<T> b = uniform<T>(n, 1, 2);
    ec::Dense<T> copy = a;
    double solve_working = 0;
    double inverse_working = 0;
    for (const char* asked : {"working", "single", "tf32x3", "tf32"}) {
      const int runs = n <= 8192 ? 3 : 2;
      const ec::GaussJordan<T> method(a.device(), {.factor_precision = asked});
      MixedRun solve;
      solve.seconds = seconds(
          runs, [] {}, [&] { solve.report = method.solve(a, b).report; });
      insist_on_answer(solve.report, "a solution");
      if (solve_working == 0) solve_working = solve.seconds;
      print(type_name<T>, matrix, n, "solve", asked, solve, solve_working);
      const ec::GaussJordan<T> rough(a.device(), {.factor_precision = asked, .accuracy = 1e-4});
      MixedRun inverse;
      inverse.seconds = seconds(
          runs, [&] { restore(a, copy); }, [&] { inverse.report = rough.invert(copy); });
      insist_on_answer(inverse.report, "an inverse");
      if (inverse_working == 0) inverse_working = inverse.seconds;
      print(type_name<T>, matrix, n, "inverse", asked, inverse, inverse_working);
    }
  }
}

/// The condition of uniform random matrices grows with n; a shift of the diagonal by as many times sqrt(n)
/// makes it small.
void mixed(const Request& request) {
  std::printf(
      "\n### Lower precisions\n\n| type | matrix | n | task | asked for | ms | working / this | steps | "
      "backward error | used |\n|---|---|---|---|---|---|---|---|---|---|\n");
  constexpr double well_conditioned = 2;
  mixed<double>(request, "uniform", 0);
  mixed<double>(request, "shifted", well_conditioned);
  mixed<float>(request, "uniform", 0);
  mixed<float>(request, "shifted", well_conditioned);
}

void largest(std::int64_t n) {
  ec::Dense<double> a = uniform<double>(n, n, 1);
  const ec::GaussJordan<double> method(a.device());
  ec::Report report;
  ec::bench::Event start;
  ec::bench::Event end;
  start.record();
  report = method.invert(a);
  end.record();
  insist_on_answer(report, "the largest inverse");
  const double time = end.seconds_since(start);
  const auto size = static_cast<double>(n);
  std::printf(
      "\n### One inverse of %lld by %lld doubles\n\n| GB | and beside them | s | Tflop/s | backward error "
      "| reciprocal condition |\n|---|---|---|---|---|---|\n| %.1f | %.2f | %.2f | %.1f | %.1e | %.1e |\n",
      static_cast<long long>(n), static_cast<long long>(n), 1e-9 * static_cast<double>(a.bytes()),
      1e-9 * static_cast<double>(report.bytes), time, 2e-12 * size * size * size / time,
      report.backward_error, report.reciprocal_condition.value_or(NAN));
}

Request parse(int argc, char** argv) {
  Request request;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--from") == 0 && i + 1 < argc) {
      request.smallest = std::atoll(argv[++i]);
    } else if (std::strcmp(argv[i], "--up-to") == 0 && i + 1 < argc) {
      request.largest = std::atoll(argv[++i]);
    } else {
      request.parts.insert(argv[i]);
    }
  }
  return request;
}

}  // namespace

int main(int argc, char** argv) {
  const Request request = parse(argc, argv);
  std::printf("%s\n", hardware(ec::Device::cuda()).c_str());
  if (request.wants("tune")) tune<double>(request), tune<float>(request);
  if (request.wants("compare")) compare<double>(request), compare<float>(request);
  if (request.wants("batched")) batched<double>(), batched<float>();
  if (request.parts.contains("mixed")) mixed(request);
  if (request.parts.contains("largest")) largest(request.largest);
  if (request.wants("published")) published<double>(request), published<float>(request);
}
