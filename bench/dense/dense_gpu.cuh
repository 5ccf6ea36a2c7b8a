// SPDX-License-Identifier: BSD-3-Clause
/// Matrices, timers and competitors of the benchmarks of dense methods on a GPU.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "backend/cuda/owned.cuh"
#include "dense/panels/panel.hpp"
#include "dense/panels/workspace.cuh"
#include "support/arguments.hpp"
#include "support/measure.cuh"

#include <echelon/echelon.hpp>

#include <cusolverDn.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace echelon::bench {

/// Sizes to measure: smallest, 2 smallest, ..., up to largest.
struct Sizes {
  std::int64_t smallest = 256;
  std::int64_t largest = 16384;
};

/// Reads the sizes from the options [--from N] [--up-to N], which are the last ones.
inline Sizes parse_sizes(Arguments& arguments) {
  Sizes sizes;
  sizes.smallest = arguments.option("--from", sizes.smallest);
  sizes.largest = arguments.option("--up-to", sizes.largest);
  arguments.finish();
  return sizes;
}

/// Reads the sizes of a program without other options.
inline Sizes parse_sizes(int argc, char** argv) {
  Arguments arguments(argc, argv, "[--from N] [--up-to N]");
  return parse_sizes(arguments);
}

template <class T>
constexpr const char* type_name = is_complex<T>    ? "complex double"
                                  : sizeof(T) == 8 ? "double"
                                                   : "float";

/// Fills with numbers, uniform in [-1, 1), from a hash of the index: every run gets equal matrices.
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

/// A matrix of uniform numbers; those of a complex one are the real and imaginary parts.
template <class T>
Dense<T> uniform(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  Dense<T> a(Device::cuda(), rows, columns);
  const std::int64_t parts = is_complex<T> ? 2 : 1;
  Cuda(a.device())
      .for_each(parts * rows * columns, Uniform<Real<T>>{reinterpret_cast<Real<T>*>(a.data()), seed});
  return a;
}

template <class T>
struct MirrorLowerTriangle {
  std::int64_t n;
  const T* from;
  T* to;
  T diagonal_shift;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    const std::int64_t i = k % n;
    const std::int64_t j = k / n;
    to[k] = from[i > j ? k : j + i * n] + (i == j ? diagonal_shift : T{0});
  }
};

/// A symmetric matrix of uniform numbers, with a spectrum of radius about sqrt(n) around the shift.
template <class T>
Dense<T> symmetric(std::int64_t n, T diagonal_shift = 0) {
  const Dense<T> random = uniform<T>(n, n, 1);
  Dense<T> a(random.device(), n, n);
  Cuda backend(a.device());
  backend.for_each(n * n, MirrorLowerTriangle<T>{n, random.data(), a.data(), diagonal_shift});
  backend.synchronize();
  return a;
}

inline void insist(bool good, const char* what) {
  if (good) return;
  std::printf("failed: %s\n", what);
  std::exit(1);
}

inline int runs_for(std::int64_t n) {
  return n <= 2048 ? 11 : (n <= 4096 ? 7 : (n <= 8192 ? 5 : 3));
}

/// Median seconds of work() over several runs, each after prepare(), which is not timed.
template <class Prepare, class Work>
double seconds(int runs, const Prepare& prepare, const Work& work) {
  std::vector<double> all;
  Event start;
  Event end;
  for (int run = 0; run < runs + 1; ++run) {
    prepare();
    check(cudaStreamSynchronize(stream()));
    start.record();
    work();
    end.record();
    if (run > 0) all.push_back(end.seconds_since(start));
  }
  return median(std::move(all));
}

template <class T>
void restore(const Dense<T>& a, Dense<T>& copy) {
  check(cudaMemcpyAsync(copy.data(), a.data(), a.bytes(), cudaMemcpyDeviceToDevice, stream()));
}

