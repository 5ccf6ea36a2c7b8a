// SPDX-License-Identifier: BSD-3-Clause
// How fast are the Cholesky factorisation of a dense matrix on a GPU and a solve with it, compared with
// cuSOLVER?
//   bench_cholesky_gpu [--from N] [--up-to N]
// One right-hand side. cuSOLVER factors the lower triangle, which is the faster one for it.
#include "dense/cholesky/cuda/tiled_matrix.cuh"
#include "dense_gpu.cuh"

#include <cmath>

namespace ec = echelon;
using namespace echelon::bench;

namespace {

/// cuSOLVER's Xpotrf and Xpotrs, with their workspaces.
template <class T>
class Potrf {
 public:
  explicit Potrf(std::int64_t n) : n_(n), info_(ec::Device::cuda(), 1) {
    handle_ = ec::make_owned<ec::Owned<cusolverDnHandle_t, cusolverDnDestroy>>(cusolverDnCreate);
    parameters_ =
        ec::make_owned<ec::Owned<cusolverDnParams_t, cusolverDnDestroyParams>>(cusolverDnCreateParams);
    ec::check(cusolverDnSetStream(handle_.get(), ec::stream()));
    std::size_t device_bytes = 0;
    std::size_t host_bytes = 0;
    ec::check(cusolverDnXpotrf_bufferSize(handle_.get(), parameters_.get(), lower, n, type, nullptr, n, type,
                                          &device_bytes, &host_bytes));
    on_gpu_ = ec::Array<unsigned char>(ec::Device::cuda(), static_cast<std::int64_t>(device_bytes) + 1);
    on_host_.resize(host_bytes + 1);
  }
  void factor(ec::Dense<T>& a) {
    ec::check(cusolverDnXpotrf(handle_.get(), parameters_.get(), lower, n_, type, a.data(), n_, type,
                               on_gpu_.data(), on_gpu_.bytes(), on_host_.data(), on_host_.size(),
                               info_.data()));
  }
  void substitute(const ec::Dense<T>& a, ec::Dense<T>& b) {
    ec::check(cusolverDnXpotrs(handle_.get(), parameters_.get(), lower, n_, b.columns(), type, a.data(), n_,
                               type, b.data(), n_, info_.data()));
  }

 private:
  static constexpr cublasFillMode_t lower = CUBLAS_FILL_MODE_LOWER;
  static constexpr cudaDataType type = sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F;
  std::int64_t n_;
  ec::Owned<cusolverDnHandle_t, cusolverDnDestroy> handle_;
  ec::Owned<cusolverDnParams_t, cusolverDnDestroyParams> parameters_;
  ec::Array<int> info_;
  ec::Array<unsigned char> on_gpu_;
  std::vector<unsigned char> on_host_;
};

template <class T>
void measure(const Sizes& sizes) {
  std::printf(
      "\n### %s\n\n| n | factor ms | solve ms | potrf ms | potrs ms | ratio |\n|---|---|---|---|---|---|\n",
      type_name<T>);
  for (std::int64_t n = sizes.smallest; n <= sizes.largest; n *= 2) {
    const ec::Dense<T> a = symmetric<T>(n, static_cast<T>(2 * std::sqrt(static_cast<double>(n))));
    const ec::Dense<T> b = uniform<T>(n, 1, 2);
    ec::Cuda backend(a.device());
    ec::dense_cholesky::TiledMatrix<T> matrix(a.device(), n);
    insist(matrix.padded_rows() == n, "the order must be a multiple of the tile's");
    ec::dense_cholesky::SubstitutionVectors<T> arrays(a.device(), n);
    backend.copy(n, b.data(), arrays.rhs.data());
    ec::Dense<T> copy = a;
    ec::Dense<T> x = b;
    const double factor = seconds(
        runs_for(n), [&] { backend.copy(n * n, a.data(), matrix.view().data()); },
        [&] { insist(!matrix.factor(backend), "the factorisation"); });
    const double solve = seconds(
        runs_for(n), [] {}, [&] { matrix.substitute(backend, arrays); });
    Potrf<T> potrf(n);
    const double their_factor = seconds(
        runs_for(n), [&] { restore(a, copy); }, [&] { potrf.factor(copy); });
    const double their_solve = seconds(
        runs_for(n), [&] { restore(b, x); }, [&] { potrf.substitute(copy, x); });
    std::printf("| %lld | %.3f | %.3f | %.3f | %.3f | %.2f |\n", static_cast<long long>(n), 1e3 * factor,
                1e3 * solve, 1e3 * their_factor, 1e3 * their_solve,
                (their_factor + their_solve) / (factor + solve));
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Sizes sizes = parse_sizes(argc, argv);
  std::printf("%s\n", hardware(ec::Device::cuda()).c_str());
  measure<double>(sizes);
  measure<float>(sizes);
}
