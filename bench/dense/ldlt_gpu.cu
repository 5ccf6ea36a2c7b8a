// SPDX-License-Identifier: BSD-3-Clause
// How fast is the L D L^T factorisation of a dense symmetric indefinite matrix on a GPU, compared with
// cuSOLVER's sytrf and with LU?
//   bench_ldlt_gpu [--from N] [--up-to N]
// Uniform random symmetric matrices, one right-hand side. `ldlt` and `lu` are whole set-ups, with scaling and
// the condition estimate, and solves with refinement.
#include "dense/cholesky/cuda/indefinite_matrix.cuh"
#include "dense_gpu.cuh"

#include <cmath>

namespace ec = echelon;
using namespace echelon::bench;

namespace {

struct Widen {
  const int* from;
  std::int64_t* to;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { to[i] = from[i]; }
};

/// cuSOLVER's sytrf and Xsytrs, with their workspaces.
template <class T>
class Sytrf {
 public:
  explicit Sytrf(std::int64_t n)
      : n_(n), info_(ec::Device::cuda(), 1), pivots_(ec::Device::cuda(), n), wide_(ec::Device::cuda(), n) {
    handle_ = ec::make_owned<ec::Owned<cusolverDnHandle_t, cusolverDnDestroy>>(cusolverDnCreate);
    ec::check(cusolverDnSetStream(handle_.get(), ec::stream()));
    int size = 0;
    const int order = static_cast<int>(n);
    if constexpr (sizeof(T) == 8) {
      ec::check(cusolverDnDsytrf_bufferSize(handle_.get(), order, nullptr, order, &size));
    } else {
      ec::check(cusolverDnSsytrf_bufferSize(handle_.get(), order, nullptr, order, &size));
    }
    workspace_ = ec::Array<T>(ec::Device::cuda(), size + 1);
    std::size_t on_gpu = 0;
    std::size_t on_host = 0;
    ec::check(cusolverDnXsytrs_bufferSize(handle_.get(), lower, n, 1, type, nullptr, n, nullptr, type,
                                          nullptr, n, &on_gpu, &on_host));
    on_gpu_ = ec::Array<unsigned char>(ec::Device::cuda(), static_cast<std::int64_t>(on_gpu) + 1);
    on_host_.resize(on_host + 1);
  }
  void factor(ec::Dense<T>& a) {
    const int order = static_cast<int>(n_);
    const int size = static_cast<int>(workspace_.size());
    if constexpr (sizeof(T) == 8) {
      ec::check(cusolverDnDsytrf(handle_.get(), lower, order, a.data(), order, pivots_.data(),
                                 workspace_.data(), size, info_.data()));
    } else {
      ec::check(cusolverDnSsytrf(handle_.get(), lower, order, a.data(), order, pivots_.data(),
                                 workspace_.data(), size, info_.data()));
    }
  }
  void substitute(const ec::Dense<T>& a, ec::Dense<T>& b) {
    ec::Cuda backend(a.device());
    backend.for_each(n_, Widen{pivots_.data(), wide_.data()});
    ec::check(cusolverDnXsytrs(handle_.get(), lower, n_, 1, type, const_cast<T*>(a.data()), n_, wide_.data(),
                               type, b.data(), n_, on_gpu_.data(), on_gpu_.bytes(), on_host_.data(),
                               on_host_.size(), info_.data()));
  }

 private:
  static constexpr cublasFillMode_t lower = CUBLAS_FILL_MODE_LOWER;
  static constexpr cudaDataType type = sizeof(T) == 8 ? CUDA_R_64F : CUDA_R_32F;
  std::int64_t n_;
  ec::Owned<cusolverDnHandle_t, cusolverDnDestroy> handle_;
  ec::Array<int> info_, pivots_;
  ec::Array<std::int64_t> wide_;
  ec::Array<T> workspace_;
  ec::Array<unsigned char> on_gpu_;
  std::vector<unsigned char> on_host_;
};

/// Seconds of a set-up and of a solve.
struct Times {
  double setup, solve, backward_error;
};
template <class Method, class T>
Times whole_method(const ec::Dense<T>& a, const ec::Dense<T>& b) {
  Method method(a.device());
  ec::Dense<T> x(a.device(), a.rows(), 1);
  ec::Report report;
  Times times{};
  times.setup = seconds(
      runs_for(a.rows()), [] {}, [&] { insist(method.setup(a).ready(), "the set-up"); });
  times.solve = seconds(
      runs_for(a.rows()), [] {}, [&] { report = method.solve(b, x, {.measure_error = false}); });
  times.backward_error = report.backward_error;
  return times;
}

template <class T>
void measure(const Sizes& sizes) {
  std::printf(
      "\n### %s\n\n| n | factor ms | solve ms | delayed | sytrf ms | sytrs ms | ratio | ldlt set-up ms | "
      "solve "
      "ms | error | lu set-up ms | solve ms | error | ratio |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
      type_name<T>);
  for (std::int64_t n = sizes.smallest; n <= sizes.largest; n *= 2) {
    const ec::Dense<T> a = symmetric<T>(n);
    const ec::Dense<T> b = uniform<T>(n, 1, 2);
    ec::Cuda backend(a.device());
    ec::tiles::IndefiniteFacts facts;
    double factor = 0;
    double solve = 0;
    {
      ec::dense_symmetric::IndefiniteMatrix<T> matrix(a.device(), n);
      ec::dense_symmetric::IndefiniteVectors<T> vectors(a.device(), matrix.padded_rows());
      ec::Dense<T> x = b;
      const auto padded = matrix.padded_rows();
      const auto copy = [&] {
        for (std::int64_t j = 0; j < n; ++j)
          backend.copy(n - j, a.data() + j * n + j, matrix.view().data() + j * padded + j);
        for (std::int64_t j = 0; j < padded; ++j) {
          const std::int64_t first = std::max(n, j);
          backend.fill(padded - first, T{0}, matrix.view().data() + j * padded + first);
          if (j >= n) backend.fill(1, T{1}, matrix.view().data() + j * padded + j);
        }
      };
      factor = seconds(runs_for(n), copy, [&] { facts = matrix.factor(backend, {}); });
      solve = seconds(
          runs_for(n), [] {}, [&] { matrix.solve(backend, nullptr, b.data(), x.data(), vectors); });
    }
    double their_factor = 0;
    double their_solve = 0;
    {
      ec::Dense<T> copy = a;
      ec::Dense<T> x = b;
      Sytrf<T> sytrf(n);
      their_factor = seconds(
          2, [&] { restore(a, copy); }, [&] { sytrf.factor(copy); });
      their_solve = seconds(
          2, [&] { restore(b, x); }, [&] { sytrf.substitute(copy, x); });
    }
    const Times ldlt = whole_method<ec::Ldlt<T>>(a, b);
    const Times lu = whole_method<ec::Lu<T>>(a, b);
    std::printf(
        "| %lld | %.3f | %.3f | %d | %.3f | %.3f | %.2f | %.3f | %.3f | %.1e | %.3f | %.3f | %.1e | %.2f |\n",
        static_cast<long long>(n), 1e3 * factor, 1e3 * solve, facts.delayed, 1e3 * their_factor,
        1e3 * their_solve, (their_factor + their_solve) / (factor + solve), 1e3 * ldlt.setup,
        1e3 * ldlt.solve, ldlt.backward_error, 1e3 * lu.setup, 1e3 * lu.solve, lu.backward_error,
        lu.setup / ldlt.setup);
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