/// LU by cuSOLVER's Xgetrf and Xgetrs, with their workspaces.
template <class T>
class Lu {
 public:
  explicit Lu(std::int64_t n) : n_(n), pivots_(Device::cuda(), n), info_(Device::cuda(), 1) {
    handle_ = make_owned<Owned<cusolverDnHandle_t, cusolverDnDestroy>>(cusolverDnCreate);
    parameters_ = make_owned<Owned<cusolverDnParams_t, cusolverDnDestroyParams>>(cusolverDnCreateParams);
    check(cusolverDnSetStream(handle_.get(), stream()));
    std::size_t device_bytes = 0;
    std::size_t host_bytes = 0;
    check(cusolverDnXgetrf_bufferSize(handle_.get(), parameters_.get(), n, n, type, nullptr, n, type,
                                      &device_bytes, &host_bytes));
    on_gpu_ = Array<unsigned char>(Device::cuda(), static_cast<std::int64_t>(device_bytes) + 1);
    on_host_.resize(host_bytes + 1);
  }
  void factor(Dense<T>& a) {
    check(cusolverDnXgetrf(handle_.get(), parameters_.get(), n_, n_, type, a.data(), n_, pivots_.data(), type,
                           on_gpu_.data(), on_gpu_.bytes(), on_host_.data(), on_host_.size(), info_.data()));
  }
  void substitute(const Dense<T>& a, Dense<T>& b) {
    check(cusolverDnXgetrs(handle_.get(), parameters_.get(), CUBLAS_OP_N, n_, b.columns(), type, a.data(), n_,
                           pivots_.data(), type, b.data(), n_, info_.data()));
  }

 private:
  static constexpr cudaDataType type = is_complex<T> ? CUDA_C_64F : sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F;
  std::int64_t n_;
  Owned<cusolverDnHandle_t, cusolverDnDestroy> handle_;
  Owned<cusolverDnParams_t, cusolverDnDestroyParams> parameters_;
  Array<std::int64_t> pivots_;
  Array<int> info_;
  Array<unsigned char> on_gpu_;
  std::vector<unsigned char> on_host_;
};

/// The elimination alone, without scans and reports.
template <class T>
class BareElimination {
 public:
  BareElimination(std::int64_t n, std::int64_t block)
      : block_(block),
        backend_(Device::cuda()),
        state_(Device::cuda(), 1),
        ranks_(Device::cuda(), n / block + 2),
        rows_(Device::cuda(), n),
        columns_(Device::cuda(), n),
        values_(Device::cuda(), n),
        workspace_{Array<T>(Device::cuda(), block * n), Array<T>(Device::cuda(), block * n)} {}
  void prepare() {
    backend_.write(EliminationState{}, state_.data());
    backend_.fill(1, std::int64_t{0}, ranks_.data());
  }
  void run(Dense<T>& a, bool inverse, const PanelTuning& tuning, LookaheadStream* lookahead) {
    eliminate_panels<T>(backend_, {.A = a.view(),
                                   .block = block_,
                                   .both_sides = inverse,
                                   .state = state_.data(),
                                   .ranks = ranks_.data(),
                                   .pivots = {rows_.data(), columns_.data(), values_.data()},
                                   .workspace = workspace_,
                                   .tuning = tuning,
                                   .lookahead = lookahead});
  }
  std::int64_t rank() { return backend_.read(state_.data()).rank; }

 private:
  std::int64_t block_;
  Cuda backend_;
  Array<EliminationState> state_;
  Array<std::int64_t> ranks_, rows_, columns_;
  Array<T> values_;
  PanelWorkspace<T> workspace_;
};

/// Exits unless the status is a success; a large random matrix of floats may be singular to working
/// precision.
inline void insist_on_answer(const Report& report, const char* what) {
  insist(report.solved() || report.status == Status::singular || report.status == Status::underdetermined ||
             report.status == Status::inconsistent,
         what);
}

template <class T>
struct AddToDiagonal {
  DenseView<T> a;
  T shift;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { a.data()[i * a.leading() + i] += shift; }
};

}  // namespace echelon::bench
