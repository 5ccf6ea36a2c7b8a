// SPDX-License-Identifier: BSD-3-Clause
// How fast is the published striped scheme, compared with blocked elimination and cuSOLVER's LU?
//   bench_gauss_jordan_published_gpu [--up-to N]
// Figures 8 to 11 of the thesis: one core, the striped scheme, blocked elimination and LU; plot_table draws
// them.
#include "backend/targets.hpp"
#include "dense_gpu.cuh"
#include "solver/implementation.hpp"
#include "solver/make.hpp"

#include <echelon/echelon.hpp>

#include <cmath>
#include <cstdio>

namespace ec = echelon;
using namespace echelon::bench;

namespace {

template <class T>
double method_seconds(int runs, const ec::Dense<T>& a, ec::SolverImplementation<T>& method) {
  return seconds(
      runs, [] {}, [&] { insist(method.setup(a).ok(), "a method"); });
}

template <class T>
void published(const Sizes& sizes) {
  std::printf(
      "\n### The published scheme, %s\n\n| n | one core ms | striped | ours | cuSOLVER LU | one core / "
      "striped | "
      "striped / ours | striped / LU |\n|---|---|---|---|---|---|---|---|\n",
      type_name<T>);
  for (const std::int64_t n : {128, 256, 512, 1024, 2048, 4096}) {
    if (n > sizes.largest) continue;
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
      on_host = median_seconds(1, [&] { insist(serial->setup(here).ok(), "the host"); });
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

}  // namespace

int main(int argc, char** argv) {
  const Sizes sizes = parse_sizes(argc, argv);
  std::printf("%s\n", hardware(ec::Device::cuda()).c_str());
  published<double>(sizes);
  published<float>(sizes);
}
