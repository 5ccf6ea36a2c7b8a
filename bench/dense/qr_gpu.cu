// SPDX-License-Identifier: BSD-3-Clause
// How fast are least squares with a dense matrix on a GPU, compared with cuSOLVER's geqrf, ormqr and trsm?
//   bench_qr_gpu [--quick]
// Uniform random matrices, one right-hand side. `factor` and `solve` are the orthogonal decomposition, with
// the rank and a condition estimate that cuSOLVER does not have; `set-up` and `solve` of the method `qr` add
// the checks of A, a correction of x, its error, and the residual and normal residual of the report.
// --quick: the two smallest shapes.
#include "dense/factorization/orthogonal.hpp"
#include "dense_gpu.cuh"

#include <echelon/methods/dense/qr.hpp>

#include <complex>

namespace ec = echelon;
using namespace echelon::bench;

namespace {

using Complex = std::complex<double>;

/// min ||b - A x|| by cuSOLVER's geqrf and ormqr, or unmqr, and cuBLAS's trsm.
template <class T>
class Geqrf {
 public:
  Geqrf(std::int64_t m, std::int64_t n)
      : m_(static_cast<int>(m)),
        n_(static_cast<int>(n)),
        backend_(ec::Device::cuda()),
        tau_(backend_.device(), n),
        info_(backend_.device(), 1) {
    handle_ = ec::make_owned<ec::Owned<cusolverDnHandle_t, cusolverDnDestroy>>(cusolverDnCreate);
    ec::check(cusolverDnSetStream(handle_.get(), ec::stream()));
    int of_factor = 0;
    int of_product = 0;
    if constexpr (ec::is_complex<T>) {
      ec::check(cusolverDnZgeqrf_bufferSize(handle_.get(), m_, n_, nullptr, m_, &of_factor));
      ec::check(cusolverDnZunmqr_bufferSize(handle_.get(), CUBLAS_SIDE_LEFT, CUBLAS_OP_C, m_, 1, n_, nullptr,
                                            m_, nullptr, nullptr, m_, &of_product));
    } else {
      ec::check(cusolverDnDgeqrf_bufferSize(handle_.get(), m_, n_, nullptr, m_, &of_factor));
      ec::check(cusolverDnDormqr_bufferSize(handle_.get(), CUBLAS_SIDE_LEFT, CUBLAS_OP_T, m_, 1, n_, nullptr,
                                            m_, nullptr, nullptr, m_, &of_product));
    }
    workspace_ = ec::Array<T>(backend_.device(), std::max(of_factor, of_product));
  }

  void factor(ec::Dense<T>& a) {
    const int size = static_cast<int>(workspace_.size());
    if constexpr (ec::is_complex<T>) {
      ec::check(cusolverDnZgeqrf(handle_.get(), m_, n_, ec::to_library(a.data()), m_,
                                 ec::to_library(tau_.data()), ec::to_library(workspace_.data()), size,
                                 info_.data()));
    } else {
      ec::check(cusolverDnDgeqrf(handle_.get(), m_, n_, a.data(), m_, tau_.data(), workspace_.data(), size,
                                 info_.data()));
    }
  }

  void solve(const ec::Dense<T>& a, ec::Dense<T>& b) {
    const int size = static_cast<int>(workspace_.size());
    if constexpr (ec::is_complex<T>) {
      const cuDoubleComplex one{1, 0};
      ec::check(cusolverDnZunmqr(handle_.get(), CUBLAS_SIDE_LEFT, CUBLAS_OP_C, m_, 1, n_,
                                 ec::to_library(a.data()), m_, ec::to_library(tau_.data()),
                                 ec::to_library(b.data()), m_, ec::to_library(workspace_.data()), size,
                                 info_.data()));
      ec::check(cublasZtrsm(backend_.blas(), CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N,
                            CUBLAS_DIAG_NON_UNIT, n_, 1, &one, ec::to_library(a.data()), m_,
                            ec::to_library(b.data()), m_));
    } else {
      const double one = 1;
      ec::check(cusolverDnDormqr(handle_.get(), CUBLAS_SIDE_LEFT, CUBLAS_OP_T, m_, 1, n_, a.data(), m_,
                                 tau_.data(), b.data(), m_, workspace_.data(), size, info_.data()));
      ec::check(cublasDtrsm(backend_.blas(), CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N,
                            CUBLAS_DIAG_NON_UNIT, n_, 1, &one, a.data(), m_, b.data(), m_));
    }
  }

 private:
  int m_, n_;
  ec::Cuda backend_;
  ec::Array<T> tau_, workspace_;
  ec::Array<int> info_;
  ec::Owned<cusolverDnHandle_t, cusolverDnDestroy> handle_;
};

template <class T>
void measure(std::int64_t m, std::int64_t n) {
  const ec::Dense<T> A = uniform<T>(m, n, 1);
  const ec::Dense<T> b = uniform<T>(m, 1, 2);
  const int runs = runs_for(n);
  const auto nothing = [] {};

  ec::lu::OrthogonalDecomposition<ec::Cuda, T> decomposition;
  auto space = decomposition.make_space(A.device());
  const ec::MatrixRef<T> reference(A);
  const ec::DecompositionTask<T> task{A.device(), reference, reference, {}, false, {}};
  ec::Dense<T> x(A.device(), n, 1);
  const double factor = seconds(runs, nothing, [&] { insist(decomposition.factor(task), "decomposition"); });
  const double solve = seconds(runs, nothing, [&] { decomposition.solve(space, b.view(), x.view()); });

  ec::Qr<T> qr(A.device());
  const double set_up = seconds(runs, nothing, [&] { insist(qr.setup(A).ready(), "set-up"); });
  ec::Report report;
  const double whole_solve =
      seconds(runs, nothing, [&] { report = qr.solve(b, x, {.least_squares = true}); });
  insist(report.status == ec::Status::least_squares || report.solved(), "solve");

  Geqrf<T> geqrf(m, n);
  ec::Dense<T> copy = A;
  ec::Dense<T> rhs = b;
  const double their_factor = seconds(
      runs, [&] { restore(A, copy); }, [&] { geqrf.factor(copy); });
  const double their_solve = seconds(
      runs, [&] { restore(b, rhs); }, [&] { geqrf.solve(copy, rhs); });
  std::printf("| %s | %lld x %lld | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.2f | %.2f |\n", type_name<T>,
              static_cast<long long>(m), static_cast<long long>(n), 1e3 * factor, 1e3 * solve, 1e3 * set_up,
              1e3 * whole_solve, 1e3 * their_factor, 1e3 * their_solve,
              (their_factor + their_solve) / (factor + solve),
              (their_factor + their_solve) / (set_up + whole_solve));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments(argc, argv, "[--quick]");
  const bool quick = arguments.flag("--quick");
  arguments.finish();
  std::printf("%s\n\n", hardware(ec::Device::cuda()).c_str());
  std::printf(
      "| numbers | m x n | factor ms | solve ms | set-up of qr ms | solve of qr ms | geqrf ms | "
      "ormqr + trsm ms | ratio | ratio of qr |\n|---|---|---|---|---|---|---|---|---|---|\n");
  struct Shape {
    std::int64_t m, n;
  };
  for (const Shape shape : {Shape{10000, 200}, {100000, 100}, {20000, 1000}, {4000, 4000}}) {
    if (quick && shape.n > 200) break;
    measure<double>(shape.m, shape.n);
    measure<Complex>(shape.m, shape.n);
  }
}
